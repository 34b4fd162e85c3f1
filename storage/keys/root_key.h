/* The folder of keys and the root key in it, which is encrypted under the master key. */
#ifndef TACET_STORAGE_KEYS_ROOT_KEY_H
#define TACET_STORAGE_KEYS_ROOT_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "storage/keys/keyring.h"

/* Opens DIRECTORY, which nobody else may use, and makes it where there is none. -1: ERROR says why.
 */
int root_folder_open(const char *directory, char *error, size_t error_size);

/* Reads the root key of FOLDER, or makes it. Of two processes that begin at once, the second
 * reads. False: ERROR, which names DIRECTORY, says why. */
bool root_key_open(int folder, const char *directory, const unsigned char master[KEYRING_KEY],
                   unsigned char out[KEYRING_KEY], char *error, size_t error_size);

/* Writes all SIZE bytes to FILE from AT on. */
bool root_write_whole(int file, const void *bytes, size_t size, off_t at);

#endif
