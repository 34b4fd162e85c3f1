/* State and sending, which the files of the HTTP server share. */
#ifndef TACET_SERVER_HTTPD_REPLY_H
#define TACET_SERVER_HTTPD_REPLY_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server/exchange.h"
#include "server/guests.h"
#include "server/httpd.h"
#include "server/rates.h"
#include "server/request_log.h"

struct httpd_held { /* httpd_hold.h */
    struct exchange *oldest, *newest;
    unsigned count;
};

struct httpd {
    struct httpd_settings settings;
    struct MHD_Daemon *daemon;
    struct admitted *admitted;
    bool parses_in_place; /* the library, as head_check.h describes */
    pthread_t thread;
    int wake;           /* an eventfd: ends the thread's wait; -1: there is none */
    atomic_bool woken;  /* it was written to, and the thread has not seen it yet */
    bool listens;       /* the thread's own: new connections are taken */
    int64_t stalled_us; /* since when the library takes none until one has ended; 0: it does */
    atomic_bool draining, stopping;
    struct exchange_account account;
    struct shares clients, addresses;
    struct guests *guests;
    struct rates client_rates, address_rates; /* the thread's own, as what is held */
    struct httpd_held held;
    atomic_uint_fast64_t requests; /* how many there were, for their ids */
    unsigned char request_key[16]; /* of the hash that makes the ids */
    struct request_log log;        /* the socket thread's, until httpd_stop has ended it */
};

/* Suspends an MHD_Connection. */
void httpd_suspend(void *connection);

/* Resumes an MHD_Connection. */
void httpd_resume(void *connection);

/* Ends the wait of the socket thread. Any thread. */
void httpd_wake(struct httpd *httpd);

/* Whose connection it is. */
struct guest *httpd_guest(struct MHD_Connection *connection);

/* The library's callback for requests. It calls again and again for one request: once with the
 * headers, for each piece of the body, at its end, and after each resume. */
enum MHD_Result httpd_on_request(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *bytes,
                                 size_t *size, void **request_context);

/* Replaces the exchange's reply by the problem SLUG. */
void httpd_fill_problem(struct httpd *httpd, struct exchange *exchange, const char *slug,
                        const char *detail);

/* Queues the reply, which is ready, then logs and counts it. The library owns the body afterwards.
 */
enum MHD_Result httpd_send_reply(struct httpd *httpd, struct exchange *exchange);

#endif
