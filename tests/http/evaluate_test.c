/* Jobs that evaluate what is there already, with a real server: every built-in world, and a stop
 * and a kill in the middle of a program's answer. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/scene.h"

#define FACTS "{\"protocol\":1,\"state_dim\":4,\"action_count\":2,\"max_episode_steps\":10}"

static struct server_process server;
static struct http_client *client;
static char steward[160];

static void begin(void)
{
    server_token(&server, "steward", steward);
    client = http_client_new(&server);
}

static void teardown(void)
{
    http_client_free(client);
    server_close(&server);
}

TestSuite(evaluate, .fini = teardown);

static struct http_answer post(long status, const char *path, const char *body, const char *key)
{
    struct http_call call = {
        .method = "POST", .path = path, .token = steward, .body = body, .key = key};
    return http_expect(client, status, &call);
}

/* A policy for WORLD that always plays action 0. */
static void import(const char *world, unsigned states, unsigned actions, char out_id[64])
{
    char body[2048];
    size_t at =
        (size_t)snprintf(body, sizeof body,
                         "{\"name\":\"p\",\"environment\":\"%s\",\"network\":{\"activation\":"
                         "\"relu\",\"output\":\"argmax\",\"layers\":[{\"weight\":[",
                         world);
    for (unsigned a = 0; a < actions; a++) {
        at += (size_t)sprintf(body + at, a > 0 ? ",[" : "[");
        for (unsigned k = 0; k < states; k++)
            at += (size_t)sprintf(body + at, k > 0 ? ",0" : "0");
        at += (size_t)sprintf(body + at, "]");
    }
    at += (size_t)sprintf(body + at, "],\"bias\":[1");
    for (unsigned a = 1; a < actions; a++)
        at += (size_t)sprintf(body + at, ",0");
    sprintf(body + at, "]}]}}");
    struct http_answer made = post(201, "/v1/policies", body, NULL);
    snprintf(out_id, 64, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
}

static void submit(const char *policy, const char *world, char out_path[96])
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"evaluate\",\"policy\":\"%s\",\"evaluate\":{\"environment\":\"%s\","
             "\"episodes\":3,\"max_episode_steps\":10}}",
             policy, world);
    struct http_answer job = post(202, "/v1/jobs", body, world);
    snprintf(out_path, 96, "/v1/jobs/%s", http_text(&job, "id"));
    http_answer_clear(&job);
}

/* Its mean return, when it has succeeded. */
static double wait_for(const char *path)
{
    struct http_call call = {.method = "GET", .path = path, .token = steward};
    for (;;) {
        struct http_answer job = http_expect(client, 200, &call);
        const char *state = http_text(&job, "state");
        bool over = strcmp(state, "queued") != 0 && strcmp(state, "running") != 0;
        const json_t *evaluation = json_object_get(job.json, "evaluation");
        double mean = json_number_value(json_object_get(evaluation, "mean_return"));
        if (over) {
            cr_assert_str_eq(state, "succeeded", "%s", job.body);
            cr_expect_eq(json_integer_value(json_object_get(evaluation, "episodes")), 3);
        }
        http_answer_clear(&job);
        if (over)
            return mean;
        usleep(20000);
    }
}

Test(evaluate, plays_in_every_world_that_is_built_in)
{
    char policy[64], path[96];
    server_open(&server, "--workers", "1", NULL);
    begin();
    import("cartpole", 4, 2, policy);
    submit(policy, "cartpole", path);
    double mean = wait_for(path);
    cr_expect(mean >= 8 && mean <= 10, "%g", mean);
    import("acrobot", 6, 3, policy);
    submit(policy, "acrobot", path);
    cr_expect_eq(wait_for(path), -10);
    import("hiv", 6, 4, policy);
    submit(policy, "hiv", path);
    cr_expect_gt(wait_for(path), 0);
    import("lunar_lander", 8, 4, policy);
    submit(policy, "lunar_lander", path);
    mean = wait_for(path);
    cr_expect(mean > -100 && mean < 100 && mean != 0, "%g", mean);
}

/* The world hangs at its first step ever, until the server has been ended by SIGNAL_NUMBER. */
static void check_ended(int signal_number, int code)
{
    char mark[64], world[1024], policy[64], path[96];
    snprintf(mark, sizeof mark, "/tmp/tacet-evaluate-%ld", (long)getpid());
    snprintf(world, sizeof world,
             "slow=m=%s; while read -r q; do case $q in *describe*) echo '" FACTS "';; *reset*) "
             "echo '{\"observation\":[0,0,0,0]}';; *) if [ ! -e $m ]; then touch $m; sleep 20; fi; "
             "echo '{\"observation\":[0,0,0,0],\"reward\":1,\"terminated\":false}';; esac; done",
             mark);
    server_open(&server, "--workers", "1", "--world-timeout", "3600", "--world", world, NULL);
    begin();
    import("cartpole", 4, 2, policy);
    submit(policy, "slow", path);
    while (access(mark, F_OK) != 0)
        usleep(20000);
    cr_assert_eq(server_end(&server, signal_number), code);
    server_start(&server);
    http_client_move(client, &server);
    cr_expect_eq(wait_for(path), 10);
    unlink(mark);
}

Test(evaluate, begins_again_after_the_server_was_stopped)
{
    check_ended(SIGTERM, 0);
}

Test(evaluate, begins_again_after_the_server_was_killed)
{
    check_ended(SIGKILL, 1000 + SIGKILL);
}
