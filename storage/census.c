/* Three statements over whole tables, in one view of the database. */
#include "storage/census.h"

#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_low.h"

static enum db_status take_accounts(void *context, const struct db_row *row)
{
    struct census *census = context;
    for (int kind = 0; kind < CENSUS_KINDS; kind++)
        if (strcmp(ledger_kind_name((enum ledger_kind)kind), db_row_text(row, 0)) == 0)
            census->accounts[kind] = (struct census_accounts){.count = db_row_integer(row, 1),
                                                              .low = db_row_integer(row, 2),
                                                              .limit = db_row_real(row, 3),
                                                              .spent = db_row_real(row, 4),
                                                              .held = db_row_real(row, 5)};
    return DB_OK;
}

/* The epsilon of X units of an account, as it is shown to its owner (api/call/budget.c): a Renyi
 * account converts, so that the first unit costs most. What its limit has less than its epsilon is
 * that cost. */
#define EPSILON_OF(x)                                                                              \
    "CASE WHEN limit_units <= 0 OR " x " = 0 THEN 0.0 "                                            \
    "WHEN renyi_order <= 1 THEN epsilon * (" x ") / limit_units "                                  \
    "WHEN epsilon < (limit_units - " x ") * 1e-9 THEN 0.0 "                                        \
    "ELSE epsilon - (limit_units - " x ") * 1e-9 END"
#define SPENT EPSILON_OF("spent_units")
#define USED  EPSILON_OF("(spent_units + held_units)")

static enum db_status census_work(struct db *db, void *context)
{
    static const char accounts[] =
        "SELECT kind, CAST(count(*) AS BIGINT), CAST(sum(low) AS BIGINT), sum(epsilon), "
        "sum(spent), sum(used - spent) FROM (SELECT kind, epsilon, "
        "CASE WHEN" LEDGER_LOW "THEN 1 ELSE 0 END AS low, " SPENT " AS spent, " USED " AS used "
        "FROM ledger_accounts AS a) AS shown GROUP BY kind";
    static const char requests[] =
        "SELECT CAST(count(*) AS BIGINT) FROM budget_requests WHERE state = 'open'";
    struct census *census = context;
    *census = (struct census){.requests = 0};
    enum db_status status = jobs_count(db, NULL, census->jobs);
    if (status == DB_OK)
        status = db_run(db, accounts, NULL, 0, take_accounts, census);
    if (status == DB_OK)
        status = db_one(db, requests, NULL, 0, listing_integer, &census->requests);
    return status;
}

enum db_status census_take(struct db *db, struct census *out)
{
    return db_view(db, census_work, out);
}

enum db_status census_newest(struct db *db, int64_t *out_ms)
{
    static const char newest[] =
        "SELECT max(ms) FROM (SELECT ms FROM (SELECT created_ms AS ms FROM answers "
        "ORDER BY rowid DESC LIMIT 1) AS a UNION ALL SELECT ms FROM (SELECT time_ms AS ms "
        "FROM audit_trail WHERE actor <> 'service' ORDER BY number DESC LIMIT 1) AS t UNION ALL "
        "SELECT max(uploaded_ms) AS ms FROM experts WHERE uploaded_ms > 0) AS stored";
    *out_ms = 0;
    return db_one(db, newest, NULL, 0, listing_integer, out_ms);
}
