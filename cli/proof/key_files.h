/* Key sets in files: what the caller trusts, and what follows from it. */
#ifndef TACET_CLI_PROOF_KEY_FILES_H
#define TACET_CLI_PROOF_KEY_FILES_H

#include "api/proof/proof_keys.h"
#include "cli/cli.h"

#define KEY_FILES_MOST ((size_t)1 << 20) /* bytes of a set */

/* A row of a table of flags whose option MEMBER becomes NEWER of key_files_read. */
#define KEY_FILES_FLAG_NEWER(MEMBER)                                                               \
    {                                                                                              \
        "newer", AS_TEXT(MEMBER), NULL, "FILE",                                                    \
            "its jwks.json of now, from anywhere: for keys that have followed those of --keys", 0  \
    }

/* Reads the key set in the file NAME, and adds those of the set in the file NEWER (NULL: none) to
 * which signed statements lead from it. False: ERROR holds a line. */
bool key_files_read(const char *name, const char *newer, struct proof_keys *out,
                    char error[CLI_ERROR_SIZE]);

/* Adds to KEYS those of the set in the file NEWER (NULL: none) alone. */
bool key_files_newer(const char *newer, struct proof_keys *keys, char error[CLI_ERROR_SIZE]);

#endif
