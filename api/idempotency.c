/* Keys and stored answers. */
#include "api/idempotency.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/reply.h"
#include "storage/answers.h"

#define KEY_MAX           255
#define FINGERPRINT_BYTES 32

_Static_assert(sizeof(crypto_generichash_state) <= sizeof((struct call *)0)->body_hash,
               "the call has room for the running hash");

static crypto_generichash_state *body_hash(struct call *call)
{
    return (crypto_generichash_state *)(void *)call->body_hash;
}

enum problem idempotency_key(struct call *call, const char **out_key)
{
    *out_key = NULL;
    const char *key = call_request_header(call, "Idempotency-Key");
    if (key == NULL) {
        return call->route->flags & ROUTE_KEY_REQUIRED
                   ? call_problem(call, PROBLEM_IDEMPOTENCY_KEY_REQUIRED,
                                  "Send Idempotency-Key with a fresh value, such as a UUID.")
                   : PROBLEM_NONE;
    }
    size_t length = strlen(key);
    bool good = length >= 1 && length <= KEY_MAX;
    for (size_t i = 0; good && i < length; i++) {
        good = key[i] > ' ' && key[i] <= '~';
    }
    if (!good) {
        return call_problem(call, PROBLEM_IDEMPOTENCY_KEY_INVALID,
                            "An Idempotency-Key is 1 to %d visible ASCII characters.", KEY_MAX);
    }
    bool keeps = route_writes(call->route) && strcmp(call->request->method, "DELETE") != 0;
    *out_key = keeps ? key : NULL;
    return PROBLEM_NONE;
}

void idempotency_begin_body(struct call *call)
{
    crypto_generichash_init(body_hash(call), NULL, 0, FINGERPRINT_BYTES);
}

long call_read(struct call *call, unsigned char *buffer, size_t size)
{
    assert(call->route->body == BODY_STREAM);
    const struct api_reader *reader = &call->request->reader;
    long count = reader->read(reader->context, buffer, size);
    assert(count < 0 || (size_t)count <= size);
    if (count > 0) {
        crypto_generichash_update(body_hash(call), buffer, (unsigned long long)count);
    }
    return count;
}

/* The hash of method, path, query and body, each closed by a NUL that none of the texts holds. */
static void fingerprint(struct call *call, unsigned char out[FINGERPRINT_BYTES])
{
    const struct api_request *request = call->request;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, FINGERPRINT_BYTES);
    const char *texts[] = {request->method, request->path, request->query};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        crypto_generichash_update(&state, (const unsigned char *)texts[i], strlen(texts[i]) + 1);
    }
    if (call->route->body == BODY_STREAM) {
        /* A copy, because a transaction may be tried again. */
        unsigned char hash[FINGERPRINT_BYTES];
        crypto_generichash_state body = *body_hash(call);
        crypto_generichash_final(&body, hash, sizeof hash);
        crypto_generichash_update(&state, hash, sizeof hash);
    } else {
        crypto_generichash_update(&state, request->body, request->body_size);
    }
    crypto_generichash_final(&state, out, FINGERPRINT_BYTES);
}
