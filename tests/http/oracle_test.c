/* tests/oracle/ledger.py as an auditor runs it: on a running server, and on the export that it kept
 * of it, as it is and changed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/http/shards_scene.h"

static struct server_process server;
static struct scene scene;

static void setup(void)
{
    server_open(&server, "--workers", "1", NULL);
    scene_make(&scene, &server, 8, 2);
}

static void teardown(void)
{
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(oracle, .init = setup, .fini = teardown);

/* Asks the teacher at QUERIES once, as the first student, with MORE members. */
static void ask(const char *queries, const char *key, const char *more)
{
    char body[96];
    snprintf(body, sizeof body, "{\"states\":[[0,0,0.02,0],[0,0,0,0]]%s}", more);
    const struct http_call call = {.method = "POST",
                                   .path = queries,
                                   .token = scene.students[0].token,
                                   .key = key,
                                   .body = body};
    struct http_answer answer = http_expect(scene.client, 200, &call);
    http_answer_clear(&answer);
}

/* The script's exit code; what it prints goes into the file "said" of the server's folder. */
static int price(const char *arguments)
{
    char line[500];
    snprintf(line, sizeof line,
             "F=%s; TACET_TOKEN=%s /usr/bin/python3 tests/oracle/ledger.py %s >$F/said 2>&1",
             server.folder, scene.auditor, arguments);
    int status = system(line);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_said(const char *text)
{
    char path[96];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/said", server.folder);
    char *said = read_whole(path, &size);
    cr_expect(strstr(said, text), "\"%s\" is not in: %s", text, said);
    free(said);
}

Test(oracle, prices_what_an_auditor_exports)
{
    static const struct shards_wish wish = {.shards = 20,
                                            .hidden = 4,
                                            .sigma = 2,
                                            .budgets =
                                                "\"budget\":{\"epsilon\":4,\"delta\":1e-5},"
                                                "\"client_budget\":{\"epsilon\":2,\"delta\":1e-5}"};
    struct shards_teacher teacher;
    char queries[128], arguments[160], line[300];
    ask(scene.queries, "observation", "");
    ask(scene.queries, "more-noise", ",\"concentration\":12");
    shards_teach(&scene, &wish, &teacher);
    snprintf(queries, sizeof queries, "/v1/teachers/%s/queries", teacher.id);
    ask(queries, "expert", "");
    snprintf(arguments, sizeof arguments, "--save $F/export %s", server.base);
    cr_expect_eq(price(arguments), 0);
    expect_said("3 distinct events");
    cr_expect_eq(price("$F/export"), 0);
    snprintf(line, sizeof line,
             "sed 's/\"concentration\": 20/\"concentration\": 20.1/' %s/export >%s/changed",
             server.folder, server.folder);
    cr_assert_eq(system(line), 0);
    cr_expect_eq(price("$F/changed"), 1);
    expect_said("charges too little");
}

/* A training and its judge by held-out experts are one event, which another accountant prices. */
Test(oracle, prices_a_judge_by_held_out_experts)
{
    char dataset[64], body[400], path[96], arguments[160];
    const struct desk desk = scene_desk(&scene, &server);
    scene_dataset(desk.client, desk.steward, 40, dataset);
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"epsilon\":4,\"delta\":1e-5,\"force\":true},"
             "\"judge\":{\"held_out\":0.5,\"return_low\":0,\"return_high\":20},"
             "\"parameters\":{\"hidden\":[8],\"batch_size\":8,\"steps\":50}}",
             dataset);
    desk_submit(&desk, body, "judged", path);
    struct http_answer job = desk_wait(&desk, path);
    const json_t *judge = json_object_get(json_object_get(job.json, "findings"), "judge");
    cr_assert_not_null(json_object_get(judge, "held_out"), "%s", job.body);
    http_answer_clear(&job);
    snprintf(arguments, sizeof arguments, "--save $F/export %s", server.base);
    cr_expect_eq(price(arguments), 0);
    expect_said("1 distinct event");
    desk_expect_whole_ledger(&desk);
}

/* ---- one account for all kinds of releases */

enum { EXPERTS = 40 };

#define COSTS ",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":%s,\"delta\":%s,\"force\":true"
#define TINY  ",\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":20"

/* A job of each kind, what it costs alone, and the rest of its body. */
static const struct {
    const char *start, *epsilon, *delta, *rest;
} kinds[] = {
    {"\"algorithm\":\"cql\"", "3", "1e-6", "}" TINY "}"},
    {"\"algorithm\":\"cql\"", "4", "1e-6",
     "}" TINY "},\"sweep\":{\"learning_rate\":[0.001,0.01]},\"evaluate\":{\"environment\":"
     "\"cartpole\",\"episodes\":2,\"max_episode_steps\":10}"},
    {"\"algorithm\":\"cql\",\"mechanism\":\"selective_dpsgd\"", "60", "1e-3",
     ",\"plain_share\":0.5,\"stable\":{\"count\":5}}" TINY ",\"arithmetic\":\"float\"}"},
    {"\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"consensus\"", "50", "1e-3",
     ",\"consensus\":{\"labels\":9}}" TINY ",\"arithmetic\":\"float\"}"},
    {"\"algorithm\":\"gp_q_learning\"", "4", "1e-6",
     "},\"parameters\":{\"shards\":20,\"features\":6,\"steps\":20,\"hidden\":[4]}"},
};

#define POLICY                                                                                     \
    "{\"activation\":\"relu\",\"output\":\"argmax\",\"layers\":["                                  \
    "{\"weight\":[[0,0,0,0],[0.02,0.1,1,0.5]],\"bias\":[0,0]}]}"

/* A dataset of EXPERTS experts, each with a policy, so that no clones are trained. */
static void open_composed(const struct desk *desk, char out_id[64])
{
    char path[128];
    struct http_answer made =
        desk_post(desk, 201, "/v1/datasets",
                  "{\"name\":\"all "
                  "kinds\",\"environment\":\"cartpole\",\"nominal_experts\":40,\"min_action_"
                  "probability\":0.4,\"max_episode_steps\":30,\"budget\":"
                  "{\"epsilon\":200,\"delta\":1e-2,\"accounting\":\"renyi\",\"delta_share\":0.5}}",
                  "composed");
    snprintf(out_id, 64, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    for (unsigned e = 0; e < EXPERTS; e++) {
        snprintf(path, sizeof path, "/v1/datasets/%s/experts/e%u/policy", out_id, e);
        made = desk_call(desk, "PUT", 204, path, POLICY, NULL);
        http_answer_clear(&made);
    }
    char *lines = scene_trajectories(EXPERTS, 1, 20, 7);
    desk_fill(desk, out_id, lines);
    free(lines);
}

/* Every kind of release enters an account that adds divergences by its own event, and the oracle
 * prices each of them at the account's order. */
Test(oracle, prices_every_kind_of_release_on_one_composed_account)
{
    char dataset[64], body[600], path[96], key[16], arguments[160];
    const struct desk desk = scene_desk(&scene, &server);
    open_composed(&desk, dataset);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        snprintf(body, sizeof body, "{%s" COSTS "%s}", kinds[i].start, dataset, kinds[i].epsilon,
                 kinds[i].delta, kinds[i].rest);
        snprintf(key, sizeof key, "kind-%zu", i);
        desk_submit(&desk, body, key, path);
        struct http_answer job = desk_wait(&desk, path);
        cr_expect_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
        http_answer_clear(&job);
    }
    cr_expect_lt(desk_epsilon(&desk, dataset, "spent"), 3 + 4 + 60 + 50 + 4);
    snprintf(arguments, sizeof arguments, "--save $F/export %s", server.base);
    cr_expect_eq(price(arguments), 0);
    expect_said("5 distinct events");
    desk_expect_whole_ledger(&desk);
}
