/* State and sending, which the two files of the HTTP server share. */
#ifndef TACET_SERVER_HTTPD_REPLY_H
#define TACET_SERVER_HTTPD_REPLY_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "server/exchange.h"
#include "server/httpd.h"
#include "server/request_log.h"

struct httpd {
    struct httpd_settings settings;
    struct MHD_Daemon *daemon;
    struct admitted *admitted;
    atomic_bool draining;
    atomic_uint_fast64_t buffered_bytes;
    atomic_uint_fast64_t requests; /* how many there were, for their ids */
    unsigned char request_key[16]; /* of the hash that makes them */
    struct request_log log;        /* the socket thread's, until httpd_stop has ended it */
};

/* Suspends an MHD_Connection. */
void httpd_suspend(void *connection);

/* Resumes an MHD_Connection. */
void httpd_resume(void *connection);

/* Replaces the exchange's reply by the problem SLUG. */
void httpd_fill_problem(struct httpd *httpd, struct exchange *exchange, const char *slug,
                        const char *detail);

/* Queues the reply, which is ready, then logs and counts it. The library owns the body afterwards.
 */
enum MHD_Result httpd_send_reply(struct httpd *httpd, struct exchange *exchange);

#endif
