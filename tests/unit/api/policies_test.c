/* Imported policies, actions, and what strangers see. What jobs release is in jobs_test.c. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(policies, .init = service_open, .fini = service_close);

#define IMPORT(environment, weight, bias, output)                                                  \
    "{\"name\":\"p\",\"environment\":\"" environment "\",\"network\":{\"activation\":\"relu\","    \
    "\"layers\":[{\"weight\":" weight ",\"bias\":" bias "}],\"output\":\"" output "\"}}"
#define W "[[1,2,3,4],[5,6,7,8]]"

Test(policies, are_imported_for_their_owner)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/policies", IMPORT("cartpole", W, "[0,0.1]", "softmax"));
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    cr_assert(json_is_false(response_at(made, "/released")));
    struct response *weights =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", id));
    expect_status(weights, 200);
    cr_assert_str_eq(weights->body, "{\"activation\":\"relu\",\"layers\":[{\"weight\":" W
                                    ",\"bias\":[0,0.100000001]}],\"output\":\"softmax\"}");
    cr_assert_eq((float)response_number(weights, "/layers/0/bias/1"), 0.1F);
    const char *tag = response_header(weights, "ETag");
    struct ask ask = {.path = domain_path("/v1/policies/%s/weights", id),
                      .token = fixture_token(f, "steward"),
                      .headers = {{"If-None-Match", tag}}};
    expect_status(fixture_ask(f, &ask), 304);
    /* Another format of it is other bytes. */
    char other[80];
    snprintf(other, sizeof other, "\"%s.onnx\"", id);
    ask.headers[0][1] = other;
    expect_status(fixture_ask(f, &ask), 200);
    ask.path = domain_path("/v1/policies/%s/weights?format=onnx", id);
    expect_status(fixture_ask(f, &ask), 304);
    struct response *list = fixture_get(f, "steward", "/v1/policies");
    cr_assert_eq(json_array_size(response_at(list, "/items")), 1);
    /* What was downloaded can be imported again. */
    expect_status(fixture_post(f, "steward", "/v1/policies",
                               domain_path("{\"name\":\"q\",\"environment\":\"cartpole\","
                                           "\"network\":%s}",
                                           weights->body)),
                  201);
    ask = (struct ask){.path = domain_path("/v1/policies/%s", id),
                       .token = fixture_new_token(f, "steward")};
    expect_problem(fixture_ask(f, &ask), "not-found");
    ask.path = domain_path("/v1/policies/%s/weights", id);
    expect_problem(fixture_ask(f, &ask), "not-found");
    expect_problem(fixture_get(f, "student", domain_path("/v1/policies/%s", id)), "not-found");
    expect_problem(
        fixture_get(f, "steward", domain_path("/v1/policies/%s/weights?format=pickle", id)),
        "validation");
}

Test(policies, refuse_networks_that_do_not_fit)
{
    static const char *const cases[][2] = {
        {IMPORT("mars", W, "[0,0]", "softmax"), "/environment"},
        {IMPORT("cartpole", W, "[0,0,0]", "softmax"), "/network/layers/0"},
        {IMPORT("cartpole", "[[1,2,3,4]]", "[0]", "softmax"), "/network/layers/0/bias"},
        {IMPORT("cartpole", "[[1,2,3,4],[1,2,3]]", "[0,0]", "softmax"),
         "/network/layers/0/weight/1"},
        {IMPORT("cartpole", "[[1,2,3,4],7]", "[0,0]", "softmax"), "/network/layers/0/weight/1"},
        {IMPORT("cartpole", "[[1,2,3,4],[1,2,3,\"4\"]]", "[0,0]", "softmax"),
         "/network/layers/0/weight/1/3"},
        {IMPORT("cartpole", W, "[0,4e38]", "softmax"), "/network/layers/0/bias"},
        {IMPORT("cartpole", W, "[0,0]", "random"), "/network/output"},
        {"{\"name\":\"p\",\"environment\":\"cartpole\",\"network\":{\"activation\":\"relu\","
         "\"layers\":[],\"output\":\"softmax\"}}",
         "/network/layers"},
        {"{\"name\":\"\",\"environment\":\"cartpole\",\"network\":{}}", "/name"},
        {"{\"name\":\"p\",\"environment\":\"cartpole\",\"network\":[]}", "/network"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(fixture_post(f, "steward", "/v1/policies", cases[i][0]), cases[i][1]);
}

Test(policies, play_their_best_action)
{
    const char *path = domain_path("/v1/policies/%s/actions", domain_policy(f));
    struct response *r =
        fixture_post(f, "steward", path, "{\"states\":[[1,0,0,0],[0,0,0,0],[0,0,-1,0]]}");
    expect_status(r, 200);
    cr_assert_eq(json_array_size(response_at(r, "/actions")), 3);
    cr_assert_float_eq(response_number(r, "/values/0/0"), 0.1, 1e-6);
    cr_assert_float_eq(response_number(r, "/values/0/1"), 0.4, 1e-6);
    cr_assert_eq(response_number(r, "/actions/0"), 1);
    cr_assert_eq(response_number(r, "/actions/2"), 1);
    expect_invalid(fixture_post(f, "steward", path, "{\"states\":[[1,0,0]]}"), "/states/0");
    expect_invalid(fixture_post(f, "steward", path, "{\"states\":[]}"), "/states");
    expect_invalid(fixture_post(f, "steward", path, "{\"states\":[[1,0,0,1e39]]}"), "/states/0/3");
    expect_invalid(fixture_post(f, "steward", path, "{\"states\":[[1,0,0,null]]}"), "/states/0/3");
    expect_invalid(fixture_post(f, "steward", path, "{\"state\":[1,0,0,0]}"), "/states");
}

/* Rows that nobody has written: a network that is gone, and one of other dimensions than its row's.
 * There is an answer, and the service goes on. */
Test(policies, damaged_rows_are_errors)
{
    static const char *const damage[] = {"UPDATE policies SET bytes = x''",
                                         "UPDATE policies SET state_dim = 3",
                                         "UPDATE policies SET action_count = 3"};
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        const char *path = domain_path("/v1/policies/%s/weights?format=onnx", domain_policy(f));
        expect_status(fixture_get(f, "steward", path), 200);
        cr_assert_eq(db_run(fixture_db(f), damage[i], NULL, 0, NULL, NULL), DB_OK);
        expect_problem(fixture_get(f, "steward", path), "internal-error");
    }
}
