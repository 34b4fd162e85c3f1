/* Bodies that are too large, too slow, cut short or of unclear length: a clear answer where one is
 * possible, and a server that goes on. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/checked_test.h"
#include "tests/http/http_client.h"

static struct server_process server;
static struct http_client *client;
static char admin[160], steward[160];

static void setup(void)
{
    server_open(&server, "--max-body", "64K", "--max-upload", "1M", "--idle-timeout", "1",
                "--body-timeout", "1", "--uploads", "4", NULL);
    server_token(&server, "admin", admin);
    server_token(&server, "steward", steward);
    client = http_client_new(&server);
}

static void check_after(void)
{
    struct http_answer answer =
        http_expect(client, 200, &(struct http_call){.method = "GET", .path = "/healthz/ready"});
    http_answer_clear(&answer);
}

static void teardown(void)
{
    http_client_free(client);
    server_close(&server);
}

TestSuite(bodies, .init = setup, .fini = teardown);

static char *filled(size_t size)
{
    char *text = malloc(size + 1);
    cr_assert_not_null(text);
    memset(text, ' ', size);
    text[size] = '\0';
    return text;
}

/* A dataset that takes uploads; OUT receives the path of its trajectories. */
static void make_dataset(char *out, size_t size)
{
    struct http_call create = {.method = "POST",
                               .path = "/v1/datasets",
                               .token = steward,
                               .body = "{\"name\":\"d\",\"environment\":\"cartpole\","
                                       "\"budget\":{\"epsilon\":1,\"delta\":1e-5}}"};
    struct http_answer made = http_expect(client, 201, &create);
    snprintf(out, size, "/v1/datasets/%s/trajectories", http_text(&made, "id"));
    http_answer_clear(&made);
}

static const char GOOD_LINE[] =
    "{\"expert\":\"e1\",\"states\":[[0,0,0,0],[0.1,0,0,0]],\"actions\":[1],\"rewards\":[1],"
    "\"terminated\":true,\"truncated\":false}\n";

static void expect_no_upload(const char *trajectories)
{
    char path[160];
    snprintf(path, sizeof path, "%s", trajectories);
    *strrchr(path, '/') = '\0';
    struct http_call look = {.method = "GET", .path = path, .token = steward};
    struct http_answer answer = http_expect(client, 200, &look);
    cr_expect_eq(json_integer_value(json_object_get(answer.json, "trajectories")), 0, "%s",
                 answer.body);
    http_answer_clear(&answer);
}

static void expect_too_large(struct http_call call)
{
    struct http_answer answer = http_expect(client, 413, &call);
    cr_expect_str_eq(http_text(&answer, "type"), "/problems/body-too-large");
    cr_expect_str_eq(http_text(&answer, "instance"), call.path);
    cr_expect_not_null(strstr(http_text(&answer, "detail"), " bytes"), "%s", answer.body);
    http_answer_clear(&answer);
}

CHECKED_TEST(bodies, larger_than_the_limit)
{
    char *text = filled(70000);
    struct http_call call = {
        .method = "POST", .path = "/v1/clients", .token = admin, .body = text, .no_expect = true};
    expect_too_large(call);
    call.chunked = true;
    expect_too_large(call);
    call.no_expect = false;
    expect_too_large(call);
    free(text);
}

CHECKED_TEST(bodies, an_upload_larger_than_the_limit)
{
    char path[160];
    size_t one = strlen(GOOD_LINE), size = 1200000;
    char *text = filled(size);
    for (size_t at = 0; at + one < size; at += one)
        memcpy(text + at, GOOD_LINE, one);
    make_dataset(path, sizeof path);
    struct http_call call = {.method = "POST",
                             .path = path,
                             .token = steward,
                             .body = text,
                             .content_type = "application/x-ndjson",
                             .no_expect = true};
    expect_too_large(call);
    call.chunked = true;
    expect_too_large(call);
    expect_no_upload(path);
    free(text);
}

CHECKED_TEST(bodies, an_early_refusal_reaches_a_client_that_sends_on)
{
    char *text = filled(900000);
    struct http_call call = {.method = "POST",
                             .path = "/v1/datasets/ds_unknown/trajectories",
                             .token = "tct_wrong",
                             .body = text,
                             .content_type = "application/x-ndjson",
                             .no_expect = true};
    struct http_answer answer = http_expect(client, 401, &call);
    http_answer_clear(&answer);
    call.chunked = true;
    answer = http_expect(client, 401, &call);
    http_answer_clear(&answer);
    free(text);
}

CHECKED_TEST(bodies, a_hang_up_in_the_middle_of_an_upload_stores_nothing)
{
    char path[160], head[512], answer[256];
    make_dataset(path, sizeof path);
    /* More often than there are places for uploads: each of them must come free again. */
    for (int i = 0; i < 5; i++) {
        int handle = raw_connect(&server);
        snprintf(head, sizeof head,
                 "POST %s HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n"
                 "Content-Type: application/x-ndjson\r\nContent-Length: 100000\r\n"
                 "Expect: 100-continue\r\n\r\n",
                 path, steward);
        cr_assert(raw_send(handle, head));
        raw_receive(handle, answer, sizeof answer, false);
        cr_assert_eq(strncmp(answer, "HTTP/1.1 100", 12), 0, "the body is wanted: %s", answer);
        cr_assert(raw_send(handle, GOOD_LINE));
        close(handle);
        struct http_answer slot = {0};
        struct http_call good = {.method = "POST",
                                 .path = path,
                                 .token = steward,
                                 .body = "",
                                 .content_type = "application/x-ndjson"};
        /* The place comes free as soon as the reader sees the end. */
        do {
            http_answer_clear(&slot);
            slot = http_do(client, &good);
        } while (slot.status == 503 || slot.status == 429);
        cr_expect_neq(slot.status, 0);
        http_answer_clear(&slot);
    }
    expect_no_upload(path);
}

/* Announces a body of SIZE bytes. */
static void send_admins_head(int handle, int size)
{
    char head[512];
    snprintf(head, sizeof head,
             "POST /v1/clients HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n"
             "Content-Length: %d\r\n\r\n",
             admin, size);
    cr_assert(raw_send(handle, head));
}

CHECKED_TEST(bodies, a_silent_client_is_hung_up_on)
{
    char answer[256];
    int handle = raw_connect(&server);
    send_admins_head(handle, 10);
    cr_assert(raw_send(handle, "{"));
    /* No more comes: the server ends it, with or without a word. */
    raw_receive(handle, answer, sizeof answer, true);
    cr_expect_null(strstr(answer, "HTTP/1.1 2"));
    close(handle);
}

CHECKED_TEST(bodies, a_client_that_drips_is_hung_up_on)
{
    int handle = raw_connect(&server);
    send_admins_head(handle, 60000);
    /* Never silent for as long as the idle timeout, yet far from the slowest allowed pace. */
    int sent = 0;
    while (sent < 100 && raw_send(handle, " ")) {
        usleep(200000);
        sent++;
    }
    cr_expect_lt(sent, 100, "the connection was kept all the time");
    close(handle);
}

CHECKED_TEST(bodies, length_and_chunks_that_contradict_are_refused)
{
    static const char *const heads[] = {
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
        "Transfer-Encoding: gzip\r\n\r\nabc",
    };
    for (unsigned i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        char answer[1024];
        int handle = raw_connect(&server);
        cr_assert(raw_send(handle, "POST /v1/clients HTTP/1.1\r\nHost: t\r\n"));
        cr_assert(raw_send(handle, heads[i]));
        raw_receive(handle, answer, sizeof answer, true);
        cr_expect_eq(strncmp(answer, "HTTP/1.1 400", 12), 0, "%u: %s", i, answer);
        close(handle);
    }
}

/* The status of a GET of ADDRESS with the lines HEADERS. */
static int status_of(const char *address, const char *headers)
{
    char answer[1024];
    int handle = raw_connect(&server), status = 0;
    cr_assert(raw_send(handle, "GET "));
    cr_assert(raw_send(handle, address));
    cr_assert(raw_send(handle, " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n"));
    cr_assert(raw_send(handle, headers));
    cr_assert(raw_send(handle, "\r\n"));
    raw_receive(handle, answer, sizeof answer, true);
    cr_assert_eq(sscanf(answer, "HTTP/1.1 %d", &status), 1, "%s", answer);
    close(handle);
    return status;
}

/* Room is counted with a NUL behind each name and each value. */
#define OTHER_HEADERS (sizeof "Host" + sizeof "t" + sizeof "Connection" + sizeof "close")

CHECKED_TEST(bodies, the_longest_addresses_and_headers_are_taken)
{
    static char text[16000];
    const size_t most = 8192, many = 100;
    for (size_t over = 0; over < 2; over++) {
        size_t length = most + over, used = 0;
        memset(text, 'a', length);
        memcpy(text, "/nothing/", 9);
        text[length] = '\0';
        cr_expect_eq(status_of(text, ""), over == 0 ? 404 : 414);

        memset(text, 'a', sizeof text);
        length = most - OTHER_HEADERS - sizeof "X" - 1 + over;
        memcpy(text, "X: ", 3);
        memcpy(text + 3 + length, "\r\n", 3);
        cr_expect_eq(status_of("/healthz/live", text), over == 0 ? 200 : 431);

        length = most - OTHER_HEADERS + over;
        for (size_t h = 0; h < many; h++) { /* as much, in many of them */
            size_t share = h == 0 ? length - (many - 1) * (length / many) : length / many;
            used += (size_t)sprintf(text + used, "X-%02zu: %0*d\r\n", h,
                                    (int)(share - sizeof "X-00" - 1), 0);
        }
        cr_expect_eq(status_of("/healthz/live", text), over == 0 ? 200 : 431);
    }
}

CHECKED_TEST(bodies, long_addresses_and_headers_are_refused)
{
    char *text = filled(9001);
    char answer[1024];
    memset(text, 'a', 9000);
    text[9000] = '\0';
    int handle = raw_connect(&server);
    cr_assert(raw_send(handle, "GET /"));
    cr_assert(raw_send(handle, text));
    cr_assert(raw_send(handle, " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"));
    raw_receive(handle, answer, sizeof answer, true);
    cr_expect_eq(strncmp(answer, "HTTP/1.1 414", 12), 0, "%s", answer);
    close(handle);
    handle = raw_connect(&server);
    cr_assert(raw_send(handle, "GET /healthz/live HTTP/1.1\r\nHost: t\r\nX-Long: "));
    cr_assert(raw_send(handle, text));
    cr_assert(raw_send(handle, "\r\nConnection: close\r\n\r\n"));
    raw_receive(handle, answer, sizeof answer, true);
    cr_expect_eq(strncmp(answer, "HTTP/1.1 431", 12), 0, "%s", answer);
    cr_expect_not_null(strstr(answer, "8 KiB"), "%s", answer);
    close(handle);
    free(text);
}
