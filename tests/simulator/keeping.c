/* Answers that are kept for a time: keys that name a day, the pruner, and which keys are over. */
#include <stdio.h>
#include <time.h>

#include "server/database.h"
#include "storage/answers/answers.h"
#include "storage/db/listing.h"
#include "tests/simulator/life.h"

#define DAY_MS  INT64_C(86400000)
#define KEPT_MS (service_keep_days * DAY_MS)

void life_name_key(struct asked *asked)
{
    struct tm day;
    char date[16] = "";
    asked->day_ms = -1;
    if (service_keep_days > 0) {
        const time_t seconds = (time_t)(service_clock_ms / 1000);
        asked->day_ms = service_clock_ms / DAY_MS * DAY_MS;
        strftime(date, sizeof date, "%Y-%m-%d-", gmtime_r(&seconds, &day));
    }
    snprintf(asked->key, sizeof asked->key, "%sk-%u", date, asked->number);
}

void life_see_clock(struct life *life)
{
    for (unsigned i = 0; i < life->flight_count; i++) {
        struct flight *flight = life->flights[i];
        if (service_clock_ms < flight->low_ms)
            flight->low_ms = service_clock_ms;
        if (service_clock_ms > flight->high_ms)
            flight->high_ms = service_clock_ms;
    }
}

void life_learn_kept(struct life *life, int64_t from_ms)
{
    if (from_ms < life->kept_from_ms)
        life_fail(life, "the time from which answers are kept went back");
    life->kept_from_ms = from_ms;
    life->halfway = false;
}

/* What a removal makes less. */
struct kept_rows {
    int64_t answers, entries;
};

static struct kept_rows count_rows(struct life *life)
{
    struct kept_rows rows = {0};
    (void)db_one(life->auditor, "SELECT count(*) FROM answers", NULL, 0, listing_integer,
                 &rows.answers);
    (void)db_one(life->auditor, "SELECT count(*) FROM ledger_entries", NULL, 0, listing_integer,
                 &rows.entries);
    return rows;
}

static uint64_t less(int64_t before, int64_t after)
{
    return after < before ? (uint64_t)(before - after) : 0;
}

void life_prune(struct life *life)
{
    if (life->prunes)
        return;
    bool more = false;
    int64_t from_ms = 0;
    unsigned number = life_draw_server(life);
    const struct service *server = &life->servers[number];
    uint64_t failures = disk.failures;
    disk.aside = true;
    struct kept_rows before = count_rows(life);
    disk.aside = false;
    if (service_clock_ms - KEPT_MS > life->raised_ms)
        life->raised_ms = service_clock_ms - KEPT_MS;
    life->prunes = true;
    unsigned running = disk_enter(number);
    bool good = api_prune(server->app, server->pruner, &more);
    database_heed(server->pruner);
    bool over = disk_is_dead();
    disk.server = running;
    life->prunes = false;
    life->halfway = over;
    if (over)
        return;
    disk.aside = true;
    if (!good && disk.failures == failures)
        life_fail(life, "answers cannot be removed: %s", db_last_error(server->pruner));
    if (answers_kept_from(life->auditor, &from_ms) != DB_OK)
        life_fail(life, "the time from which answers are kept cannot be read");
    life_learn_kept(life, from_ms);
    struct kept_rows after = count_rows(life); /* with those that were added meanwhile */
    life->count[LIFE_REMOVED] += less(before.answers, after.answers);
    life->count[LIFE_FOLDED] += less(before.entries, after.entries);
    disk.aside = false;
    life_note(life, "prune: answers are kept from %lld", (long long)from_ms);
}

bool life_is_removed(const struct life *life, const struct asked *asked)
{
    /* A removal that is under way, or whose server ended, tells later from when they are kept. */
    int64_t from_ms = life->prunes || life->halfway ? life->raised_ms : life->kept_from_ms;
    return asked->day_ms >= 0 && asked->day_ms < from_ms;
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool life_judge_time(struct life *life, const struct flight *flight, const struct api_reply *reply)
{
    const struct asked *asked = flight->asked;
    int64_t day = asked->day_ms;
    if (day < 0)
        return false;
    bool over = reply->status == 410 && life_says(reply, "idempotency-key-expired");
    bool must = day < later_of(flight->low_ms - KEPT_MS, flight->kept_from_ms);
    bool may = day < later_of(flight->high_ms - KEPT_MS, life->raised_ms);
    if (over ? !may : must)
        life_fail(life, "%s was %s: %d", asked->key,
                  over ? "refused within its time" : "not refused although its time is over",
                  reply->status);
    bool early = reply->status == 400 && life_says(reply, "idempotency-key-invalid");
    if (early && (asked->stored || day <= flight->low_ms + ANSWERS_EARLY_MS))
        life_fail(life, "%s was refused as early", asked->key);
    if (reply->status < 400 && !asked->stored && day > flight->high_ms + ANSWERS_EARLY_MS)
        life_fail(life, "%s was answered before its time", asked->key);
    life->count[LIFE_OVER] += over && asked->stored;
    life->count[LIFE_EARLY] += early;
    return over || early;
}
