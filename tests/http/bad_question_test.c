/* Questions and teachers that are none, over a real socket: refused with a pointer, and free. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/refusals.h"

static struct refusals room;

static void setup(void)
{
    refusals_open(&room);
}

static void teardown(void)
{
    refusals_close(&room);
}

TestSuite(bad_question, .init = setup, .fini = teardown);

static void expect_question_refused(const char *body, long status, const char *slug,
                                    const char *pointer)
{
    const struct http_call call = {.method = "POST",
                                   .path = room.scene.queries,
                                   .token = room.scene.students[0].token,
                                   .key = "a-question",
                                   .body = body};
    refusals_expect(&room, &call, status, slug, pointer, 0);
}

Test(bad_question, a_state_of_the_wrong_size)
{
    expect_question_refused("{\"state\":[0,0,0]}", 422, "validation", "/state");
    expect_question_refused("{\"state\":[0,0,0,0,0]}", 422, "validation", "/state");
    expect_question_refused("{\"state\":[]}", 422, "validation", "/state");
    expect_question_refused("{\"state\":[[0,0,0,0]]}", 422, "validation", "/state");
    expect_question_refused("{\"states\":[[0,0,0,0],[0,0,0]]}", 422, "validation", "/states/1");
    expect_question_refused("{\"states\":[]}", 422, "validation", "/states");
    expect_question_refused("{\"state\":[0,0,0,0],\"states\":[[0,0,0,0]]}", 422, "validation", "");
    expect_question_refused("{}", 422, "validation", "");
}

Test(bad_question, a_state_that_is_not_a_number)
{
    expect_question_refused("{\"state\":[0,NaN,0,0]}", 400, "not-json", NULL);
    expect_question_refused("{\"state\":[0,\"NaN\",0,0]}", 422, "validation", "/state/1");
    expect_question_refused("{\"state\":[0,null,0,0]}", 422, "validation", "/state/1");
    expect_question_refused("{\"state\":[0,true,0,0]}", 422, "validation", "/state/1");
}

Test(bad_question, a_state_that_is_infinite)
{
    expect_question_refused("{\"state\":[0,0,Infinity,0]}", 400, "not-json", NULL);
    expect_question_refused("{\"state\":[0,0,1e999,0]}", 422, "validation", "/state/2");
    expect_question_refused("{\"state\":[0,0,-1e999,0]}", 422, "validation", "/state/2");
    /* Within the range of a double, outside that of the 32-bit floats that the network reads. */
    expect_question_refused("{\"state\":[0,0,1e39,0]}", 422, "validation", "/state/2");
    expect_question_refused("{\"states\":[[0,0,0,0],[0,-1e39,0,0]]}", 422, "validation",
                            "/states/1/1");
}

Test(bad_question, a_batch_larger_than_the_limit)
{
    char *body = malloc(1026 * 10 + 32), *at = body;
    cr_assert_not_null(body);
    at += sprintf(at, "{\"states\":[");
    for (int i = 0; i < 1025; i++)
        at += sprintf(at, "%s[0,0,0,0]", i == 0 ? "" : ",");
    sprintf(at, "]}");
    expect_question_refused(body, 422, "validation", "/states");
    free(body);
}

Test(bad_question, a_concentration_out_of_range)
{
    /* The teacher's is 20 and its min_probability 0.1. */
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":20.001}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":9.999}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":0}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":-1}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":1e999}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"max_epsilon\":-1}", 422, "validation",
                            "/max_epsilon");
    expect_question_refused("{\"state\":[0,0,0,0],\"reuse\":\"always\"}", 422, "validation",
                            "/reuse");
    expect_question_refused("{\"state\":[0,0,0,0],\"reuse\":\"exact\"}", 422, "validation",
                            "/reuse");
}

/* Where every finite order is used up, a Renyi account has no price: the mechanism's own orders end
 * at 1 + min_probability / change. */
Test(bad_question, an_order_that_is_not_finite)
{
    char body[512];
    static const char *const radii[] = {"100", "1e9"};
    struct http_call call = {
        .method = "POST", .path = "/v1/teachers", .token = room.scene.steward, .body = body};
    for (int i = 0; i < 2; i++) {
        snprintf(body, sizeof body,
                 "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20000,\"min_probability\":"
                 "0.001},\"adjacency\":{\"unit\":\"observation\",\"radius\":%s},\"budget\":{"
                 "\"epsilon\":8,\"delta\":1e-5}}",
                 room.scene.policy, radii[i]);
        refusals_expect(&room, &call, 422, "validation", "/budget/epsilon", 0);
    }
    /* An order that somebody sends is none of ours to take. */
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20},\"adjacency\":{\"unit\":"
             "\"observation\",\"radius\":0.01},\"order\":1e999,\"budget\":{\"epsilon\":8,"
             "\"delta\":1e-5}}",
             room.scene.policy);
    refusals_expect(&room, &call, 422, "validation", "/order", 0);
}

/* Networks without a finite bound: weights too large, an output that jumps. The reason is told. */
Test(bad_question, a_teacher_without_a_lipschitz_bound)
{
    static const char *const networks[][3] = {
        {"softmax", "3e38", "no finite Lipschitz bound"},
        {"argmax", "0.5", "no Lipschitz bound"},
    };
    for (int i = 0; i < 2; i++) {
        char body[1024];
        const char *w = networks[i][1];
        snprintf(body, sizeof body,
                 "{\"name\":\"steep\",\"environment\":\"cartpole\",\"network\":{\"activation\":"
                 "\"relu\",\"output\":\"%s\",\"layers\":[{\"weight\":[[%s,%s,%s,%s],[%s,%s,%s,%s]],"
                 "\"bias\":[0,0]},{\"weight\":[[%s,%s],[%s,%s]],\"bias\":[0,0]},{\"weight\":[[%s,"
                 "%s],[%s,%s]],\"bias\":[0,0]}, {\"weight\":[[%s,%s],[%s,%s]],\"bias\":[0,0]},"
                 "{\"weight\":[[%s,%s],[%s,%s]],\"bias\":[0,0]},{\"weight\":[[%s,%s],[%s,%s]],"
                 "\"bias\":[0,0]},{\"weight\":[[%s,%s],[%s,%s]],\"bias\":[0,0]},{\"weight\":"
                 "[[%s,%s],[%s,%s]],\"bias\":[0,0]}]}}",
                 networks[i][0], w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w,
                 w, w, w, w, w, w, w, w, w, w, w, w, w, w);
        struct http_call import = {
            .method = "POST", .path = "/v1/policies", .token = room.scene.steward, .body = body};
        struct http_answer policy = http_expect(room.scene.client, 201, &import);
        char teacher[512];
        snprintf(teacher, sizeof teacher,
                 "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.1},"
                 "\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},\"budget\":{\"epsilon\":"
                 "8,\"delta\":1e-5}}",
                 http_text(&policy, "id"));
        http_answer_clear(&policy);
        struct http_call create = {
            .method = "POST", .path = "/v1/teachers", .token = room.scene.steward, .body = teacher};
        refusals_expect(&room, &create, 422, "validation", "/mechanism", 0);
        struct http_answer refused = http_do(room.scene.client, &create);
        cr_expect_not_null(strstr(refused.body, networks[i][2]), "%s", refused.body);
        http_answer_clear(&refused);
    }
}

/* Experts cannot be protected where one network has seen them all. */
Test(bad_question, an_adjacency_that_the_policy_does_not_have)
{
    static const char *const adjacencies[][2] = {
        {"\"unit\":\"expert\"", "/adjacency/unit"},
        {"\"unit\":\"expert\",\"radius\":0.1", "/adjacency/radius"},
        {"\"unit\":\"nobody\",\"radius\":0.1", "/adjacency/unit"},
        {"\"unit\":\"observation\"", "/adjacency/radius"},
        {"\"unit\":\"observation\",\"radius\":0.1,\"shards\":5", "/adjacency/shards"},
    };
    for (size_t i = 0; i < sizeof adjacencies / sizeof adjacencies[0]; i++) {
        char body[512];
        snprintf(body, sizeof body,
                 "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20},\"adjacency\":{%s},"
                 "\"budget\":{\"epsilon\":8,\"delta\":1e-5}}",
                 room.scene.policy, adjacencies[i][0]);
        struct http_call call = {
            .method = "POST", .path = "/v1/teachers", .token = room.scene.steward, .body = body};
        refusals_expect(&room, &call, 422, "validation", adjacencies[i][1], 0);
    }
}
