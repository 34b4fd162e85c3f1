/* HTTP calls from a subcommand to a Tacet server. No other file of cli/ makes any.
 *
 * A call is repeated, under the same Idempotency-Key and with growing pauses, while the server
 * cannot be reached, is overloaded or is being started again (408, 425, 429, 502, 503, 504); a
 * Retry-After is heeded. Any other refusal ends the call at once, with one line made from the
 * problem+json. A POST without a key is repeated only where the server cannot have acted on it.
 * Redirects are not followed, so that a token goes only to the server it is for. */
#ifndef TACET_CLI_HTTP_OUT_H
#define TACET_CLI_HTTP_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/wire/problem_line.h"

#define HTTP_OUT_PATIENCE_S 300 /* a fit default for PATIENCE_S */

/* A row of a table of flags whose option MEMBER becomes ca_file. Every subcommand that makes calls
 * has it: a refused certificate is explained with it. */
#define HTTP_OUT_FLAG_CA(MEMBER)                                                                   \
    {                                                                                              \
        "ca-file", AS_TEXT(MEMBER), NULL, "FILE",                                                  \
            "certificates (PEM) to trust instead of the system's", 0                               \
    }

/* Texts are copied. */
struct http_out_settings {
    const char *base;    /* "https://host[:port][/prefix]" */
    const char *token;   /* goes out as Authorization: Bearer; NULL: none */
    const char *ca_file; /* PEM of the authorities to trust; NULL: the system's */
    /* How long, in seconds, one call may go on failing before it is given up. Before the server has
     * answered for the first time, a mistyped address is likelier than an outage: then at most 5.
     */
    unsigned patience_s;
    /* Called before each pause with one line, WHY; may be NULL. */
    void (*waiting)(void *context, const char *why, double seconds);
    void *context;
};

/* One server, one connection, one thread at a time. */
struct http_out;

/* NULL, with *out for http_out_close, or a sentence (static text) about what is wrong with the
 * settings. Nothing is sent yet. */
const char *http_out_open(const struct http_out_settings *settings, struct http_out **out);

/* As http_out_open, for the server at BASE with TOKEN and CA_FILE, and the default patience. */
const char *http_out_open_simple(const char *base, const char *token, const char *ca_file,
                                 struct http_out **out);

/* Wipes the token and frees. NULL is fine. */
void http_out_close(struct http_out *out);

struct http_out_call {
    const char *method;           /* "POST" */
    const char *path;             /* "/v1/datasets?page_size=3", percent-encoded */
    const char *key;              /* Idempotency-Key; NULL: none */
    const char *content_type;     /* of the body; NULL: application/json */
    const char *content_encoding; /* of the body; NULL: none */
    const char *header;           /* one more, as "If-Match: \"3\""; NULL: none */
    const void *body;             /* borrowed for the call; NULL: none */
    size_t body_size;
};

enum http_out_status {
    HTTP_OUT_OK,          /* 2xx */
    HTTP_OUT_REFUSED,     /* the server said no */
    HTTP_OUT_UNREACHABLE, /* patience ran out, or trying again would be of no use */
};

/* The answer to a call, valid until the next call of the same OUT. */
struct http_out_answer {
    long http;        /* its status; 0: none came */
    const char *body; /* NUL-terminated, at most 16 MiB */
    size_t size;
    bool replayed;               /* the server had done this call before, under the same key */
    unsigned attempts;           /* 1: it went well at once */
    struct problem_line problem; /* unless HTTP_OUT_OK: its text says why, in one line */
};

/* Makes one call. Blocks for at most patience_s plus the time of a transfer. A transfer without
 * progress for five minutes has failed. */
enum http_out_status http_out_do(struct http_out *out, const struct http_out_call *call,
                                 struct http_out_answer *answer);

/* Makes a GET of PATH. */
enum http_out_status http_out_get(struct http_out *out, const char *path,
                                  struct http_out_answer *answer);

/* Makes a POST of BODY, a JSON text, under a fresh random key. */
enum http_out_status http_out_post(struct http_out *out, const char *path, const char *body,
                                   struct http_out_answer *answer);

#define HTTP_OUT_KEY_BYTES 16
#define HTTP_OUT_KEY_SIZE  37

/* Writes a key that names the time MS, as a server wants that keeps answers for a time or was
 * restored: a UUID of version 7 (RFC 9562, section 5.7) of BYTES, whose first are overwritten. */
void http_out_key(int64_t ms, unsigned char bytes[HTTP_OUT_KEY_BYTES], char out[HTTP_OUT_KEY_SIZE]);

/* A header of the last answer, any case; NULL when it had none. Valid until the next call. */
const char *http_out_header(struct http_out *out, const char *name);

/* True when BASE is plain HTTP to another machine: others on the network could then read all that
 * is sent, the token included. */
bool http_out_in_clear(const char *base);

#endif
