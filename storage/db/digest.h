/* Keyed digests of stored rows: what is read is what was stored, in its own row, or the row is an
 * error that is named in the log. A table says by its member `digest` (table.h) that its rows have
 * one; table.c writes and checks them. BLAKE2b (libsodium) of 16 bytes under the store's key, over
 * the names of table and digest and the type, size and bytes of each of the table's columns but the
 * loose ones. */
#ifndef TACET_STORAGE_DB_DIGEST_H
#define TACET_STORAGE_DB_DIGEST_H

#include "storage/db/table.h"

/* Computes the digest of the values of TABLE's columns, in their order. */
void digest_of_values(const struct db *db, const struct table *table, const struct db_value *values,
                      unsigned char out[DIGEST_SIZE]);

/* True when ROW, of a SELECT of TABLE's columns, was stored like this under the store's key. The
 * value behind the columns is its digest. False: the connection remembers the row's name (see
 * db_damage), and db_last_error says it. */
bool digest_holds(struct db *db, const struct table *table, const struct db_row *row);

/* Whether the row of TABLE with the key ID is the one that db_damage names next. */
bool digest_damaged(const struct db *db, const struct table *table, const char *id);

/* Gives every row of TABLE the digest of what it holds now. For the upgrade from the version
 * without digests alone: it makes true whatever stands there. */
enum db_status digest_all(struct db *db, const struct table *table);

/* Writes the store's key as 32 hexadecimal digits that tell which key it is and nothing else. */
void digest_key_name(const struct db *db, char out[2 * DIGEST_SIZE + 1]);

#endif
