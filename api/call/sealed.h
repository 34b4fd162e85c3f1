/* Secrets at rest: bytes encrypted under a key that only the server's data directory holds, so that
 * the database, its log and its backups carry none of them in clear. XChaCha20-Poly1305 (libsodium)
 * under a key derived from the server's signing seed for this purpose alone. */
#ifndef TACET_API_CALL_SEALED_H
#define TACET_API_CALL_SEALED_H

#include <stdbool.h>
#include <stddef.h>

struct app;

/* The bytes of SECRET[size], bound to ID, which must be given again to open them. The caller frees
 * *out. False: no memory. */
bool sealed_close(const struct app *app, const char *id, const unsigned char *secret, size_t size,
                  unsigned char **out, size_t *out_size);

/* The reverse, into guarded memory that sodium_free wipes. NULL with errno ENOMEM: no memory; with
 * EBADMSG: not sealed by this server for that id. */
unsigned char *sealed_open(const struct app *app, const char *id, const unsigned char *bytes,
                           size_t size, size_t *out_size);

#endif
