/* Jobs as their owners see them: submitted, listed, cancelled. */
#include "storage/jobs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/jobs_row.h"

static const char *const state_names[JOB_STATES] = {
    [JOB_QUEUED] = "queued", [JOB_RUNNING] = "running",     [JOB_SUCCEEDED] = "succeeded",
    [JOB_FAILED] = "failed", [JOB_CANCELLED] = "cancelled",
};

const char *job_state_name(enum job_state state)
{
    assert((unsigned)state < JOB_STATES);
    return state_names[state];
}

bool job_state_named(const char *name, enum job_state *out)
{
    for (unsigned i = 0; i < JOB_STATES; i++) {
        if (strcmp(name, state_names[i]) == 0) {
            *out = (enum job_state)i;
            return true;
        }
    }
    return false;
}

void job_done(struct job_row *job)
{
    free(job->request);
    free(job->plan);
    job->request = job->plan = NULL;
}

/* ---- rows */

static bool read_words(const struct db_row *row, struct job_row *out)
{
    return db_row_copy(row, 0, out->id, sizeof out->id) &&
           db_row_copy(row, 1, out->owner, sizeof out->owner) &&
           db_row_copy(row, 2, out->algorithm, sizeof out->algorithm) &&
           db_row_copy(row, 3, out->mechanism, sizeof out->mechanism) &&
           db_row_copy(row, 4, out->dataset, sizeof out->dataset) &&
           db_row_copy(row, 5, out->environment, sizeof out->environment) &&
           db_row_copy(row, 11, out->account, sizeof out->account) &&
           db_row_copy(row, 14, out->lease_owner, sizeof out->lease_owner) &&
           db_row_copy(row, 17, out->policy, sizeof out->policy) &&
           db_row_copy(row, 30, out->findings, sizeof out->findings) &&
           db_row_copy(row, 31, out->q_release, sizeof out->q_release) &&
           db_row_copy(row, 22, out->problem_slug, sizeof out->problem_slug) &&
           db_row_copy(row, 23, out->problem_detail, sizeof out->problem_detail);
}

bool job_read(const struct db_row *row, struct job_row *out)
{
    *out = (struct job_row){
        .request = (char *)db_row_text(row, 6),
        .plan = (char *)db_row_text(row, 7),
        .step = db_row_integer(row, 9),
        .total_steps = db_row_integer(row, 10),
        .hold_units = db_row_integer(row, 12),
        .hold_delta = db_row_integer(row, 13),
        .lease_until_ms = db_row_integer(row, 15),
        .cancel_requested = db_row_integer(row, 16) != 0,
        .has_evaluation = db_row_integer(row, 18) != 0,
        .mean_return = db_row_real(row, 19),
        .std_return = db_row_real(row, 20),
        .episodes = db_row_integer(row, 21),
        .epsilon_spent = db_row_real(row, 24),
        .created_ms = db_row_integer(row, 25),
        .started_ms = db_row_integer(row, 26),
        .finished_ms = db_row_integer(row, 27),
        .attempts = db_row_integer(row, 28),
        .has_shown_return = !db_row_is_null(row, 29),
        .shown_return = db_row_is_null(row, 29) ? 0 : db_row_real(row, 29),
    };
    return job_state_named(db_row_text(row, 8), &out->state) && read_words(row, out);
}

enum db_status job_see(void *context, const struct db_row *row)
{
    struct job_row *out = context;
    bool ours = job_read(row, out);
    out->request = ours ? strdup(out->request) : NULL;
    out->plan = ours ? strdup(out->plan) : NULL;
    if (!out->request || !out->plan) {
        job_done(out);
        return DB_FAILED;
    }
    return DB_OK;
}

/* ---- submitting and finding */

enum db_status jobs_submit(struct db *db, const struct job_row *job)
{
    struct db_value values[] = {
        db_text(job->id),
        db_text(job->owner),
        db_text(job->algorithm),
        db_text(job->mechanism),
        db_text(job->dataset),
        db_text(job->environment),
        db_text(!job->request ? "" : job->request),
        db_text(!job->plan ? "" : job->plan),
        db_integer(job->total_steps),
        db_text(job->account),
        db_integer(job->hold_units),
        db_integer(job->hold_delta),
        db_integer(job->created_ms),
    };
    return db_change(db,
                     "INSERT INTO jobs (id, owner, algorithm, mechanism, dataset, environment, "
                     "request, plan, state, total_steps, account, hold_units, hold_delta, "
                     "created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'queued', $9, $10, $11, "
                     "$12, $13) ON CONFLICT DO NOTHING RETURNING 1",
                     values, sizeof values / sizeof *values, listing_ignore, NULL);
}

enum db_status jobs_find(struct db *db, const char *id, struct job_row *out)
{
    struct db_value values[] = {db_text(id)};
    return db_one(db, "SELECT " JOB_COLUMNS " FROM jobs WHERE id = $1", values, 1, job_see, out);
}

struct job_list {
    job_fn *each;
    void *context;
};

static enum db_status show_job(void *context, const struct db_row *row)
{
    const struct job_list *list = context;
    struct job_row job;
    if (!job_read(row, &job))
        return DB_FAILED;
    return list->each(list->context, &job) ? DB_OK : DB_NONE;
}

static struct db_value or_any(const char *text)
{
    return db_text(!text ? "" : text);
}

enum db_status jobs_list(struct db *db, const struct job_filter *filter, const char *after,
                         unsigned limit, job_fn *each, void *context)
{
    struct job_list list = {each, context};
    struct db_value values[] = {
        or_any(filter->owner),   or_any(filter->algorithm),
        or_any(filter->dataset), or_any(!filter->state ? NULL : job_state_name(*filter->state)),
        or_any(after),           db_integer(limit),
    };
    return listing_end(db_run(db,
                              "SELECT " JOB_COLUMNS " FROM jobs WHERE ($1 = '' OR owner = $1) "
                              "AND ($2 = '' OR algorithm = $2) AND ($3 = '' OR dataset = $3) "
                              "AND ($4 = '' OR state = $4) AND ($5 = '' OR (created_ms, id) < "
                              "(SELECT created_ms, id FROM jobs WHERE id = $5)) "
                              "ORDER BY created_ms DESC, id DESC LIMIT $6",
                              values, sizeof values / sizeof *values, show_job, &list));
}

static enum db_status see_count(void *context, const struct db_row *row)
{
    int64_t *counts = context;
    enum job_state state;
    if (!job_state_named(db_row_text(row, 0), &state))
        return DB_FAILED;
    counts[state] = db_row_integer(row, 1);
    return DB_OK;
}

enum db_status jobs_count(struct db *db, int64_t out_counts[JOB_STATES])
{
    memset(out_counts, 0, JOB_STATES * sizeof *out_counts);
    return db_run(db, "SELECT state, count(*) FROM jobs GROUP BY state", NULL, 0, see_count,
                  out_counts);
}

enum db_status jobs_use_dataset(struct db *db, const char *dataset, bool *out_used)
{
    struct db_value values[] = {db_text(dataset)};
    enum db_status status = db_one(db,
                                   "SELECT 1 FROM jobs WHERE dataset = $1 "
                                   "AND state IN ('queued', 'running') LIMIT 1",
                                   values, 1, listing_ignore, NULL);
    *out_used = status == DB_OK;
    return status == DB_NONE ? DB_OK : status;
}

enum db_status jobs_queue_place(struct db *db, const char *id, int64_t *out_place)
{
    struct db_value values[] = {db_text(id)};
    return db_one(db,
                  "SELECT CASE WHEN j.state = 'queued' THEN 1 + (SELECT count(*) FROM jobs q "
                  "WHERE q.state = 'queued' AND (q.created_ms, q.id) < (j.created_ms, j.id)) "
                  "ELSE 0 END FROM jobs j WHERE j.id = $1",
                  values, 1, listing_integer, out_place);
}

/* ---- cancelling */

struct cancel_work {
    const char *id;
    int64_t now_ms;
    enum job_cancel result;
};

static enum db_status cancel(struct db *db, void *context)
{
    struct cancel_work *work = context;
    struct db_value values[] = {db_text(work->id), db_integer(work->now_ms)};
    work->result = JOB_CANCEL_DONE;
    enum db_status status =
        db_one(db,
               "UPDATE jobs SET state = 'cancelled', cancel_requested = 1, finished_ms = $2 "
               "WHERE id = $1 AND state = 'queued' RETURNING 1",
               values, 2, listing_ignore, NULL);
    if (status != DB_NONE)
        return status;
    work->result = JOB_CANCEL_REQUESTED;
    status = db_one(db,
                    "UPDATE jobs SET cancel_requested = 1 WHERE id = $1 AND state = 'running' "
                    "RETURNING 1",
                    values, 1, listing_ignore, NULL);
    if (status != DB_NONE)
        return status;
    status = db_one(db, "SELECT 1 FROM jobs WHERE id = $1", values, 1, listing_ignore, NULL);
    work->result = status == DB_OK ? JOB_CANCEL_TOO_LATE : JOB_CANCEL_UNKNOWN;
    return status == DB_NONE ? DB_OK : status;
}

enum db_status jobs_cancel(struct db *db, const char *id, int64_t now_ms, enum job_cancel *out)
{
    struct cancel_work work = {.id = id, .now_ms = now_ms};
    enum db_status status = db_transact(db, cancel, &work);
    if (status == DB_OK)
        *out = work.result;
    return status;
}
