#include "cli/proof/key_files.h"

#include <stdio.h>
#include <stdlib.h>

/* Reads the file NAME into KEYS by READ. */
static bool read_key_file(const char *name,
                          const char *(*read)(const char *text, size_t size,
                                              struct proof_keys *keys),
                          struct proof_keys *keys, char error[CLI_ERROR_SIZE])
{
    size_t size = 0;
    char *text = cli_read_file(name, KEY_FILES_MOST, &size, error);
    const char *why = text ? read(text, size, keys) : NULL;
    if (why)
        snprintf(error, CLI_ERROR_SIZE, "%.400s: %s", name, why);
    bool good = text && !why;
    free(text);
    return good;
}

bool key_files_newer(const char *newer, struct proof_keys *keys, char error[CLI_ERROR_SIZE])
{
    return !newer || read_key_file(newer, proof_keys_follow, keys, error);
}

bool key_files_read(const char *name, const char *newer, struct proof_keys *out,
                    char error[CLI_ERROR_SIZE])
{
    return read_key_file(name, proof_keys_read, out, error) && key_files_newer(newer, out, error);
}
