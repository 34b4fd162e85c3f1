/* Judging by a public dataset over the API: what is refused, what is told, and that private data
 * never judge. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "tests/unit/api/service.h"

TestSuite(job_judge, .init = service_open, .fini = service_close);

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
        {domain_path("{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"judge\":{\"dataset\":"
                     "\"%s\"}}",
                     good),
         "/judge"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", private_job(id, "ds_nobody")),
                   "not-found");
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
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
    cr_assert((json_is_true(response_at(done, "/findings/judge/outside_logged_range")) &&
               strcmp(verdict, "not_supported") == 0) ||
                  (lowest <= value && value <= highest),
              "a value outside of the range has the flag, and supports nothing");
    double tried = response_number(done, "/findings/judge/overlap/actions_tried");
    cr_assert(tried >= 0 && tried <= 1 + 1e-6);
    cr_assert_leq(response_number(done, "/findings/judge/overlap/effective_sample_size"), 20.001);
    cr_assert_eq(response_number(done, "/findings/judge/overlap/tried_probability"), 0.02);
    cr_assert_eq(response_number(done, "/findings/judge/confidence"), 0.9);
    cr_assert_str_eq(response_text(done, "/findings/judge/unit"), "expert");
    cr_assert_eq(response_number(done, "/findings/judge/units"), 20);
}

/* A sealed public dataset of 20 experts, of whom half are there for 6 steps and half for 12. */
static const char *various(void)
{
    char *half = domain_lines(10, 6), *all = domain_lines(20, 12), *lines = NULL, *rest = all;
    for (int i = 0; i < 10; i++)
        rest = strchr(rest, '\n') + 1;
    cr_assert_gt(asprintf(&lines, "%s%s", half, rest), 0);
    const char *id = domain_sealed_lines(
        f, "{\"name\":\"v\",\"environment\":\"cartpole\",\"sensitivity\":\"public\"}", lines);
    free(half);
    free(all);
    free(lines);
    return id;
}

/* The budget pays for the training alone. */
Test(job_judge, estimates_the_value_and_says_what_it_is)
{
    const char *id = domain_sealed(f, "private", 20), *by = various();
    struct response *done = domain_run(f, private_job(id, by));
    double value = response_number(done, "/findings/fitted_q_value");
    cr_assert(isfinite(value), "%s", done->body);
    cr_assert_eq(response_number(done, "/findings/fitted_q_starts"), 20, "each is held out once");
    cr_assert_geq(response_number(done, "/findings/fitted_q_residual"), 0);
    expect_judgement(done);
    double behaviour = response_number(done, "/findings/judge/behaviour/value");
    cr_assert_lt(response_number(done, "/findings/judge/logged/lowest"), behaviour);
    cr_assert_gt(response_number(done, "/findings/judge/logged/highest"), behaviour);
    cr_expect_str_eq(response_text(done, "/judge/dataset"), by);
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
}

/* What cannot be judged is not supported, and the job is no worse for it. */
Test(job_judge, too_few_trajectories_are_an_honest_verdict)
{
    const char *id = domain_sealed(f, "private", 20), *by = domain_sealed(f, "public", 3);
    struct response *done = domain_run(f, private_job(id, by));
    cr_assert_str_eq(response_text(done, "/findings/judge/verdict"), "not_supported");
    cr_assert_neq(strstr(response_text(done, "/findings/judge/reasons/0"), "too few"), NULL);
    cr_assert_null(response_at(done, "/findings/fitted_q_value"));
    /* Who puts such a policy before others is told. */
    const char *body =
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":1},"
                    "\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},"
                    "\"budget\":{\"epsilon\":8,\"delta\":1e-5},"
                    "\"client_budget\":{\"epsilon\":8,\"delta\":1e-5}}",
                    response_text(done, "/policy"));
    struct response *teacher = fixture_post(f, "steward", "/v1/teachers", body);
    expect_status(teacher, 201);
    cr_expect(strstr(response_text(teacher, "/warnings/0"), "no reason to use the policy"));
    const char *path = domain_path("/v1/teachers/%s", response_text(teacher, "/id"));
    static const char *const readers[] = {"steward", "student"};
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) { /* also later */
        struct response *shown = fixture_get(f, readers[i], path);
        cr_expect(strstr(response_text(shown, "/warnings/0"), "no reason to use the policy"));
        shown = fixture_get(f, readers[i], "/v1/teachers");
        cr_expect_eq(json_array_size(response_at(shown, "/items/0/warnings")), 1);
    }
    path = domain_path("/v1/policies/%s", response_text(done, "/policy"));
    struct response *policy = fixture_get(f, "steward", path);
    cr_expect(strstr(response_text(policy, "/warnings/0"), "no reason to use the policy"));
}

/* Who asked for a judge hears of it: its dataset cannot be deleted under the job. */
Test(job_judge, a_dataset_that_is_to_judge_stays)
{
    const char *id = domain_sealed(f, "private", 20), *by = domain_sealed(f, "public", 20);
    const char *other = domain_sealed(f, "public", 20);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", private_job(id, by));
    expect_status(made, 202);
    expect_problem(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", by)), "conflict");
    expect_status(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", other)), 204);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    cr_assert_not_null(response_at(domain_job(f, made), "/findings/judge/value"));
    expect_status(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", by)), 204);
}

/* SQLite's driver, with public datasets deleted just before a transaction that writes. */
static struct db_driver deleting;
static bool deletes;

static enum db_status begin_deleting(void *connection, bool will_write, struct db_fault *fault)
{
    if (will_write && deletes)
        cr_assert_eq(db_driver_sqlite.run(
                         connection, "UPDATE datasets SET state = 'deleted' WHERE is_public = 1",
                         NULL, 0, NULL, NULL, fault),
                     DB_OK);
    deletes = false;
    return db_driver_sqlite.begin(connection, will_write, fault);
}

Test(job_judge, a_dataset_that_is_deleted_while_the_job_is_planned_judges_none)
{
    deleting = db_driver_sqlite;
    deleting.begin = begin_deleting;
    service_close();
    f = fixture_open_on(&deleting);
    const char *id = domain_sealed(f, "private", 20), *by = domain_sealed(f, "public", 20);
    deletes = true;
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", private_job(id, by)), "/judge/dataset");
    cr_expect_eq(domain_spent(f, id), 0);
}

static void damage(const char *dataset)
{
    const char *sql = domain_path("UPDATE datasets SET experts = 1 WHERE id = '%s'", dataset);
    cr_assert_eq(db_run(fixture_db(f), sql, NULL, 0, NULL, NULL), DB_OK);
}

static bool says_gone(const struct response *job)
{
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    const char *verdict = response_text(job, "/findings/judge/verdict");
    const char *reason = response_text(job, "/findings/judge/reasons/0");
    return strcmp(verdict, "not_supported") == 0 && strstr(reason, "is gone or damaged");
}

/* One that cannot be read judges nothing, says so, and the job is no worse for it. */
Test(job_judge, a_dataset_that_cannot_be_read_says_so)
{
    const char *id = domain_sealed(f, "private", 20), *by = domain_sealed(f, "public", 20);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", private_job(id, by));
    expect_status(made, 202);
    damage(by);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *done = domain_job(f, made);
    cr_expect(says_gone(done), "%s", done->body);
    cr_expect_null(response_at(done, "/findings/fitted_q_value"));
}

/* ---- held-out experts of the dataset itself */

#define RANGE "\"return_low\":0,\"return_high\":20"

static const char *held_out_job(const char *dataset, const char *more, const char *judge)
{
    return job(dataset, "dpsgd", domain_path(",\"privacy\":{\"epsilon\":4,\"delta\":1e-5}%s", more),
               judge);
}

Test(job_judge, held_out_experts_are_refused_without_public_terms)
{
    const char *id = domain_sealed(f, "private", 60), *few = domain_sealed(f, "private", 30);
    const char *open = domain_sealed(f, "public", 60);
    const char *good = "{\"held_out\":0.4," RANGE "}";
    const char *const cases[][2] = {
        {held_out_job(id, "", "{\"held_out\":0.4}"), "/judge/return_low"},
        {held_out_job(id, "", "{\"held_out\":0.4,\"return_low\":0}"), "/judge/return_high"},
        {held_out_job(id, "", "{\"held_out\":0.4,\"return_low\":2,\"return_high\":2}"),
         "/judge/return_high"},
        {held_out_job(id, "", "{\"held_out\":0," RANGE "}"), "/judge/held_out"},
        {held_out_job(id, "", "{\"held_out\":0.51," RANGE "}"), "/judge/held_out"},
        {held_out_job(id, "", "{\"held_out\":-0.1," RANGE "}"), "/judge/held_out"},
        {held_out_job(id, "", "{\"held_out\":\"a\"," RANGE "}"), "/judge/held_out"},
        {held_out_job(id, "", "{\"held_out\":0.4,\"share\":0," RANGE "}"), "/judge/share"},
        {held_out_job(id, "", "{\"held_out\":0.4,\"share\":1," RANGE "}"), "/judge/share"},
        {held_out_job(id, "", "{" RANGE "}"), "/judge/dataset"},
        {held_out_job(id, "", domain_path("{\"dataset\":\"%s\"," RANGE "}", open)), "/judge"},
        {held_out_job(id, "", domain_path("{\"dataset\":\"%s\",\"held_out\":0.4," RANGE "}", open)),
         "/judge/held_out"},
        {held_out_job(few, "", good), "/judge/held_out"},
        {held_out_job(open, "", good), "/judge/held_out"},
        {held_out_job(id,
                      ",\"evaluate\":{\"environment\":\"cartpole\"},"
                      "\"sweep\":{\"learning_rate\":[0.001,0.01]}",
                      good),
         "/judge/held_out"},
        {job(id, "none", ",\"i_understand\":\"not_private\"", good), "/judge/held_out"},
        {job(id, "consensus", ",\"privacy\":{\"epsilon\":4,\"delta\":1e-5}", good),
         "/judge/held_out"},
        {"{\"algorithm\":\"dqn\",\"environment\":\"cartpole\",\"mechanism\":\"dpsgd\","
         "\"privacy\":{\"epsilon\":4,\"delta\":1e-5},\"judge\":{\"held_out\":0.4," RANGE "}}",
         "/judge"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
    cr_assert_eq(domain_spent(f, id), 0, "nothing is spent");
}

/* 24 of 60 judge: too few for the noise at a small epsilon, enough at a large one. */
Test(job_judge, an_estimate_warns_of_judges_that_cannot_judge)
{
    const char *id = domain_sealed(f, "private", 60), *judge = "{\"held_out\":0.4," RANGE "}";
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", held_out_job(id, "", judge));
    expect_status(estimate, 200);
    char uncertain[64];
    snprintf(uncertain, sizeof uncertain, "is uncertain by %.0f (3.3 times",
             3.3 * response_number(estimate, "/plan/judge/noise_multiplier"));
    const char *detail = response_text(estimate, "/warning/detail");
    cr_expect(strstr(detail, "about 24 experts would judge"), "%s", detail);
    cr_expect(strstr(detail, uncertain), "%s", detail);
    cr_expect(json_is_null(response_at(estimate, "/advice/judging")));
    estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate",
                     job(id, "dpsgd", ",\"privacy\":{\"epsilon\":60,\"delta\":1e-5}", judge));
    expect_status(estimate, 200);
    cr_expect_null(strstr(estimate->body, "would judge"), "%s", estimate->body);
}

static const char played_and_judged[] =
    ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":2,"
    "\"max_episode_steps\":20}";

/* Runs the job on new data and cancels it at pulse number AT (0: does not); the number of pulses.
 */
static unsigned run_and_cancel(unsigned at, struct response **out)
{
    const char *id = domain_sealed(f, "private", 60);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs",
                     held_out_job(id, played_and_judged, "{\"held_out\":0.4," RANGE "}"));
    expect_status(made, 202);
    struct domain_meddler meddler = {
        .f = f,
        .act_at = at,
        .cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"))};
    cr_assert_eq(domain_turn(f, "w", domain_meddle, &meddler), API_JOB_RAN);
    *out = domain_job(f, made);
    cr_assert_eq(domain_spent(f, id), response_number(made, "/privacy/reserved/epsilon"));
    return meddler.pulses;
}

/* The last pulses of such a job are in its evaluation, those before them in its judge's data. */
Test(job_judge, a_verdict_that_was_paid_for_outlives_a_cancelled_evaluation)
{
    struct response *job;
    unsigned pulses = run_and_cancel(0, &job), judged = 0;
    cr_assert_not_null(response_at(job, "/evaluation/episodes"));
    for (bool verdict = true; verdict; judged += verdict, pulses--) {
        (void)run_and_cancel(pulses, &job);
        cr_assert_str_eq(response_text(job, "/state"), "cancelled", "%s", job->body);
        cr_assert(json_is_null(response_at(job, "/evaluation")));
        struct response *certificate =
            fixture_get(f, "steward",
                        domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
        cr_assert_eq(response_number(certificate, "/plan/judge/held_out"), 0.4);
        verdict = response_at(job, "/findings/judge/verdict");
    }
    cr_assert_gt(judged, 0);
}

/* One price for both, within what was asked for; noisy figures, and never more than weak. */
Test(job_judge, held_out_experts_say_what_they_may)
{
    const char *id = domain_sealed(f, "private", 60);
    const char *body = held_out_job(id, "", "{\"held_out\":0.4,\"share\":0.5," RANGE "}");
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
    cr_assert(json_is_true(response_at(estimate, "/feasible")), "%s", estimate->body);
    cr_assert_eq(response_number(estimate, "/plan/nominal_experts"), 36, "24 of 60 judge");
    cr_assert_gt(response_number(estimate, "/plan/judge/noise_multiplier"), 0);
    struct response *done = domain_run(f, body);
    const char *verdict = response_text(done, "/findings/judge/verdict");
    cr_assert(strcmp(verdict, "weak") == 0 || strcmp(verdict, "not_supported") == 0, "%s", verdict);
    double low = response_number(done, "/findings/judge/held_out/experts/low");
    double high = response_number(done, "/findings/judge/held_out/experts/high");
    double noise = response_number(estimate, "/plan/judge/noise_multiplier");
    cr_assert_float_eq(high - low, 2 * 1.6448536 * 2 * noise, 1e-6 * noise);
    cr_assert_neq(strstr(response_text(done, "/notes/0"), "held-out"), NULL);
    cr_assert_null(response_at(done, "/findings/fitted_q_value"));
    double spent = response_number(done, "/privacy/spent/epsilon");
    cr_assert(spent > 3 && spent <= 4, "%g", spent);
    cr_assert_float_eq(domain_spent(f, id), spent, 1e-9);
    domain_expect_whole_ledger(f);
    struct response *certificate = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(done, "/policy")));
    cr_assert_eq(response_number(certificate, "/plan/judge/held_out"), 0.4);
    cr_assert_eq(response_number(certificate, "/plan/judge/noise_multiplier"), noise);
    cr_assert_eq(response_number(certificate, "/plan/nominal_experts"), 36);
    cr_assert_neq(strstr(certificate->body, "public coin"), NULL);
    cr_assert_neq(strstr(response_text(certificate, "/privacy/accountant"), "judge"), NULL);
}

/* The judge comes last. Of 4 it would have cost 2. */
Test(job_judge, what_is_cancelled_in_training_pays_for_no_judge)
{
    const char *id = domain_sealed(f, "private", 60);
    struct response *made = fixture_post(
        f, "steward", "/v1/jobs",
        domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"mechanism\":\"dpsgd\","
                    "\"privacy\":{\"epsilon\":4,\"delta\":1e-5},\"parameters\":{\"hidden\":[4],"
                    "\"batch_size\":4,\"steps\":100000},"
                    "\"judge\":{\"held_out\":0.4,\"share\":0.5," RANGE "}}",
                    id));
    expect_status(made, 202);
    struct domain_meddler meddler = {
        .f = f,
        .advance_ms = 2000,
        .act_at = 4,
        .cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"))};
    cr_assert_eq(domain_turn(f, "w", domain_meddle, &meddler), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    cr_assert_gt(response_number(job, "/progress/step"), 0);
    double spent = domain_spent(f, id);
    cr_expect(spent > 0 && spent < 1.5, "%g", spent);
    cr_expect_not_null(strstr(response_text(job, "/why"), "had run. They cost"), "%s", job->body);
}

struct damager {
    const char *dataset;
    unsigned pulses, act_at;
};

static bool damage_at(void *context)
{
    struct damager *damager = context;
    if (++damager->pulses == damager->act_at)
        damage(damager->dataset);
    return false;
}

/* Runs a job whose data are damaged at pulse number AT (0: they are not). */
static struct response *run_and_damage(unsigned at, unsigned *out_pulses)
{
    struct damager damager = {.dataset = domain_sealed(f, "private", 60), .act_at = at};
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs",
                     held_out_job(damager.dataset, "", "{\"held_out\":0.4," RANGE "}"));
    expect_status(made, 202);
    cr_assert_eq(domain_turn(f, "w", damage_at, &damager), API_JOB_RAN);
    *out_pulses = damager.pulses;
    return domain_job(f, made);
}

/* The data can be read when the training begins, and no more when it is over. */
Test(job_judge, held_out_experts_who_cannot_be_read_say_so)
{
    unsigned pulses, ignored;
    bool said = says_gone(run_and_damage(0, &pulses));
    cr_expect_not(said, "nothing was damaged");
    for (unsigned at = pulses; at > 0 && !said; at--)
        said = says_gone(run_and_damage(at, &ignored));
    cr_expect(said);
}
