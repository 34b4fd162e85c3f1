/* Keys become OpenSSL's when a set is read, so that a bad one is found then. */
#include "api/identity/jwks.h"

#include <jansson.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

#include "api/identity/base64url.h"
#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "memory/memory.h"

#define KID_MOST       256
#define RSA_BITS_LEAST 2048
#define NUMBER_BYTES   1024 /* of an RSA modulus of 8192 bits */
#define EXPONENT_BYTES 8
#define P256_BYTES     32
#define ED25519_BYTES  32

struct jwks_key {
    char kid[KID_MOST];
    char kty[4];      /* "RSA", "EC", "OKP" */
    char only_by[16]; /* the one algorithm that the key is for; "": any that fits */
    EVP_PKEY *key;
};

struct jwks {
    unsigned count;
    struct jwks_key keys[JWKS_KEYS_MOST];
};

static const struct jwks_algorithm {
    const char *name, *kty;
    bool pss;
} ALGORITHMS[] = {{"RS256", "RSA", false},
                  {"PS256", "RSA", true},
                  {"ES256", "EC", false},
                  {"EdDSA", "OKP", false}};

#define ALGORITHM_COUNT (sizeof ALGORITHMS / sizeof ALGORITHMS[0])

static const struct jwks_algorithm *find_algorithm(const char *name)
{
    for (size_t i = 0; i < ALGORITHM_COUNT; i++)
        if (strcmp(ALGORITHMS[i].name, name) == 0)
            return &ALGORITHMS[i];
    return NULL;
}

/* ---- reading */

static bool jwk_bytes(const json_t *object, const char *member, unsigned char *out, size_t room,
                      size_t *out_size)
{
    const char *text = json_member_text(object, member);
    return text[0] != '\0' && base64url_decode(text, strlen(text), out, room, out_size);
}

/* The public key of KIND with the parameters of BUILDER, which is freed. */
static EVP_PKEY *build_key(const char *kind, OSSL_PARAM_BLD *builder)
{
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
    EVP_PKEY *key = NULL;
    if (parameters && context && EVP_PKEY_fromdata_init(context) > 0)
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

static EVP_PKEY *read_rsa(const json_t *jwk)
{
    unsigned char n[NUMBER_BYTES], e[EXPONENT_BYTES];
    size_t n_size, e_size;
    if (!jwk_bytes(jwk, "n", n, sizeof n, &n_size) || !jwk_bytes(jwk, "e", e, sizeof e, &e_size))
        return NULL;
    OSSL_PARAM_BLD *builder = memory_must(OSSL_PARAM_BLD_new());
    BIGNUM *modulus = memory_must(BN_bin2bn(n, (int)n_size, NULL));
    BIGNUM *exponent = memory_must(BN_bin2bn(e, (int)e_size, NULL));
    EVP_PKEY *key = NULL;
    bool good = BN_num_bits(modulus) >= RSA_BITS_LEAST && BN_is_odd(modulus) &&
                BN_is_odd(exponent) && !BN_is_one(exponent) &&
                OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
                OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1;
    if (good)
        key = build_key("RSA", builder);
    else
        OSSL_PARAM_BLD_free(builder);
    BN_free(modulus);
    BN_free(exponent);
    return key;
}

/* Left out unless the point is on the curve. */
static EVP_PKEY *read_p256(const json_t *jwk)
{
    unsigned char point[1 + 2 * P256_BYTES] = {POINT_CONVERSION_UNCOMPRESSED};
    size_t x_size, y_size;
    if (strcmp(json_member_text(jwk, "crv"), "P-256") != 0 ||
        !jwk_bytes(jwk, "x", point + 1, P256_BYTES, &x_size) || x_size != P256_BYTES ||
        !jwk_bytes(jwk, "y", point + 1 + P256_BYTES, P256_BYTES, &y_size) || y_size != P256_BYTES)
        return NULL;
    OSSL_PARAM_BLD *builder = memory_must(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
    OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point);
    return build_key("EC", builder);
}

static EVP_PKEY *read_ed25519(const json_t *jwk)
{
    unsigned char x[ED25519_BYTES];
    size_t size;
    if (strcmp(json_member_text(jwk, "crv"), "Ed25519") != 0 ||
        !jwk_bytes(jwk, "x", x, sizeof x, &size) || size != sizeof x)
        return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, sizeof x);
}

static EVP_PKEY *read_key(const json_t *jwk)
{
    const char *kty = json_member_text(jwk, "kty");
    if (strcmp(kty, "RSA") == 0)
        return read_rsa(jwk);
    if (strcmp(kty, "EC") == 0)
        return read_p256(jwk);
    return strcmp(kty, "OKP") == 0 ? read_ed25519(jwk) : NULL;
}

static const struct jwks_key *jwks_key_of(const struct jwks *keys, const char *kid)
{
    for (unsigned i = 0; i < keys->count; i++)
        if (strcmp(keys->keys[i].kid, kid) == 0)
            return &keys->keys[i];
    return NULL;
}

bool jwks_knows(const struct jwks *keys, const char *kid)
{
    return jwks_key_of(keys, kid) != NULL;
}

/* Adds JWK, or leaves it out. */
static void add_key(struct jwks *keys, const json_t *jwk)
{
    const char *kid = json_member_text(jwk, "kid"), *use = json_member_text(jwk, "use");
    const char *kty = json_member_text(jwk, "kty"), *only_by = json_member_text(jwk, "alg");
    struct jwks_key *next = &keys->keys[keys->count];
    if (kid[0] == '\0' || strlen(kid) >= sizeof next->kid || jwks_key_of(keys, kid) ||
        (use[0] != '\0' && strcmp(use, "sig") != 0) || strlen(only_by) >= sizeof next->only_by)
        return;
    next->key = read_key(jwk);
    if (!next->key)
        return;
    strcpy(next->kid, kid);
    strcpy(next->kty, kty);
    strcpy(next->only_by, only_by);
    keys->count++;
}

struct jwks *jwks_read(const char *text, size_t size, const char **why)
{
    struct json_fault fault;
    json_t *json = NULL;
    *why = "it is larger than 64 KiB";
    if (size > JWKS_BYTES_MOST)
        return NULL;
    *why = "it is not JSON";
    if (json_text_parse(text, size, &json, &fault) != JSON_TEXT_GOOD)
        return NULL;
    struct jwks *keys = NULL;
    const json_t *list = json_object_get(json, "keys");
    *why = "it is no JWK Set: it needs \"keys\", an array of at most 64 keys";
    if (json_is_array(list) && json_array_size(list) <= JWKS_KEYS_MOST) {
        keys = memory_new(1, sizeof *keys);
        for (size_t i = 0; i < json_array_size(list); i++)
            add_key(keys, json_array_get(list, i));
    }
    json_decref(json);
    return keys;
}

void jwks_free(struct jwks *keys)
{
    for (unsigned i = 0; keys && i < keys->count; i++)
        EVP_PKEY_free(keys->keys[i].key);
    free(keys);
}

/* ---- signatures */

/* ES256 signs with r and s, 32 bytes each; OpenSSL wants them in DER. Gives the length in OUT; 0:
 * SIGNATURE is none. */
static size_t write_der(const unsigned char *signature, size_t size, unsigned char out[80])
{
    if (size != (size_t)2 * P256_BYTES)
        return 0;
    ECDSA_SIG *pair = memory_must(ECDSA_SIG_new());
    BIGNUM *r = memory_must(BN_bin2bn(signature, P256_BYTES, NULL));
    BIGNUM *s = memory_must(BN_bin2bn(signature + P256_BYTES, P256_BYTES, NULL));
    ECDSA_SIG_set0(pair, r, s); /* takes them */
    int length = i2d_ECDSA_SIG(pair, &out);
    ECDSA_SIG_free(pair);
    return length > 0 ? (size_t)length : 0;
}

static bool use_pss(EVP_PKEY_CTX *context)
{
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) > 0 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) > 0;
}

bool jwks_verify(const struct jwks *keys, const char *algorithm, const char *kid, const void *text,
                 size_t text_size, const unsigned char *signature, size_t signature_size)
{
    const struct jwks_algorithm *by = find_algorithm(algorithm);
    const struct jwks_key *key = jwks_key_of(keys, kid);
    unsigned char der[80];
    if (!by || !key || strcmp(key->kty, by->kty) != 0 ||
        (key->only_by[0] != '\0' && strcmp(key->only_by, algorithm) != 0))
        return false;
    if (strcmp(by->kty, "EC") == 0) {
        signature_size = write_der(signature, signature_size, der);
        signature = der;
    }
    const EVP_MD *digest = strcmp(by->kty, "OKP") == 0 ? NULL : EVP_sha256();
    EVP_MD_CTX *context = memory_must(EVP_MD_CTX_new());
    EVP_PKEY_CTX *key_context = NULL;
    bool good = signature_size > 0 &&
                EVP_DigestVerifyInit(context, &key_context, digest, NULL, key->key) == 1 &&
                (!by->pss || use_pss(key_context)) &&
                EVP_DigestVerify(context, signature, signature_size, text, text_size) == 1;
    EVP_MD_CTX_free(context);
    return good;
}
