/* Calls over libcurl, and raw sockets for what a well-behaved client cannot do. */
#ifndef TACET_TESTS_HTTP_HTTP_CLIENT_H
#define TACET_TESTS_HTTP_HTTP_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/http/server_process.h"

/* A keep-alive connection of one thread. */
struct http_client;
struct http_client *http_client_new(const struct server_process *server);
void http_client_free(struct http_client *client);
/* The server was started again and may have another port. */
void http_client_move(struct http_client *client, const struct server_process *server);

struct http_call {
    const char *method;
    const char *path;
    const char *token;        /* NULL: none */
    const char *body;         /* NULL: none */
    size_t body_size;         /* 0: strlen(body) */
    const char *content_type; /* NULL: application/json when there is a body */
    const char *key;          /* Idempotency-Key; NULL: none */
    const char *header;       /* one more header line; NULL: none */
    bool chunked;
    bool no_expect;   /* send the body without waiting for "100 Continue" */
    long patience_ms; /* then no answer came, on a new connection; 0: waits for ever */
};

struct http_answer {
    long status; /* 0: no answer came */
    char *body;  /* NUL-terminated */
    size_t size;
    char *headers; /* as they came */
    json_t *json;  /* the parsed body; NULL when it is not JSON */
};

struct http_answer http_do(struct http_client *client, const struct http_call *call);
void http_answer_clear(struct http_answer *answer);

/* The value of a header of the answer, in a buffer that the next call overwrites; NULL if absent.
 */
const char *http_header(const struct http_answer *answer, const char *name);

/* A string member of the answer's JSON; "" when there is none. */
const char *http_text(const struct http_answer *answer, const char *member);

/* Calls, expects STATUS and gives the answer: the test ends otherwise. */
struct http_answer http_expect(struct http_client *client, long status,
                               const struct http_call *call);

/* ---- raw */

int raw_connect(const struct server_process *server);
/* False when the peer has closed. */
bool raw_send(int handle, const char *text);
bool raw_send_bytes(int handle, const char *bytes, size_t size);
/* Reads until the peer closes, or the answer's head is complete and WHOLE is false; the number of
 * bytes. OUT is NUL-terminated. */
size_t raw_receive(int handle, char *out, size_t size, bool whole);

#endif
