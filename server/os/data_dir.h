/* The data directory of a server: `tacet.db` (the database), `signing.key` (the seed of the keys
 * that sign certificates and encrypt secrets in the database), `lock` (held by the running server),
 * `ledger.head` (how many entries the ledger has had: storage/db/sqlite_head.h), `postgresql` (the
 * service is in PostgreSQL, and there is no `tacet.db`).
 * The directory is made with mode 0700. */
#ifndef TACET_SERVER_OS_DATA_DIR_H
#define TACET_SERVER_OS_DATA_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All functions: true on success, else ERROR holds a sentence that names the path. */

/* Makes DIRECTORY (not its parents) if it is missing. One that others may read, or the group may
 * write to, is refused with the chmod that mends it. */
bool data_dir_make(const char *directory, char *error, size_t error_size);

/* Makes this process, which is root's, one of DIRECTORY's owner for good, and sets *OUT_OWNER. A
 * directory that is not there counts as root's. False: errno says why not. */
bool data_dir_become_owner(const char *directory, unsigned *out_owner);

/* Takes the locks for as long as the process lives: a second server on the same directory is
 * refused. The directory itself is locked, so that removing the file `lock` opens no door; the file
 * too, because earlier versions look there alone. OUT_LOCKS are descriptors to close at the end, -1
 * for none; a crash lets go of them too. */
bool data_dir_lock(const char *directory, int out_locks[2], char *error, size_t error_size);

/* Refuses a file of MODE (struct stat's) that group or others may read or write; ERROR says the
 * chmod that mends it. */
bool data_dir_check_mode(const char *path, unsigned mode, char *error, size_t error_size);

/* True while DIRECTORY and what is in it are as a start would accept them: private, with the seed
 * in place and, where it HAS_DATABASE, `tacet.db`. False: *WHY_NOT is a sentence that anybody may
 * read. */
bool data_dir_stands(const char *directory, bool has_database, const char **why_not);

enum data_dir_found { DATA_DIR_NEW, DATA_DIR_THERE, DATA_DIR_LOST };

/* Whether DIRECTORY has a service in `tacet.db`, and makes nothing. NEW: it has none, and may get
 * one. LOST: its database is gone, or MARKS has marks of a service, or MARKS is missing ("" or
 * NULL: none was given). ERROR says which: an empty database would forget what was spent, and
 * SQLite removes a log that has no database. THERE too when it cannot be told. */
enum data_dir_found data_dir_find(const char *directory, const char *marks, char *error,
                                  size_t error_size);

/* Makes an empty `tacet.db` where there is none. It is on disk before the seed is made, so that a
 * seed without it means that it was lost. */
bool data_dir_make_database(const char *directory, char *error, size_t error_size);

/* Makes the seed of a new service: 32 bytes of the system's randomness, mode 0600. It is made
 * before anything is stored, so that no database is without its seed. A seed that exists is kept,
 * and two callers at once get the same seed. */
bool data_dir_make_signing_seed(const char *directory, char *error, size_t error_size);

/* Puts SEED, of another server of the same service, in its place. It is fine when it is there.
 * Another seed is kept, and an error. */
bool data_dir_take_signing_seed(const char *directory, const unsigned char seed[32], char *error,
                                size_t error_size);

/* Reads the seed. A seed that is missing or of another length is an error and is not replaced: a
 * new one could neither verify old signatures nor decrypt stored secrets. One that is all zero, or
 * that others may read, is refused. */
bool data_dir_signing_seed(const char *directory, unsigned char out_seed[32], char *error,
                           size_t error_size);

#define DATA_DIR_MARK 16

/* Computes the mark of SEED, a hash that tells whether another one is the same, and nothing of it.
 */
void data_dir_seed_mark(const unsigned char seed[32], unsigned char out[DATA_DIR_MARK]);

/* Writes DIRECTORY/NAME into OUT; false when it does not fit. */
bool data_dir_path(const char *directory, const char *name, char *out, size_t size);

/* Makes the names in DIRECTORY durable. False: errno says why not. */
bool data_dir_sync(const char *directory);

/* Writes SIZE BYTES to PATH so that a reader sees all of them or what was there before. The umask
 * says who may read them. */
bool data_dir_write_whole(const char *path, const void *bytes, size_t size, char *error,
                          size_t error_size);

/* The file that a backup in progress locks in a data directory. It holds when one was last made. */
#define DATA_DIR_BACKUP_LOCK "tacet.copy.lock"

/* Notes in the lock of a backup, open as LOCK, that one was made at TIME_S (seconds since 1970). */
void data_dir_note_backup(int lock, int64_t time_s);

/* When a backup of DIRECTORY was last made; 0: never, or it cannot be read. */
int64_t data_dir_backup_s(const char *directory);

/* True when the directory can be written to and has MIN_FREE_BYTES left. */
bool data_dir_has_room(const char *directory, unsigned long long min_free_bytes);

#endif
