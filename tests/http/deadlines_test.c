/* Clients that are never silent for long and never done: heads, bodies, uploads and answers have
 * deadlines. The idle timeout is an hour, so only these can end a connection. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/http/http_client.h"

#define DRIPS 600 /* of 50 ms: a server that has not hung up by then never will */

static struct server_process server;
static char steward[160];

static void start(const char *first, const char *second, const char *third)
{
    server_open(&server, "--idle-timeout", "3600", first, "1", second, third, "--uploads", "1",
                NULL);
    server_token(&server, "steward", steward);
}

TestSuite(deadlines, .timeout = 600);

/* Sends PIECE of SIZE bytes again and again. True: the server hung up. */
static bool hung_up_on(int handle, const char *piece, size_t size)
{
    for (int i = 0; i < DRIPS; i++) {
        struct pollfd gone = {.fd = handle, .events = POLLRDHUP};
        if (poll(&gone, 1, 50) > 0 || !raw_send_bytes(handle, piece, size))
            return true;
    }
    return false;
}

static int send_head(const char *request, const char *lines)
{
    char head[1024];
    int handle = raw_connect(&server);
    snprintf(head, sizeof head, "%s HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n%s\r\n",
             request, steward, lines);
    cr_assert(raw_send(handle, head));
    return handle;
}

static void expect_hung_up(int handle, const char *piece, size_t size, const char *what)
{
    cr_expect(hung_up_on(handle, piece, size), "%s", what);
    close(handle);
}

Test(deadlines, heads)
{
    char answer[1024];
    start("--header-timeout", "--body-timeout", "3600");
    expect_hung_up(raw_connect(&server), "", 0, "nothing at all");
    int handle = raw_connect(&server);
    cr_assert(raw_send(handle, "GET /healthz/live HTTP/1.1\r\nHost: t\r\nX: "));
    expect_hung_up(handle, "a", 1, "a head in drips");
    server_close(&server);

    server_open(&server, "--idle-timeout", "1", "--header-timeout", "1", NULL);
    handle = raw_connect(&server);
    cr_assert(raw_send(handle, "GET /healthz/live HTTP/1.1\r\nHost: t\r\n\r\n"));
    raw_receive(handle, answer, sizeof answer, false);
    cr_expect_eq(strncmp(answer, "HTTP/1.1 200", 12), 0, "%s", answer);
    cr_assert(raw_send(handle, "GET /healthz/live HTTP/1.1\r\nHost: t\r\nX: "));
    expect_hung_up(handle, "a", 1, "a second head in drips");
    server_close(&server);
}

Test(deadlines, a_body_has_a_least_rate)
{
    static char piece[400]; /* 8,000 bytes a second */
    memset(piece, ' ', sizeof piece);
    start("--body-timeout", "--least-rate", "100K");
    int handle = send_head("POST /v1/datasets", "Content-Length: 1000000\r\n");
    expect_hung_up(handle, piece, sizeof piece, "a body that is too slow");
    server_close(&server);
}

Test(deadlines, a_body_has_a_last_moment)
{
    start("--body-deadline", "--least-rate", "1");
    int handle = send_head("POST /v1/datasets", "Content-Length: 1000000\r\n");
    expect_hung_up(handle, " ", 1, "a body that is never done");
    server_close(&server);
}

Test(deadlines, an_upload_has_a_last_moment_and_gives_its_place_back)
{
    start("--upload-deadline", "--least-rate", "1");
    struct http_client *client = http_client_new(&server);
    struct http_call create = {.method = "POST",
                               .path = "/v1/datasets",
                               .token = steward,
                               .body = "{\"name\":\"d\",\"environment\":\"cartpole\","
                                       "\"budget\":{\"epsilon\":1,\"delta\":1e-5}}"};
    struct http_answer made = http_expect(client, 201, &create), answer = {0};
    char path[128], request[160];
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", http_text(&made, "id"));
    snprintf(request, sizeof request, "POST %s", path);
    int handle = send_head(request, "Content-Type: application/x-ndjson\r\n"
                                    "Content-Length: 1000000\r\n");
    expect_hung_up(handle, " ", 1, "an upload that is never done");
    struct http_call again = {.method = "POST",
                              .path = path,
                              .token = steward,
                              .body = "",
                              .content_type = "application/x-ndjson"};
    do { /* the place comes free when the reader has seen the end */
        http_answer_clear(&answer);
        answer = http_do(client, &again);
    } while (answer.status == 503 || answer.status == 429);
    cr_expect_neq(answer.status, 0);
    http_answer_clear(&answer);
    http_answer_clear(&made);
    http_client_free(client);
    server_close(&server);
}

/* ---- answers */

static int open_sockets(void)
{
    char folder[64], path[400], target[64] = "";
    int count = 0;
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)server.pid);
    DIR *list = opendir(folder);
    cr_assert_not_null(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        count += readlink(path, target, sizeof target) > 0 && strncmp(target, "socket:", 7) == 0;
    }
    closedir(list);
    return count;
}

/* Waits until the server has COUNT sockets; one is that on which it listens. */
static void wait_for_sockets(int count)
{
    while (open_sockets() != count)
        usleep(5000);
}

/* A client asks for far more than the buffers on the way can hold, and reads nothing. The server
 * closes its end, which it would otherwise do after an hour. */
Test(deadlines, an_answer_must_be_taken)
{
    enum { ASKED = 200 };
    static const char ask[] = "GET /openapi.yaml HTTP/1.1\r\nHost: t\r\n\r\n";
    int small = 4096;
    start("--body-timeout", "--least-rate", "1G");
    struct http_client *client = http_client_new(&server);
    struct http_answer one =
        http_expect(client, 200, &(struct http_call){.method = "GET", .path = "/openapi.yaml"});
    size_t all = ASKED * one.size;
    http_answer_clear(&one);
    http_client_free(client);
    cr_assert_gt(all, (size_t)16 << 20, "a socket holds 4 MiB at most");
    wait_for_sockets(1);
    int handle = raw_connect(&server);
    wait_for_sockets(2);
    cr_assert_eq(setsockopt(handle, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    for (int i = 0; i < ASKED; i++)
        cr_assert(raw_send_bytes(handle, ask, sizeof ask - 1));
    wait_for_sockets(1);
    close(handle);
    server_close(&server);
}
