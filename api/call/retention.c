/* DESIGN. The time from which answers are kept is raised in memory before the transaction that
 * removes older ones begins. Writing transactions come one after the other, so one that begins
 * after the removal sees the raised time and refuses, and one that began before it still finds the
 * answer. A removal by another server is seen in the database. */
#include "api/call/retention.h"

#include <inttypes.h>

#include "api/call/app.h"
#include "api/json/json_text.h"
#include "api/json/text.h"
#include "storage/answers/answers.h"
#include "storage/answers/key_date.h"

#define DAY_MS INT64_C(86400000)

int64_t retention_at(const struct app *app, int64_t now_ms)
{
    int64_t from = atomic_load(&app->answers_from_ms);
    int64_t kept_ms = (int64_t)app->settings.keep_answers_days * DAY_MS;
    return kept_ms > 0 && now_ms - kept_ms > from ? now_ms - kept_ms : from;
}

int64_t retention_from(const struct call *call)
{
    return retention_at(call->app, call->now_ms);
}

enum problem retention_check(struct call *call, const char *key)
{
    int64_t from = retention_from(call);
    if (from == 0)
        return PROBLEM_NONE;
    int64_t date = key_date_ms(key);
    if (date >= 0 && date < from) {
        return call_problem(
            call, PROBLEM_IDEMPOTENCY_KEY_EXPIRED,
            "The key names a time from which no answer is kept any more. If the call was answered, "
            "it was charged then. Nothing was charged now. A new call needs a fresh key.");
    }
    return PROBLEM_NONE;
}

/* Another server may have removed answers, by another clock or setting. The database notes from
 * when on they are kept, in the transaction that removes them. */
static enum problem check_removed(struct call *call, const char *key)
{
    int64_t noted_ms = 0, known_ms = atomic_load(&call->app->answers_from_ms);
    enum db_status status = answers_kept_from(call->db, &noted_ms);
    if (status != DB_OK)
        return call_db(call, status);
    while (known_ms < noted_ms &&
           !atomic_compare_exchange_weak(&call->app->answers_from_ms, &known_ms, noted_ms))
        continue;
    return retention_check(call, key);
}

/* After a restore nobody knows whether a key was answered in the life that was lost, unless it
 * names a time of this life; one that names no time never does. The keys of jobs are of this life:
 * all earlier ones have ended. */
static enum problem check_restored(struct call *call, int64_t date)
{
    const struct api_settings *settings = &call->app->settings;
    if (settings->life <= 1 || date > settings->answered_ms || call->job)
        return PROBLEM_NONE;
    json_t *until = json_time(settings->answered_ms);
    const char *after = json_string_value(until);
    call_problem_member(call, "keys_after", until);
    return call_problem(call, PROBLEM_IDEMPOTENCY_KEY_EXPIRED,
                        "The service was restored from a backup, and may have answered this key "
                        "before. Nothing was charged now. A new call needs a fresh key that names "
                        "its time, such as a UUID of version 7%s%s.",
                        after ? ", and that is after " : "", text_or_empty(after));
}

enum problem retention_check_new(struct call *call, const char *key)
{
    uint32_t days = call->app->settings.keep_answers_days;
    int64_t date = key_date_ms(key);
    enum problem problem = PROBLEM_NONE;
    if (date >= 0 && db_is_shared(call->db))
        problem = check_removed(call, key);
    if (problem == PROBLEM_NONE)
        problem = check_restored(call, date);
    if (problem != PROBLEM_NONE)
        return problem;
    bool guarded = db_guard_of(call->db) != NULL;
    if (days == 0 && !guarded)
        return PROBLEM_NONE;
    if (date > call->now_ms + ANSWERS_EARLY_MS) {
        return call_problem(call, PROBLEM_IDEMPOTENCY_KEY_INVALID,
                            "The key names a time that is to come. Correct the clock that makes "
                            "keys. Nothing was charged.");
    }
    if (days == 0 || date >= 0 || !(call->route->flags & ROUTE_DATED_KEY) || call->job)
        return PROBLEM_NONE;
    return call_problem(call, PROBLEM_IDEMPOTENCY_KEY_INVALID,
                        "This server keeps a teacher's answers for %" PRIu32
                        " days, so the key of a question must name its time: a UUID of version 7, "
                        "or the date in UTC and a dash before the key, such as 2026-11-24-4f9c2b. "
                        "Nothing was charged.",
                        days);
}
