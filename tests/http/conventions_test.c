/* What every call has in common, over a real socket: what a refusal looks like, which headers come
 * back, what metrics and the log hold. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/http_client.h"

static struct server_process server;
static struct http_client *client;
static char admin[160], steward[160];

static void setup(void)
{
    server_open(&server, NULL);
    server_token(&server, "admin", admin);
    server_token(&server, "steward", steward);
    client = http_client_new(&server);
}

static void teardown(void)
{
    http_client_free(client);
    server_close(&server);
}

TestSuite(conventions, .init = setup, .fini = teardown);

/* STATUS and /problems/SLUG as problem+json with everything a problem must have. */
static struct http_answer refused(long status, const char *slug, const struct http_call *call)
{
    char type[64];
    struct http_answer answer = http_expect(client, status, call);
    snprintf(type, sizeof type, "/problems/%s", slug);
    cr_expect_str_eq(http_text(&answer, "type"), type, "%s", answer.body);
    cr_expect_str_eq(http_header(&answer, "Content-Type"), "application/problem+json");
    cr_expect_neq(http_text(&answer, "title")[0], '\0');
    cr_expect_eq(json_integer_value(json_object_get(answer.json, "status")), status);
    const char *id = http_header(&answer, "Request-Id");
    cr_assert_not_null(id, "%s", answer.headers);
    cr_expect_str_eq(http_text(&answer, "request_id"), id);
    cr_expect_eq(strncmp(id, "req_", 4), 0);
    cr_expect_eq(strspn(id + 4, "0123456789abcdef"), 24);
    cr_expect_eq(strlen(id), 28);
    return answer;
}

Test(conventions, health_needs_no_token)
{
    struct http_answer live =
        http_expect(client, 200, &(struct http_call){.method = "GET", .path = "/healthz/live"});
    struct http_answer ready =
        http_expect(client, 200, &(struct http_call){.method = "GET", .path = "/healthz/ready"});
    cr_expect_not_null(http_header(&live, "Request-Id"));
    cr_expect_str_eq(http_header(&ready, "Cache-Control"), "no-store");
    http_answer_clear(&live);
    http_answer_clear(&ready);
}

Test(conventions, head_is_get_without_a_body)
{
    struct http_answer get =
        http_expect(client, 200, &(struct http_call){.method = "GET", .path = "/healthz/live"});
    struct http_answer head =
        http_expect(client, 200, &(struct http_call){.method = "HEAD", .path = "/healthz/live"});
    char length[32];
    snprintf(length, sizeof length, "%zu", get.size);
    cr_expect_eq(head.size, 0);
    cr_expect_str_eq(http_header(&head, "Content-Length"), length);
    http_answer_clear(&get);
    http_answer_clear(&head);
}

Test(conventions, static_files_have_an_etag)
{
    char header[256];
    struct http_answer first =
        http_expect(client, 200, &(struct http_call){.method = "GET", .path = "/openapi.yaml"});
    const char *tag = http_header(&first, "ETag");
    cr_assert_not_null(tag);
    snprintf(header, sizeof header, "If-None-Match: %s", tag);
    struct http_call again = {.method = "GET", .path = "/openapi.yaml", .header = header};
    struct http_answer second = http_expect(client, 304, &again);
    cr_expect_eq(second.size, 0);
    http_answer_clear(&first);
    http_answer_clear(&second);
}

Test(conventions, metrics_show_patterns_not_paths)
{
    struct http_call call = {.method = "GET", .path = "/v1/clients?page_size=7", .token = admin};
    struct http_answer answer = http_expect(client, 200, &call);
    http_answer_clear(&answer);
    call.path = "/metrics";
    answer = http_expect(client, 200, &call);
    cr_expect_not_null(strstr(answer.body, "route=\"/v1/clients\",status=\"200\""), "%s",
                       answer.body);
    cr_expect_null(strstr(answer.body, "page_size"));
    http_answer_clear(&answer);
}

/* How long an upload takes shows how much came; a deletion, how much there was. */
Test(conventions, metrics_do_not_time_what_depends_on_data)
{
    static const char *const untimed[][3] = {
        {"POST", "/v1/datasets/ds_x/trajectories", "/v1/datasets/{id}/trajectories"},
        {"PUT", "/v1/datasets/ds_x/experts/e/policy", "/v1/datasets/{id}/experts/{expert}/policy"},
        {"POST", "/v1/datasets/ds_x:seal", "/v1/datasets/{id}:seal"},
        {"DELETE", "/v1/datasets/ds_x", "/v1/datasets/{id}"},
        {"POST", "/v1/jobs:estimate", "/v1/jobs:estimate"},
        {"POST", "/v1/jobs:advise", "/v1/jobs:advise"},
        {"GET", "/v1/jobs/job_x/events", "/v1/jobs/{id}/events"},
    };
    enum { COUNT = sizeof untimed / sizeof *untimed };
    struct http_call call = {.method = "GET", .path = "/v1/environments", .token = steward};
    struct http_answer answer = http_expect(client, 200, &call);
    http_answer_clear(&answer);
    for (size_t i = 0; i < COUNT; i++) {
        call = (struct http_call){
            .method = untimed[i][0], .path = untimed[i][1], .token = steward, .body = "{}"};
        answer = http_do(client, &call);
        cr_expect_geq(answer.status, 400);
        http_answer_clear(&answer);
    }
    call = (struct http_call){.method = "GET", .path = "/metrics", .token = steward};
    answer = refused(403, "forbidden", &call);
    http_answer_clear(&answer);
    call.token = admin;
    answer = http_expect(client, 200, &call);
    cr_expect_not_null(strstr(answer.body, "seconds_count{route=\"/v1/environments\"}"));
    for (size_t i = 0; i < COUNT; i++) {
        char line[128];
        snprintf(line, sizeof line, "requests_total{route=\"%s\",status=\"4", untimed[i][2]);
        cr_expect_not_null(strstr(answer.body, line), "%s is not in %s", line, answer.body);
        /* GET and DELETE of one dataset are one pattern: DELETE came alone here. */
        snprintf(line, sizeof line, "seconds_count{route=\"%s\"}", untimed[i][2]);
        cr_expect_null(strstr(answer.body, line), "%s", line);
    }
    http_answer_clear(&answer);
}

Test(conventions, the_log_holds_no_token_and_no_query)
{
    struct http_call call = {.method = "GET", .path = "/v1/clients?page_size=7", .token = admin};
    struct http_answer answer = http_expect(client, 200, &call);
    http_answer_clear(&answer);
    cr_expect(!server_log_has(&server, "page_size"));
    cr_expect(!server_log_has(&server, "tct_"));
}

/* CALL, and whether the log has a line with the request's id. */
static bool leaves_a_line(const struct http_call *call, long status, const char *pattern)
{
    char line[256];
    struct http_answer answer = http_expect(client, status, call);
    snprintf(line, sizeof line, "method=%s route=%s status=%ld request_id=%s ", call->method,
             pattern, status, http_header(&answer, "Request-Id"));
    http_answer_clear(&answer);
    return server_log_has(&server, line);
}

Test(conventions, a_refusal_is_found_in_the_log_by_its_request_id)
{
    struct http_call call = {.method = "GET", .path = "/v1/clients"};
    cr_expect(leaves_a_line(&call, 401, "/v1/clients"));
    call.token = steward;
    cr_expect(leaves_a_line(&call, 403, "/v1/clients"));
    call.path = "/v1/datasets/ds_none";
    cr_expect(leaves_a_line(&call, 404, "/v1/datasets/{id}"));
    cr_expect(!server_log_has(&server, "ds_none"));
    call.path = "/v1/nothing";
    cr_expect(leaves_a_line(&call, 404, "(none)"));
    call.path = "/favicon.ico";
    cr_expect(!leaves_a_line(&call, 404, "(none)"));
    call.path = "/v1/clients";
    call.token = admin;
    cr_expect(!leaves_a_line(&call, 200, "/v1/clients"));
}

/* In every line of a log in JSON. */
Test(conventions, a_line_says_who_asked_for_what_with_which_outcome_and_in_which_trace)
{
    static const char header[] =
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    struct server_process spoken;
    server_open(&spoken, "--log-format", "json", "--access-log", "on", NULL);
    char token[160];
    server_token(&spoken, "admin", token);
    struct http_client *asks = http_client_new(&spoken);
    struct http_call call = {.method = "GET", .path = "/v1/clients/me", .token = token};
    struct http_answer answer = http_expect(asks, 200, &call);
    char me[64], path[100];
    snprintf(me, sizeof me, "%s", http_text(&answer, "id"));
    http_answer_clear(&answer);
    snprintf(path, sizeof path, "/v1/clients/%s/tokens/99", me);
    call = (struct http_call){.method = "DELETE", .path = path, .token = token, .header = header};
    answer = http_expect(asks, 404, &call);
    http_answer_clear(&answer);
    http_client_free(asks);
    cr_expect_eq(server_end(&spoken, SIGTERM), 0);
    size_t size = 0;
    unsigned requests = 0;
    char *log = read_whole(spoken.log, &size), *rest = NULL;
    for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        cr_assert_not_null(json, "%s", line);
        const char *trace = json_string_value(json_object_get(json, "traceparent"));
        if (strcmp(json_string_value(json_object_get(json, "event")), "request") == 0) {
            bool last = requests++ == 1;
            cr_expect_str_eq(json_string_value(json_object_get(json, "client")), me);
            cr_expect_str_eq(json_string_value(json_object_get(json, "resource")), last ? me : "-");
            cr_expect_str_eq(json_string_value(json_object_get(json, "outcome")),
                             last ? "not-found" : "ok");
            cr_expect_eq(json_integer_value(json_object_get(json, "status")), last ? 404 : 200);
            cr_expect(json_is_integer(json_object_get(json, "us")));
            cr_expect_eq(strncmp(trace, "00-0af7651916cd43dd8448eb211c80319c-", 36) == 0, last,
                         "%s", trace);
            cr_expect_null(strstr(trace, "b7ad6b7169203331"), "our part has a number of its own");
        }
        json_decref(json);
    }
    cr_expect_eq(requests, 2);
    free(log);
    server_remove(&spoken);
}

/* The longest log, and SECRET in every place of a request that a client fills. */
Test(conventions, not_even_the_longest_log_holds_what_clients_send)
{
    static const char SECRET[] = "tct_secret";
    struct server_process talkative;
    server_open(&talkative, "--access-log", "on", NULL);
    static const char *const requests[] = {
        "GET /v1/datasets/tct_secret?name=tct_secret HTTP/1.1\r\nHost: tct_secret\r\n"
        "Authorization: Bearer tct_secret\r\nConnection: close\r\n\r\n",
        "POST /v1/clients HTTP/1.1\r\nHost: t\r\nIdempotency-Key: tct_secret\r\n"
        "Content-Length: 14\r\nConnection: close\r\n\r\n{\"tct_secret\":1",
        "POST /v1/datasets/d/trajectories HTTP/1.1\r\nHost: t\r\nContent-Encoding: tct_secret\r\n"
        "Content-Length: 10\r\nConnection: close\r\n\r\ntct_secret",
        "tct_secret /tct_secret HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
        "GET /v1/x%zz_tct_secret HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n"
        "Content-Length: 2\r\nX: tct_secret\r\nConnection: close\r\n\r\n",
    };
    char answer[4096];
    for (unsigned i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        int handle = raw_connect(&talkative);
        cr_assert(raw_send(handle, requests[i]));
        cr_expect_gt(raw_receive(handle, answer, sizeof answer, true), 0, "%s", requests[i]);
        close(handle);
    }
    cr_expect(server_log_has(&talkative, "method=other"));
    cr_expect(server_log_has(&talkative, "method=POST"));
    cr_expect(!server_log_has(&talkative, SECRET));
    server_close(&talkative);
}

Test(conventions, a_flood_of_refusals_does_not_fill_the_log)
{
    struct http_call call = {.method = "GET", .path = "/v1/clients"};
    size_t size = 0;
    unsigned lines = 0;
    for (int i = 0; i < 300; i++) {
        struct http_answer answer = http_expect(client, 401, &call);
        http_answer_clear(&answer);
    }
    char *log = read_whole(server.log, &size);
    for (const char *at = log; (at = strstr(at, "event=request ")) != NULL; at++)
        lines++;
    free(log);
    /* Fifty for every second that it took, and it took a few at most. */
    cr_expect_geq(lines, 50);
    if (lines < 300) {
        cr_expect_eq(server_end(&server, SIGTERM), 0);
        cr_expect(server_log_has(&server, "event=requests-left-out status=4xx count="));
        server_start(&server);
    }
}
