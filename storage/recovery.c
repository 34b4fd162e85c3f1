/* Starting, stopping and moving a life. */
#include "storage/recovery.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "storage/answers/answers.h"
#include "storage/datasets.h"
#include "storage/ledger/ledger_post.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/recovery_life.h"

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
    struct ledger_limits limits;
    enum db_status status = ledger_limits(db, account->id, &limits);
    if (status != DB_OK)
        return db_owed(status);
    ledger_mark_name(account, mark.name);
    if (marks_find(comparison->marks, mark.name, &mark))
        comparison->found += mark.entries > 0;
    comparison->stale = comparison->stale || account->entries < mark.entries;
    if (comparison->exact)
        mark.used = (struct marks_amounts){0, 0};
    mark.used.units = marks_greater(mark.used.units, account->spent_units + account->held_units);
    mark.used.delta = marks_greater(mark.used.delta, account->spent_delta + account->held_delta);
    mark.epsilon = fmax(mark.epsilon, limits.greatest_epsilon);
    mark.delta = fmax(mark.delta, limits.greatest_delta);
    mark.entries = account->entries;
    mark.orphan = false;
    marks_set(comparison->marks, &mark);
    return DB_OK;
}

/* Sets the marks of the datasets that are uncovered. */
static enum db_status mark_uncovered(struct db *db, struct marks *marks)
{
    char after[ID_SIZE] = "", id[ID_SIZE];
    enum db_status status;
    while ((status = datasets_next_private(db, true, after, id)) == DB_OK) {
        const struct mark mark = datasets_mark(id);
        marks_set(marks, &mark);
        memcpy(after, id, ID_SIZE);
    }
    return db_optional(status);
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
    if (ledger_each(db, NULL, compare_with_mark, &comparison) != DB_OK ||
        mark_uncovered(db, marks) != DB_OK) {
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

/* Keys may have been answered before there were marks, and the answers removed. A mark without
 * amounts says that this was done: each time it refuses up to an hour of keys in a next life. */
static enum db_status mark_earlier_keys(struct db *db, struct marks *marks)
{
    int64_t newest_ms, removed_ms;
    struct mark done = {.entries = 0};
    marks_name("keys", "-", "", done.name);
    if (marks_find(marks, done.name, &done))
        return DB_OK;
    enum db_status status = answers_newest(db, &newest_ms);
    if (status == DB_OK)
        status = answers_kept_from(db, &removed_ms);
    if (status != DB_OK)
        return status;
    if (newest_ms > 0)
        marks_set_key(marks, newest_ms + ANSWERS_EARLY_MS);
    marks_set_key(marks, removed_ms);
    marks_set(marks, &done);
    return DB_OK;
}

static bool begin_marks(struct db *db, struct marks *marks, const char *directory,
                        const struct recovery_life *known, int64_t now_ms, char *error,
                        size_t error_size)
{
    struct recovery_life life = *known;
    struct recovery_uncovering uncovering = {marks, life.id, now_ms};
    if (!compare_all(db, marks, error, error_size))
        return false;
    if (life.id[0] == '\0')
        id_new("life_", life.id);
    if (mark_earlier_keys(db, marks) != DB_OK) {
        snprintf(error, error_size, "the answers cannot be read: %s", db_last_error(db));
        return false;
    }
    bool uncovered = db_transact(db, recovery_uncover, &uncovering) == DB_OK;
    bool begun = uncovered && marks_begin(marks, life.id);
    if (uncovered && !begun)
        snprintf(error, error_size, "the marks in %.200s cannot be written: %s", directory,
                 strerror(errno));
    else if (!begun ||
             (known->id[0] == '\0' && db_transact(db, recovery_note_life, &life) != DB_OK))
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
    if (!recovery_read_life(db, out_life, error, error_size))
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

bool recovery_begin(struct db *db, const char *directory, int64_t now_ms, struct marks **out,
                    char *error, size_t error_size)
{
    struct recovery_life life;
    if (!open_fitting(db, directory, &life, out, error, error_size))
        return false;
    if (*out && !begin_marks(db, *out, directory, &life, now_ms, error, error_size)) {
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

/* Whether a move may begin from DB, of LIFE, beside MARKS that were FOUND. */
static bool may_leave(struct db *db, struct marks *marks, enum marks_found found,
                      const struct recovery_life *life, const char *directory, bool resumed,
                      char *error, size_t error_size)
{
    if (found != MARKS_FOUND || strcmp(marks_life(marks), RECOVERY_MOVED) != 0)
        return fits_life(db, marks, found, life, directory, error, error_size) &&
               compare_all(db, marks, error, error_size);
    if (!resumed)
        snprintf(error, error_size,
                 "the marks in %.200s say that the service has moved to another database: this "
                 "data directory is an older copy",
                 directory);
    return resumed;
}

bool recovery_leave(struct db *db, const char *directory, bool resumed, int64_t now_ms,
                    struct marks **out, char *error, size_t error_size)
{
    struct recovery_life life;
    enum marks_found found;
    *out = NULL;
    if (!recovery_read_life(db, &life, error, error_size))
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
    struct recovery_uncovering uncovering = {marks, life.id, now_ms};
    if (good && db_transact(db, recovery_uncover, &uncovering) != DB_OK) {
        snprintf(error, error_size, "the database cannot be written: %s", db_last_error(db));
        good = false;
    }
    if (good && !marks_begin(marks, RECOVERY_MOVED)) {
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
