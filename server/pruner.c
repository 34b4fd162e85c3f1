/* DESIGN. Each removal is one short transaction. After it the thread pauses for nine times as long
 * as it took, so that the committer has the database for nine tenths of the time at least. */
#include "server/pruner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "memory/memory.h"
#include "server/database.h"
#include "server/keys.h"
#include "server/os/clock.h"
#include "server/os/log.h"
#include "storage/answers/answers.h"
#include "storage/census.h"
#include "storage/db/db.h"
#include "storage/recovery.h"

#define IDLE_MS  10000
#define AGAIN_MS 1000 /* a database that did not answer */
#define QUIET_US 30000000
#define HOUR_MS  INT64_C(3600000)
#define DAY_MS   (24 * HOUR_MS)
#define PAUSES   9

struct pruner {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    atomic_int_fast64_t answered_us; /* when the database did so last */
    const char *keys;                /* their directory, which may be another machine's */
    atomic_int_fast64_t keys_us;     /* when they stood last */
    struct app *app;
    struct db *db;
    struct pruner_clocks clocks;
    char told[PRUNER_TOLD]; /* the last failure that was logged */
};

bool pruner_trusts(struct pruner_clocks *clocks, int64_t wall_ms, int64_t steady_ms,
                   bool *out_leapt)
{
    bool first = clocks->steady_ms == 0; /* the service may have been off for a day */
    int64_t passed = first ? DAY_MS - HOUR_MS : steady_ms - clocks->steady_ms;
    int64_t ahead = wall_ms - clocks->wall_ms - passed;
    *out_leapt = clocks->wall_ms > 0 && ahead > HOUR_MS;
    if (*out_leapt)
        clocks->wait_until_ms = steady_ms + DAY_MS;
    clocks->wall_ms = wall_ms;
    clocks->steady_ms = steady_ms;
    return steady_ms >= clocks->wait_until_ms;
}

bool pruner_tells(char told[PRUNER_TOLD], const char *why)
{
    if (strncmp(told, why, PRUNER_TOLD - 1) == 0)
        return false;
    snprintf(told, PRUNER_TOLD, "%s", why);
    return why[0] != '\0';
}

/* Removes some answers, folds some debits and erases some experts, if the clock is to be trusted,
 * and ends the erasures of others. True when there are more. */
static bool prune_once(struct pruner *pruner)
{
    bool more = false, leapt = false;
    bool trusts = pruner_trusts(&pruner->clocks, clock_now_ms(), clock_now_us() / 1000, &leapt);
    if (leapt)
        log_event(LOG_LEVEL_WARN, "clock-leapt",
                  "note=\"the clock is far ahead of its last look, or of what was stored last: "
                  "nothing is removed for a day\"");
    bool good = !trusts || api_prune(pruner->app, pruner->db, &more);
    if (!more)
        good = api_end_erasures(pruner->app, pruner->db) && good;
    const char *why = good ? "" : db_last_error(pruner->db);
    if (pruner_tells(pruner->told, why))
        log_event(LOG_LEVEL_WARN, "prune-failed", "why=\"%s\"", why);
    else
        (void)db_damage(pruner->db); /* the log has it */
    database_heed(pruner->db);
    return more;
}

/* What cannot be written now is written later. */
static void write_refusals(struct pruner *pruner)
{
    (void)api_write_refusals(pruner->app, pruner->db);
    database_heed(pruner->db);
}

static void tighten_marks(struct pruner *pruner)
{
    (void)recovery_tighten(pruner->db);
    database_heed(pruner->db);
}

/* A read that fails is known at once; one that hangs, when the last answer is old. */
static bool look_at_database(struct pruner *pruner)
{
    int64_t ignored;
    bool answers = answers_newest(pruner->db, &ignored) == DB_OK;
    atomic_store(&pruner->answered_us, answers ? clock_now_us() : INT64_MIN / 2);
    return answers;
}

static void look_at_keys(struct pruner *pruner)
{
    char ignored[512];
    bool stand = keys_stand(pruner->keys, false, ignored, sizeof ignored);
    atomic_store(&pruner->keys_us, stand ? clock_now_us() : INT64_MIN / 2);
}

bool pruner_sees_keys(const struct pruner *pruner)
{
    return clock_now_us() - atomic_load(&pruner->keys_us) < QUIET_US;
}

bool pruner_reaches(const struct pruner *pruner)
{
    return clock_now_us() - atomic_load(&pruner->answered_us) < QUIET_US;
}

/* Waits for MS or the end. True when it is the end. */
static bool pruner_sleep(struct pruner *pruner, int64_t ms)
{
    struct timespec until = clock_in_ms(ms);
    int status = 0;
    pthread_mutex_lock(&pruner->lock);
    while (status == 0 && !pruner->stopping)
        status = pthread_cond_timedwait(&pruner->changed, &pruner->lock, &until);
    bool stopping = pruner->stopping;
    pthread_mutex_unlock(&pruner->lock);
    return stopping;
}

/* Waits likewise, and looks at the database meanwhile. */
static bool pruner_pause(struct pruner *pruner, int64_t ms)
{
    while (ms > 0) {
        look_at_keys(pruner);
        int64_t most = look_at_database(pruner) ? IDLE_MS : AGAIN_MS;
        int64_t part = ms < most ? ms : most;
        if (pruner_sleep(pruner, part))
            return true;
        ms -= part;
    }
    return false;
}

static void *pruner_run(void *context)
{
    struct pruner *pruner = context;
    int64_t pause;
    do {
        int64_t begun = clock_now_us();
        write_refusals(pruner);
        tighten_marks(pruner);
        bool more = prune_once(pruner);
        pause = more ? 1 + PAUSES * (clock_now_us() - begun) / 1000 : IDLE_MS;
    } while (!pruner_pause(pruner, pause));
    write_refusals(pruner);
    return NULL;
}

struct pruner *pruner_start(struct app *app, struct db *db, const char *keys)
{
    struct pruner *pruner = memory_new(1, sizeof *pruner);
    pruner->app = app;
    pruner->db = db;
    (void)census_newest(db, &pruner->clocks.wall_ms);
    atomic_init(&pruner->answered_us, clock_now_us()); /* it was read at the start */
    pruner->keys = keys;
    atomic_init(&pruner->keys_us, clock_now_us()); /* so were they */
    pthread_mutex_init(&pruner->lock, NULL);
    clock_condition_init(&pruner->changed);
    if (pthread_create(&pruner->thread, NULL, pruner_run, pruner) == 0)
        return pruner;
    pthread_cond_destroy(&pruner->changed);
    pthread_mutex_destroy(&pruner->lock);
    free(pruner);
    return NULL;
}

void pruner_stop(struct pruner *pruner)
{
    if (!pruner)
        return;
    pthread_mutex_lock(&pruner->lock);
    pruner->stopping = true;
    pthread_cond_signal(&pruner->changed);
    pthread_mutex_unlock(&pruner->lock);
    pthread_join(pruner->thread, NULL);
    pthread_cond_destroy(&pruner->changed);
    pthread_mutex_destroy(&pruner->lock);
    free(pruner);
}
