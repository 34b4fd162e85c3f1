/* The process that watches the keys of an issuer. Within server/. */
#ifndef TACET_SERVER_ISSUER_WATCH_H
#define TACET_SERVER_ISSUER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "api/identity/jwks.h"

/* What comes as one packet: the text of the keys, or why there is none. */
struct issuer_message {
    uint32_t size;
    uint32_t good;
    char text[JWKS_BYTES_MOST + 1]; /* SIZE bytes */
};

/* NULL: SOURCE is a file, or an address that may be fetched: https, or http to this machine.
 * Otherwise a sentence (static text). */
const char *issuer_source_wrong(const char *source);

/* True when SOURCE is an address. */
bool issuer_is_address(const char *source);

/* Sends what SOURCE holds through OUT, a socket of packets, now and whenever it has changed. A file
 * is read each second. An address is fetched every five minutes, and early when a packet comes from
 * the other end, at most once a minute. Is a process of its own, which starts the one that reads
 * anew when that dies; ends when the other end is closed. */
_Noreturn void issuer_watch(const char *source, int out);

#endif
