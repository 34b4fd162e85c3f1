/* Before and after, and one answer. */
#include "tests/http/refusals.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_books(const struct refusals *room)
{
    struct http_call call = {.method = "GET",
                             .path = "/v1/ledger/accounts?page_size=1000",
                             .token = room->scene.auditor};
    struct http_answer answer = http_expect(room->scene.client, 200, &call);
    char *text = answer.body;
    answer.body = NULL;
    http_answer_clear(&answer);
    return text;
}

void refusals_open(struct refusals *room)
{
    server_open(&room->server, "--max-body", "64K", NULL);
    scene_make(&room->scene, &room->server, 100, 10);
    scene_open_dataset(room->scene.client, room->scene.steward, room->dataset);
    snprintf(room->uploads, sizeof room->uploads, "/v1/datasets/%s/trajectories", room->dataset);
    struct http_call ask = {.method = "POST",
                            .path = room->scene.queries,
                            .token = room->scene.students[0].token,
                            .key = "asked-once",
                            .body = "{\"state\":[0,0,0,0]}"};
    struct http_answer answer = http_expect(room->scene.client, 200, &ask);
    http_answer_clear(&answer);
    room->books = read_books(room);
}

static int64_t count_of(const struct refusals *room, const char *path, const char *token)
{
    struct http_call call = {.method = "GET", .path = path, .token = token};
    struct http_answer answer = http_expect(room->scene.client, 200, &call);
    json_t *items = json_object_get(answer.json, "items");
    int64_t count = items != NULL
                        ? (int64_t)json_array_size(items)
                        : json_integer_value(json_object_get(answer.json, "trajectories"));
    http_answer_clear(&answer);
    return count;
}

void refusals_close(struct refusals *room)
{
    char path[128], *now = read_books(room);
    cr_expect_str_eq(now, room->books, "the ledger has changed");
    snprintf(path, sizeof path, "/v1/datasets/%s", room->dataset);
    cr_expect_eq(count_of(room, path, room->scene.steward), 0, "an upload was stored");
    cr_expect_eq(count_of(room, "/v1/datasets", room->scene.steward), 1);
    cr_expect_eq(count_of(room, "/v1/jobs", room->scene.steward), 0);
    cr_expect_eq(count_of(room, "/v1/teachers", room->scene.steward), 1);
    cr_expect_eq(count_of(room, "/v1/clients", room->scene.admin), 3 + SCENE_STUDENTS);
    struct http_answer ready = http_expect(
        room->scene.client, 200, &(struct http_call){.method = "GET", .path = "/healthz/ready"});
    http_answer_clear(&ready);
    free(now);
    free(room->books);
    scene_clear(&room->scene);
    server_close(&room->server);
}

void refusals_expect(const struct refusals *room, const struct http_call *call, long status,
                     const char *slug, const char *pointer, int64_t line)
{
    char type[64];
    struct http_answer answer = http_do(room->scene.client, call);
    snprintf(type, sizeof type, "/problems/%s", slug);
    cr_expect_eq(answer.status, status, "%s %s: %ld %s", call->path, call->body, answer.status,
                 answer.body);
    cr_expect_str_eq(http_text(&answer, "type"), type, "%s: %s", call->body, answer.body);
    bool named = pointer == NULL;
    size_t index;
    json_t *error;
    json_array_foreach(json_object_get(answer.json, "errors"), index, error)
    {
        const char *at = json_string_value(json_object_get(error, "pointer"));
        named = named || (at != NULL && strcmp(at, pointer) == 0 &&
                          json_integer_value(json_object_get(error, "line")) == line);
    }
    cr_expect(named, "%s: no %s, line %lld, in %s", call->body, pointer, (long long)line,
              answer.body);
    http_answer_clear(&answer);
}
