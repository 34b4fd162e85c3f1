/* Row functions that end early, and those that write, over PostgreSQL (scripts/test-postgres). */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <unistd.h>

#include "storage/answers/answers.h"
#include "storage/db/listing.h"
#include "storage/upgrade.h"
#include "tests/unit/storage/postgres_place.h"

static char url[128];
static struct db_store *store;
static struct db *db;

static void setup(void)
{
    char error[DB_ERROR_SIZE];
    if (!postgres_place_wanted())
        cr_skip_test("needs a PostgreSQL server");
    postgres_place_make(url, sizeof url);
    store = db_store_new(
        &db_driver_postgres,
        &(struct db_settings){.location = url, .not_durable = true, .busy_timeout_ms = 3600000});
    cr_assert_eq(db_open(store, &db, error), DB_OK, "%s", error);
    cr_assert_eq(storage_upgrade(db, error), DB_OK, "%s", error);
    postgres_place_run(url, "CREATE TABLE tacet.marks (number BIGINT)");
}

static void teardown(void)
{
    if (!db)
        return;
    db_close(db);
    db_store_free(store);
    postgres_place_drop(url);
}

TestSuite(postgres_run, .init = setup, .fini = teardown, .timeout = 600);

static int64_t stored_marks(void)
{
    int64_t count = -1;
    cr_assert_eq(db_one(db, "SELECT count(*) FROM marks", NULL, 0, listing_integer, &count), DB_OK);
    return count;
}

static enum db_status add_mark(void)
{
    return db_change(db, "INSERT INTO marks VALUES ($1)", DB_VALUES(db_integer(1)));
}

static enum db_status end_early(void *context, const struct db_row *row)
{
    (void)context;
    (void)row;
    return DB_NONE;
}

Test(postgres_run, a_connection_lost_behind_the_last_wanted_row_ends_the_transaction)
{
    static const char dies[] =
        "SELECT 1 UNION ALL SELECT CASE WHEN pg_terminate_backend(pg_backend_pid())"
        " THEN length(pg_sleep(5)::text) END";
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    cr_assert_eq(add_mark(), DB_OK);
    cr_expect_eq(db_run(db, dies, NULL, 0, end_early, NULL), DB_FULL);
    cr_expect_eq(add_mark(), DB_FULL);
    cr_expect_eq(db_commit_batch(db), DB_FULL);
    cr_expect_eq(stored_marks(), 0);
    cr_expect_eq(add_mark(), DB_OK, "%s", db_last_error(db));
    cr_expect_eq(stored_marks(), 1);
}

Test(postgres_run, a_failure_behind_the_last_wanted_row_ends_the_transaction)
{
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    cr_assert_eq(add_mark(), DB_OK);
    cr_expect_neq(db_run(db, "SELECT 1 / (2 - n) FROM generate_series(1, 3) AS s (n)", NULL, 0,
                         end_early, NULL),
                  DB_NONE);
    cr_expect_neq(db_commit_batch(db), DB_OK);
    cr_expect_eq(stored_marks(), 0);
}

static enum db_status add_and_refuse(struct db *on, void *context)
{
    (void)context;
    return db_change_one(on, "INSERT INTO marks VALUES ($1) RETURNING number",
                         DB_VALUES(db_integer(2)), end_early, NULL);
}

Test(postgres_run, a_request_that_is_refused_at_the_row_it_wrote_leaves_no_row)
{
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    cr_expect_eq(db_transact(db, add_and_refuse, NULL), DB_RETRY, "the batch is lost");
    cr_expect_eq(db_commit_batch(db), DB_RETRY);
    cr_expect_eq(stored_marks(), 0);
}

static enum db_status add_one_more(void *context, const struct db_row *row)
{
    (void)row;
    ++*(int *)context;
    return add_mark();
}

Test(postgres_run, a_row_function_that_writes_sees_every_row)
{
    int seen = 0;
    cr_expect_eq(db_run(db, "SELECT n FROM generate_series(1, 3000) AS s (n) WHERE n % 1000 > 990",
                        NULL, 0, add_one_more, &seen),
                 DB_OK);
    cr_expect_eq(seen, 27);
    cr_expect_eq(stored_marks(), 27);
}

static int64_t stored_answers(void)
{
    int64_t count = -1;
    cr_assert_eq(db_one(db, "SELECT count(*) FROM answers", NULL, 0, listing_integer, &count),
                 DB_OK);
    return count;
}

Test(postgres_run, rows_that_were_put_off_are_lost_with_the_connection)
{
    struct answer_row answer = {.status = 204};
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    cr_assert_eq(answers_store(db, "cli_a", "key", &answer), DB_OK);
    postgres_place_run(url, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                            " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    cr_expect_eq(db_commit_batch(db), DB_FULL);
    cr_expect_eq(stored_answers(), 0);
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    cr_assert_eq(answers_store(db, "cli_a", "key", &answer), DB_OK);
    cr_expect_eq(db_commit_batch(db), DB_OK);
    cr_expect_eq(stored_answers(), 1);
}

/* ---- a reader in a hurry */

/* A session that locks TABLE until it is finished: who asks for the table gets no answer. */
static PGconn *lock_table(const char *table)
{
    char sql[128];
    PGconn *handle = PQconnectdb(url);
    snprintf(sql, sizeof sql, "BEGIN; LOCK TABLE %s IN ACCESS EXCLUSIVE MODE", table);
    PGresult *result = PQexec(handle, sql);
    cr_assert_eq(PQresultStatus(result), PGRES_COMMAND_OK, "%s", PQerrorMessage(handle));
    PQclear(result);
    return handle;
}

static void end_sessions_of_tacet(void)
{
    postgres_place_run(url, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE"
                            " datname = current_database() AND application_name = 'tacet'");
}

static enum db_status look(void)
{
    int64_t count;
    return db_one(db, "SELECT count(*) FROM marks", NULL, 0, listing_integer, &count);
}

/* Loses the connection; the next one is being opened, and gets no answer until what is given back
 * is finished. */
static PGconn *open_aside(void)
{
    end_sessions_of_tacet();
    PGconn *lock = lock_table("pg_catalog.pg_namespace");
    cr_expect_eq(look(), DB_FULL);
    return lock;
}

static void wait_for_opening(void)
{
    postgres_place_run(url, "DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE"
                            " datname = current_database() AND application_name = 'tacet' AND"
                            " state = 'idle' AND query LIKE '%SET synchronous_commit%') LOOP"
                            " PERFORM pg_sleep(0.05); PERFORM pg_stat_clear_snapshot(); END LOOP;"
                            " END $$");
    usleep(100000);
}

Test(postgres_run, a_reader_in_a_hurry_does_not_wait_on_a_connection_that_was_opened_aside,
     .timeout = 60)
{
    db_hurry(db);
    PQfinish(open_aside());
    wait_for_opening();
    PGconn *lock = lock_table("tacet.schema_versions");
    cr_expect_eq(look(), DB_FULL, "the question for the schema waits for the lock");
    PQfinish(lock);
    while (look() != DB_OK)
        usleep(100000);
}

static enum db_status look_at_versions(struct db *of, void *context)
{
    return db_one(of, "SELECT max(version) FROM schema_versions", NULL, 0, listing_integer,
                  context);
}

Test(postgres_run, a_view_in_a_hurry_is_given_up, .timeout = 60)
{
    int64_t version = 0;
    db_hurry(db);
    PGconn *lock = lock_table("tacet.schema_versions");
    cr_expect_eq(db_view(db, look_at_versions, &version), DB_FULL);
    PQfinish(lock);
    while (db_view(db, look_at_versions, &version) != DB_OK)
        usleep(100000);
    cr_expect_gt(version, 0);
}

Test(postgres_run, a_connection_in_a_hurry_is_closed_while_its_next_one_gets_no_answer,
     .timeout = 60)
{
    db_hurry(db);
    PGconn *lock = open_aside();
    db_close(db);
    PQfinish(lock);
    char error[DB_ERROR_SIZE];
    cr_assert_eq(db_open(store, &db, error), DB_OK, "%s", error);
}
