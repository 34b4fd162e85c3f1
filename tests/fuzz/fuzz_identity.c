/* Any bytes as what an issuer says: the first byte chooses between a set of keys, a token whose
 * signature cannot be right, the claims of one whose signature was, a token of keys that are known,
 * a head and claims that are signed here, and the operator's map of roles. */
#include <sodium.h>
#include <stdio.h>
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

#define MAP_ROWS 8

/* Keys e, p, r and s (for PS256 alone). The kept inputs have tokens of them all; nobody has the
 * private keys any more but that of e, whose seed is 32 bytes of 1. */
static const char known_keys[] =
    "{\"keys\":[{\"kty\":\"OKP\",\"kid\":\"e\",\"crv\":\"Ed25519\",\"x\":\"iojj3XQJ8ZX9UtstPL"
    "pdcspnCb8dlBIb83SIAbQPb1w\"},{\"kty\":\"EC\",\"kid\":\"p\",\"crv\":\"P-256\",\"x\":\"PNC"
    "yWfnhF2RmHAVx5iI9CQcYNv2FLBVknnk_VH7c7Gc\",\"y\":\"g6CPUPmz9paRHXpIyLq3NdFNC23x5qvnpluL1"
    "6k_N7c\"},{\"kty\":\"RSA\",\"kid\":\"r\",\"n\":\"ne4O-A2tg-YyyIL7iOXU5jw8eVBcKCl1byMevme"
    "lg4A-OIOgOFE9fmxHEcl9vZAx_vGclNUdR0SoyJAqQ0jbB3JZ-5HSGWYWBoqkhow1A3BtLXMmKANWxmLQe7oO4SA"
    "ipGm4FRcyyf8NnoA6qt_xtWDc6cBapvy9CewyjQB89MP8pgZgg2nnm7IF5MOHq72SQg3em2G_QSfTpJGguZOA-1L"
    "XXAw29pKcZdgR9MDeGu1bo6hfxg1pmsKJrLo0i0s7B1ILSBd9OqyrHCdsqfW9oGZffhXRZysUPbJhRDGDwqGqBRs"
    "D9H2EdJaXe7eeu8WKzMF3lf8VMYIocKeMwoGd8Q\",\"e\":\"AQAB\"},{\"kty\":\"RSA\",\"kid\":\"s\""
    ",\"use\":\"sig\",\"alg\":\"PS256\",\"n\":\"ne4O-A2tg-YyyIL7iOXU5jw8eVBcKCl1byMevmelg4A-O"
    "IOgOFE9fmxHEcl9vZAx_vGclNUdR0SoyJAqQ0jbB3JZ-5HSGWYWBoqkhow1A3BtLXMmKANWxmLQe7oO4SAipGm4F"
    "Rcyyf8NnoA6qt_xtWDc6cBapvy9CewyjQB89MP8pgZgg2nnm7IF5MOHq72SQg3em2G_QSfTpJGguZOA-1LXXAw29"
    "pKcZdgR9MDeGu1bo6hfxg1pmsKJrLo0i0s7B1ILSBd9OqyrHCdsqfW9oGZffhXRZysUPbJhRDGDwqGqBRsD9H2Ed"
    "JaXe7eeu8WKzMF3lf8VMYIocKeMwoGd8Q\",\"e\":\"AQAB\"}]}";

static void read_keys(const uint8_t *data, size_t size)
{
    static const unsigned char signature[256] = {1};
    const char *why = NULL;
    struct jwks *keys = jwks_read((const char *)data, size, &why);
    assert(keys || why);
    if (!keys)
        return;
    static const char *const by[] = {"RS256", "PS256", "ES256", "EdDSA", "none"};
    for (size_t i = 0; i < sizeof by / sizeof by[0]; i++) {
        assert(!jwks_verify(keys, by[i], "k", "x", 1, signature, sizeof signature));
        assert(!jwks_verify(keys, by[i], "k", "x", 1, signature, 64));
        assert(!jwks_verify(keys, by[i], "k", "x", 1, signature, 0));
    }
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

static struct identity *know_keys(void)
{
    static struct identity *identity;
    const char *why = NULL;
    if (!identity) {
        identity = identity_new(&settings, &why);
        assert(identity_set_keys(identity, known_keys, sizeof known_keys - 1, &why));
    }
    return identity;
}

static void check_token(const char *token)
{
    struct identity_caller who;
    const char *why = NULL;
    enum identity_status status = identity_check(know_keys(), token, 1000000, &who, &why);
    assert(why);
    if (status == IDENTITY_GOOD)
        assert(who.subject[0] != '\0' && (who.role == roles[0] || who.role == roles[1]));
}

static void read_known(const uint8_t *data, size_t size)
{
    char *token = fuzz_copy(data, size, true);
    check_token(token);
    free(token);
}

/* A head and, behind a NUL, claims: signed by the key e. */
static void read_signed(const uint8_t *data, size_t size)
{
    enum { PART = sodium_base64_VARIANT_URLSAFE_NO_PADDING };
    static const unsigned char seed[crypto_sign_SEEDBYTES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                              1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                              1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static char head[4096], claims[4096], signature[100], token[9000];
    unsigned char public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
    unsigned char bytes[crypto_sign_BYTES];
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    if (!end || size > 3000)
        return;
    size_t first = (size_t)(end - data);
    sodium_bin2base64(head, sizeof head, data, first, PART);
    sodium_bin2base64(claims, sizeof claims, end + 1, size - first - 1, PART);
    int length = snprintf(token, sizeof token, "%s.%s", head, claims);
    crypto_sign_seed_keypair(public, secret, seed);
    crypto_sign_detached(bytes, NULL, (unsigned char *)token, (size_t)length, secret);
    sodium_bin2base64(signature, sizeof signature, bytes, sizeof bytes, PART);
    snprintf(token + length, sizeof token - (size_t)length, ".%s", signature);
    check_token(token);
}

/* Lines as the rows of a map of roles. */
static void read_map(const uint8_t *data, size_t size)
{
    const char *rows[MAP_ROWS], *why = NULL;
    char *text = fuzz_copy(data, size, true), *rest = NULL;
    struct identity_settings own = mapped;
    own.role_map = rows;
    own.role_map_count = 0;
    for (char *line = strtok_r(text, "\n", &rest); line && own.role_map_count < MAP_ROWS;
         line = strtok_r(NULL, "\n", &rest))
        rows[own.role_map_count++] = line;
    struct identity *identity = identity_new(&own, &why);
    assert(identity || why);
    assert(!identity || strcmp(identity_issuer(identity), own.issuer) == 0);
    identity_free(identity);
    free(text);
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
    switch (fuzz_byte(&data, &size) % 7) {
    case 0: read_keys(data, size); break;
    case 1: read_token(data, size); break;
    case 2: read_claims(data, size, &settings); break;
    case 3: read_claims(data, size, &mapped); break;
    case 4: read_known(data, size); break;
    case 5: read_signed(data, size); break;
    default: read_map(data, size); break;
    }
    return 0;
}
