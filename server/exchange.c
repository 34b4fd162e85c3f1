/* The life of one HTTP request in memory; knows neither sockets nor meaning. */
#include "server/exchange.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define FIRST_BODY_BYTES    ((size_t)1024)
#define SLOWEST_BYTES_PER_S 1024
#define FIRST_HEADER_BYTES  ((size_t)512)
#define SHELF_PLACES        256

int64_t exchange_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
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
    if (strncasecmp(uri, "http://", 7) != 0 && strncasecmp(uri, "https://", 8) != 0)
        return uri;
    return strchr(strchr(uri, ':') + 3, '/');
}

/* ---- the shelf */

struct exchange_shelf {
    pthread_mutex_t lock;
    unsigned count;
    struct exchange *places[SHELF_PLACES];
};

struct exchange_shelf *exchange_shelf_new(void)
{
    struct exchange_shelf *shelf = calloc(1, sizeof *shelf);
    if (shelf != NULL)
        pthread_mutex_init(&shelf->lock, NULL);
    return shelf;
}

void exchange_shelf_free(struct exchange_shelf *shelf)
{
    if (shelf == NULL)
        return;
    while (shelf->count > 0)
        free(shelf->places[--shelf->count]);
    pthread_mutex_destroy(&shelf->lock);
    free(shelf);
}

/* Memory for an exchange, whatever it held before. */
static struct exchange *take(struct exchange_shelf *shelf)
{
    struct exchange *exchange = NULL;
    if (shelf != NULL) {
        pthread_mutex_lock(&shelf->lock);
        if (shelf->count > 0)
            exchange = shelf->places[--shelf->count];
        pthread_mutex_unlock(&shelf->lock);
    }
    return exchange != NULL ? exchange : malloc(sizeof *exchange);
}

static void give(struct exchange_shelf *shelf, struct exchange *exchange)
{
    if (shelf != NULL) {
        pthread_mutex_lock(&shelf->lock);
        if (shelf->count < SHELF_PLACES) {
            shelf->places[shelf->count++] = exchange;
            exchange = NULL;
        }
        pthread_mutex_unlock(&shelf->lock);
    }
    free(exchange);
}

/* ---- life */

/* Clears all but the values of the reply's headers, which are most of it. */
static void clear(struct exchange *exchange)
{
    size_t values = offsetof(struct exchange, reply.headers);
    size_t rest = offsetof(struct exchange, reply.header_count);
    memset(exchange, 0, values);
    memset((char *)exchange + rest, 0, sizeof *exchange - rest);
}

struct exchange *exchange_new(struct exchange_shelf *shelf, const char *uri, const char *request_id)
{
    struct exchange *exchange = take(shelf);
    if (exchange == NULL)
        return NULL;
    clear(exchange);
    exchange->shelf = shelf;
    exchange->uri = strdup(uri);
    if (exchange->uri == NULL) {
        give(shelf, exchange);
        return NULL;
    }
    struct api_request *request = &exchange->request;
    char *path = path_of(exchange->uri);
    char *mark = path == NULL ? NULL : strchr(path, '?');
    request->path = path == NULL ? "/" : path;
    request->query = "";
    if (mark != NULL) {
        *mark = '\0';
        request->query = mark + 1;
    }
    request->method = "";
    request->header = header_of_context;
    request->header_context = exchange;
    request->reader.read = read_pipe;
    request->body = (const unsigned char *)"";
    strncpy(request->request_id, request_id, sizeof request->request_id - 1);
    exchange->announced = UINT64_MAX;
    exchange->begun_us = exchange->started_us = exchange_now_us();
    atomic_init(&exchange->holders, 1);
    atomic_init(&exchange->reply_ready, false);
    return exchange;
}

static void exchange_free(struct exchange *exchange)
{
    if (exchange->body_account != NULL)
        atomic_fetch_sub(exchange->body_account, exchange->body_capacity);
    api_reply_clear(&exchange->reply);
    api_ahead_free(exchange->request.ahead);
    body_pipe_free(exchange->pipe);
    free(exchange->body);
    free(exchange->headers);
    free(exchange->uri);
    give(exchange->shelf, exchange);
}

void exchange_hold(struct exchange *exchange)
{
    atomic_fetch_add(&exchange->holders, 1);
}

void exchange_let_go(struct exchange *exchange)
{
    unsigned before = atomic_fetch_sub(&exchange->holders, 1);
    assert(before > 0);
    if (before == 1)
        exchange_free(exchange);
}

/* How a header lies in memory, and where it does. */
struct header {
    uint16_t name_size, value_size; /* without NULs */
};

bool exchange_add_header(struct exchange *exchange, const char *name, const char *value)
{
    size_t name_size = strlen(name), value_size = strlen(value);
    if (name_size >= EXCHANGE_HEADER_BYTES || value_size >= EXCHANGE_HEADER_BYTES ||
        exchange->header_text + name_size + value_size + 2 > EXCHANGE_HEADER_BYTES)
        return false;
    struct header header = {(uint16_t)name_size, (uint16_t)value_size};
    size_t used = exchange->header_bytes;
    size_t wanted = used + sizeof header + name_size + value_size + 2;
    if (wanted > exchange->header_room) {
        size_t room = exchange->header_room == 0 ? FIRST_HEADER_BYTES : 2 * exchange->header_room;
        room = room < wanted ? wanted : room;
        unsigned char *larger = realloc(exchange->headers, room);
        if (larger == NULL)
            return false;
        exchange->headers = larger;
        exchange->header_room = room;
    }
    unsigned char *at = exchange->headers + used;
    memcpy(at, &header, sizeof header);
    memcpy(at + sizeof header, name, name_size + 1);
    memcpy(at + sizeof header + name_size + 1, value, value_size + 1);
    exchange->header_bytes = wanted;
    exchange->header_text += name_size + value_size + 2;
    return true;
}

/* The value of the next header called NAME from *position on, which moves behind it; NULL when
 * there is none. */
static const char *next_value(const struct exchange *exchange, const char *name, size_t name_size,
                              size_t *position)
{
    while (*position < exchange->header_bytes) {
        struct header header;
        const unsigned char *at = exchange->headers + *position;
        memcpy(&header, at, sizeof header);
        const char *found = (const char *)at + sizeof header;
        *position += sizeof header + (size_t)header.name_size + header.value_size + 2;
        if (header.name_size == name_size && strcasecmp(found, name) == 0)
            return found + name_size + 1;
    }
    return NULL;
}

const char *exchange_header(const struct exchange *exchange, const char *name)
{
    size_t position = 0;
    return next_value(exchange, name, strlen(name), &position);
}

unsigned exchange_header_count(const struct exchange *exchange, const char *name)
{
    size_t position = 0, size = strlen(name);
    unsigned count = 0;
    while (next_value(exchange, name, size, &position) != NULL)
        count++;
    return count;
}

bool exchange_read_framing(struct exchange *exchange)
{
    const char *coding = exchange_header(exchange, "Transfer-Encoding");
    const char *length = exchange_header(exchange, "Content-Length");
    const char *expect = exchange_header(exchange, "Expect");
    exchange->expects_continue = expect != NULL && strcasecmp(expect, "100-continue") == 0;
    if (exchange_header_count(exchange, "Content-Length") > 1 ||
        exchange_header_count(exchange, "Transfer-Encoding") > 1)
        return false;
    if (coding != NULL && (length != NULL || strcasecmp(coding, "chunked") != 0))
        return false;
    if (length != NULL) {
        char *end = NULL;
        if (length[0] < '0' || length[0] > '9')
            return false;
        exchange->announced = strtoull(length, &end, 10);
        return *end == '\0';
    }
    if (coding == NULL)
        exchange->announced = 0;
    return true;
}

bool exchange_is_slow(const struct exchange *exchange, unsigned patience_s)
{
    int64_t allowed_s = (int64_t)patience_s + (int64_t)(exchange->received / SLOWEST_BYTES_PER_S);
    return exchange_now_us() - exchange->started_us > allowed_s * 1000000;
}

bool exchange_add_body(struct exchange *exchange, const void *bytes, size_t size,
                       uint64_t most_of_all)
{
    size_t used = exchange->request.body_size;
    if (size > SIZE_MAX / 4 - used)
        return false;
    if (used + size > exchange->body_capacity) {
        size_t wanted = exchange->body_capacity * 2;
        if (wanted < FIRST_BODY_BYTES)
            wanted = FIRST_BODY_BYTES;
        if (wanted < used + size)
            wanted = used + size;
        size_t more = wanted - exchange->body_capacity;
        if (atomic_fetch_add(exchange->body_account, more) + more > most_of_all) {
            atomic_fetch_sub(exchange->body_account, more);
            return false;
        }
        unsigned char *larger = realloc(exchange->body, wanted);
        if (larger == NULL) {
            atomic_fetch_sub(exchange->body_account, more);
            return false;
        }
        exchange->body = larger;
        exchange->body_capacity = wanted;
    }
    memcpy(exchange->body + used, bytes, size);
    exchange->request.body = exchange->body;
    exchange->request.body_size = used + size;
    return true;
}

void exchange_finish(struct exchange *exchange)
{
    api_ahead_free(exchange->request.ahead); /* not to wait for a client that reads slowly */
    exchange->request.ahead = NULL;
    atomic_store(&exchange->reply_ready, true);
    if (exchange->pipe != NULL)
        body_pipe_done(exchange->pipe);
    else
        exchange->resume(exchange->connection);
    exchange_let_go(exchange);
}
