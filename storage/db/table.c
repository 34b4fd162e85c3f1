/* Converts structs to rows and back. A connection builds the SQL of a table and a tail once. */
#include "storage/db/table.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/db_state.h"
#include "storage/db/digest.h"

#define SQL_MOST 4096

/* ---- reading */

static bool read_word(const struct column *column, const char *text, int *out)
{
    for (int i = 0; column->words[i]; i++) {
        if (strcmp(text, column->words[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

/* Copies a value. False, and errno is ENOMEM: no memory for the copy, whose size a user has
 * chosen. */
static bool take_bytes(const void *bytes, size_t size, bool owned, char **out)
{
    *out = owned ? malloc(size + 1) : (char *)(uintptr_t)bytes;
    if (owned && *out) {
        memcpy(*out, bytes, size);
        (*out)[size] = '\0';
    }
    return *out;
}

/* True when VALUE is of the type that COLUMN has in the schema. On a damaged page it may be of
 * another, or NULL, which no column is. */
static bool value_fits(const struct column *column, const struct db_value *value)
{
    switch (column->kind) {
    case COLUMN_INTEGER:
    case COLUMN_COUNT:
    case COLUMN_FLAG: return value->type == DB_INTEGER;
    case COLUMN_REAL: return value->type == DB_REAL || value->type == DB_INTEGER;
    case COLUMN_BYTES:
    case COLUMN_BLOB: return value->type == DB_BYTES;
    default: return value->type == DB_TEXT;
    }
}

static bool read_column(const struct column *column, const struct db_row *row, unsigned i,
                        bool owned, char *out)
{
    if (i >= row->count || !value_fits(column, &row->values[i]))
        return false;
    size_t size;
    const void *bytes;
    void *at = out + column->offset;
    switch (column->kind) {
    case COLUMN_TEXT: return db_row_copy(row, i, at, column->size);
    case COLUMN_POINTER:
        bytes = db_row_text(row, i);
        return take_bytes(bytes, strlen(bytes), owned, at);
    case COLUMN_BYTES:
        bytes = db_row_bytes(row, i, &size);
        if (size != column->size)
            return false;
        memcpy(at, bytes, size);
        return true;
    case COLUMN_BLOB:
        bytes = db_row_bytes(row, i, (size_t *)(void *)(out + column->size));
        return take_bytes(bytes, *(size_t *)(void *)(out + column->size), owned, at);
    case COLUMN_INTEGER: *(int64_t *)at = db_row_integer(row, i); return true;
    case COLUMN_COUNT: *(uint32_t *)at = (uint32_t)db_row_integer(row, i); return true;
    case COLUMN_FLAG: *(bool *)at = db_row_integer(row, i) != 0; return true;
    case COLUMN_REAL: *(double *)at = db_row_real(row, i); return true;
    default: return read_word(column, db_row_text(row, i), at);
    }
}

bool table_read(const struct table *table, const struct db_row *row, bool owned, void *out)
{
    memset(out, 0, table->row_size);
    for (unsigned i = 0; i < table->count; i++) {
        if (!read_column(&table->columns[i], row, i, owned, out)) {
            if (owned)
                table_done(table, out);
            return false;
        }
    }
    return true;
}

void table_done(const struct table *table, void *row)
{
    for (unsigned i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (column->kind == COLUMN_POINTER || column->kind == COLUMN_BLOB) {
            char **pointer = (char **)(void *)((char *)row + column->offset);
            free(*pointer);
            *pointer = NULL;
        }
    }
}

/* ---- SELECT */

static void add_names(struct buffer *sql, const struct table *table, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buffer_add_format(sql, "%s%s", i == 0 ? "" : ", ", table->columns[i].name);
}

static void write_select(struct buffer *sql, const struct table *table, const char *tail)
{
    buffer_add_text(sql, "SELECT ");
    add_names(sql, table, table->count);
    if (table->digest)
        buffer_add_format(sql, ", %s", table->digest);
    buffer_add_format(sql, " FROM %s %s", table->name, tail);
}

static const char *select_text(struct db *db, const struct table *table, const char *tail)
{
    struct db_sql *known = db_sql_of(db, table, tail);
    if (!known->text) {
        struct buffer sql = {.lid = SQL_MOST};
        write_select(&sql, table, tail);
        known->text = memory_must(buffer_take(&sql, &known->size));
    }
    return known->text;
}

enum db_status table_rows(struct db *db, const struct table *table, const char *tail,
                          const struct db_value *values, unsigned count, db_row_fn *each,
                          void *context)
{
    return db_run(db, select_text(db, table, tail), values, count, each, context);
}

/* As table_read, of a row that is as it was stored; else db_last_error says what is damaged. A row
 * that is shown again in a batch was found so. */
static bool read_true(struct db *db, const struct table *table, const struct db_row *row,
                      bool owned, void *out)
{
    errno = 0;
    if (table->digest && !row->again && !digest_holds(db, table, row))
        return false;
    if (table_read(table, row, owned, out))
        return true;
    snprintf(db->fault.text, sizeof db->fault.text, "a row of %s cannot be read", table->name);
    return false;
}

struct finding {
    struct db *db;
    const struct table *table;
    const char *id; /* in the first column; NULL: the statement says which row it is */
    void *out;
    bool found, sound; /* SOUND: a damaged row counts as not there */
};

static bool passes_over(struct db *db, const struct table *table, const struct db_row *row,
                        bool sound)
{
    return sound && !digest_holds(db, table, row);
}

/* As db_run or db_run_known. */
typedef enum db_status run_fn(struct db *db, const char *sql, const struct db_value *values,
                              unsigned count, db_row_fn *each, void *context);

/* Reads ROW, which is another one than was looked for, like that one, and forgets it. */
static void read_another(const struct finding *finding, const struct db_row *row)
{
    unsigned char digest[DIGEST_SIZE];
    if (finding->table->digest && !row->again)
        digest_of_values(finding->db, finding->table, row->values, digest);
    if (table_read(finding->table, row, true, finding->out))
        table_done(finding->table, finding->out);
    memset(finding->out, 0, finding->table->row_size);
}

static enum db_status see_found(void *context, const struct db_row *row)
{
    struct finding *finding = context;
    struct db_fault *fault = &finding->db->fault;
    if (finding->id &&
        (row->values[0].type != DB_TEXT || strcmp(row->values[0].data, finding->id) != 0)) {
        read_another(finding, row);
        return DB_OK;
    }
    if (passes_over(finding->db, finding->table, row, finding->sound))
        return DB_OK;
    if (finding->found) {
        table_done(finding->table, finding->out);
        snprintf(fault->text, sizeof fault->text,
                 "a row of %s is there twice: its index is damaged", finding->table->name);
        return DB_FAILED;
    }
    finding->found = true;
    if (!read_true(finding->db, finding->table, row, true, finding->out))
        return db_undecoded();
    return DB_OK;
}

static enum db_status find_row(run_fn *run, const char *sql, const struct db_value *values,
                               unsigned count, struct finding *finding)
{
    enum db_status status = run(finding->db, sql, values, count, see_found, finding);
    return status == DB_OK && !finding->found ? DB_NONE : status;
}

enum db_status table_find(struct db *db, const struct table *table, const char *tail,
                          const struct db_value *values, unsigned count, void *out)
{
    struct finding finding = {.db = db, .table = table, .out = out};
    return find_row(db_run, select_text(db, table, tail), values, count, &finding);
}

enum db_status table_find_sound(struct db *db, const struct table *table, const char *tail,
                                const struct db_value *values, unsigned count, void *out)
{
    struct finding finding = {.db = db, .table = table, .out = out, .sound = true};
    return find_row(db_run, select_text(db, table, tail), values, count, &finding);
}

bool table_read_part(struct db *db, const struct table *table, const struct db_row *row,
                     unsigned first, void *out)
{
    const struct db_row part = {row->values + first, table->count + 1, row->again};
    return read_true(db, table, &part, true, out);
}

enum db_status table_find_known(struct db *db, const struct table *table, const char *tail,
                                const struct db_value *values, unsigned count, void *out)
{
    struct finding finding = {.db = db, .table = table, .out = out};
    return find_row(db_run_known, select_text(db, table, tail), values, count, &finding);
}

enum db_status table_find_id(struct db *db, const struct table *table, const char *id, void *out)
{
    static const char by_id[] = "the id, or the least one";
    struct finding finding = {.db = db, .table = table, .id = id, .out = out};
    struct db_sql *known = db_sql_of(db, table, by_id);
    if (!known->text) {
        struct buffer sql = {.lid = SQL_MOST};
        write_select(&sql, table, "WHERE id = (SELECT coalesce((SELECT id FROM ");
        buffer_add_format(&sql, "%s WHERE id = $1), min(id)) FROM %s)", table->name, table->name);
        known->text = memory_must(buffer_take(&sql, &known->size));
    }
    return find_row(db_run_known, known->text, DB_VALUES(db_text(id)), &finding);
}

struct listing {
    struct db *db;
    const struct table *table;
    void *row;
    table_row_fn *each;
    void *context;
    bool sound;
};

static enum db_status show_row(void *context, const struct db_row *row)
{
    const struct listing *listing = context;
    if (passes_over(listing->db, listing->table, row, listing->sound))
        return DB_OK;
    if (!read_true(listing->db, listing->table, row, false, listing->row))
        return DB_FAILED;
    return listing->each(listing->context, listing->row) ? DB_OK : DB_NONE;
}

static enum db_status list_rows(struct listing *listing, const char *tail,
                                const struct db_value *values, unsigned count)
{
    listing->row = memory_new(1, listing->table->row_size);
    enum db_status status =
        table_rows(listing->db, listing->table, tail, values, count, show_row, listing);
    free(listing->row);
    return db_optional(status); /* EACH returned false */
}

enum db_status table_list(struct db *db, const struct table *table, const char *tail,
                          const struct db_value *values, unsigned count, table_row_fn *each,
                          void *context)
{
    struct listing listing = {.db = db, .table = table, .each = each, .context = context};
    return list_rows(&listing, tail, values, count);
}

enum db_status table_list_sound(struct db *db, const struct table *table, const char *tail,
                                const struct db_value *values, unsigned count, table_row_fn *each,
                                void *context)
{
    struct listing listing = {db, table, NULL, each, context, true};
    return list_rows(&listing, tail, values, count);
}

/* ---- INSERT */

static struct db_value value_of(const struct column *column, const char *row)
{
    const void *at = row + column->offset;
    switch (column->kind) {
    case COLUMN_TEXT: return db_text(at);
    case COLUMN_POINTER: return db_text(*(const char *const *)at ? *(const char *const *)at : "");
    case COLUMN_BYTES: return db_bytes(at, column->size);
    case COLUMN_BLOB:
        return db_bytes(*(const char *const *)at,
                        *(const size_t *)(const void *)(row + column->size));
    case COLUMN_INTEGER: return db_integer(*(const int64_t *)at);
    case COLUMN_COUNT: return db_integer(*(const uint32_t *)at);
    case COLUMN_FLAG: return db_integer(*(const bool *)at);
    case COLUMN_REAL: return db_real(*(const double *)at);
    default: return db_text(column->words[*(const int *)at]);
    }
}

void table_digest(const struct db *db, const struct table *table, const void *row,
                  unsigned char out[DIGEST_SIZE])
{
    struct db_value values[DB_VALUES_MAX];
    for (unsigned i = 0; i < table->count; i++)
        values[i] = value_of(&table->columns[i], row);
    digest_of_values(db, table, values, out);
}

/* Writes an INSERT up to its last value; FROM stands before the values. */
static void write_insert(struct buffer *sql, const struct table *table,
                         const struct table_extra *extras, unsigned count, const char *from)
{
    unsigned all = table->inserted + count;
    buffer_add_format(sql, "INSERT INTO %s (", table->name);
    add_names(sql, table, table->inserted);
    for (unsigned i = 0; i < count; i++)
        buffer_add_format(sql, ", %s", extras[i].name);
    if (table->digest) {
        buffer_add_format(sql, ", %s", table->digest);
        all++;
    }
    buffer_add_text(sql, from);
    for (unsigned i = 1; i <= all; i++)
        buffer_add_format(sql, "%s$%u", i == 1 ? "" : ", ", i);
}

/* The values of ROW for an INSERT, COUNT extras and the digest behind them. Returns their number.
 */
static unsigned insert_values(struct db *db, const struct table *table, const void *row,
                              const struct table_extra *extras, unsigned count,
                              struct db_value values[DB_VALUES_MAX],
                              unsigned char digest[DIGEST_SIZE])
{
    unsigned all = table->inserted + count;
    assert(all < DB_VALUES_MAX);
    for (unsigned i = 0; i < table->inserted; i++)
        values[i] = value_of(&table->columns[i], row);
    for (unsigned i = 0; i < count; i++)
        values[table->inserted + i] = extras[i].value;
    if (!table->digest)
        return all;
    assert(table->inserted >= table->count - table->loose);
    digest_of_values(db, table, values, digest);
    values[all] = db_bytes(digest, DIGEST_SIZE);
    return all + 1;
}

enum db_status table_insert(struct db *db, const struct table *table, const void *row,
                            const struct table_extra *extras, unsigned count)
{
    struct db_value values[DB_VALUES_MAX];
    unsigned char digest[DIGEST_SIZE];
    struct db_sql *known = db_sql_of(db, table, NULL);
    if (!known->text) {
        struct buffer sql = {.lid = SQL_MOST};
        write_insert(&sql, table, extras, count, ") VALUES (");
        buffer_add_text(&sql, ") ON CONFLICT DO NOTHING");
        known->text = memory_must(buffer_take(&sql, &known->size));
    }
    unsigned all = insert_values(db, table, row, extras, count, values, digest);
    return db_change(db, known->text, values, all);
}

enum db_status table_append(struct db *db, const struct table *table, const void *row)
{
    static const char by_lists[] = "a list for each column";
    struct db_value values[DB_VALUES_MAX];
    unsigned char digest[DIGEST_SIZE];
    enum db_status status;
    if (db_may_put_off(db)) {
        struct db_sql *known = db_sql_of(db, table, by_lists);
        if (!known->text) {
            struct buffer sql = {.lid = SQL_MOST};
            write_insert(&sql, table, NULL, 0, ") SELECT * FROM unnest(");
            buffer_add_text(&sql, ")");
            known->text = memory_must(buffer_take(&sql, &known->size));
        }
        unsigned all = insert_values(db, table, row, NULL, 0, values, digest);
        status = db_put_off(db, known->text, values, all);
    } else {
        status = table_insert(db, table, row, NULL, 0);
    }
    db->appended += status == DB_OK;
    return status;
}
