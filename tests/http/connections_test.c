/* Many connections, kept connections, pipelined and encrypted ones. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/http_client.h"

#define MANY 256

Test(connections, two_hundred_and_fifty_six_at_once)
{
    struct server_process server;
    char token[160], request[512], answer[4096];
    int handles[MANY];
    server_open(&server, NULL);
    server_token(&server, "student", token);
    snprintf(request, sizeof request,
             "GET /v1/environments HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n\r\n", token);
    for (int i = 0; i < MANY; i++)
        handles[i] = raw_connect(&server);
    /* Each round has all of them suspended in one lane at the same time. */
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < MANY; i++)
            cr_assert(raw_send(handles[i], request));
        for (int i = 0; i < MANY; i++) {
            raw_receive(handles[i], answer, sizeof answer, false);
            cr_assert_eq(strncmp(answer, "HTTP/1.1 200", 12), 0, "%d: %s", i, answer);
            char *length = strstr(answer, "Content-Length: ");
            char *body = strstr(answer, "\r\n\r\n");
            unsigned size = 0;
            cr_assert(length != NULL && body != NULL);
            cr_assert_eq(sscanf(length, "Content-Length: %u", &size), 1);
            size_t have = strlen(body + 4);
            while (have < size) {
                ssize_t n = read(handles[i], answer, sizeof answer);
                cr_assert_gt(n, 0);
                have += (size_t)n;
            }
        }
    }
    for (int i = 0; i < MANY; i++)
        close(handles[i]);
    server_close(&server);
}

Test(connections, past_their_limit_the_rest_still_works)
{
    struct server_process server;
    int handles[12];
    char answer[512];
    server_open(&server, "--connections", "8", NULL);
    for (int i = 0; i < 12; i++)
        handles[i] = raw_connect(&server);
    /* The four that came first were silent longest and have made room. */
    cr_assert(raw_send(handles[11], "GET /healthz/live HTTP/1.1\r\nHost: t\r\n\r\n"));
    raw_receive(handles[11], answer, sizeof answer, false);
    cr_expect_eq(strncmp(answer, "HTTP/1.1 200", 12), 0, "%s", answer);
    for (int i = 0; i < 12; i++)
        close(handles[i]);
    server_close(&server);
}

Test(connections, a_kept_connection_answers_pipelined_requests_in_order)
{
    struct server_process server;
    char answer[8192];
    server_open(&server, NULL);
    int handle = raw_connect(&server);
    cr_assert(raw_send(handle, "GET /healthz/live HTTP/1.1\r\nHost: t\r\n\r\n"
                               "GET /v1/clients HTTP/1.1\r\nHost: t\r\n\r\n"
                               "GET /nothing HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"));
    raw_receive(handle, answer, sizeof answer, true);
    char *first = strstr(answer, "HTTP/1.1 200");
    char *second = strstr(answer, "HTTP/1.1 401");
    char *third = strstr(answer, "HTTP/1.1 404");
    cr_expect(first != NULL && second != NULL && third != NULL, "%s", answer);
    cr_expect(first < second && second < third);
    close(handle);
    server_close(&server);
}

Test(connections, an_absolute_address_is_understood)
{
    struct server_process server;
    char answer[4096];
    server_open(&server, NULL);
    int handle = raw_connect(&server);
    cr_assert(raw_send(handle, "GET http://t:8080/healthz/live?x HTTP/1.1\r\nHost: t\r\n"
                               "Connection: close\r\n\r\n"));
    raw_receive(handle, answer, sizeof answer, true);
    cr_expect(strncmp(answer, "HTTP/1.1 200", 12) == 0 || strncmp(answer, "HTTP/1.1 422", 12) == 0,
              "%s", answer);
    close(handle);
    /* What stands behind a question mark is no path (RFC 9112, section 3.2.2). */
    handle = raw_connect(&server);
    cr_assert(raw_send(handle, "GET http://t?x=/v1/jobs HTTP/1.1\r\nHost: t\r\n"
                               "Connection: close\r\n\r\n"));
    raw_receive(handle, answer, sizeof answer, true);
    cr_expect(strstr(answer, "\"instance\":\"/\""), "%s", answer);
    close(handle);
    server_close(&server);
}

Test(connections, tls)
{
    struct server_process server;
    char token[160];
    server_prepare(&server);
    snprintf(server.certificate, sizeof server.certificate, "tests/http/tls/certificate.pem");
    snprintf(server.key, sizeof server.key, "tests/http/tls/key.pem");
    server_start(&server);
    cr_expect_eq(strncmp(server.base, "https://", 8), 0);
    server_token(&server, "admin", token);
    struct http_client *client = http_client_new(&server);
    for (int i = 0; i < 3; i++) {
        struct http_call call = {.method = "GET", .path = "/v1/clients", .token = token};
        struct http_answer answer = http_expect(client, 200, &call);
        http_answer_clear(&answer);
    }
    http_client_free(client);
    server_close(&server);
}

Test(connections, tls_files_that_are_none_are_refused)
{
    struct server_process server;
    server_prepare(&server);
    snprintf(server.certificate, sizeof server.certificate, "tests/http/tls/none.pem");
    snprintf(server.key, sizeof server.key, "tests/http/tls/key.pem");
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "none.pem"));
    snprintf(server.certificate, sizeof server.certificate, "Makefile");
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "certificate"));
    server_remove(&server);
}
