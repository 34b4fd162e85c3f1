/* Evaluations that find no memory, again and again: the job ends some day, and what was trained is
 * released and paid for as if it had been evaluated. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "storage/jobs.h"
#include "tests/unit/api/domain.h"
#include "tests/unit/api/failing_calloc.h"

TestSuite(job_unevaluated, .timeout = 120);

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

static int64_t attempts_of(struct fixture *f, const char *path)
{
    struct job_row job;
    cr_assert_eq(jobs_find(fixture_db(f), strrchr(path, '/') + 1, &job), DB_OK);
    int64_t attempts = job.attempts;
    job_done(&job);
    return attempts;
}

/* Turns in each of which an allocation of the evaluation fails, until there is an end. Gives how
 * many of them counted. */
static int starve(struct fixture *f, const char *path)
{
    int n = 0, counted = 0;
    enum api_job_turn turn = API_JOB_PAUSED;
    for (int turns = 0; turn != API_JOB_RAN && turns < 60; turns++) {
        fixture_advance(400000);
        callocs_left = counted < CLAIMS_MAX - 1 ? n : -1;
        turn = domain_turn(f, "scarce", NULL, NULL);
        bool met = callocs_left == -1;
        callocs_left = -1;
        int64_t attempts = turn == API_JOB_RAN ? 0 : attempts_of(f, path);
        cr_assert(turn == API_JOB_RAN || (met && turn == API_JOB_PAUSED));
        cr_assert(attempts == 0 || attempts == counted + 1);
        counted += attempts > 0;
        n += attempts == 0; /* what found no memory was not the evaluation yet */
    }
    cr_assert_eq(turn, API_JOB_RAN);
    return counted;
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
    cr_assert_eq(starve(f, path), CLAIMS_MAX - 1);

    struct response *job = fixture_get(f, "steward", path);
    cr_assert_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_assert_not_null(strstr(response_text(job, "/error/type"), "evaluation-failed"));
    cr_assert_not_null(strstr(response_text(job, "/error/detail"), "short of memory"));
    cr_assert(json_is_null(response_at(job, "/evaluation")));
    cr_assert_float_eq(domain_spent(f, dataset), reserved, 1e-12);
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), reserved, 1e-12);
    const char *policy = domain_path("/v1/policies/%s", response_text(job, "/policy"));
    expect_status(fixture_get(f, "steward", domain_path("%s/weights", policy)), 200);
    expect_status(fixture_get(f, "steward", domain_path("%s/certificate", policy)), 200);
    domain_expect_whole_ledger(f);
    fixture_close(f);
}

/* One that only plays what is there has nothing to lose. */
Test(job_unevaluated, a_job_that_only_plays_ends)
{
    struct fixture *f = fixture_open();
    struct response *trained = domain_run(
        f, "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"parameters\":{\"hidden\":[8],"
           "\"worlds\":4,\"rollout_steps\":16,\"minibatch\":32,\"transitions\":640}}");
    struct response *made = fixture_post(
        f, "steward", "/v1/jobs",
        domain_path("{\"algorithm\":\"evaluate\",\"policy\":\"%s\",\"evaluate\":{\"environment\":"
                    "\"cartpole\",\"episodes\":5}}",
                    response_text(trained, "/policy")));
    expect_status(made, 202);
    const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    cr_assert_eq(starve(f, path), CLAIMS_MAX - 1);
    struct response *job = fixture_get(f, "steward", path);
    cr_assert_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_assert_not_null(strstr(response_text(job, "/error/type"), "evaluation-failed"));
    fixture_close(f);
}
