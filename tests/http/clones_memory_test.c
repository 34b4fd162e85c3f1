/* A job that clones its experts holds what they uploaded and what their clones weigh, and no more
 * for each further expert. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/scene.h"

/* An expert of 20 times 20 steps is 10 KiB in the job, its clone 19; what making a clone takes
 * (three times its weights, a batch of examples) is there once for each thread, and again for
 * nobody. */
enum { FEW = 10, MORE = 160, TRAJECTORIES = 20, STEPS = 20, MOST_KIB_EACH = 60 };
enum { MOST_WORKERS = 64 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED true
#else
#define INSTRUMENTED false
#endif

static void fill(const struct desk *desk, unsigned experts, char out_dataset[64])
{
    char *lines = scene_trajectories(experts, TRAJECTORIES, STEPS, 3);
    struct http_answer made =
        desk_post(desk, 201, "/v1/datasets",
                  "{\"name\":\"clones\",\"environment\":\"cartpole\",\"nominal_experts\":10,"
                  "\"min_action_probability\":0.02,\"budget\":{\"epsilon\":10,\"delta\":1e-3}}",
                  NULL);
    snprintf(out_dataset, 64, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    desk_fill(desk, out_dataset, lines);
    free(lines);
}

/* Clones all of them, asks them for some labels and trains a little: the peak of a server that did
 * nothing else. */
static long peak_of(struct desk *desk, unsigned experts)
{
    char dataset[64], body[512], path[96];
    fill(desk, experts, dataset);
    snprintf(
        body, sizeof body,
        "{\"algorithm\":\"cql\",\"mechanism\":\"consensus\",\"dataset\":\"%s\","
        "\"privacy\":{\"force\":true,\"epsilon\":8,\"delta\":1e-4,\"consensus\":{\"labels\":50}},"
        "\"parameters\":{\"hidden\":[8],\"batch_size\":4,\"steps\":20}}",
        dataset);
    desk_restart(desk, SIGTERM, 0);
    desk_submit(desk, body, dataset, path);
    struct http_answer job = desk_wait(desk, path);
    cr_assert_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    http_answer_clear(&job);
    return server_peak_kib(desk->server);
}

/* A worker for each core leaves none to help with the clones: else more experts would have more
 * threads, and what these take. */
static void no_helpers(char out[8])
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(out, 8, "%ld", cores < 1 ? 1 : cores > MOST_WORKERS ? MOST_WORKERS : cores);
}

Test(clones_memory, grows_by_clones_and_data_alone)
{
    struct server_process server;
    struct desk desk;
    char workers[8];
    if (INSTRUMENTED)
        cr_skip("a sanitizer's own memory is not the server's");
    no_helpers(workers);
    server_open(&server, "--workers", workers, NULL);
    desk_open(&desk, &server);
    long before = peak_of(&desk, FEW), after = peak_of(&desk, MORE);
    fprintf(stderr, "[----] %d experts: %ld KiB at most, %d: %ld KiB\n", FEW, before, MORE, after);
    cr_expect_leq(after - before, (long)MOST_KIB_EACH * (MORE - FEW),
                  "%ld KiB for %d experts, %ld KiB for %d", before, FEW, after, MORE);
    desk_close(&desk);
    server_close(&server);
}
