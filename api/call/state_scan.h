/* The commonest questions to a teacher, {"state":[numbers]} and {"states":[[numbers],...]}, read
 * without building a tree: a tree takes a tenth of a query's time, and a fourth of that of many
 * states. Whatever looks otherwise is left to json_text.h, whose errors callers know. */
#ifndef TACET_API_CALL_STATE_SCAN_H
#define TACET_API_CALL_STATE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct state_scan {
    bool batch;      /* "states" */
    uint32_t count;  /* states */
    uint32_t dim;    /* numbers of each */
    double *numbers; /* finite, one state after the other */
};

/* Numbers that a body of SIZE bytes may hold at most. */
#define STATE_SCAN_ROOM(size) ((size) / 2 + 1)

/* Reads SIZE bytes that are an object with the one member "state", an array of numbers, or
 * "states", an array of such arrays of one length, all written by the rules of RFC 8259, into
 * out->numbers, which the caller sets and which has room for STATE_SCAN_ROOM(SIZE). False: they are
 * something else, be it wrong or only unusual; the rest of *OUT is then undefined. True only for
 * what json_text_parse would read too, and to the same values. */
bool state_scan(const unsigned char *bytes, size_t size, struct state_scan *out);

#endif
