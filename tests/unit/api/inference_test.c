/* Teachers behind the Open Inference Protocol: the same answers, debits and refusals, its form. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(inference, .init = service_open, .fini = service_close);

#define TENSOR(shape, data)                                                                        \
    "{\"name\":\"state\",\"datatype\":\"FP32\",\"shape\":" shape ",\"data\":" data "}"
#define STATE TENSOR("[1,4]", "[0.01,-0.02,0.03,0.04]")

static const char *new_teacher(double client_epsilon)
{
    struct response *made = fixture_post(f, "steward", "/v1/teachers",
                                         domain_teacher(domain_policy(f), 8, client_epsilon));
    expect_status(made, 201);
    return response_text(made, "/id");
}

/* INPUTS[, ...]; REST begins with a comma. KEY NULL: the header is not sent. */
static struct response *infer(const char *teacher, const char *key, const char *inputs,
                              const char *rest)
{
    struct ask ask = {.path = domain_path("/v2/models/%s/infer", teacher),
                      .token = fixture_token(f, "student"),
                      .key = key,
                      .body = domain_path("{\"inputs\":[%s]%s}", inputs, rest)};
    return fixture_ask(f, &ask);
}

/* Epsilon that the student has spent, as the ledger counts it. */
static double spent(const char *teacher)
{
    struct response *budget = fixture_get(
        f, "steward",
        domain_path("/v1/teachers/%s/budgets/%s", teacher, fixture_client(f, "student")));
    return budget->status == 404 ? 0 : response_number(budget, "/spent/epsilon");
}

Test(inference, says_what_it_is)
{
    const char *teacher = new_teacher(2);
    struct response *server = fixture_get(f, NULL, "/v2");
    cr_expect_str_eq(response_text(server, "/name"), "tacet");
    cr_expect(json_is_true(response_at(fixture_get(f, NULL, "/v2/health/live"), "/live")));
    cr_expect(json_is_true(response_at(fixture_get(f, NULL, "/v2/health/ready"), "/ready")));
    const char *path = domain_path("/v2/models/%s", teacher);
    struct response *model = fixture_get(f, "student", path);
    expect_status(model, 200);
    cr_expect_str_eq(response_text(model, "/name"), teacher);
    cr_expect_str_eq(response_text(model, "/inputs/0/name"), "state");
    cr_expect_eq(response_number(model, "/inputs/0/shape/0"), -1);
    cr_expect_eq(response_number(model, "/inputs/0/shape/1"), 4);
    cr_expect_eq(response_number(model, "/outputs/0/shape/1"), 2);
    expect_status(fixture_get(f, "student", domain_path("%s/ready", path)), 200);
    expect_problem(fixture_get(f, NULL, path), "unauthorized");
    struct response *none = fixture_get(f, "student", "/v2/models/tch_none");
    expect_problem(none, "not-found");
    cr_expect_str_eq(response_text(none, "/error"), response_text(none, "/detail"));
    cr_expect_null(response_at(fixture_get(f, "student", "/v1/teachers/tch_none"), "/error"));
}

Test(inference, answers_at_the_price_of_a_query)
{
    const char *teacher = new_teacher(2);
    struct response *one = infer(teacher, "k1", STATE, ",\"id\":\"mine\"");
    expect_status(one, 200);
    cr_expect_str_eq(response_text(one, "/id"), "mine");
    cr_expect_str_eq(response_text(one, "/model_name"), teacher);
    double sum =
        response_number(one, "/outputs/0/data/0") + response_number(one, "/outputs/0/data/1");
    cr_expect_float_eq(sum, 1, 1e-9);
    double cost = response_number(one, "/parameters/cost_epsilon");
    cr_expect(cost > 0);
    cr_expect_float_eq(spent(teacher), cost, 1e-12);
    struct response *query =
        fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", teacher),
                     "{\"state\":[0.01,-0.02,0.03,0.04]}");
    expect_status(query, 200);
    cr_expect_float_eq(response_number(query, "/error_radius"),
                       response_number(one, "/parameters/error_radius"), 1e-12);
    double before = spent(teacher);
    /* Three states, nested; FP64; the outputs named. */
    struct response *three = infer(
        teacher, "k2",
        "{\"name\":\"state\",\"datatype\":\"FP64\",\"shape\":[3,4],\"data\":[[0,0,0,0],[1,2,3,4],"
        "[0.1,0.1,0.1,0.1]],\"parameters\":{}}",
        ",\"outputs\":[{\"name\":\"probabilities\",\"parameters\":{\"binary_data\":false}}]");
    expect_status(three, 200);
    cr_expect_eq(json_array_size(response_at(three, "/outputs/0/data")), 6);
    cr_expect_eq(response_number(three, "/outputs/0/shape/0"), 3);
    cr_expect_float_eq(response_number(three, "/parameters/spent_epsilon"), spent(teacher), 1e-12);
    cr_expect_float_eq(spent(teacher) - before, response_number(three, "/parameters/cost_epsilon"),
                       1e-12);
    domain_expect_whole_ledger(f);
}

Test(inference, the_id_is_the_key_where_no_header_is)
{
    const char *teacher = new_teacher(2);
    struct response *none = infer(teacher, NULL, STATE, "");
    expect_problem(none, "idempotency-key-required");
    cr_expect(strlen(response_text(none, "/error")) > 0);
    expect_problem(infer(teacher, NULL, STATE, ",\"id\":\"two words\""), "idempotency-key-invalid");
    expect_problem(infer(teacher, NULL, STATE, ",\"id\":7"), "idempotency-key-required");
    cr_expect_eq(spent(teacher), 0);
    struct response *first = infer(teacher, NULL, STATE, ",\"id\":\"a1\"");
    expect_status(first, 200);
    double once = spent(teacher);
    struct response *again = infer(teacher, NULL, STATE, ",\"id\":\"a1\"");
    expect_status(again, 200);
    cr_expect_str_eq(response_header(again, "Idempotency-Replayed"), "true");
    cr_expect_str_eq(again->body, first->body);
    expect_problem(infer(teacher, NULL, TENSOR("[1,4]", "[0,0,0,0]"), ",\"id\":\"a1\""),
                   "idempotency-key-reused");
    cr_expect_eq(spent(teacher), once);
    /* The header wins: the same id under another key is another question. */
    expect_status(infer(teacher, "k9", STATE, ",\"id\":\"a1\""), 200);
    cr_expect_gt(spent(teacher), once);
}

Test(inference, refuses_tensors_that_are_none)
{
    static const char *const cases[][3] = {
        {TENSOR("[1,3]", "[0,0,0]"), "", "/inputs/0/shape"},
        {TENSOR("[4]", "[0,0,0,0]"), "", "/inputs/0/shape"},
        {TENSOR("[0,4]", "[]"), "", "/inputs/0/shape"},
        {TENSOR("[1.5,4]", "[0,0,0,0]"), "", "/inputs/0/shape"},
        {TENSOR("[100000,4]", "[0,0,0,0]"), "", "/inputs/0/shape"},
        {TENSOR("[1,4]", "[0,0,0]"), "", "/inputs/0/data"},
        {TENSOR("[1,4]", "[0,0,0,0,0]"), "", "/inputs/0/data"},
        {TENSOR("[1,4]", "[0,0,0,1e39]"), "", "/inputs/0/data"},
        {TENSOR("[1,4]", "[0,0,0,\"1\"]"), "", "/inputs/0/data"},
        {TENSOR("[1,4]", "[[[0,0,0,0]]]"), "", "/inputs/0/data"},
        {"{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[0,0,0,0]}", "",
         "/inputs/0/name"},
        {"{\"name\":\"state\",\"datatype\":\"INT8\",\"shape\":[1,4],\"data\":[0,0,0,0]}", "",
         "/inputs/0/datatype"},
        {"{\"name\":\"state\",\"datatype\":\"FP32\",\"shape\":[1,4],\"parameters\":{"
         "\"binary_data_size\":16}}",
         "", "/inputs/0/parameters"},
        {STATE "," STATE, "", "/inputs"},
        {STATE, ",\"outputs\":[{\"name\":\"logits\"}]", "/outputs"},
        {STATE, ",\"outputs\":[{\"name\":\"probabilities\",\"parameters\":{\"binary_data\":true}}]",
         "/outputs"},
        {STATE, ",\"parameters\":{\"binary_data_output\":true}", "/parameters/binary_data_output"},
        {STATE, ",\"parameters\":{\"concentration\":21}", "/concentration"},
        {STATE, ",\"parameters\":{\"priority\":1}", "/parameters/priority"},
        {STATE, ",\"colour\":1", "/colour"},
    };
    const char *teacher = new_teacher(2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(infer(teacher, "k", cases[i][0], cases[i][1]), cases[i][2]);
    expect_problem(infer(teacher, "k", STATE, ",\"parameters\":{\"max_epsilon\":1e-6}"),
                   "cost-above-maximum");
    cr_expect_eq(spent(teacher), 0);
}

Test(inference, falls_silent)
{
    const char *teacher = new_teacher(0.5);
    struct response *said = NULL;
    int answers = 0;
    while ((said = infer(teacher, domain_path("s%d", answers), STATE, ""))->status == 200 &&
           answers < 10000)
        answers++;
    cr_expect_gt(answers, 0);
    expect_problem(said, "budget-exhausted");
    cr_expect_eq(json_array_size(response_at(said, "/violated")), 1);
    cr_expect(strlen(response_text(said, "/error")) > 0);
    cr_expect(spent(teacher) <= 0.5);
    /* One budget, whatever the form. */
    expect_problem(fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", teacher),
                                "{\"state\":[0,0,0,0]}"),
                   "budget-exhausted");
}
