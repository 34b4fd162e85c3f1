/* The directory a server lives in: `tacet.db` (the database), `signing.key` (the seed that signs
 * certificates and seals what must not stand in the database in clear), `lock` (held by the server
 * that runs on it). Made with mode 0700. */
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

/* Makes the seed of a service that is new, 32 bytes of the system's randomness, mode 0600, before
 * there is a database: whoever finds a database finds its seed. One that is there is kept, and of
 * two callers at once both get the same. */
bool data_dir_make_signing_seed(const char *directory, char *error, size_t error_size);

/* Reads the seed. One that is missing or of another length is refused, not replaced: policies were
 * signed with it, and what it sealed nobody else opens. */
bool data_dir_signing_seed(const char *directory, unsigned char out_seed[32], char *error,
                           size_t error_size);

/* Writes DIRECTORY/NAME into OUT; false when it does not fit. */
bool data_dir_path(const char *directory, const char *name, char *out, size_t size);

/* Writes TEXT to PATH so that a reader sees all of it or nothing. */
bool data_dir_write_whole(const char *path, const char *text, char *error, size_t error_size);

/* True when the directory can be written to and has MIN_FREE_BYTES left. */
bool data_dir_has_room(const char *directory, unsigned long long min_free_bytes);

#endif
