/* A job's result chosen by play, over the API: what is refused and where, that it costs nothing,
 * and what is shown of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "envs/env.h"
#include "tests/unit/api/service.h"

TestSuite(job_choose, .init = service_open, .fini = service_close);

#define PRIVACY    ",\"privacy\":{\"epsilon\":4,\"delta\":1e-5}"
#define SMALL      ",\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":40}"
#define JOB(rest)  "{\"algorithm\":\"cql\",\"dataset\":\"%s\"" PRIVACY SMALL rest "}"
#define CHOOSE(in) ",\"choose\":{\"environment\":\"cartpole\"" in "}"

Test(job_choose, bad_requests_name_what_is_bad)
{
    static const char *const cases[][2] = {
        {JOB(",\"choose\":{}"), "/choose/environment"},
        {JOB(",\"choose\":7"), "/choose"},
        {JOB(",\"choose\":{\"environment\":\"nowhere\"}"), "/choose/environment"},
        {JOB(",\"choose\":{\"environment\":\"acrobot\"}"), "/choose/environment"},
        {JOB(CHOOSE(",\"candidates\":0")), "/choose/candidates"},
        {JOB(CHOOSE(",\"candidates\":101")), "/choose/candidates"},
        {JOB(CHOOSE(",\"candidates\":\"all\"")), "/choose/candidates"},
        {JOB(CHOOSE(",\"episodes\":0")), "/choose/episodes"},
        {JOB(CHOOSE(",\"episodes\":1001")), "/choose/episodes"},
        {JOB(CHOOSE(",\"max_episode_steps\":10001")), "/choose/max_episode_steps"},
        {JOB(CHOOSE(",\"best_of\":3")), "/choose/best_of"},
        {"{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":2" CHOOSE("") "}", "/choose"},
    };
    const char *id = domain_sealed(f, "private", 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        snprintf(body, sizeof body, cases[i][0], id);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", body), cases[i][1]);
    }
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs",
                     "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\"" CHOOSE("") "}"),
        "/choose");
    cr_assert_eq(domain_spent(f, id), 0);
}

/* Whether the certificate of JOB's policy says that it was chosen. */
static bool certified_as_chosen(const struct response *job)
{
    struct response *certificate = fixture_get(
        f, "auditor", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    expect_status(certificate, 200);
    return strstr(certificate->body, "of several moments of its training") != NULL;
}

Test(job_choose, costs_no_budget_and_shows_what_was_asked)
{
    const char *id = domain_crowd(f, 20, false);
    struct response *plain = domain_run(f, domain_path(JOB(""), id));
    double once = domain_spent(f, id);
    struct response *chosen = domain_run(
        f,
        domain_path(JOB(CHOOSE(",\"candidates\":7,\"episodes\":2,\"max_episode_steps\":30")), id));
    cr_assert_float_eq(domain_spent(f, id), 2 * once, 1e-6);
    cr_assert_eq(response_number(chosen, "/privacy/spent/epsilon"),
                 response_number(plain, "/privacy/spent/epsilon"));
    cr_assert_str_eq(response_text(chosen, "/choose/environment"), "cartpole");
    cr_assert_eq(response_number(chosen, "/choose/candidates"), 7);
    cr_assert_eq(response_number(chosen, "/choose/episodes"), 2);
    cr_assert_eq(response_number(chosen, "/choose/max_episode_steps"), 30);
    cr_assert(strstr(plain->body, "\"choose\":null"));
    cr_assert_gt(strlen(response_text(chosen, "/policy")), 0);
    cr_assert(certified_as_chosen(chosen) && !certified_as_chosen(plain));
}

Test(job_choose, defaults_are_those_of_the_description)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *job = domain_run(f, domain_path(JOB(CHOOSE("")), id));
    cr_assert_eq(response_number(job, "/choose/candidates"), 20);
    cr_assert_eq(response_number(job, "/choose/episodes"), 20);
    cr_assert_eq(response_number(job, "/choose/max_episode_steps"),
                 env_find("cartpole")->max_episode_steps);
}

Test(job_choose, an_estimate_counts_its_time_and_no_epsilon)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *without =
        fixture_post(f, "steward", "/v1/jobs:estimate", domain_path(JOB(""), id));
    struct response *with = fixture_post(
        f, "steward", "/v1/jobs:estimate",
        domain_path(
            JOB(CHOOSE(",\"candidates\":100,\"episodes\":1000,\"max_episode_steps\":10000")), id));
    expect_status(without, 200);
    expect_status(with, 200);
    cr_assert_eq(response_number(with, "/cost/epsilon"), response_number(without, "/cost/epsilon"));
    cr_assert_gt(response_number(with, "/running_time/seconds"),
                 response_number(without, "/running_time/seconds") + 1);
}

/* Every try of a sweep chooses. */
Test(job_choose, goes_with_a_sweep)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *job =
        domain_run(f, domain_path(JOB(CHOOSE(",\"candidates\":3,\"episodes\":2,\"max_episode_"
                                             "steps\":30") ",\"sweep\":{\"alpha\":[0.5,1]},"
                                                           "\"evaluate\":{\"environment\":"
                                                           "\"cartpole\",\"episodes\":3,\"max_"
                                                           "episode_steps\":30}"),
                                  id));
    cr_assert_eq(response_number(job, "/choose/candidates"), 3);
    cr_assert_gt(response_number(job, "/evaluation/mean_return"), 0);
}
