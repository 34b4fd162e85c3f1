/* Who asks, and what for, is decided at the headers: no byte of a stranger's body is waited for. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/http_client.h"

static struct server_process server;
static char student[160], steward[160], admin[160];

static void setup(void)
{
    server_open(&server, "--idle-timeout", "3600", "--body-timeout", "3600", "--max-body", "1M",
                "--max-policy", "1M", "--max-buffered", "4M", NULL);
    server_token(&server, "student", student);
    server_token(&server, "steward", steward);
    server_token(&server, "admin", admin);
}

static void teardown(void)
{
    server_close(&server);
}

TestSuite(headers_first, .init = setup, .fini = teardown, .timeout = 600);

/* Sends only a head that announces a body (LINES), and reads until the server closes. */
static void expect_at_once(const char *request, const char *token, const char *lines, int status)
{
    char head[1024], answer[4096];
    int got = 0, handle = raw_connect(&server);
    snprintf(head, sizeof head, "%s HTTP/1.1\r\nHost: t\r\n%s%s%s%s\r\n", request,
             token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "", lines);
    cr_assert(raw_send(handle, head));
    raw_receive(handle, answer, sizeof answer, true);
    sscanf(answer, "HTTP/1.1 %d", &got);
    cr_expect_eq(got, status, "%s: %s", head, answer);
    if (status >= 400)
        cr_expect_not_null(strstr(answer, "application/problem+json"), "%s", answer);
    cr_expect_not_null(strstr(answer, "Connection: close"), "%s", answer);
    close(handle);
}

#define LENGTH  "Content-Length: 1000000\r\n"
#define CHUNKS  "Transfer-Encoding: chunked\r\n"
#define POLICY  "PUT /v1/datasets/ds_x/experts/e/policy"
#define UPLOADS "POST /v1/datasets/ds_x/trajectories"

Test(headers_first, strangers_and_wrong_roles_are_answered_before_their_body)
{
    static const char *const bodies[] = {LENGTH, CHUNKS};
    static const char *const requests[] = {POLICY, UPLOADS, "POST /v1/jobs", "GET /v1/clients"};
    char wrong[160];
    snprintf(wrong, sizeof wrong, "%s", student);
    size_t last = strlen(wrong) - 1;
    wrong[last] = wrong[last] == '0' ? '1' : '0';
    for (int b = 0; b < 2; b++) {
        for (size_t r = 0; r < sizeof requests / sizeof requests[0]; r++) {
            expect_at_once(requests[r], NULL, bodies[b], 401);
            expect_at_once(requests[r], "tct_nobody_nothing", bodies[b], 401);
            expect_at_once(requests[r], wrong, bodies[b], 401);
            expect_at_once(requests[r], student, bodies[b], 403);
        }
        expect_at_once("POST /nothing", NULL, bodies[b], 404);
        expect_at_once("GET /%2e%2e/%2e%2e/etc/passwd", NULL, bodies[b], 404);
        expect_at_once("PATCH /v1/jobs", NULL, bodies[b], 405);
        expect_at_once("GET /healthz/live", NULL, bodies[b], 200);
        expect_at_once("GET /.well-known/jwks.json", NULL, bodies[b], 413); /* it needs a lane */
        expect_at_once("GET /v1/jobs", NULL, "Accept: text/html\r\n" LENGTH, 200);
    }
}

Test(headers_first, a_declared_size_is_enough_for_413)
{
    expect_at_once("POST /v1/jobs", steward, "Content-Length: 99999999999\r\n", 413);
    expect_at_once("POST /v1/jobs", steward, "Content-Length: 18446744073709551615\r\n", 413);
    expect_at_once(UPLOADS, steward, "Content-Length: 18446744073709551615\r\n", 413);
}

/* As much as --max-buffered takes several times over, from strangers who then fall silent. */
Test(headers_first, strangers_take_no_memory_for_bodies)
{
    enum { STRANGERS = 20 };
    int handles[STRANGERS];
    static char half[500000];
    memset(half, ' ', sizeof half);
    for (int i = 0; i < STRANGERS; i++) {
        handles[i] = raw_connect(&server);
        cr_assert(raw_send(handles[i], POLICY " HTTP/1.1\r\nHost: t\r\n" LENGTH "\r\n"));
        raw_send_bytes(handles[i], half, sizeof half);
    }
    struct http_client *client = http_client_new(&server);
    struct http_call call = {.method = "POST",
                             .path = "/v1/clients",
                             .token = admin,
                             .body = "{\"name\":\"n\",\"role\":\"agent\"}"};
    for (int i = 0; i < 10; i++) {
        struct http_answer answer = http_expect(client, 201, &call);
        http_answer_clear(&answer);
    }
    http_client_free(client);
    for (int i = 0; i < STRANGERS; i++)
        close(handles[i]);
}

/* A token that was revoked is remembered for a moment; its calls are refused all the same. */
Test(headers_first, a_revoked_token_is_refused_at_once)
{
    struct http_client *client = http_client_new(&server);
    struct http_call make = {.method = "POST",
                             .path = "/v1/clients",
                             .token = admin,
                             .body = "{\"name\":\"n\",\"role\":\"steward\"}"};
    struct http_answer made = http_expect(client, 201, &make);
    char path[160];
    snprintf(path, sizeof path, "/v1/clients/%s", http_text(&made, "id"));
    struct http_call ask = {.method = "POST",
                            .path = "/v1/datasets",
                            .token = http_text(&made, "token"),
                            .body = "{\"name\":\"d\",\"environment\":\"cartpole\","
                                    "\"budget\":{\"epsilon\":1,\"delta\":1e-5}}"};
    struct http_answer answer = http_expect(client, 201, &ask);
    http_answer_clear(&answer);
    struct http_call revoke = {.method = "DELETE", .path = path, .token = admin};
    answer = http_do(client, &revoke);
    cr_expect(answer.status == 200 || answer.status == 204, "%ld", answer.status);
    http_answer_clear(&answer);
    answer = http_expect(client, 401, &ask);
    http_answer_clear(&answer);
    http_answer_clear(&made);
    http_client_free(client);
}
