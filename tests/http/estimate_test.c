/* Estimates over HTTP, and that jobs end with what they said: a sweep, consensus labels. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/http/one_desk.h"

TestSuite(estimate, .init = one_desk_open_data, .fini = one_desk_close);

static double number(const json_t *json, const char *first, const char *second)
{
    const json_t *value = json_object_get(json_object_get(json, first), second);
    cr_assert(json_is_number(value), "no number at %s/%s", first, second);
    return json_number_value(value);
}

static struct http_answer estimate(const char *body)
{
    return desk_post(&desk, 200, "/v1/jobs:estimate", body, NULL);
}

static void expect_feasible(const struct http_answer *answer)
{
    cr_assert(json_is_true(json_object_get(answer->json, "feasible")), "%s", answer->body);
    cr_expect(json_is_null(json_object_get(answer->json, "reason")), "%s", answer->body);
    cr_expect_gt(number(answer->json, "running_time", "seconds"), 0);
}

static size_t jobs(void)
{
    struct http_answer list = desk_get(&desk, "/v1/jobs");
    size_t count = json_array_size(json_object_get(list.json, "items"));
    http_answer_clear(&list);
    return count;
}

static const char *sweep(void)
{
    static char body[600];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"force\":true,\"epsilon\":5,\"delta\":2e-6},"
             "\"parameters\":{\"hidden\":[8],\"steps\":60},"
             "\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":5,\"max_episode_steps\":50},"
             "\"sweep\":{\"learning_rate\":[0.001,0.01,0.1],\"batch_size\":[4,8]}}",
             desk_data);
    return body;
}

/* Six tries: announced, priced together, held, and paid as announced. */
Test(estimate, a_sweep_ends_with_what_its_estimate_said)
{
    char path[96];
    struct http_answer said = estimate(sweep());
    expect_feasible(&said);
    const json_t *plan = json_object_get(said.json, "plan");
    size_t tries = json_array_size(json_object_get(plan, "tries"));
    double price = number(said.json, "cost", "epsilon"), delta = number(said.json, "cost", "delta");
    double steps = json_number_value(json_object_get(plan, "total_steps")), sum = 0;
    for (size_t t = 0; t < tries; t++) {
        const json_t *one = json_array_get(json_object_get(plan, "tries"), t);
        double alone = json_number_value(json_object_get(one, "epsilon"));
        cr_expect(alone > 0 && alone < price);
        sum += alone;
    }
    cr_expect_eq(tries, 6);
    cr_expect_eq(steps, 6 * 60);
    cr_expect(price > 4.5 && price <= 5, "%g", price);
    cr_expect_lt(price, sum, "one composition is no more than the sum");
    cr_expect_eq(jobs(), 0, "an estimate is no job");
    cr_expect_eq(desk_epsilon(&desk, desk_data, "reserved"), 0);

    desk_submit(&desk, sweep(), "the-sweep", path);
    struct http_answer job = desk_wait(&desk, path);
    cr_assert_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    const json_t *privacy = json_object_get(job.json, "privacy");
    const json_t *findings = json_object_get(job.json, "findings");
    cr_expect_float_eq(number(privacy, "spent", "epsilon"), price, 1e-8, "%s", job.body);
    cr_expect_float_eq(number(privacy, "spent", "delta"), delta, 1e-15);
    cr_expect_eq(number(job.json, "progress", "step"), steps);
    cr_expect_eq(json_array_size(json_object_get(findings, "mean_returns")), tries);
    cr_expect_float_eq(desk_epsilon(&desk, desk_data, "spent"), price, 1e-8);
    cr_expect_eq(desk_epsilon(&desk, desk_data, "reserved"), 0);
    http_answer_clear(&job);
    http_answer_clear(&said);

    /* What is left cannot pay for it again: said beforehand, and refused. */
    said = estimate(sweep());
    cr_expect(json_is_false(json_object_get(said.json, "feasible")), "%s", said.body);
    cr_expect_not_null(strstr(http_text(&said, "reason"), "budget cannot pay"), "%s", said.body);
    cr_expect_float_eq(number(said.json, "cost", "epsilon"), price, 1e-8);
    http_answer_clear(&said);
    said = desk_post(&desk, 403, "/v1/jobs", sweep(), "again");
    cr_expect_str_eq(http_text(&said, "type"), "/problems/budget-exhausted");
    http_answer_clear(&said);
    cr_expect_eq(jobs(), 1);
    cr_expect_float_eq(desk_epsilon(&desk, desk_data, "spent"), price, 1e-8);
    desk_expect_whole_ledger(&desk);
}

Test(estimate, consensus_labels_cost_what_their_estimate_said)
{
    char body[512], path[96];
    snprintf(
        body, sizeof body,
        "{\"algorithm\":\"cql\",\"mechanism\":\"consensus\",\"dataset\":\"%s\","
        "\"privacy\":{\"force\":true,\"epsilon\":3,\"delta\":2e-6,\"consensus\":{\"labels\":200,"
        "\"max_length\":40,\"skill\":{\"low\":0,\"high\":40}}},"
        "\"parameters\":{\"hidden\":[8],\"steps\":100}}",
        desk_data);
    struct http_answer said = estimate(body);
    expect_feasible(&said);
    const json_t *labels = json_object_get(json_object_get(said.json, "plan"), "consensus");
    cr_expect_eq(json_integer_value(json_object_get(labels, "labels")), 200);
    cr_expect_gt(json_number_value(json_object_get(labels, "noise")), 0);
    double price = number(said.json, "cost", "epsilon");
    desk_submit(&desk, body, "labels", path);
    struct http_answer job = desk_wait(&desk, path);
    cr_assert_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    cr_expect_float_eq(desk_epsilon(&desk, desk_data, "spent"), price, 1e-8);
    http_answer_clear(&job);
    http_answer_clear(&said);
}
