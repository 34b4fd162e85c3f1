/* The commonest question to a teacher, {"state":[numbers]}, read without building a tree: a tree
 * takes a tenth of a query's time. Whatever looks otherwise is left to json_text.h, whose errors
 * callers know. */
#ifndef TACET_API_STATE_SCAN_H
#define TACET_API_STATE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATE_SCAN_MAX 64 /* numbers */

struct state_scan {
    uint32_t count;
    double numbers[STATE_SCAN_MAX]; /* finite */
};

/* Reads SIZE bytes that are an object with the one member "state", an array of at most
 * STATE_SCAN_MAX numbers, all written by the rules of RFC 8259. False: they are something else, be
 * it wrong or only unusual; *OUT is then undefined. True only for what json_text_parse would read
 * too, and to the same values. */
bool state_scan(const unsigned char *bytes, size_t size, struct state_scan *out);

#endif
