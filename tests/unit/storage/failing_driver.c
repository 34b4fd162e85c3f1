/* Counts calls and fails one of them. A commit that fails has rolled back, as the driver's contract
 * says. */
#include "tests/unit/storage/failing_driver.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/schema_sqlite.h"
#include "tests/unit/storage/postgres_place.h"

static struct {
    unsigned left; /* calls until the failure; 0: not armed */
    enum db_status status;
    bool ends_transaction, kills, fired;
    unsigned calls;
} plan;

void failing_arm(unsigned n, enum db_status status, bool ends_transaction)
{
    plan.left = n;
    plan.status = status;
    plan.ends_transaction = ends_transaction;
    plan.fired = false;
}

void failing_kill(unsigned n)
{
    failing_arm(n, DB_FAILED, false);
    plan.kills = true;
}

unsigned failing_calls(void)
{
    return plan.calls;
}

bool failing_fired(void)
{
    return plan.fired;
}

static const struct db_driver *driver_beneath(void)
{
    return postgres_place_wanted() ? &db_driver_postgres : &db_driver_sqlite;
}

static bool fails_now(struct db_fault *fault)
{
    plan.calls++;
    if (plan.left == 0 || --plan.left != 0)
        return false;
    plan.fired = true;
    if (plan.kills)
        raise(SIGKILL);
    snprintf(fault->text, sizeof fault->text, "made to fail");
    return true;
}

static enum db_status failing_open(const struct db_settings *settings, void **out_connection,
                                   struct db_fault *fault)
{
    failing_driver.lists = driver_beneath()->lists;
    return driver_beneath()->open(settings, out_connection, fault);
}

static void failing_close(void *connection)
{
    driver_beneath()->close(connection);
}

static enum db_status failing_begin(void *connection, bool will_write, struct db_fault *fault)
{
    if (fails_now(fault))
        return plan.status;
    return driver_beneath()->begin(connection, will_write, fault);
}

static enum db_status failing_commit(void *connection, struct db_fault *fault)
{
    if (fails_now(fault)) {
        driver_beneath()->rollback(connection);
        return plan.status;
    }
    enum db_status status = driver_beneath()->commit(connection, fault);
    if (plan.kills && fails_now(fault))
        return DB_FAILED;
    return status;
}

static void failing_rollback(void *connection)
{
    driver_beneath()->rollback(connection);
}

static enum db_status failing_run(void *connection, const char *sql, const struct db_value *values,
                                  unsigned count, db_row_fn *each, void *context,
                                  struct db_fault *fault)
{
    if (fails_now(fault)) {
        if (plan.ends_transaction)
            driver_beneath()->rollback(connection);
        return plan.status;
    }
    return driver_beneath()->run(connection, sql, values, count, each, context, fault);
}

static int64_t failing_changes(void *connection)
{
    return driver_beneath()->changes(connection);
}

static bool failing_in_transaction(void *connection)
{
    return driver_beneath()->in_transaction(connection);
}

struct db_driver failing_driver = {
    .name = "failing",
    .schema = &schema_sqlite,
    .open = failing_open,
    .close = failing_close,
    .begin = failing_begin,
    .commit = failing_commit,
    .rollback = failing_rollback,
    .run = failing_run,
    .changes = failing_changes,
    .in_transaction = failing_in_transaction,
};
