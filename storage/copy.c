/* DESIGN. Tables are copied in the order in which the schema makes them, so that a row never names
 * one that is still to come; rows in the order in which they were stored. The names of the columns
 * come from SQLite. What was read is hashed row by row, and so is what the new database gives back:
 * the sum of the hashes does not depend on the order in which it does. */
#include "storage/copy.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/buffer.h"
#include "memory/memory.h"
#include "storage/answers/answers.h"
#include "storage/db/listing.h"
#include "storage/db/migrate.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/upgrade.h"

#define TABLE_NAME_SIZE 64
#define COLUMNS_MOST    4096 /* bytes of a table's column names */

struct rows_sum {
    int64_t rows;
    uint64_t hashes[2];
};

struct table_copy {
    struct db *to;
    char name[TABLE_NAME_SIZE];
    char *insert;
    struct rows_sum read, written;
};

struct copy_work {
    struct db *from, *to;
    struct storage_copied *out;
    char *error;
};

static enum db_status copy_refuse(struct copy_work *work, const char *table, const char *why)
{
    snprintf(work->error, DB_ERROR_SIZE, "%.60s: %.180s", table, why);
    return DB_FAILED;
}

/* ---- rows */

static void add_row(struct rows_sum *sum, const struct db_row *row)
{
    crypto_generichash_state state;
    uint64_t hash[2];
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    for (unsigned i = 0; i < row->count; i++) {
        const struct db_value *value = &row->values[i];
        bool number = value->type == DB_INTEGER || value->type == DB_REAL;
        int64_t head[2] = {(int64_t)value->type, 0};
        if (number)
            memcpy(&head[1], &value->integer, sizeof head[1]); /* a real lies in the same place */
        else if (value->type != DB_NULL)
            head[1] = (int64_t)value->size;
        crypto_generichash_update(&state, (const unsigned char *)head, sizeof head);
        if (!number && value->type != DB_NULL && value->size > 0)
            crypto_generichash_update(&state, value->data, value->size);
    }
    crypto_generichash_final(&state, (unsigned char *)hash, sizeof hash);
    sum->hashes[0] += hash[0];
    sum->hashes[1] += hash[1];
    sum->rows++;
}

static enum db_status copy_row(void *context, const struct db_row *row)
{
    struct table_copy *table = context;
    add_row(&table->read, row);
    return db_run(table->to, table->insert, row->values, row->count, NULL, NULL);
}

static enum db_status read_back(void *context, const struct db_row *row)
{
    struct table_copy *table = context;
    add_row(&table->written, row);
    return DB_OK;
}

/* ---- tables */

struct column_names {
    struct buffer names, marks; /* "a, b" and "$1, $2" */
    unsigned count;
};

static enum db_status add_column(void *context, const struct db_row *row)
{
    struct column_names *columns = context;
    const char *comma = columns->count++ > 0 ? ", " : "";
    buffer_add_format(&columns->names, "%s%s", comma, db_row_text(row, 0));
    buffer_add_format(&columns->marks, "%s$%u", comma, columns->count);
    return DB_OK;
}

/* Reads into OUT the name of the table that STATEMENT makes. False: it makes none. */
static bool made_table(const char *statement, char out[TABLE_NAME_SIZE])
{
    static const char make[] = "CREATE TABLE ";
    if (strncmp(statement, make, sizeof make - 1) != 0)
        return false;
    const char *name = statement + sizeof make - 1;
    snprintf(out, TABLE_NAME_SIZE, "%.*s", (int)strcspn(name, " ("), name);
    return true;
}

static enum db_status copy_table(struct copy_work *work, const char *statement,
                                 struct table_copy *table)
{
    struct column_names columns = {.names.lid = COLUMNS_MOST, .marks.lid = COLUMNS_MOST};
    struct buffer insert = {.lid = 3 * COLUMNS_MOST}, ordered = {.lid = 3 * COLUMNS_MOST},
                  plain = {.lid = 3 * COLUMNS_MOST};
    const char *order = strstr(statement, "WITHOUT ROWID") ? "" : " ORDER BY rowid";
    size_t size = 0;
    table->to = work->to;
    enum db_status status =
        db_run(work->from, "SELECT name FROM pragma_table_info($1) ORDER BY cid",
               DB_VALUES(db_text(table->name)), add_column, &columns);
    char *names = memory_must(buffer_take(&columns.names, &size));
    char *marks = memory_must(buffer_take(&columns.marks, &size));
    buffer_add_format(&insert, "INSERT INTO %s (%s) VALUES (%s)", table->name, names, marks);
    buffer_add_format(&plain, "SELECT %s FROM %s", names, table->name);
    buffer_add_format(&ordered, "SELECT %s FROM %s%s", names, table->name, order);
    free(names);
    free(marks);
    table->insert = memory_must(buffer_take(&insert, &size));
    char *read = memory_must(buffer_take(&ordered, &size));
    char *again = memory_must(buffer_take(&plain, &size));
    if (status == DB_OK)
        status = db_run(work->from, read, NULL, 0, copy_row, table);
    if (status == DB_OK)
        status = db_run(work->to, again, NULL, 0, read_back, table);
    free(table->insert);
    free(read);
    free(again);
    return status;
}

static enum db_status refuse_row(struct copy_work *work, const char *table)
{
    const char *why = db_last_error(work->to);
    return copy_refuse(work, table, why[0] != '\0' ? why : db_last_error(work->from));
}

static enum db_status copy_tables(struct copy_work *work)
{
    const char *const *statement = db_driver_of(work->from)->schema->tables;
    for (; *statement; statement++) {
        struct table_copy table = {.to = NULL};
        if (!made_table(*statement, table.name))
            continue;
        enum db_status status = copy_table(work, *statement, &table);
        if (status != DB_OK)
            return db_may_pass(status) ? status : refuse_row(work, table.name);
        if (memcmp(&table.read, &table.written, sizeof table.read) != 0)
            return copy_refuse(work, table.name, "it was not stored as it was read");
        work->out->tables++;
        work->out->rows += table.read.rows;
        if (strcmp(table.name, "ledger_entries") == 0)
            work->out->entries = table.read.rows;
    }
    return DB_OK;
}

/* ---- the whole */

static enum db_status check_empty(struct copy_work *work)
{
    int64_t rows = 0;
    enum db_status status = db_one(work->to,
                                   "SELECT (SELECT count(*) FROM clients) + (SELECT count(*) FROM "
                                   "ledger_accounts) + (SELECT count(*) FROM answers)",
                                   NULL, 0, listing_integer, &rows);
    if (status != DB_OK)
        return status;
    return rows == 0 ? DB_OK : copy_refuse(work, "the target", "it has a service already");
}

static enum db_status check_whole(struct copy_work *work)
{
    struct ledger_report report = {0};
    enum db_status status = ledger_verify(work->to, &report);
    if (status == DB_OK && (report.fault_count != 0 || report.entries != work->out->entries))
        return copy_refuse(work, "the ledger", "it does not add up in the target");
    if (status == DB_OK)
        status = answers_verify(work->to, &work->out->answers, work->error);
    return status;
}

static enum db_status copy_all(struct db *to, void *context)
{
    struct copy_work *work = context;
    *work->out = (struct storage_copied){0};
    enum db_status status = db_alone(to);
    if (status == DB_NONE)
        return copy_refuse(work, "the target", "other tacet processes work on it");
    if (status == DB_OK) /* without what binds an empty database to its key: it is among the rows */
        status = migrate(to, NULL, 0, work->error);
    if (status == DB_OK)
        status = check_empty(work);
    if (status == DB_OK)
        status = copy_tables(work);
    if (status == DB_OK)
        status = check_whole(work);
    return status;
}

static enum db_status read_place(void *context, const struct db_row *row)
{
    snprintf(context, STORAGE_PLACE_SIZE, "%s", db_row_text(row, 0));
    return DB_OK;
}

enum db_status storage_place(struct db *to, char out[STORAGE_PLACE_SIZE])
{
    return db_one(to,
                  "SELECT system_identifier::text || ' ' || oid::text"
                  " FROM pg_control_system(), pg_database WHERE datname = current_database()",
                  NULL, 0, read_place, out);
}

enum db_status storage_copy(struct db *from, struct db *to, struct storage_copied *out,
                            char error[DB_ERROR_SIZE])
{
    struct copy_work work = {from, to, out, error};
    error[0] = '\0';
    if (storage_is_in_use(to)) {
        snprintf(error, DB_ERROR_SIZE, "the target has a service already");
        return DB_FAILED;
    }
    enum db_status status = db_transact(to, copy_all, &work);
    if (status != DB_OK && error[0] == '\0')
        snprintf(error, DB_ERROR_SIZE, "%.220s", db_last_error(to));
    return db_owed(status);
}
