/* Judging by a public dataset over the API: what is refused, what is told, and that private data
 * never judge. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "tests/unit/api/domain.h"

#define SMALL "\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":30}"

static const char *job(const char *dataset, const char *mechanism, const char *more,
                       const char *judge)
{
    return domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"mechanism\":\"%s\"%s," SMALL
                       ",\"judge\":%s}",
                       dataset, mechanism, more, judge);
}

static const char *private_job(const char *dataset, const char *judge)
{
    return job(dataset, "dpsgd", ",\"privacy\":{\"epsilon\":4,\"delta\":1e-5}",
               domain_path("{\"dataset\":\"%s\"}", judge));
}

Test(job_judge, refuses_what_may_not_judge)
{
    struct fixture *f = fixture_open();
    const char *id = domain_sealed(f, "private", 20), *good = domain_sealed(f, "public", 20);
    const char *open = domain_dataset(f, "public");
    const char *wide = response_text(
        fixture_post(f, "steward", "/v1/datasets",
                     "{\"name\":\"w\",\"environment\":\"acrobot\",\"sensitivity\":\"public\"}"),
        "/id");
    const char *budget = ",\"privacy\":{\"epsilon\":4,\"delta\":1e-5}";
    const char *const cases[][2] = {
        {private_job(id, id), "/judge/dataset"},
        {private_job(id, open), "/judge/dataset"},
        {private_job(id, wide), "/judge/dataset"},
        {job(id, "dpsgd", budget, "{}"), "/judge/dataset"},
        {job(id, "dpsgd", budget, "{\"data\":1}"), "/judge/data"},
        {job(id, "dpsgd", budget, "7"), "/judge"},
        {job(id, "none", ",\"i_understand\":\"not_private\"",
             domain_path("{\"dataset\":\"%s\"}", good)),
         "/judge"},
        {domain_path("{\"algorithm\":\"audit\",\"judge\":{\"dataset\":\"%s\"}}", good), "/judge"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", private_job(id, "ds_nobody")),
                   "not-found");
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
    fixture_close(f);
}

/* What a judgement tells, whatever it says. */
static void expect_judgement(const struct response *done)
{
    static const char *const intervals[] = {"behaviour", "fitted_q", "importance_sampling",
                                            "doubly_robust"};
    const char *verdict = response_text(done, "/findings/judge/verdict");
    cr_assert(strcmp(verdict, "supported") == 0 || strcmp(verdict, "weak") == 0 ||
              strcmp(verdict, "not_supported") == 0);
    cr_assert_gt(strlen(response_text(done, "/findings/judge/reasons/0")), 10);
    for (size_t i = 0; i < sizeof intervals / sizeof intervals[0]; i++) {
        double low = response_number(done, domain_path("/findings/judge/%s/low", intervals[i]));
        double high = response_number(done, domain_path("/findings/judge/%s/high", intervals[i]));
        cr_assert_leq(low, high, "%s", intervals[i]);
    }
    double lowest = response_number(done, "/findings/judge/logged/lowest");
    double highest = response_number(done, "/findings/judge/logged/highest");
    double value = response_number(done, "/findings/fitted_q_value");
    cr_assert_leq(lowest, response_number(done, "/findings/judge/value/low"));
    cr_assert_geq(highest, response_number(done, "/findings/judge/value/high"));
    cr_assert(json_is_true(response_at(done, "/findings/judge/outside_logged_range")) ||
                  (lowest <= value && value <= highest),
              "a value outside of the range has the flag");
    double tried = response_number(done, "/findings/judge/overlap/actions_tried");
    cr_assert(tried >= 0 && tried <= 1 + 1e-6);
    cr_assert_leq(response_number(done, "/findings/judge/overlap/effective_sample_size"), 20.001);
    cr_assert_eq(response_number(done, "/findings/judge/overlap/tried_probability"), 0.02);
    cr_assert_eq(response_number(done, "/findings/judge/confidence"), 0.9);
    cr_assert_str_eq(response_text(done, "/findings/judge/unit"), "expert");
    cr_assert_eq(response_number(done, "/findings/judge/units"), 20);
}

/* The budget pays for the training alone. */
Test(job_judge, estimates_the_value_and_says_what_it_is)
{
    struct fixture *f = fixture_open();
    const char *id = domain_sealed(f, "private", 20), *by = domain_sealed(f, "public", 20);
    struct response *done = domain_run(f, private_job(id, by));
    double value = response_number(done, "/findings/fitted_q_value");
    cr_assert(isfinite(value), "%s", done->body);
    cr_assert_eq(response_number(done, "/findings/fitted_q_starts"), 20, "each is held out once");
    cr_assert_geq(response_number(done, "/findings/fitted_q_residual"), 0);
    expect_judgement(done);
    cr_assert_neq(strstr(response_text(done, "/notes/0"), by), NULL);
    cr_assert_neq(strstr(response_text(done, "/notes/0"), "estimate"), NULL);
    cr_assert(json_is_null(response_at(done, "/evaluation")));
    cr_assert(response_number(done, "/privacy/spent/epsilon") <= 4);
    domain_expect_whole_ledger(f);

    /* Trained on public data, by the same data, and played, too. */
    done = domain_run(f, job(by, "none",
                             ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":2,"
                             "\"max_episode_steps\":20}",
                             domain_path("{\"dataset\":\"%s\"}", by)));
    cr_assert(isfinite(response_number(done, "/findings/fitted_q_value")));
    cr_assert_eq(response_number(done, "/evaluation/episodes"), 2);
    fixture_close(f);
}

/* What cannot be judged is not supported, and the job is no worse for it. */
Test(job_judge, too_few_trajectories_are_an_honest_verdict)
{
    struct fixture *f = fixture_open();
    const char *id = domain_sealed(f, "private", 20), *by = domain_sealed(f, "public", 3);
    struct response *done = domain_run(f, private_job(id, by));
    cr_assert_str_eq(response_text(done, "/findings/judge/verdict"), "not_supported");
    cr_assert_neq(strstr(response_text(done, "/findings/judge/reasons/0"), "too few"), NULL);
    cr_assert_null(response_at(done, "/findings/fitted_q_value"));
    fixture_close(f);
}

/* A dataset that is gone by then judges nothing, and the job is no worse for it. */
Test(job_judge, a_dataset_that_was_deleted_is_no_failure)
{
    struct fixture *f = fixture_open();
    const char *id = domain_sealed(f, "private", 20), *by = domain_sealed(f, "public", 20);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", private_job(id, by));
    expect_status(made, 202);
    fixture_delete(f, "steward", domain_path("/v1/datasets/%s", by));
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *done =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    cr_assert_str_eq(response_text(done, "/state"), "succeeded", "%s", done->body);
    cr_assert(json_is_null(response_at(done, "/findings")));
    fixture_close(f);
}
