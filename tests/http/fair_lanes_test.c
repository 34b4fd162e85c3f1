/* The greedy do not keep the polite waiting. Nothing here is timed: what is compared is how many of
 * the greedy's requests were answered when the polite one's was. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/http/scene.h"

#define GREEDY 8

/* Half a second of a processor. */
#define SAMPLED(noise)                                                                             \
    "{\"type\":\"SelfComposedDpEvent\",\"count\":10,\"event\":{\"type\":"                          \
    "\"PoissonSampledDpEvent\",\"sampling_probability\":0.01,\"event\":"                           \
    "{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":" noise "}}}"
#define HARD                                                                                       \
    "{\"delta\":1e-9,\"events\":[" SAMPLED("0.30") "," SAMPLED("0.31") "," SAMPLED(                \
        "0.32") "," SAMPLED("0.33") "," SAMPLED("0.34") "," SAMPLED("0.35") "]}"
#define EASY    "{\"delta\":1e-9,\"events\":[{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":2}]}"
#define COMPOSE "/v1/accounting:compose"

/* GREEDY connections of one client, each with a hard question on its way. */
struct crowd {
    int handle[GREEDY];
};

static void crowd_ask(struct crowd *crowd, const struct server_process *server, const char *token)
{
    char request[2048];
    snprintf(request, sizeof request,
             "POST " COMPOSE " HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             token, strlen(HARD), HARD);
    for (int i = 0; i < GREEDY; i++) {
        crowd->handle[i] = raw_connect(server);
        cr_assert(raw_send(crowd->handle[i], request));
    }
}

static int crowd_answered(const struct crowd *crowd)
{
    int count = 0;
    for (int i = 0; i < GREEDY; i++) {
        struct pollfd one = {.fd = crowd->handle[i], .events = POLLIN};
        count += poll(&one, 1, 0) > 0;
    }
    return count;
}

/* Reads the answers' statuses; how many were STATUS. */
static int crowd_close(const struct crowd *crowd, int status)
{
    int count = 0;
    for (int i = 0; i < GREEDY; i++) {
        char answer[4096];
        int got = 0;
        raw_receive(crowd->handle[i], answer, sizeof answer, false);
        sscanf(answer, "HTTP/1.1 %d", &got);
        count += got == status;
        if (got == 429)
            cr_expect_not_null(strstr(answer, "Retry-After: "), "%s", answer);
        close(crowd->handle[i]);
    }
    return count;
}

Test(fair_lanes, the_polite_wait_for_one_turn_and_not_for_a_queue, .timeout = 300)
{
    struct server_process server;
    struct crowd crowd;
    char greedy[160], polite[160];
    server_open(&server, "--planners", "1", NULL);
    server_token(&server, "agent", greedy);
    server_token(&server, "agent", polite);
    struct http_client *client = http_client_new(&server);
    const struct http_call call = {
        .method = "POST", .path = COMPOSE, .token = polite, .body = EASY};
    crowd_ask(&crowd, &server, greedy);
    struct http_answer answer = http_expect(client, 200, &call);
    int before = crowd_answered(&crowd);
    cr_expect_leq(before, GREEDY / 2, "%d of the greedy's were answered first", before);
    http_answer_clear(&answer);
    cr_expect_eq(crowd_close(&crowd, 200), GREEDY, "and the greedy lose nothing");
    http_client_free(client);
    server_close(&server);
}

/* What is priced and planned has threads of its own: books and health do not wait for it. */
Test(fair_lanes, nothing_else_waits_for_prices, .timeout = 300)
{
    static const char *const paths[] = {"/v1/ledger/accounts", "/v1/datasets", "/healthz/ready"};
    struct server_process server;
    struct crowd crowd;
    char steward[160];
    server_open(&server, "--planners", "1", "--pool-threads", "1", NULL);
    server_token(&server, "steward", steward);
    struct http_client *client = http_client_new(&server);
    crowd_ask(&crowd, &server, steward);
    for (int i = 0; i < 3; i++) {
        const struct http_call call = {.method = "GET", .path = paths[i], .token = steward};
        struct http_answer answer = http_expect(client, 200, &call);
        http_answer_clear(&answer);
    }
    int before = crowd_answered(&crowd);
    cr_expect_leq(before, GREEDY / 2, "%d prices came before the same client's books", before);
    cr_expect_eq(crowd_close(&crowd, 200), GREEDY);
    http_client_free(client);
    server_close(&server);
}

/* Of eight places a client has four; the others are told to come again, and another client is not.
 */
Test(fair_lanes, one_client_does_not_fill_a_lane, .timeout = 300)
{
    struct server_process server;
    struct crowd crowd;
    char greedy[160], polite[160];
    server_open(&server, "--planners", "1", "--queue", "8", NULL);
    server_token(&server, "agent", greedy);
    server_token(&server, "agent", polite);
    struct http_client *client = http_client_new(&server);
    const struct http_call call = {
        .method = "POST", .path = COMPOSE, .token = polite, .body = EASY};
    crowd_ask(&crowd, &server, greedy);
    struct http_answer answer = http_expect(client, 200, &call);
    http_answer_clear(&answer);
    int refused = crowd_close(&crowd, 429);
    cr_expect(refused >= 1 && refused <= GREEDY / 2, "%d were told to come again", refused);
    http_client_free(client);
    server_close(&server);
}

/* ---- threads */

/* Nanoseconds for which the scheduler leaves the process a processor. */
static uint64_t slice_of(pid_t process)
{
    struct { /* sched_attr(2) */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {.size = sizeof attributes};
    long got = syscall(SYS_sched_getattr, process, &attributes, sizeof attributes, 0);
    cr_assert_eq(got, 0);
    return attributes.runtime;
}

static bool has_slice(pid_t thread, int64_t wanted)
{
    return (int64_t)slice_of(thread) == wanted;
}

static bool has_nice(pid_t thread, int64_t wanted)
{
    return getpriority(PRIO_PROCESS, (id_t)thread) == wanted;
}

/* How many threads of the server have what is WANTED. */
static int threads_that(bool (*have)(pid_t thread, int64_t wanted),
                        const struct server_process *server, int64_t wanted)
{
    char path[160];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)server->pid);
    DIR *folder = opendir(path);
    cr_assert_not_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            count += have((pid_t)atoi(entry->d_name), wanted);
    closedir(folder);
    return count;
}

/* What computes for long leaves the processors to those who answer: all threads of the pool, those
 * that plan and those that read uploads, and further back those that train. */
Test(fair_lanes, who_computes_stands_behind_who_answers, .timeout = 600)
{
    struct server_process server;
    server_open(&server, "--pool-threads", "3", "--planners", "2", "--uploads", "5", "--workers",
                "64", NULL);
    int own = getpriority(PRIO_PROCESS, (id_t)server.pid);
    bool slices = slice_of(0) != 0; /* which not all kernels know */
    while (threads_that(has_nice, &server, own + 5) < 10 ||
           threads_that(has_nice, &server, own + 10) < 64 ||
           (slices && threads_that(has_slice, &server, 100000) < 1))
        usleep(1000); /* each does so itself, when it begins */
    cr_expect_eq(threads_that(has_nice, &server, own + 5), 10);
    cr_expect_eq(slice_of(server.pid), slices ? 1000000 : 0);
    cr_expect_eq(threads_that(has_slice, &server, 100000), slices);            /* who commits */
    cr_expect_geq(threads_that(has_slice, &server, slices ? 20000000 : 0), 74); /* who compute */
    server_close(&server);
}

/* ---- uploads */

/* An upload of TOKEN that does not go on after its first bytes. */
static int trickle(const struct server_process *server, const char *token, const char *path)
{
    char head[1024];
    int handle = raw_connect(server);
    snprintf(head, sizeof head,
             "POST %s HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n{\"expert\":",
             path, token);
    cr_assert(raw_send(handle, head));
    return handle;
}

/* Four trickling uploads held all four places, and nobody else's upload was taken. */
Test(fair_lanes, one_client_does_not_hold_all_uploads, .timeout = 600)
{
    enum { HELD = 4 };
    struct server_process server;
    char steward[160], greedy[160], dataset[64], path[128], answer[4096];
    int handle[HELD];
    server_open(&server, "--uploads", "4", "--body-timeout", "3600", "--idle-timeout", "3600",
                NULL);
    server_token(&server, "steward", steward);
    server_token(&server, "contributor", greedy);
    struct http_client *client = http_client_new(&server);
    scene_open_dataset(client, steward, dataset);
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", dataset);
    for (int i = 0; i < HELD; i++)
        handle[i] = trickle(&server, greedy, path);
    char *lines = scene_trajectories(2, 1, 5, 1);
    const struct http_call call = {.method = "POST",
                                   .path = path,
                                   .token = steward,
                                   .body = lines,
                                   .content_type = "application/x-ndjson"};
    for (int i = 0; i < 3; i++) {
        struct http_answer stored = http_expect(client, 201, &call);
        http_answer_clear(&stored);
    }
    /* Two of the four were refused; the rest of their bodies is awaited first. */
    char rest[1001];
    memset(rest, ' ', 1000);
    rest[1000 - strlen("{\"expert\":")] = '\0';
    int refused = 0;
    for (int i = 0; i < HELD; i++) {
        cr_assert(raw_send(handle[i], rest));
        raw_receive(handle[i], answer, sizeof answer, false);
        refused += strncmp(answer, "HTTP/1.1 429", 12) == 0;
        close(handle[i]);
    }
    cr_expect_eq(refused, HELD / 2);
    free(lines);
    http_client_free(client);
    server_close(&server);
}
