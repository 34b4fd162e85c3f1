/* The steps between versions of the schema that are written in C. */
#include "storage/upgrade.h"

#include "storage/answers/answers_upgrade.h"
#include "storage/db/migrate.h"
#include "storage/ledger/ledger_upgrade.h"

#define ROWS_VERSION 12 /* entries and answers become rows */

enum db_status storage_upgrade(struct db *db, char error[DB_ERROR_SIZE])
{
    static const struct migrate_step steps[] = {
        {ROWS_VERSION, ledger_upgrade},
        {ROWS_VERSION, answers_upgrade},
    };
    return migrate(db, steps, sizeof steps / sizeof *steps, error);
}
