/* Keys and stored answers. */
#include "api/call/idempotency.h"

#include <assert.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/auth.h"
#include "api/call/charged.h"
#include "api/call/commitment.h"
#include "api/call/reply.h"
#include "api/call/retention.h"
#include "storage/answers/answers.h"
#include "storage/endings.h"

#define KEY_MAX           255
#define FINGERPRINT_BYTES ANSWER_FINGERPRINT_SIZE

_Static_assert(sizeof(crypto_generichash_state) <= sizeof((struct call *)0)->body_hash,
               "the call has room for the running hash");

static crypto_generichash_state *body_hash(struct call *call)
{
    return (crypto_generichash_state *)(void *)call->body_hash;
}

/* Finds the call's key: in the header or, for some routes, in a member of the body. */
static const char *find_key(const struct call *call)
{
    const char *key = call_request_header(call, "Idempotency-Key");
    if (!key && (call->route->flags & ROUTE_KEY_OR_ID))
        key = json_string_value(json_object_get(call->body, "id"));
    return key;
}

/* 1 to KEY_MAX visible ASCII characters. */
static bool is_key(const char *text)
{
    size_t length = strlen(text);
    bool good = length >= 1 && length <= KEY_MAX;
    for (size_t i = 0; good && i < length; i++)
        good = text[i] > ' ' && text[i] <= '~';
    return good;
}

void idempotency_expect(struct db *db, const struct api_request *request)
{
    char client[ID_SIZE];
    const char *key = request->header(request->header_context, "Idempotency-Key");
    if (key && is_key(key) &&
        auth_claims(request->header(request->header_context, "Authorization"), client))
        answers_expect(db, client, key);
}

enum problem idempotency_key(struct call *call, const char **out_key)
{
    unsigned flags = call->route->flags;
    *out_key = NULL;
    const char *key = find_key(call);
    if (!key && !(flags & (ROUTE_KEY_REQUIRED | ROUTE_KEY_OR_ID)))
        return PROBLEM_NONE;
    if (!key) {
        return call_problem(call, PROBLEM_IDEMPOTENCY_KEY_REQUIRED,
                            "Send Idempotency-Key with a fresh value, such as a UUID%s.",
                            flags & ROUTE_KEY_OR_ID ? ", or the member id" : "");
    }
    if (!is_key(key)) {
        return call_problem(call, PROBLEM_IDEMPOTENCY_KEY_INVALID,
                            "An Idempotency-Key is 1 to %d visible ASCII characters.", KEY_MAX);
    }
    if (!route_writes(call->route) || strcmp(call->request->method, "DELETE") == 0)
        return PROBLEM_NONE;
    *out_key = key;
    return retention_check(call, key);
}

enum problem idempotency_begin_body(struct call *call, const char *key, bool *out_stored)
{
    struct answer_row answer;
    unsigned char bytes[4096];
    long count;
    crypto_generichash_init(body_hash(call), NULL, 0, FINGERPRINT_BYTES);
    *out_stored = false;
    if (!key)
        return PROBLEM_NONE;
    enum db_status status = answers_find(call->db, call->caller.id, key, &answer);
    if (status == DB_NONE)
        return PROBLEM_NONE;
    if (status != DB_OK)
        return call_db(call, status);
    answer_done(&answer);
    while ((count = call_read(call, bytes, sizeof bytes)) > 0)
        continue;
    sodium_memzero(bytes, sizeof bytes);
    *out_stored = count == 0;
    if (count < 0)
        return call_problem(call, PROBLEM_BAD_REQUEST,
                            "The body ended before it was complete. Nothing more was stored.");
    return PROBLEM_NONE;
}

long call_read(struct call *call, unsigned char *buffer, size_t size)
{
    assert(call->route->body == BODY_STREAM);
    const struct byte_reader *reader = &call->request->reader;
    long count = reader->read(reader->context, buffer, size);
    assert(count < 0 || (size_t)count <= size);
    if (count > 0)
        crypto_generichash_update(body_hash(call), buffer, (unsigned long long)count);
    return count;
}

/* The plain hash of method, path, query and body, each closed by a NUL that none of the texts
 * holds. It is not stored, because who guesses the body could check the guess. */
static void hash_call(struct call *call, unsigned char out[FINGERPRINT_BYTES])
{
    const struct api_request *request = call->request;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, FINGERPRINT_BYTES);
    const char *texts[] = {request->method, request->path, request->query};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        crypto_generichash_update(&state, (const unsigned char *)texts[i], strlen(texts[i]) + 1);
    if (call->route->body == BODY_STREAM) {
        /* Finish a copy of the hash, because a transaction may be tried again. */
        unsigned char hash[FINGERPRINT_BYTES];
        crypto_generichash_state body = *body_hash(call);
        crypto_generichash_final(&body, hash, sizeof hash);
        crypto_generichash_update(&state, hash, sizeof hash);
    } else {
        crypto_generichash_update(&state, request->body, request->body_size);
    }
    crypto_generichash_final(&state, out, FINGERPRINT_BYTES);
}

/* The fingerprint that is stored with the answer to a call of hash PLAIN. */
static void print_call(const struct call *call, const unsigned char plain[FINGERPRINT_BYTES],
                       unsigned char out[FINGERPRINT_BYTES])
{
    keyed_hash(call->app, "tacet: fingerprints of calls, 1", plain, FINGERPRINT_BYTES, out,
               FINGERPRINT_BYTES);
}

/* Whether ANSWER was stored for this very call. */
static bool is_answer_to(struct call *call, const struct answer_row *answer)
{
    unsigned char plain[FINGERPRINT_BYTES], print[FINGERPRINT_BYTES];
    hash_call(call, plain);
    print_call(call, plain, print);
    /* Earlier builds stored the plain hash. */
    return sodium_memcmp(print, answer->fingerprint, sizeof print) == 0 ||
           sodium_memcmp(plain, answer->fingerprint, sizeof plain) == 0;
}

/* The stored text of a content type, as static text. */
static const char *static_type(const char *type)
{
    static const char *const known[] = {"application/json", "text/plain; charset=utf-8"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(type, known[i]) == 0)
            return known[i];
    return *type == '\0' ? NULL : "application/octet-stream";
}

/* The headers that are stored with an answer, in their order: one line each, empty where there is
 * none, and none at the end. Earlier versions stored the first alone. */
static const char *const kept_headers[] = {"Location", CHARGED_PRICE, CHARGED_REMAINING};

/* In place of them all: a teacher's answer, whose body has the numbers of its headers. */
static const char as_the_body_says[] = "\n@";

static void give_headers(struct call *call, char *lines)
{
    char *line = lines;
    for (size_t i = 0; line && i < sizeof kept_headers / sizeof *kept_headers; i++) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        if (*line != '\0')
            reply_header_text(call->reply, kept_headers[i], line);
        line = end;
    }
}

/* Writes the reply's headers that are kept as lines into OUT. */
static void take_headers(const struct call *call, char out[ANSWER_HEADERS_SIZE])
{
    if (call->charged_by_body) {
        memcpy(out, as_the_body_says, sizeof as_the_body_says);
        return;
    }
    const struct api_reply *reply = call->reply;
    size_t size = 0, end = 0; /* END: behind the last line that is not empty */
    for (size_t i = 0; i < sizeof kept_headers / sizeof *kept_headers; i++) {
        const char *value = reply_header_value(reply, kept_headers[i]);
        if (i > 0)
            out[size++] = '\n';
        if (!value)
            continue;
        size_t length = strlen(value);
        memcpy(out + size, value, length);
        size += length;
        end = size;
    }
    out[end] = '\0';
}

_Static_assert(ANSWER_HEADERS_SIZE >= sizeof kept_headers / sizeof *kept_headers * API_HEADER_SIZE,
               "the headers of any reply fit");

static enum problem reply_stored(struct call *call, struct answer_row *answer)
{
    call_header(call, "Idempotency-Replayed", "true");
    if (strcmp(answer->headers, as_the_body_says) == 0)
        charged_show_stored(call, answer->body);
    else
        give_headers(call, answer->headers);
    if (answer->body_size == 0) {
        answer_done(answer);
        return call_reply_empty(call, answer->status);
    }
    return call_reply_bytes(call, answer->status, static_type(answer->content_type), answer->body,
                            answer->body_size);
}

/* Refuses to give the answers of a teacher that is deleted: questions are what keys with a date are
 * for. They stay stored, so that no key is ever drawn for twice. */
static enum problem check_given(struct call *call)
{
    bool deleted = false;
    if (!(call->route->flags & ROUTE_DATED_KEY))
        return PROBLEM_NONE;
    enum db_status status = endings_deleted(call->db, call_parameter(call, "id"), &deleted);
    if (status == DB_OK && deleted)
        return call_problem(call, PROBLEM_CLOSED,
                            "The teacher was deleted. It answers no more, and its stored answers "
                            "are not given any more. Nothing was charged.");
    return call_db(call, status);
}

enum problem idempotency_replay(struct call *call, const char *key, bool *out_replayed)
{
    struct answer_row answer;
    /* Again, because answers may have been removed since the request's form was looked at. */
    enum problem problem = retention_check(call, key);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = answers_find(call->db, call->caller.id, key, &answer);
    if (status == DB_NONE)
        return retention_check_new(call, key);
    if (status != DB_OK)
        return call_db(call, status);
    if (!is_answer_to(call, &answer)) {
        answer_done(&answer);
        return call_problem(
            call, PROBLEM_IDEMPOTENCY_KEY_REUSED,
            "This client has used the key for another call, whose answer is "
            "stored; a new call needs a fresh key. Nothing was charged for this one.");
    }
    if ((problem = check_given(call)) != PROBLEM_NONE) {
        answer_done(&answer);
        return problem;
    }
    *out_replayed = true;
    return reply_stored(call, &answer);
}

enum problem idempotency_store(struct call *call, const char *key)
{
    const struct api_reply *reply = call->reply;
    const char *body = reply->static_body ? reply->static_body : reply->body;
    size_t size = reply->body_size;
    if (call->stored_body) {
        body = call->stored_body;
        size = call->stored_size;
    }
    unsigned char plain[FINGERPRINT_BYTES];
    struct answer_row answer = {
        .status = reply->status, .body_size = size, .created_ms = call->now_ms};
    assert(!reply->events.next);
    memcpy(&answer.body, &body,
           sizeof body); /* borrowed by the store, which does not write to it */
    hash_call(call, plain);
    print_call(call, plain, answer.fingerprint);
    if (reply->content_type)
        snprintf(answer.content_type, sizeof answer.content_type, "%s", reply->content_type);
    take_headers(call, answer.headers);
    enum db_status status = answers_store(call->db, call->caller.id, key, &answer);
    if (status == DB_NONE) /* this transaction looked for the key before and found none */
        return call_db(call, DB_RETRY);
    return call_db(call, status);
}
