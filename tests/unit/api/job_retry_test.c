/* Jobs whose database or memory fails for a while: they keep hold and checkpoint, are tried again,
 * and are paid for once. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/digests.h"
#include "storage/jobs.h"
#include "storage/ledger/amounts.h"
#include "tests/unit/api/domain.h"
#include "tests/unit/api/failing_database.h"

TestSuite(job_retry);

struct meddler {
    struct fixture *f;
    const char *cancel; /* NULL: not */
    unsigned pulses, act_at;
    int64_t advance; /* when it acts */
    bool stop, fail;
};

/* Asked at every pulse: lets time pass up to the one at which it acts. */
static bool meddle(void *context)
{
    struct meddler *m = context;
    if (++m->pulses > m->act_at)
        return false;
    fixture_advance(m->pulses < m->act_at ? 2000 : m->advance);
    if (m->pulses < m->act_at)
        return false;
    if (m->cancel != NULL)
        expect_status(fixture_post(m->f, "steward", m->cancel, NULL), 200);
    database_calls_left = m->fail ? 0 : -1;
    return m->stop;
}

struct paused {
    const char *dataset, *job;
    double reserved;
};

static struct paused pause_one(struct fixture *f)
{
    struct paused paused = {.dataset = domain_sealed(f, "private", 10)};
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(paused.dataset, 6, 4000));
    expect_status(made, 202);
    paused.job = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    paused.reserved = response_number(made, "/privacy/reserved/epsilon");
    struct meddler meddler = {.f = f, .act_at = 3, .advance = 2000, .stop = true};
    cr_assert_eq(domain_turn(f, "first", meddle, &meddler), API_JOB_PAUSED);
    fixture_advance(1000);
    return paused;
}

static void expect_spent(struct fixture *f, const struct paused *paused, double spent, double held)
{
    struct response *budget =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", paused->dataset));
    cr_assert_float_eq(response_number(budget, "/spent/epsilon"), spent, 1e-12);
    cr_assert_float_eq(response_number(budget, "/reserved/epsilon"), held, 1e-12);
}

/* The job waits with its hold, is not tried before its lease ends, and then succeeds. */
static void expect_retried(struct fixture *f, const struct paused *paused)
{
    cr_assert_str_eq(response_text(fixture_get(f, "steward", paused->job), "/state"), "running");
    expect_spent(f, paused, 0, paused->reserved);
    fixture_advance(400000);
    cr_assert_eq(domain_turn(f, "third", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", paused->job);
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
}

static void fail_at_every_call(enum db_status with)
{
    struct fixture *f = fixture_open_failing();
    bool reached = true;
    unsigned n = 0;
    database_failure = with;
    for (; reached && n < 200; n++) {
        struct paused paused = pause_one(f);
        database_calls_left = (int)n;
        enum api_job_turn turn = domain_turn(f, "second", NULL, NULL);
        reached = database_calls_left < 0;
        database_calls_left = -1;
        if (turn != API_JOB_RAN)
            expect_retried(f, &paused);
        struct response *job = fixture_get(f, "steward", paused.job);
        cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%u: %s", n, job->body);
        expect_spent(f, &paused, paused.reserved, 0);
    }
    cr_assert_gt(n, 12);
    cr_assert_lt(n, 200);
    domain_expect_whole_ledger(f);
    fixture_close(f);
}

Test(job_retry, a_database_that_fails_once_costs_no_job)
{
    fail_at_every_call(DB_FAILED);
}

Test(job_retry, a_full_disk_costs_no_job)
{
    fail_at_every_call(DB_FULL);
}

/* Of a version that did not have some parameters yet: it runs as it would have run then. */
Test(job_retry, a_plan_from_before_a_parameter_runs_without_it)
{
    struct fixture *f = fixture_open();
    const char *id = domain_sealed(f, "private", 20);
    struct response *made = fixture_post(
        f, "steward", "/v1/jobs",
        domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"mechanism\":\"dpsgd\","
                    "\"privacy\":{\"epsilon\":4,\"delta\":1e-5},\"parameters\":{\"hidden\":[4],"
                    "\"batch_size\":4,\"steps\":20,\"input_center\":[0.5],"
                    "\"next_action\":\"target\"}}",
                    id));
    expect_status(made, 202);
    double reserved = response_number(made, "/privacy/reserved/epsilon");
    domain_rewrite(f, &jobs_table,
                   "UPDATE jobs SET plan = json_remove(plan, '$.parameters.input_center', "
                   "'$.parameters.arithmetic', '$.parameters.next_action')");
    cr_assert_eq(domain_turn(f, "first", NULL, NULL), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    cr_assert_eq(response_number(job, "/parameters/input_center/0"), 0);
    cr_assert_str_eq(response_text(job, "/parameters/arithmetic"), "float");
    cr_assert_str_eq(response_text(job, "/parameters/next_action"), "online");
    cr_assert_float_eq(domain_spent(f, id), reserved, 1e-12);
    fixture_close(f);
}

/* Of parameters that have no such value. One that ran before may have spent all that it holds. */
Test(job_retry, a_resumed_plan_of_older_parameters_fails_at_its_price)
{
    struct fixture *f = fixture_open_failing();
    struct paused paused = pause_one(f);
    domain_rewrite(f, &jobs_table,
                   "UPDATE jobs SET plan = json_remove(plan, '$.parameters.clip_norm')");
    cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", paused.job);
    cr_assert_str_eq(response_text(job, "/state"), "failed");
    cr_assert_not_null(strstr(response_text(job, "/error/detail"), "parameter clip_norm"), "%s",
                       job->body);
    expect_spent(f, &paused, paused.reserved, 0);
    domain_expect_whole_ledger(f);
    fixture_close(f);
}

/* Of a version that did not have a parameter yet which has no such value, for a plain job and for
 * one try of a sweep: the job says which, and costs nothing. */
Test(job_retry, a_plan_of_older_parameters_fails_by_their_name)
{
    static const char *const changes[] = {
        "UPDATE jobs SET plan = json_remove(plan, '$.parameters.clip_norm')",
        "UPDATE jobs SET plan = json_set(plan, '$.tries', json_array("
        "json_remove(plan, '$.parameters.clip_norm')))"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture *f = fixture_open();
        const char *id = domain_sealed(f, "private", 20);
        struct response *made =
            fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 1, 20));
        expect_status(made, 202);
        domain_rewrite(f, &jobs_table, changes[i]);
        cr_assert_eq(domain_turn(f, "first", NULL, NULL), API_JOB_RAN);
        struct response *job = domain_job(f, made);
        cr_assert_str_eq(response_text(job, "/state"), "failed");
        cr_assert_not_null(strstr(response_text(job, "/error/detail"), "parameter clip_norm"), "%s",
                           job->body);
        cr_assert_eq(domain_spent(f, id), 0);
        fixture_close(f);
    }
}

Test(job_retry, a_plan_that_cannot_be_read_ends_its_job)
{
    struct fixture *f = fixture_open();
    const char *id = domain_sealed(f, "private", 10);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 40));
    expect_status(made, 202);
    domain_rewrite(f, &jobs_table, "UPDATE jobs SET plan = '{'");
    cr_assert_eq(domain_turn(f, "first", NULL, NULL), API_JOB_RAN);
    cr_assert_str_eq(response_text(domain_job(f, made), "/state"), "failed");
    cr_assert_eq(domain_spent(f, id), 0);
    fixture_close(f);
}

/* A job whose price somebody lowered, and maybe its HOLD, fails and blocks no other one. Gives what
 * is then spent, and held, in prices of one job. */
static void run_lowered(bool hold, int64_t out[2])
{
    struct fixture *f = fixture_open();
    int64_t price;
    const char *id = domain_sealed(f, "private", 10);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 3, 40));
    expect_status(made, 202);
    cr_assert(ledger_units_up(response_number(made, "/privacy/reserved/epsilon"), &price));
    cr_assert_eq(db_change(fixture_db(f), "UPDATE jobs SET hold_units = 1", NULL, 0), DB_OK);
    if (hold)
        cr_assert_eq(db_change(fixture_db(f), "UPDATE ledger_holds SET units = 1", NULL, 0), DB_OK);
    struct response *other = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 3, 40));
    expect_status(other, 202);
    cr_assert_eq(domain_turn(f, "first", NULL, NULL), API_JOB_NONE);
    cr_assert_eq(strncmp(db_damage(fixture_db(f)), hold ? "ledger_holds" : "jobs", 4), 0);
    cr_assert_eq(domain_turn(f, "first", NULL, NULL), API_JOB_RAN);
    cr_assert_str_eq(response_text(domain_job(f, other), "/state"), "succeeded");
    cr_assert_eq(db_one(fixture_db(f),
                        "SELECT spent_units, held_units FROM ledger_accounts WHERE resource = $1",
                        DB_VALUES(db_text(id)), listing_integers, out),
                 DB_OK);
    out[0] /= price;
    out[1] /= price;
    expect_status(fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id"))),
                  500);
    fixture_close(f);
}

/* It may have run before, so it pays all that it holds, or that stays set aside. */
Test(job_retry, a_price_that_somebody_lowered_is_paid_whole_and_blocks_no_other_job)
{
    int64_t jobs[2];
    run_lowered(false, jobs);
    cr_expect(jobs[0] == 2 && jobs[1] == 0);
    run_lowered(true, jobs);
    cr_expect(jobs[0] == 1 && jobs[1] == 1);
}

Test(job_retry, damaged_data_end_a_resumed_job_at_its_price)
{
    struct fixture *f = fixture_open_failing();
    struct paused paused = pause_one(f);
    cr_assert_eq(db_change(fixture_db(f), "UPDATE uploads SET experts = zeroblob(0)", NULL, 0),
                 DB_OK);
    cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", paused.job);
    cr_assert_str_eq(response_text(job, "/error/type"), "/problems/data-unreadable");
    expect_spent(f, &paused, paused.reserved, 0);
    fixture_close(f);
}

Test(job_retry, an_expert_beyond_the_datasets_is_damage)
{
    struct fixture *f = fixture_open_failing();
    struct paused paused = pause_one(f);
    cr_assert_eq(db_change(fixture_db(f), "UPDATE datasets SET experts = 5", NULL, 0), DB_OK);
    cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    cr_assert_str_eq(response_text(fixture_get(f, "steward", paused.job), "/state"), "failed");
    fixture_close(f);
}

Test(job_retry, nothing_is_asked_of_a_broken_database)
{
    struct fixture *f = fixture_open_failing();
    const char *id = domain_sealed(f, "private", 10);
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20000)), 202);
    struct meddler meddler = {.f = f, .act_at = 4, .advance = 2000, .fail = true};
    database_failure = DB_FULL; /* which alone would be waited out */
    database_breaks = true;
    cr_assert_eq(domain_turn(f, "w", meddle, &meddler), API_JOB_FAILED_STORAGE);
    cr_assert(db_broken(fixture_db(f)));
    cr_assert_eq(database_calls_after, 0);
    fixture_close(f);
}

Test(job_retry, a_clock_set_back_does_not_silence_the_heartbeat)
{
    struct fixture *f = fixture_open_failing();
    const char *id = domain_sealed(f, "private", 10);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20000));
    const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    struct meddler meddler = {
        .f = f, .act_at = 4, .advance = -3600000, .cancel = domain_path("%s:cancel", path)};
    cr_assert_eq(domain_turn(f, "w", meddle, &meddler), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    cr_assert_lt(response_number(job, "/progress/step"), 20000);
    fixture_close(f);
}

/* Steps that are (0, delta)-private are not free: they cost their delta. */
Test(job_retry, executed_steps_always_cost_their_delta)
{
    struct fixture *f = fixture_open_failing();
    struct paused paused = {
        .dataset = domain_sealed_of(
            f,
            "{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":\"private\","
            "\"budget\":{\"epsilon\":10,\"delta\":0.05}}",
            10)};
    struct response *made = fixture_post(
        f, "steward", "/v1/jobs",
        domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
                    "\"privacy\":{\"epsilon\":0.5,\"delta\":0.04},\"parameters\":{\"hidden\":[4],"
                    "\"batch_size\":2,\"steps\":100000}}",
                    paused.dataset));
    expect_status(made, 202);
    paused.job = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    struct meddler meddler = {
        .f = f, .act_at = 2, .advance = 2000, .cancel = domain_path("%s:cancel", paused.job)};
    cr_assert_eq(domain_turn(f, "w", meddle, &meddler), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", paused.job);
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    cr_assert(response_number(job, "/progress/step") > 0);
    cr_assert_leq(response_number(job, "/privacy/spent/epsilon"), 1e-9); /* one unit of rounding */
    cr_assert_float_eq(response_number(job, "/privacy/spent/delta"), 0.04, 1e-12);
    struct response *budget =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", paused.dataset));
    cr_assert_float_eq(response_number(budget, "/spent/delta"), 0.04, 1e-12);
    cr_assert_eq(response_number(budget, "/reserved/delta"), 0);
    fixture_close(f);
}

/* Claims the one job and is heard of no more. */
static void claim_and_die(struct fixture *f, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        struct job_row job;
        cr_assert_eq(jobs_claim(fixture_db(f), "mortal", "", 1, 0, &job), DB_OK);
        job_done(&job);
    }
}

Test(job_retry, a_job_that_ends_every_worker_ends_itself_at_its_price)
{
    struct fixture *f = fixture_open();
    struct paused paused = {.dataset = domain_sealed(f, "private", 10)};
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(paused.dataset, 6, 400));
    paused.job = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    paused.reserved = response_number(made, "/privacy/reserved/epsilon");
    claim_and_die(f, 5);
    cr_assert_eq(domain_turn(f, "sixth", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", paused.job);
    cr_expect_str_eq(response_text(job, "/state"), "failed");
    cr_expect_not_null(strstr(response_text(job, "/error/detail"), "again and again"), "%s",
                       job->body);
    expect_spent(f, &paused, paused.reserved, 0);
    fixture_close(f);
}

Test(job_retry, a_few_dead_workers_are_forgiven)
{
    struct fixture *f = fixture_open();
    struct paused paused = pause_one(f); /* in order: its attempt does not count */
    claim_and_die(f, 4);
    cr_assert_eq(domain_turn(f, "fifth", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", paused.job);
    cr_expect_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    expect_spent(f, &paused, paused.reserved, 0);
    fixture_close(f);
}
