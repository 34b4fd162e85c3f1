/* What a database says of the keys of its private data, and what earlier versions left in clear. */
#ifndef TACET_STORAGE_SEALING_H
#define TACET_STORAGE_SEALING_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define SEALING_NAME_SIZE 33

/* Reads the name of the root key (keyring.h) under which all private data are encrypted. DB_NONE:
 * some may still be in clear. */
enum db_status sealing_key_name(struct db *db, char out[SEALING_NAME_SIZE]);

/* Begins with the root key NAME, unless another was begun with. OUT is the one that counts;
 * *OUT_SEALED: no data are in clear. */
enum db_status sealing_begin(struct db *db, const char *name, char out[SEALING_NAME_SIZE],
                             bool *out_sealed);

/* Notes that no data are in clear; the first call counts. */
enum db_status sealing_note_key(struct db *db, const char *name);

struct sealing_upload {
    char id[ID_SIZE], dataset[ID_SIZE];
};

/* Finds an upload of a dataset that is not deleted whose chunks have no keys. DB_NONE: none. */
enum db_status sealing_next_upload(struct db *db, struct sealing_upload *out);

/* Replaces chunk SEQUENCE of an upload. DB_NONE: unknown. */
enum db_status sealing_put_chunk(struct db *db, const char *upload, uint32_t sequence,
                                 const void *bytes, size_t size);

struct sealing_policy {
    char dataset[ID_SIZE];
    uint32_t number;
    char *bytes; /* malloc'ed */
    size_t size;
};

/* Finds the first network of an expert behind that of OUT, in the order of dataset and number. */
enum db_status sealing_next_policy(struct db *db, struct sealing_policy *out);

/* Replaces the bytes of the network of OUT by BYTES. */
enum db_status sealing_put_policy(struct db *db, const struct sealing_policy *policy,
                                  const void *bytes, size_t size);

struct sealing_expert {
    char dataset[ID_SIZE];
    uint32_t number;
};

/* Finds the first expert behind that of OUT, likewise, that was erased. DB_NONE: none. */
enum db_status sealing_next_erased(struct db *db, struct sealing_expert *out);

#endif
