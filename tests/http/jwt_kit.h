/* An issuer of tokens for tests: keys, their JWK Set, and JWTs that it signs, or that look so. */
#ifndef TACET_TESTS_HTTP_JWT_KIT_H
#define TACET_TESTS_HTTP_JWT_KIT_H

#include <stddef.h>

struct jwt_key;

/* A new key KID for ALGORITHM: RS256, PS256, ES256 or EdDSA. Ends the test when it cannot, like
 * every function here. */
struct jwt_key *jwt_key_new(const char *algorithm, const char *kid);
void jwt_key_free(struct jwt_key *key);

/* {"keys":[...]} of COUNT keys; malloc'ed. MORE is written into each ("\"use\":\"sig\",", or "").
 */
char *jwt_set(struct jwt_key *const *keys, unsigned count, const char *more);

/* The token of CLAIMS (JSON) under the header HEAD (JSON; NULL: that of the key); malloc'ed. */
char *jwt_sign(const struct jwt_key *key, const char *head, const char *claims);

/* The same with HMAC-SHA-256 under the public key in PEM as its secret. */
char *jwt_sign_by_hmac(const struct jwt_key *key, const char *head, const char *claims);

/* The same without a signature. */
char *jwt_unsigned(const char *head, const char *claims);

#endif
