/* Consensus labels at states that a steward lists, over HTTP: through a kill and a drain to a
 * certificate that names them, and what is refused. */
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

static void expect_refused(const char *body, const char *pointer)
{
    struct http_answer answer = desk_post(&desk, 422, "/v1/jobs", body, "bad");
    char text[96];
    snprintf(text, sizeof text, "\"pointer\":\"%s\"", pointer);
    cr_expect_str_eq(http_text(&answer, "type"), "/problems/validation");
    cr_expect_not_null(strstr(answer.body, text), "%s: no %s in %s", body, pointer, answer.body);
    http_answer_clear(&answer);
}

#define AT "/privacy/consensus/grid"

Test(declared_states, bad_lists_are_refused_and_cost_nothing)
{
    static const char *const cases[][2] = {
        {"{\"states\":[]}", AT "/states"},
        {"{\"states\":[[0,0,0]]}", AT},
        {"{\"states\":[[0,0,0,0],[0,0,0]]}", AT "/states/1"},
        {"{\"states\":[[0,0,0,0],[0,0,0,1e999]]}", AT "/states/1/3"},
        {"{\"states\":[[0,0,0,0],[0,\"0\",0,0]]}", AT "/states/1/1"},
        {"{\"states\":[[0,0,0,0]],\"points\":[1,1,1,1]}", AT "/points"},
        {"{\"low\":[0,0,0,0],\"high\":[1,1,1,1]}", AT "/points"},
        {"{\"low\":[0,0,0,0],\"high\":[1,1,1,-1],\"points\":[2,2,2,2]}", AT "/high/3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(job("behaviour_cloning", cases[i][0], 10), cases[i][1]);
    expect_refused(job("cql", LIST, 10), AT);
    cr_expect_eq(desk_epsilon(&desk, desk_data, "spent"), 0);
    cr_expect_eq(desk_epsilon(&desk, desk_data, "reserved"), 0);
    struct http_answer list = desk_get(&desk, "/v1/jobs");
    cr_expect_eq(json_array_size(json_object_get(list.json, "items")), 0);
    http_answer_clear(&list);
}
