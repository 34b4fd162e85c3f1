/* A new life on an older copy of a database. */
#include "storage/recovery.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "storage/answers/answers.h"
#include "storage/datasets.h"
#include "storage/db/listing.h"
#include "storage/ledger/ledger_post.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/ledger/trail.h"
#include "storage/recovery_life.h"

bool recovery_seal(struct db *db)
{
    struct recovery_life life;
    if (recovery_life(db, &life) != DB_OK)
        return false;
    snprintf(life.id, sizeof life.id, "a-backup");
    return db_transact(db, recovery_note_life, &life) == DB_OK;
}

struct restore_work {
    const struct marks *marks;
    int64_t lost_ms; /* marks of before are lost; 0: none are, INT64_MAX: all */
    struct recovery_life life;
    int64_t now_ms;
    struct ledger_restored *out;
};

static void write_restored_event(const struct ledger_report *report, char out[256])
{
    char root[2 * LEDGER_HASH_SIZE + 1];
    sodium_bin2hex(root, sizeof root, report->root, LEDGER_HASH_SIZE);
    snprintf(out, 256,
             "{\"type\":\"NoOpDpEvent\",\"restored_leaves\":%" PRId64 ",\"restored_root\":\"%s\"}",
             report->leaves, root);
}

/* The accounts that spend up to their marks pay for the steps of jobs, and the jobs pay nothing. */
static enum db_status end_jobs(struct db *db, int64_t now_ms)
{
    enum db_status status = db_run(
        db,
        "UPDATE jobs SET state = 'cancelled', cancel_requested = 1, finished_ms = $1, step = 0, "
        "lease_owner = '', lease_until_ms = 0, problem_detail = 'The service was restored from a "
        "backup. What the job may have paid since is in the account''s entry \"restored\".' "
        "WHERE state IN ('queued', 'running')",
        DB_VALUES(db_integer(now_ms)), NULL, NULL);
    if (status == DB_OK)
        status = db_run(db, "DELETE FROM checkpoints", NULL, 0, NULL, NULL);
    if (status == DB_OK)
        status = db_run(db,
                        "UPDATE teacher_clients SET share = '', dataset_share = '' "
                        "WHERE share <> ''",
                        NULL, 0, NULL, NULL);
    return status;
}

/* Whether the lost life uncovered dataset ID, or nobody knows, because its account has no mark. */
static bool may_be_uncovered(const struct marks *marks, const char *id)
{
    struct mark mark;
    char name[MARKS_NAME_SIZE];
    marks_name(ledger_kind_name(LEDGER_DATASET), id, "", name);
    return !marks_find(marks, name, &mark) || marks_find(marks, datasets_mark(id).name, &mark);
}

enum db_status recovery_uncover(struct db *db, void *context)
{
    const struct recovery_uncovering *work = context;
    char after[ID_SIZE] = "", id[ID_SIZE];
    enum db_status status;
    while ((status = datasets_next_private(db, false, after, id)) == DB_OK) {
        struct trail_row row = {.time_ms = work->now_ms,
                                .actor = "service",
                                .action = TRAIL_UNCOVERED,
                                .outcome = "ok",
                                .count = 1};
        memcpy(after, id, ID_SIZE);
        if (!may_be_uncovered(work->marks, id))
            continue;
        memcpy(row.resource, id, ID_SIZE);
        memcpy(row.subject, work->life, ID_SIZE);
        status = datasets_uncover(db, id);
        if (status == DB_OK)
            status = trail_append(db, &row);
        if (status != DB_OK)
            return status;
    }
    return db_optional(status);
}

static enum db_status restore_all(struct db *db, void *context)
{
    struct restore_work *work = context;
    struct ledger_report report;
    char event[256];
    enum db_status status = ledger_verify(db, &report);
    if (status == DB_OK && report.fault_count != 0)
        return db_fail(db, "the ledger", report.faults[0].what);
    write_restored_event(&report, event);
    if (status == DB_OK)
        status = ledger_restore(db, work->marks, work->lost_ms, work->life.id, event, work->now_ms,
                                work->out);
    if (status == DB_OK)
        status = end_jobs(db, work->now_ms);
    struct trail_row row = {.time_ms = work->now_ms,
                            .actor = "operator",
                            .action = "tacet restore",
                            .outcome = "ok",
                            .count = 1};
    if (status == DB_OK)
        status = trail_append(db, &row);
    struct recovery_uncovering uncovering = {work->marks, work->life.id, work->now_ms};
    if (status == DB_OK)
        status = recovery_uncover(db, &uncovering);
    /* An agent's account opens with its first report, and may have been opened and paid since. */
    if (status == DB_OK)
        status =
            db_run(db, "UPDATE aggregations SET is_open = 0 WHERE is_open = 1 AND created_ms <= $1",
                   DB_VALUES(db_integer(work->lost_ms)), NULL, NULL);
    return status == DB_OK ? recovery_note_life(db, &work->life) : status;
}

/* ---- marks of accounts that are not in the backup */

struct finding {
    struct db *db;
    struct marks *marks;
};

static enum db_status mark_known(struct db *db, struct ledger_account *account, void *context)
{
    struct mark mark;
    char name[MARKS_NAME_SIZE];
    (void)db;
    ledger_mark_name(account, name);
    if (!marks_find(context, name, &mark))
        return DB_OK;
    mark.orphan = false;
    mark.entries = 0; /* it counted those of the lost life */
    marks_set(context, &mark);
    return DB_OK;
}

static void mark_orphan(void *context, const struct mark *mark)
{
    struct mark orphan = *mark;
    orphan.orphan = true;
    orphan.entries = 0;
    marks_set(context, &orphan);
}

/* Forgets the marks where they are LOST, and leaves a mark that says so: the next restore finds
 * marks. Sets *OUT_MS to the time up to which they are lost. This machine's clock may be behind
 * that of the lost one. */
static enum db_status forget_lost(struct db *db, struct marks *marks, bool lost, int64_t now_ms,
                                  int64_t *out_ms)
{
    static const char newest[] =
        "SELECT max(ms) FROM (SELECT max(created_ms) AS ms FROM ledger_accounts UNION ALL "
        "SELECT max(created_ms) AS ms FROM aggregations) AS opened";
    struct mark mark = {.used = {0, 0}};
    int64_t opened_ms = 0;
    marks_name("lost", "-", "", mark.name);
    (void)marks_find(marks, mark.name, &mark);
    *out_ms = mark.used.units;
    if (!lost)
        return DB_OK;
    enum db_status status = db_one(db, newest, NULL, 0, listing_integer, &opened_ms);
    mark.used.units = marks_greater(marks_greater(now_ms, opened_ms), mark.used.units);
    marks_forget(marks);
    marks_set(marks, &mark);
    *out_ms = INT64_MAX;
    return status;
}

bool recovery_restore(struct db *db, const char *directory, bool lost, int64_t now_ms,
                      struct ledger_restored *out, char *error, size_t error_size)
{
    struct restore_work work = {.now_ms = now_ms, .out = out};
    enum marks_found found;
    bool done = false;
    if (!recovery_read_life(db, &work.life, error, error_size))
        return false;
    struct marks *marks = marks_open(db, directory, &found, error, error_size);
    if (!marks)
        return false;
    if (found == MARKS_DAMAGED && lost) {
        snprintf(
            error, error_size,
            "the marks in %.200s are damaged, or another service's: move them away if they are "
            "none of another service, and give an empty directory",
            directory);
        goto cleanup;
    }
    if (found == MARKS_FOUND && !lost && strcmp(marks_life(marks), RECOVERY_MOVED) == 0) {
        snprintf(error, error_size,
                 "the service has moved to another database since: what it spent there is not in "
                 "the marks in %.200s. --marks-lost closes all accounts",
                 directory);
        goto cleanup;
    }
    if (found != MARKS_FOUND && !lost) {
        snprintf(error, error_size,
                 "%.200s has no whole marks of this service. If they are lost, --marks-lost closes "
                 "all accounts",
                 directory);
        goto cleanup;
    }
    int64_t answered_ms = marks_key_ms(marks);
    if (lost)
        answered_ms = marks_greater(answered_ms, now_ms + ANSWERS_EARLY_MS);
    if (forget_lost(db, marks, lost, now_ms, &work.lost_ms) != DB_OK) {
        snprintf(error, error_size, "the ledger cannot be read: %s", db_last_error(db));
        goto cleanup;
    }
    work.marks = marks;
    work.life.answered_ms = marks_greater(work.life.answered_ms, answered_ms);
    marks_set_key(marks, work.life.answered_ms); /* the next restore of this backup has to know */
    work.life.number++;
    id_new("life_", work.life.id);
    marks_each(marks, mark_orphan, marks);
    if (ledger_each(db, NULL, mark_known, marks) != DB_OK)
        snprintf(error, error_size, "the ledger cannot be read: %s", db_last_error(db));
    else if (!marks_begin(marks, work.life.id))
        snprintf(error, error_size, "the marks in %.200s cannot be written", directory);
    else if (db_transact(db, restore_all, &work) != DB_OK)
        snprintf(error, error_size, "the database cannot be restored: %s", db_last_error(db));
    else
        done = true;
cleanup:
    marks_close(marks);
    return done;
}
