/* Consensus labels at states that a steward lists, over HTTP: through a kill and a drain to a
 * certificate that names them. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/http/one_desk.h"

TestSuite(declared_states, .init = one_desk_open_data, .fini = one_desk_close);

static const char *job(const char *algorithm, const char *grid, long steps)
{
    static char body[1024];
    snprintf(
        body, sizeof body,
        "{\"algorithm\":\"%s\",\"mechanism\":\"consensus\",\"dataset\":\"%s\","
        "\"privacy\":{\"force\":true,\"epsilon\":3,\"delta\":2e-6,\"consensus\":{\"grid\":%s}},"
        "\"parameters\":{\"hidden\":[8],\"batch_size\":8,\"steps\":%ld}}",
        algorithm, desk_data, grid, steps);
    return body;
}

#define LIST "{\"states\":[[0,0,0.1,0],[0.25,-1,-0.05,2],[0,0,0.2,0],[1e-3,0,0,0]]}"

Test(declared_states, a_list_is_asked_once_and_named_in_the_certificate)
{
    char path[160], state[16];
    const char *body = job("behaviour_cloning", LIST, 800000);
    struct http_answer said = desk_post(&desk, 200, "/v1/jobs:estimate", body, NULL);
    cr_assert(json_is_true(json_object_get(said.json, "feasible")), "%s", said.body);
    http_answer_clear(&said);
    desk_submit(&desk, body, "listed", path);
    long long step = desk_wait_past(&desk, path, 0, state);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    desk_wait_past(&desk, path, step, state);
    desk_restart(&desk, SIGTERM, 0);
    struct http_answer done = desk_wait(&desk, path);
    cr_assert_str_eq(http_text(&done, "state"), "succeeded", "%s", done.body);
    cr_expect_float_eq(desk_epsilon(&desk, desk_data, "spent"), 3, 1e-6);
    cr_expect_eq(desk_epsilon(&desk, desk_data, "reserved"), 0);
    snprintf(path, sizeof path, "/v1/policies/%s/certificate", http_text(&done, "policy"));
    struct http_answer certificate = desk_get(&desk, path);
    const json_t *plan = json_object_get(json_object_get(certificate.json, "plan"), "consensus");
    json_t *states = json_object_get(json_object_get(plan, "grid"), "states");
    json_t *expected = json_pack("[[i,i,f,i],[f,i,f,i],[i,i,f,i],[f,i,i,i]]", 0, 0, 0.1, 0, 0.25,
                                 -1, -0.05, 2, 0, 0, 0.2, 0, 1e-3, 0, 0, 0);
    cr_expect(json_equal(states, expected), "%s", certificate.body);
    cr_expect_eq(json_integer_value(json_object_get(plan, "labels")), 4);
    json_decref(expected);
    http_answer_clear(&certificate);
    http_answer_clear(&done);
    desk_expect_whole_ledger(&desk);
}
