/* Small row functions that several tables need. */
#include "storage/db/listing.h"

#include <stdlib.h>
#include <string.h>

enum db_status listing_ignore(void *context, const struct db_row *row)
{
    (void)context;
    (void)row;
    return DB_OK;
}

enum db_status listing_integer(void *context, const struct db_row *row)
{
    *(int64_t *)context = db_row_integer(row, 0);
    return DB_OK;
}

char *listing_duplicate(const void *bytes, size_t size)
{
    char *copy = size == SIZE_MAX ? NULL : malloc(size + 1);
    if (copy) {
        memcpy(copy, bytes, size);
        copy[size] = '\0';
    }
    return copy;
}

enum db_status listing_copy_bytes(void *context, const struct db_row *row)
{
    struct listing_bytes *out = context;
    const void *bytes = db_row_bytes(row, 0, &out->size);
    out->bytes = listing_duplicate(bytes, out->size);
    return !out->bytes ? DB_FAILED : DB_OK;
}

enum db_status listing_end(enum db_status status)
{
    return status == DB_NONE ? DB_OK : status;
}
