/* Requests a second are limited by client, and by address for those who have no valid token. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/http_client.h"

enum { CLIENTS = 64, ASKED = 2, CROWD = 40 };

static struct server_process server;

TestSuite(rates, .timeout = 300);

static void send_request(int handle, const char *token)
{
    char request[512];
    snprintf(request, sizeof request,
             "GET /v1/teachers HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n\r\n", token);
    raw_send(handle, request);
}

/* CROWD requests at once, each over a connection of its own. */
static void crowd_send(int handles[CROWD], const char *token)
{
    for (int i = 0; i < CROWD; i++) {
        handles[i] = raw_connect(&server);
        send_request(handles[i], token);
    }
}

/* How many of the crowd are answered STATUS; an answer of 429 says HEADERS (up to a NULL). */
static int crowd_hear(int handles[CROWD], int status, const char *const *headers)
{
    char answer[16384];
    int count = 0;
    for (int i = 0; i < CROWD; i++) {
        int got = 0;
        raw_receive(handles[i], answer, sizeof answer, false);
        sscanf(answer, "HTTP/1.1 %d", &got);
        count += got == status;
        for (int h = 0; got == 429 && headers[h]; h++)
            cr_expect_not_null(strstr(answer, headers[h]), "%s", answer);
        close(handles[i]);
    }
    return count;
}

/* TOKEN asks COUNT times and is answered each time. LEFT is how its header RateLimit begins; NULL:
 * it is not looked at. */
static void expect_answers(struct http_client *client, const char *token, int count,
                           const char *left)
{
    const struct http_call call = {.method = "GET", .path = "/v1/teachers", .token = token};
    for (int i = 0; i < count; i++) {
        struct http_answer answer = http_expect(client, 200, &call);
        const char *header = http_header(&answer, "RateLimit");
        cr_expect(!left || (header && strncmp(header, left, strlen(left)) == 0), "%s",
                  answer.headers);
        http_answer_clear(&answer);
    }
}

/* Most of the crowd is refused, with HEADERS; ends the test's server. */
static void expect_refusals(struct http_client *client, int handles[CROWD],
                            const char *const *headers)
{
    int refused = crowd_hear(handles, 429, headers);
    cr_expect_gt(refused, CROWD / 2, "%d were told to come again", refused);
    http_client_free(client);
    server_close(&server);
}

/* The greedy one asks all at once, more than it may; the others ask as much as they may. */
Test(rates, one_greedy_client_of_64_is_told_to_wait_and_the_others_are_not)
{
    static const char *const headers[] = {"Retry-After: ", "RateLimit: \"client\";r=0;t=1\r\n",
                                          "RateLimit-Policy: \"client\";q=2;w=1\r\n", NULL};
    char greedy[160], polite[160];
    int handles[CROWD];
    server_open(&server, "--client-rate", "2", NULL);
    server_token(&server, "student", greedy);
    crowd_send(handles, greedy);
    struct http_client *client = http_client_new(&server);
    for (int i = 1; i < CLIENTS; i++) {
        server_token(&server, "student", polite);
        expect_answers(client, polite, ASKED, "\"client\";r=");
    }
    expect_refusals(client, handles, headers);
}

Test(rates, who_has_no_valid_token_is_limited_by_address_and_who_has_one_there_is_not)
{
    static const char *const headers[] = {"Retry-After: ", "RateLimit: \"address\";r=0;t=1\r\n",
                                          "RateLimit-Policy: \"address\";q=2;w=1\r\n",
                                          "Connection: close", NULL};
    char known[160];
    int handles[CROWD];
    server_open(&server, "--address-rate", "2", "--connections", "256", NULL);
    server_token(&server, "student", known);
    crowd_send(handles, "tct_nobody");
    struct http_client *client = http_client_new(&server);
    expect_answers(client, known, CROWD, NULL);
    expect_refusals(client, handles, headers);
}

/* A call over the rate did nothing: under its key it can be made again. And a server that ends does
 * not wait for those it holds. */
Test(rates, a_call_over_the_rate_does_nothing_and_a_drain_answers_it_at_once)
{
    char admin[160];
    server_open(&server, "--client-rate", "1", NULL);
    server_token(&server, "admin", admin);
    struct http_client *client = http_client_new(&server);
    const struct http_call make = {.method = "POST",
                                   .path = "/v1/clients",
                                   .token = admin,
                                   .body = "{\"name\":\"a\",\"role\":\"student\"}"};
    long made = 0, asked = 0;
    while (made < 3) {
        struct http_answer answer = http_do(client, &make);
        cr_assert(answer.status == 201 || answer.status == 429, "%ld", answer.status);
        made += answer.status == 201;
        asked++;
        http_answer_clear(&answer);
    }
    struct http_answer answer;
    const struct http_call list = {.method = "GET", .path = "/v1/clients", .token = admin};
    while ((answer = http_do(client, &list)).status == 429)
        http_answer_clear(&answer);
    cr_expect_eq(answer.status, 200);
    cr_expect_eq(json_array_size(json_object_get(answer.json, "items")), 4, "after %ld", asked);
    http_answer_clear(&answer);
    int handles[CROWD];
    crowd_send(handles, admin);
    server_close(&server);
    for (int i = 0; i < CROWD; i++)
        close(handles[i]);
    http_client_free(client);
}
