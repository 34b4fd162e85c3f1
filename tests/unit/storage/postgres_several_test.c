/* Several processes on one PostgreSQL database (scripts/test-postgres): stores of their own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "storage/answers/answers.h"
#include "storage/datasets.h"
#include "storage/db/listing.h"
#include "storage/db/migrate.h"
#include "storage/jobs.h"
#include "storage/upgrade.h"
#include "storage/uploads.h"
#include "tests/unit/storage/postgres_place.h"

static char url[128];
static struct db_store *stores[2];
static struct db *dbs[2];

static void open_one(int i)
{
    char error[DB_ERROR_SIZE];
    stores[i] = db_store_new(&db_driver_postgres,
                             &(struct db_settings){.location = url, .not_durable = true});
    cr_assert_eq(db_open(stores[i], &dbs[i], error), DB_OK, "%s", error);
}

static void close_one(int i)
{
    db_close(dbs[i]);
    db_store_free(stores[i]);
    dbs[i] = NULL;
    stores[i] = NULL;
}

static void setup(void)
{
    char error[DB_ERROR_SIZE];
    if (!postgres_place_wanted())
        cr_skip_test("needs a PostgreSQL server");
    postgres_place_make(url, sizeof url);
    open_one(0);
    cr_assert_not(storage_is_in_use(dbs[0]));
    cr_assert_eq(storage_upgrade(dbs[0], error), DB_OK, "%s", error);
    cr_assert(storage_is_in_use(dbs[0]));
    open_one(1);
}

static void teardown(void)
{
    if (!stores[0])
        return;
    for (int i = 0; i < 2; i++)
        if (stores[i])
            close_one(i);
    postgres_place_drop(url);
}

TestSuite(postgres_several, .init = setup, .fini = teardown, .timeout = 600);

static enum db_status ask_alone(struct db *db, void *context)
{
    (void)context;
    return db_alone(db);
}

Test(postgres_several, one_knows_whether_it_is_alone)
{
    cr_assert(db_is_shared(dbs[0]));
    cr_expect_eq(db_transact(dbs[0], ask_alone, NULL), DB_NONE);
    close_one(1);
    cr_expect_eq(db_transact(dbs[0], ask_alone, NULL), DB_OK);
    open_one(1);
    cr_expect_eq(db_transact(dbs[1], ask_alone, NULL), DB_NONE);
}

Test(postgres_several, a_writer_that_does_not_go_on_loses_its_transaction)
{
    int64_t milliseconds = 0;
    static const char ask[] = "SELECT CAST(setting AS BIGINT) FROM pg_settings WHERE name ="
                              " 'idle_in_transaction_session_timeout'";
    cr_assert_eq(db_begin_batch(dbs[0], true), DB_OK);
    cr_assert_eq(db_one(dbs[0], ask, NULL, 0, listing_integer, &milliseconds), DB_OK);
    cr_expect_eq(milliseconds, 20000);
    db_rollback_batch(dbs[0]);
    cr_assert_eq(db_one(dbs[0], ask, NULL, 0, listing_integer, &milliseconds), DB_OK);
    cr_expect_eq(milliseconds, 0, "readers may take their time");
}

static int64_t count_of(const char *sql)
{
    int64_t count = -1;
    cr_assert_eq(db_one(dbs[0], sql, NULL, 0, listing_integer, &count), DB_OK, "%s",
                 db_last_error(dbs[0]));
    return count;
}

Test(postgres_several, a_start_leaves_what_may_be_anothers)
{
    int64_t now = 0;
    struct dataset_row dataset = {.id = "ds_a", .owner = "cli_a", .name = "a", .created_ms = 1};
    cr_assert_eq(datasets_insert(dbs[0], &dataset, NULL), DB_OK, "%s", db_last_error(dbs[0]));
    postgres_place_run(url, "SET search_path = tacet; INSERT INTO uploads (id, dataset, client,"
                            " place, chunks, created_ms, experts) VALUES"
                            " ('upl_a', 'ds_a', 'cli_a', 0, 0, 1000, ''),"
                            " ('upl_b', 'ds_a', 'cli_a', 0, 0, 0, '')");
    cr_expect_eq(db_clock(dbs[0], &now), DB_OK);
    cr_expect_gt(now, INT64_C(1700000000000));
    cr_expect_eq(uploads_sweep(dbs[0], UPLOADS_LEFT_MS + 500), DB_OK);
    cr_expect_eq(count_of("SELECT count(*) FROM uploads WHERE id = 'upl_a'"), 1);
    cr_expect_eq(count_of("SELECT count(*) FROM uploads"), 1, "an old one is nobody's");
    cr_expect_eq(jobs_expire_leases(dbs[0]), DB_NONE);
    close_one(1);
    cr_expect_eq(jobs_expire_leases(dbs[0]), DB_OK);
    cr_expect_eq(uploads_sweep(dbs[0], 0), DB_OK);
    cr_expect_eq(count_of("SELECT count(*) FROM uploads"), 0);
}

static void set_version(int64_t version)
{
    char sql[128];
    snprintf(sql, sizeof sql,
             "DELETE FROM tacet.schema_versions; INSERT INTO tacet.schema_versions VALUES (%lld)",
             (long long)version);
    postgres_place_run(url, sql);
}

Test(postgres_several, a_schema_is_not_changed_beside_others)
{
    char error[DB_ERROR_SIZE];
    int64_t newest = migrate_newest(db_driver_of(dbs[0])->schema);
    set_version(newest - 1);
    cr_expect_eq(storage_upgrade(dbs[1], error), DB_FAILED);
    cr_expect_not_null(strstr(error, "stop them first"), "%s", error);
    cr_expect_eq(count_of("SELECT max(version) FROM schema_versions"), newest - 1);
}

/* The newer program changed the schema while all connections were gone. */
Test(postgres_several, a_schema_that_became_newer_is_not_written_to)
{
    cr_expect_eq(count_of("SELECT count(*) FROM clients"), 0);
    set_version(migrate_newest(db_driver_of(dbs[0])->schema) + 1);
    postgres_place_run(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                            " datname = current_database() AND pid <> pg_backend_pid()");
    cr_expect_eq(db_change(dbs[0], "DELETE FROM clients", NULL, 0), DB_FULL);
    cr_expect_not_null(strstr(db_last_error(dbs[0]), "newer version"), "%s", db_last_error(dbs[0]));
}

/* An answer may be gone that this server knows nothing of: the time is in the database. */
Test(postgres_several, removed_answers_are_noted_for_all)
{
    int64_t from_ms = -1;
    struct answers_sweep sweep = {.from_ms = 10 * ANSWERS_EARLY_MS,
                                  .now_ms = 20 * ANSWERS_EARLY_MS};
    struct answer_row answer = {.status = 200, .body = (char *)"", .created_ms = 1};
    cr_assert_eq(db_begin_batch(dbs[1], true), DB_OK);
    cr_assert_eq(answers_store(dbs[1], "cli_a", "1970-01-01-a", &answer), DB_OK);
    cr_assert_eq(db_commit_batch(dbs[1]), DB_OK);
    cr_assert_eq(answers_prune(dbs[1], &sweep), DB_OK, "%s", db_last_error(dbs[1]));
    cr_assert_eq(answers_kept_from(dbs[0], &from_ms), DB_OK);
    cr_expect_eq(from_ms, 10 * ANSWERS_EARLY_MS);
}
