/* Encryption of secrets at rest that the service itself has made: unreleased weights, checkpoints,
 * what Q-releases draw from. The database, its log and its backups never hold such a secret in
 * clear. What was derived from a dataset is encrypted under the dataset's own key, which is
 * replaced when one of its experts is erased (storage/keys/keyring.h). XChaCha20-Poly1305
 * (libsodium). */
#ifndef TACET_API_CALL_SEALED_H
#define TACET_API_CALL_SEALED_H

#include <stdbool.h>
#include <stddef.h>

struct app;

/* Encrypts SECRET[size] under the key of DATASET ("": the service's) and authenticates ID with it;
 * the same must be given to decrypt. The caller frees *out. False: no memory, or the key cannot be
 * stored. */
bool sealed_close(const struct app *app, const char *dataset, const char *id,
                  const unsigned char *secret, size_t size, unsigned char **out, size_t *out_size);

/* Decrypts BYTES[size] into guarded memory that sodium_free wipes. Earlier versions encrypted all
 * of these under a key of the signing seed, which opens them still, until something of DATASET is
 * erased. NULL with errno ENOMEM: no memory, or the key cannot be read now; with ESTALE: their key
 * was erased with data of DATASET; with EBADMSG: BYTES were not encrypted by this server for
 * DATASET and ID. */
unsigned char *sealed_open(const struct app *app, const char *dataset, const char *id,
                           const unsigned char *bytes, size_t size, size_t *out_size);

#endif
