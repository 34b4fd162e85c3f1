/* What all lists of this room share: a row becomes a struct, and the caller may stop early.
 *
 * A function that lists a PAGE goes in order of creation. It shows rows of OWNER, which is one id
 * or several that are separated by spaces (NULL: of any), and of these those that CLIENT may find
 * (NULL: all). EACH may stop by false. */
#ifndef TACET_STORAGE_DB_LISTING_H
#define TACET_STORAGE_DB_LISTING_H

#include "storage/db/db.h"

/* The end of a query that shows a page in order of creation. Its parameters, named as "$2", are the
 * values LISTING_VALUES. Comes behind WHERE or AND. */
#define LISTING_PAGE(number, after, limit)                                                         \
    " (created_ms, id) > (" number ", " after ") ORDER BY created_ms, id LIMIT " limit
#define LISTING_VALUES(page)                                                                       \
    db_integer((page)->number), db_text_or_empty((page)->after), db_integer((page)->limit)

/* The condition that the column owner is among the ids in the parameter LIST ("$1"), which are
 * separated by spaces. */
#define OWNER_AMONG(list) " instr(' ' || " list " || ' ', ' ' || owner || ' ') > 0 "

/* For RETURNING statements and lookups whose row itself does not matter. */
enum db_status listing_ignore(void *context, const struct db_row *row);

/* Reads column 0 as an integer into the int64_t at CONTEXT. */
enum db_status listing_integer(void *context, const struct db_row *row);

/* Reads columns 0 and 1 as integers into the int64_t[2] at CONTEXT. */
enum db_status listing_integers(void *context, const struct db_row *row);

/* Reads column 0 as an id into the char[ID_SIZE] at CONTEXT. */
enum db_status listing_id(void *context, const struct db_row *row);

/* Gives the one value of a SELECT whose $1 is ID, with a NUL behind it that *out_size does not
 * count (OUT_SIZE may be NULL). The caller frees it. DB_NONE: no row. */
enum db_status listing_bytes(struct db *db, const char *sql, const char *id, void **out,
                             size_t *out_size);

#endif
