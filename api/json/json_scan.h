/* A JSON tokenizer over bytes that arrive: it pulls them from a reader into one buffer of fixed
 * size, so that a document of any length is read in constant memory. Strict RFC 8259 and UTF-8 (RFC
 * 3629). It knows tokens only; json_stream.c knows trajectories. */
#ifndef TACET_API_JSON_JSON_SCAN_H
#define TACET_API_JSON_JSON_SCAN_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/byte_reader.h"

#define JSON_SCAN_BUFFER    65536
#define JSON_SCAN_TOKEN_MAX 1024 /* bytes of a number; of a string that is kept */
#define JSON_SCAN_DEPTH_MAX 32   /* nesting of a value that is skipped */

struct json_scan {
    struct byte_reader reader; /* borrowed */
    unsigned char *at, *end;   /* what is left of the buffer; *end is always 0 */
    uint64_t line;             /* of AT, from 1 */
    bool line_is_token;        /* NDJSON: a line feed is not white space */
    bool finished;             /* the reader has no more */
    bool gone;                 /* the reader failed */
    const char *fault;         /* a sentence about the first thing that was not JSON, or NULL */
    locale_t c_locale;
    unsigned char buffer[JSON_SCAN_BUFFER + 1];
};

/* Begins. READER is borrowed. */
void json_scan_open(struct json_scan *scan, struct byte_reader reader);

/* Frees the locale. */
void json_scan_close(struct json_scan *scan);

/* The next byte after white space, not consumed: 0 at the end (and for a NUL, which is no JSON). */
unsigned char json_scan_peek(struct json_scan *scan);

/* True when the bytes are used up. */
bool json_scan_at_end(struct json_scan *scan);

/* True when the bytes that come next are these SIZE ones; consumes nothing. */
bool json_scan_begins(struct json_scan *scan, const char *bytes, size_t size);

/* True when BYTE comes before the next line feed and within MOST bytes; consumes nothing. */
bool json_scan_line_has(struct json_scan *scan, char byte, size_t most);

/* Consumes BYTE after white space, or faults with WHAT ("expected ':' ..."). */
bool json_scan_expect(struct json_scan *scan, char byte, const char *what);

/* What a number was. */
struct json_number_token {
    float value;     /* nearest float32 (ties to even); +-HUGE_VALF beyond its range */
    uint64_t digits; /* of an integer without sign, fraction and exponent */
    bool integer;    /* it was one, of at most 18 digits */
};

/* Consumes a number, or faults. */
bool json_scan_number(struct json_scan *scan, struct json_number_token *out);

/* Consumes a string and writes its decoded bytes to OUT with a NUL; *out_size is their number
 * without it. Of a longer string the first SIZE - 1 bytes are kept and *out_cut set. An escaped
 * U+0000 is a fault. */
bool json_scan_string(struct json_scan *scan, char *out, size_t size, size_t *out_size,
                      bool *out_cut);

/* Consumes true or false, or faults. */
bool json_scan_bool(struct json_scan *scan, bool *out);

/* Consumes any value; DEPTH is how deep it stands already. */
bool json_scan_skip(struct json_scan *scan, unsigned depth);

/* Goes to the next line, whatever comes before it, and forgets the fault. False at the end. */
bool json_scan_next_line(struct json_scan *scan);

/* Notes the fault unless there is one; gives false. */
bool json_scan_fault(struct json_scan *scan, const char *fault);

#endif
