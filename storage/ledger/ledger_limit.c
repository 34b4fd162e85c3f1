/* Limits: changed openly, by an entry of the account, and never below what is spent and held.
 *
 * DESIGN. An account's revision is the number of its entries that set a limit ("open", "limit").
 * These entries have an index of their own, so that neither debits nor folds stand in the way. */
#include <assert.h>

#include "storage/ledger/ledger_post.h"

static enum db_status read_limits(void *context, const struct db_row *row)
{
    *(struct ledger_limits *)context =
        (struct ledger_limits){.revision = db_row_integer(row, 0),
                               .greatest_epsilon = db_row_real(row, 1),
                               .greatest_delta = db_row_real(row, 2),
                               .first_epsilon = db_row_real(row, 3),
                               .first_delta = db_row_real(row, 4),
                               .first_limit_delta = db_row_integer(row, 5)};
    return DB_OK;
}

enum db_status ledger_limits(struct db *db, const char *account, struct ledger_limits *out)
{
    *out = (struct ledger_limits){.revision = 0};
    enum db_status status =
        db_one(db,
               "SELECT count(*), coalesce(max(epsilon), 0.0), coalesce(max(delta), 0.0), "
               "coalesce(max(CASE WHEN sequence = 1 THEN epsilon END), 0.0), "
               "coalesce(max(CASE WHEN sequence = 1 THEN delta END), 0.0), "
               "coalesce(max(CASE WHEN sequence = 1 THEN limit_delta END), 0) FROM ledger_entries "
               "WHERE account = $1 AND kind IN ('open', 'limit')",
               DB_VALUES(db_text(account)), read_limits, out);
    if (status == DB_OK && out->revision == 0)
        return DB_NONE;
    return db_owed(status);
}

struct limit_work {
    const struct ledger_limit *limit;
    enum ledger_verdict verdict;
    struct ledger_account account;
};

static enum db_status change_limit(struct db *db, void *context)
{
    struct limit_work *work = context;
    const struct ledger_limit *l = work->limit;
    struct ledger_account *a = &work->account;
    enum db_status status = ledger_find(db, l->account, a);
    if (status != DB_OK) {
        work->verdict = LEDGER_NO_ACCOUNT;
        return db_optional(status);
    }
    if (l->revision != 0) {
        struct ledger_limits limits;
        status = db_owed(ledger_limits(db, l->account, &limits));
        if (status != DB_OK)
            return status;
        work->verdict = LEDGER_STALE;
        if (limits.revision != l->revision)
            return DB_OK;
    }
    if (l->limit_units < a->spent_units + a->held_units ||
        l->limit_delta < a->spent_delta + a->held_delta) {
        work->verdict = LEDGER_TOO_LOW;
        return DB_OK;
    }
    work->verdict = LEDGER_OK;
    struct ledger_entry entry = {.time_ms = l->now_ms,
                                 .kind = LEDGER_ENTRY_LIMIT,
                                 .limit_units = l->limit_units - a->limit_units,
                                 .limit_delta = l->limit_delta - a->limit_delta,
                                 .epsilon = l->epsilon,
                                 .delta = l->delta,
                                 .client = l->client,
                                 .resource = a->resource,
                                 .event = l->event};
    return ledger_post(db, a, &entry);
}

enum db_status ledger_set_limit(struct db *db, const struct ledger_limit *limit,
                                enum ledger_verdict *out_verdict, struct ledger_account *out)
{
    assert(limit->limit_units >= 0 && limit->limit_units <= LEDGER_UNITS_MAX);
    assert(limit->limit_delta >= 0 && limit->limit_delta <= LEDGER_UNITS_MAX);
    struct limit_work work = {.limit = limit};
    enum db_status status = db_transact(db, change_limit, &work);
    if (status != DB_OK)
        return status;
    *out_verdict = work.verdict;
    if (out && work.verdict != LEDGER_NO_ACCOUNT)
        *out = work.account;
    return DB_OK;
}
