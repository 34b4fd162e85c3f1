/* Jobs that are evaluated in a world's program: what they tell when it breaks, and that nothing
 * that was paid for is lost or made twice. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algos/policy.h"
#include "api/call/app.h"
#include "api/worlds/worlds.h"
#include "storage/digests.h"
#include "storage/jobs.h"
#include "storage/policies.h"
#include "tests/unit/api/domain.h"
#include "tests/unit/api/shell_world.h"

#define GOOD_STEP SHELL_ANSWER("1", "false")

static struct worlds *worlds;

static void with_worlds(struct api_settings *settings)
{
    settings->worlds = worlds;
}

/* A service that knows this world. */
static struct fixture *open_with(const char *line, unsigned answer_s)
{
    char error[512];
    const struct worlds_settings settings = {
        .declared = &line, .declared_count = 1, .answer_s = answer_s, .run_s = 3600};
    worlds = worlds_open(&settings, error, sizeof error);
    cr_assert_not_null(worlds, "%s", error);
    return fixture_open_with(with_worlds);
}

static void close_all(struct fixture *f)
{
    fixture_close(f);
    worlds_close(worlds);
}

static const char *job_body(const char *dataset, const char *mechanism, const char *world)
{
    return domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"%s\",\"dataset\":\"%s\",%s"
                       "\"parameters\":{\"hidden\":[4],\"batch_size\":2,\"steps\":20},"
                       "\"evaluate\":{\"environment\":\"%s\",\"episodes\":5,"
                       "\"max_episode_steps\":20}}",
                       mechanism, dataset,
                       strcmp(mechanism, "none") == 0
                           ? "\"i_understand\":\"not_private\","
                           : "\"privacy\":{\"epsilon\":2,\"delta\":1e-6},",
                       world);
}

static const char *submit(struct fixture *f, const char *body)
{
    struct response *made = fixture_post(f, "steward", "/v1/jobs", body);
    expect_status(made, 202);
    return domain_path("/v1/jobs/%s", response_text(made, "/id"));
}

static double spent(struct fixture *f, const char *dataset)
{
    struct response *budget =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", dataset));
    cr_expect_eq(response_number(budget, "/reserved/epsilon"), 0);
    return response_number(budget, "/spent/epsilon");
}

/* It failed in its evaluation alone: the policy is there, whole, with its certificate, and was paid
 * for once. */
static void expect_kept(struct fixture *f, const char *path, const char *dataset, const char *why)
{
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_expect_str_eq(response_text(job, "/error/type"), "/problems/evaluation-failed");
    cr_expect_not_null(strstr(response_text(job, "/error/detail"), why), "%s", job->body);
    cr_expect(json_is_null(response_at(job, "/evaluation")));
    const char *policy = response_text(job, "/policy");
    cr_assert(*policy != '\0', "%s", job->body);
    expect_status(
        fixture_get(f, "steward", domain_path("/v1/policies/%s/weights?format=json", policy)), 200);
    expect_status(fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", policy)),
                  200);
    double price = response_number(job, "/privacy/spent/epsilon");
    cr_expect(price > 0 && price <= 2, "%s", job->body);
    cr_expect_float_eq(spent(f, dataset), price, 1e-9);
    struct response *audit = fixture_post(f, "auditor", "/v1/ledger:verify", NULL);
    cr_expect(json_is_true(response_at(audit, "/ok")), "%s", audit->body);
}

TestSuite(world_job, .timeout = 600);

Test(world_job, a_program_is_a_world_like_any_other)
{
    struct fixture *f = open_with("seven=" SHELL_SEVEN, 60);
    struct response *list = fixture_get(f, "student", "/v1/environments");
    json_t *last = json_array_get(response_at(list, "/items"),
                                  json_array_size(response_at(list, "/items")) - 1);
    cr_expect_str_eq(json_string_value(json_object_get(last, "name")), "seven");
    cr_expect(json_is_null(json_object_get(last, "random_return")));
    struct response *dataset =
        fixture_post(f, "steward", "/v1/datasets",
                     "{\"name\":\"d\",\"environment\":\"seven\",\"sensitivity\":\"public\"}");
    expect_status(dataset, 201);
    cr_expect_eq(response_number(dataset, "/state_dim"), 4);
    const char *id = domain_sealed(f, "private", 30);
    struct response *job = domain_run(f, job_body(id, "dpsgd", "seven"));
    cr_expect_eq(response_number(job, "/evaluation/mean_return"), 3.5);
    cr_expect_eq(response_number(job, "/evaluation/std_return"), 0);
    cr_expect_eq(response_number(job, "/evaluation/episodes"), 5);
    close_all(f);
}

/* An episode costs as many observations as the program's own limit allows, not as any could. */
Test(world_job, an_episode_of_a_program_is_as_long_as_it_says)
{
    static const struct {
        const char *algorithm, *parameters;
        double observations;
    } cases[] = {
        {"reinforce", "\"episodes\":4,\"episodes_per_update\":2", 500},
        {"reinforce", "\"episodes\":4,\"episodes_per_update\":2,\"step_limit\":9", 9},
        {"dqn", "\"play\":\"random\",\"buffer\":20,\"steps\":4,\"batch_size\":4", 501},
    };
    struct fixture *f = open_with("seven=" SHELL_SEVEN, 60);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *body = domain_path(
            "{\"algorithm\":\"%s\",\"mechanism\":\"ldp_observations\",\"environment\":\"seven\","
            "\"privacy\":{\"epsilon\":2,\"delta\":1e-5},\"parameters\":{\"hidden\":[4],"
            "\"observation_bound\":3,%s}}",
            cases[i].algorithm, cases[i].parameters);
        struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
        expect_status(estimate, 200);
        cr_expect_eq(response_number(estimate, "/plan/observations_per_episode"),
                     cases[i].observations);
        struct response *job = domain_run(f, body);
        struct response *certificate =
            fixture_get(f, "steward",
                        domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
        expect_status(certificate, 200);
        cr_expect_eq(response_number(certificate, "/plan/observations_per_episode"),
                     cases[i].observations);
    }
    close_all(f);
}

Test(world_job, a_world_of_other_dimensions_is_refused_when_it_is_asked_for)
{
    struct fixture *f = open_with("two=read q; echo '{\"protocol\":1,\"state_dim\":2,"
                                  "\"action_count\":2,\"max_episode_steps\":9}'; cat",
                                  60);
    const char *id = domain_sealed(f, "private", 30);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", job_body(id, "dpsgd", "two")),
                   "/evaluate/environment");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", job_body(id, "dpsgd", "three")),
                   "/evaluate/environment");
    close_all(f);
}

/* What single experts do before it is released, and labels that may be drawn anew, are not for
 * programs to see. */
Test(world_job, experts_are_played_in_no_program)
{
    struct fixture *f = open_with("seven=" SHELL_SEVEN, 60);
    const char *id =
        domain_sealed_of(f,
                         "{\"name\":\"d\",\"environment\":\"seven\",\"min_action_probability\":0.4,"
                         "\"max_episode_steps\":30,\"budget\":{\"epsilon\":300,\"delta\":1e-2}}",
                         40);
    static const char *const cases[][2] = {{"selective_dpsgd", "/privacy/stable/source"},
                                           {"consensus", "/mechanism"}};
    for (size_t i = 0; i < 2; i++) {
        const char *body = domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"%s\",\"dataset\":"
                                       "\"%s\",\"privacy\":{\"epsilon\":60,\"delta\":1e-3}}",
                                       cases[i][0], id);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", body), cases[i][1]);
    }
    cr_expect_eq(spent(f, id), 0);
    close_all(f);
}

static void expect_break(const char *line, unsigned answer_s, const char *why)
{
    struct fixture *f = open_with(line, answer_s);
    const char *id = domain_sealed(f, "private", 30);
    const char *path = submit(f, job_body(id, "dpsgd", "bad"));
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    expect_kept(f, path, id, why);
    /* And the service goes on. */
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_NONE);
    expect_status(fixture_get(f, "steward", "/v1/environments"), 200);
    close_all(f);
}

Test(world_job, a_program_that_breaks_fails_the_job_and_the_policy_is_kept)
{
    expect_break("bad=" SHELL_WORLD(SHELL_RESET, "exit 1"), 60, "ended, or closed its output");
    expect_break("bad=" SHELL_WORLD(SHELL_RESET, "sleep 1000"), 1, "did not answer in time");
    expect_break("bad=" SHELL_WORLD(SHELL_RESET, "echo '{\"observation\":[NaN,0,0,0],"
                                                 "\"reward\":1,\"terminated\":false}'"),
                 60, "not one JSON object");
    expect_break("bad=" SHELL_WORLD("echo '{\"observation\":[0]}'", GOOD_STEP), 60,
                 "state_dim numbers");
}

/* What held-out experts say of the policy was paid for, too. */
Test(world_job, a_program_that_breaks_leaves_the_judges_verdict)
{
    struct fixture *f = open_with("bad=" SHELL_WORLD(SHELL_RESET, "exit 1"), 60);
    const char *id = domain_sealed(f, "private", 60);
    const char *path =
        submit(f, domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
                              "\"privacy\":{\"epsilon\":2,\"delta\":1e-6,\"force\":true},"
                              "\"parameters\":{\"hidden\":[4],\"batch_size\":2,\"steps\":20},"
                              "\"judge\":{\"held_out\":0.4,\"return_low\":0,\"return_high\":20},"
                              "\"evaluate\":{\"environment\":\"bad\",\"episodes\":5}}",
                              id));
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    expect_kept(f, path, id, "ended, or closed its output");
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_neq(response_text(job, "/findings/judge/verdict"), "", "%s", job->body);
    close_all(f);
}

Test(world_job, a_policy_that_is_not_released_is_seen_by_no_program)
{
    char mark[] = "/tmp/tacet-world-XXXXXX", line[1024];
    int handle = mkstemp(mark);
    cr_assert_geq(handle, 0);
    snprintf(line, sizeof line, "bad=echo asked >>%s; %s", mark,
             SHELL_WORLD(SHELL_RESET, "exit 1"));
    struct fixture *f = open_with(line, 60);
    const char *id = domain_sealed(f, "private", 30);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", job_body(id, "none", "bad")),
                   "/evaluate");
    /* Nor where an earlier build accepted it. */
    const char *path = submit(f, domain_unprotected_job(id, 20));
    const char *sql = domain_path("UPDATE jobs SET plan = json_set(plan, '$.evaluate', json('{"
                                  "\"environment\":\"bad\",\"physics\":[],\"episodes\":5,"
                                  "\"max_episode_steps\":20}')) WHERE id = '%s'",
                                  path + strlen("/v1/jobs/"));
    domain_rewrite(f, &jobs_table, sql);
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    cr_expect(json_is_null(response_at(job, "/evaluation")));
    cr_expect(json_is_null(response_at(job, "/error")));
    cr_expect_eq(lseek(handle, 0, SEEK_END), 6); /* once: when the service was opened */
    close(handle);
    unlink(mark);
    close_all(f);
}

Test(world_job, a_world_that_is_not_declared_any_more_is_missed)
{
    struct fixture *f = open_with("bad=" SHELL_SEVEN, 60);
    const char *id = domain_sealed(f, "private", 30);
    const char *path = submit(f, job_body(id, "dpsgd", "bad"));
    fixture_app(f)->settings.worlds = NULL; /* the operator started it without */
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    expect_kept(f, path, id, "no such world any more");
    close_all(f);
}

/* ---- a stop in the middle of the evaluation */

static bool asked_a_step(void *context)
{
    return access(context, F_OK) == 0;
}

Test(world_job, one_that_is_stopped_while_it_evaluates_goes_on_with_the_very_policy)
{
    char mark[64], line[2048];
    snprintf(mark, sizeof mark, "/tmp/tacet-world-%ld", (long)getpid());
    /* It hangs at the first step ever; the worker is told to stop once the mark is there. */
    snprintf(
        line, sizeof line, "slow=%s",
        SHELL_WORLD(SHELL_RESET, "if [ ! -e MARK ]; then touch MARK; sleep 1000; fi; " GOOD_STEP));
    for (char *at; (at = strstr(line, "MARK")) != NULL;) {
        char rest[2048];
        snprintf(rest, sizeof rest, "%s", at + 4);
        snprintf(at, sizeof line - (size_t)(at - line), "%s%s", mark, rest);
    }
    struct fixture *f = open_with(line, 60);
    const char *id = domain_sealed(f, "private", 30);
    const char *path = submit(f, job_body(id, "dpsgd", "slow"));
    cr_expect_eq(domain_turn(f, "w", asked_a_step, mark), API_JOB_PAUSED);
    /* What was trained is on disk, in place of the training's state. */
    size_t size = 0;
    int64_t step = 0;
    const char *job_id = path + strlen("/v1/jobs/");
    unsigned char *kept = domain_checkpoint(f, job_id, &step, &size);
    cr_assert_not_null(kept);
    cr_expect_eq(step, 20);
    struct policy *before = policy_from_bytes(kept, size);
    cr_assert_not_null(before);
    fixture_advance(1000);
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    cr_expect_eq(response_number(job, "/evaluation/mean_return"), 20);
    void *bytes = NULL;
    size_t stored = 0;
    cr_assert_eq(policies_bytes(fixture_db(f), response_text(job, "/policy"), &bytes, &stored),
                 DB_OK);
    cr_expect(stored == size && memcmp(bytes, kept, size) == 0);
    cr_expect_gt(spent(f, id), 0);
    policy_free(before);
    free(bytes);
    sodium_free(kept);
    unlink(mark);
    close_all(f);
}

struct watched {
    struct fixture *f;
    const char *job;
};

/* True once the finished policy is kept. */
static bool is_kept(void *context)
{
    const struct watched *watched = context;
    void *bytes = NULL;
    size_t size = 0;
    int64_t step = 0;
    enum db_status status =
        jobs_load_checkpoint(fixture_db(watched->f), watched->job, &step, &bytes, &size);
    free(bytes);
    return status == DB_OK && step == 20;
}

Test(world_job, one_that_ends_its_worker_again_and_again_keeps_its_policy)
{
    struct fixture *f = open_with("slow=" SHELL_WORLD(SHELL_RESET, GOOD_STEP), 60);
    const char *id = domain_sealed(f, "private", 30);
    const char *path = submit(f, job_body(id, "dpsgd", "slow"));
    struct watched watched = {f, path + strlen("/v1/jobs/")};
    /* The stop leaves it in order; what follows is workers that died with it. */
    struct job_row job;
    cr_expect_eq(domain_turn(f, "w", is_kept, &watched), API_JOB_PAUSED);
    for (int i = 0; i < 5; i++) {
        fixture_advance(1000000);
        cr_assert_eq(
            jobs_claim(fixture_db(f), "dead", "", fixture_app(f)->settings.now_ms(), 1, &job),
            DB_OK);
        job_done(&job);
    }
    fixture_advance(1000000);
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    expect_kept(f, path, id, "again and again");
    close_all(f);
}

/* Cancels the job when its policy is kept, and goes on. */
static bool cancel_when_kept(void *context)
{
    const struct watched *watched = context;
    enum job_cancel done;
    if (is_kept(context))
        cr_expect_eq(jobs_cancel(fixture_db(watched->f), watched->job, 1, &done), DB_OK);
    return false;
}

static void expect_cancelled(struct fixture *f, const char *path, const char *dataset)
{
    struct response *job = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(job, "/state"), "cancelled", "%s", job->body);
    cr_expect_str_neq(response_text(job, "/policy"), "");
    cr_expect(json_is_null(response_at(job, "/evaluation")));
    cr_expect(json_is_null(response_at(job, "/error")));
    double price = response_number(job, "/privacy/spent/epsilon");
    cr_expect(price > 0 && price <= 2, "%s", job->body);
    cr_expect_float_eq(spent(f, dataset), price, 1e-9);
}

Test(world_job, one_that_is_cancelled_while_it_evaluates_keeps_its_policy)
{
    struct fixture *f = open_with("slow=" SHELL_WORLD(SHELL_RESET, "sleep 1000"), 60);
    const char *id = domain_sealed(f, "private", 30);
    const char *path = submit(f, job_body(id, "dpsgd", "slow"));
    struct watched watched = {f, path + strlen("/v1/jobs/")};
    cr_expect_eq(domain_turn(f, "w", cancel_when_kept, &watched), API_JOB_RAN);
    expect_cancelled(f, path, id);
    close_all(f);
}

Test(world_job, one_that_is_cancelled_while_it_pauses_there_keeps_it_too)
{
    struct fixture *f = open_with("slow=" SHELL_WORLD(SHELL_RESET, GOOD_STEP), 60);
    const char *id = domain_sealed(f, "private", 30);
    const char *path = submit(f, job_body(id, "dpsgd", "slow"));
    struct watched watched = {f, path + strlen("/v1/jobs/")};
    cr_expect_eq(domain_turn(f, "w", is_kept, &watched), API_JOB_PAUSED);
    expect_status(fixture_post(f, "steward", domain_path("%s:cancel", path), NULL), 200);
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    expect_cancelled(f, path, id);
    close_all(f);
}
