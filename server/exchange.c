/* One HTTP request in memory. This file knows neither sockets nor routes. */
#include "server/exchange.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "memory/memory.h"
#include "server/os/clock.h"

static const char *header_of_context(void *context, const char *name)
{
    return exchange_header(context, name);
}

static long read_pipe(void *context, unsigned char *buffer, size_t size)
{
    return body_pipe_read(context, buffer, size);
}

/* An absolute request target names a server before its path (RFC 9112, section 3.2.2). */
static char *path_of(char *uri)
{
    if (uri[0] == '/')
        return uri;
    if (strncasecmp(uri, "http://", 7) != 0 && strncasecmp(uri, "https://", 8) != 0)
        return uri;
    char *end = strchr(uri, ':') + 3;
    return end + strcspn(end, "/?");
}

struct exchange *exchange_new(const char *uri)
{
    struct exchange *exchange = memory_new(1, sizeof *exchange);
    struct api_request *request = &exchange->request;
    buffer_init(&exchange->headers, EXCHANGE_HEADER_BYTES);
    buffer_reserve(&exchange->headers, EXCHANGE_HEADER_BYTES); /* so that nothing is moved */
    buffer_init(&exchange->body, SIZE_MAX / 4);                /* the caller knows the limit */
    exchange->uri = memory_copy_text(uri);
    char *path = path_of(exchange->uri);
    char *mark = strchr(path, '?');
    request->path = path;
    if (path != exchange->uri && path[0] != '/')
        request->path = "/";
    request->query = "";
    if (mark) {
        *mark = '\0';
        request->query = mark + 1;
    }
    request->method = "";
    request->header = header_of_context;
    request->header_context = exchange;
    request->reader.read = read_pipe;
    request->body = (const unsigned char *)"";
    exchange->announced = UINT64_MAX;
    exchange->begun_us = exchange->started_us = clock_now_us();
    atomic_init(&exchange->holders, 1);
    atomic_init(&exchange->reply_ready, false);
    return exchange;
}

void exchange_hold(struct exchange *exchange)
{
    atomic_fetch_add(&exchange->holders, 1);
}

/* Frees the body and what it was charged. */
static void drop_body(struct exchange *exchange)
{
    struct exchange_account *account = exchange->account;
    buffer_clear(&exchange->body);
    exchange->request.body = (const unsigned char *)"";
    exchange->request.body_size = 0;
    if (exchange->charged == 0)
        return;
    atomic_fetch_sub(&account->bytes, exchange->charged);
    shares_give(account->clients, exchange->client, SHARE_BYTES, exchange->charged);
    shares_give(account->addresses, exchange->address, SHARE_BYTES, exchange->charged);
    exchange->charged = 0;
}

void exchange_let_go(struct exchange *exchange)
{
    if (atomic_fetch_sub(&exchange->holders, 1) > 1)
        return;
    drop_body(exchange);
    api_reply_clear(&exchange->reply);
    body_pipe_free(exchange->pipe);
    if (exchange->headers.bytes)
        sodium_memzero(exchange->headers.bytes, exchange->headers.size); /* a token is among them */
    buffer_clear(&exchange->headers);
    free(exchange->uri);
    free(exchange);
}

/* ---- headers: name NUL value NUL, again and again */

bool exchange_add_header(struct exchange *exchange, const char *name, const char *value)
{
    return buffer_add(&exchange->headers, name, strlen(name) + 1) &&
           buffer_add(&exchange->headers, value, strlen(value) + 1);
}

/* Counts the request's headers NAME and finds the value of the first; NULL: there is none. */
static unsigned find_header(const struct exchange *exchange, const char *name,
                            const char **out_value)
{
    unsigned count = 0;
    *out_value = NULL;
    for (size_t at = 0; at < exchange->headers.size;) {
        const char *found = exchange->headers.bytes + at;
        const char *value = found + strlen(found) + 1;
        if (strcasecmp(found, name) == 0 && count++ == 0)
            *out_value = value;
        at = (size_t)(value + strlen(value) + 1 - exchange->headers.bytes);
    }
    return count;
}

const char *exchange_header(const struct exchange *exchange, const char *name)
{
    const char *value;
    find_header(exchange, name, &value);
    return value;
}

bool exchange_read_framing(struct exchange *exchange)
{
    const char *coding, *length, *expect;
    char *end = NULL;
    unsigned lengths = find_header(exchange, "Content-Length", &length);
    unsigned codings = find_header(exchange, "Transfer-Encoding", &coding);
    find_header(exchange, "Expect", &expect);
    exchange->expects_continue = expect && strcasecmp(expect, "100-continue") == 0;
    if (lengths > 1 || codings > 1)
        return false;
    if (coding)
        return !length && strcasecmp(coding, "chunked") == 0;
    exchange->announced = 0;
    if (!length)
        return true;
    exchange->announced = strtoull(length, &end, 10);
    if (exchange->announced == UINT64_MAX)
        exchange->announced--;
    return length[0] >= '0' && length[0] <= '9' && *end == '\0';
}

/* ---- the body */

bool exchange_is_slow(const struct exchange *exchange, const struct exchange_pace *pace)
{
    uint64_t whole_s = exchange->pipe ? pace->whole_upload_s : pace->whole_s;
    uint64_t allowed_s = pace->patience_s + exchange->received / pace->least_rate;
    if (allowed_s > whole_s)
        allowed_s = whole_s;
    return clock_now_us() - exchange->started_us > (int64_t)allowed_s * 1000000;
}

/* Charges MORE bytes to the account and to both shares, or nothing. */
static enum exchange_room charge_body(struct exchange *exchange, size_t more)
{
    struct exchange_account *account = exchange->account;
    enum exchange_room room = EXCHANGE_SHARE_FULL;
    if (!shares_take(account->clients, exchange->client, SHARE_BYTES, more))
        return room;
    if (shares_take(account->addresses, exchange->address, SHARE_BYTES, more)) {
        if (atomic_fetch_add(&account->bytes, more) + more <= account->most) {
            exchange->charged += more;
            return EXCHANGE_ROOM;
        }
        room = EXCHANGE_ALL_FULL;
        atomic_fetch_sub(&account->bytes, more);
        shares_give(account->addresses, exchange->address, SHARE_BYTES, more);
    }
    shares_give(account->clients, exchange->client, SHARE_BYTES, more);
    return room;
}

enum exchange_room exchange_add_body(struct exchange *exchange, const void *bytes, size_t size)
{
    struct buffer *body = &exchange->body;
    enum exchange_room room = EXCHANGE_ALL_FULL;
    if (buffer_add(body, bytes, size))
        room = charge_body(exchange, body->room - exchange->charged);
    if (room != EXCHANGE_ROOM) {
        drop_body(exchange);
        return room;
    }
    exchange->request.body = (const unsigned char *)body->bytes;
    exchange->request.body_size = body->size;
    return room;
}

void exchange_finish(struct exchange *exchange)
{
    atomic_store(&exchange->reply_ready, true);
    if (exchange->pipe)
        body_pipe_done(exchange->pipe);
    else
        exchange->resume(exchange->connection);
    exchange_let_go(exchange);
}
