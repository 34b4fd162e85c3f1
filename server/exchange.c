/* The life of one HTTP request in memory; knows neither sockets nor meaning. */
#include "server/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define FIRST_BODY_BYTES    ((size_t)1024)
#define SLOWEST_BYTES_PER_S 1024

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

struct exchange *exchange_new(const char *uri, const char *request_id)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL)
        return NULL;
    exchange->uri = strdup(uri);
    if (exchange->uri == NULL) {
        free(exchange);
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
    body_pipe_free(exchange->pipe);
    free(exchange->body);
    free(exchange->headers);
    free(exchange->uri);
    free(exchange);
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

bool exchange_add_header(struct exchange *exchange, const char *name, const char *value)
{
    size_t name_size = strlen(name) + 1;
    size_t value_size = strlen(value) + 1;
    size_t used = exchange->header_bytes;
    if (name_size > EXCHANGE_HEADER_BYTES || value_size > EXCHANGE_HEADER_BYTES ||
        used + name_size + value_size > EXCHANGE_HEADER_BYTES)
        return false;
    size_t wanted = used + name_size + value_size;
    if (exchange->headers == NULL || wanted > 512) {
        char *larger = realloc(exchange->headers, wanted < 512 ? 512 : wanted);
        if (larger == NULL)
            return false;
        exchange->headers = larger;
    }
    memcpy(exchange->headers + used, name, name_size);
    memcpy(exchange->headers + used + name_size, value, value_size);
    exchange->header_bytes = wanted;
    return true;
}

/* The value of the header at *position, which moves on; NULL when there are no more. */
static const char *next_header(const struct exchange *exchange, size_t *position, const char **name)
{
    if (*position >= exchange->header_bytes)
        return NULL;
    *name = exchange->headers + *position;
    const char *value = *name + strlen(*name) + 1;
    *position = (size_t)(value + strlen(value) + 1 - exchange->headers);
    return value;
}

const char *exchange_header(const struct exchange *exchange, const char *name)
{
    size_t position = 0;
    const char *value, *found = NULL;
    while ((value = next_header(exchange, &position, &found)) != NULL)
        if (strcasecmp(found, name) == 0)
            return value;
    return NULL;
}

unsigned exchange_header_count(const struct exchange *exchange, const char *name)
{
    size_t position = 0;
    unsigned count = 0;
    const char *found = NULL;
    while (next_header(exchange, &position, &found) != NULL)
        count += strcasecmp(found, name) == 0;
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
    atomic_store(&exchange->reply_ready, true);
    if (exchange->pipe != NULL)
        body_pipe_done(exchange->pipe);
    else
        exchange->resume(exchange->connection);
    exchange_let_go(exchange);
}
