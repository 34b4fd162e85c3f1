#include "tests/http/q_scene.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct http_answer post(struct http_client *client, const char *token, const char *path,
                               const char *body, long status)
{
    const char *key = strcmp(path, "/v1/jobs") == 0 ? "q-scene" : NULL; /* where one is needed */
    const struct http_call call = {
        .method = "POST", .path = path, .token = token, .body = body, .key = key};
    return http_expect(client, status, &call);
}

static void keep_id(struct http_answer *answer, const char *member, char out[64])
{
    snprintf(out, 64, "%s", http_text(answer, member));
    cr_assert(out[0] != '\0', "%s", answer->body);
    http_answer_clear(answer);
}

static void make_dataset(struct q_scene *scene, struct http_client *client, const char *steward)
{
    char path[128], text[20 * 128];
    size_t at = 0;
    struct http_answer answer =
        post(client, steward, "/v1/datasets",
             "{\"name\":\"line\",\"state_dim\":1,\"action_count\":2,\"max_episode_steps\":50,"
             "\"description\":{\"row\":\"a step\",\"expert\":\"who "
             "walks\",\"features\":[{\"name\":\"x\","
             "\"low\":0,\"high\":1}],\"actions\":[\"left\",\"right\"]},"
             "\"discount\":0.9,\"budget\":{\"epsilon\":3,\"delta\":1e-4}}",
             201);
    keep_id(&answer, "id", scene->dataset);
    for (int e = 0; e < 20; e++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "{\"expert\":\"e%d\",\"states\":[[0.1],[0.%d],[0.5]],\"actions\":"
                               "[0,1],\"rewards\":[1,2],\"terminated\":true,\"truncated\":false}\n",
                               e, e + 10);
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", scene->dataset);
    const struct http_call upload = {.method = "POST",
                                     .path = path,
                                     .token = steward,
                                     .body = text,
                                     .content_type = "application/x-ndjson"};
    answer = http_expect(client, 201, &upload);
    http_answer_clear(&answer);
    snprintf(path, sizeof path, "/v1/datasets/%s:seal", scene->dataset);
    answer = post(client, steward, path, "{}", 200);
    http_answer_clear(&answer);
}

void q_scene_make(struct q_scene *scene, struct http_client *client, const char *steward)
{
    char path[128], body[400], job[64];
    make_dataset(scene, client, steward);
    snprintf(body, sizeof body,
             "{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":2,"
             "\"delta\":1e-5},\"parameters\":{\"shards\":100,\"steps\":5,\"base\":\"bcq\","
             "\"hidden\":[4]}}",
             scene->dataset);
    struct http_answer answer = post(client, steward, "/v1/jobs", body, 202);
    keep_id(&answer, "id", job);
    snprintf(path, sizeof path, "/v1/jobs/%s", job);
    const struct http_call look = {.method = "GET", .path = path, .token = steward};
    for (int i = 0;; i++) {
        answer = http_expect(client, 200, &look);
        const char *state = http_text(&answer, "state");
        if (strcmp(state, "succeeded") == 0)
            break;
        cr_assert(i < 600 && strcmp(state, "failed") != 0, "%s", answer.body);
        http_answer_clear(&answer);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    keep_id(&answer, "q_release", scene->release);
    snprintf(scene->path, sizeof scene->path, "/v1/q-releases/%s", scene->release);
    snprintf(scene->queries, sizeof scene->queries, "%s/queries", scene->path);
}

struct http_answer q_scene_ask(const struct q_scene *scene, struct http_client *client,
                               const char *token, double x)
{
    char body[64];
    snprintf(body, sizeof body, "{\"states\":[[%.17g]]}", x);
    const struct http_call call = {
        .method = "POST", .path = scene->queries, .token = token, .body = body};
    return http_do(client, &call);
}
