/* A set of public keys (RFC 7517) and the signatures that they verify. OpenSSL computes; here is
 * decided which keys and which algorithms count. */
#ifndef TACET_API_IDENTITY_JWKS_H
#define TACET_API_IDENTITY_JWKS_H

#include <stdbool.h>
#include <stddef.h>

#define JWKS_BYTES_MOST 65536 /* of the text of a set */
#define JWKS_KEYS_MOST  64

struct jwks;

/* Reads TEXT[size], {"keys":[...]}. Keys of other kinds, for encryption, or without a kid are left
 * out; of two with one kid the first counts. Kinds: RSA of 2048 to 8192 bits, EC on P-256, OKP with
 * Ed25519. NULL: *WHY is a sentence (static text). Free with jwks_free. */
struct jwks *jwks_read(const char *text, size_t size, const char **why);

/* NULL is fine. */
void jwks_free(struct jwks *keys);

/* True when there is a key KID. */
bool jwks_knows(const struct jwks *keys, const char *kid);

/* True when SIGNATURE is one of the key KID over TEXT by ALGORITHM, which is RS256, PS256, ES256 or
 * EdDSA (RFC 7518, RFC 8037) and fits the key. There is no other algorithm: not none, not HS256. */
bool jwks_verify(const struct jwks *keys, const char *algorithm, const char *kid, const void *text,
                 size_t text_size, const unsigned char *signature, size_t signature_size);

#endif
