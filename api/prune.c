/* Answers, debits and experts' data whose time is over. */
#include "api/api.h"
#include "api/call/app.h"
#include "api/call/retention.h"
#include "api/data/erasure.h"
#include "storage/answers/answers.h"
#include "storage/ledger/ledger_fold.h"
#include "storage/ledger/ledger_reduce.h"
#include "storage/refusals.h"

#define DAY_MS INT64_C(86400000)

/* Two servers must not sweep the same rows at once. So where there may be two, a sweep also finds
 * its rows within its transaction, which is the only one that writes. */
static enum db_status sweep_alone(struct db *db, db_work_fn *work, void *sweep)
{
    return db_is_shared(db) ? db_transact(db, work, sweep) : work(db, sweep);
}

struct answers_work {
    struct answers_sweep sweep;
    int64_t seen; /* from here, also when the transaction is tried again */
};

static enum db_status sweep_answers(struct db *db, void *context)
{
    struct answers_work *work = context;
    work->sweep.seen = work->seen;
    return answers_prune(db, &work->sweep);
}

static enum db_status prune_answers(struct app *app, struct db *db, int64_t now_ms, bool *out_more)
{
    struct answers_work work = {.sweep = {.from_ms = retention_at(app, now_ms), .now_ms = now_ms},
                                .seen = app->answers_seen};
    if (app->settings.keep_answers_days == 0)
        return DB_OK;
    atomic_store(&app->answers_from_ms, work.sweep.from_ms); /* before the removal: retention.c */
    enum db_status status = sweep_alone(db, sweep_answers, &work);
    if (status == DB_OK)
        app->answers_seen = work.sweep.seen;
    *out_more = *out_more || work.sweep.more;
    return status;
}

struct entries_work {
    struct ledger_sweep sweep;
    int64_t seen;
    enum db_status status;
};

/* Damaged entries are told of, but what was folded beside them stays. */
static enum db_status sweep_entries(struct db *db, void *context)
{
    struct entries_work *work = context;
    work->sweep.seen = work->seen;
    work->status = ledger_fold(db, &work->sweep);
    return work->sweep.seen > work->seen ? DB_OK : work->status;
}

static enum db_status prune_entries(struct app *app, struct db *db, int64_t now_ms, bool *out_more)
{
    int64_t days = app->settings.keep_entries_days;
    struct entries_work work = {.sweep = {.from_ms = now_ms - days * DAY_MS, .now_ms = now_ms},
                                .seen = app->entries_seen};
    if (days == 0)
        return DB_OK;
    enum db_status status = sweep_alone(db, sweep_entries, &work);
    if (status != DB_OK)
        return status;
    app->entries_seen = work.sweep.seen;
    *out_more = *out_more || work.sweep.more;
    return work.status;
}

struct log_work {
    struct ledger_reduction reduction;
    int64_t next;
};

static enum db_status sweep_log(struct db *db, void *context)
{
    struct log_work *work = context;
    work->reduction.next = work->next;
    return ledger_reduce(db, &work->reduction);
}

/* The parts of the ledger's log whose leaves went with their entries. */
static enum db_status prune_log(struct app *app, struct db *db, bool *out_more)
{
    struct log_work work = {.next = app->tiles_next};
    if (app->settings.keep_entries_days == 0)
        return DB_OK;
    enum db_status status = sweep_alone(db, sweep_log, &work);
    if (status != DB_OK)
        return status;
    app->tiles_next = work.reduction.next;
    *out_more = *out_more || work.reduction.more;
    return work.reduction.damaged
               ? db_fail(db, "ledger_tiles", "a part of the ledger's log has changed")
               : DB_OK;
}

bool api_write_refusals(struct app *app, struct db *db)
{
    return refusals_write(app->refusals, db) == DB_OK;
}

bool api_prune(struct app *app, struct db *db, bool *out_more)
{
    int64_t now_ms = app->settings.now_ms();
    *out_more = false;
    enum db_status answers = prune_answers(app, db, now_ms, out_more);
    enum db_status entries = prune_entries(app, db, now_ms, out_more);
    enum db_status log = prune_log(app, db, out_more);
    enum db_status experts = erasure_due(app, db, out_more);
    return (answers == DB_OK || answers == DB_RETRY) && (entries == DB_OK || entries == DB_RETRY) &&
           (log == DB_OK || log == DB_RETRY) && (experts == DB_OK || experts == DB_RETRY);
}

bool api_end_erasures(struct app *app, struct db *db)
{
    enum db_status status = erasure_resume(app, db);
    return status == DB_OK || status == DB_RETRY;
}
