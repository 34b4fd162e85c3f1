/* One request in memory: its address, headers, framing and body, and who frees it. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/exchange.h"

static struct exchange_account account = {.most = 100000};

static struct exchange *request(const char *uri)
{
    struct exchange *exchange = exchange_new(uri);
    exchange->account = &account;
    return exchange;
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
        {"http://host?x", "/", "x"},
        {"http://host?x=/healthz/live", "/", "x=/healthz/live"},
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
    cr_assert(exchange_add_header(exchange, "Accept", "text/html"));
    cr_assert(exchange_add_header(exchange, "X-Empty", ""));
    cr_assert(exchange_add_header(exchange, "accept", "second"));
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
    cr_expect(!exchange_add_header(exchange, "X", value));
    exchange_let_go(exchange);
    exchange = request("/");
    value[1000] = '\0';
    int kept = 0;
    while (kept < 100 && exchange_add_header(exchange, "X", value))
        kept++;
    cr_expect_eq(kept, EXCHANGE_HEADER_BYTES / 1003);
    exchange_let_go(exchange);
}

Test(exchange, a_body_grows_with_all_that_was_in_it)
{
    static char piece[1500];
    struct exchange *exchange = request("/");
    cr_expect_eq(exchange->request.body_size, 0);
    for (int p = 0; p < 5; p++) {
        memset(piece, 'a' + p, sizeof piece);
        cr_assert_eq(exchange_add_body(exchange, piece, sizeof piece), EXCHANGE_ROOM);
    }
    cr_expect_eq(exchange->request.body_size, 5 * sizeof piece);
    for (size_t i = 0; i < exchange->request.body_size; i++)
        cr_assert_eq(exchange->request.body[i], 'a' + (int)(i / sizeof piece));
    exchange_let_go(exchange);
    cr_expect_eq(atomic_load(&account.bytes), 0);
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
            cr_assert(exchange_add_header(exchange, cases[i].names[h], cases[i].values[h]));
        cr_expect_eq(exchange_read_framing(exchange), cases[i].clear, "case %u", i);
        if (cases[i].clear)
            cr_expect_eq(exchange->announced, cases[i].announced, "case %u", i);
        exchange_let_go(exchange);
    }
}

Test(exchange, bodies_share_one_account)
{
    static char bytes[3000];
    account.most = 8192;
    struct exchange *first = request("/"), *second = request("/");
    cr_expect_eq(exchange_add_body(first, bytes, sizeof bytes), EXCHANGE_ROOM);
    cr_expect_eq(exchange_add_body(second, bytes, sizeof bytes), EXCHANGE_ROOM);
    cr_expect_geq(atomic_load(&account.bytes), 2 * sizeof bytes);
    cr_expect_eq(exchange_add_body(second, bytes, sizeof bytes), EXCHANGE_ALL_FULL);
    exchange_let_go(second);
    second = request("/");
    cr_expect_eq(exchange_add_body(second, bytes, sizeof bytes), EXCHANGE_ROOM);
    exchange_let_go(first);
    exchange_let_go(second);
    cr_expect_eq(atomic_load(&account.bytes), 0);
}

Test(exchange, a_client_and_an_address_have_a_share_of_the_account)
{
    static char bytes[3000];
    const uint64_t most_client[SHARE_THINGS] = {[SHARE_BYTES] = 8192};
    const uint64_t most_address[SHARE_THINGS] = {[SHARE_BYTES] = 12288};
    struct shares clients, addresses;
    shares_init(&clients, most_client);
    shares_init(&addresses, most_address);
    account =
        (struct exchange_account){.most = 100000, .clients = &clients, .addresses = &addresses};
    struct exchange *exchanges[4];
    static const uint64_t who[] = {1, 1, 2, 3};
    for (int i = 0; i < 4; i++) {
        exchanges[i] = request("/");
        exchanges[i]->client = who[i];
        exchanges[i]->address = 7;
    }
    /* 3,000 bytes take 4,096, and 6,000 twice that. */
    for (int i = 0; i < 2; i++)
        cr_expect_eq(exchange_add_body(exchanges[i], bytes, sizeof bytes), EXCHANGE_ROOM);
    /* The client's share is full; what the body had before is dropped, too. */
    cr_expect_eq(exchange_add_body(exchanges[1], bytes, sizeof bytes), EXCHANGE_SHARE_FULL);
    cr_expect_eq(exchanges[1]->request.body_size, 0);
    for (int i = 2; i < 4; i++)
        cr_expect_eq(exchange_add_body(exchanges[i], bytes, sizeof bytes), EXCHANGE_ROOM);
    /* So is the address's. */
    cr_expect_eq(exchange_add_body(exchanges[3], bytes, sizeof bytes), EXCHANGE_SHARE_FULL);
    cr_expect_eq(exchange_add_body(exchanges[3], bytes, sizeof bytes), EXCHANGE_ROOM);
    for (int i = 0; i < 4; i++)
        exchange_let_go(exchanges[i]);
    cr_expect_eq(atomic_load(&account.bytes), 0);
    shares_clear(&clients);
    shares_clear(&addresses);
}

Test(exchange, the_last_holder_frees)
{
    struct exchange *exchange = request("/");
    static char bytes[10];
    cr_assert_eq(exchange_add_body(exchange, bytes, sizeof bytes), EXCHANGE_ROOM);
    exchange_hold(exchange);
    exchange_let_go(exchange);
    cr_expect_neq(atomic_load(&account.bytes), 0);
    exchange_let_go(exchange);
    cr_expect_eq(atomic_load(&account.bytes), 0);
}
