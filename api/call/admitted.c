/* One table by a keyed hash of the header. Two callers who share a place take turns. */
#include "api/call/admitted.h"

#include <sodium.h>
#include <string.h>

#include "api/call/auth.h"
#include "api/json/text.h"
#include "memory/memory.h"

#define PLACES   1024
#define LIVES_MS 1000

struct admitted_place {
    unsigned char hash[crypto_shorthash_siphashx24_BYTES];
    struct caller caller; /* role ROLE_NONE: empty */
    uint64_t number;      /* stands for the caller; never 0 */
    int64_t made_ms;
};

struct admitted {
    unsigned char key[crypto_shorthash_siphashx24_KEYBYTES];
    struct admitted_place places[PLACES];
};

struct admitted *admitted_new(void)
{
    struct admitted *admitted = memory_new(1, sizeof *admitted);
    randombytes_buf(admitted->key, sizeof admitted->key);
    return admitted;
}

static uint64_t client_number(const struct admitted *admitted, const struct caller *caller)
{
    uint64_t number;
    unsigned char hash[crypto_shorthash_siphashx24_BYTES];
    crypto_shorthash_siphashx24(hash, (const unsigned char *)caller->id, strlen(caller->id),
                                admitted->key);
    memcpy(&number, hash, sizeof number);
    return number != 0 ? number : 1;
}

enum problem admitted_check(struct admitted *admitted, struct call *call, uint64_t *out_client)
{
    const char *header = call_request_header(call, "Authorization");
    unsigned char hash[crypto_shorthash_siphashx24_BYTES];
    size_t length = strlen(text_or_empty(header));
    crypto_shorthash_siphashx24(hash, (const unsigned char *)header, length, admitted->key);
    struct admitted_place *place = &admitted->places[(hash[0] | (unsigned)hash[1] << 8) % PLACES];
    int64_t age = call->now_ms - place->made_ms;
    bool same = sodium_memcmp(hash, place->hash, sizeof hash) == 0;
    bool certified = call->request->certificate != NULL; /* which is not in the hash */
    if (!same || certified || age < 0 || age >= LIVES_MS || call->now_ms >= place->caller.ends_ms ||
        !auth_may(&place->caller, call->route)) {
        enum problem problem = auth_check(call);
        if (problem != PROBLEM_NONE)
            return problem;
        if (call->newcomer || certified) {
            *out_client = client_number(admitted, &call->caller);
            return PROBLEM_NONE;
        }
        memcpy(place->hash, hash, sizeof hash);
        place->caller = call->caller;
        place->number = client_number(admitted, &call->caller);
        place->made_ms = call->now_ms;
    }
    call->caller = place->caller;
    *out_client = place->number;
    return PROBLEM_NONE;
}
