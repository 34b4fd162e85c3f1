/* The socket thread. It receives HTTP requests, hands them to their lanes as exchanges, and sends
 * the replies. Only httpd uses libmicrohttpd. */
#ifndef TACET_SERVER_HTTPD_H
#define TACET_SERVER_HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "server/events.h"
#include "server/lane.h"
#include "server/metrics.h"

struct httpd;

/* Everything pointed to outlives the httpd. */
struct httpd_settings {
    struct app *app;
    struct db *db; /* the socket thread's own, to know callers at their headers */
    struct lane *batch, *pool, *plans, *uploads;
    struct events *events;
    struct metrics *metrics;
    void (*accepted)(void *context); /* work for later was accepted (202); NULL for nobody */
    void *accepted_context;
    const char *tls_cert, *tls_key; /* PEM texts; NULL for plain HTTP */
    struct tls_keys *tls_keys;      /* what connections get instead, which may be renewed */
    const char *tls_client_ca;      /* PEM; NULL: no client is asked for a certificate */
    const char *tls_priorities;     /* of GnuTLS */
    unsigned connections;           /* open at most */
    unsigned connections_per_ip;    /* 0: an address has no limits of its own */
    unsigned connections_per_client;
    unsigned client_rate, address_rate; /* requests a second; 0: any number */
    unsigned head_timeout_s;            /* for the head of a request */
    unsigned idle_timeout_s;            /* a silent connection is closed */
    struct exchange_pace pace;          /* of bodies; answers are sent at the same one */
    uint64_t max_buffered_bytes;        /* bodies in memory, all requests together */
    uint64_t max_body_bytes;            /* the largest body that is held in memory */
    unsigned event_streams;             /* at once */
    bool access_log;                    /* a log line for every request, not only for refusals */
};

/* Starts the thread on LISTEN_SOCKET, which it takes. NULL: the socket is still the caller's, and
 * ERROR says why. */
struct httpd *httpd_start(const struct httpd_settings *settings, int listen_socket, char *error,
                          size_t error_size);

/* Refuses new connections. New requests on open connections are told that we are shutting down. */
void httpd_drain(struct httpd *httpd);

/* Closes all connections and ends the thread. Before, every request was answered and every event
 * stream ended. NULL is fine. */
void httpd_stop(struct httpd *httpd);

/* Frees the httpd. To be called after the lanes were stopped, because a lane's thread may still let
 * go of an exchange whose connection is gone. NULL is fine. */
void httpd_free(struct httpd *httpd);

#endif
