/* Heads, and ends of chunks, that two readers could read differently: each is refused, and the
 * connection is closed, so that nothing behind it is taken for a request. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/http_client.h"

#define GET     "GET /healthz/live HTTP/1.1\r\n"
#define POST    "POST /v1/clients HTTP/1.1\r\n"
#define UPLOAD  "POST /v1/datasets HTTP/1.1\r\n"
#define HOST    "Host: t\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"

static struct server_process server;

static void setup(void)
{
    server_open(&server, "--idle-timeout", "3600", NULL); /* who is not hung up on hangs the test */
}

static void teardown(void)
{
    server_close(&server);
}

TestSuite(framing, .init = setup, .fini = teardown, .timeout = 600);

static unsigned count_of(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *c = text; (c = strstr(c, word)) != NULL; c++)
        count++;
    return count;
}

/* Sends HEAD and a second request behind it: the first gets STATUS, the second no answer. */
static void expect_refused(const char *head, size_t size, int status)
{
    char answer[4096];
    int got = 0, handle = raw_connect(&server);
    cr_assert(raw_send_bytes(handle, head, size));
    raw_send(handle, GET HOST "\r\n");
    raw_receive(handle, answer, sizeof answer, true);
    sscanf(answer, "HTTP/1.1 %d", &got);
    cr_expect_eq(got, status, "%.*s: %s", (int)size, head, answer);
    cr_expect_eq(count_of(answer, "Date: "), 1, "%.*s: %s", (int)size, head, answer);
    close(handle);
}

#define REFUSED(status, head)                                                                      \
    {                                                                                              \
        head, sizeof(head) - 1, status                                                             \
    }

Test(framing, heads_that_are_not_http_are_refused)
{
    static const struct {
        const char *head;
        size_t size;
        int status;
    } cases[] = {
        REFUSED(400, GET HOST "X: a\0b\r\n\r\n"),
        REFUSED(400, GET HOST "Authorization: Bearer a\0b\r\nX: a\r\n\r\n"),
        REFUSED(400, GET HOST "\0X: a\r\nY: b\r\n\r\n"),
        REFUSED(400, GET HOST "X\0y: a\r\n\r\n"),
        REFUSED(400, "GET /healthz/live\0x HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED(400, "GE\0T /healthz/live HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED(400, "GET /healthz/live x HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED(400, "GET  /healthz/live HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED(400, "GET /healthz/live?a\1b HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED(400, GET HOST HOST "\r\n"),
        REFUSED(400, GET HOST "host: other\r\n\r\n"),
        REFUSED(400, GET "\r\n"),
        REFUSED(400, GET HOST "X y: a\r\n\r\n"),
        REFUSED(400, GET HOST "X : a\r\n\r\n"),
        REFUSED(400, GET HOST ": a\r\n\r\n"),
        REFUSED(400, GET HOST "X: a\r\n b\r\n\r\n"),
        REFUSED(400, GET " X: a\r\n" HOST "\r\n"),
        REFUSED(400, GET HOST "X: a\rb\r\n\r\n"),
        REFUSED(400, GET HOST "X: a\1b\r\n\r\n"),
        REFUSED(400, GET HOST "X: a\n\r\n"),
        REFUSED(400, GET HOST "Xa\r\n\r\n"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(cases[i].head, cases[i].size, cases[i].status);
}

Test(framing, bodies_without_one_certain_end_are_refused)
{
    static const struct {
        const char *head;
        size_t size;
        int status;
    } cases[] = {
        REFUSED(400, POST HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde"),
        REFUSED(400, POST HOST "Content-Length: 5\r\n" CHUNKED "\r\n0\r\n\r\n"),
        REFUSED(400, POST HOST CHUNKED CHUNKED "\r\n0\r\n\r\n"),
        REFUSED(400, POST HOST "Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n"),
        REFUSED(400, POST HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        REFUSED(400, POST HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        REFUSED(400, "POST /v1/clients HTTP/1.0\r\n" CHUNKED "\r\n0\r\n\r\n"),
        REFUSED(401, POST HOST "Content-Length: 18446744073709551615\r\n\r\n"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(cases[i].head, cases[i].size, cases[i].status);
}

/* Chunks whose ends two readers could see in two places. */
Test(framing, chunks_without_one_certain_end_are_refused)
{
    static const char *const chunks[] = {
        "+5\r\nabcde\r\n0\r\n\r\n",     "-5\r\nabcde\r\n0\r\n\r\n",
        "0x5\r\nabcde\r\n0\r\n\r\n",    "5 \r\nabcde\r\n0\r\n\r\n",
        " 5\r\nabcde\r\n0\r\n\r\n",     "\r\nabcde\r\n0\r\n\r\n",
        "4\r\nabcde\r\n0\r\n\r\n",      "5\r\nabcdeX\r\n0\r\n\r\n",
        "5;a\nb\r\nabcde\r\n0\r\n\r\n", "10000000000000005\r\nabcde\r\n0\r\n\r\n",
    };
    char token[160], head[400], answer[4096];
    server_token(&server, "steward", token);
    snprintf(head, sizeof head, UPLOAD HOST "Authorization: Bearer %s\r\n" CHUNKED "\r\n", token);
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        int got = 0, handle = raw_connect(&server);
        cr_assert(raw_send(handle, head) && raw_send(handle, chunks[i]));
        raw_send(handle, GET HOST "\r\n");
        raw_receive(handle, answer, sizeof answer, true);
        sscanf(answer, "HTTP/1.1 %d", &got);
        cr_expect(got == 400 || got == 413, "%s: %s", chunks[i], answer);
        cr_expect_null(strstr(answer, "HTTP/1.1 200"), "%s: %s", chunks[i], answer);
        close(handle);
    }
}

/* The library's own answer to these carries its head twice, so only the end is looked at. */
Test(framing, lengths_that_are_no_number_are_refused)
{
    static const char *const lengths[] = {"+5", "5, 5", "5 ", "0x5", "18446744073709551616", ""};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char answer[2048];
        int got = 0, handle = raw_connect(&server);
        cr_assert(raw_send(handle, POST HOST "Content-Length: "));
        cr_assert(raw_send(handle, lengths[i]));
        cr_assert(raw_send(handle, "\r\n\r\nabcde" GET HOST "\r\n"));
        raw_receive(handle, answer, sizeof answer, true);
        sscanf(answer, "HTTP/1.1 %d", &got);
        cr_expect(got == 400 || got == 413, "%s: %s", lengths[i], answer);
        cr_expect_null(strstr(answer, "HTTP/1.1 200"), "%s: %s", lengths[i], answer);
        close(handle);
    }
}

/* The library answers these lines itself (docs/operating.md): nothing of them comes back. */
Test(framing, a_line_that_cannot_be_parsed_is_not_repeated)
{
    static const char *const lines[] = {
        "tct_secret\r\n\r\n",
        "tct_secret /healthz/live\r\n\r\n",
        "GET /tct_secret HTTP/x\r\n" HOST "\r\n",
        "GET /tct_secret HTTP/9.9\r\n" HOST "\r\n",
        "GET /tct_secret HTTP/1.1 tct_secret\r\n" HOST "\r\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char answer[2048] = "";
        int got = 0, handle = raw_connect(&server);
        cr_assert(raw_send(handle, lines[i]));
        raw_send(handle, GET HOST "\r\n");
        raw_receive(handle, answer, sizeof answer, true);
        sscanf(answer, "HTTP/1.1 %d", &got);
        cr_expect(answer[0] == '\0' || got >= 400, "%s: %s", lines[i], answer);
        cr_expect_null(strstr(answer, "tct_secret"), "%s: %s", lines[i], answer);
        cr_expect_leq(count_of(answer, "Date: "), 1, "%s: %s", lines[i], answer);
        close(handle);
    }
}

/* What hides behind a head that is too large is neither framing nor a request. */
Test(framing, nothing_hides_behind_a_head_that_is_too_large)
{
    for (size_t filler = 8180; filler <= 18180; filler += 10000) {
        char *head = malloc(filler + 200);
        cr_assert_not_null(head);
        int n = sprintf(head, POST HOST "X: ");
        memset(head + n, 'a', filler);
        n += (int)filler;
        n += sprintf(head + n, "\r\nContent-Length: 5\r\n" CHUNKED "\r\n0\r\n\r\n");
        expect_refused(head, (size_t)n, 431);
        free(head);
    }
}

/* The check of places must not refuse a head that comes in pieces or fills the buffer. */
Test(framing, good_heads_are_taken_in_any_pieces)
{
    char head[7000], answer[4096];
    int n = sprintf(head, GET HOST "Empty:\r\nTab:\ta\tb \r\nWord: a\xc3\xa4\r\n");
    for (int i = 0; i < 100; i++)
        n += sprintf(head + n, "X-%03d:%*s\r\n", i, i % 20, "v");
    n += sprintf(head + n, "\r\n");
    static const int pieces[] = {1, 7, 100, 4000, 7000};
    for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
        int handle = raw_connect(&server);
        for (int round = 0; round < 2; round++) {
            for (int at = 0; at < n; at += pieces[p])
                cr_assert(raw_send_bytes(handle, head + at,
                                         (size_t)(n - at < pieces[p] ? n - at : pieces[p])));
            raw_receive(handle, answer, sizeof answer, false);
            cr_expect_eq(strncmp(answer, "HTTP/1.1 200", 12), 0, "%d: %s", pieces[p], answer);
        }
        close(handle);
    }
}
