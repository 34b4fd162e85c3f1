/* Brings a database to the schema of this program. */
#ifndef TACET_STORAGE_DB_MIGRATE_H
#define TACET_STORAGE_DB_MIGRATE_H

#include "storage/db/db.h"

/* Work in C that belongs to VERSION and runs behind its statements, in their transaction. Work of
 * version 0 runs once, before the first step, and only on a database that has tables. Not DB_OK:
 * ERROR may hold a sentence, and the version is not applied. */
struct migrate_step {
    int version;
    enum db_status (*work)(struct db *db, char error[DB_ERROR_SIZE]);
};

/* The version to which this program brings a database. */
int64_t migrate_newest(const struct db_schema *schema);

/* Makes the tables of an empty database, or applies the steps that are missing, each in its own
 * transaction together with its work in C and its version number, so that a crash between two is
 * continued later. COUNT STEPS. A database whose version is newer than the program's, or older than
 * its oldest, is DB_FAILED with a sentence in ERROR and is not touched; so is one that has to be
 * changed while other processes work on it.
 * Doing it twice, or from two processes, is harmless. storage/upgrade.h has this program's steps.
 */
enum db_status migrate(struct db *db, const struct migrate_step *steps, unsigned count,
                       char error[DB_ERROR_SIZE]);

/* Sets *out_version to the version of the database of DB, and *out_target to the program's. Changes
 * nothing. */
enum db_status migrate_look(struct db *db, int64_t *out_version, int64_t *out_target);

#endif
