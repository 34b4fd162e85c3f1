/* Jobs of private learners that play in a world: what they cost, say and show. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "tests/unit/api/service.h"

TestSuite(online_job, .init = service_open, .fini = service_close);

#define WORLD      ",\"environment\":\"cartpole\""
#define SMALL      ",\"parameters\":{\"hidden\":[8],\"episodes\":20,\"episodes_per_update\":2}"
#define PRICE      ",\"privacy\":{\"epsilon\":2,\"delta\":1e-5}"
#define REIN(rest) "{\"algorithm\":\"reinforce\"" WORLD rest "}"

Test(online_job, refuses_what_it_cannot_be)
{
    static const char *const cases[][2] = {
        {REIN(""), "/privacy"}, /* dpsgd is usual */
        {REIN(",\"mechanism\":\"none\"" PRICE), "/privacy"},
        {REIN(",\"mechanism\":\"selective_dpsgd\"" PRICE), "/mechanism"},
        {REIN(",\"mechanism\":\"local_reports\"" PRICE), "/mechanism"},
        {REIN(",\"privacy\":{\"epsilon\":2}"), "/privacy/delta"},
        {REIN(",\"privacy\":{\"epsilon\":2,\"delta\":1}"), "/privacy/delta"},
        {REIN(",\"privacy\":{\"epsilon\":0,\"delta\":1e-5}"), "/privacy/epsilon"},
        {REIN(PRICE ",\"dataset\":\"ds_1\""), "/dataset"},
        {REIN(PRICE ",\"parameters\":{\"clip_norm\":0}"), "/parameters/clip_norm"},
        {REIN(PRICE ",\"parameters\":{\"episodes\":0}"), "/parameters/episodes"},
        {"{\"algorithm\":\"reinforce\"" PRICE "}", "/environment"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", cases[i][0]), cases[i][1]);
    }
    /* Noise that is asked for and does not suffice. */
    expect_problem(fixture_post(f, "steward", "/v1/jobs",
                                REIN(PRICE ",\"parameters\":{\"noise_multiplier\":0.1}")),
                   "infeasible");
}

Test(online_job, an_episode_is_protected_whatever_the_number_of_updates)
{
    struct response *few = fixture_post(f, "steward", "/v1/jobs:estimate", REIN(PRICE SMALL));
    cr_expect(json_is_null(response_at(few, "/uncovered")), "%s", few->body); /* no dataset */
    expect_status(few, 200);
    struct response *many = fixture_post(f, "steward", "/v1/jobs:estimate",
                                         REIN(PRICE ",\"parameters\":{\"episodes\":100000}"));
    cr_assert(json_is_true(response_at(few, "/feasible")));
    cr_expect_eq(response_number(few, "/cost/epsilon"), response_number(many, "/cost/epsilon"));
    cr_expect_eq(response_number(few, "/plan/updates"), 10);
    cr_expect_eq(response_number(many, "/plan/episodes"), 100000);
    cr_expect_eq(response_number(few, "/plan/uses_of_an_episode"), 1);
    cr_expect_eq(json_array_size(response_at(few, "/accounts")), 0);

    struct response *job = domain_run(
        f, REIN(PRICE SMALL ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":3}"));
    cr_expect_str_eq(response_text(job, "/mechanism"), "dpsgd");
    cr_expect_str_eq(response_text(job, "/privacy/unit"), "episode");
    cr_expect_eq(response_number(job, "/privacy/reserved/epsilon"), 0);
    double spent = response_number(job, "/privacy/spent/epsilon");
    cr_expect(spent > 1.98 && spent <= 2, "%g", spent);
    cr_expect_eq(response_number(job, "/privacy/spent/delta"), 1e-5);
    cr_expect_eq(response_number(job, "/evaluation/episodes"), 3);
    cr_expect_null(response_at(job, "/progress/mean_return")); /* of protected episodes */
    cr_expect_eq(json_array_size(response_at(job, "/notes")), 1);
    const char *id = response_text(job, "/policy");
    struct response *c = fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", id));
    expect_status(c, 200);
    cr_expect_str_eq(response_text(c, "/privacy/unit"), "episode");
    cr_expect_str_eq(response_text(c, "/environment"), "cartpole");
    cr_expect(json_is_null(response_at(c, "/dataset")));
    cr_expect(json_is_null(response_at(c, "/ledger/account")));
    cr_expect(strstr(response_text(c, "/privacy/neighbours"), "one episode is removed") != NULL);
    cr_expect_gt(response_number(c, "/plan/epsilon_replaced"), 4);
    cr_expect(strstr(response_text(c, "/assumptions/0"), "no account is debited") != NULL);
    /* Episodes of one person in one update add up: sqrt(k) would be too little for them. */
    cr_expect_not_null(strstr(c->body, "if no two of them are in one update"));
    expect_status(fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", id)), 200);
    domain_expect_whole_ledger(f);
}

Test(online_job, an_observation_is_protected_and_the_episodes_price_is_told)
{
    struct response *job = domain_run(f, REIN(",\"mechanism\":\"ldp_observations\"" PRICE SMALL));
    cr_expect_str_eq(response_text(job, "/privacy/unit"), "observation");
    struct response *c = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    cr_expect_str_eq(response_text(c, "/privacy/unit"), "observation");
    double deviation = response_number(c, "/plan/noise_deviation");
    cr_expect(deviation > 3.98 && deviation < 4.0, "%g", deviation); /* the table's 3.99 */
    cr_expect_eq(response_number(c, "/plan/observations_per_episode"), 500);
    cr_expect_gt(response_number(c, "/plan/epsilon_episode"), 50);
    cr_expect_eq(response_number(c, "/plan/observation_high/0"), 2.4);
}

/* Without noisy steps transitions weigh alike, whatever is sent: the job and its certificate say
 * so.
 */
Test(online_job, shows_the_weights_that_a_run_uses)
{
#define DQN(mechanism, more)                                                                       \
    "{\"algorithm\":\"dqn\",\"mechanism\":\"" mechanism "\"" WORLD more                            \
    ",\"parameters\":{\"hidden\":[8],\"buffer\":20,\"steps\":20,\"batch_size\":4,\"play\":"        \
    "\"epsilon_greedy\",\"unit\":\"user\",\"weight_power\":3,\"full_weight_transitions\":7,"       \
    "\"return_high\":50,\"return_power\":2}}"
    struct response *local = domain_run(f, DQN("ldp_observations", PRICE));
    struct response *const shown[] = {
        local,
        fixture_get(f, "steward",
                    domain_path("/v1/policies/%s/certificate", response_text(local, "/policy"))),
        fixture_post(f, "steward", "/v1/jobs:estimate", DQN("none", ""))};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        expect_status(shown[i], 200);
        cr_expect_eq(response_number(shown[i], "/parameters/weight_power"), 1);
        cr_expect_eq(response_number(shown[i], "/parameters/full_weight_transitions"), 1e8);
        cr_expect_eq(response_number(shown[i], "/parameters/return_power"), 0);
    }
    struct response *noisy = fixture_post(f, "steward", "/v1/jobs:estimate", DQN("dpsgd", PRICE));
    cr_expect_eq(response_number(noisy, "/parameters/weight_power"), 3);
    cr_expect_eq(response_number(noisy, "/parameters/return_power"), 2);
}

Test(online_job, without_a_mechanism_nothing_is_promised)
{
    struct response *job = domain_run(f, REIN(",\"mechanism\":\"none\"" SMALL));
    cr_expect(json_is_null(response_at(job, "/privacy")));
    cr_expect_geq(response_number(job, "/progress/mean_return"), 8);
    expect_problem(
        fixture_get(f, "steward",
                    domain_path("/v1/policies/%s/certificate", response_text(job, "/policy"))),
        "not-found");
}

Test(online_job, a_fixed_buffer_protects_transitions_or_users)
{
    static const char *const words[][2] = {{"transition", "one transition"}, {"user", "one user"}};
    for (size_t i = 0; i < 2; i++) {
        char body[400];
        snprintf(body, sizeof body,
                 "{\"algorithm\":\"dqn\"" WORLD PRICE
                 ",\"parameters\":{\"play\":\"random\",\"hidden\":[8],\"buffer\":200,\"steps\":20,"
                 "\"batch_size\":20,\"unit\":\"%s\"}}",
                 words[i][0]);
        struct response *job = domain_run(f, body);
        cr_expect_str_eq(response_text(job, "/privacy/unit"), words[i][0]);
        cr_expect_gt(response_number(job, "/privacy/spent/epsilon"), 1.9);
        struct response *c =
            fixture_get(f, "steward",
                        domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
        expect_status(c, 200);
        cr_expect(strstr(response_text(c, "/privacy/neighbours"), words[i][1]) != NULL);
        cr_expect_eq(response_number(c, "/plan/sampling_rate"), 0.1);
        cr_expect_eq(response_number(c, "/plan/expected_uses_of_a_slot"), 2);
    }
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                "{\"algorithm\":\"dqn\"" WORLD PRICE
                                ",\"parameters\":{\"unit\":\"expert\"}}"),
                   "/parameters/unit");
}

#define PLAYS(play, unit, users)                                                                   \
    "{\"algorithm\":\"dqn\"" WORLD PRICE ",\"parameters\":{\"play\":\"" play "\",\"unit\":\"" unit \
    "\",\"hidden\":[8],\"buffer\":20,\"random_users\":10,\"round_users\":" users                   \
    ",\"round_updates\":3,\"steps\":60,\"batch_size\":2}}"

Test(online_job, users_who_play_while_it_learns_are_protected)
{
    struct response *job = domain_run(f, PLAYS("epsilon_greedy", "user", "4"));
    cr_expect_str_eq(response_text(job, "/privacy/unit"), "user");
    double spent = response_number(job, "/privacy/spent/epsilon");
    cr_expect(spent > 1.9 && spent <= 2, "%g", spent);
    cr_expect_eq(response_number(job, "/privacy/reserved/epsilon"), 0);
    cr_expect_eq(response_number(job, "/progress/step"), 60);
    cr_expect_null(response_at(job, "/progress/mean_return")); /* of protected episodes */
    struct response *c = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    expect_status(c, 200);
    cr_expect_not_null(strstr(response_text(c, "/privacy/neighbours"), "the user's turn stays"));
    cr_expect_not_null(
        strstr(response_text(c, "/privacy/accountant"), "one user is in the buffer"));
    cr_expect_not_null(strstr(c->body, "depend on a user through the noised weights alone"));
    cr_expect_null(strstr(c->body, "uniformly random actions"));
    cr_expect_eq(response_number(c, "/plan/updates"), 60);
    cr_expect_eq(response_number(c, "/plan/episodes"), 10 + 4 * 19);
    cr_expect_eq(response_number(c, "/plan/random_users"), 10);
    cr_expect_eq(response_number(c, "/plan/updates_with_a_user"), 15); /* 20 users, 4 to a round */
    cr_expect_eq(response_number(c, "/plan/expected_uses_of_a_slot"), 1.5);
    cr_expect_eq(response_number(c, "/plan/sampling_rate"), 0.1);

    /* A person of a transition is not protected by anything that is known. */
    struct response *refused =
        fixture_post(f, "steward", "/v1/jobs", PLAYS("epsilon_greedy", "transition", "4"));
    expect_invalid(refused, "/parameters");
    cr_expect_not_null(strstr(refused->body, "no guarantee is known"));
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", PLAYS("epsilon_greedy", "user", "-1")),
                   "/parameters/round_users");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", PLAYS("epsilon_greedy", "user", "21")),
                   "/parameters");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", PLAYS("greedy", "user", "4")),
                   "/parameters/play");
}

Test(online_job, simulated_agents_have_an_epsilon_each_and_no_delta)
{
    struct response *job =
        domain_run(f, "{\"algorithm\":\"pgc_a3c\"" WORLD ",\"privacy\":{\"epsilon\":3},"
                      "\"parameters\":{\"agents\":200,\"buffer\":20}}");
    cr_expect_str_eq(response_text(job, "/mechanism"), "local_reports");
    cr_expect_str_eq(response_text(job, "/privacy/unit"), "agent");
    double spent = response_number(job, "/privacy/spent/epsilon");
    cr_expect(spent > 2.9 && spent <= 3, "%g", spent);
    cr_expect_eq(response_number(job, "/privacy/spent/delta"), 0);
    struct response *c = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    expect_status(c, 200);
    cr_expect_eq(response_number(c, "/plan/agents"), 200);
    cr_expect_eq(response_number(c, "/plan/reports_per_agent"), 1);
    cr_expect(strstr(response_text(c, "/assumptions/0"), "simulated") != NULL);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                "{\"algorithm\":\"pgc_a3c\"" WORLD
                                ",\"privacy\":{\"epsilon\":3,\"delta\":1e-5}}"),
                   "/privacy/delta");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                "{\"algorithm\":\"pgc_a3c\"" WORLD
                                ",\"privacy\":{\"epsilon\":41}}"),
                   "/parameters");
}

static bool stop_at_once(void *context)
{
    bool *asked = context, stop = *asked;
    *asked = true;
    return stop;
}

Test(online_job, pauses_and_goes_on)
{
    struct response *made = fixture_post(f, "steward", "/v1/jobs", REIN(PRICE SMALL));
    expect_status(made, 202);
    const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    bool asked = false;
    cr_assert_eq(domain_turn(f, "w", stop_at_once, &asked), API_JOB_PAUSED);
    cr_expect_str_eq(response_text(fixture_get(f, "steward", path), "/state"), "running");
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "succeeded");
    cr_expect_gt(response_number(job, "/privacy/spent/epsilon"), 1.98);
}
