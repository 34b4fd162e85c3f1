/* Jobs that evaluate what is there already, with a real server, in every built-in world. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/desk.h"

static struct server_process server;
static struct desk desk;

static void teardown(void)
{
    desk_close(&desk);
    server_close(&server);
}

TestSuite(evaluate, .fini = teardown);

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
    struct http_answer made = desk_post(&desk, 201, "/v1/policies", body, NULL);
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
    desk_submit(&desk, body, world, out_path);
}

/* Its mean return, when it has succeeded. */
static double wait_for(const char *path)
{
    struct http_answer job = desk_wait(&desk, path);
    const json_t *evaluation = json_object_get(job.json, "evaluation");
    double mean = json_number_value(json_object_get(evaluation, "mean_return"));
    cr_assert_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    cr_expect_eq(json_integer_value(json_object_get(evaluation, "episodes")), 3);
    http_answer_clear(&job);
    return mean;
}

Test(evaluate, plays_in_every_world_that_is_built_in)
{
    char policy[64], path[96];
    server_open(&server, "--workers", "1", NULL);
    desk_open(&desk, &server);
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
