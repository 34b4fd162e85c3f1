/* What a batch without savepoints keeps in memory until it ends: states of other files, what
 * statements gave, and rows that are put off.
 *
 * DESIGN. Many requests of a batch ask the same: whose token it is, whether the teacher is open. As
 * the batch holds the lock of writers, the answer stays true until the batch itself changes it: a
 * changed row forgets all answers. Rows that are only ever added change no such answer, because no
 * statement that is remembered reads them.
 *
 * Rows that are added are put off where a statement is dear, and inserted together, by one
 * statement for each table. Any other statement that reaches the database comes after them. So
 * there is no order of calls in which a row is missed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/db_state.h"

#define KNOWN_MOST       256
#define LATER_BYTES_MOST 1048576
#define LATER_ROWS_MOST  1024 /* the database ends a writer that is silent for long */

/* ---- values with their bytes */

static bool has_bytes(const struct db_value *value)
{
    return value->type == DB_TEXT || value->type == DB_BYTES;
}

static size_t cells_size(const struct db_value *values, unsigned count)
{
    size_t size = sizeof(struct db_cells) + count * sizeof *values;
    for (unsigned i = 0; i < count; i++)
        size += has_bytes(&values[i]) ? values[i].size + 1 : 0;
    return size;
}

/* A copy of values that are no lists, with the NUL behind each text. NULL: no memory for it. */
static struct db_cells *cells_copy(const struct db_value *values, unsigned count)
{
    struct db_cells *cells = malloc(cells_size(values, count));
    if (!cells)
        return NULL;
    char *at = (char *)&cells->values[count];
    cells->next = NULL;
    cells->count = count;
    for (unsigned i = 0; i < count; i++) {
        assert(values[i].type != DB_LIST);
        cells->values[i] = values[i];
        if (!has_bytes(&values[i]))
            continue;
        if (values[i].size > 0) /* the data of an empty one may be NULL */
            memcpy(at, values[i].data, values[i].size);
        at[values[i].size] = '\0';
        cells->values[i].data = at;
        at += values[i].size + 1;
    }
    return cells;
}

static void cells_free(struct db_cells *cells)
{
    while (cells) {
        struct db_cells *next = cells->next;
        free(cells);
        cells = next;
    }
}

static bool cells_equal(const struct db_value *a, const struct db_value *b)
{
    if (a->type != b->type)
        return false;
    if (has_bytes(a))
        return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
    return a->type == DB_NULL || memcmp(&a->integer, &b->integer, sizeof a->integer) == 0;
}

/* ---- states */

void *db_batch_state(struct db *db, size_t size, db_batch_write_fn *write)
{
    struct db_batch_state *place = db->states;
    if (!db->hopeful || db->lost != DB_OK)
        return NULL;
    while (place->state && place->write != write)
        place++;
    assert(place < db->states + DB_BATCH_STATES);
    place->write = write;
    if (!place->state)
        place->state = memory_new(1, size);
    return place->state;
}

enum db_status db_batch_write(struct db *db)
{
    enum db_status status = db->lost;
    for (unsigned i = 0; i < DB_BATCH_STATES && db->states[i].state && status == DB_OK; i++)
        status = db_owed(db->states[i].write(db, db->states[i].state));
    if (status == DB_OK)
        status = db_send_rows(db);
    return db->lost != DB_OK ? db->lost : status;
}

/* ---- what statements gave */

static void forget_known(struct db *db)
{
    while (db->known) {
        struct db_known *known = db->known;
        db->known = known->next;
        cells_free(known->values);
        cells_free(known->rows);
        free(known);
    }
    db->known_count = 0;
}

static struct db_known *find_known(const struct db *db, const char *sql,
                                   const struct db_value *values, unsigned count)
{
    for (struct db_known *known = db->known; known; known = known->next) {
        unsigned same = 0;
        if (known->sql != sql || known->values->count != count)
            continue;
        while (same < count && cells_equal(&known->values->values[same], &values[same]))
            same++;
        if (same == count)
            return known;
    }
    return NULL;
}

struct learning {
    db_row_fn *each;
    void *context;
    struct db_cells *rows, **end;
    bool failed;
};

static enum db_status learn_row(void *context, const struct db_row *row)
{
    struct learning *learning = context;
    *learning->end = cells_copy(row->values, row->count);
    learning->failed = learning->failed || !*learning->end;
    if (*learning->end)
        learning->end = &(*learning->end)->next;
    return learning->each(learning->context, row);
}

static enum db_status learn_rows(struct db *db, const char *sql, const struct db_value *values,
                                 unsigned count, db_row_fn *each, void *context)
{
    struct learning learning = {.each = each, .context = context, .end = &learning.rows};
    struct db_cells *kept = cells_copy(values, count);
    enum db_status status = db_run(db, sql, values, count, learn_row, &learning);
    if (status != DB_OK || learning.failed || !kept || db->known_count == KNOWN_MOST) {
        cells_free(learning.rows);
        free(kept);
        return status;
    }
    struct db_known *known = memory_new(1, sizeof *known);
    *known = (struct db_known){db->known, sql, kept, learning.rows};
    db->known = known;
    db->known_count++;
    return DB_OK;
}

enum db_status db_run_known(struct db *db, const char *sql, const struct db_value *values,
                            unsigned count, db_row_fn *each, void *context)
{
    enum db_status status = DB_OK;
    if (!db->hopeful || db->lost != DB_OK)
        return db_run(db, sql, values, count, each, context);
    if (db_changes(db) - db->appended != db->known_at)
        forget_known(db);
    db->known_at = db_changes(db) - db->appended;
    const struct db_known *known = find_known(db, sql, values, count);
    if (!known)
        return learn_rows(db, sql, values, count, each, context);
    for (const struct db_cells *row = known->rows; row && status == DB_OK; row = row->next)
        status = each(context, &(struct db_row){row->values, row->count, true});
    return status;
}

/* ---- rows that are put off */

bool db_may_put_off(const struct db *db)
{
    return db->hopeful && db->lost == DB_OK && db->driver->lists;
}

static struct db_later *later_of(struct db *db, const char *sql)
{
    struct db_later *later = db->later;
    while (later->sql && later->sql != sql)
        later++;
    assert(later < db->later + DB_LATER_TABLES);
    if (!later->sql)
        *later = (struct db_later){.sql = sql, .end = &later->first};
    return later;
}

enum db_status db_put_off(struct db *db, const char *sql, const struct db_value *values,
                          unsigned count)
{
    struct db_cells *row = cells_copy(values, count);
    if (!row)
        return DB_MEMORY;
    struct db_later *later = later_of(db, sql);
    *later->end = row;
    later->end = &row->next;
    later->count++;
    db->later_count++;
    db->later_bytes += cells_size(values, count);
    bool full = db->later_bytes >= LATER_BYTES_MOST || db->later_count >= LATER_ROWS_MOST;
    return full ? db_send_rows(db) : DB_OK;
}

static enum db_status insert_rows(struct db *db, const struct db_later *later)
{
    unsigned columns = later->first->count, row = 0;
    struct db_value *cells = memory_new((size_t)columns * later->count, sizeof *cells);
    struct db_value lists[DB_VALUES_MAX];
    for (const struct db_cells *from = later->first; from; from = from->next, row++)
        for (unsigned i = 0; i < columns; i++)
            cells[(size_t)i * later->count + row] = from->values[i];
    for (unsigned i = 0; i < columns; i++)
        lists[i] = db_list(cells + (size_t)i * later->count, later->count);
    enum db_status status = db_run_now(db, later->sql, lists, columns, NULL, NULL);
    free(cells);
    return status;
}

static void drop_later(struct db *db)
{
    for (unsigned i = 0; i < DB_LATER_TABLES; i++) {
        cells_free(db->later[i].first);
        db->later[i] = (struct db_later){.sql = NULL};
    }
    db->later_count = 0;
    db->later_bytes = 0;
}

enum db_status db_send_rows(struct db *db)
{
    if (db->lost != DB_OK || db->later_count == 0)
        return db->lost;
    int64_t before = db_changes(db);
    enum db_status status = DB_OK;
    for (unsigned i = 0; i < DB_LATER_TABLES && db->later[i].sql && status == DB_OK; i++)
        status = insert_rows(db, &db->later[i]);
    drop_later(db);
    if (status == DB_OK && db_changes(db) != before)
        status = db_fail(db, "a batch", "rows that were put off are not there");
    return status == DB_OK || db->lost != DB_OK ? db->lost : db_lose(db, status);
}

void db_batch_forget(struct db *db)
{
    for (unsigned i = 0; i < DB_BATCH_STATES; i++)
        free(db->states[i].state);
    memset(db->states, 0, sizeof db->states);
    forget_known(db);
    drop_later(db);
    db->appended = 0;
}
