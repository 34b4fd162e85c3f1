/* The steps between versions of the schema that are written in C. */
#include "storage/upgrade.h"

#include <stdio.h>

#include "storage/answers/answers_upgrade.h"
#include "storage/db/listing.h"
#include "storage/db/migrate.h"
#include "storage/digests.h"
#include "storage/ledger/ledger_log.h"
#include "storage/ledger/ledger_upgrade.h"

#define ROWS_VERSION     12 /* entries and answers become rows */
#define DIGESTS_VERSION  17 /* rows have digests */
#define NOTES_VERSION    20 /* notes have digests */
#define NAMES_VERSION    28 /* endings, names of policies and grants have digests */
#define LOG_VERSION      30 /* the ledger has a log */
#define PLANS_VERSION    42 /* jobs, datasets, holds and more have digests */
#define SUBTREES_VERSION 44 /* the root of the log is noted */
#define RIGHTS_VERSION   45 /* clients, their tokens and memberships have digests */

/* Reads all pages but those of uploads before the first one is written, and the key's name where
 * there is one. What rows say is checked by the steps that rewrite them, and after the upgrade. */
static enum db_status upgrade_check(struct db *db, char error[DB_ERROR_SIZE])
{
    static const char *const but[] = {"upload_chunks", NULL};
    enum db_status status = db_check(db, but);
    if (status == DB_OK)
        return db_optional(digests_key_fits(db, error));
    snprintf(error, DB_ERROR_SIZE, "nothing was upgraded: %.220s", db_last_error(db));
    return status;
}

enum db_status storage_upgrade(struct db *db, char error[DB_ERROR_SIZE])
{
    static const struct migrate_step steps[] = {
        {0, upgrade_check},
        {ROWS_VERSION, ledger_upgrade},
        {ROWS_VERSION, answers_upgrade},
        {DIGESTS_VERSION, digests_begin},
        {NOTES_VERSION, digests_begin_notes},
        {NAMES_VERSION, digests_begin_names},
        {LOG_VERSION, ledger_log_begin},
        {PLANS_VERSION, digests_begin_plans},
        {SUBTREES_VERSION, ledger_log_begin_root},
        {RIGHTS_VERSION, digests_begin_rights},
    };
    enum db_status status = migrate(db, steps, sizeof steps / sizeof *steps, error);
    return status == DB_OK ? digests_bind(db, error) : status;
}

bool storage_is_in_use(struct db *db)
{
    /* Without the table the statement fails. */
    return db_one(db, "SELECT 1 FROM meta WHERE name = 'digest-key'", NULL, 0, listing_ignore,
                  NULL) == DB_OK;
}

enum db_status storage_check(struct db *db, char error[DB_ERROR_SIZE])
{
    static const char *const but[] = {"ledger_entries", "answers", "upload_chunks", NULL};
    enum db_status status = db_check(db, but);
    if (status != DB_OK)
        snprintf(error, DB_ERROR_SIZE, "%s", db_last_error(db));
    return status;
}
