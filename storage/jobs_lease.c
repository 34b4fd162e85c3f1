/* Jobs as workers see them: claimed, kept alive, checkpointed, ended.
 *
 * DESIGN. "Ours" is one condition, repeated in every change: the job is running and its lease bears
 * our name. Whether the lease's time has passed does not matter as long as nobody else has claimed
 * the job; a claim changes the name, and from then on the former owner's changes hit no row. */
#include "storage/jobs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/digest.h"
#include "storage/db/listing.h"
#include "storage/digests.h"
#include "storage/ledger/ledger.h"

#define OURS "id = $1 AND state = 'running' AND lease_owner = $2"

struct claim_work {
    const char *worker, *others;
    int64_t now_ms, until_ms;
    struct job_row *out;
    char unread[ID_SIZE]; /* the job that the last attempt could not read; "": none */
};

static enum db_status claim_job(struct db *db, void *context)
{
    struct claim_work *work = context;
    char id[ID_SIZE] = "";
    job_done(work->out); /* what an attempt before this one has read */
    enum db_status status =
        db_one(db,
               "UPDATE jobs SET state = 'running', lease_owner = $1, lease_until_ms = $3, "
               "attempts = attempts + 1 "
               "WHERE id = coalesce((SELECT id FROM jobs WHERE state = 'running' "
               "AND lease_until_ms <= $2 AND $4 NOT LIKE '%' || lease_owner || '%' "
               "ORDER BY created_ms, id LIMIT 1), (SELECT id FROM jobs WHERE state = 'queued' "
               "ORDER BY turn, created_ms, id LIMIT 1)) "
               "AND (state = 'queued' OR lease_until_ms <= $2) RETURNING id",
               DB_VALUES(db_text(work->worker), db_integer(work->now_ms),
                         db_integer(work->until_ms), db_text(work->others)),
               listing_id, id);
    if (status == DB_OK)
        status = db_owed(jobs_find(db, id, work->out));
    snprintf(work->unread, sizeof work->unread, "%s", status == DB_OK ? "" : id);
    if (status != DB_OK || work->out->started_ms != 0)
        return status;
    work->out->fresh = true;
    work->out->started_ms = work->now_ms;
    return db_change(db, "UPDATE jobs SET started_ms = $2 WHERE id = $1",
                     DB_VALUES(db_text(id), db_integer(work->now_ms)));
}

/* Whether the row that could not be read is damaged when it is read again. */
static bool is_damaged(struct db *db, const char *id)
{
    struct job_row job = {.request = NULL};
    (void)db_damage(db); /* which is said again */
    enum db_status status = jobs_find(db, id, &job);
    job_done(&job);
    return status == DB_FAILED && digest_damaged(db, &jobs_table, id);
}

static enum db_status pay_whole(struct db *db, void *context)
{
    const struct claim_work *work = context;
    return ledger_settle_whole(db, work->unread, work->now_ms);
}

/* Ends a job whose row is damaged: it would be claimed for ever, and the others never. It may have
 * run, so it pays all that it holds, or the hold stays if it is damaged, too. What it has cost by
 * itself nobody knows: so much that its account's sum is less. */
static enum db_status end_damaged(struct db *db, void *context)
{
    const struct claim_work *work = context;
    struct db_value values[] = {db_text(work->unread), db_integer(work->now_ms)};
    if (!is_damaged(db, work->unread))
        return DB_RETRY;
    enum db_status status =
        db_change(db,
                  "UPDATE jobs SET state = 'failed', finished_ms = $2, epsilon_spent = 1e15, "
                  "lease_owner = '', lease_until_ms = 0 WHERE id = $1 AND (state = 'queued' OR "
                  "(state = 'running' AND lease_until_ms <= $2))",
                  values, 2);
    if (status == DB_OK)
        status = db_run(db, "DELETE FROM checkpoints WHERE job = $1", values, 1, NULL, NULL);
    if (status != DB_OK)
        return db_owed(status);
    status = db_transact(db, pay_whole, context);
    return status == DB_FAILED ? DB_OK : status;
}

enum db_status jobs_claim(struct db *db, const char *worker, const char *others, int64_t now_ms,
                          int64_t lease_ms, struct job_row *out)
{
    assert(worker[0] != '\0' && strlen(worker) < JOB_WORD_SIZE);
    struct claim_work work = {worker, others, now_ms, now_ms + lease_ms, out, ""};
    *out = (struct job_row){.request = NULL};
    /* Reading first spares an idle worker the writer's lock. */
    enum db_status status =
        db_one(db,
               "SELECT 1 FROM jobs WHERE state = 'queued' OR (state = 'running' "
               "AND lease_until_ms <= $1 AND $2 NOT LIKE '%' || lease_owner || '%') LIMIT 1",
               DB_VALUES(db_integer(now_ms), db_text(others)), listing_ignore, NULL);
    if (status == DB_OK)
        status = db_transact(db, claim_job, &work);
    if (status != DB_OK)
        job_done(out);
    if (status == DB_FAILED && work.unread[0] != '\0' &&
        db_transact(db, end_damaged, &work) == DB_OK)
        return DB_RETRY;
    return status;
}

/* ---- heartbeats and checkpoints */

static enum db_status see_cancel(void *context, const struct db_row *row)
{
    struct job_lease *lease = context;
    int64_t requested = 0;
    enum db_status status = listing_integer(&requested, row);
    lease->ours = status == DB_OK;
    lease->cancel_requested = requested != 0;
    lease->stopped = requested == JOB_STOPPED;
    return status;
}

enum db_status jobs_have(struct db *db, const char *id, const char *worker)
{
    return db_one(db, "SELECT 1 FROM jobs WHERE " OURS, DB_VALUES(db_text(id), db_text(worker)),
                  listing_ignore, NULL);
}

enum db_status jobs_heartbeat(struct db *db, const char *id, const char *worker, int64_t step,
                              int64_t now_ms, int64_t lease_ms, struct job_lease *out)
{
    struct job_lease lease = {.ours = false};
    enum db_status status = db_change_one(
        db,
        "UPDATE jobs SET step = $3, lease_until_ms = $4 "
        "WHERE " OURS " RETURNING cancel_requested",
        DB_VALUES(db_text(id), db_text(worker), db_integer(step), db_integer(now_ms + lease_ms)),
        see_cancel, &lease);
    if (status == DB_OK || status == DB_NONE) {
        *out = lease;
        return DB_OK;
    }
    return status;
}

enum db_status jobs_show_return(struct db *db, const char *id, const char *worker,
                                double mean_return)
{
    return db_change(db, "UPDATE jobs SET shown_return = $3 WHERE " OURS,
                     DB_VALUES(db_text(id), db_text(worker), db_real(mean_return)));
}

enum db_status jobs_show_findings(struct db *db, const char *id, const char *worker,
                                  const char *findings)
{
    assert(strlen(findings) < JOB_FINDINGS_SIZE);
    return db_change(db, "UPDATE jobs SET findings = $3 WHERE " OURS,
                     DB_VALUES(db_text(id), db_text(worker), db_text(findings)));
}

struct loaded {
    char job[ID_SIZE];
    int64_t step;
    char *bytes;
    size_t size;
};

static const struct column checkpoint_columns[] = {
    COLUMN(loaded, job, TEXT),
    COLUMN(loaded, step, INTEGER),
    COLUMN_BYTES_OF(loaded, bytes, size),
};

const struct table checkpoints_table =
    TABLE_DIGESTED("checkpoints", loaded, checkpoint_columns, 0, "digest", 1, 0);

struct checkpoint_work {
    const struct job_checkpoint *checkpoint;
    struct job_lease *lease;
};

static enum db_status save_checkpoint(struct db *db, void *context)
{
    const struct checkpoint_work *work = context;
    const struct job_checkpoint *c = work->checkpoint;
    int64_t shown = c->step;
    if (c->hides_step)
        shown = 0;
    enum db_status status =
        jobs_heartbeat(db, c->id, c->worker, shown, c->now_ms, c->lease_ms, work->lease);
    if (status != DB_OK || !work->lease->ours || work->lease->stopped)
        return status;
    unsigned char digest[DIGEST_SIZE];
    struct db_value values[] = {db_text(c->id), db_integer(c->step), db_bytes(c->bytes, c->size),
                                db_bytes(digest, sizeof digest)};
    status = db_run(db,
                    "UPDATE jobs SET attempts = 0 WHERE id = $1 AND attempts > 0 AND $2 > "
                    "(SELECT coalesce(max(step), 0) FROM checkpoints WHERE job = $1)",
                    values, 2, NULL, NULL);
    if (status != DB_OK)
        return status;
    struct loaded row = {.step = c->step, .bytes = (char *)(uintptr_t)c->bytes, .size = c->size};
    memcpy(row.job, c->id, strlen(c->id));
    table_digest(db, &checkpoints_table, &row, digest);
    return db_run(db,
                  "INSERT INTO checkpoints (job, step, bytes, digest) VALUES ($1, $2, $3, $4) "
                  "ON CONFLICT (job) DO UPDATE SET step = excluded.step, bytes = excluded.bytes, "
                  "digest = excluded.digest",
                  values, 4, NULL, NULL);
}

enum db_status jobs_save_checkpoint(struct db *db, const struct job_checkpoint *checkpoint,
                                    struct job_lease *out)
{
    return db_transact(db, save_checkpoint, &(struct checkpoint_work){checkpoint, out});
}

enum db_status jobs_load_checkpoint(struct db *db, const char *id, int64_t *out_step,
                                    void **out_bytes, size_t *out_size)
{
    struct loaded loaded = {.step = 0};
    enum db_status status =
        table_find(db, &checkpoints_table, "WHERE job = $1", DB_VALUES(db_text(id)), &loaded);
    if (status != DB_OK)
        return status;
    *out_step = loaded.step;
    *out_bytes = loaded.bytes;
    *out_size = loaded.size;
    return DB_OK;
}

/* ---- the end */

struct finish_work {
    const struct job_end *end;
    bool *ours;
};

/* Copies a detail; cuts it before a character that would not fit whole. */
static void copy_detail(char out[JOB_DETAIL_SIZE], const char *detail)
{
    size_t length = !detail ? 0 : strlen(detail);
    if (length >= JOB_DETAIL_SIZE) {
        length = JOB_DETAIL_SIZE - 1;
        while (length > 0 && ((unsigned char)detail[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(out, length == 0 ? "" : detail, length);
    out[length] = '\0';
}

static enum db_status finish_job(struct db *db, void *context)
{
    const struct finish_work *work = context;
    const struct job_end *e = work->end;
    char detail[JOB_DETAIL_SIZE];
    copy_detail(detail, e->problem_detail);
    struct db_value values[] = {
        db_text(e->id),
        db_text(e->worker),
        db_text(job_state_name(e->state)),
        db_integer(e->step),
        db_text_or_empty(e->policy),
        db_integer(e->has_evaluation),
        db_real(e->has_evaluation ? e->mean_return : 0),
        db_real(e->has_evaluation ? e->std_return : 0),
        db_integer(e->has_evaluation ? e->episodes : 0),
        db_text_or_empty(e->problem_slug),
        db_text(detail),
        db_real(e->epsilon_spent),
        db_integer(e->now_ms),
        db_text_or_empty(e->findings),
        db_text_or_empty(e->q_release),
    };
    enum db_status status =
        db_change(db,
                  "UPDATE jobs SET state = $3, step = $4, policy = $5, has_evaluation = $6, "
                  "mean_return = $7, std_return = $8, episodes = $9, problem_slug = $10, "
                  "problem_detail = $11, epsilon_spent = $12, finished_ms = $13, findings = $14, "
                  "q_release = $15, "
                  "lease_owner = '', "
                  "lease_until_ms = 0 WHERE " OURS,
                  values, sizeof values / sizeof *values);
    *work->ours = status == DB_OK;
    if (status != DB_OK)
        return db_optional(status);
    return db_run(db, "DELETE FROM checkpoints WHERE job = $1", values, 1, NULL, NULL);
}

enum db_status jobs_finish(struct db *db, const struct job_end *end, bool *out_ours)
{
    assert(end->state != JOB_QUEUED && end->state != JOB_RUNNING);
    assert(!end->problem_slug || strlen(end->problem_slug) < JOB_WORD_SIZE);
    assert(!end->findings || strlen(end->findings) < JOB_FINDINGS_SIZE);
    return db_transact(db, finish_job, &(struct finish_work){end, out_ours});
}

enum db_status jobs_release_leases(struct db *db, const char *worker)
{
    return db_optional(db_change(db,
                                 "UPDATE jobs SET lease_until_ms = 0, attempts = 0 "
                                 "WHERE state = 'running' AND lease_owner = $1",
                                 DB_VALUES(db_text(worker))));
}

enum db_status jobs_excuse(struct db *db, const char *id, const char *worker)
{
    return db_optional(db_change(db, "UPDATE jobs SET attempts = 0 WHERE " OURS,
                                 DB_VALUES(db_text(id), db_text(worker))));
}

static enum db_status expire_leases(struct db *db, void *context)
{
    (void)context;
    enum db_status status = db_alone(db);
    if (status != DB_OK)
        return status;
    return db_run(db, "UPDATE jobs SET lease_until_ms = 0 WHERE state = 'running'", NULL, 0, NULL,
                  NULL);
}

enum db_status jobs_expire_leases(struct db *db)
{
    return db_transact(db, expire_leases, NULL);
}
