/* What all lists of this room share: a row becomes a struct, and the caller may stop early.
 */
#ifndef TACET_STORAGE_DB_LISTING_H
#define TACET_STORAGE_DB_LISTING_H

#include "storage/db/db.h"

/* The end of a query that shows a page of TABLE in order of creation: from after the row whose id
 * is in the parameter AFTER ('': from the first), at most as many as the parameter LIMIT says. Both
 * are names as "$2". Comes behind WHERE or AND. */
#define LISTING_PAGE(table, after, limit)                                                          \
    " (" after " = '' OR (created_ms, id) > (SELECT created_ms, id FROM " table                    \
    " WHERE id = " after ")) ORDER BY created_ms, id LIMIT " limit

/* The condition that the column owner is among the ids in the parameter LIST ("$1"), which are
 * separated by spaces. */
#define OWNER_AMONG(list) " instr(' ' || " list " || ' ', ' ' || owner || ' ') > 0 "

/* For RETURNING statements and lookups whose row itself does not matter. */
enum db_status listing_ignore(void *context, const struct db_row *row);

/* Reads column 0 as an integer into the int64_t at CONTEXT. */
enum db_status listing_integer(void *context, const struct db_row *row);

/* Reads column 0 as an id into the char[ID_SIZE] at CONTEXT. */
enum db_status listing_id(void *context, const struct db_row *row);

/* Gives the one value of a SELECT whose $1 is ID, with a NUL behind it that *out_size does not
 * count (OUT_SIZE may be NULL). The caller frees it. DB_NONE: no row. */
enum db_status listing_bytes(struct db *db, const char *sql, const char *id, void **out,
                             size_t *out_size);

#endif
