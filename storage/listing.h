/* What all lists of this room share: a row becomes a struct, and the caller may have seen enough.
 */
#ifndef TACET_STORAGE_LISTING_H
#define TACET_STORAGE_LISTING_H

#include "storage/db.h"

/* For RETURNING statements and lookups whose row itself does not matter. */
enum db_status listing_ignore(void *context, const struct db_row *row);

/* Reads column 0 as an integer into the int64_t at CONTEXT. */
enum db_status listing_integer(void *context, const struct db_row *row);

/* Copies column 0 into malloc'ed memory with a NUL behind it. */
struct listing_bytes {
    void *bytes; /* NULL until a row was seen */
    size_t size;
};
enum db_status listing_copy_bytes(void *context, const struct db_row *row);

/* Copies SIZE bytes, with a NUL behind them; NULL: memory. */
char *listing_duplicate(const void *bytes, size_t size);

/* A row function that stopped a list because its caller had seen enough gives DB_NONE; to the
 * caller that is success. */
enum db_status listing_end(enum db_status status);

#endif
