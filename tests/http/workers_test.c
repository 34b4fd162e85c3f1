/* Two workers take two jobs that wait, and run both at a time; one worker takes one. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/scene.h"

struct bench {
    struct server_process server;
    struct http_client *client;
    char steward[160], dataset[64], jobs[2][96];
};

static struct http_answer ask(struct bench *b, const char *method, long status, const char *path,
                              const char *body, const char *key)
{
    struct http_call call = {
        .method = method, .path = path, .token = b->steward, .body = body, .key = key};
    return http_expect(b->client, status, &call);
}

/* Two jobs so long that neither ends by itself. */
static void open_bench(struct bench *b, const char *workers)
{
    server_open(&b->server, "--workers", workers, NULL);
    server_token(&b->server, "steward", b->steward);
    b->client = http_client_new(&b->server);
    scene_dataset(b->client, b->steward, 40, b->dataset);
    for (int i = 0; i < 2; i++) {
        char body[512], key[16];
        snprintf(body, sizeof body,
                 "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\",\"privacy\":"
                 "{\"epsilon\":2,\"delta\":1e-6},\"parameters\":{\"hidden\":[32],"
                 "\"batch_size\":8,\"steps\":5000000}}",
                 b->dataset);
        snprintf(key, sizeof key, "job-%d", i);
        struct http_answer job = ask(b, "POST", 202, "/v1/jobs", body, key);
        snprintf(b->jobs[i], sizeof b->jobs[i], "/v1/jobs/%s", http_text(&job, "id"));
        http_answer_clear(&job);
    }
}

static void close_bench(struct bench *b)
{
    for (int i = 0; i < 2; i++) {
        char path[112];
        snprintf(path, sizeof path, "%s:cancel", b->jobs[i]);
        struct http_answer job = ask(b, "POST", 200, path, NULL, NULL);
        http_answer_clear(&job);
    }
    http_client_free(b->client);
    server_close(&b->server);
}

static long long step_of(struct bench *b, int i, char out_state[16])
{
    struct http_answer job = ask(b, "GET", 200, b->jobs[i], NULL, NULL);
    snprintf(out_state, 16, "%s", http_text(&job, "state"));
    long long step =
        json_integer_value(json_object_get(json_object_get(job.json, "progress"), "step"));
    http_answer_clear(&job);
    return step;
}

/* Waits until job I runs and has gone past STEP. */
static long long past(struct bench *b, int i, long long step)
{
    char state[16];
    long long now;
    while ((now = step_of(b, i, state)) <= step) {
        cr_assert(strcmp(state, "queued") == 0 || strcmp(state, "running") == 0, "%s", state);
        usleep(50000);
    }
    return now;
}

/* Each goes on after the other was seen to go on. */
Test(workers, two_take_two_jobs_at_a_time)
{
    struct bench b;
    open_bench(&b, "2");
    long long first = past(&b, 0, 0), second = past(&b, 1, 0);
    first = past(&b, 0, first);
    second = past(&b, 1, second);
    past(&b, 0, first);
    close_bench(&b);
}

Test(workers, one_takes_one_job_after_the_other)
{
    struct bench b;
    char state[16];
    open_bench(&b, "1");
    long long first = past(&b, 0, 0);
    past(&b, 0, first);
    cr_assert_eq(step_of(&b, 1, state), 0);
    cr_assert_str_eq(state, "queued");
    close_bench(&b);
}
