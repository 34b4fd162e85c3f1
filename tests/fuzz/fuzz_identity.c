/* Any bytes as what an issuer says: the first byte chooses between a set of keys, a token whose
 * signature cannot be right, and the claims of one whose signature was. */
#include <stdlib.h>
#include <string.h>

#include "api/identity/claims.h"
#include "api/identity/jwks.h"
#include "api/json/json_text.h"
#include "tests/fuzz/fuzz.h"

static const char *const roles[] = {"steward", "student", NULL};
static const char *const map[] = {"staff=steward", "a=b=student"};

static const struct identity_settings settings = {
    .issuer = "i", .audience = "a", .roles_claim = "r.oles", .role_names = roles};
static const struct identity_settings mapped = {.issuer = "i",
                                                .audience = "a",
                                                .roles_claim = "roles",
                                                .role_map = map,
                                                .role_map_count = 2,
                                                .role_names = roles};

static void read_keys(const uint8_t *data, size_t size)
{
    static const unsigned char signature[256] = {1};
    const char *why = NULL;
    struct jwks *keys = jwks_read((const char *)data, size, &why);
    assert(keys || why);
    if (!keys)
        return;
    assert(jwks_count(keys) <= JWKS_KEYS_MOST);
    assert(!jwks_verify(keys, "RS256", "k", "x", 1, signature, sizeof signature));
    assert(!jwks_verify(keys, "none", "k", "x", 1, signature, 0));
    assert(!jwks_verify(keys, "ES256", "k", "x", 1, signature, 64));
    jwks_free(keys);
}

static void read_token(const uint8_t *data, size_t size)
{
    static struct identity *identity;
    struct identity_caller who;
    const char *why = NULL;
    if (!identity)
        identity = identity_new(&settings, &why);
    char *token = fuzz_copy(data, size, true);
    assert(identity_check(identity, token, 1000, &who, &why) == IDENTITY_INVALID && why);
    free(token);
}

static void read_claims(const uint8_t *data, size_t size, const struct identity_settings *of)
{
    struct json_fault fault;
    struct identity_caller who;
    const char *why = NULL;
    json_t *claims = NULL;
    if (json_text_parse((const char *)data, size, &claims, &fault) != JSON_TEXT_GOOD)
        return;
    if (json_is_object(claims) && claims_check(claims, of, 1000000, &who, &why) == IDENTITY_GOOD) {
        assert(who.subject[0] != '\0' && strlen(who.subject) < sizeof who.subject);
        assert(who.role == roles[0] || who.role == roles[1]);
        assert(who.ends_ms > 1000000);
    }
    json_decref(claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t what = fuzz_byte(&data, &size) % 4;
    if (what == 0)
        read_keys(data, size);
    else if (what == 1)
        read_token(data, size);
    else
        read_claims(data, size, what == 2 ? &settings : &mapped);
    return 0;
}
