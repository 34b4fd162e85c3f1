/* Sums of what clients spent from one account. */
#include "storage/ledger/ledger_spenders.h"

struct show_spender {
    ledger_spender_fn *each;
    void *context;
    bool stopped;
};

static enum db_status show_sum(void *context, const struct db_row *row)
{
    struct show_spender *show = context;
    struct ledger_spender spender = {.spent_units = db_row_integer(row, 1),
                                     .spent_delta = db_row_integer(row, 2)};
    if (!db_row_copy(row, 0, spender.client, sizeof spender.client))
        return DB_FAILED;
    if (!show->stopped)
        show->stopped = !show->each(show->context, &spender);
    return DB_OK;
}

enum db_status ledger_spenders(struct db *db, const struct ledger_account *account, unsigned limit,
                               ledger_spender_fn *each, void *context)
{
    static const char of_clients[] =
        "SELECT client, spent_units, spent_delta FROM ledger_accounts WHERE kind = 'client' "
        "AND resource = $1 AND (spent_units > 0 OR spent_delta > 0) "
        "ORDER BY spent_units DESC, spent_delta DESC, client LIMIT $2";
    static const char of_entries[] =
        "SELECT client, CAST(sum(spent_units) AS BIGINT), "
        "CAST(sum(spent_delta) AS BIGINT) FROM ledger_entries "
        "WHERE account = $1 AND (spent_units > 0 OR spent_delta > 0) GROUP BY client "
        "ORDER BY 2 DESC, 3 DESC, client LIMIT $2";
    struct show_spender show = {.each = each, .context = context};
    bool by_clients = account->kind == LEDGER_TEACHER;
    if (!by_clients && account->entries > LEDGER_SPENDERS_ENTRIES)
        return DB_NONE;
    return db_run(
        db, by_clients ? of_clients : of_entries,
        DB_VALUES(db_text(by_clients ? account->resource : account->id), db_integer(limit)),
        show_sum, &show);
}
