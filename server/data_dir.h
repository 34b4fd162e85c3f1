/* The data directory of a server: `tacet.db` (the database), `signing.key` (the seed of the keys
 * that sign certificates and encrypt secrets in the database), `lock` (held by the running server).
 * The directory is made with mode 0700. */
#ifndef TACET_SERVER_DATA_DIR_H
#define TACET_SERVER_DATA_DIR_H

#include <stdbool.h>
#include <stddef.h>

/* All functions: true on success, else ERROR holds a sentence that names the path. */

/* Makes DIRECTORY (not its parents) if it is missing. */
bool data_dir_make(const char *directory, char *error, size_t error_size);

/* Takes the lock for as long as the process lives: a second server on the same directory is
 * refused. *out_lock is a descriptor to close at the end; a crash lets go of it too. */
bool data_dir_lock(const char *directory, int *out_lock, char *error, size_t error_size);

/* Makes the seed of a new service: 32 bytes of the system's randomness, mode 0600. It is made
 * before the database, so that no database is without its seed. A seed that exists is kept, and two
 * callers at once get the same seed. */
bool data_dir_make_signing_seed(const char *directory, char *error, size_t error_size);

/* Reads the seed. A seed that is missing or of another length is an error and is not replaced: a
 * new one could neither verify old signatures nor decrypt stored secrets. */
bool data_dir_signing_seed(const char *directory, unsigned char out_seed[32], char *error,
                           size_t error_size);

/* Writes DIRECTORY/NAME into OUT; false when it does not fit. */
bool data_dir_path(const char *directory, const char *name, char *out, size_t size);

/* Writes TEXT to PATH so that a reader sees all of it or nothing. */
bool data_dir_write_whole(const char *path, const char *text, char *error, size_t error_size);

/* True when the directory can be written to and has MIN_FREE_BYTES left. */
bool data_dir_has_room(const char *directory, unsigned long long min_free_bytes);

#endif
