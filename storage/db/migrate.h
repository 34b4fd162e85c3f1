/* Brings a database to the schema of this program. */
#ifndef TACET_STORAGE_DB_MIGRATE_H
#define TACET_STORAGE_DB_MIGRATE_H

#include "storage/db/db.h"

/* Applies the migrations that are missing, each in its own transaction together with its version
 * number, so that a crash between two is continued later. A database whose version is newer than
 * the program's is DB_FAILED with a sentence in ERROR and is not touched. Doing it twice, or from
 * two processes, is harmless. */
enum db_status migrate(struct db *db, char error[DB_ERROR_SIZE]);

/* The version this program's schema has with DRIVER. */
int migrate_version(const struct db_driver *driver);

#endif
