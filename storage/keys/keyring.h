/* The keys of private data at rest, in a directory of their own beside the database, so that a
 * backup of the database alone holds no data that can be read.
 *
 *   root     the root key, encrypted under the master key, which the operator may keep elsewhere
 *   ds_...   one file for each dataset: a slot of 128 bytes for the dataset itself and one for each
 *            of its experts, each with a random key that is encrypted under the root key
 *
 * Deleting data is overwriting a key: what was encrypted under it can then be read nowhere, neither
 * in the database and its log nor in any copy of them. XChaCha20-Poly1305 (libsodium), with the
 * slot's own name as associated data. Any thread; several processes may share a directory. */
#ifndef TACET_STORAGE_KEYS_KEYRING_H
#define TACET_STORAGE_KEYS_KEYRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYRING_KEY       32
#define KEYRING_NAME_SIZE 33
#define KEYRING_DATASET   UINT32_MAX /* the number of a dataset's own slot */

enum keyring_status {
    KEYRING_OK,
    KEYRING_NONE,    /* there never was such a key, or its file is missing */
    KEYRING_ERASED,  /* there was one */
    KEYRING_FULL,    /* the disk is full or cannot be written to; the same may be tried again */
    KEYRING_DAMAGED, /* what is stored is not what was written */
};

struct keyring;

/* Whether DIRECTORY holds a root key. */
bool keyring_exists(const char *directory);

/* Opens the keys in DIRECTORY; makes it, and a root key, when there is none. NULL: ERROR holds a
 * sentence, for instance that MASTER is not the key that they are encrypted under. */
struct keyring *keyring_open(const char *directory, const unsigned char master[KEYRING_KEY],
                             char *error, size_t error_size);

/* Wipes the root key. NULL is fine. */
void keyring_close(struct keyring *keyring);

/* Encrypts the root key in DIRECTORY under another master key. A service that runs goes on. */
bool keyring_rotate(const char *directory, const unsigned char from[KEYRING_KEY],
                    const unsigned char to[KEYRING_KEY], char *error, size_t error_size);

/* Writes a name that tells which root key it is and nothing else. */
void keyring_name(const struct keyring *keyring, char out[KEYRING_NAME_SIZE]);

/* The key of secrets that belong to no dataset. */
void keyring_service_key(const struct keyring *keyring, unsigned char out[KEYRING_KEY]);

/* Reads the key of expert NUMBER of DATASET, or the dataset's own (KEYRING_DATASET). */
enum keyring_status keyring_find(struct keyring *keyring, const char *dataset, uint32_t number,
                                 unsigned char out[KEYRING_KEY]);

/* Whether DATASET has a key, its own or one of an expert, even one that was to be erased with all
 * others. KEYRING_NONE: it has none. */
enum keyring_status keyring_find_any(struct keyring *keyring, const char *dataset);

/* Whether DATASET or one of its experts was erased: another key than the dataset's present one may
 * have been its own. False also when its keys cannot be read. */
bool keyring_has_erased(struct keyring *keyring, const char *dataset);

/* Reads the keys of experts 0 to COUNT - 1 of DATASET into OUT[COUNT][KEYRING_KEY], and into
 * STATUSES what became of each. What cannot be read is KEYRING_FULL. */
void keyring_find_all(struct keyring *keyring, const char *dataset, uint32_t count,
                      unsigned char *out, enum keyring_status *statuses);

/* Reads the keys of COUNT experts into OUT[COUNT][KEYRING_KEY], and makes those that never were,
 * durably. Those from number FIRST_NEW on are of experts who are not stored yet: theirs are made
 * anew even when an erased key is in the way. Otherwise an erased key is KEYRING_ERASED. */
enum keyring_status keyring_need(struct keyring *keyring, const char *dataset,
                                 const uint32_t *numbers, uint32_t count, uint32_t first_new,
                                 unsigned char *out);

typedef bool keyring_first_fn(void *context);

/* Overwrites the key of expert NUMBER, and gives the dataset another key for what was derived from
 * its data; durable when it returns. Again is fine. FIRST (NULL: none) runs when the keys are at
 * hand, which may have taken long; when it gives false nothing is erased (KEYRING_FULL). */
enum keyring_status keyring_erase(struct keyring *keyring, const char *dataset, uint32_t number,
                                  keyring_first_fn *first, void *context);

/* Overwrites all keys of DATASET; durable when it returns. Again is fine. */
enum keyring_status keyring_erase_all(struct keyring *keyring, const char *dataset);

/* Sees an erased slot: an expert's, or KEYRING_DATASET when the whole dataset was erased. */
typedef bool keyring_erased_fn(void *context, const char *dataset, uint32_t number);

/* Shows what was erased, until EACH gives false. A later call shows only datasets whose keys have
 * changed since the look before the last that was whole. One thread at a time. */
enum keyring_status keyring_erased(struct keyring *keyring, keyring_erased_fn *each, void *context);

#endif
