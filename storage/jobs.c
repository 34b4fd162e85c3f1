/* Jobs as their owners see them: submitted, listed, cancelled.
 *
 * DESIGN. Owners take turns, one job each. A job gets the number of its turn when it is submitted:
 * one more than its owner's last that runs or waits, and at least that of the next to be claimed,
 * so that nobody saves turns up or pays for what ran before. So the queue is an index. */
#include "storage/jobs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/digests.h"

static const char *const state_names[JOB_STATES + 1] = {
    [JOB_QUEUED] = "queued", [JOB_RUNNING] = "running",     [JOB_SUCCEEDED] = "succeeded",
    [JOB_FAILED] = "failed", [JOB_CANCELLED] = "cancelled", NULL,
};

static const struct column job_columns[] = {
    COLUMN(job_row, id, TEXT),
    COLUMN(job_row, owner, TEXT),
    COLUMN(job_row, algorithm, TEXT),
    COLUMN(job_row, mechanism, TEXT),
    COLUMN(job_row, dataset, TEXT),
    COLUMN(job_row, environment, TEXT),
    COLUMN(job_row, request, POINTER),
    COLUMN(job_row, plan, POINTER),
    COLUMN(job_row, total_steps, INTEGER),
    COLUMN(job_row, account, TEXT),
    COLUMN(job_row, hold_units, INTEGER),
    COLUMN(job_row, hold_delta, INTEGER),
    COLUMN(job_row, created_ms, INTEGER),
    COLUMN(job_row, turn, INTEGER), /* from here on loose */
    {"state", COLUMN_WORD, offsetof(struct job_row, state), 0, state_names},
    /* the other members begin with the schema's defaults */
    COLUMN(job_row, step, INTEGER),
    COLUMN(job_row, cancel_requested, FLAG),
    COLUMN(job_row, policy, TEXT),
    COLUMN(job_row, q_release, TEXT),
    COLUMN(job_row, has_evaluation, FLAG),
    COLUMN(job_row, mean_return, REAL),
    COLUMN(job_row, std_return, REAL),
    COLUMN(job_row, episodes, INTEGER),
    COLUMN(job_row, problem_slug, TEXT),
    COLUMN(job_row, problem_detail, TEXT),
    COLUMN(job_row, findings, TEXT),
    COLUMN(job_row, epsilon_spent, REAL),
    COLUMN(job_row, started_ms, INTEGER),
    COLUMN(job_row, finished_ms, INTEGER),
    COLUMN(job_row, attempts, INTEGER),
    {"coalesce(shown_return, 0)", COLUMN_REAL, offsetof(struct job_row, shown_return), 0, NULL},
    {"shown_return IS NOT NULL", COLUMN_FLAG, offsetof(struct job_row, has_shown_return), 0, NULL},
};

#define JOB_INSERTED 15
#define JOB_FIXED    13 /* what was asked for, and its price */

const struct table jobs_table = TABLE_DIGESTED("jobs", job_row, job_columns, JOB_INSERTED, "digest",
                                               1, TABLE_ALL(job_columns) - JOB_FIXED);

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
    table_done(&jobs_table, job);
}

/* ---- submitting and finding */

enum db_status jobs_submit(struct db *db, const struct job_row *job)
{
    struct job_row fresh = *job;
    fresh.state = JOB_QUEUED;
    enum db_status status = db_one(
        db,
        "SELECT coalesce(max(turn), 0) FROM (SELECT max(turn) + 1 AS turn FROM jobs WHERE "
        "owner = $1 AND state IN ('queued', 'running') UNION ALL SELECT coalesce((SELECT min(turn) "
        "FROM jobs WHERE state = 'queued'), (SELECT max(turn) FROM jobs WHERE state = 'running'))) "
        "AS turns",
        DB_VALUES(db_text(job->owner)), listing_integer, &fresh.turn);
    if (status != DB_OK)
        return status;
    return table_insert(db, &jobs_table, &fresh, NULL, 0);
}

enum db_status jobs_find(struct db *db, const char *id, struct job_row *out)
{
    return table_find_id(db, &jobs_table, id, out);
}

enum db_status jobs_find_newest(struct db *db, const char *account, struct job_row *out)
{
    return table_find(db, &jobs_table,
                      "WHERE id = (SELECT id FROM jobs WHERE account = $1 "
                      "ORDER BY created_ms DESC, id DESC LIMIT 1)",
                      DB_VALUES(db_text(account)), out);
}

TABLE_SHOW(show_job, job_row);

enum db_status jobs_list(struct db *db, const struct job_filter *filter,
                         const struct listing_page *page, job_fn *each, void *context)
{
    struct show_job list = {each, context};
    return table_list(
        db, &jobs_table,
        "WHERE ($1 = '' OR" OWNER_AMONG(
            "$1") ") AND ($2 = '' OR algorithm = $2) "
                  "AND ($3 = '' OR dataset = $3) AND ($4 = '' OR state = $4) "
                  "AND (created_ms, id) < ($5, $6) ORDER BY created_ms DESC, id DESC LIMIT $7",
        DB_VALUES(db_text_or_empty(filter->owner), db_text_or_empty(filter->algorithm),
                  db_text_or_empty(filter->dataset),
                  db_text_or_empty(!filter->state ? NULL : job_state_name(*filter->state)),
                  db_integer(page->after ? page->number : INT64_MAX), db_text_or_empty(page->after),
                  db_integer(page->limit)),
        show_job, &list);
}

static enum db_status see_state_count(void *context, const struct db_row *row)
{
    int64_t *counts = context;
    enum job_state state;
    if (job_state_named(db_row_text(row, 0), &state))
        counts[state] = db_row_integer(row, 1);
    return DB_OK;
}

enum db_status jobs_count(struct db *db, const char *owner, int64_t out[JOB_STATES])
{
    memset(out, 0, JOB_STATES * sizeof out[0]);
    return db_run(db,
                  "SELECT state, CAST(count(*) AS BIGINT) FROM jobs WHERE ($1 = '' OR" OWNER_AMONG(
                      "$1") ") GROUP BY state",
                  DB_VALUES(db_text_or_empty(owner)), see_state_count, out);
}

enum db_status jobs_under_way(struct db *db, const char *client, int64_t *out)
{
    return db_one(db,
                  "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running') AND owner IN "
                  "(SELECT project FROM project_members WHERE client = $1 "
                  "AND role IN ('owner', 'steward'))",
                  DB_VALUES(db_text(client)), listing_integer, out);
}

enum db_status jobs_certificate(struct db *db, const char *job, char out[ID_SIZE])
{
    return db_one(db,
                  "SELECT id FROM certificates WHERE policy = (SELECT policy FROM jobs WHERE "
                  "id = $1) UNION ALL SELECT certificate FROM q_releases WHERE id = "
                  "(SELECT q_release FROM jobs WHERE id = $1) LIMIT 1",
                  DB_VALUES(db_text(job)), listing_id, out);
}

static enum db_status see_cost(void *context, const struct db_row *row)
{
    double *cost = context;
    cost[0] = db_row_real(row, 0);
    cost[1] = db_row_real(row, 1);
    return DB_OK;
}

enum db_status jobs_cost_on(struct db *db, const char *account, double *out_epsilon,
                            double *out_delta)
{
    double cost[2] = {0};
    enum db_status status = db_one(db,
                                   "SELECT coalesce(sum(CASE WHEN state IN ('queued', 'running') "
                                   "THEN CAST(hold_units AS DOUBLE PRECISION) * 1e-9"
                                   " ELSE epsilon_spent END), 0.0), "
                                   "coalesce(sum(CAST(hold_delta AS DOUBLE PRECISION) * 1e-18), "
                                   "0.0) FROM jobs WHERE account = $1",
                                   DB_VALUES(db_text(account)), see_cost, cost);
    *out_epsilon = cost[0];
    *out_delta = cost[1];
    return status;
}

enum db_status jobs_use_dataset(struct db *db, const char *dataset, bool *out_used)
{
    char judge[ID_SIZE + 16];
    snprintf(judge, sizeof judge, "\"judge\":\"%s\"", dataset);
    enum db_status status =
        db_one(db,
               "SELECT 1 FROM jobs WHERE state IN ('queued', 'running') "
               "AND (dataset = $1 OR instr(plan, $2) > 0) LIMIT 1",
               DB_VALUES(db_text(dataset), db_text(judge)), listing_ignore, NULL);
    *out_used = status == DB_OK;
    return db_optional(status);
}

enum db_status jobs_find_using(struct db *db, const char *id, char out_job[ID_SIZE])
{
    return db_one(db,
                  "SELECT id FROM jobs WHERE state IN ('queued', 'running') "
                  "AND (instr(plan, $1) > 0 OR instr(request, $1) > 0) LIMIT 1",
                  DB_VALUES(db_text(id)), listing_id, out_job);
}

enum db_status jobs_wait(struct db *db, const char *id, struct job_wait *out)
{
    int64_t wait[2] = {0};
    enum db_status status =
        db_one(db,
               "SELECT CASE WHEN j.state = 'queued' THEN 1 + (SELECT count(*) FROM jobs q "
               "WHERE q.state = 'queued' AND (q.turn, q.created_ms, q.id) < "
               "(j.turn, j.created_ms, j.id)) "
               "ELSE 0 END, CASE WHEN j.state = 'queued' THEN (SELECT count(*) FROM jobs q "
               "WHERE q.owner = j.owner AND q.state IN ('queued', 'running') AND (q.state = "
               "'running' OR (q.turn, q.created_ms, q.id) < (j.turn, j.created_ms, j.id))) "
               "ELSE 0 END "
               "FROM jobs j WHERE j.id = $1",
               DB_VALUES(db_text(id)), listing_integers, wait);
    *out = (struct job_wait){.place = wait[0], .own = wait[1]};
    return status;
}

struct show_wait {
    job_wait_fn *each;
    void *context;
};

static enum db_status show_job_wait(void *context, const struct db_row *row)
{
    const struct show_wait *show = context;
    const struct job_wait wait = {db_row_integer(row, 1), db_row_integer(row, 2)};
    show->each(show->context, db_row_text(row, 0), &wait);
    return DB_OK;
}

enum db_status jobs_waits(struct db *db, job_wait_fn *each, void *context)
{
    return db_run(
        db,
        "SELECT id, place, own FROM (SELECT id, state, "
        "row_number() OVER (PARTITION BY state ORDER BY turn, created_ms, id) AS place, "
        "row_number() OVER (PARTITION BY owner ORDER BY state = 'queued', turn, "
        "created_ms, id) - 1 AS own FROM jobs WHERE state IN ('queued', 'running')) AS line "
        "WHERE state = 'queued'",
        NULL, 0, show_job_wait, &(struct show_wait){each, context});
}

/* ---- cancelling */

struct cancel_work {
    const char *id;
    int64_t now_ms;
    enum job_cancel *result;
};

static enum db_status cancel_job(struct db *db, void *context)
{
    const struct cancel_work *work = context;
    struct db_value values[] = {db_text(work->id), db_integer(work->now_ms)};
    *work->result = JOB_CANCEL_DONE;
    enum db_status status =
        db_change(db,
                  "UPDATE jobs SET state = 'cancelled', cancel_requested = 1, finished_ms = $2 "
                  "WHERE id = $1 AND state = 'queued'",
                  values, 2);
    if (status != DB_NONE)
        return status;
    *work->result = JOB_CANCEL_REQUESTED;
    status = db_change(db,
                       "UPDATE jobs SET cancel_requested = CASE WHEN cancel_requested = 0 THEN 1 "
                       "ELSE cancel_requested END WHERE id = $1 AND state = 'running'",
                       values, 1);
    if (status != DB_NONE)
        return status;
    status = db_one(db, "SELECT 1 FROM jobs WHERE id = $1", values, 1, listing_ignore, NULL);
    *work->result = status == DB_OK ? JOB_CANCEL_TOO_LATE : JOB_CANCEL_UNKNOWN;
    return db_optional(status);
}

enum db_status jobs_cancel(struct db *db, const char *id, int64_t now_ms, enum job_cancel *out)
{
    return db_transact(db, cancel_job, &(struct cancel_work){id, now_ms, out});
}

enum db_status jobs_stop_on(struct db *db, const char *dataset)
{
    return db_optional(db_change(db,
                                 "UPDATE jobs SET cancel_requested = $2 "
                                 "WHERE dataset = $1 AND state = 'running'",
                                 DB_VALUES(db_text(dataset), db_integer(JOB_STOPPED))));
}

enum db_status jobs_stopped(struct db *db, const char *id, bool *out)
{
    enum db_status status =
        db_one(db, "SELECT 1 FROM jobs WHERE id = $1 AND cancel_requested = $2",
               DB_VALUES(db_text(id), db_integer(JOB_STOPPED)), listing_ignore, NULL);
    *out = status == DB_OK;
    return db_optional(status);
}
