/* The life of one HTTP request in memory; knows neither sockets nor meaning. */
#include "server/exchange.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define SLOWEST_BYTES_PER_S 1024
#define SHELF_PLACES        256

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t exchange_now_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

static const char *header_of_context(void *context, const char *name)
{
    return exchange_header(context, name);
}

static long read_pipe(void *context, unsigned char *buffer, size_t size)
{
    return body_pipe_read(context, buffer, size);
}

/* An absolute request target names a server too; what is ours begins at the path. */
static char *path_of(char *uri)
{
    if (uri[0] == '/')
        return uri;
    if (strncasecmp(uri, "http://", 7) != 0 && strncasecmp(uri, "https://", 8) != 0)
        return uri;
    return strchr(strchr(uri, ':') + 3, '/');
}

/* ---- the shelf */

struct exchange_shelf {
    unsigned count;
    struct exchange *places[SHELF_PLACES];
};

struct exchange_shelf *exchange_shelf_new(void)
{
    return calloc(1, sizeof(struct exchange_shelf));
}

void exchange_shelf_free(struct exchange_shelf *shelf)
{
    if (!shelf)
        return;
    while (shelf->count > 0)
        free(shelf->places[--shelf->count]);
    free(shelf);
}

/* Memory for an exchange, whatever it held before. */
static struct exchange *take(struct exchange_shelf *shelf)
{
    if (shelf && shelf->count > 0)
        return shelf->places[--shelf->count];
    return malloc(sizeof(struct exchange));
}

static void give(struct exchange_shelf *shelf, struct exchange *exchange)
{
    if (shelf && shelf->count < SHELF_PLACES)
        shelf->places[shelf->count++] = exchange;
    else
        free(exchange);
}

/* ---- life */

/* Clears all but the values of the reply's headers and the places for texts, which are most of it.
 */
static void clear(struct exchange *exchange)
{
    size_t values = offsetof(struct exchange, reply.headers);
    size_t rest = offsetof(struct exchange, reply.header_count);
    size_t end = offsetof(struct exchange, own_uri);
    memset(exchange, 0, values);
    memset((char *)exchange + rest, 0, end - rest);
}

/* False: memory is short. */
static bool keep_uri(struct exchange *exchange, const char *uri)
{
    size_t size = strlen(uri) + 1;
    exchange->uri = size <= sizeof exchange->own_uri ? exchange->own_uri : malloc(size);
    if (!exchange->uri)
        return false;
    memcpy(exchange->uri, uri, size);
    return true;
}

/* Room for WANTED bytes in place of BYTES, of which USED are kept and which may be OWN. NULL, and
 * everything as before: memory is short. */
static unsigned char *enlarge(unsigned char *bytes, const unsigned char *own, size_t used,
                              size_t wanted)
{
    if (bytes != own)
        return realloc(bytes, wanted);
    unsigned char *larger = malloc(wanted);
    if (larger)
        memcpy(larger, own, used);
    return larger;
}

static void free_unless(void *bytes, const void *own)
{
    if (bytes != own)
        free(bytes);
}

struct exchange *exchange_new(struct exchange_shelf *shelf, const char *uri)
{
    struct exchange *exchange = take(shelf);
    if (!exchange)
        return NULL;
    clear(exchange);
    exchange->headers = exchange->own_headers;
    exchange->header_room = sizeof exchange->own_headers;
    exchange->body = exchange->own_body;
    if (!keep_uri(exchange, uri)) {
        give(shelf, exchange);
        return NULL;
    }
    struct api_request *request = &exchange->request;
    char *path = path_of(exchange->uri);
    char *mark = !path ? NULL : strchr(path, '?');
    request->path = !path ? "/" : path;
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
    exchange->begun_us = exchange->started_us = exchange_now_us();
    atomic_init(&exchange->holders, 1);
    atomic_init(&exchange->reply_ready, false);
    return exchange;
}

/* All that it holds beside its own memory. */
static void empty(struct exchange *exchange)
{
    if (exchange->body_account)
        atomic_fetch_sub(exchange->body_account, exchange->body_capacity);
    api_reply_clear(&exchange->reply);
    body_pipe_free(exchange->pipe);
    free_unless(exchange->body, exchange->own_body);
    free_unless(exchange->headers, exchange->own_headers);
    free_unless(exchange->uri, exchange->own_uri);
}

void exchange_hold(struct exchange *exchange)
{
    unsigned holders = atomic_load_explicit(&exchange->holders, memory_order_relaxed);
    atomic_store_explicit(&exchange->holders, holders + 1, memory_order_relaxed);
}

/* True: nobody holds it any more. A single holder need not ask: no other thread could add one. */
static bool is_let_go(struct exchange *exchange)
{
    if (atomic_load_explicit(&exchange->holders, memory_order_acquire) == 1)
        return true;
    unsigned before = atomic_fetch_sub(&exchange->holders, 1);
    assert(before > 0);
    return before == 1;
}

void exchange_let_go(struct exchange *exchange)
{
    if (!is_let_go(exchange))
        return;
    empty(exchange);
    free(exchange);
}

void exchange_put_back(struct exchange_shelf *shelf, struct exchange *exchange)
{
    if (!is_let_go(exchange))
        return;
    empty(exchange);
    give(shelf, exchange);
}

/* How a header lies in memory, and where it does. */
struct header {
    uint16_t name_size, value_size; /* without NULs */
};

bool exchange_add_header(struct exchange *exchange, const char *name, size_t name_size,
                         const char *value, size_t value_size)
{
    if (name_size >= EXCHANGE_HEADER_BYTES || value_size >= EXCHANGE_HEADER_BYTES ||
        exchange->header_text + name_size + value_size + 2 > EXCHANGE_HEADER_BYTES)
        return false;
    struct header header = {(uint16_t)name_size, (uint16_t)value_size};
    size_t used = exchange->header_bytes;
    size_t wanted = used + sizeof header + name_size + value_size + 2;
    if (wanted > exchange->header_room) {
        size_t room = 2 * exchange->header_room < wanted ? wanted : 2 * exchange->header_room;
        unsigned char *larger = enlarge(exchange->headers, exchange->own_headers, used, room);
        if (!larger)
            return false;
        exchange->headers = larger;
        exchange->header_room = room;
    }
    unsigned char *at = exchange->headers + used;
    memcpy(at, &header, sizeof header);
    /* Of a memcpy whose size it knows to be small gcc makes a string instruction, which takes
     * longer to begin than to copy. */
    memmove(at + sizeof header, name, name_size + 1);
    memmove(at + sizeof header + name_size + 1, value, value_size + 1);
    exchange->header_bytes = wanted;
    exchange->header_text += name_size + value_size + 2;
    return true;
}

/* The name of the header at *position, which moves behind it; its value stands behind the name. */
static const char *header_at(const struct exchange *exchange, size_t *position, size_t *name_size)
{
    struct header header;
    const unsigned char *at = exchange->headers + *position;
    memcpy(&header, at, sizeof header);
    *position += sizeof header + (size_t)header.name_size + header.value_size + 2;
    *name_size = header.name_size;
    return (const char *)at + sizeof header;
}

static bool is_called(const char *name, size_t size, const char *wanted, size_t wanted_size)
{
    return size == wanted_size && strcasecmp(name, wanted) == 0;
}

const char *exchange_header(const struct exchange *exchange, const char *name)
{
    size_t wanted = strlen(name), size = 0;
    for (size_t position = 0; position < exchange->header_bytes;) {
        const char *found = header_at(exchange, &position, &size);
        if (is_called(found, size, name, wanted))
            return found + size + 1;
    }
    return NULL;
}

/* What the headers say of the body: the first of each, and how often those came that may come once.
 */
struct framing {
    const char *coding, *length, *expect;
    unsigned codings, lengths;
};

#define IS_CALLED(name, size, wanted) is_called(name, size, wanted, sizeof(wanted) - 1)

/* One way through all headers instead of one for each question. */
static struct framing find_framing(const struct exchange *exchange)
{
    struct framing framing = {.coding = NULL};
    for (size_t position = 0; position < exchange->header_bytes;) {
        size_t size = 0;
        const char *name = header_at(exchange, &position, &size), *value = name + size + 1;
        if (IS_CALLED(name, size, "Content-Length"))
            framing.length = framing.lengths++ == 0 ? value : framing.length;
        else if (IS_CALLED(name, size, "Transfer-Encoding"))
            framing.coding = framing.codings++ == 0 ? value : framing.coding;
        else if (IS_CALLED(name, size, "Expect") && !framing.expect)
            framing.expect = value;
    }
    return framing;
}

bool exchange_read_framing(struct exchange *exchange)
{
    struct framing is = find_framing(exchange);
    exchange->expects_continue = is.expect && strcasecmp(is.expect, "100-continue") == 0;
    if (is.lengths > 1 || is.codings > 1)
        return false;
    if (is.coding && (is.length || strcasecmp(is.coding, "chunked") != 0))
        return false;
    if (is.length) {
        char *end = NULL;
        if (is.length[0] < '0' || is.length[0] > '9')
            return false;
        exchange->announced = strtoull(is.length, &end, 10);
        return *end == '\0';
    }
    if (!is.coding)
        exchange->announced = 0;
    return true;
}

bool exchange_is_slow(const struct exchange *exchange, unsigned patience_s)
{
    int64_t allowed_s = (int64_t)patience_s + (int64_t)(exchange->received / SLOWEST_BYTES_PER_S);
    /* The coarse clock is some milliseconds late, for a third of the price. */
    return clock_us(CLOCK_MONOTONIC_COARSE) - exchange->started_us > allowed_s * 1000000;
}

/* Room for WANTED bytes and more; false as below. */
static bool enlarge_body(struct exchange *exchange, size_t used, size_t wanted,
                         uint64_t most_of_all)
{
    if (wanted < exchange->body_capacity * 2)
        wanted = exchange->body_capacity * 2;
    if (wanted < sizeof exchange->own_body)
        wanted = sizeof exchange->own_body;
    size_t more = wanted - exchange->body_capacity;
    if (atomic_fetch_add(exchange->body_account, more) + more > most_of_all) {
        atomic_fetch_sub(exchange->body_account, more);
        return false;
    }
    if (wanted > sizeof exchange->own_body) {
        unsigned char *larger = enlarge(exchange->body, exchange->own_body, used, wanted);
        if (!larger) {
            atomic_fetch_sub(exchange->body_account, more);
            return false;
        }
        exchange->body = larger;
    }
    exchange->body_capacity = wanted;
    return true;
}

bool exchange_add_body(struct exchange *exchange, const void *bytes, size_t size,
                       uint64_t most_of_all)
{
    size_t used = exchange->request.body_size;
    if (size > SIZE_MAX / 4 - used)
        return false;
    if (used + size > exchange->body_capacity &&
        !enlarge_body(exchange, used, used + size, most_of_all))
        return false;
    memcpy(exchange->body + used, bytes, size);
    exchange->request.body = exchange->body;
    exchange->request.body_size = used + size;
    return true;
}

/* The request's body is needed no more, so a small reply finds room in its place: what the lane's
 * thread asked of the allocator it gives back itself, not the socket thread. */
static void keep_small_reply(struct exchange *exchange)
{
    struct api_reply *reply = &exchange->reply;
    if (!reply->body || reply->body_size > sizeof exchange->own_body)
        return;
    memcpy(exchange->own_body, reply->body, reply->body_size);
    free(reply->body);
    reply->body = NULL;
    reply->static_body = (const char *)exchange->own_body;
}

void exchange_finish(struct exchange *exchange)
{
    keep_small_reply(exchange);
    atomic_store(&exchange->reply_ready, true);
    if (exchange->pipe)
        body_pipe_done(exchange->pipe);
    else
        exchange->resume(exchange->connection);
    exchange_let_go(exchange);
}
