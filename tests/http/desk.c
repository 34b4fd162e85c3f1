/* The steward's calls. */
#include "tests/http/desk.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void desk_open(struct desk *desk, struct server_process *server)
{
    *desk = (struct desk){.server = server};
    server_token(server, "steward", desk->steward);
    desk->client = http_client_new(server);
}

void desk_close(struct desk *desk)
{
    http_client_free(desk->client);
}

struct http_answer desk_call(const struct desk *desk, const char *method, long status,
                             const char *path, const char *body, const char *key)
{
    const struct http_call call = {
        .method = method, .path = path, .token = desk->steward, .body = body, .key = key};
    return http_expect(desk->client, status, &call);
}

struct http_answer desk_post(const struct desk *desk, long status, const char *path,
                             const char *body, const char *key)
{
    return desk_call(desk, "POST", status, path, body, key);
}

struct http_answer desk_get(const struct desk *desk, const char *path)
{
    return desk_call(desk, "GET", 200, path, NULL, NULL);
}

void desk_fill(const struct desk *desk, const char *dataset, const char *lines)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", dataset);
    const struct http_call call = {.method = "POST",
                                   .path = path,
                                   .token = desk->steward,
                                   .body = lines,
                                   .content_type = "application/x-ndjson"};
    struct http_answer answer = http_expect(desk->client, 201, &call);
    http_answer_clear(&answer);
    snprintf(path, sizeof path, "/v1/datasets/%s:seal", dataset);
    answer = desk_post(desk, 200, path, NULL, NULL);
    http_answer_clear(&answer);
}

void desk_submit(const struct desk *desk, const char *body, const char *key, char out_path[96])
{
    struct http_answer job = desk_post(desk, 202, "/v1/jobs", body, key);
    cr_expect_not_null(http_header(&job, "Location"));
    snprintf(out_path, 96, "/v1/jobs/%s", http_text(&job, "id"));
    http_answer_clear(&job);
}

static bool is_over(const char *state)
{
    return strcmp(state, "queued") != 0 && strcmp(state, "running") != 0;
}

long long desk_wait_past(const struct desk *desk, const char *path, long long step,
                         char out_state[16])
{
    for (;;) {
        struct http_answer job = desk_get(desk, path);
        const json_t *progress = json_object_get(job.json, "progress");
        long long now = json_integer_value(json_object_get(progress, "step"));
        snprintf(out_state, 16, "%s", http_text(&job, "state"));
        http_answer_clear(&job);
        if (now > step || is_over(out_state))
            return now;
        usleep(50000);
    }
}

struct http_answer desk_wait(const struct desk *desk, const char *path)
{
    char state[16];
    desk_wait_past(desk, path, LLONG_MAX, state);
    return desk_get(desk, path);
}

void desk_restart(struct desk *desk, int signal_number, int code)
{
    cr_assert_eq(server_end(desk->server, signal_number), code);
    server_start(desk->server);
    http_client_move(desk->client, desk->server);
}

double desk_epsilon(const struct desk *desk, const char *dataset, const char *what)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/datasets/%s/budget", dataset);
    struct http_answer budget = desk_get(desk, path);
    const json_t *epsilon = json_object_get(json_object_get(budget.json, what), "epsilon");
    double value = json_number_value(epsilon);
    cr_assert(json_is_number(epsilon), "%s", budget.body);
    http_answer_clear(&budget);
    return value;
}

void desk_expect_whole_ledger(const struct desk *desk)
{
    struct http_answer audit = desk_post(desk, 200, "/v1/ledger:verify", NULL, NULL);
    cr_expect(json_is_true(json_object_get(audit.json, "ok")), "%s", audit.body);
    http_answer_clear(&audit);
}
