/* Small row functions that several tables need. */
#include "storage/db/listing.h"

#include <stdlib.h>
#include <string.h>

#include "storage/db/id.h"

enum db_status listing_ignore(void *context, const struct db_row *row)
{
    (void)context;
    (void)row;
    return DB_OK;
}

enum db_status listing_integer(void *context, const struct db_row *row)
{
    if (row->values[0].type != DB_INTEGER && row->values[0].type != DB_NULL)
        return DB_FAILED; /* the page is damaged */
    *(int64_t *)context = db_row_integer(row, 0);
    return DB_OK;
}

enum db_status listing_integers(void *context, const struct db_row *row)
{
    int64_t *integers = context;
    integers[0] = db_row_integer(row, 0);
    integers[1] = db_row_integer(row, 1);
    return DB_OK;
}

enum db_status listing_id(void *context, const struct db_row *row)
{
    return db_row_copy(row, 0, context, ID_SIZE) ? DB_OK : DB_FAILED;
}

struct bytes_out {
    void **bytes;
    size_t *size;
};

static enum db_status copy_bytes(void *context, const struct db_row *row)
{
    const struct bytes_out *out = context;
    size_t size;
    if (row->values[0].type != DB_BYTES && row->values[0].type != DB_NULL)
        return DB_FAILED; /* the page is damaged */
    const void *bytes = db_row_bytes(row, 0, &size);
    char *copy = malloc(size + 1); /* a user has chosen the size */
    if (!copy)
        return DB_MEMORY;
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    *out->bytes = copy;
    if (out->size)
        *out->size = size;
    return DB_OK;
}

enum db_status listing_bytes(struct db *db, const char *sql, const char *id, void **out,
                             size_t *out_size)
{
    struct bytes_out to = {out, out_size};
    *out = NULL;
    return db_one(db, sql, DB_VALUES(db_text(id)), copy_bytes, &to);
}
