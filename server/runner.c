/* The workers' loop. Claims, leases, checkpoints and endings of jobs are in api/ and storage/. */
#include "server/runner.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memory/memory.h"
#include "server/database.h"
#include "server/os/clock.h"
#include "server/os/log.h"
#include "server/pruner.h"
#include "storage/db/db.h"
#include "storage/uploads.h"

#define IDLE_MS          500
#define FAILURE_PAUSE_MS 2000

struct worker {
    pthread_t thread;
    struct runner *runner;
    struct db *db;
    char name[40];             /* owner of the turn's lease: no claim anywhere has had it before */
    unsigned long long number; /* random, and one more at each turn */
    bool busy;                 /* in a turn; as name and number under the runner's lock */
    char *others;              /* the names of the other busy workers */
    char told[PRUNER_TOLD];    /* the failure that was logged last */
};

struct runner {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned wakes;      /* how often somebody called runner_wake */
    atomic_uint running; /* threads that have not ended */
    atomic_bool stopping;
    struct app *app;
    struct helpers *helpers;
    struct metrics *metrics;
    unsigned count; /* of the workers, those with a thread */
    unsigned most;  /* all of them */
    struct worker workers[];
};

static bool stop_requested(void *context)
{
    struct runner *runner = context;
    return atomic_load(&runner->stopping);
}

static void note_resumed(void *context, const char *job, uint64_t step)
{
    (void)context;
    log_event(LOG_LEVEL_INFO, "job-resumed", "job=%s step=%" PRIu64, job, step);
}

static void share_out(void *context, void (*work)(void *what, uint32_t i), void *what,
                      uint32_t count)
{
    struct runner *runner = context;
    helpers_run(runner->helpers, work, what, count);
}

static void runner_doze(void *context, int64_t ms)
{
    const struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)context;
    nanosleep(&span, NULL);
}

/* Sleeps for MS or until there was a wake since *seen, or a stop. */
static void sleep_until_woken(struct runner *runner, unsigned *seen, long ms)
{
    struct timespec until = clock_in_ms(ms);
    int status = 0;
    pthread_mutex_lock(&runner->lock);
    while (status == 0 && runner->wakes == *seen && !atomic_load(&runner->stopping))
        status = pthread_cond_timedwait(&runner->changed, &runner->lock, &until);
    *seen = runner->wakes;
    pthread_mutex_unlock(&runner->lock);
}

/* Logs once that the database failed, with NOTE of the job; NULL: it did not. */
static void note_failure(struct worker *self, const char *note)
{
    char what[PRUNER_TOLD] = "";
    if (note)
        snprintf(what, sizeof what, "%.100s; %.150s", note, db_last_error(self->db));
    if (pruner_tells(self->told, what))
        log_event(LOG_LEVEL_ERROR, "job-storage-failed", "note=\"%s\" why=\"%s\"",
                  note[0] != '\0' ? note : "no job could be claimed", db_last_error(self->db));
}

/* Begins a turn under a new name, and says who else has a job. A worker of this process that lives
 * keeps its job, however long a busy machine lets it wait. */
static void begin_turn(struct worker *self)
{
    struct runner *runner = self->runner;
    size_t used = 0, size = runner->most * sizeof self->name;
    pthread_mutex_lock(&runner->lock);
    snprintf(self->name, sizeof self->name, "%016llx", self->number++);
    self->busy = true;
    self->others[0] = '\0';
    for (unsigned i = 0; i < runner->most; i++)
        if (&runner->workers[i] != self && runner->workers[i].busy)
            used +=
                (size_t)snprintf(self->others + used, size - used, "%s ", runner->workers[i].name);
    pthread_mutex_unlock(&runner->lock);
}

static void end_turn(struct worker *self)
{
    pthread_mutex_lock(&self->runner->lock);
    self->busy = false;
    pthread_mutex_unlock(&self->runner->lock);
}

static enum api_job_turn take_turn(struct worker *self)
{
    struct runner *runner = self->runner;
    struct api_job_control control = {.worker = self->name,
                                      .others = self->others,
                                      .stop_requested = stop_requested,
                                      .context = runner,
                                      .resumed = note_resumed,
                                      .parallel = share_out,
                                      .wait = runner_doze};
    char note[256] = "";
    begin_turn(self);
    helpers_worker(runner->helpers, true);
    metrics_add(runner->metrics, METRICS_JOBS_RUNNING, 1);
    enum api_job_turn turn = api_job_turn(runner->app, self->db, &control, note);
    helpers_worker(runner->helpers, false);
    end_turn(self);
    metrics_add(runner->metrics, METRICS_JOBS_RUNNING, -1);
    database_heed(self->db);
    note_failure(self, turn == API_JOB_FAILED_STORAGE ? note : NULL);
    if (turn != API_JOB_NONE && turn != API_JOB_FAILED_STORAGE) {
        metrics_add(runner->metrics, METRICS_JOB_TURNS, 1);
        log_event(LOG_LEVEL_INFO, turn == API_JOB_PAUSED ? "job-paused" : "job-ended",
                  "note=\"%s\"", note);
    }
    return turn;
}

/* Overwrites some of the data of deleted datasets. True when more is left. */
static bool purge_some(struct worker *self)
{
    bool more = false;
    if (uploads_purge(self->db, &more) == DB_OK)
        return more;
    log_event(LOG_LEVEL_WARN, "purge-failed", "why=\"%s\"", db_last_error(self->db));
    return false;
}

static void *worker_run(void *context)
{
    struct worker *self = context;
    struct runner *runner = self->runner;
    unsigned seen = 0;
    helpers_lower_priority(HELPER_NICENESS, true);
    while (!atomic_load(&runner->stopping)) {
        enum api_job_turn turn = take_turn(self);
        bool more = purge_some(self);
        database_heed(self->db);
        if (turn == API_JOB_NONE && !more)
            sleep_until_woken(runner, &seen, IDLE_MS);
        else if (turn == API_JOB_FAILED_STORAGE)
            sleep_until_woken(runner, &seen, FAILURE_PAUSE_MS);
    }
    atomic_fetch_sub(&runner->running, 1);
    return NULL;
}

struct runner *runner_start(struct app *app, struct db *const *dbs, unsigned count,
                            struct helpers *helpers, struct metrics *metrics)
{
    assert(count > 0);
    struct runner *runner = memory_new(1, sizeof *runner + count * sizeof runner->workers[0]);
    runner->app = app;
    runner->helpers = helpers;
    runner->metrics = metrics;
    runner->most = count;
    atomic_init(&runner->stopping, false);
    atomic_init(&runner->running, 0);
    pthread_mutex_init(&runner->lock, NULL);
    clock_condition_init(&runner->changed);
    for (; runner->count < count; runner->count++) {
        struct worker *self = &runner->workers[runner->count];
        self->runner = runner;
        self->db = dbs[runner->count];
        self->others = memory_new(count, sizeof self->name);
        randombytes_buf(&self->number, sizeof self->number);
        atomic_fetch_add(&runner->running, 1);
        if (pthread_create(&self->thread, NULL, worker_run, self) != 0) {
            runner_stop(runner);
            return NULL;
        }
    }
    return runner;
}

void runner_wake(struct runner *runner)
{
    pthread_mutex_lock(&runner->lock);
    runner->wakes++;
    pthread_cond_broadcast(&runner->changed);
    pthread_mutex_unlock(&runner->lock);
}

void runner_ask_to_stop(struct runner *runner)
{
    atomic_store(&runner->stopping, true);
    runner_wake(runner);
}

bool runner_has_stopped(const struct runner *runner)
{
    return atomic_load(&runner->running) == 0;
}

void runner_stop(struct runner *runner)
{
    if (!runner)
        return;
    runner_ask_to_stop(runner);
    for (unsigned i = 0; i < runner->count; i++)
        pthread_join(runner->workers[i].thread, NULL);
    for (unsigned i = 0; i < runner->most; i++)
        free(runner->workers[i].others);
    pthread_cond_destroy(&runner->changed);
    pthread_mutex_destroy(&runner->lock);
    free(runner);
}
