#include "storage/recovery.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "storage/answers/answers.h"
#include "storage/db/note.h"
#include "storage/db/table.h"
#include "storage/ledger/ledger_post.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/ledger/trail.h"

/* ---- the note of a life */

enum db_status recovery_life(struct db *db, struct recovery_life *out)
{
    char value[NOTE_SIZE];
    *out = (struct recovery_life){.number = 1};
    enum db_status status = note_find(db, "life", value);
    if (status == DB_OK &&
        sscanf(value, "%31s %" SCNd64 " %" SCNd64, out->id, &out->number, &out->answered_ms) != 3)
        return db_fail(db, "meta", "the note of the service's life cannot be read");
    return db_optional(status);
}

static bool read_life(struct db *db, struct recovery_life *out, char *error, size_t error_size)
{
    bool good = recovery_life(db, out) == DB_OK;
    if (!good)
        snprintf(error, error_size, "the database cannot be read: %s", db_last_error(db));
    return good;
}

static enum db_status note_life(struct db *db, void *context)
{
    const struct recovery_life *life = context;
    char value[NOTE_SIZE];
    snprintf(value, sizeof value, "%s %" PRId64 " %" PRId64, life->id, life->number,
             life->answered_ms);
    return note_put(db, "life", value);
}

/* ---- starting and stopping */

struct comparison {
    struct marks *marks;
    int64_t found; /* accounts that have a mark with entries */
    bool stale;
    bool exact; /* the database is the newest there is */
};

/* Compares ACCOUNT with its mark, and brings the mark up to what is stored. */
static enum db_status compare_with_mark(struct db *db, struct ledger_account *account,
                                        void *context)
{
    struct comparison *comparison = context;
    struct mark mark = {.entries = 0};
    (void)db;
    ledger_mark_name(account, mark.name);
    if (marks_find(comparison->marks, mark.name, &mark))
        comparison->found += mark.entries > 0;
    comparison->stale = comparison->stale || account->entries < mark.entries;
    if (comparison->exact)
        mark.used = (struct marks_amounts){0, 0};
    mark.used.units = marks_greater(mark.used.units, account->spent_units + account->held_units);
    mark.used.delta = marks_greater(mark.used.delta, account->spent_delta + account->held_delta);
    mark.epsilon = account->epsilon;
    mark.delta = account->delta;
    mark.entries = account->entries;
    mark.orphan = false;
    marks_set(comparison->marks, &mark);
    return DB_OK;
}

static void count_mark(void *context, const struct mark *mark)
{
    *(int64_t *)context += mark->entries > 0 && !mark->orphan;
}

static const char *const LOST =
    "is it the right directory? If the marks are lost, tacet restore --data DIR --marks DIR "
    "--marks-lost closes all accounts for good";

static enum db_status count_account(struct db *db, struct ledger_account *account, void *context)
{
    (void)db;
    (void)account;
    ++*(int64_t *)context;
    return DB_OK;
}

/* Whether DB, of LIFE, is a service in which nothing was opened yet. */
static bool is_new_service(struct db *db, const struct recovery_life *life)
{
    int64_t accounts = 0;
    return life->id[0] == '\0' && ledger_each(db, NULL, count_account, &accounts) == DB_OK &&
           accounts == 0;
}

/* Whether marks that were FOUND belong to LIFE, which is that of DB. */
static bool fits_life(struct db *db, const struct marks *marks, enum marks_found found,
                      const struct recovery_life *life, const char *directory, char *error,
                      size_t error_size)
{
    bool fits = true;
    if (found == MARKS_DAMAGED && is_new_service(db, life)) {
        snprintf(error, error_size,
                 "this data directory has a new, empty service, and %.200s has the marks of "
                 "another one: is it the right data directory? If the other one was lost, move "
                 "this one away and restore a backup (tacet restore --from BACKUPS --identity FILE "
                 "--marks MARKS --data NEW_DIR)",
                 directory);
        fits = false;
    } else if (found == MARKS_DAMAGED) {
        snprintf(error, error_size, "%.200s: the marks are damaged, or another service's; %s",
                 directory, LOST);
        fits = false;
    } else if (found == MARKS_NONE && life->id[0] != '\0') {
        snprintf(error, error_size, "%.200s has no marks of this service; %s", directory, LOST);
        fits = false;
    } else if (found == MARKS_FOUND && life->id[0] == '\0') {
        snprintf(
            error, error_size,
            "%.200s has marks, and this service has none yet: this directory is an older copy, "
            "from before it had marks (tacet restore --data DIR --marks DIR goes on with it), "
            "or its first start with --marks was interrupted (then remove the file of marks)",
            directory);
        fits = false;
    } else if (found == MARKS_FOUND && strcmp(marks_life(marks), life->id) != 0) {
        snprintf(error, error_size,
                 "%.200s has the marks of another life of this service: this directory is an older "
                 "copy, and would spend again what was spent. tacet restore --data DIR --marks DIR "
                 "goes on with it",
                 directory);
        fits = false;
    }
    return fits;
}

static bool compare_all(struct db *db, struct marks *marks, char *error, size_t error_size)
{
    struct comparison comparison = {.marks = marks};
    int64_t marked = 0;
    marks_each(marks, count_mark, &marked);
    if (ledger_each(db, NULL, compare_with_mark, &comparison) != DB_OK) {
        snprintf(error, error_size, "the ledger cannot be read: %s", db_last_error(db));
        return false;
    }
    if (!comparison.stale && comparison.found == marked)
        return true;
    snprintf(error, error_size,
             "this data directory is older than its marks, and would spend again what was spent: "
             "tacet restore --data DIR --marks DIR goes on with it");
    return false;
}

static bool begin_marks(struct db *db, struct marks *marks, const char *directory,
                        const struct recovery_life *known, char *error, size_t error_size)
{
    struct recovery_life life = *known;
    if (!compare_all(db, marks, error, error_size))
        return false;
    if (life.id[0] == '\0')
        id_new("life_", life.id);
    bool begun = marks_begin(marks, life.id);
    if (!begun)
        snprintf(error, error_size, "the marks in %.200s cannot be written: %s", directory,
                 strerror(errno));
    else if (known->id[0] == '\0' && db_transact(db, note_life, &life) != DB_OK)
        snprintf(error, error_size, "the database cannot be written: %s", db_last_error(db));
    else
        return true;
    return false;
}

/* Opens the marks in DIRECTORY where they are those of DB, whose life is OUT_LIFE. *OUT is NULL
 * when there are to be none. False: ERROR says why a service must not start. */
static bool open_fitting(struct db *db, const char *directory, struct recovery_life *out_life,
                         struct marks **out, char *error, size_t error_size)
{
    enum marks_found found;
    *out = NULL;
    if (!read_life(db, out_life, error, error_size))
        return false;
    bool shared = db_driver_of(db)->shared;
    if (directory[0] == '\0') {
        if (out_life->id[0] != '\0' && !shared)
            snprintf(error, error_size,
                     "this service has marks elsewhere, or is a backup: give --marks DIR");
        return out_life->id[0] == '\0' || shared; /* which was moved there */
    }
    if (shared) {
        snprintf(error, error_size,
                 "--marks is for SQLite alone: PostgreSQL has backups of its own");
        return false;
    }
    struct marks *marks = marks_open(db, directory, &found, error, error_size);
    if (!marks)
        return false;
    if (!fits_life(db, marks, found, out_life, directory, error, error_size)) {
        marks_close(marks);
        return false;
    }
    *out = marks;
    return true;
}

bool recovery_begin(struct db *db, const char *directory, struct marks **out, char *error,
                    size_t error_size)
{
    struct recovery_life life;
    if (!open_fitting(db, directory, &life, out, error, error_size))
        return false;
    if (*out && !begin_marks(db, *out, directory, &life, error, error_size)) {
        marks_close(*out);
        *out = NULL;
        return false;
    }
    if (*out)
        marks_guard(*out, db);
    return true;
}

bool recovery_look(struct db *db, const char *directory, char *error, size_t error_size)
{
    struct recovery_life life;
    struct marks *marks = NULL;
    bool good = open_fitting(db, directory, &life, &marks, error, error_size) &&
                (!marks || compare_all(db, marks, error, error_size));
    marks_close(marks);
    return good;
}

/* The account of the mark NAME. */
static enum db_status find_marked(struct db *db, const char *name, struct ledger_account *out)
{
    static const enum ledger_kind kinds[] = {LEDGER_DATASET, LEDGER_TEACHER, LEDGER_CLIENT,
                                             LEDGER_SHARE};
    char kind[16], resource[ID_SIZE], client[ID_SIZE];
    if (sscanf(name, "%15s %31s %31s", kind, resource, client) != 3)
        return DB_NONE;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(ledger_kind_name(kinds[i]), kind) == 0)
            return ledger_find_for(db, kinds[i], resource, client[0] == '-' ? NULL : client, out);
    return DB_NONE;
}

static enum db_status tighten_all(struct db *db, void *context)
{
    struct ledger_account account;
    char name[MARKS_NAME_SIZE];
    enum db_status status = DB_OK;
    (void)context;
    marks_look(db);
    while (status == DB_OK && marks_find_loose(db, name)) {
        status = db_owed(find_marked(db, name, &account));
        if (status == DB_OK)
            ledger_note_mark(db, &account, &account);
    }
    return status;
}

enum db_status recovery_tighten(struct db *db)
{
    return db_guard_of(db) ? db_transact(db, tighten_all, NULL) : DB_OK;
}

void recovery_end(struct db *db, struct marks *marks)
{
    char life[MARKS_LIFE_SIZE];
    struct comparison comparison = {.marks = marks, .exact = true};
    if (!marks)
        return;
    snprintf(life, sizeof life, "%s", marks_life(marks));
    if (ledger_each(db, NULL, compare_with_mark, &comparison) == DB_OK)
        (void)marks_begin(marks, life);
}

/* ---- moving */

#define MOVED "moved" /* the life of marks whose service is elsewhere */

/* Whether a move may begin from DB, of LIFE, beside MARKS that were FOUND. */
static bool may_leave(struct db *db, struct marks *marks, enum marks_found found,
                      const struct recovery_life *life, const char *directory, bool resumed,
                      char *error, size_t error_size)
{
    if (found != MARKS_FOUND || strcmp(marks_life(marks), MOVED) != 0)
        return fits_life(db, marks, found, life, directory, error, error_size) &&
               compare_all(db, marks, error, error_size);
    if (!resumed)
        snprintf(error, error_size,
                 "the marks in %.200s say that the service has moved to another database: this "
                 "data directory is an older copy",
                 directory);
    return resumed;
}

bool recovery_leave(struct db *db, const char *directory, bool resumed, struct marks **out,
                    char *error, size_t error_size)
{
    struct recovery_life life;
    enum marks_found found;
    *out = NULL;
    if (!read_life(db, &life, error, error_size))
        return false;
    bool named = directory[0] != '\0', marked = life.id[0] != '\0';
    if (named && !marked)
        snprintf(error, error_size, "this service has no marks: leave --marks away");
    else if (marked && !named)
        snprintf(error, error_size,
                 "this service has marks elsewhere: give --marks DIR, so that no backup can be "
                 "restored beside them any more");
    if (!named || !marked)
        return named == marked;
    struct marks *marks = marks_open(db, directory, &found, error, error_size);
    bool good = marks && may_leave(db, marks, found, &life, directory, resumed, error, error_size);
    if (good && !marks_begin(marks, MOVED)) {
        snprintf(error, error_size, "the marks in %.200s cannot be written", directory);
        good = false;
    }
    if (good)
        *out = marks;
    else
        marks_close(marks);
    return good;
}

void recovery_stay(struct db *db, struct marks *marks)
{
    struct recovery_life life;
    if (marks && recovery_life(db, &life) == DB_OK)
        (void)marks_begin(marks, life.id);
    marks_close(marks);
}

/* ---- restoring */

bool recovery_seal(struct db *db)
{
    struct recovery_life life;
    if (recovery_life(db, &life) != DB_OK)
        return false;
    snprintf(life.id, sizeof life.id, "a-backup");
    return db_transact(db, note_life, &life) == DB_OK;
}

struct restore_work {
    const struct marks *marks;
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

static enum db_status end_jobs(struct db *db, int64_t now_ms)
{
    enum db_status status = db_run(
        db,
        "UPDATE jobs SET state = 'cancelled', cancel_requested = 1, finished_ms = $1, "
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
        status = ledger_restore(db, work->marks, work->life.id, event, work->now_ms, work->out);
    if (status == DB_OK)
        status = end_jobs(db, work->now_ms);
    struct trail_row row = {.time_ms = work->now_ms,
                            .actor = "operator",
                            .action = "tacet restore",
                            .outcome = "ok",
                            .count = 1};
    if (status == DB_OK)
        status = trail_append(db, &row);
    /* An agent's account opens with its first report, and may have been opened and paid since. */
    if (status == DB_OK && !work->marks)
        status = db_run(db, "UPDATE aggregations SET is_open = 0 WHERE is_open = 1", NULL, 0, NULL,
                        NULL);
    return status == DB_OK ? note_life(db, &work->life) : status;
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

bool recovery_restore(struct db *db, const char *directory, bool lost, int64_t now_ms,
                      struct ledger_restored *out, char *error, size_t error_size)
{
    struct restore_work work = {.now_ms = now_ms, .out = out};
    enum marks_found found;
    bool done = false;
    if (!read_life(db, &work.life, error, error_size))
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
    if (found == MARKS_FOUND && !lost && strcmp(marks_life(marks), MOVED) == 0) {
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
    work.marks = lost ? NULL : marks;
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
