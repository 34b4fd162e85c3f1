/* Commitments: what a certificate says of contents that must stay secret. A plain hash of private
 * data would let anyone who guesses the data check the guess. A commitment has a key of its own,
 * which follows from the server's signing seed, so without that key it says nothing. The operator
 * may open one commitment by telling its key and contents, and then no other is opened. */
#ifndef TACET_API_CALL_COMMITMENT_H
#define TACET_API_CALL_COMMITMENT_H

#include <jansson.h>

#define DIGEST_BYTES 32 /* SHA-256 */

struct app;

/* DIGEST as 64 hex digits. New reference. */
json_t *digest_json(const unsigned char digest[DIGEST_BYTES]);

/* The commitment to WHAT ("dataset", "policy", "function") in CERTIFICATE (its id): HMAC-SHA-256 of
 * DIGEST, the SHA-256 of the contents, as digest_json. The key is BLAKE2b-256, keyed by the signing
 * seed, of "tacet: commitments of certificates, 1", CERTIFICATE and WHAT, each with a NUL behind
 * it. New reference. */
json_t *commitment_json(const struct app *app, const char *certificate, const char *what,
                        const unsigned char digest[DIGEST_BYTES]);

#endif
