/* The steps between versions of the schema that are written in C. */
#include "storage/upgrade.h"

#include <stdio.h>

#include "storage/answers/answers_upgrade.h"
#include "storage/db/migrate.h"
#include "storage/digests.h"
#include "storage/ledger/ledger_upgrade.h"

#define ROWS_VERSION    12 /* entries and answers become rows */
#define DIGESTS_VERSION 17 /* rows have digests */

enum db_status storage_upgrade(struct db *db, char error[DB_ERROR_SIZE])
{
    static const struct migrate_step steps[] = {
        {ROWS_VERSION, ledger_upgrade},
        {ROWS_VERSION, answers_upgrade},
        {DIGESTS_VERSION, digests_begin},
    };
    enum db_status status = migrate(db, steps, sizeof steps / sizeof *steps, error);
    return status == DB_OK ? digests_bind(db, error) : status;
}

enum db_status storage_check(struct db *db, char error[DB_ERROR_SIZE])
{
    static const char *const but[] = {"ledger_entries", "answers", "upload_chunks", NULL};
    enum db_status status = db_check(db, but);
    if (status != DB_OK)
        snprintf(error, DB_ERROR_SIZE, "%s", db_last_error(db));
    return status;
}
