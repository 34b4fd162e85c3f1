/* The reply to a commit is lost, before and after the transaction is stored. Runs on a durable
 * private server alone (scripts/test-postgres). */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/db/db_state.h"
#include "storage/db/listing.h"
#include "storage/db/postgres_run.h"
#include "storage/upgrade.h"
#include "tests/unit/storage/postgres_place.h"

static char url[128];
static struct db_store *store;
static struct db *db;

static void setup(void)
{
    char error[DB_ERROR_SIZE];
    if (!postgres_place_wanted() || !getenv("POSTGRES_DURABLE"))
        cr_skip_test("needs a durable PostgreSQL server");
    postgres_place_make(url, sizeof url);
    store = db_store_new(&db_driver_postgres, &(struct db_settings){.location = url});
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

TestSuite(postgres_commit, .init = setup, .fini = teardown, .timeout = 600);

static int64_t stored_marks(void)
{
    int64_t count = -1;
    cr_assert_eq(db_one(db, "SELECT count(*) FROM marks", NULL, 0, listing_integer, &count), DB_OK);
    return count;
}

static enum db_status commit_mark(void)
{
    cr_assert_eq(db_begin_batch(db, true), DB_OK, "%s", db_last_error(db));
    cr_assert_eq(db_change(db, "INSERT INTO marks VALUES ($1)", DB_VALUES(db_integer(1))), DB_OK);
    return db_commit_batch(db);
}

Test(postgres_commit, that_ended_before_it_was_stored_is_to_be_tried_again)
{
    postgres_place_run(url,
                       "CREATE FUNCTION tacet.die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                       " PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1);"
                       " RETURN NULL; END $$; CREATE CONSTRAINT TRIGGER die AFTER INSERT ON"
                       " tacet.marks DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION"
                       " tacet.die()");
    cr_expect_eq(commit_mark(), DB_RETRY, "%s", db_last_error(db));
    cr_expect(!db_broken(db));
    cr_expect_eq(stored_marks(), 0);
    postgres_place_run(url, "DROP FUNCTION tacet.die CASCADE");
    cr_expect_eq(commit_mark(), DB_OK, "%s", db_last_error(db));
    cr_expect_eq(stored_marks(), 1);
}

/* The number that PostgreSQL itself gave the transaction reached no disk, so it is given again, to
 * one that is stored. */
Test(postgres_commit, that_ended_with_the_server_is_to_be_tried_again)
{
    struct postgres_connection *connection = db->connection;
    connection->name[0] = 'x'; /* as of a connection that has stored nothing yet */
    connection->noted = false;
    for (int crash = 0; crash < 4; crash++) {
        if (crash == 1)
            cr_expect_eq(commit_mark(), DB_OK, "%s", db_last_error(db));
        cr_assert_eq(db_begin_batch(db, true), DB_OK, "%s", db_last_error(db));
        cr_assert_eq(db_change(db, "INSERT INTO marks VALUES (2)", NULL, 0), DB_OK);
        cr_assert_eq(kill(PQbackendPID(connection->handle), SIGKILL), 0);
        cr_expect_eq(db_commit_batch(db), DB_RETRY, "%s", db_last_error(db));
        cr_expect_not_null(strstr(db_last_error(db), "was not stored"), "%s", db_last_error(db));
        cr_expect(!db_broken(db));
        cr_expect_eq(stored_marks(), crash > 0);
    }
}

/* Ends the session that waits for a standby, then goes on without one. */
static void *end_waiting(void *context)
{
    (void)context;
    postgres_place_run(NULL,
                       "DO $$ BEGIN FOR i IN 1..600 LOOP PERFORM pg_sleep(0.05);"
                       " PERFORM pg_stat_clear_snapshot();"
                       " IF EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep')"
                       " THEN PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                       " wait_event = 'SyncRep'; EXIT; END IF; END LOOP; END $$");
    sleep(1);
    postgres_place_run(NULL, "ALTER SYSTEM RESET synchronous_standby_names");
    postgres_place_run(NULL, "SELECT pg_reload_conf()");
    return NULL;
}

static void wait_for_nobody(void)
{
    postgres_place_run(NULL, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    postgres_place_run(NULL, "SELECT pg_reload_conf()");
    usleep(300000);
}

Test(postgres_commit, that_was_stored_without_a_reply_is_stored_once)
{
    pthread_t other;
    wait_for_nobody();
    cr_assert_eq(pthread_create(&other, NULL, end_waiting, NULL), 0);
    cr_expect_eq(commit_mark(), DB_OK, "%s", db_last_error(db));
    cr_expect_not_null(strstr(db_last_error(db), "was stored"), "%s", db_last_error(db));
    pthread_join(other, NULL);
    cr_expect(!db_broken(db));
    cr_expect_eq(stored_marks(), 1);
}

/* What a commit that was ended while it waited has left is shown, and must not be told. */
Test(postgres_commit, of_others_is_told_when_the_standby_has_it)
{
    pthread_t other;
    cr_expect_eq(db_settle(db), DB_OK, "%s", db_last_error(db));
    for (int batch = 0; batch < 2; batch++) {
        wait_for_nobody();
        cr_assert_eq(pthread_create(&other, NULL, end_waiting, NULL), 0);
        if (batch == 0) {
            cr_expect_eq(db_settle(db), DB_FULL);
        } else {
            cr_assert_eq(db_begin_batch(db, false), DB_OK);
            cr_expect_eq(stored_marks(), 0);
            cr_expect_eq(db_commit_batch(db), DB_FULL);
        }
        pthread_join(other, NULL);
        cr_expect_eq(stored_marks(), 0);
        cr_expect_eq(db_settle(db), DB_OK, "%s", db_last_error(db));
    }
}

/* The server has another history than before: the first connection to it that fails half way does
 * not hide that. */
Test(postgres_commit, of_another_history_is_not_told_after_a_connection_that_failed_half_way)
{
    pthread_t other;
    int64_t count;
    struct postgres_connection *connection = db->connection;
    snprintf(connection->history, sizeof connection->history, "another");
    postgres_place_run(url, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE"
                            " datname = current_database() AND application_name = 'tacet'");
    wait_for_nobody();
    cr_assert_eq(pthread_create(&other, NULL, end_waiting, NULL), 0);
    cr_expect_eq(db_one(db, "SELECT count(*) FROM marks", NULL, 0, listing_integer, &count),
                 DB_FULL);
    pthread_join(other, NULL);
    cr_expect_eq(stored_marks(), 0);
    cr_expect_eq(db_settle(db), DB_FULL);
    cr_expect_eq(db_settle(db), DB_OK, "%s", db_last_error(db));
}
