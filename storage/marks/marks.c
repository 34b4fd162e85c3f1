/* DESIGN. `set` is what the file says at least. A commit for which a mark is too low writes the
 * marks of all accounts that it changes, so that accounts which are charged together are written
 * together. After a commit a mark that is too far ahead, because a hold has ended, comes down. When
 * a write fails the file may have its lines or not, and is written anew as a whole by the next one:
 * a mark that was to rise counts as the old one, and a mark that was to come down as the new one.
 */
#include "storage/marks/marks.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/memory.h"

struct kept {
    struct mark set;  /* first: it is found by its name */
    struct mark next; /* what is to be written */
    struct marks_change change;
    bool touched;       /* in the open transaction */
    bool planned;       /* `next` is to be written */
    bool loose;         /* the account may use less than was noted last */
    bool written;       /* a line of it is in the file */
    struct kept *older; /* touched as well */
};

struct marks {
    struct db_guard guard; /* first */
    struct marks_file file;
    char life[MARKS_LIFE_SIZE];
    bool whole;        /* the file has what `set` says */
    atomic_bool stand; /* it can be written, as far as is known */
    void *tree;        /* of struct kept */
    struct kept *touched;
    int64_t key_ms, asked_key_ms, next_key_ms;
    bool loose; /* some account may be */
};

static int marks_compare_names(const void *a, const void *b)
{
    return strcmp(((const struct mark *)a)->name, ((const struct mark *)b)->name);
}

static struct kept *find_mark(const struct marks *marks, const char *name)
{
    struct mark wanted;
    snprintf(wanted.name, sizeof wanted.name, "%s", name);
    struct kept **found = tfind(&wanted, &marks->tree, marks_compare_names);
    return found ? *found : NULL;
}

static struct kept *need_mark(struct marks *marks, const char *name)
{
    struct kept *kept = find_mark(marks, name);
    if (kept)
        return kept;
    kept = memory_new(1, sizeof *kept);
    snprintf(kept->set.name, sizeof kept->set.name, "%s", name);
    kept->next = kept->set;
    if (!tsearch(kept, &marks->tree, marks_compare_names))
        abort(); /* as memory_new does */
    return kept;
}

/* ---- writing */

struct gathering {
    struct buffer *lines; /* unless EACH is to see the marks */
    marks_fn *each;
    void *context;
};

static void gather_line(const void *node, VISIT visit, void *context)
{
    struct gathering *gathering = context;
    const struct kept *kept = *(struct kept *const *)node;
    if ((visit != postorder && visit != leaf) || (!kept->written && !kept->planned))
        return; /* of a transaction that was undone: it stands for nothing */
    if (gathering->each)
        gathering->each(gathering->context, &kept->set);
    else
        marks_file_line(gathering->lines, &kept->next);
}

static void add_key_line(struct buffer *lines, int64_t key_ms)
{
    (void)buffer_add_format(lines, "k %lld\n", (long long)key_ms);
}

static bool write_all_marks(struct marks *marks)
{
    struct buffer lines = {.lid = MARKS_FILE_MOST};
    struct gathering gathering = {.lines = &lines};
    add_key_line(&lines, marks->next_key_ms);
    twalk_r(marks->tree, gather_line, &gathering);
    marks->whole = marks_file_replace(&marks->file, marks->life, &lines);
    buffer_clear(&lines);
    return marks->whole;
}

/* Writes what is planned. */
static bool write_planned(struct marks *marks)
{
    struct buffer lines = {.lid = MARKS_FILE_MOST};
    if (!marks->whole || marks_file_has_grown(&marks->file))
        return write_all_marks(marks);
    if (marks->next_key_ms != marks->key_ms)
        add_key_line(&lines, marks->next_key_ms);
    for (const struct kept *kept = marks->touched; kept; kept = kept->older)
        if (kept->planned)
            marks_file_line(&lines, &kept->next);
    marks->whole = marks_file_append(&marks->file, &lines);
    buffer_clear(&lines);
    return marks->whole;
}

/* What was planned is set, or forgotten. */
static void take_next(struct marks *marks, bool written)
{
    for (struct kept *kept = marks->touched; kept; kept = kept->older) {
        kept->written = kept->written || (kept->planned && written);
        kept->planned = false;
        if (written)
            kept->set = kept->next;
        else
            kept->next = kept->set;
    }
    if (written)
        marks->key_ms = marks->next_key_ms;
    else
        marks->next_key_ms = marks->key_ms;
}

/* ---- around a commit */

static int64_t ahead_of(int64_t used, int64_t limit)
{
    int64_t ahead = used + limit / MARKS_PARTS + 1;
    return ahead < limit ? ahead : limit;
}

static struct marks_amounts amounts_ahead(const struct marks_change *change)
{
    return (struct marks_amounts){ahead_of(change->used.units, change->limit.units),
                                  ahead_of(change->used.delta, change->limit.delta)};
}

int64_t marks_greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_due(const struct kept *kept)
{
    const struct marks_change *change = &kept->change;
    const struct mark *set = &kept->set;
    return !kept->written || change->used.units > set->used.units ||
           change->used.delta > set->used.delta || change->epsilon > set->epsilon ||
           change->delta > set->delta;
}

static void plan_mark(struct kept *kept)
{
    const struct marks_change *change = &kept->change;
    const struct marks_amounts ahead = amounts_ahead(change);
    kept->next.used.units = marks_greater(kept->set.used.units, ahead.units);
    kept->next.used.delta = marks_greater(kept->set.used.delta, ahead.delta);
    kept->next.epsilon = fmax(kept->set.epsilon, change->epsilon);
    kept->next.delta = fmax(kept->set.delta, change->delta);
    kept->next.entries = change->entries;
    kept->next.orphan = kept->set.orphan && change->entries == 0;
    kept->planned = true;
}

static enum db_status marks_before_commit(struct db_guard *guard, char why[DB_ERROR_SIZE])
{
    struct marks *marks = (struct marks *)guard;
    bool key_due = marks->asked_key_ms > marks->key_ms, due = false;
    if (key_due)
        marks->next_key_ms = marks->asked_key_ms + MARKS_KEYS_AHEAD;
    for (const struct kept *kept = marks->touched; kept; kept = kept->older)
        due = due || is_due(kept);
    if (!key_due && !due)
        return DB_OK;
    for (struct kept *kept = marks->touched; kept && due; kept = kept->older)
        plan_mark(kept);
    bool written = write_planned(marks);
    if (!written)
        snprintf(why, DB_ERROR_SIZE, "the marks in %.150s cannot be written: %s",
                 marks->file.directory, strerror(errno));
    take_next(marks, written);
    atomic_store(&marks->stand, written);
    return written ? DB_OK : DB_FULL;
}

/* True when a mark is further ahead than it has to be. */
static bool lower_mark(struct kept *kept)
{
    const struct marks_amounts ahead = amounts_ahead(&kept->change);
    bool lower = kept->set.used.units > ahead.units || kept->set.used.delta > ahead.delta;
    if (kept->set.used.units > ahead.units)
        kept->next.used.units = ahead.units;
    if (kept->set.used.delta > ahead.delta)
        kept->next.used.delta = ahead.delta;
    kept->planned = lower;
    return lower;
}

static void marks_after_commit(struct db_guard *guard, bool stored)
{
    struct marks *marks = (struct marks *)guard;
    bool lower = false;
    for (struct kept *kept = marks->touched; kept && stored; kept = kept->older)
        lower = lower_mark(kept) || lower;
    if (lower) {
        (void)write_planned(marks);
        take_next(marks, true); /* whether or not the file has the lower one */
    }
    for (struct kept *kept = marks->touched; kept; kept = kept->older) {
        kept->touched = false;
        kept->loose = stored ? kept->change.fell : kept->loose;
        marks->loose = marks->loose || kept->loose;
    }
    marks->touched = NULL;
    marks->asked_key_ms = 0;
}

/* ---- opening */

static void read_mark(void *context, const struct mark *mark, int64_t key_ms)
{
    struct marks *marks = context;
    if (mark)
        marks_set(marks, mark);
    else
        marks_set_key(marks, key_ms);
}

void marks_forget(struct marks *marks)
{
    tdestroy(marks->tree, free);
    marks->tree = NULL;
    marks->life[0] = '\0';
    marks->key_ms = marks->next_key_ms = 0;
}

struct marks *marks_open(struct db *db, const char *directory, enum marks_found *out_found,
                         char *error, size_t error_size)
{
    unsigned char key[MARKS_KEY_SIZE];
    struct marks *marks = memory_new(1, sizeof *marks);
    marks->guard = (struct db_guard){marks_before_commit, marks_after_commit};
    atomic_init(&marks->stand, true);
    db_derive_key(db, "tacet: marks, 1", key);
    if (!marks_file_open(&marks->file, directory, key, error, error_size)) {
        free(marks);
        return NULL;
    }
    *out_found = marks_file_read(&marks->file, marks->life, read_mark, marks);
    if (*out_found == MARKS_DAMAGED)
        marks_forget(marks);
    if (*out_found != MARKS_UNREAD)
        return marks;
    snprintf(error, error_size, "%.200s: %s", marks->file.path, strerror(errno));
    marks_close(marks);
    return NULL;
}

void marks_close(struct marks *marks)
{
    if (!marks)
        return;
    marks_forget(marks);
    marks_file_close(&marks->file);
    free(marks);
}

const char *marks_life(const struct marks *marks)
{
    return marks->life;
}

bool marks_begin(struct marks *marks, const char *life)
{
    snprintf(marks->life, sizeof marks->life, "%s", life);
    return write_all_marks(marks);
}

void marks_guard(struct marks *marks, struct db *db)
{
    db_set_guard(db, &marks->guard);
}

bool marks_stand(const struct marks *marks)
{
    return atomic_load(&marks->stand);
}

void marks_look(struct db *db)
{
    struct marks *marks = (struct marks *)db_guard_of(db);
    if (marks)
        atomic_store(&marks->stand, access(marks->file.directory, W_OK) == 0 &&
                                        (!marks->whole || marks_file_stands(&marks->file)));
}

/* ---- marks by name */

void marks_name(const char *kind, const char *resource, const char *client,
                char out[MARKS_NAME_SIZE])
{
    snprintf(out, MARKS_NAME_SIZE, "%s %s %s", kind, resource, client[0] == '\0' ? "-" : client);
}

bool marks_find(const struct marks *marks, const char *name, struct mark *out)
{
    const struct kept *kept = find_mark(marks, name);
    if (kept)
        *out = kept->set;
    return kept;
}

void marks_set(struct marks *marks, const struct mark *mark)
{
    struct kept *kept = need_mark(marks, mark->name);
    kept->set = kept->next = *mark;
    kept->written = true;
}

int64_t marks_key_ms(const struct marks *marks)
{
    return marks->key_ms;
}

void marks_set_key(struct marks *marks, int64_t key_ms)
{
    marks->key_ms = marks->next_key_ms = marks_greater(marks->key_ms, key_ms);
}

void marks_each(const struct marks *marks, marks_fn *each, void *context)
{
    struct gathering gathering = {.each = each, .context = context};
    twalk_r(marks->tree, gather_line, &gathering);
}

/* ---- inside a transaction */

void marks_note(struct db *db, const char *name, const struct marks_change *change)
{
    struct marks *marks = (struct marks *)db_guard_of(db);
    if (!marks)
        return;
    struct kept *kept = need_mark(marks, name);
    if (!kept->touched) {
        kept->change = *change;
        kept->older = marks->touched;
        marks->touched = kept;
        kept->touched = true;
        return;
    }
    struct marks_change *known = &kept->change;
    known->used.units = marks_greater(known->used.units, change->used.units);
    known->used.delta = marks_greater(known->used.delta, change->used.delta);
    known->limit.units = marks_greater(known->limit.units, change->limit.units);
    known->limit.delta = marks_greater(known->limit.delta, change->limit.delta);
    known->epsilon = fmax(known->epsilon, change->epsilon);
    known->delta = fmax(known->delta, change->delta);
    known->fell = known->fell || change->fell;
}

void marks_note_key(struct db *db, int64_t key_ms)
{
    struct marks *marks = (struct marks *)db_guard_of(db);
    if (marks && key_ms > marks->asked_key_ms)
        marks->asked_key_ms = key_ms;
}

static void seek_loose(const void *node, VISIT visit, void *context)
{
    const struct kept *kept = *(struct kept *const *)node;
    if ((visit == postorder || visit == leaf) && kept->loose && !kept->touched)
        *(const struct kept **)context = kept;
}

bool marks_find_loose(struct db *db, char out_name[MARKS_NAME_SIZE])
{
    struct marks *marks = (struct marks *)db_guard_of(db);
    const struct kept *found = NULL;
    if (!marks || !marks->loose)
        return false;
    twalk_r(marks->tree, seek_loose, &found);
    marks->loose = found;
    if (found)
        memcpy(out_name, found->set.name, MARKS_NAME_SIZE);
    return found;
}

bool marks_find_orphan(struct db *db, const char *name, struct mark *out)
{
    struct marks *marks = (struct marks *)db_guard_of(db);
    return marks && marks_find(marks, name, out) && out->orphan;
}
