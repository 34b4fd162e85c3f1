/* Commitments: what a certificate says of contents that must stay secret. A plain hash of private
 * data would let anyone who guesses the data check the guess. A commitment has a key of its own,
 * which follows from the server's signing seed, so without that key it says nothing. The operator
 * may open one commitment by telling its key and contents, and then no other is opened. */
#ifndef TACET_API_CALL_COMMITMENT_H
#define TACET_API_CALL_COMMITMENT_H

#include <jansson.h>

#define DIGEST_BYTES 32 /* SHA-256 */

struct app;

/* Writes OUT_SIZE bytes (16 to 64): BLAKE2b, keyed by the signing seed, of PURPOSE with its NUL and
 * the SIZE BYTES. Nobody can compute it without the seed, so a guess of what was hashed cannot be
 * checked with a copy of the database. It is the same on all servers of a database, and for as long
 * as the service lives. Each purpose is one caller's. */
void keyed_hash(const struct app *app, const char *purpose, const void *bytes, size_t size,
                unsigned char *out, size_t out_size);

/* DIGEST as 64 hex digits. New reference. */
json_t *digest_json(const unsigned char digest[DIGEST_BYTES]);

/* The commitment to WHAT ("dataset", "policy", "function") in CERTIFICATE (its id): HMAC-SHA-256 of
 * DIGEST, the SHA-256 of the contents, as digest_json. The key is the keyed_hash of 32 bytes for
 * "tacet: commitments of certificates, 1" of CERTIFICATE and WHAT, each with a NUL behind it. New
 * reference. */
json_t *commitment_json(const struct app *app, const char *certificate, const char *what,
                        const unsigned char digest[DIGEST_BYTES]);

#endif
