/* Backups in a directory, encrypted to a recipient.
 *
 *   backups/TIME     one backup: the vault's key, sealed to the recipient (X25519,
 * crypto_box_seal); then, encrypted under it, the signing key, the size and the names of the chunks
 *   chunks/HH/NAME   64 KiB of a database, encrypted (XChaCha20-Poly1305) under its name, which is
 * a keyed hash of what it holds: what is there already is not written again
 *
 * The vault's key is derived from the signing key and the recipient's, so that the service can add
 * to a vault which only the recipient can open. */
#ifndef TACET_CLI_BACKUP_VAULT_H
#define TACET_CLI_BACKUP_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VAULT_KEY_SIZE  32
#define VAULT_NAME_SIZE 32 /* of a backup, with its NUL */

struct vault_counts {
    uint64_t chunks, written, bytes; /* chunks in all and written now; bytes of the database */
};

/* Adds the file DATABASE and the signing key SEED to the vault DIRECTORY as the backup of NOW_MS.
 * Durable when true; else nothing that was there is lost, and ERROR holds a sentence. */
bool vault_add(const char *directory, const unsigned char recipient[VAULT_KEY_SIZE],
               const unsigned char seed[VAULT_KEY_SIZE], const char *database, int64_t now_ms,
               struct vault_counts *out, char *error, size_t error_size);

/* Writes the backup NAME (NULL: the newest) of DIRECTORY to the new file DATABASE and its signing
 * key to SEED, with the secret key IDENTITY. NAME_OUT receives its name. */
bool vault_take(const char *directory, const char *name,
                const unsigned char identity[VAULT_KEY_SIZE], const char *database,
                unsigned char seed[VAULT_KEY_SIZE], char name_out[VAULT_NAME_SIZE], char *error,
                size_t error_size);

#endif
