#include "tests/http/jwt_kit.h"

#include <criterion/criterion.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jwt_key {
    EVP_PKEY *key;
    char algorithm[8], kid[32];
};

/* Appends SIZE bytes as base64url to OUT. */
static void add_base64(char *out, const unsigned char *bytes, size_t size)
{
    char *text = malloc(size * 2 + 8);
    cr_assert_not_null(text);
    int length = EVP_EncodeBlock((unsigned char *)text, bytes, (int)size);
    char *to = out + strlen(out);
    for (int i = 0; i < length && text[i] != '='; i++) {
        char c = text[i];
        if (c == '+' || c == '/')
            c = c == '+' ? '-' : '_';
        *to++ = c;
    }
    *to = '\0';
    free(text);
}

struct jwt_key *jwt_key_new(const char *algorithm, const char *kid)
{
    struct jwt_key *key = calloc(1, sizeof *key);
    cr_assert_not_null(key);
    snprintf(key->algorithm, sizeof key->algorithm, "%s", algorithm);
    snprintf(key->kid, sizeof key->kid, "%s", kid);
    if (strcmp(algorithm, "ES256") == 0)
        key->key = EVP_EC_gen("P-256");
    else if (strcmp(algorithm, "EdDSA") == 0)
        key->key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    else
        key->key = EVP_RSA_gen(2048);
    cr_assert_not_null(key->key);
    return key;
}

void jwt_key_free(struct jwt_key *key)
{
    EVP_PKEY_free(key->key);
    free(key);
}

/* Appends "NAME":"the number of the key", of SIZE bytes, 0: as many as it has. */
static void add_number(char *out, const struct jwt_key *key, const char *name, const char *member,
                       int size)
{
    BIGNUM *number = NULL;
    unsigned char bytes[1024];
    cr_assert_eq(EVP_PKEY_get_bn_param(key->key, name, &number), 1);
    int length = size > 0 ? BN_bn2binpad(number, bytes, size) : BN_bn2bin(number, bytes);
    sprintf(out + strlen(out), ",\"%s\":\"", member);
    add_base64(out, bytes, (size_t)length);
    strcat(out, "\"");
    BN_free(number);
}

static void add_key(char *out, const struct jwt_key *key, const char *more)
{
    sprintf(out + strlen(out), "{%s\"kid\":\"%s\"", more, key->kid);
    if (strcmp(key->algorithm, "ES256") == 0) {
        strcat(out, ",\"kty\":\"EC\",\"crv\":\"P-256\"");
        add_number(out, key, OSSL_PKEY_PARAM_EC_PUB_X, "x", 32);
        add_number(out, key, OSSL_PKEY_PARAM_EC_PUB_Y, "y", 32);
    } else if (strcmp(key->algorithm, "EdDSA") == 0) {
        unsigned char x[32];
        size_t size = sizeof x;
        cr_assert_eq(EVP_PKEY_get_raw_public_key(key->key, x, &size), 1);
        strcat(out, ",\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"");
        add_base64(out, x, size);
        strcat(out, "\"");
    } else {
        strcat(out, ",\"kty\":\"RSA\"");
        add_number(out, key, OSSL_PKEY_PARAM_RSA_N, "n", 0);
        add_number(out, key, OSSL_PKEY_PARAM_RSA_E, "e", 0);
    }
    strcat(out, "}");
}

char *jwt_set(struct jwt_key *const *keys, unsigned count, const char *more)
{
    char *out = calloc(1, 64 + count * 1000);
    cr_assert_not_null(out);
    strcpy(out, "{\"keys\":[");
    for (unsigned i = 0; i < count; i++) {
        strcat(out, i > 0 ? "," : "");
        add_key(out, keys[i], more);
    }
    strcat(out, "]}");
    return out;
}

/* "HEAD.CLAIMS" with room for a signature behind it. */
static char *begin_token(const char *head, const char *claims)
{
    char *out = calloc(1, 2 * (strlen(head) + strlen(claims)) + 2000);
    cr_assert_not_null(out);
    add_base64(out, (const unsigned char *)head, strlen(head));
    strcat(out, ".");
    add_base64(out, (const unsigned char *)claims, strlen(claims));
    return out;
}

static void end_token(char *out, const unsigned char *signature, size_t size)
{
    strcat(out, ".");
    add_base64(out, signature, size);
}

/* DER to r and s, 32 bytes each. */
static void write_pair(const unsigned char *der, size_t size, unsigned char out[64])
{
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)size);
    cr_assert_not_null(pair);
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + 32, 32);
    ECDSA_SIG_free(pair);
}

char *jwt_sign(const struct jwt_key *key, const char *head, const char *claims)
{
    char own[100];
    unsigned char signature[1024], pair[64];
    size_t size = sizeof signature;
    snprintf(own, sizeof own, "{\"alg\":\"%s\",\"kid\":\"%s\",\"typ\":\"JWT\"}", key->algorithm,
             key->kid);
    char *out = begin_token(head ? head : own, claims);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *of = NULL;
    const EVP_MD *digest = strcmp(key->algorithm, "EdDSA") == 0 ? NULL : EVP_sha256();
    cr_assert_eq(EVP_DigestSignInit(context, &of, digest, NULL, key->key), 1);
    if (strcmp(key->algorithm, "PS256") == 0) {
        EVP_PKEY_CTX_set_rsa_padding(of, RSA_PKCS1_PSS_PADDING);
        EVP_PKEY_CTX_set_rsa_pss_saltlen(of, RSA_PSS_SALTLEN_DIGEST);
    }
    cr_assert_eq(EVP_DigestSign(context, signature, &size, (const unsigned char *)out, strlen(out)),
                 1);
    EVP_MD_CTX_free(context);
    bool is_pair = strcmp(key->algorithm, "ES256") == 0;
    if (is_pair)
        write_pair(signature, size, pair);
    end_token(out, is_pair ? pair : signature, is_pair ? sizeof pair : size);
    return out;
}

char *jwt_sign_by_hmac(const struct jwt_key *key, const char *head, const char *claims)
{
    unsigned char signature[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    char *pem = NULL, *out = begin_token(head, claims);
    BIO *bio = BIO_new(BIO_s_mem());
    cr_assert_eq(PEM_write_bio_PUBKEY(bio, key->key), 1);
    long length = BIO_get_mem_data(bio, &pem);
    HMAC(EVP_sha256(), pem, (int)length, (const unsigned char *)out, strlen(out), signature, &size);
    BIO_free(bio);
    end_token(out, signature, size);
    return out;
}

char *jwt_unsigned(const char *head, const char *claims)
{
    char *out = begin_token(head, claims);
    strcat(out, ".");
    return out;
}
