/* The door out against a server that misbehaves on purpose. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/http_out.h"
#include "tests/unit/cli/fake_server.h"

#define OVERLOADED                                                                                 \
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"               \
    "Content-Length: 66\r\nConnection: close\r\n\r\n"                                              \
    "{\"type\":\"/problems/overloaded\",\"title\":\"Too much\",\"status\":503}  "
#define CREATED                                                                                    \
    "HTTP/1.1 201 Created\r\nContent-Length: 13\r\nConnection: close\r\n"                          \
    "Idempotency-Replayed: true\r\nETag: \"7\"\r\n\r\n{\"id\":\"ds_1\"}"
#define REDIRECT                                                                                   \
    "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n"    \
    "Connection: close\r\n\r\n"

/* The waits that were told of. */
struct waits {
    unsigned count;
    double shortest;
    char why[PROBLEM_LINE_SIZE];
};

static void note_wait(void *context, const char *why, double seconds)
{
    struct waits *waits = context;
    waits->shortest = waits->count == 0 || seconds < waits->shortest ? seconds : waits->shortest;
    waits->count++;
    snprintf(waits->why, sizeof waits->why, "%s", why);
}

static struct http_out *open_to(const char *base, unsigned patience, struct waits *waits)
{
    struct http_out *out = NULL;
    const char *wrong = http_out_open(&(struct http_out_settings){.base = base,
                                                                  .token = "tct_a_b",
                                                                  .patience_s = patience,
                                                                  .waiting = note_wait,
                                                                  .context = waits},
                                      &out);
    cr_assert_null(wrong, "%s", wrong);
    return out;
}

static const struct http_out_call post = {
    .method = "POST", .path = "/v1/x", .key = "k-1", .body = "{\"a\":1}", .body_size = 7};

Test(http_out, repeats_under_the_same_key_until_it_is_done)
{
    struct fake_server *server =
        fake_server_start((const char *const[]){OVERLOADED, "", CREATED, NULL});
    struct waits waits = {0};
    struct http_out *out = open_to(fake_server_base(server), 60, &waits);
    struct http_out_answer answer;
    cr_assert_eq(http_out_do(out, &post, &answer), HTTP_OUT_OK, "%s", answer.problem.text);
    cr_expect_eq(answer.http, 201);
    cr_expect_eq(answer.attempts, 3);
    cr_expect(answer.replayed);
    cr_expect_str_eq(answer.body, "{\"id\":\"ds_1\"}");
    cr_expect_str_eq(http_out_header(out, "etag"), "\"7\"");
    cr_expect_null(http_out_header(out, "Location"));
    cr_expect_eq(waits.count, 2);
    cr_assert_eq(fake_server_stop(server), 3);
    for (unsigned i = 0; i < 3; i++) {
        const char *heard = fake_server_heard(server, i);
        cr_expect_eq(strncmp(heard, "POST /v1/x HTTP/1.1\r\n", 21), 0, "%s", heard);
        cr_expect_not_null(strstr(heard, "\r\nAuthorization: Bearer tct_a_b\r\n"));
        cr_expect_not_null(strstr(heard, "\r\nIdempotency-Key: k-1\r\n"));
        cr_expect_not_null(strstr(heard, "\r\nContent-Type: application/json\r\n"));
        cr_expect_not_null(strstr(heard, "\r\n\r\n{\"a\":1}"));
    }
    http_out_close(out);
    fake_server_free(server);
}

Test(http_out, shows_no_proxy_what_goes_to_this_machine)
{
    struct fake_server *server = fake_server_start((const char *const[]){CREATED, NULL});
    struct fake_server *proxy = fake_server_start((const char *const[]){CREATED, NULL});
    struct waits waits = {0};
    struct http_out *out = open_to(fake_server_base(server), 60, &waits);
    struct http_out_answer answer;
    unsetenv("no_proxy");
    unsetenv("NO_PROXY");
    setenv("http_proxy", fake_server_base(proxy), 1);
    cr_expect_eq(http_out_do(out, &post, &answer), HTTP_OUT_OK, "%s", answer.problem.text);
    unsetenv("http_proxy");
    cr_expect_eq(fake_server_stop(server), 1);
    cr_expect_eq(fake_server_stop(proxy), 0);
    http_out_close(out);
    fake_server_free(server);
    fake_server_free(proxy);
}

Test(http_out, waits_as_long_as_the_server_asks)
{
    static const char busy[] =
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n";
    struct fake_server *server = fake_server_start((const char *const[]){busy, CREATED, NULL});
    struct waits waits = {0};
    struct http_out *out = open_to(fake_server_base(server), 60, &waits);
    struct http_out_answer answer;
    cr_assert_eq(http_out_do(out, &post, &answer), HTTP_OUT_OK);
    cr_expect_eq(waits.count, 1);
    cr_expect_geq(waits.shortest, 2.0);
    cr_expect_str_eq(waits.why, "429, without an explanation");
    http_out_close(out);
    fake_server_stop(server);
    fake_server_free(server);
}

/* A Retry-After beyond one's patience is not waited for. */
Test(http_out, patience_ends)
{
    static const char tomorrow[] =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 86400\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n";
    struct fake_server *server = fake_server_start((const char *const[]){tomorrow, CREATED, NULL});
    struct waits waits = {0};
    struct http_out *out = open_to(fake_server_base(server), 60, &waits);
    struct http_out_answer answer;
    cr_assert_eq(http_out_do(out, &post, &answer), HTTP_OUT_REFUSED);
    cr_expect_eq(answer.http, 503);
    cr_expect_eq(waits.count, 0);
    cr_expect_eq(fake_server_stop(server), 1);
    http_out_close(out);
    fake_server_free(server);
}

/* Refused for good, or not to be repeated: asked once, and the line says why. */
static void check_once(const char *const *answers, const struct http_out_call *call,
                       enum http_out_status status, const char *text)
{
    struct fake_server *server = fake_server_start(answers);
    struct waits waits = {0};
    struct http_out *out = open_to(fake_server_base(server), 60, &waits);
    struct http_out_answer answer;
    cr_expect_eq(http_out_do(out, call, &answer), status, "%s", answer.problem.text);
    cr_expect_not_null(strstr(answer.problem.text, text), "%s", answer.problem.text);
    cr_expect_eq(waits.count, 0);
    cr_expect_eq(fake_server_stop(server), 1);
    http_out_close(out);
    fake_server_free(server);
}

Test(http_out, a_refusal_is_final)
{
    static const char refusal[] =
        "HTTP/1.1 409 Conflict\r\nContent-Length: 69\r\nConnection: close\r\n\r\n"
        "{\"type\":\"/problems/dataset-not-open\",\"detail\":\"The dataset is shut.\"}";
    check_once((const char *const[]){refusal, CREATED, NULL}, &post, HTTP_OUT_REFUSED,
               "409 dataset-not-open: The dataset is shut.");
    check_once((const char *const[]){REDIRECT, CREATED, NULL}, &post, HTTP_OUT_REFUSED, "307");
    check_once((const char *const[]){"SSH-2.0-OpenSSH_9\r\n", CREATED, NULL}, &post,
               HTTP_OUT_UNREACHABLE, "http://127.0.0.1");
}

Test(http_out, a_post_without_a_key_is_not_done_twice)
{
    struct http_out_call bare = post;
    bare.key = NULL;
    check_once((const char *const[]){"", CREATED, NULL}, &bare, HTTP_OUT_UNREACHABLE, "http://");
    static const char gateway[] =
        "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    check_once((const char *const[]){gateway, CREATED, NULL}, &bare, HTTP_OUT_REFUSED, "504");
}

Test(http_out, a_flood_of_an_answer_is_cut_off)
{
    size_t size = (size_t)17 << 20;
    char *flood = malloc(size + 100);
    cr_assert_not_null(flood);
    int head = sprintf(flood, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", size);
    memset(flood + head, 'x', size);
    flood[(size_t)head + size] = '\0';
    check_once((const char *const[]){flood, NULL}, &post, HTTP_OUT_UNREACHABLE, "too large");
    free(flood);
}

Test(http_out, nobody_there_is_found_out_soon)
{
    struct fake_server *server = fake_server_start((const char *const[]){NULL});
    char base[64];
    snprintf(base, sizeof base, "%s/", fake_server_base(server));
    fake_server_stop(server); /* its port is free again */
    fake_server_free(server);
    struct waits waits = {0};
    struct http_out *out = open_to(base, 1, &waits);
    struct http_out_answer answer;
    cr_expect_eq(http_out_do(out, &post, &answer), HTTP_OUT_UNREACHABLE);
    cr_expect_geq(waits.count, 1);
    cr_expect_eq(answer.http, 0);
    cr_expect_not_null(strstr(answer.problem.text, "connect"), "%s", answer.problem.text);
    http_out_close(out);
}

Test(http_out, odd_settings_are_refused)
{
    static const char *const odd[][2] = {
        {"ftp://x", "t"},    {"x:80", "t"},           {"http://", "t"},    {"http:///v1", "t"},
        {"http://a b", "t"}, {"http://u:p@x", "t"},   {"http://x?a", "t"}, {"http://x#a", "t"},
        {"http://x", "a b"}, {"http://x", "a\nb: c"}, {"http://x", ""},    {"http://\xc3\xa9", "t"},
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct http_out *out = NULL;
        const char *wrong =
            http_out_open(&(struct http_out_settings){.base = odd[i][0], .token = odd[i][1]}, &out);
        cr_expect_not_null(wrong, "%s %s", odd[i][0], odd[i][1]);
        cr_expect_null(out);
    }
}

Test(http_out, plain_http_to_elsewhere_is_in_clear)
{
    cr_expect_not(http_out_in_clear("http://127.0.0.1:8080"));
    cr_expect_not(http_out_in_clear("HTTP://localhost/tacet"));
    cr_expect_not(http_out_in_clear("http://[::1]:80"));
    cr_expect_not(http_out_in_clear("https://example.org"));
    cr_expect(http_out_in_clear("http://example.org"));
    cr_expect(http_out_in_clear("http://localhost.example.org"));
    cr_expect(http_out_in_clear("http://127.0.0.11"));
}
