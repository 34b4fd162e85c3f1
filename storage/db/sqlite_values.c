/* Values to parameters, and columns to values. */
#include "storage/db/sqlite_values.h"

#include <assert.h>

int sqlite_bind(sqlite3_stmt *stmt, int index, const struct db_value *value)
{
    switch (value->type) {
    case DB_INTEGER: return sqlite3_bind_int64(stmt, index, value->integer);
    case DB_REAL: return sqlite3_bind_double(stmt, index, value->real);
    case DB_TEXT:
        return sqlite3_bind_text64(stmt, index, value->data, value->size, SQLITE_STATIC,
                                   SQLITE_UTF8);
    case DB_BYTES:
        return sqlite3_bind_blob64(stmt, index, value->size == 0 ? "" : value->data, value->size,
                                   SQLITE_STATIC);
    default: return sqlite3_bind_null(stmt, index);
    }
}

static struct db_value read_one(sqlite3_stmt *stmt, int index)
{
    switch (sqlite3_column_type(stmt, index)) {
    case SQLITE_INTEGER: return db_integer(sqlite3_column_int64(stmt, index));
    case SQLITE_FLOAT:
        return (struct db_value){.type = DB_REAL, .real = sqlite3_column_double(stmt, index)};
    case SQLITE_TEXT: {
        const void *text = sqlite3_column_text(stmt, index);
        return (struct db_value){.type = DB_TEXT,
                                 .data = !text ? "" : text,
                                 .size = (size_t)sqlite3_column_bytes(stmt, index)};
    }
    case SQLITE_BLOB: {
        const void *bytes = sqlite3_column_blob(stmt, index);
        return (struct db_value){.type = DB_BYTES,
                                 .data = !bytes ? "" : bytes,
                                 .size = (size_t)sqlite3_column_bytes(stmt, index)};
    }
    default: return db_null();
    }
}

enum db_status sqlite_show_row(sqlite3_stmt *stmt, db_row_fn *each, void *context)
{
    struct db_value values[DB_COLUMNS_MAX];
    int count = sqlite3_column_count(stmt);
    assert(count <= DB_COLUMNS_MAX);
    for (int i = 0; i < count; i++)
        values[i] = read_one(stmt, i);
    return each(context, &(struct db_row){.values = values, .count = (unsigned)count});
}
