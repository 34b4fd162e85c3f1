/* Columns of bytes that lie apart from the rest of their row, because they are large and most calls
 * do not want them: an id, the bytes, and a digest of both. */
#ifndef TACET_STORAGE_BLOBS_H
#define TACET_STORAGE_BLOBS_H

#include "storage/db/id.h"
#include "storage/db/table.h"

struct blob {
    char id[ID_SIZE];
    char *bytes;
    size_t size;
};

/* The columns of a blob whose id and bytes are called so. */
#define BLOB_COLUMNS(id_name, bytes_name)                                                          \
    {                                                                                              \
        {id_name, COLUMN_TEXT, offsetof(struct blob, id), ID_SIZE, NULL},                          \
        {                                                                                          \
            bytes_name, COLUMN_BLOB, offsetof(struct blob, bytes), offsetof(struct blob, size),    \
                NULL                                                                               \
        }                                                                                          \
    }

/* Gives the bytes of the row of TABLE that the literal TAIL finds by $1 = ID, with a NUL behind
 * them that *out_size does not count; the caller frees them. DB_NONE: no row. */
enum db_status blob_find(struct db *db, const struct table *table, const char *tail, const char *id,
                         void **out, size_t *out_size);

/* Computes the digest that BYTES are stored with. */
void blob_digest(const struct db *db, const struct table *table, const char *id, const void *bytes,
                 size_t size, unsigned char out[DIGEST_SIZE]);

#endif
