/* Answers whose time is over. */
#include "api/api.h"
#include "api/call/app.h"
#include "api/call/retention.h"
#include "storage/answers/answers.h"

bool api_prune(struct app *app, struct db *db, bool *out_more)
{
    int64_t now_ms = app->settings.now_ms();
    *out_more = false;
    if (app->settings.keep_answers_days == 0)
        return true;
    struct answers_sweep sweep = {
        .from_ms = retention_at(app, now_ms), .now_ms = now_ms, .seen = app->answers_seen};
    atomic_store(&app->answers_from_ms, sweep.from_ms); /* before the removal begins: retention.c */
    enum db_status status = answers_prune(db, &sweep);
    app->answers_seen = sweep.seen;
    *out_more = sweep.more;
    return status == DB_OK || status == DB_RETRY;
}
