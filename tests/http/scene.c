/* Sets the scene over HTTP, as a user would. */
#include "tests/http/scene.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy(char *out, size_t size, const char *text)
{
    cr_assert(text[0] != '\0' && strlen(text) < size);
    memcpy(out, text, strlen(text) + 1);
}

void scene_person(struct scene *scene, const char *role, char out_id[64], char out_token[160])
{
    char body[128];
    snprintf(body, sizeof body, "{\"name\":\"a %s\",\"role\":\"%s\"}", role, role);
    struct http_call create = {
        .method = "POST", .path = "/v1/clients", .token = scene->admin, .body = body};
    struct http_answer made = http_expect(scene->client, 201, &create);
    copy(out_id, 64, http_text(&made, "id"));
    copy(out_token, 160, http_text(&made, "token"));
    http_answer_clear(&made);
}

static const char NETWORK[] =
    "{\"name\":\"imported\",\"environment\":\"cartpole\",\"network\":{\"activation\":\"tanh\","
    "\"output\":\"softmax\",\"layers\":[{\"weight\":[[0.3,0.1,-0.2,0.4],[-0.1,0.2,0.5,0.3],"
    "[0.2,-0.4,0.1,0.1]],\"bias\":[0.1,0,-0.1]},{\"weight\":[[0.5,-0.3,0.2],[-0.4,0.6,0.1]],"
    "\"bias\":[0,0.1]}]}}";

static void make_teacher(struct scene *scene, double budget, double client_budget)
{
    char body[512];
    struct http_call import = {
        .method = "POST", .path = "/v1/policies", .token = scene->steward, .body = NETWORK};
    struct http_answer policy = http_expect(scene->client, 201, &import);
    copy(scene->policy, sizeof scene->policy, http_text(&policy, "id"));
    http_answer_clear(&policy);
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,"
             "\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},"
             "\"accounting\":\"renyi\",\"budget\":{\"epsilon\":%g,\"delta\":1e-5},"
             "\"client_budget\":{\"epsilon\":%g,\"delta\":1e-5}}",
             scene->policy, budget, client_budget);
    struct http_call create = {
        .method = "POST", .path = "/v1/teachers", .token = scene->steward, .body = body};
    struct http_answer teacher = http_expect(scene->client, 201, &create);
    copy(scene->teacher, sizeof scene->teacher, http_text(&teacher, "id"));
    snprintf(scene->queries, sizeof scene->queries, "/v1/teachers/%s/queries", scene->teacher);
    http_answer_clear(&teacher);
}

void scene_make(struct scene *scene, struct server_process *server, double budget,
                double client_budget)
{
    char id[64];
    *scene = (struct scene){0};
    server_token(server, "admin", scene->admin);
    scene->client = http_client_new(server);
    scene_person(scene, "steward", id, scene->steward);
    scene_person(scene, "auditor", id, scene->auditor);
    scene_more_students(scene, SCENE_STUDENTS);
    make_teacher(scene, budget, client_budget);
}

void scene_more_students(struct scene *scene, unsigned count)
{
    cr_assert_leq(count, SCENE_STUDENTS_MAX);
    for (unsigned i = scene->student_count; i < count; i++)
        scene_person(scene, "student", scene->students[i].id, scene->students[i].token);
    scene->student_count = count;
}

struct desk scene_desk(const struct scene *scene, struct server_process *server)
{
    struct desk desk = {.server = server, .client = scene->client};
    copy(desk.steward, sizeof desk.steward, scene->steward);
    return desk;
}

void scene_clear(struct scene *scene)
{
    http_client_free(scene->client);
}

/* xorshift64*: tests repeat themselves. */
static double uniform(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * UINT64_C(2685821657736338717) >> 11) / 9007199254740992.0;
}

char *scene_trajectories(unsigned experts, unsigned trajectories, unsigned steps, unsigned seed)
{
    char *text = NULL;
    size_t size = 0;
    uint64_t state = (uint64_t)seed * 2654435761u + 88172645463325252u;
    FILE *out = open_memstream(&text, &size);
    cr_assert_not_null(out);
    for (unsigned n = 0; n < experts * trajectories; n++) {
        fprintf(out, "{\"expert\":\"e%u\",\"states\":[", n % experts);
        for (unsigned t = 0; t <= steps; t++)
            fprintf(out, "%s[%.4f,%.4f,%.4f,%.4f]", t == 0 ? "" : ",", uniform(&state) - 0.5,
                    uniform(&state) - 0.5, uniform(&state) * 0.2 - 0.1, uniform(&state) - 0.5);
        fprintf(out, "],\"actions\":[");
        for (unsigned t = 0; t < steps; t++)
            fprintf(out, "%s%d", t == 0 ? "" : ",", uniform(&state) < 0.5 ? 0 : 1);
        fprintf(out, "],\"rewards\":[");
        for (unsigned t = 0; t < steps; t++)
            fprintf(out, "%s1", t == 0 ? "" : ",");
        fprintf(out, "],\"terminated\":true,\"truncated\":false}\n");
    }
    cr_assert_eq(fclose(out), 0);
    return text;
}

void scene_open_dataset(struct http_client *client, const char *steward, char out_id[64])
{
    struct http_call create = {.method = "POST",
                               .path = "/v1/datasets",
                               .token = steward,
                               .body = "{\"name\":\"walks\",\"environment\":\"cartpole\","
                                       "\"nominal_experts\":40,"
                                       "\"budget\":{\"epsilon\":8,\"delta\":1e-5}}"};
    struct http_answer made = http_expect(client, 201, &create);
    copy(out_id, 64, http_text(&made, "id"));
    http_answer_clear(&made);
}

void scene_dataset(struct http_client *client, const char *steward, unsigned experts,
                   char out_id[64])
{
    char path[128];
    scene_open_dataset(client, steward, out_id);
    char *lines = scene_trajectories(experts, 2, 20, 7);
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", out_id);
    struct http_call upload = {.method = "POST",
                               .path = path,
                               .token = steward,
                               .body = lines,
                               .content_type = "application/x-ndjson",
                               .chunked = true};
    struct http_answer stored = http_expect(client, 201, &upload);
    cr_expect_eq(json_integer_value(json_object_get(stored.json, "trajectories")), 2 * experts);
    cr_expect_eq(json_integer_value(json_object_get(stored.json, "experts")), experts);
    cr_expect_eq(json_integer_value(json_object_get(stored.json, "transitions")), 40 * experts);
    http_answer_clear(&stored);
    free(lines);
    snprintf(path, sizeof path, "/v1/datasets/%s:seal", out_id);
    struct http_call seal = {.method = "POST", .path = path, .token = steward};
    struct http_answer sealed = http_expect(client, 200, &seal);
    http_answer_clear(&sealed);
}
