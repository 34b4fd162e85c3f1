/* The keys of private data at rest: DATA/keys (storage/keys/keyring.h), under a master key that the
 * operator gives. */
#ifndef TACET_SERVER_KEYS_H
#define TACET_SERVER_KEYS_H

#include <stdbool.h>
#include <stddef.h>

struct db;
struct keyring;

/* Where a master key comes from. At most one text is not ""; with none it is derived from the
 * signing key, and lies beside the data. A key is 64 hexadecimal digits. */
struct keys_source {
    char *text;          /* the key itself, or NULL; it is wiped when it has been read */
    const char *file;    /* which others may not read */
    const char *command; /* of the shell; prints it */
    bool next;           /* the settings of it are called --new-... */
};

/* Writes the directory of the keys: CHOSEN, or DATA/keys where it is NULL or "". False: the name is
 * too long, and ERROR says so. */
bool keys_directory(const char *data, const char *chosen, char *out, size_t size, char *error,
                    size_t error_size);

/* Whether the directory KEYS and the root key in it, or ALL of its files, are there, belong to this
 * user, and are of use to nobody else. False: ERROR says what to do. */
bool keys_stand(const char *keys, bool all, char *error, size_t error_size);

/* Reads the master key of the service in DIRECTORY. False: ERROR holds a sentence. */
bool keys_master(const char *directory, const struct keys_source *source,
                 unsigned char out_master[32], char *error, size_t error_size);

/* Opens the keys in KEYS (keys_directory) of the service in DIRECTORY, whose database is DB, and
 * makes them where the database never had any. NULL: ERROR holds a sentence. */
struct keyring *keys_open(const char *directory, const char *keys, const struct keys_source *source,
                          struct db *db, char *error, size_t error_size);

#endif
