/* Hashes that nobody can compute without the service's key, so that a guess of what was hashed
 * cannot be checked with a copy of the database. */
#ifndef TACET_API_CALL_KEYED_HASH_H
#define TACET_API_CALL_KEYED_HASH_H

#include <stddef.h>

struct app;

/* Writes OUT_SIZE bytes (16 to 64): BLAKE2b, keyed by the signing seed, of PURPOSE with its NUL and
 * the SIZE BYTES. It is the same on all servers of a database, and for as long as the service
 * lives. Each purpose is one caller's. */
void keyed_hash(const struct app *app, const char *purpose, const void *bytes, size_t size,
                unsigned char *out, size_t out_size);

#endif
