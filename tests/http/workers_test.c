/* Two workers take two jobs that wait, and run both at a time; one worker takes one. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/http/desk.h"
#include "tests/http/scene.h"

struct bench {
    struct server_process server;
    struct desk desk;
    char dataset[64], jobs[2][96];
};

/* Two jobs so long that neither ends by itself. */
static void open_bench(struct bench *b, const char *workers)
{
    server_open(&b->server, "--workers", workers, NULL);
    desk_open(&b->desk, &b->server);
    scene_dataset(b->desk.client, b->desk.steward, 40, b->dataset);
    for (int i = 0; i < 2; i++) {
        char body[512], key[16];
        snprintf(body, sizeof body,
                 "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\",\"privacy\":"
                 "{\"force\":true,\"epsilon\":2,\"delta\":1e-6},\"parameters\":{\"hidden\":[32],"
                 "\"batch_size\":8,\"steps\":5000000}}",
                 b->dataset);
        snprintf(key, sizeof key, "job-%d", i);
        desk_submit(&b->desk, body, key, b->jobs[i]);
    }
}

static void close_bench(struct bench *b)
{
    for (int i = 0; i < 2; i++) {
        char path[112];
        snprintf(path, sizeof path, "%s:cancel", b->jobs[i]);
        struct http_answer job = desk_post(&b->desk, 200, path, NULL, NULL);
        http_answer_clear(&job);
    }
    desk_close(&b->desk);
    server_close(&b->server);
}

/* Waits until job I runs and has gone past STEP. */
static long long past(struct bench *b, int i, long long step)
{
    char state[16];
    long long now = desk_wait_past(&b->desk, b->jobs[i], step, state);
    cr_assert_str_eq(state, "running");
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
    cr_assert_eq(desk_wait_past(&b.desk, b.jobs[1], -1, state), 0);
    cr_assert_str_eq(state, "queued");
    close_bench(&b);
}
