#include "cli/backup/identity.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGITS (2 * (size_t)VAULT_KEY_SIZE)
/* Begins a secret key's line, so that nobody takes it for the recipient's. Files of earlier
 * versions have none. */
#define SECRET "tacet-secret-"

bool identity_parse(const char *text, unsigned char out[VAULT_KEY_SIZE])
{
    size_t size = 0;
    return strlen(text) == DIGITS &&
           sodium_hex2bin(out, VAULT_KEY_SIZE, text, DIGITS, NULL, &size, NULL) == 0 &&
           size == VAULT_KEY_SIZE;
}

bool identity_make(const char *path, char recipient[2 * VAULT_KEY_SIZE + 1],
                   char error[CLI_ERROR_SIZE])
{
    unsigned char secret[VAULT_KEY_SIZE], public[VAULT_KEY_SIZE];
    char text[DIGITS + 1];
    FILE *file = fopen(path, "wxe"); /* the umask keeps it private */
    crypto_box_keypair(public, secret);
    sodium_bin2hex(text, sizeof text, secret, sizeof secret);
    sodium_bin2hex(recipient, DIGITS + 1, public, sizeof public);
    bool good = file && fprintf(file, SECRET "%s\n", text) > 0 && fflush(file) == 0 &&
                fsync(fileno(file)) == 0;
    if (!good)
        snprintf(error, CLI_ERROR_SIZE, "%.400s: %s", path, strerror(errno));
    if (file)
        good = fclose(file) == 0 && good;
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(text, sizeof text);
    return good;
}

bool identity_read(const char *path, unsigned char out[VAULT_KEY_SIZE], char error[CLI_ERROR_SIZE])
{
    size_t size = 0;
    char *text = cli_read_file(path, 4096, &size, error);
    if (!text)
        return false;
    text[strcspn(text, "\r\n")] = '\0';
    bool named = strncmp(text, SECRET, strlen(SECRET)) == 0;
    bool good = identity_parse(named ? text + strlen(SECRET) : text, out);
    if (!good)
        snprintf(error, CLI_ERROR_SIZE, "%.400s holds no secret key (tacet backup --make-identity)",
                 path);
    sodium_memzero(text, size);
    free(text);
    return good;
}
