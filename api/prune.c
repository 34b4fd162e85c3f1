/* Answers and debits whose time is over. */
#include "api/api.h"
#include "api/call/app.h"
#include "api/call/retention.h"
#include "storage/answers/answers.h"
#include "storage/ledger/ledger_fold.h"

#define DAY_MS INT64_C(86400000)

static enum db_status prune_answers(struct app *app, struct db *db, int64_t now_ms, bool *out_more)
{
    struct answers_sweep sweep = {
        .from_ms = retention_at(app, now_ms), .now_ms = now_ms, .seen = app->answers_seen};
    if (app->settings.keep_answers_days == 0)
        return DB_OK;
    atomic_store(&app->answers_from_ms, sweep.from_ms); /* before the removal begins: retention.c */
    enum db_status status = answers_prune(db, &sweep);
    app->answers_seen = sweep.seen;
    *out_more = *out_more || sweep.more;
    return status;
}

static enum db_status prune_entries(struct app *app, struct db *db, int64_t now_ms, bool *out_more)
{
    int64_t days = app->settings.keep_entries_days;
    struct ledger_sweep sweep = {
        .from_ms = now_ms - days * DAY_MS, .now_ms = now_ms, .seen = app->entries_seen};
    if (days == 0)
        return DB_OK;
    enum db_status status = ledger_fold(db, &sweep);
    app->entries_seen = sweep.seen;
    *out_more = *out_more || sweep.more;
    return status;
}

bool api_prune(struct app *app, struct db *db, bool *out_more)
{
    int64_t now_ms = app->settings.now_ms();
    *out_more = false;
    enum db_status answers = prune_answers(app, db, now_ms, out_more);
    enum db_status entries = prune_entries(app, db, now_ms, out_more);
    return (answers == DB_OK || answers == DB_RETRY) && (entries == DB_OK || entries == DB_RETRY);
}
