/* One request as bytes, and the reply as bytes. The server fills the first and sends the second;
 * nothing here knows a socket. */
#ifndef TACET_API_CALL_REQUEST_H
#define TACET_API_CALL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/byte_reader.h"

struct db;
struct app;
struct route;

/* Where a route wants to run. */
enum api_lane {
    API_LANE_BATCH, /* short: many requests share one transaction and one fsync on the committer's
                       thread */
    API_LANE_POOL,  /* may compute for a while: a pool thread, its own transaction */
    API_LANE_PLAN,  /* prices, plans or forecasts, which takes longest: as POOL, with threads of its
                       own, so that nothing else waits for it */
    API_LANE_STREAM, /* reads its body as it arrives: a pool thread */
    API_LANE_INLINE, /* static bytes: answered where it came in */
};

struct sockaddr;

struct api_request {
    const char *method; /* "GET" ... */
    const char *path;   /* percent-encoded as received, without the query */
    const char *query;  /* after '?', percent-encoded, or "" */
    void *header_context;
    const char *(*header)(void *context, const char *name); /* NULL when absent; case-insensitive */
    const unsigned char *body; /* complete body for all lanes but STREAM */
    size_t body_size;
    struct byte_reader reader; /* STREAM only */
    char request_id[40];
    /* The SHA-256, 32 bytes, of a TLS client certificate that verified; NULL: there is none. */
    const unsigned char *certificate;
    const struct sockaddr *address; /* where it came from; NULL: it is not known */
    const struct route *route;      /* from api_route; NULL: api_serve finds it */
};

#define API_REPLY_HEADERS 12  /* the fullest is a repeated job with CORS: 9 */
#define API_HEADER_SIZE   400 /* bytes of a value, its NUL included */

/* Server-sent events: NEXT sets *OUT to the text of events that are due, which the caller frees;
 * NULL: nothing now, ask again in a second. False, with NULL: the stream is over. FREE ends it.
 * Called from one thread at a time with that thread's connection. */
struct api_events {
    void *context;
    bool (*next)(void *context, struct app *app, struct db *db, char **out);
    void (*free)(void *context);
};

struct api_reply {
    int status;
    const char *problem;      /* slug of the problem that it tells, static text; NULL: none */
    const char *content_type; /* static text */
    char *body;               /* owned by the reply; NULL when static_body or empty */
    const char *static_body;  /* lives as long as the process */
    size_t body_size;
    struct {
        const char *name; /* static text */
        char value[API_HEADER_SIZE];
    } headers[API_REPLY_HEADERS];
    unsigned header_count;
    struct api_events events; /* next != NULL: an event stream instead of a body */
};

/* Frees the body and ends the stream of REPLY, which then is empty. */
void api_reply_clear(struct api_reply *reply);

#endif
