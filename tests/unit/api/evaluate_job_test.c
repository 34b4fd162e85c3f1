/* Jobs that play what is there already: the same numbers as the evaluation of a training, for every
 * policy that may leave and for no other, in every world, at no price. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/call/app.h"
#include "api/worlds/worlds.h"
#include "storage/digests.h"
#include "storage/jobs.h"
#include "tests/unit/api/service.h"
#include "tests/unit/api/shell_world.h"

#define PLAY(policy, rest)                                                                         \
    domain_path("{\"algorithm\":\"evaluate\",\"policy\":\"%s\"" rest "}", policy)
#define IN_CARTPOLE                                                                                \
    ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":5,"                                  \
    "\"max_episode_steps\":20}"

TestSuite(evaluate_job, .init = service_open, .fini = service_close, .timeout = 600);

static size_t policies_of_steward(void)
{
    return json_array_size(response_at(fixture_get(f, "steward", "/v1/policies"), "/items"));
}

static const char *submit(const char *body)
{
    struct response *made = fixture_post(f, "steward", "/v1/jobs", body);
    expect_status(made, 202);
    return domain_path("/v1/jobs/%s", response_text(made, "/id"));
}

Test(evaluate_job, gives_the_numbers_that_the_trainings_own_evaluation_gave)
{
    struct response *trained = domain_run(
        f,
        "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"parameters\":{\"hidden\":[8],"
        "\"worlds\":4,\"rollout_steps\":16,\"minibatch\":32,\"transitions\":640}" IN_CARTPOLE "}");
    const char *policy = response_text(trained, "/policy");
    size_t before = policies_of_steward();
    struct response *job = domain_run(f, PLAY(policy, IN_CARTPOLE));
    cr_expect(json_equal(response_at(job, "/evaluation"), response_at(trained, "/evaluation")),
              "%s\n%s", job->body, trained->body);
    cr_expect_eq(response_number(job, "/evaluation/episodes"), 5);
    cr_expect_str_eq(response_text(job, "/policy"), policy);
    cr_expect_str_eq(response_text(job, "/environment"), "cartpole");
    cr_expect(json_is_null(response_at(job, "/privacy")));
    cr_expect(json_is_null(response_at(job, "/dataset")));
    cr_expect(json_is_null(response_at(job, "/findings")));
    cr_expect_eq(response_number(job, "/progress/step"), 5);
    cr_expect_eq(response_number(job, "/progress/steps"), 5);
    cr_expect_eq(policies_of_steward(), before); /* it made none */
}

Test(evaluate_job, plays_imported_policies_and_released_ones_and_charges_nothing)
{
    const char *dataset = domain_sealed(f, "private", 30);
    const char *budget = domain_path("/v1/datasets/%s/budget", dataset);
    struct response *trained = domain_run(f, domain_private_job(dataset, 2, 20));
    double spent = response_number(fixture_get(f, "steward", budget), "/spent/epsilon");
    cr_expect_gt(spent, 0);
    struct response *job = domain_run(f, PLAY(response_text(trained, "/policy"), IN_CARTPOLE));
    cr_expect(json_equal(response_at(job, "/evaluation"), response_at(trained, "/evaluation")));
    job = domain_run(f, PLAY(domain_policy(f), IN_CARTPOLE));
    double mean = response_number(job, "/evaluation/mean_return");
    cr_expect(mean >= 1 && mean <= 20, "%s", job->body);
    cr_expect_eq(response_number(fixture_get(f, "steward", budget), "/spent/epsilon"), spent);
    domain_expect_whole_ledger(f);
}

Test(evaluate_job, plays_in_other_physics)
{
    const char *policy = domain_policy(f);
    struct response *usual =
        domain_run(f, PLAY(policy, ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":50}"));
    struct response *other = domain_run(
        f, PLAY(policy, ",\"evaluate\":{\"environment\":{\"name\":\"cartpole\",\"parameters\":"
                        "{\"force_mag\":1}},\"episodes\":50}"));
    cr_expect_neq(response_number(usual, "/evaluation/mean_return"),
                  response_number(other, "/evaluation/mean_return"));
}

/* ---- what is refused */

Test(evaluate_job, never_plays_what_was_learned_from_private_data_without_privacy)
{
    const char *secret = response_text(
        domain_run(f, domain_unprotected_job(domain_sealed(f, "private", 30), 20)), "/policy");
    cr_assert_eq(strncmp(secret, "pol_", 4), 0);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", PLAY(secret, IN_CARTPOLE)),
                   "not-released");
    expect_problem(fixture_post(f, "steward", "/v1/jobs:estimate", PLAY(secret, IN_CARTPOLE)),
                   "not-released");
    struct response *jobs = fixture_get(f, "steward", "/v1/jobs?algorithm=evaluate");
    cr_expect_eq(json_array_size(response_at(jobs, "/items")), 0);
    /* The same from public data may leave. */
    const char *open = response_text(
        domain_run(f, domain_plain_job(domain_sealed(f, "public", 30), 20)), "/policy");
    domain_run(f, PLAY(open, IN_CARTPOLE));
}

Test(evaluate_job, never_plays_an_ensemble)
{
    static const char *const kinds[] = {"private", "public"};
    for (size_t i = 0; i < 2; i++) {
        const char *body = domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":16,"
                                       "\"parameters\":{\"hidden\":[4],\"batch_size\":2,\"steps\":"
                                       "5}}",
                                       domain_sealed(f, kinds[i], 30));
        const char *ensemble = response_text(domain_run(f, body), "/policy");
        cr_assert_eq(strncmp(ensemble, "pol_", 4), 0);
        expect_problem(fixture_post(f, "steward", "/v1/jobs", PLAY(ensemble, IN_CARTPOLE)),
                       "not-released");
    }
}

/* Whoever wrote the plan, the worker looks again. */
Test(evaluate_job, does_not_play_a_secret_policy_that_stands_in_its_plan)
{
    const char *secret = response_text(
        domain_run(f, domain_unprotected_job(domain_sealed(f, "private", 30), 20)), "/policy");
    const char *path = submit(PLAY(domain_policy(f), IN_CARTPOLE));
    const char *sql = domain_path("UPDATE jobs SET plan = json_set(plan, '$.policy', '%s') "
                                  "WHERE id = '%s'",
                                  secret, path + strlen("/v1/jobs/"));
    domain_rewrite(f, &jobs_table, sql);
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_expect(json_is_null(response_at(job, "/evaluation")));
}

Test(evaluate_job, is_for_the_policys_steward_alone)
{
    const char *policy = domain_policy(f);
    const struct ask theirs = {.method = "POST",
                               .path = "/v1/jobs",
                               .token = fixture_new_token(f, "steward"),
                               .key = "theirs",
                               .body = PLAY(policy, IN_CARTPOLE)};
    expect_problem(fixture_ask(f, &theirs), "not-found");
    expect_problem(fixture_post(f, "steward", "/v1/jobs", PLAY("pol_nobody", IN_CARTPOLE)),
                   "not-found");
    static const char *const others[] = {"admin", "contributor", "student", "agent", "auditor"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect_problem(fixture_post(f, others[i], "/v1/jobs", PLAY(policy, IN_CARTPOLE)),
                       "forbidden");
    /* nor is the job */
    const char *path = submit(PLAY(policy, IN_CARTPOLE));
    const struct ask peek = {.path = path, .token = theirs.token};
    expect_problem(fixture_ask(f, &peek), "not-found");
}

/* Whom it belongs to is not told, nor is a job estimated that would be refused. */
Test(evaluate_job, of_a_public_policy_is_its_stewards_alone)
{
    struct response *trained = domain_run(f, domain_plain_job(domain_sealed(f, "public", 4), 4));
    const char *policy = response_text(trained, "/policy");
    const char *grants = domain_path("/v1/policies/%s/grants", policy);
    expect_status(fixture_post(f, "steward", grants, "{\"public\":true}"), 201);
    const char *other = fixture_new_token(f, "steward");
    expect_status(fixture_ask(f, &(struct ask){.path = domain_path("/v1/policies/%s", policy),
                                               .token = other}),
                  200);
    for (int i = 0; i < 4; i++) {
        const char *project = "";
        if (i > 1)
            project = domain_path(",\"project\":\"%s\"", fixture_token_client(f, other));
        const struct ask ask = {.path = i % 2 ? "/v1/jobs:estimate" : "/v1/jobs",
                                .token = other,
                                .key = domain_path("k%d", i),
                                .body = domain_path("{\"algorithm\":\"evaluate\",\"policy\":\"%s\""
                                                    "%s" IN_CARTPOLE "}",
                                                    policy, project)};
        struct response *refused = fixture_ask(f, &ask);
        expect_problem(refused, "not-found");
        cr_expect_null(strstr(refused->body, fixture_client(f, "steward")), "%s", refused->body);
    }
}

Test(evaluate_job, refuses_what_it_cannot_be)
{
    const char *policy = domain_policy(f);
    const char *const cases[][2] = {
        {"{\"algorithm\":\"evaluate\"" IN_CARTPOLE "}", "/policy"},
        {PLAY(policy, ""), "/evaluate"},
        {PLAY(policy, ",\"q_release\":\"qre_x\"" IN_CARTPOLE), "/q_release"},
        {PLAY(policy, ",\"dataset\":\"ds_1\"" IN_CARTPOLE), "/dataset"},
        {PLAY(policy, ",\"environment\":\"cartpole\"" IN_CARTPOLE), "/environment"},
        {PLAY(policy, ",\"mechanism\":\"dpsgd\"" IN_CARTPOLE), "/mechanism"},
        {PLAY(policy, ",\"privacy\":{\"epsilon\":1,\"delta\":1e-5}" IN_CARTPOLE), "/privacy"},
        {PLAY(policy, ",\"parameters\":{\"steps\":3}" IN_CARTPOLE), "/parameters/steps"},
        {PLAY(policy, ",\"judge\":{\"dataset\":\"ds_1\"}" IN_CARTPOLE), "/judge"},
        {PLAY(policy, ",\"sweep\":{\"steps\":[1,2]}" IN_CARTPOLE), "/sweep"},
        {PLAY(policy, ",\"evaluate\":{\"environment\":\"acrobot\"}"), "/evaluate/environment"},
        {PLAY(policy, ",\"evaluate\":{\"environment\":\"mars\"}"), "/evaluate/environment"},
        {PLAY(policy, ",\"evaluate\":{\"episodes\":3}"), "/evaluate/environment"},
        {PLAY(policy, ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":0}"),
         "/evaluate/episodes"},
        {PLAY(policy, ",\"evaluate\":{\"environment\":\"cartpole\",\"max_episode_steps\":1e9}"),
         "/evaluate/max_episode_steps"},
        {PLAY(policy, ",\"evaluate\":{\"environment\":{\"name\":\"cartpole\",\"parameters\":"
                      "{\"length\":1e9}}}"),
         "/evaluate/environment/parameters/length"},
        {"{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"policy\":\"pol_x\"}", "/policy"},
        {"{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"q_release\":\"qre_x\"}",
         "/q_release"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", cases[i][0]), cases[i][1]);
    }
}

Test(evaluate_job, what_is_bad_is_not_missing_besides)
{
    const char *const cases[] = {
        "{\"algorithm\":\"evaluate\",\"policy\":5" IN_CARTPOLE "}",
        "{\"algorithm\":\"evaluate\",\"q_release\":5" IN_CARTPOLE "}",
        PLAY(domain_policy(f), ",\"evaluate\":\"cartpole\""),
        "{\"algorithm\":\"cql\",\"dataset\":5,\"mechanism\":\"none\"}",
        "{\"algorithm\":\"cql\",\"dataset\":\"ds_1\",\"privacy\":5}",
        "{\"algorithm\":\"cql\",\"dataset\":\"ds_1\",\"shards\":\"many\"}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct response *said = fixture_post(f, "steward", "/v1/jobs", cases[i]);
        expect_problem(said, "validation");
        cr_expect_eq(json_array_size(response_at(said, "/errors")), 1, "%s", said->body);
    }
}

Test(evaluate_job, is_estimated_at_no_price)
{
    struct response *said =
        fixture_post(f, "steward", "/v1/jobs:estimate", PLAY(domain_policy(f), IN_CARTPOLE));
    expect_status(said, 200);
    cr_expect(json_is_true(response_at(said, "/feasible")));
    cr_expect_eq(response_number(said, "/cost/epsilon"), 0);
    cr_expect_eq(response_number(said, "/plan/total_steps"), 5);
}

/* ---- released Q-functions */

Test(evaluate_job, plays_a_released_q_function_until_it_has_ended)
{
    const char *body =
        domain_path("{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",\"privacy\":{"
                    "\"epsilon\":8,\"delta\":1e-5},\"parameters\":{\"shards\":20,"
                    "\"steps\":30,\"hidden\":[8],\"nodes\":3,\"form\":\"grid\"}" IN_CARTPOLE "}",
                    domain_sealed(f, "private", 30));
    struct response *trained = domain_run(f, body);
    const char *release = response_text(trained, "/q_release");
    const char *play =
        domain_path("{\"algorithm\":\"evaluate\",\"q_release\":\"%s\"" IN_CARTPOLE "}", release);
    struct response *job = domain_run(f, play);
    cr_expect(json_equal(response_at(job, "/evaluation"), response_at(trained, "/evaluation")),
              "%s\n%s", job->body, trained->body);
    cr_expect_str_eq(response_text(job, "/q_release"), release);
    cr_expect(json_is_null(response_at(job, "/policy")));
    const struct ask theirs = {.method = "POST",
                               .path = "/v1/jobs",
                               .token = fixture_new_token(f, "steward"),
                               .key = "theirs",
                               .body = play};
    expect_problem(fixture_ask(f, &theirs), "not-found");
    /* It ends while a job waits. */
    const char *path = submit(play);
    fixture_delete(f, "steward", domain_path("/v1/q-releases/%s", release));
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_expect_not_null(strstr(response_text(job, "/error/detail"), "has ended"), "%s", job->body);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", play), "not-found");
}

/* ---- stops */

/* A worker takes the job, and is never heard of again. */
static void claim_and_die(void)
{
    struct job_row job;
    cr_assert_eq(jobs_claim(fixture_db(f), "dead", "", fixture_app(f)->settings.now_ms(), 1, &job),
                 DB_OK);
    job_done(&job);
    fixture_advance(1000000);
}

static bool now(void *context)
{
    (void)context;
    return true;
}

Test(evaluate_job, begins_again_after_a_stop_and_can_be_cancelled)
{
    const char *policy = domain_policy(f);
    struct response *whole = domain_run(f, PLAY(policy, IN_CARTPOLE));
    const char *path = submit(PLAY(policy, IN_CARTPOLE));
    cr_expect_eq(domain_turn(f, "first", now, NULL), API_JOB_PAUSED);
    cr_expect_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect(json_equal(response_at(job, "/evaluation"), response_at(whole, "/evaluation")));
    /* A worker dies with it. */
    path = submit(PLAY(policy, IN_CARTPOLE));
    claim_and_die();
    cr_expect_eq(domain_turn(f, "third", NULL, NULL), API_JOB_RAN);
    job = fixture_get(f, "steward", path);
    cr_expect(json_equal(response_at(job, "/evaluation"), response_at(whole, "/evaluation")));
    path = submit(PLAY(policy, IN_CARTPOLE));
    expect_status(fixture_post(f, "steward", domain_path("%s:cancel", path), NULL), 200);
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_NONE);
    job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "cancelled");
    cr_expect(json_is_null(response_at(job, "/evaluation")));
}

struct watched {
    const char *job;
    unsigned asked;
};

/* Cancels the job when it has played a block of episodes. */
static bool cancel_later(void *context)
{
    struct watched *watched = context;
    enum job_cancel done;
    if (++watched->asked == 2)
        cr_expect_eq(jobs_cancel(fixture_db(f), watched->job, 1, &done), DB_OK);
    return false;
}

static bool stop_later(void *context)
{
    struct watched *watched = context;
    return ++watched->asked == 2;
}

/* HIV's steps are dear, so that its episodes come in several blocks. */
static const char *slow_job(void)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/policies",
        "{\"name\":\"p\",\"environment\":\"hiv\",\"network\":{\"activation\":\"relu\",\"layers\":"
        "[{\"weight\":[[0,0,0,0,0,0],[0,0,0,0,0,0],[0,0,0,0,0,0],[0,0,0,0,0,0]],"
        "\"bias\":[0,0,0,1]}],\"output\":\"argmax\"}}");
    expect_status(made, 201);
    return PLAY(response_text(made, "/id"),
                ",\"evaluate\":{\"environment\":\"hiv\",\"episodes\":1000,"
                "\"max_episode_steps\":5}");
}

Test(evaluate_job, is_cancelled_between_its_blocks)
{
    const char *path = submit(slow_job());
    struct watched watched = {.job = path + strlen("/v1/jobs/")};
    cr_expect_eq(domain_turn(f, "w", cancel_later, &watched), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "cancelled", "%s", job->body);
    cr_expect(json_is_null(response_at(job, "/evaluation")));
    double step = response_number(job, "/progress/step");
    cr_expect(step > 0 && step < 1000, "%g", step);
}

Test(evaluate_job, that_is_stopped_between_its_blocks_ends_in_the_same_numbers)
{
    const char *body = slow_job();
    struct response *whole = domain_run(f, body);
    const char *path = submit(body);
    struct watched watched = {.job = path + strlen("/v1/jobs/")};
    cr_expect_eq(domain_turn(f, "w", stop_later, &watched), API_JOB_PAUSED);
    struct response *paused = fixture_get(f, "steward", path);
    cr_expect(json_is_null(response_at(paused, "/evaluation")));
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect(json_equal(response_at(job, "/evaluation"), response_at(whole, "/evaluation")));
    cr_expect_eq(response_number(job, "/progress/step"), 1000);
}

/* Workers that died with it: it fails, and the server goes on. */
Test(evaluate_job, that_ends_its_worker_again_and_again_fails)
{
    const char *path = submit(PLAY(domain_policy(f), IN_CARTPOLE));
    for (int i = 0; i < 6; i++)
        claim_and_die();
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
}

/* ---- worlds that are programs */

static struct worlds *worlds;

static void with_worlds(struct api_settings *settings)
{
    settings->worlds = worlds;
}

static void open_with(const char *line, unsigned answer_s)
{
    char error[512];
    const struct worlds_settings settings = {
        .declared = &line, .declared_count = 1, .answer_s = answer_s, .run_s = 3600};
    worlds = worlds_open(&settings, error, sizeof error);
    cr_assert_not_null(worlds, "%s", error);
    f = fixture_open_with(with_worlds);
}

static void close_worlds(void)
{
    fixture_close(f);
    worlds_close(worlds);
}

#define IN_PROGRAM                                                                                 \
    ",\"evaluate\":{\"environment\":\"program\",\"episodes\":3,"                                   \
    "\"max_episode_steps\":20}"

TestSuite(evaluate_program, .timeout = 600);

Test(evaluate_program, is_a_world_like_any_other)
{
    open_with("program=" SHELL_SEVEN, 60);
    struct response *job = domain_run(f, PLAY(domain_policy(f), IN_PROGRAM));
    cr_expect_eq(response_number(job, "/evaluation/mean_return"), 3.5);
    cr_expect_eq(response_number(job, "/evaluation/std_return"), 0);
    close_worlds();
}

static void expect_break(const char *line, unsigned answer_s, const char *why)
{
    open_with(line, answer_s);
    const char *path = submit(PLAY(domain_policy(f), IN_PROGRAM));
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_expect_str_eq(response_text(job, "/error/type"), "/problems/evaluation-failed");
    cr_expect_not_null(strstr(response_text(job, "/error/detail"), why), "%s", job->body);
    cr_expect_null(strstr(response_text(job, "/error/detail"), "paid"), "%s", job->body);
    cr_expect(json_is_null(response_at(job, "/evaluation")));
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_NONE);
    expect_status(fixture_get(f, "steward", "/v1/environments"), 200);
    close_worlds();
}

Test(evaluate_program, that_breaks_fails_the_job_and_nothing_else)
{
    expect_break("program=" SHELL_WORLD(SHELL_RESET, "exit 1"), 60, "ended, or closed its output");
    expect_break("program=" SHELL_WORLD(SHELL_RESET, "sleep 1000"), 1, "did not answer in time");
    expect_break("program=" SHELL_WORLD(SHELL_RESET, "echo '{\"observation\":[NaN,0,0,0],"
                                                     "\"reward\":1,\"terminated\":false}'"),
                 60, "not one JSON object");
    expect_break("program=" SHELL_WORLD("echo '{\"observation\":[0]}'", SHELL_ANSWER("1", "false")),
                 60, "state_dim numbers");
}

Test(evaluate_program, that_is_not_declared_any_more_is_missed)
{
    open_with("program=" SHELL_SEVEN, 60);
    const char *path = submit(PLAY(domain_policy(f), IN_PROGRAM));
    fixture_app(f)->settings.worlds = NULL; /* the operator started it without */
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_not_null(strstr(response_text(job, "/error/detail"), "no such world any more"), "%s",
                       job->body);
    close_worlds();
}
