/* Tests of bad input: a server on which nothing may have changed at the end. */
#ifndef TACET_TESTS_HTTP_REFUSALS_H
#define TACET_TESTS_HTTP_REFUSALS_H

#include <stdint.h>

#include "tests/http/scene.h"

struct refusals {
    struct server_process server;
    struct scene scene;
    char dataset[64], uploads[128]; /* one without anything in it, and the path of its uploads */
    char *books;                    /* the ledger's accounts as they were */
};

/* There is a teacher that was asked once, and the empty dataset. Bodies may have 64 KiB. */
void refusals_open(struct refusals *room);

/* Nothing was stored, nothing charged, and the server is ready; ends it. */
void refusals_close(struct refusals *room);

/* The answer to CALL is STATUS with /problems/SLUG; POINTER (NULL: none) is among its errors, at
 * LINE (0: none). */
void refusals_expect(const struct refusals *room, const struct http_call *call, long status,
                     const char *slug, const char *pointer, int64_t line);

#endif
