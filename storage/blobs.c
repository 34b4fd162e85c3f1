/* Bytes under a digest. */
#include "storage/blobs.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum db_status blob_find(struct db *db, const struct table *table, const char *tail, const char *id,
                         void **out, size_t *out_size)
{
    struct blob blob = {.bytes = NULL};
    enum db_status status = table_find(db, table, tail, DB_VALUES(db_text(id)), &blob);
    *out = blob.bytes;
    *out_size = blob.size;
    return status;
}

void blob_digest(const struct db *db, const struct table *table, const char *id, const void *bytes,
                 size_t size, unsigned char out[DIGEST_SIZE])
{
    struct blob blob = {.bytes = (char *)(uintptr_t)bytes, .size = size};
    assert(strlen(id) < sizeof blob.id);
    memcpy(blob.id, id, strlen(id));
    table_digest(db, table, &blob, out);
}
