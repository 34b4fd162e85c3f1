/* Evaluations that end their worker, again and again: the job ends some day, and what was trained
 * is released and paid for as if it had been evaluated. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "storage/jobs.h"
#include "tests/unit/api/domain.h"

TestSuite(job_unevaluated, .timeout = 600);

#define CLAIMS_MAX 6 /* without getting further: the last one ends the job */

struct watcher {
    struct fixture *f;
    const char *path;
    double steps;
};

/* Asks for a stop once the training is over. */
static bool is_trained(void *context)
{
    const struct watcher *watcher = context;
    fixture_advance(2000);
    struct response *job = fixture_get(watcher->f, "steward", watcher->path);
    return response_number(job, "/progress/step") >= watcher->steps;
}

/* As many workers as may die at it, and then one that does not. */
static void die_and_end(struct fixture *f)
{
    for (int n = 0; n < CLAIMS_MAX - 1; n++) {
        struct job_row job;
        fixture_advance(400000);
        cr_assert_eq(
            jobs_claim(fixture_db(f), "dead", "", fixture_app(f)->settings.now_ms(), 1, &job),
            DB_OK);
        job_done(&job);
    }
    fixture_advance(400000);
    cr_assert_eq(domain_turn(f, "last", NULL, NULL), API_JOB_RAN);
}

Test(job_unevaluated, a_finished_policy_is_released_and_paid)
{
    struct fixture *f = fixture_open();
    const char *dataset = domain_sealed(f, "private", 10);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 6, 40));
    expect_status(made, 202);
    double reserved = response_number(made, "/privacy/reserved/epsilon");
    const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    struct watcher watcher = {f, path, 40};
    cr_assert_eq(domain_turn(f, "first", is_trained, &watcher), API_JOB_PAUSED);
    die_and_end(f);

    struct response *job = fixture_get(f, "steward", path);
    cr_assert_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_assert_not_null(strstr(response_text(job, "/error/type"), "evaluation-failed"));
    cr_assert_not_null(strstr(response_text(job, "/error/detail"), "again and again"));
    cr_assert(json_is_null(response_at(job, "/evaluation")));
    cr_assert_float_eq(domain_spent(f, dataset), reserved, 1e-12);
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), reserved, 1e-12);
    const char *policy = domain_path("/v1/policies/%s", response_text(job, "/policy"));
    expect_status(fixture_get(f, "steward", domain_path("%s/weights", policy)), 200);
    expect_status(fixture_get(f, "steward", domain_path("%s/certificate", policy)), 200);
    domain_expect_whole_ledger(f);
    fixture_close(f);
}
