/* The process that watches the keys of an issuer. Within server/. */
#ifndef TACET_SERVER_ISSUER_WATCH_H
#define TACET_SERVER_ISSUER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* What comes through the pipe, before SIZE bytes: the text of the keys, or why there is none. */
struct issuer_message {
    uint32_t size;
    uint32_t good;
};

/* NULL: SOURCE is a file, or an address that may be fetched: https, or http to this machine.
 * Otherwise a sentence (static text). */
const char *issuer_source_wrong(const char *source);

/* True when SOURCE is an address. */
bool issuer_is_address(const char *source);

/* Sends what SOURCE holds through OUT, now and whenever it has changed; a file is read each second,
 * an address every five minutes. Is a process of its own, and ends it when OUT is closed. */
_Noreturn void issuer_watch(const char *source, int out);

#endif
