/* Jobs without a dataset: PPO learns in a world, costs nothing and is released. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "storage/jobs.h"
#include "tests/unit/api/service.h"

TestSuite(ppo_job, .init = service_open, .fini = service_close);

#define SMALL                                                                                      \
    "\"parameters\":{\"hidden\":[8],\"worlds\":4,\"rollout_steps\":16,\"minibatch\":32,"           \
    "\"transitions\":640}"
#define PPO(rest) "{\"algorithm\":\"ppo\"" rest "}"

static struct response *show(const struct response *made)
{
    struct response *job =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    expect_status(job, 200);
    return job;
}

Test(ppo_job, refuses_what_it_cannot_be)
{
    static const char *const cases[][2] = {
        {PPO(""), "/environment"},
        {PPO(",\"environment\":null"), "/environment"},
        {PPO(",\"environment\":7"), "/environment"},
        {PPO(",\"environment\":\"mars\""), "/environment"},
        {PPO(",\"environment\":{\"name\":\"mars\"}"), "/environment/name"},
        {PPO(",\"environment\":{}"), "/environment/name"},
        {PPO(",\"environment\":{\"name\":\"cartpole\",\"physics\":{}}"), "/environment/physics"},
        {PPO(",\"environment\":{\"name\":\"cartpole\",\"parameters\":{\"gravty\":9}}"),
         "/environment/parameters/gravty"},
        {PPO(",\"environment\":{\"name\":\"cartpole\",\"parameters\":{\"gravity\":-1e9}}"),
         "/environment/parameters/gravity"},
        {PPO(",\"environment\":{\"name\":\"cartpole\",\"parameters\":{\"gravity\":\"9\"}}"),
         "/environment/parameters/gravity"},
        {PPO(",\"environment\":{\"name\":\"cartpole\",\"parameters\":[]}"),
         "/environment/parameters"},
        {PPO(",\"environment\":\"cartpole\",\"dataset\":\"ds_1\""), "/dataset"},
        {PPO(",\"environment\":\"cartpole\",\"mechanism\":\"dpsgd\""), "/mechanism"},
        {PPO(",\"environment\":\"cartpole\",\"privacy\":{\"epsilon\":1,\"delta\":1e-5}"),
         "/privacy"},
        {PPO(",\"environment\":\"cartpole\",\"parameters\":{\"worlds\":0}"), "/parameters/worlds"},
        {PPO(",\"environment\":\"cartpole\",\"parameters\":{\"transition\":9}"),
         "/parameters/transition"},
        {PPO(",\"environment\":\"cartpole\",\"parameters\":{\"minibatch\":65536}"), "/parameters"},
        {PPO(",\"environment\":\"cartpole\",\"evaluate\":{\"environment\":\"acrobot\"}"),
         "/evaluate/environment"},
        {PPO(",\"environment\":\"cartpole\",\"evaluate\":{\"episodes\":3}"),
         "/evaluate/environment"},
        {PPO(",\"environment\":\"cartpole\",\"evaluate\":{\"environment\":{\"name\":\"cartpole\","
             "\"parameters\":{\"length\":1e9}}}"),
         "/evaluate/environment/parameters/length"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", cases[i][0]), cases[i][1]);
    }
    expect_problem(
        fixture_post(f, "student", "/v1/jobs", PPO(",\"environment\":\"cartpole\"," SMALL)),
        "forbidden");
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
}

Test(ppo_job, is_estimated_at_nothing_with_the_worlds_defaults)
{
    struct response *r =
        fixture_post(f, "steward", "/v1/jobs:estimate", PPO(",\"environment\":\"hiv\"," SMALL));
    expect_status(r, 200);
    cr_assert(json_is_true(response_at(r, "/feasible")));
    cr_assert_eq(response_number(r, "/cost/epsilon"), 0);
    cr_assert_eq(response_number(r, "/plan/steps"), 10);
    cr_assert_eq(response_number(r, "/plan/parameter_count"), 6 * 8 + 8 + 8 * 4 + 4);
    cr_assert_eq(json_array_size(response_at(r, "/accounts")), 0);
}

Test(ppo_job, learns_in_a_world_and_is_released)
{
    struct response *job = domain_run(
        f, PPO(",\"environment\":{\"name\":\"cartpole\",\"parameters\":{\"gravity\":11}}," SMALL
               ",\"evaluate\":{\"environment\":{\"name\":\"cartpole\",\"parameters\":"
               "{\"gravity\":9}},\"episodes\":5,\"max_episode_steps\":50}"));
    cr_assert_str_eq(response_text(job, "/environment"), "cartpole");
    cr_assert_str_eq(response_text(job, "/mechanism"), "none");
    cr_assert(json_is_null(response_at(job, "/dataset")));
    cr_assert(json_is_null(response_at(job, "/privacy")));
    cr_assert_eq(response_number(job, "/progress/step"), 10);
    double shown = response_number(job, "/progress/mean_return");
    cr_assert(shown >= 8 && shown <= 200, "%g", shown);
    cr_assert_eq(response_number(job, "/evaluation/episodes"), 5);
    cr_assert_geq(response_number(job, "/evaluation/mean_return"), 8);
    cr_assert_eq(json_array_size(response_at(job, "/notes")), 1);

    /* Its weights may leave; it has no certificate, for it promises nothing. */
    const char *id = response_text(job, "/policy");
    struct response *policy = fixture_get(f, "steward", domain_path("/v1/policies/%s", id));
    expect_status(policy, 200);
    cr_assert(json_is_true(response_at(policy, "/released")));
    cr_assert(json_is_null(response_at(policy, "/dataset")));
    cr_assert_str_eq(response_text(policy, "/environment"), "cartpole");
    expect_status(fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", id)), 200);
    expect_problem(fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", id)),
                   "not-found");
    expect_status(fixture_post(f, "steward", domain_path("/v1/policies/%s/actions", id),
                               "{\"states\":[[0,0,0,0]]}"),
                  200);
    /* And it teaches. */
    expect_status(fixture_post(f, "steward", "/v1/teachers", domain_teacher(id, 10, 5)), 201);
    domain_expect_whole_ledger(f);
}

static bool stop_at_once(void *context)
{
    bool *asked = context;
    bool stop = *asked; /* the first question is about the first update */
    *asked = true;
    return stop;
}

Test(ppo_job, pauses_and_goes_on)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", PPO(",\"environment\":\"acrobot\"," SMALL));
    expect_status(made, 202);
    bool asked = false;
    cr_assert_eq(domain_turn(f, "w", stop_at_once, &asked), API_JOB_PAUSED);
    struct response *job = show(made);
    cr_assert_str_eq(response_text(job, "/state"), "running");
    double step = response_number(job, "/progress/step");
    cr_assert(step >= 1 && step < 10, "%g", step);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    job = show(made);
    cr_assert_str_eq(response_text(job, "/state"), "succeeded");
    cr_assert_eq(response_number(job, "/progress/step"), 10);
}

Test(ppo_job, is_cancelled_for_nothing)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", PPO(",\"environment\":\"cartpole\"," SMALL));
    const char *cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"));
    expect_status(fixture_post(f, "steward", cancel, NULL), 200);
    cr_assert_str_eq(response_text(show(made), "/state"), "cancelled");
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_NONE);
}

/* Private training shows no return, whatever its steps do. */
Test(ppo_job, only_public_training_shows_returns)
{
    const char *dataset = domain_sealed(f, "private", 10);
    struct response *job = domain_run(f, domain_private_job(dataset, 6, 20));
    cr_assert_null(response_at(job, "/progress/mean_return"));
    job = domain_run(f, domain_unprotected_job(dataset, 20));
    cr_assert_null(response_at(job, "/progress/mean_return"));
    cr_assert(json_is_null(response_at(job, "/evaluation")));
}
