/* Small named values that belong to the database as a whole. */
#ifndef TACET_STORAGE_DB_META_H
#define TACET_STORAGE_DB_META_H

#include "storage/db/db.h"

/* Copies the value of NAME into OUT of SIZE bytes. DB_NONE when there is none, DB_FAILED when it
 * does not fit. */
enum db_status meta_get(struct db *db, const char *name, char *out, size_t size);

/* Sets NAME to VALUE, whether or not it was there. */
enum db_status meta_set(struct db *db, const char *name, const char *value);

#endif
