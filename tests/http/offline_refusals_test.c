/* What offline learning is asked that it cannot do, on a real server: one expert, an expert without
 * a trajectory, a floor above 1/|A|, a trajectory longer than declared, a budget below one step,
 * losses that are not finite. The pointer, or the reason of the closed list; and what it cost. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/http/one_desk.h"

static void check_after(void)
{
    desk_expect_whole_ledger(&desk);
}

TestSuite(offline_refusals, .init = one_desk_open, .fini = one_desk_close);

#define CARTS                                                                                      \
    "{\"name\":\"d\",\"environment\":\"cartpole\",\"max_episode_steps\":20,"                       \
    "\"budget\":{\"epsilon\":100,\"delta\":1e-2},\"min_action_probability\":0.4}"
#define UPRIGHT                                                                                    \
    "{\"activation\":\"relu\",\"output\":\"argmax\",\"layers\":[{\"weight\":[[0,0,0,0],"           \
    "[0.02,0.1,1,0.5]],\"bias\":[0,0]}]}"

static void open_dataset(char out_id[64])
{
    struct http_answer made = desk_post(&desk, 201, "/v1/datasets", CARTS, NULL);
    snprintf(out_id, 64, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
}

/* A sealed one of EXPERTS. */
static void make_dataset(unsigned experts, char out_id[64])
{
    open_dataset(out_id);
    char *lines = scene_trajectories(experts, 1, 20, 3);
    desk_fill(&desk, out_id, lines);
    free(lines);
}

static const char *job(const char *algorithm, const char *dataset, const char *mechanism,
                       const char *privacy, const char *parameters)
{
    static char body[1024];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"%s\",\"dataset\":\"%s\",\"mechanism\":\"%s\",\"privacy\":{%s},"
             "\"parameters\":{%s}}",
             algorithm, dataset, mechanism, privacy, parameters);
    return body;
}

static void expect_fault(long status, const char *path, const char *body, const char *slug,
                         const char *text)
{
    char type[64];
    struct http_answer answer = desk_post(&desk, status, path, body, "refused");
    snprintf(type, sizeof type, "/problems/%s", slug);
    cr_expect_str_eq(http_text(&answer, "type"), type);
    cr_expect_not_null(strstr(answer.body, text), "%s: no %s in %s", body, text, answer.body);
    http_answer_clear(&answer);
}

#define POINTER(path) "\"pointer\":\"" path "\""

CHECKED_TEST(offline_refusals, one_expert_has_nothing_in_common_with_anybody)
{
    char id[64];
    make_dataset(1, id);
    static const char *const mechanisms[] = {"consensus", "selective_dpsgd"};
    for (int i = 0; i < 2; i++)
        expect_fault(422, "/v1/jobs",
                     job("cql", id, mechanisms[i], "\"epsilon\":50,\"delta\":1e-3", ""),
                     "validation", POINTER("/dataset"));
    expect_fault(422, "/v1/jobs",
                 job("cql", id, "dpsgd", "\"epsilon\":5,\"delta\":1e-6", "\"batch_size\":2"),
                 "validation", POINTER("/parameters/batch_size"));
    cr_expect_eq(desk_epsilon(&desk, id, "spent"), 0);
}

CHECKED_TEST(offline_refusals, an_expert_without_a_trajectory_counts_and_harms_nobody)
{
    char id[64], path[128];
    open_dataset(id);
    snprintf(path, sizeof path, "/v1/datasets/%s/experts/silent/policy", id);
    struct http_answer kept = desk_call(&desk, "PUT", 204, path, UPRIGHT, NULL);
    http_answer_clear(&kept);
    char *lines = scene_trajectories(5, 1, 20, 3);
    desk_fill(&desk, id, lines);
    free(lines);
    desk_submit(&desk,
                job("cql", id, "consensus",
                    "\"epsilon\":5,\"delta\":1e-6,\"consensus\":{\"labels\":40}",
                    "\"hidden\":[4],\"batch_size\":4,\"steps\":20"),
                "silent", path);
    struct http_answer done = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&done, "state"), "succeeded", "%s", done.body);
    http_answer_clear(&done);
    cr_expect_float_eq(desk_epsilon(&desk, id, "spent"), 5, 1e-6);
}

CHECKED_TEST(offline_refusals, a_floor_above_one_over_the_actions)
{
    static const char *const floors[][2] = {{"cartpole", "0.51"}, {"acrobot", "0.34"}};
    for (int i = 0; i < 2; i++) {
        char body[256];
        snprintf(body, sizeof body,
                 "{\"name\":\"d\",\"environment\":\"%s\",\"min_action_probability\":%s,"
                 "\"budget\":{\"epsilon\":1,\"delta\":1e-5}}",
                 floors[i][0], floors[i][1]);
        expect_fault(422, "/v1/datasets", body, "validation", POINTER("/min_action_probability"));
    }
}

CHECKED_TEST(offline_refusals, a_trajectory_longer_than_declared_is_told_with_its_line)
{
    char id[64], path[128];
    open_dataset(id);
    char *good = scene_trajectories(1, 2, 20, 3), *bad = scene_trajectories(1, 1, 21, 3);
    char *both = malloc(strlen(good) + strlen(bad) + 1);
    cr_assert_not_null(both);
    sprintf(both, "%s%s", good, bad);
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", id);
    const struct http_call call = {.method = "POST",
                                   .path = path,
                                   .token = desk.steward,
                                   .body = both,
                                   .content_type = "application/x-ndjson"};
    struct http_answer refused = http_expect(desk.client, 422, &call);
    const json_t *first = json_array_get(json_object_get(refused.json, "errors"), 0);
    cr_expect_eq(json_integer_value(json_object_get(first, "line")), 3, "%s", refused.body);
    http_answer_clear(&refused);
    snprintf(path, sizeof path, "/v1/datasets/%s", id);
    struct http_answer shown = desk_get(&desk, path);
    cr_expect_eq(json_integer_value(json_object_get(shown.json, "trajectories")), 0);
    http_answer_clear(&shown);
    free(good);
    free(bad);
    free(both);
}

CHECKED_TEST(offline_refusals, a_budget_below_one_step)
{
    char id[64];
    make_dataset(10, id);
    const char *body = job("bcq", id, "dpsgd", "\"epsilon\":0.01,\"delta\":1e-6",
                           "\"batch_size\":5,\"noise_multiplier\":0.5");
    expect_fault(422, "/v1/jobs", body, "infeasible", "one step");
    struct http_answer said = desk_post(&desk, 200, "/v1/jobs:estimate", body, NULL);
    cr_expect(json_is_false(json_object_get(said.json, "feasible")), "%s", said.body);
    http_answer_clear(&said);
    cr_expect_eq(desk_epsilon(&desk, id, "spent"), 0);
    cr_expect_eq(desk_epsilon(&desk, id, "reserved"), 0);
}

/* Weights that grow without bound fail the job, and what was released stays paid for. A narrow
 * layer could fall silent in the first step, and then nothing grows. */
CHECKED_TEST(offline_refusals, losses_that_are_not_finite_are_paid_for)
{
    char id[64], path[128];
    make_dataset(10, id);
    desk_submit(&desk,
                job("cql", id, "consensus",
                    "\"epsilon\":5,\"delta\":1e-3,\"consensus\":{\"labels\":100}",
                    "\"hidden\":[64,64,64],\"batch_size\":4,\"steps\":400,\"optimizer\":\"sgd\","
                    "\"learning_rate\":10,\"input_scale\":1e6,\"huber_threshold\":1e6,"
                    "\"reward_scale\":1e6"),
                "wild", path);
    struct http_answer job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), "failed", "%s", job.body);
    cr_expect_not_null(strstr(job.body, "the weights grew without bound"), "%s", job.body);
    cr_expect(json_is_null(json_object_get(job.json, "policy")));
    http_answer_clear(&job);
    cr_expect_float_eq(desk_epsilon(&desk, id, "spent"), 5, 1e-6);
    cr_expect_eq(desk_epsilon(&desk, id, "reserved"), 0);
}
