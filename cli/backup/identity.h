/* The key pair of who may restore: a secret key in a file, and the recipient's key as text. */
#ifndef TACET_CLI_BACKUP_IDENTITY_H
#define TACET_CLI_BACKUP_IDENTITY_H

#include <stdbool.h>

#include "cli/backup/vault.h"
#include "cli/cli.h"

/* Reads 64 hexadecimal digits. */
bool identity_parse(const char *text, unsigned char out[VAULT_KEY_SIZE]);

/* Writes a new secret key to the new file PATH, and its recipient's key to RECIPIENT. */
bool identity_make(const char *path, char recipient[2 * VAULT_KEY_SIZE + 1],
                   char error[CLI_ERROR_SIZE]);

/* Reads the secret key in the file PATH. */
bool identity_read(const char *path, unsigned char out[VAULT_KEY_SIZE], char error[CLI_ERROR_SIZE]);

#endif
