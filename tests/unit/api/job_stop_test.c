/* Jobs that are cancelled, stopped, or lose their lease: what they go on from and what they pay. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/call/app.h"
#include "storage/jobs.h"
#include "tests/unit/api/service.h"

TestSuite(job_stop, .init = service_open, .fini = service_close);

Test(job_stop, give_back_all_when_cancelled_in_the_queue)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20));
    const char *cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"));
    struct response *job = fixture_post(f, "steward", cancel, NULL);
    expect_status(job, 200);
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    cr_assert_eq(response_number(job, "/paid/epsilon"), 0);
    cr_assert_eq(response_number(job, "/paid/delta"), 0);
    cr_assert_not_null(strstr(response_text(job, "/why"), "in the queue"));
    struct response *after = domain_budget(f, id);
    cr_assert_eq(response_number(after, "/reserved/epsilon"), 0);
    cr_assert_eq(response_number(after, "/spent/epsilon"), 0);
    expect_problem(fixture_post(f, "steward", cancel, NULL), "job-not-cancellable");
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_NONE);
    expect_problem(fixture_post(f, "steward", "/v1/jobs/job_nothing:cancel", NULL), "not-found");
    domain_expect_whole_ledger(f);
}

Test(job_stop, pay_for_executed_steps_when_cancelled)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 100000));
    expect_status(made, 202);
    double reserved = response_number(made, "/privacy/reserved/epsilon");
    struct domain_meddler meddler = {
        .f = f,
        .advance_ms = 2000,
        .act_at = 4,
        .cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"))};
    cr_assert_eq(domain_turn(f, "w", domain_meddle, &meddler), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    cr_assert(json_is_null(response_at(job, "/policy")));
    cr_assert(response_number(job, "/progress/step") > 0);
    cr_assert(response_number(job, "/progress/step") < 100000);
    double spent = response_number(job, "/privacy/spent/epsilon");
    cr_assert(spent > 0 && spent < reserved, "%g of %g", spent, reserved);
    cr_assert_float_eq(response_number(domain_budget(f, id), "/spent/epsilon"), spent, 1e-12);
    cr_assert_eq(response_number(job, "/paid/epsilon"), spent);
    cr_assert_eq(response_number(job, "/paid/delta"),
                 response_number(domain_budget(f, id), "/spent/delta"));
    cr_assert_not_null(strstr(response_text(job, "/why"), "noisy steps had run"));
    cr_assert_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
    domain_expect_whole_ledger(f);
}

Test(job_stop, pause_and_go_on_from_their_checkpoint)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20000));
    struct domain_meddler meddler = {.f = f, .advance_ms = 2000, .act_at = 3, .stop = true};
    cr_assert_eq(domain_turn(f, "first", domain_meddle, &meddler), API_JOB_PAUSED);
    struct response *paused = domain_job(f, made);
    cr_assert_str_eq(response_text(paused, "/state"), "running");
    double step = response_number(paused, "/progress/step");
    cr_assert(step > 0 && step < 20000);
    cr_assert(response_number(domain_budget(f, id), "/reserved/epsilon") > 0);
    fixture_advance(1000);
    cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    cr_assert_str_eq(response_text(domain_job(f, made), "/state"), "succeeded");
    cr_assert_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
    domain_expect_whole_ledger(f);
}

/* Asked at every pulse: a job that another worker took over writes nothing more. */
static bool lose_the_lease(void *context)
{
    struct domain_meddler *meddler = context;
    struct job_row job;
    if (++meddler->pulses == 2) {
        fixture_advance(3600000);
        cr_assert_eq(jobs_claim(fixture_db(meddler->f), "thief", "",
                                fixture_app(meddler->f)->settings.now_ms(), 60000, &job),
                     DB_OK);
        job_done(&job);
        fixture_advance(2000);
    }
    return false;
}

Test(job_stop, write_nothing_without_their_lease)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 100000));
    struct domain_meddler meddler = {.f = f};
    cr_assert_eq(domain_turn(f, "victim", lose_the_lease, &meddler), API_JOB_PAUSED);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "running");
    cr_assert(response_number(domain_budget(f, id), "/reserved/epsilon") > 0);
    cr_assert_eq(response_number(domain_budget(f, id), "/spent/epsilon"), 0);
    domain_expect_whole_ledger(f);
}

Test(job_stop, pay_all_when_cancelled_after_a_pause)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20000));
    double reserved = response_number(made, "/privacy/reserved/epsilon");
    struct domain_meddler meddler = {.f = f, .advance_ms = 2000, .act_at = 3, .stop = true};
    cr_assert_eq(domain_turn(f, "first", domain_meddle, &meddler), API_JOB_PAUSED);
    const char *cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"));
    struct response *job = fixture_post(f, "steward", cancel, NULL);
    expect_status(job, 200);
    cr_assert(json_is_true(response_at(job, "/cancel_requested")));
    fixture_advance(1000);
    cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), reserved, 1e-12);
    cr_assert_float_eq(response_number(job, "/paid/epsilon"), reserved, 1e-12);
    cr_assert_not_null(strstr(response_text(job, "/why"), "resumed after a stop"));
    cr_assert_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
    domain_expect_whole_ledger(f);
}

/* The clock may have been set back to the very moment at which the first worker began. */
Test(job_stop, pay_all_when_cancelled_after_a_crash_in_the_same_millisecond)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20));
    double reserved = response_number(made, "/privacy/reserved/epsilon");
    struct job_row job;
    cr_assert_eq(jobs_claim(fixture_db(f), "dead", "", fixture_app(f)->settings.now_ms(), 1, &job),
                 DB_OK);
    job_done(&job);
    cr_assert_eq(jobs_expire_leases(fixture_db(f)), DB_OK);
    const char *cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"));
    expect_status(fixture_post(f, "steward", cancel, NULL), 200);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    cr_assert_str_eq(response_text(domain_job(f, made), "/state"), "cancelled");
    cr_assert_float_eq(domain_spent(f, id), reserved, 1e-12);
}
