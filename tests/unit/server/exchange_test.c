/* One request in memory: its address, headers, framing and body, and who frees it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/exchange.h"

static atomic_uint_fast64_t account;

static struct exchange *request(const char *uri)
{
    struct exchange *exchange = exchange_new(NULL, uri);
    cr_assert_not_null(exchange);
    exchange->body_account = &account;
    return exchange;
}

static bool add_header(struct exchange *exchange, const char *name, const char *value)
{
    return exchange_add_header(exchange, name, strlen(name), value, strlen(value));
}

Test(exchange, an_address_is_split_as_it_was_sent)
{
    static const struct {
        const char *uri, *path, *query;
    } cases[] = {
        {"/a%20b/c?x=%41&y", "/a%20b/c", "x=%41&y"},
        {"/a", "/a", ""},
        {"/?", "/", ""},
        {"/a?b?c", "/a", "b?c"},
        {"http://host:80/v1/x?y", "/v1/x", "y"},
        {"HTTPS://host/v1", "/v1", ""},
        {"http://host", "/", ""},
        {"http://host?x", "/", ""},
        {"/http://host/x", "/http://host/x", ""},
        {"*", "*", ""},
        {"", "", ""},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exchange *exchange = request(cases[i].uri);
        cr_expect_str_eq(exchange->request.path, cases[i].path, "%s", cases[i].uri);
        cr_expect_str_eq(exchange->request.query, cases[i].query, "%s", cases[i].uri);
        exchange_let_go(exchange);
    }
}

Test(exchange, headers_are_found_whatever_their_case)
{
    struct exchange *exchange = request("/");
    cr_assert(add_header(exchange, "Accept", "text/html"));
    cr_assert(add_header(exchange, "X-Empty", ""));
    cr_assert(add_header(exchange, "accept", "second"));
    cr_expect_str_eq(exchange->request.header(exchange->request.header_context, "ACCEPT"),
                     "text/html");
    cr_expect_str_eq(exchange_header(exchange, "x-empty"), "");
    cr_expect_null(exchange_header(exchange, "text/html"));
    exchange_let_go(exchange);
}

Test(exchange, headers_have_a_limit)
{
    struct exchange *exchange = request("/");
    static char value[EXCHANGE_HEADER_BYTES];
    memset(value, 'v', sizeof value - 1);
    cr_expect(!add_header(exchange, "X", value));
    value[1000] = '\0';
    int kept = 0;
    while (kept < 100 && add_header(exchange, "X", value))
        kept++;
    cr_expect_eq(kept, EXCHANGE_HEADER_BYTES / 1003);
    exchange_let_go(exchange);
}

/* Texts move out of the exchange's own room when they outgrow it, with all that was in them. */
Test(exchange, texts_outgrow_their_room)
{
    struct exchange_shelf *shelf = exchange_shelf_new();
    enum { LONG = 3000, HEADERS = 20 };
    static char uri[LONG], piece[EXCHANGE_OWN_BODY_BYTES - 1];
    memset(uri, 'u', sizeof uri - 1);
    uri[0] = '/';
    const struct exchange *first = NULL;
    for (int round = 0; round < 3; round++) { /* large and small take turns on the same memory */
        bool large = round != 1;
        struct exchange *exchange = exchange_new(shelf, large ? uri : "/small?q");
        cr_assert_not_null(exchange);
        exchange->body_account = &account;
        cr_expect_str_eq(exchange->request.path, large ? uri : "/small");
        cr_expect_null(exchange_header(exchange, "X-0"));
        for (int h = 0; h < (large ? HEADERS : 2); h++) {
            char name[16], value[60];
            snprintf(name, sizeof name, "X-%d", h);
            snprintf(value, sizeof value, "%050d", h);
            cr_assert(add_header(exchange, name, value));
        }
        cr_expect_str_eq(exchange_header(exchange, "X-1") + 48, "01");
        cr_expect(!large || atoi(exchange_header(exchange, "x-19")) == 19);
        cr_expect_eq(exchange->request.body_size, 0);
        for (int p = 0; p < (large ? 3 : 1); p++) {
            memset(piece, 'a' + p, sizeof piece);
            cr_assert(exchange_add_body(exchange, piece, sizeof piece, 100000));
        }
        for (size_t i = 0; i < exchange->request.body_size; i++)
            cr_assert_eq(exchange->request.body[i], 'a' + (int)(i / sizeof piece));
        cr_expect_eq(exchange->request.body_size, (large ? 3 : 1) * sizeof piece);
        cr_expect(first == NULL || exchange == first);
        first = exchange;
        exchange_put_back(shelf, exchange);
    }
    cr_expect_eq(atomic_load(&account), 0);
    exchange_shelf_free(shelf);
}

Test(exchange, framing_must_be_clear)
{
    static const struct {
        const char *names[2], *values[2];
        bool clear;
        uint64_t announced;
    } cases[] = {
        {{NULL}, {NULL}, true, 0},
        {{"Content-Length"}, {"12"}, true, 12},
        {{"Transfer-Encoding"}, {"Chunked"}, true, UINT64_MAX},
        {{"Content-Length", "content-length"}, {"1", "1"}, false, 0},
        {{"Transfer-Encoding", "transfer-encoding"}, {"chunked", "chunked"}, false, 0},
        {{"Content-Length", "Transfer-Encoding"}, {"1", "chunked"}, false, 0},
        {{"Content-Lengths", "X-Transfer-Encoding"}, {"1", "gzip"}, true, 0},
        {{"Transfer-Encoding"}, {"gzip, chunked"}, false, 0},
        {{"Content-Length"}, {"-1"}, false, 0},
        {{"Content-Length"}, {"1,1"}, false, 0},
        {{"Content-Length"}, {""}, false, 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exchange *exchange = request("/");
        for (int h = 0; h < 2 && cases[i].names[h] != NULL; h++)
            cr_assert(add_header(exchange, cases[i].names[h], cases[i].values[h]));
        cr_expect_eq(exchange_read_framing(exchange), cases[i].clear, "case %u", i);
        if (cases[i].clear)
            cr_expect_eq(exchange->announced, cases[i].announced, "case %u", i);
        exchange_let_go(exchange);
    }
}

Test(exchange, bodies_share_one_account)
{
    struct exchange *first = request("/"), *second = request("/");
    static char bytes[3000];
    cr_expect(exchange_add_body(first, bytes, sizeof bytes, 8000));
    cr_expect(exchange_add_body(second, bytes, sizeof bytes, 8000));
    cr_expect(!exchange_add_body(second, bytes, sizeof bytes, 8000));
    cr_expect_eq(second->request.body_size, sizeof bytes);
    exchange_let_go(first);
    cr_expect(exchange_add_body(second, bytes, sizeof bytes, 8000));
    exchange_let_go(second);
    cr_expect_eq(atomic_load(&account), 0);
}

Test(exchange, the_last_holder_frees)
{
    struct exchange *exchange = request("/");
    static char bytes[10];
    cr_assert(exchange_add_body(exchange, bytes, sizeof bytes, 8000));
    exchange_hold(exchange);
    exchange_let_go(exchange);
    cr_expect_neq(atomic_load(&account), 0);
    exchange_let_go(exchange);
    cr_expect_eq(atomic_load(&account), 0);
}

/* A lane's thread holds what a connection has let go of: nobody shelves it, and it is freed once.
 */
Test(exchange, what_a_lane_still_holds_is_not_shelved)
{
    struct exchange_shelf *shelf = exchange_shelf_new();
    struct exchange *held = exchange_new(shelf, "/held");
    cr_assert_not_null(held);
    exchange_hold(held);
    exchange_put_back(shelf, held);
    struct exchange *other = exchange_new(shelf, "/other");
    cr_expect_neq(other, held);
    cr_expect_str_eq(held->request.path, "/held");
    exchange_let_go(held);
    exchange_put_back(shelf, other);
    cr_expect_eq(exchange_new(shelf, "/again"), other);
    exchange_let_go(other);
    exchange_shelf_free(shelf);
}

static void note_resume(void *connection)
{
    ++*(int *)connection;
}

Test(exchange, a_small_reply_stays_in_the_exchange)
{
    static const size_t sizes[] = {0, 1, EXCHANGE_OWN_BODY_BYTES, EXCHANGE_OWN_BODY_BYTES + 1};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct exchange *exchange = request("/");
        struct api_reply *reply = &exchange->reply;
        int resumed = 0;
        cr_assert(exchange_add_body(exchange, "question", 8, 8000));
        exchange->connection = &resumed;
        exchange->resume = note_resume;
        reply->body = malloc(sizes[i] + 1);
        reply->body_size = sizes[i];
        memset(reply->body, 'r', sizes[i]);
        exchange_hold(exchange);
        exchange_finish(exchange);
        cr_expect_eq(resumed, 1);
        bool small = sizes[i] <= EXCHANGE_OWN_BODY_BYTES;
        const char *text = small ? reply->static_body : reply->body;
        cr_expect_eq(reply->body == NULL, small);
        cr_expect_eq(reply->body_size, sizes[i]);
        for (size_t b = 0; b < sizes[i]; b++)
            cr_assert_eq(text[b], 'r');
        exchange_let_go(exchange);
    }
}
