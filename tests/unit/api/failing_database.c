/* SQLite's driver behind a counter. */
#include "tests/unit/api/failing_database.h"

#include <stdio.h>

static struct db_driver failing;
int database_calls_left;
unsigned database_calls_after;
bool database_breaks, database_stays;
unsigned database_failures;
enum db_status database_failure;

static bool fails(struct db_fault *fault)
{
    database_calls_after += database_calls_left < 0;
    if (database_calls_left != 0) {
        database_calls_after += database_calls_left < 0;
        database_calls_left -= database_calls_left > 0;
        return false;
    }
    database_calls_left = database_stays ? 0 : -1;
    database_failures++;
    snprintf(fault->text, sizeof fault->text, "made to fail");
    fault->broken = fault->broken || database_breaks;
    database_calls_after = 0;
    return true;
}

static enum db_status begin(void *connection, bool will_write, struct db_fault *fault)
{
    return fails(fault) ? database_failure : db_driver_sqlite.begin(connection, will_write, fault);
}

static enum db_status commit(void *connection, struct db_fault *fault)
{
    if (fails(fault)) {
        db_driver_sqlite.rollback(connection);
        return database_failure;
    }
    return db_driver_sqlite.commit(connection, fault);
}

static enum db_status run(void *connection, const char *sql, const struct db_value *values,
                          unsigned count, db_row_fn *each, void *context, struct db_fault *fault)
{
    return fails(fault)
               ? database_failure
               : db_driver_sqlite.run(connection, sql, values, count, each, context, fault);
}

static enum db_status settle(void *connection, struct db_fault *fault)
{
    (void)connection;
    return fails(fault) ? database_failure : DB_OK;
}

struct fixture *fixture_open_failing(void)
{
    failing = db_driver_sqlite;
    failing.begin = begin;
    failing.commit = commit;
    failing.run = run;
    failing.settle = settle;
    database_calls_left = -1;
    database_breaks = database_stays = false;
    return fixture_open_on(&failing);
}
