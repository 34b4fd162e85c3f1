/* The audit as a job: no dataset, no world, no policy, no price; numbers instead. Its noise is the
 * system's: a sound trainer fails once in a million runs. */
#include <criterion/criterion.h>
#include <math.h>

#include "api/jobs/ask/job_plan.h"
#include "storage/jobs.h"
#include "tests/unit/api/service.h"

TestSuite(audit_job, .init = service_open, .fini = service_close);

#define AUDIT(rest) "{\"algorithm\":\"audit\"" rest "}"
#define SMALL       "\"runs\":2000,\"audited\":\"behaviour_cloning\""

static struct response *run(const char *body)
{
    struct response *made = fixture_post(f, "steward", "/v1/jobs", body);
    expect_status(made, 202);
    cr_assert_null(response_at(made, "/findings/epsilon_shown"));
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    return job;
}

Test(audit_job, gives_findings_and_no_policy)
{
    struct response *job = run(AUDIT(",\"parameters\":{" SMALL "}"));
    double certified = response_number(job, "/findings/epsilon_certified");
    double shown = response_number(job, "/findings/epsilon_shown");
    cr_assert(certified > 2.1 && certified < 2.2, "%s", job->body);
    cr_assert(shown >= 0 && shown <= certified, "%s", job->body);
    cr_assert_eq(response_number(job, "/findings/counted"), 1000);
    cr_assert_eq(response_number(job, "/findings/delta"), 0.01);
    cr_assert_eq(response_number(job, "/progress/fraction"), 1);
    cr_assert(json_is_null(response_at(job, "/policy")));
    cr_assert(json_is_null(response_at(job, "/privacy")));
    cr_assert(json_is_null(response_at(job, "/dataset")));
    job = run(AUDIT(",\"parameters\":{" SMALL ",\"broken\":\"clip\"}"));
    cr_assert_gt(response_number(job, "/findings/epsilon_shown"),
                 response_number(job, "/findings/epsilon_certified"), "%s", job->body);
}

#define ONE_RUN(rest)                                                                              \
    AUDIT(",\"parameters\":{\"method\":\"one_run\",\"canaries\":400,\"batch_size\":100,"           \
          "\"steps\":8,\"delta\":1e-5,\"noise_multiplier\":2" rest "}")

/* With little noise its price took half a minute to find, without a limit. */
Test(audit_job, is_priced_within_the_work_of_a_plan)
{
    static const char body[] = AUDIT(",\"parameters\":{\"method\":\"one_run\",\"canaries\":4000,"
                                     "\"batch_size\":1,\"steps\":1000000,\"delta\":1e-9,"
                                     "\"noise_multiplier\":%g}");
    struct response *r = fixture_post(f, "steward", "/v1/jobs:estimate", domain_path(body, 1.0));
    cr_expect(json_is_true(response_at(r, "/feasible")), "%s", r->body);
    r = fixture_post(f, "steward", "/v1/jobs:estimate", domain_path(body, 0.3));
    cr_expect(json_is_false(response_at(r, "/feasible")), "%s", r->body);
    cr_expect_not_null(strstr(response_text(r, "/reason"), "more work to account for"), "%s",
                       r->body);
}

Test(audit_job, counts_right_guesses_about_many_canaries)
{
    struct response *job = run(ONE_RUN(""));
    double certified = response_number(job, "/findings/epsilon_certified");
    cr_assert(certified > 1.5 && certified < 2.5, "%s", job->body);
    cr_assert_leq(response_number(job, "/findings/epsilon_shown"), certified, "%s", job->body);
    cr_assert_eq(response_number(job, "/findings/guesses"), 4 * 2 * 60);
    cr_assert_gt(response_number(job, "/findings/right"), 240, "%s", job->body);
    cr_assert_eq(response_number(job, "/progress/fraction"), 1);
    cr_assert(json_is_null(response_at(job, "/policy")));
    job = run(ONE_RUN(",\"broken\":\"clip\",\"trainings\":8"));
    cr_assert_gt(response_number(job, "/findings/epsilon_shown"),
                 response_number(job, "/findings/epsilon_certified"), "%s", job->body);
}

Test(audit_job, has_no_findings_when_it_is_another_algorithm)
{
    const char *dataset = domain_sealed(f, "public", 3);
    struct response *job = run(domain_plain_job(dataset, 5));
    cr_assert(json_is_null(response_at(job, "/findings")));
}

static bool now(void *context)
{
    (void)context;
    return true;
}

Test(audit_job, begins_again_after_a_stop_and_can_be_cancelled)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", AUDIT(",\"parameters\":{" SMALL "}"));
    expect_status(made, 202);
    const char *job = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    cr_assert_eq(domain_turn(f, "first", now, NULL), API_JOB_PAUSED);
    cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    cr_assert_eq(response_number(fixture_get(f, "steward", job), "/findings/counted"), 1000);
    made = fixture_post(f, "steward", "/v1/jobs", AUDIT(""));
    job = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    expect_status(fixture_post(f, "steward", domain_path("%s:cancel", job), NULL), 200);
    struct response *gone = fixture_get(f, "steward", job);
    cr_assert_str_eq(response_text(gone, "/state"), "cancelled");
    cr_assert(json_is_null(response_at(gone, "/findings")));
}

Test(audit_job, refuses_what_it_cannot_be)
{
    static const char *const cases[][2] = {
        {AUDIT(",\"dataset\":\"ds_1\""), "/dataset"},
        {AUDIT(",\"environment\":\"cartpole\""), "/environment"},
        {AUDIT(",\"mechanism\":\"dpsgd\""), "/mechanism"},
        {AUDIT(",\"privacy\":{\"epsilon\":1,\"delta\":1e-5}"), "/privacy"},
        {AUDIT(",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":3}"), "/evaluate"},
        {AUDIT(",\"parameters\":{\"audited\":\"ppo\"}"), "/parameters/audited"},
        {AUDIT(",\"parameters\":{\"runs\":1}"), "/parameters/runs"},
        {AUDIT(",\"parameters\":{\"steps\":1001}"), "/parameters"},
        {AUDIT(",\"parameters\":{\"method\":\"three\"}"), "/parameters/method"},
        {ONE_RUN(",\"trainings\":0"), "/parameters/trainings"},
        {AUDIT(",\"parameters\":{\"method\":\"one_run\",\"canaries\":100}"),
         "/parameters/batch_size"},
        {AUDIT(",\"parameters\":{\"noise_multiplier\":0}"), "/parameters/noise_multiplier"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
}
