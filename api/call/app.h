/* State that all threads share for the life of the process. Read-only after api_open, except where
 * a member's comment says otherwise. A family that needs something of its own adds a member here
 * and two lines in app.c. */
#ifndef TACET_API_CALL_APP_H
#define TACET_API_CALL_APP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/call/settings.h"

#define PAGE_FILES    4  /* of embedded.h */
#define PAGE_TAG_SIZE 35 /* 32 hexadecimal digits in quotes, and NUL */

struct passes;
struct refusals;
struct shelf;
struct teacher_noise;

struct app {
    struct api_settings settings;
    unsigned char public_key[32]; /* Ed25519: of signing.key, the first one of signing_keys.h */
    unsigned char *secret_key;    /* 64 bytes of guarded memory; its seed derives and seals */
    char key_id[17];              /* of the public key, whichever signs: the log's name has it */
    char log_origin[128];         /* of the ledger's log (tlog.h) */
    struct shelf *teachers;       /* each of these four has a lock of its own */
    struct shelf *q_releases;
    struct teacher_noise *noise;
    struct passes *passes;
    struct refusals *refusals; /* for the audit trail; with a lock of its own */
    /* Earlier answers may be gone. Only grows; raised by api_prune, which alone has the others. */
    _Atomic int64_t answers_from_ms;
    int64_t answers_seen, entries_seen;        /* the last rows that it has seen */
    int64_t tiles_next;                        /* of the log: where it goes on */
    char page_tags[PAGE_FILES][PAGE_TAG_SIZE]; /* ETags of the embedded files */
};

#endif
