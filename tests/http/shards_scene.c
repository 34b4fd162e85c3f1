/* Asks as the scene's steward. */
#include "tests/http/shards_scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct http_answer as_steward(const struct scene *scene, const char *method, long status,
                                     const char *path, const char *body, const char *key)
{
    const struct http_call call = {
        .method = method, .path = path, .token = scene->steward, .body = body, .key = key};
    return http_expect(scene->client, status, &call);
}

static void train(struct scene *scene, const struct shards_wish *wish, char out_policy[64])
{
    char dataset[64], body[400], path[96], state[16] = "queued";
    scene_dataset(scene->client, scene->steward, 60, dataset);
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":%u,\"parameters\":"
             "{\"hidden\":[%u],\"batch_size\":8,\"steps\":50}}",
             dataset, wish->shards, wish->hidden);
    struct http_answer job = as_steward(scene, "POST", 202, "/v1/jobs", body, "the-ensemble");
    snprintf(path, sizeof path, "/v1/jobs/%s", http_text(&job, "id"));
    http_answer_clear(&job);
    while (strcmp(state, "queued") == 0 || strcmp(state, "running") == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        job = as_steward(scene, "GET", 200, path, NULL, NULL);
        snprintf(state, sizeof state, "%s", http_text(&job, "state"));
        snprintf(out_policy, 64, "%s", http_text(&job, "policy"));
        http_answer_clear(&job);
    }
    cr_assert_str_eq(state, "succeeded");
}

static double epsilon_of(const json_t *cost, const char *which)
{
    return json_number_value(json_object_get(json_object_get(cost, which), "epsilon"));
}

int64_t shards_cap_price(const struct scene *scene, const char *teacher)
{
    char path[96];
    snprintf(path, sizeof path, "/v1/teachers/%s/certificate", teacher);
    struct http_answer signed_text = as_steward(scene, "GET", 200, path, NULL, NULL);
    const json_t *answer = json_object_get(json_object_get(signed_text.json, "privacy"), "answer");
    int64_t units = llround(json_number_value(json_object_get(answer, "divergence")) * 1e9);
    http_answer_clear(&signed_text);
    cr_assert_gt(units, 0);
    return units;
}

void shards_teach(struct scene *scene, const struct shards_wish *wish, struct shards_teacher *out)
{
    char policy[64], body[500];
    train(scene, wish, policy);
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":%g},"
             "\"adjacency\":{\"unit\":\"expert\"},%s}",
             policy, wish->sigma, wish->budgets);
    struct http_answer made = as_steward(scene, "POST", 201, "/v1/teachers", body, NULL);
    const json_t *cost = json_object_get(made.json, "dataset_cost");
    out->price = json_integer_value(json_object_get(made.json, "renyi_units_per_query"));
    out->cap_price = shards_cap_price(scene, http_text(&made, "id"));
    out->opening = llround((epsilon_of(cost, "first") - epsilon_of(cost, "further")) * 1e9);
    snprintf(out->id, sizeof out->id, "%s", http_text(&made, "id"));
    snprintf(out->account, sizeof out->account, "%s", http_text(&made, "account"));
    snprintf(out->dataset_account, sizeof out->dataset_account, "%s",
             http_text(&made, "dataset_account"));
    http_answer_clear(&made);
}

int64_t shards_spent(struct scene *scene, const char *account)
{
    char path[96];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", account);
    struct http_answer found = as_steward(scene, "GET", 200, path, NULL, NULL);
    const json_t *units = json_object_get(found.json, "units");
    int64_t spent = json_integer_value(json_object_get(units, "spent"));
    cr_expect_leq(spent, json_integer_value(json_object_get(units, "limit")));
    cr_expect_eq(json_integer_value(json_object_get(units, "held")), 0);
    http_answer_clear(&found);
    return spent;
}
