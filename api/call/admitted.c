/* One table by a keyed hash of the header. Two callers who share a place take turns. */
#include "api/call/admitted.h"

#include <sodium.h>
#include <string.h>

#include "api/call/auth.h"
#include "memory/memory.h"

#define PLACES   1024
#define LIVES_MS 1000

struct admitted_place {
    unsigned char hash[crypto_shorthash_siphashx24_BYTES];
    struct caller caller; /* role ROLE_NONE: empty */
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

enum problem admitted_check(struct admitted *admitted, struct call *call)
{
    const char *header = call_request_header(call, "Authorization");
    unsigned char hash[crypto_shorthash_siphashx24_BYTES];
    if (!header)
        return auth_check(call);
    crypto_shorthash_siphashx24(hash, (const unsigned char *)header, strlen(header), admitted->key);
    struct admitted_place *place = &admitted->places[(hash[0] | (unsigned)hash[1] << 8) % PLACES];
    int64_t age = call->now_ms - place->made_ms;
    if (age >= 0 && age < LIVES_MS && (place->caller.role & call->route->roles) != 0 &&
        sodium_memcmp(hash, place->hash, sizeof hash) == 0) {
        call->caller = place->caller;
        return PROBLEM_NONE;
    }
    enum problem problem = auth_check(call);
    if (problem != PROBLEM_NONE)
        return problem;
    memcpy(place->hash, hash, sizeof hash);
    place->caller = call->caller;
    place->made_ms = call->now_ms;
    return PROBLEM_NONE;
}
