/* One HTTP request on its way: what was received, where it runs, what will be answered. It is made
 * by the socket thread, handed to a lane, and comes back with its reply.
 *
 * The connection and the lane may both hold an exchange. The last to let go frees it, so a client
 * may hang up in the middle of its upload. */
#ifndef TACET_SERVER_EXCHANGE_H
#define TACET_SERVER_EXCHANGE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "memory/buffer.h"
#include "server/body_pipe.h"
#include "server/rates.h"
#include "server/shares.h"

#define EXCHANGE_HEADER_BYTES 8192 /* names and values of one request */
#define EXCHANGE_URI_BYTES    8192

enum exchange_stage {                  /* only the socket thread looks at it */
                      STAGE_NEW,       /* the headers were not looked at yet */
                      STAGE_BODY,      /* collecting the body in memory */
                      STAGE_DISCARD,   /* the reply is known; the rest of the body is thrown away
                                          first */
                      STAGE_OVER_RATE, /* suspended for a moment; it is refused afterwards */
                      STAGE_HELD,   /* stream: suspended behind its headers until somebody wants the
                                       body */
                      STAGE_STREAM, /* stream: the body flows through the pipe */
                      STAGE_WAITING, /* suspended, or about to be resumed: a lane makes the reply */
};

struct exchange_pace {       /* how fast a body must come */
    uint64_t patience_s;     /* from the start, however small it is */
    uint64_t least_rate;     /* bytes a second, beside that */
    uint64_t whole_s;        /* in all, in memory */
    uint64_t whole_upload_s; /* in all, through a pipe */
};

struct exchange_account { /* of bodies in memory */
    atomic_uint_fast64_t bytes;
    uint64_t most;
    struct shares *clients, *addresses;
};

enum exchange_room {
    EXCHANGE_ROOM,
    EXCHANGE_SHARE_FULL, /* the client or the address has too much of it */
    EXCHANGE_ALL_FULL,
};

struct exchange {
    struct api_request request;
    struct sockaddr_in6 from; /* what request.address points to: of IPv4 or IPv6 */
    struct api_reply reply;
    struct api_route_info route;
    struct exchange *next;    /* in a lane's queue */
    struct lane_share *share; /* in a lane: what its caller has there, the lane's own */
    struct body_pipe *pipe;   /* stream lane only */
    void *connection;
    void (*resume)(void *connection);
    char caller[API_ID_SIZE]; /* the client's id; "": not known */
    uint64_t client;          /* a number that stands for the caller; 0: not known */
    uint64_t address;         /* the same for the address */
    atomic_uint holders;
    atomic_bool reply_ready;

    /* the socket thread's own */
    enum exchange_stage stage;
    bool answered;  /* the reply was handed to the socket */
    bool too_large; /* a streamed body grew past its limit: the reply will say that */
    bool expects_continue;
    bool headers_lost; /* they were too many */
    bool counted;      /* among the requests in flight */
    bool must_close;
    bool unread;               /* must_close, and a body was not read */
    unsigned left;             /* in the bucket of rates */
    const struct rates *rates; /* in which it was counted; NULL: none */
    bool streams;              /* holds one of its client's event streams */
    uint64_t received;
    uint64_t announced; /* Content-Length; UINT64_MAX for chunks, whose sum is not known */
    int64_t started_us; /* of the monotonic clock; moved on by the time we held it up */
    int64_t begun_us;   /* never moved */
    int64_t suspended_us;
    unsigned char certificate[32]; /* what request.certificate points to */
    struct buffer body;
    struct exchange_account *account;
    size_t charged; /* to the account and to both shares */
    char method[24];
    char *uri;                       /* owned */
    const char *uri_begin, *uri_end; /* in the library's memory: only for comparing */
    struct buffer headers;           /* name NUL value NUL, again and again */
};

/* A new exchange for URI ("/v1/x?y", also "http://host/v1/x?y"), held once, its request id empty.
 */
struct exchange *exchange_new(const char *uri);

/* Adds a holder. The socket thread does so for a lane before another thread can see the exchange.
 */
void exchange_hold(struct exchange *exchange);

/* Removes a holder; the last one frees the exchange. */
void exchange_let_go(struct exchange *exchange);

/* Keeps a header. False: all headers together are more than EXCHANGE_HEADER_BYTES. */
bool exchange_add_header(struct exchange *exchange, const char *name, const char *value);

/* The value of the request's first header NAME, in upper or lower case; NULL when absent. */
const char *exchange_header(const struct exchange *exchange, const char *name);

/* Reads from the headers how the body is sent (announced, expects_continue). False: the headers
 * give two lengths, or a length and chunks. A proxy could then see another end of the body (RFC
 * 9112, section 6.3). */
bool exchange_read_framing(struct exchange *exchange);

/* True when the body takes longer than PACE allows. Time in which we held the connection does not
 * count. */
bool exchange_is_slow(const struct exchange *exchange, const struct exchange_pace *pace);

/* Appends to the body in memory. Where there is no room, all of the body is dropped. */
enum exchange_room exchange_add_body(struct exchange *exchange, const void *bytes, size_t size);

/* The lane has filled exchange->reply: resumes the connection and removes the lane's hold. The
 * caller must not touch the exchange afterwards. */
void exchange_finish(struct exchange *exchange);

#endif
