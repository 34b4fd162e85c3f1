/* One statement for each kind of event; all have the same columns. */
#include "storage/webhooks.h"

#include <stdio.h>

#include "storage/ledger/ledger_low.h"

#define UNTOLD(ID)                                                                                 \
    " AND NOT EXISTS (SELECT 1 FROM webhooks_told AS t WHERE t.target = $1 AND t.event = " ID ")"

static const char jobs[] =
    "SELECT id, id, owner, state, finished_ms FROM jobs"
    " WHERE finished_ms > 0 AND finished_ms > $3 AND ($2 = '' OR owner = $2)" UNTOLD(
        "jobs.id") " ORDER BY finished_ms";

/* An account is told once for each of its limits. Its last entry is the one that made it low, or
 * came later. */
static const char accounts[] =
    "SELECT event, id, owner, '', time_ms FROM (SELECT a.id AS id, a.owner AS owner,"
    " a.id || '-' || (SELECT count(*) FROM ledger_entries AS e WHERE e.account = a.id"
    " AND e.kind IN ('open', 'limit')) AS event,"
    " (SELECT e.time_ms FROM ledger_entries AS e WHERE e.account = a.id AND e.sequence = a.entries)"
    " AS time_ms FROM ledger_accounts AS a"
    " WHERE" LEDGER_LOW
    "AND a.kind IN ('dataset', 'teacher', 'client') AND substr(a.resource, 1, 4) <> 'agg_'"
    " AND ($2 = '' OR a.owner = $2)) AS low WHERE time_ms > $3" UNTOLD(
        "low.event") " ORDER BY time_ms";

static const char requests[] =
    "SELECT id, id, owner, '', created_ms FROM budget_requests"
    " WHERE state = 'open' AND created_ms > $3 AND ($2 = '' OR owner = $2)" UNTOLD(
        "budget_requests.id") " ORDER BY created_ms";

struct untold {
    enum webhook_kind kind;
    webhook_fn *each;
    void *context;
    bool stopped;
};

static enum db_status show_untold(void *context, const struct db_row *row)
{
    struct untold *untold = context;
    struct webhook_event event = {.kind = untold->kind, .time_ms = db_row_integer(row, 4)};
    if (!db_row_copy(row, 0, event.id, sizeof event.id) ||
        !db_row_copy(row, 1, event.subject, sizeof event.subject) ||
        !db_row_copy(row, 2, event.project, sizeof event.project) ||
        !db_row_copy(row, 3, event.state, sizeof event.state))
        return DB_FAILED;
    untold->stopped = !untold->each(untold->context, &event);
    return untold->stopped ? DB_NONE : DB_OK;
}

enum db_status webhooks_untold(struct db *db, const char *target, const char *project,
                               int64_t since_ms, webhook_fn *each, void *context)
{
    static const char *const statements[] = {jobs, accounts, requests};
    struct untold untold = {.each = each, .context = context};
    const struct db_value values[] = {db_text(target), db_text_or_empty(project),
                                      db_integer(since_ms)};
    enum db_status status = DB_OK;
    for (int kind = 0; kind < 3 && status == DB_OK; kind++) {
        untold.kind = (enum webhook_kind)kind;
        status = db_run(db, statements[kind], values, 3, show_untold, &untold);
    }
    return untold.stopped ? DB_OK : status;
}

enum db_status webhooks_told(struct db *db, const char *target, const char *id, int64_t now_ms)
{
    return db_optional(db_change(db,
                                 "INSERT INTO webhooks_told (target, event, told_ms)"
                                 " VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                                 DB_VALUES(db_text(target), db_text(id), db_integer(now_ms))));
}
