/* What a transaction wrote to the log before it was rolled back must never reach the log later. */
#include <criterion/criterion.h>

#include "storage/db/listing.h"
#include "tests/unit/storage/fixture.h"

#define ROWS 60

/* Two connections whose caches hold a few pages: larger transactions spill into the log. */
struct pair {
    struct fixture f;
    struct db_store *store;
    struct db *one, *other;
};

static struct db *connect_small(struct pair *pair)
{
    struct db *db = NULL;
    char error[DB_ERROR_SIZE];
    cr_assert_eq(db_open(pair->store, &db, error), DB_OK, "%s", error);
    return db;
}

static void open_pair(struct pair *pair)
{
    fixture_open(&pair->f, &db_driver_sqlite);
    struct db_settings settings = {.location = pair->f.path, .cache_kib = 40, .not_durable = true};
    pair->store = db_store_new(&db_driver_sqlite, &settings);
    cr_assert_not_null(pair->store);
    pair->one = connect_small(pair);
    pair->other = connect_small(pair);
}

static void close_pair(struct pair *pair)
{
    db_close(pair->one);
    db_close(pair->other);
    db_store_free(pair->store);
    fixture_close(&pair->f);
}

static int64_t ask(struct db *db, const char *sql)
{
    int64_t value = -1;
    cr_assert_eq(db_one(db, sql, NULL, 0, listing_integer, &value), DB_OK, "%s", db_last_error(db));
    return value;
}

/* Changes pages in place, more than the cache holds, and gives up. */
static enum db_status spill_and_fail(struct db *db, void *context)
{
    (void)context;
    cr_assert_eq(
        db_run(db, "UPDATE big SET y = randomblob(3000) WHERE x <= 20", NULL, 0, NULL, NULL),
        DB_OK);
    return DB_NONE;
}

Test(log_gather, a_rollback_drops_what_was_gathered)
{
    struct pair pair;
    open_pair(&pair);
    fixture_sql(pair.one, "CREATE TABLE big (x INTEGER PRIMARY KEY, y BLOB)");
    fixture_sql(pair.one, "CREATE TABLE kept (x INTEGER PRIMARY KEY, y BLOB)");
    for (int i = 0; i < ROWS; i++)
        cr_assert_eq(fixture_sql(pair.one, "INSERT INTO big (y) VALUES (randomblob(3000))"), DB_OK);
    /* With an empty log nothing is read from it, which would push out what is gathered in time. */
    cr_assert_eq(db_run(pair.one, "PRAGMA wal_checkpoint(PASSIVE)", NULL, 0, NULL, NULL), DB_OK);

    cr_assert_eq(db_transact(pair.one, spill_and_fail, NULL), DB_NONE);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(fixture_sql(pair.other, "INSERT INTO kept (y) VALUES (randomblob(3500))"),
                     DB_OK);
    cr_expect_eq(ask(pair.one, "SELECT count(*) FROM kept"), 5);
    cr_expect_eq(ask(pair.one, "SELECT count(*) FROM big"), ROWS);
    cr_expect_eq(fixture_sql(pair.one, "INSERT INTO kept (y) VALUES ('one more')"), DB_OK);
    struct db *fresh = connect_small(&pair);
    cr_expect_eq(ask(fresh, "SELECT count(*) FROM kept"), 6);
    cr_expect_eq(ask(fresh, "SELECT count(*) FROM pragma_integrity_check"), 1);
    db_close(fresh);
    close_pair(&pair);
}
