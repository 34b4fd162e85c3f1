/* Lines and blocks as commit cc30558 wrote them. */
#include "tests/unit/storage/old_format.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "memory/buffer.h"

#define LID         ((size_t)64 << 20)
#define GOLDEN_MOST (4 << 20)

void *old_golden(const char *name, size_t *out_size)
{
    char path[128];
    snprintf(path, sizeof path, "tests/golden/storage/%s", name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    char *bytes = malloc(GOLDEN_MOST);
    cr_assert_not_null(bytes);
    *out_size = fread(bytes, 1, GOLDEN_MOST - 1, file);
    bytes[*out_size] = '\0';
    fclose(file);
    return bytes;
}

static void unpack_golden(const char *path)
{
    size_t size;
    void *packed = old_golden("lines.db.zst", &size);
    unsigned long long whole = ZSTD_getFrameContentSize(packed, size);
    cr_assert_lt(whole, GOLDEN_MOST * 16ull);
    void *bytes = malloc(whole);
    cr_assert_eq(ZSTD_decompress(bytes, whole, packed, size), whole);
    FILE *file = fopen(path, "wb");
    cr_assert_eq(fwrite(bytes, 1, whole, file), whole);
    fclose(file);
    free(bytes);
    free(packed);
}

static void open_unmigrated(struct fixture *fixture)
{
    struct db_settings settings = {.location = fixture->path, .not_durable = true};
    fixture->store = db_store_new(&db_driver_sqlite, &settings);
    fixture->db = fixture_connect(fixture);
}

void old_open_golden(struct fixture *fixture)
{
    fixture_name(fixture);
    unpack_golden(fixture->path);
    open_unmigrated(fixture);
}

static int run_column(void *handle, int columns, char **values, char **names)
{
    (void)columns, (void)names;
    return sqlite3_exec(handle, values[0], NULL, NULL, NULL);
}

static int keep_column(void *lines, int columns, char **values, char **names)
{
    (void)columns, (void)names;
    buffer_add_text(lines, values[0]);
    buffer_add_text(lines, ";");
    return 0;
}

void old_open_empty(struct fixture *fixture)
{
    static const char drops[] =
        "SELECT 'DROP TRIGGER ' || name FROM sqlite_schema WHERE type = 'trigger'";
    static const char deletes[] =
        "SELECT 'DELETE FROM ' || name FROM sqlite_schema WHERE type = 'table' "
        "AND name NOT IN ('schema_versions', 'answers_filed')";
    struct buffer triggers = {.lid = LID};
    sqlite3 *handle;
    fixture_name(fixture);
    unpack_golden(fixture->path);
    cr_assert_eq(sqlite3_open(fixture->path, &handle), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(handle, "SELECT sql FROM sqlite_schema WHERE type = 'trigger'",
                              keep_column, &triggers, NULL),
                 SQLITE_OK);
    cr_assert_eq(sqlite3_exec(handle, drops, run_column, handle, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(handle, deletes, run_column, handle, NULL), SQLITE_OK);
    char *sql = buffer_take(&triggers, NULL);
    cr_assert_eq(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    free(sql);
    sqlite3_close(handle);
    open_unmigrated(fixture);
}

/* ---- lines: a field that is that of the line above is a ditto */

static void add_end(struct buffer *lines, bool last)
{
    buffer_add_text(lines, last ? "\n" : "\t");
}

static void add_number(struct buffer *lines, int64_t value, const int64_t *above)
{
    if (above && *above == value)
        buffer_add_text(lines, "\x10");
    else
        buffer_add_format(lines, "%" PRId64, value);
    add_end(lines, false);
}

static void add_double(struct buffer *lines, double value, const double *above)
{
    if (above && *above == value)
        buffer_add_text(lines, "\x10");
    else
        buffer_add_format(lines, value == 0 ? "0" : "%.17g", value);
    add_end(lines, false);
}

static void add_word(struct buffer *lines, const char *text, const char *above, bool last)
{
    buffer_add_text(lines, above && strcmp(above, text) == 0 ? "\x10" : text);
    add_end(lines, last);
}

char *old_lines(const struct ledger_entry *entries, unsigned count)
{
    struct buffer lines = {.lid = LID};
    for (unsigned i = 0; i < count; i++) {
        const struct ledger_entry *e = &entries[i], *above = i > 0 ? e - 1 : NULL;
        add_number(&lines, e->time_ms, above ? &above->time_ms : NULL);
        add_word(&lines, ledger_entry_kind_name(e->kind),
                 above ? ledger_entry_kind_name(above->kind) : NULL, false);
        add_number(&lines, e->limit_units, above ? &above->limit_units : NULL);
        add_number(&lines, e->spent_units, above ? &above->spent_units : NULL);
        add_number(&lines, e->held_units, above ? &above->held_units : NULL);
        add_number(&lines, e->limit_delta, above ? &above->limit_delta : NULL);
        add_number(&lines, e->spent_delta, above ? &above->spent_delta : NULL);
        add_number(&lines, e->held_delta, above ? &above->held_delta : NULL);
        add_double(&lines, e->epsilon, above ? &above->epsilon : NULL);
        add_double(&lines, e->delta, above ? &above->delta : NULL);
        add_word(&lines, e->client, above ? above->client : NULL, false);
        add_word(&lines, e->resource, above ? above->resource : NULL, false);
        add_word(&lines, e->event, above ? above->event : NULL, true);
    }
    char *text = buffer_take(&lines, NULL);
    cr_assert_not_null(text);
    return text;
}

struct write_work {
    const char *sql;
    const struct db_value *values;
    unsigned count;
};

static enum db_status write_row(struct db *db, void *context)
{
    const struct write_work *work = context;
    return db_run(db, work->sql, work->values, work->count, NULL, NULL);
}

void old_write_entries(struct db *db, int64_t account, const struct ledger_entry *entries,
                       unsigned count)
{
    char *lines = old_lines(entries, count);
    struct db_value values[] = {
        db_integer(account), db_integer(entries[0].sequence), db_integer(count),
        db_bytes(entries[0].previous_hash, LEDGER_HASH_SIZE), db_text(lines)};
    struct write_work work = {"INSERT INTO ledger_blocks (account, first, count, previous_hash, "
                              "lines) VALUES ($1, $2, $3, $4, $5)",
                              values, 5};
    cr_assert_eq(db_transact(db, write_row, &work), DB_OK, "%s", db_last_error(db));
    free(lines);
}

/* ---- blocks of answers */

static void add_little(struct buffer *block, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(value >> (8 * i));
        buffer_add(block, &byte, 1);
    }
}

static void add_sized(struct buffer *block, const char *text)
{
    add_little(block, strlen(text), 2);
    buffer_add_text(block, text);
}

unsigned char *old_block(const struct old_answer *answers, unsigned count, size_t *out_size)
{
    struct buffer block = {.lid = LID};
    add_little(&block, 1, 1);
    for (unsigned i = 0; i < count; i++) {
        const struct old_answer *a = &answers[i];
        const struct answer_row *row = &a->row;
        add_little(&block,
                   8 + 2 + ANSWER_FINGERPRINT_SIZE + 4 * 2 + strlen(a->client) + strlen(a->key) +
                       strlen(row->content_type) + strlen(row->headers) + row->body_size,
                   4);
        add_little(&block, (uint64_t)row->created_ms, 8);
        add_little(&block, (uint64_t)row->status, 2);
        buffer_add(&block, row->fingerprint, ANSWER_FINGERPRINT_SIZE);
        add_sized(&block, a->client);
        add_sized(&block, a->key);
        add_sized(&block, row->content_type);
        add_sized(&block, row->headers);
        buffer_add(&block, row->body, row->body_size);
    }
    unsigned char *bytes = (unsigned char *)buffer_take(&block, out_size);
    cr_assert_not_null(bytes);
    return bytes;
}

void old_write_answers(struct db *db, int64_t id, const struct old_answer *answers, unsigned count)
{
    size_t size;
    unsigned char *bytes = old_block(answers, count, &size);
    struct db_value values[] = {db_integer(id), db_bytes(bytes, size)};
    struct write_work work = {"INSERT INTO answer_blocks (id, answers) VALUES ($1, $2)", values, 2};
    cr_assert_eq(db_transact(db, write_row, &work), DB_OK, "%s", db_last_error(db));
    free(bytes);
}
