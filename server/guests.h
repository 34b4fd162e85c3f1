/* Open connections: whose they are, until when they may be silent or slow, and which must go.
 *
 * libmicrohttpd knows one time: how long a connection may be silent. A connection that sends a byte
 * now and then lives for ever. So each connection has a deadline here while it sends a head or
 * receives an answer, and a thread shuts the socket down when it has passed; the library then
 * closes it. (A body's pace is looked at when a piece of it comes: exchange.h.)
 *
 * When all places are taken, the oldest connection that never sent a token makes room, whether it
 * sends a head or takes an answer; first one of the same address if that has more than its share.
 * Where none can go, the new one is answered with 429 or 503.
 *
 * A connection that was answered before its body was read lingers: what still comes is thrown away
 * for a moment, because closing a socket with unread bytes would take the answer back. */
#ifndef TACET_SERVER_GUESTS_H
#define TACET_SERVER_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "server/shares.h"

struct guests;
struct guest;

struct guests_settings {
    unsigned places;         /* connections at once */
    unsigned head_timeout_s; /* for a connection's first head */
    unsigned idle_timeout_s; /* and so much more for the next one */
    unsigned answer_timeout_s;
    uint64_t least_rate;                /* bytes a second at which an answer must be taken */
    struct shares *addresses, *clients; /* addresses NULL: they have no limit */
    void *host;                         /* what guest_host gives */
};

enum guest_welcome {
    GUEST_WELCOME,
    GUEST_SHARE_FULL, /* its client or its address has too many connections */
    GUEST_ALL_FULL,
};

/* Starts the thread. NULL: it cannot be started. */
struct guests *guests_start(const struct guests_settings *settings);

/* Ends the thread and frees; every guest has left. NULL is fine. */
void guests_stop(struct guests *guests);

/* A connection was opened; its socket stays open until it leaves. */
struct guest *guests_enter(struct guests *guests, int handle, const struct sockaddr *address);

/* The connection is about to be closed; GUEST is freed. */
void guests_leave(struct guests *guests, struct guest *guest);

/* A head has come: no deadline until the answer. Says whether the connection may be used. */
enum guest_welcome guests_head_came(struct guests *guests, struct guest *guest);

/* The head was sent by CLIENT. */
enum guest_welcome guests_known(struct guests *guests, struct guest *guest, uint64_t client);

/* An answer of SIZE bytes is being sent. LINGERS: a body was not read, and the connection ends. */
void guests_answer(struct guests *guests, struct guest *guest, uint64_t size, bool lingers);

/* A stream of events is being sent, which ends when it ends. */
void guests_stream(struct guests *guests, struct guest *guest);

/* Ends a connection, so that another one can begin: the oldest that sends a head or takes an
 * answer, else the oldest that takes a stream. */
void guests_end_one(struct guests *guests);

/* The answer was sent: the next head may come. */
void guests_answered(struct guests *guests, struct guest *guest);

/* The number of the connection's address, as its shares know it; 0: it has no limit. */
uint64_t guest_address(const struct guest *guest);

/* The host of its settings. Any thread, while the connection is open. */
void *guest_host(const struct guest *guest);

/* What is known of a connection's TLS client certificate. */
struct guest_certificate {
    bool looked, good;
    unsigned char hash[32];
};

/* The place of that, zero at first. The socket thread's own, until the connection is closed. */
struct guest_certificate *guest_certificate(struct guest *guest);

#endif
