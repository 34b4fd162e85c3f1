/* The tables under digests, their upgrade, and the key's name in the database. */
#include "storage/digests.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "storage/answers/answers.h"
#include "storage/db/digest.h"
#include "storage/db/listing.h"
#include "storage/db/note.h"
#include "storage/ledger/ledger.h"

#define KEY_NAME_SIZE (2 * DIGEST_SIZE + 1)

const struct table *const digests_tables[] = {
    &answers_table,      /* what a key was answered */
    &policies_table,     /* whose a policy is, and whether it is released */
    &policy_bytes_table, /* weights, and sealed shards */
    &teachers_table,
    &expert_policies_table, /* the experts' networks */
    &checkpoints_table,
    &q_releases_table,
    &q_sealed_table, /* what a Q-release draws from */
    &aggregation_parameters_table,
    &endings_table,
    &policy_names_table,
    &policy_grants_table,
    &signing_keys_table,
    &jobs_table,
    &datasets_table,
    &aggregations_table,
    &ledger_holds_table,
    &limit_changes_table,
    &limit_approvals_table,
    &budget_requests_table,
    &environments_table,
    &clients_table,
    &client_tokens_table,
    &client_certificates_table,
    &projects_table,
    &project_members_table,
    NULL,
};

/* Of digests_tables. Signing keys, behind NAMES_TABLES, began with digests. */
#define FIRST_TABLES  9  /* had digests first */
#define NAMES_TABLES  12 /* digests_begin_names leads to so many */
#define PLANS_TABLES  13 /* those behind have them since digests_begin_plans */
#define RIGHTS_TABLES 21 /* and those since digests_begin_rights */

static enum db_status note_key(struct db *db)
{
    char name[KEY_NAME_SIZE];
    digest_key_name(db, name);
    return db_run(db,
                  "INSERT INTO meta (name, value) VALUES ('digest-key', $1) "
                  "ON CONFLICT DO NOTHING",
                  DB_VALUES(db_text(name)), NULL, NULL);
}

/* Gives digests to the tables from number FIRST on and before LAST. */
static enum db_status digest_tables(struct db *db, unsigned first, unsigned last)
{
    enum db_status status = DB_OK;
    for (unsigned i = first; i < last && digests_tables[i] && status == DB_OK; i++)
        status = digest_all(db, digests_tables[i]);
    return status;
}

enum db_status digests_begin(struct db *db, char error[DB_ERROR_SIZE])
{
    enum db_status status = note_key(db);
    (void)error;
    return status == DB_OK ? digest_tables(db, 0, FIRST_TABLES) : status;
}

enum db_status digests_begin_names(struct db *db, char error[DB_ERROR_SIZE])
{
    (void)error;
    return digest_tables(db, FIRST_TABLES, NAMES_TABLES);
}

enum db_status digests_begin_plans(struct db *db, char error[DB_ERROR_SIZE])
{
    (void)error;
    return digest_tables(db, PLANS_TABLES, RIGHTS_TABLES);
}

enum db_status digests_begin_rights(struct db *db, char error[DB_ERROR_SIZE])
{
    (void)error;
    return digest_tables(db, RIGHTS_TABLES, UINT_MAX);
}

enum db_status digests_begin_notes(struct db *db, char error[DB_ERROR_SIZE])
{
    enum db_status status = note_key(db);
    (void)error;
    if (status == DB_OK)
        status = db_run(db,
                        "INSERT INTO meta (name, value) VALUES ('answers-from', '0') "
                        "ON CONFLICT DO NOTHING",
                        NULL, 0, NULL, NULL);
    return status == DB_OK ? digest_all(db, &notes_table) : status;
}

static enum db_status copy_key_name(void *context, const struct db_row *row)
{
    return db_row_copy(row, 0, context, KEY_NAME_SIZE) ? DB_OK : DB_FAILED;
}

enum db_status digests_key_fits(struct db *db, char error[DB_ERROR_SIZE])
{
    char ours[KEY_NAME_SIZE], noted[KEY_NAME_SIZE] = "";
    static const char find[] = "SELECT value FROM meta WHERE name = 'digest-key'";
    enum db_status status = db_one(db, find, NULL, 0, copy_key_name, noted);
    digest_key_name(db, ours);
    if (status == DB_OK && strcmp(noted, ours) == 0)
        return DB_OK;
    if (status == DB_OK) {
        snprintf(error, DB_ERROR_SIZE,
                 "the database belongs to another signing.key: put back the one that "
                 "was kept with it, or that its other servers have (tacet key import)");
        return DB_FAILED;
    }
    return status;
}

static enum db_status bind_key(struct db *db, void *context)
{
    char *error = context;
    enum db_status status = digests_key_fits(db, error);
    if (status != DB_NONE)
        return status;
    status = db_one(db, "SELECT 1 FROM clients LIMIT 1", NULL, 0, listing_ignore, NULL);
    if (status == DB_NONE)
        return digests_begin_notes(db, error);
    if (status == DB_OK)
        snprintf(error, DB_ERROR_SIZE, "the database does not say which signing.key it has");
    return DB_FAILED;
}

enum db_status digests_bind(struct db *db, char error[DB_ERROR_SIZE])
{
    error[0] = '\0';
    enum db_status status = db_transact(db, bind_key, error);
    if (status != DB_OK && error[0] == '\0')
        snprintf(error, DB_ERROR_SIZE, "the key of digests cannot be read: %.180s",
                 db_last_error(db));
    return status;
}
