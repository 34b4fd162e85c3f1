/* Encryption of secrets at rest, under a key that only the server's data directory holds. The
 * database, its log and its backups never hold such a secret in clear. XChaCha20-Poly1305
 * (libsodium) under a key derived from the server's signing seed for this purpose alone. */
#ifndef TACET_API_CALL_SEALED_H
#define TACET_API_CALL_SEALED_H

#include <stdbool.h>
#include <stddef.h>

struct app;

/* Encrypts SECRET[size] and authenticates ID with it; the same ID must be given to decrypt. The
 * caller frees *out. False: no memory. */
bool sealed_close(const struct app *app, const char *id, const unsigned char *secret, size_t size,
                  unsigned char **out, size_t *out_size);

/* Decrypts BYTES[size] into guarded memory that sodium_free wipes. NULL with errno ENOMEM: no
 * memory; with EBADMSG: BYTES were not encrypted by this server for ID. */
unsigned char *sealed_open(const struct app *app, const char *id, const unsigned char *bytes,
                           size_t size, size_t *out_size);

#endif
