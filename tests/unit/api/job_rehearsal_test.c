/* Rehearsals over the API: free, without data, without a policy, and what is refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/jobs.h"
#include "tests/unit/api/service.h"

TestSuite(job_rehearsal, .init = service_open, .fini = service_close);

#define SMALL                                                                                      \
    "\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":300,\"input_scale\":1,"             \
    "\"arithmetic\":\"float\"}"

static const char *rehearsal(const char *dataset, double epsilon, const char *more)
{
    return domain_path(
        "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"dpsgd\",\"dataset\":"
        "\"%s\",\"privacy\":{\"epsilon\":%g,\"delta\":1e-6},\"rehearse\":true%s," SMALL "}",
        dataset, epsilon, more);
}

/* It clones the made-up experts and plays them in the made-up world. */
static const char *consensus(const char *algorithm, const char *dataset)
{
    return domain_path(
        "{\"algorithm\":\"%s\",\"mechanism\":\"consensus\",\"dataset\":\"%s\","
        "\"privacy\":{\"epsilon\":4,\"delta\":1e-6,\"consensus\":{\"labels\":20,\"skill\":{\"low\":"
        "0,\"high\":200,\"power\":2,\"episodes\":1}}},\"rehearse\":true," SMALL "}",
        algorithm, dataset);
}

/* The findings of DONE are those of three runs on made-up cartpole experts. */
static void expect_findings(const struct response *done)
{
    cr_assert_eq(json_array_size(response_at(done, "/findings/rehearsal/runs")), 3);
    cr_assert_eq(response_number(done, "/findings/rehearsal/episode_steps"), 100);
    cr_assert_eq(response_number(done, "/findings/rehearsal/best_return"), 100);
    cr_assert_eq(response_number(done, "/findings/rehearsal/random_return"), 50);
    for (int i = 0; i < 3; i++) {
        double earned = response_number(done, domain_path("/findings/rehearsal/runs/%d/return", i));
        cr_assert(earned >= 0 && earned <= 100, "%s", done->body);
        /* Skills of 0.5 to 0.98, else one of two actions, and a floor of 0.02 under both: the
         * chance of the right one is 0.04 / 2 + 0.96 * 0.87. Of 8000 steps the mean deviates by
         * 0.39. */
        double behaviour =
            response_number(done, domain_path("/findings/rehearsal/runs/%d/behaviour", i));
        cr_assert_float_eq(behaviour, 85.52, 5 * 0.39, "%s", done->body);
    }
    const char *sentence = response_text(done, "/findings/rehearsal/sentence");
    cr_assert_not_null(strstr(sentence, "Of 3 trainings on made-up data of this shape ("), "%s",
                       sentence);
    cr_assert_not_null(strstr(sentence, "4 numbers a state, 2 actions"), "%s", sentence);
    cr_assert_not_null(strstr(sentence, "Made-up worlds are easier than real ones"), "%s",
                       sentence);
}

Test(job_rehearsal, costs_nothing_and_gives_findings_and_no_policy)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *done = domain_run(f, rehearsal(id, 4, ""));
    expect_findings(done);
    cr_assert(json_is_true(response_at(done, "/rehearse")));
    cr_expect(json_is_null(response_at(done, "/dataset")));
    cr_expect_str_eq(
        response_text(done, "/dataset_name"),
        response_text(fixture_get(f, "steward", domain_path("/v1/datasets/%s", id)), "/name"));
    cr_assert(json_is_null(response_at(done, "/policy")));
    cr_assert(json_is_null(response_at(done, "/dataset")));
    cr_assert_eq(response_number(done, "/progress/fraction"), 1);
    cr_assert_eq(response_number(done, "/privacy/spent/epsilon"), 0);
    cr_assert_eq(response_number(done, "/privacy/spent/delta"), 0);
    cr_assert_not_null(strstr(done->body, "A rehearsal: it trains on made-up data"));
    cr_assert_eq(domain_spent(f, id), 0);
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/policies"), "/items")),
                 0);
}

Test(job_rehearsal, works_where_the_budget_cannot_pay_or_the_plan_is_hopeless)
{
    const char *id = domain_sealed(f, "private", 20); /* epsilon 10 */
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", rehearsal(id, 20, ""));
    expect_status(estimate, 200);
    cr_assert(json_is_true(response_at(estimate, "/feasible")), "%s", estimate->body);
    cr_assert_eq(response_number(estimate, "/cost/epsilon"), 0);
    expect_findings(domain_run(f, rehearsal(id, 20, "")));
    const char *hopeless = rehearsal(domain_sealed(f, "private", 8), 0.1, "");
    estimate = fixture_post(f, "steward", "/v1/jobs:estimate", hopeless);
    cr_assert_str_eq(response_text(estimate, "/advice/verdict"), "hopeless");
    cr_assert(json_is_false(response_at(estimate, "/advice/refused")));
    expect_findings(domain_run(f, hopeless));
}

Test(job_rehearsal, plays_consensus_in_the_made_up_world)
{
    const char *id = domain_sealed(f, "private", 20);
    expect_findings(domain_run(f, consensus("cql", id)));
    cr_assert_eq(domain_spent(f, id), 0);
}

/* The choice is made among the made-up training's own policies, in the world that they learn in. */
Test(job_rehearsal, chooses_in_the_made_up_world)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *done = domain_run(
        f, rehearsal(id, 4, ",\"choose\":{\"environment\":\"cartpole\",\"candidates\":5}"));
    expect_findings(done);
    cr_assert_eq(response_number(done, "/choose/candidates"), 5);
    cr_assert_eq(domain_spent(f, id), 0);
}

/* The dataset is gone before the worker begins: a rehearsal does not miss it. */
Test(job_rehearsal, reads_no_dataset)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", rehearsal(id, 4, ""));
    expect_status(made, 202);
    struct ask gone = {.method = "DELETE",
                       .path = domain_path("/v1/datasets/%s", id),
                       .token = fixture_token(f, "steward")};
    cr_assert_lt(fixture_ask(f, &gone)->status, 300);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    expect_findings(domain_job(f, made));
}

Test(job_rehearsal, is_cancelled_and_begins_again_after_a_stop)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", consensus("behaviour_cloning", id));
    struct domain_meddler stop = {.f = f, .advance_ms = 6000, .act_at = 1, .stop = true};
    cr_assert_eq(domain_turn(f, "w", domain_meddle, &stop), API_JOB_PAUSED);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    expect_findings(domain_job(f, made));
    made = fixture_post(f, "steward", "/v1/jobs", consensus("behaviour_cloning", id));
    struct domain_meddler cancel = {
        .f = f,
        .advance_ms = 6000,
        .act_at = 1,
        .cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"))};
    cr_assert_eq(domain_turn(f, "w", domain_meddle, &cancel), API_JOB_RAN);
    struct response *ended = domain_job(f, made);
    cr_assert_str_eq(response_text(ended, "/state"), "cancelled", "%s", ended->body);
    cr_assert(json_is_null(response_at(ended, "/findings")));
    cr_assert_eq(response_number(ended, "/privacy/spent/delta"), 0);
    cr_assert_eq(domain_spent(f, id), 0);
}

Test(job_rehearsal, refuses_what_cannot_be_rehearsed)
{
    const char *id = domain_sealed(f, "private", 20), *open = domain_sealed(f, "public", 20);
    const char *const cases[][2] = {
        {rehearsal(id, 4, ",\"evaluate\":{\"environment\":\"cartpole\"}"), "/evaluate"},
        {rehearsal(id, 4, ",\"choose\":{\"environment\":\"acrobot\"}"), "/choose/environment"},
        {rehearsal(id, 4, domain_path(",\"judge\":{\"dataset\":\"%s\"}", open)), "/judge"},
        {rehearsal(id, 4, ",\"judge\":{\"held_out\":0.5,\"return_low\":0,\"return_high\":9}"),
         "/judge"},
        {rehearsal(id, 4, ",\"audit\":\"job_1\""), "/audit"},
        {domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"none\",\"dataset\":\"%s\","
                     "\"rehearse\":true}",
                     open),
         "/rehearse"},
        {domain_path("{\"algorithm\":\"feature_ranges\",\"dataset\":\"%s\",\"privacy\":{"
                     "\"epsilon\":1,\"delta\":1e-6},\"rehearse\":true}",
                     id),
         "/rehearse"},
        {"{\"algorithm\":\"audit\",\"rehearse\":true}", "/rehearse"},
        {domain_path("{\"algorithm\":\"behaviour_cloning\",\"dataset\":\"%s\",\"privacy\":{"
                     "\"epsilon\":1,\"delta\":1e-6},\"rehearse\":1}",
                     id),
         "/rehearse"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
}

Test(job_rehearsal, refuses_states_beyond_what_is_made_up)
{
    static const char body[] =
        "{\"name\":\"wide\",\"state_dim\":17,\"action_count\":2,\"max_episode_steps\":5,"
        "\"discount\":0.9,\"sensitivity\":\"private\",\"budget\":{\"epsilon\":10,\"delta\":1e-5}}";
    char text[8192];
    size_t at = 0;
    for (int e = 0; e < 10; e++)
        at += (size_t)snprintf(
            text + at, sizeof text - at,
            "{\"expert\":\"e%d\",\"states\":[[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,"
            "0,0,0,0,0,0,0,0,0]],\"actions\":[1],\"rewards\":[1],\"terminated\":true,"
            "\"truncated\":false}\n",
            e);
    const char *id = domain_sealed_lines(f, body, text);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", rehearsal(id, 4, "")), "/rehearse");
}

/* The nominal number of experts is declared: it may be far beyond those who are there. */
Test(job_rehearsal, refuses_more_experts_than_can_be_made_up)
{
    const unsigned nominal[] = {100000, 100001};
    const char *id[2];
    for (int i = 0; i < 2; i++)
        id[i] = domain_sealed_of(
            f,
            domain_path("{\"name\":\"many\",\"environment\":\"cartpole\",\"sensitivity\":"
                        "\"private\",\"nominal_experts\":%u,\"budget\":{\"epsilon\":10,"
                        "\"delta\":1e-5}}",
                        nominal[i]),
            10);
    const char *estimate = "/v1/jobs:estimate";
    expect_status(fixture_post(f, "steward", estimate, rehearsal(id[0], 0.5, "")), 200);
    expect_invalid(fixture_post(f, "steward", estimate, rehearsal(id[1], 0.5, "")), "/rehearse");
    expect_invalid(fixture_post(f, "steward", estimate, consensus("behaviour_cloning", id[0])),
                   "/rehearse");
}
