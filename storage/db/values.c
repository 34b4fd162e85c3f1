/* Values of statements and rows, the same for every driver. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "storage/db/db.h"

struct db_value db_null(void)
{
    return (struct db_value){.type = DB_NULL};
}

struct db_value db_integer(int64_t value)
{
    return (struct db_value){.type = DB_INTEGER, .integer = value};
}

struct db_value db_real(double value)
{
    assert(isfinite(value));
    return (struct db_value){.type = DB_REAL, .real = value};
}

struct db_value db_text(const char *text)
{
    assert(text);
    return (struct db_value){.type = DB_TEXT, .data = text, .size = strlen(text)};
}

struct db_value db_text_or_empty(const char *text)
{
    return db_text(!text ? "" : text);
}

struct db_value db_bytes(const void *data, size_t size)
{
    assert(data || size == 0);
    return (struct db_value){.type = DB_BYTES, .data = data, .size = size};
}

struct db_value db_list(const struct db_value *values, size_t count)
{
    assert(count > 0 && values->type != DB_NULL && values->type != DB_LIST);
    return (struct db_value){.type = DB_LIST, .data = values, .size = count};
}

static const struct db_value *row_column(const struct db_row *row, unsigned index)
{
    assert(index < row->count);
    return &row->values[index];
}

int64_t db_row_integer(const struct db_row *row, unsigned index)
{
    const struct db_value *value = row_column(row, index);
    if (value->type == DB_NULL)
        return 0;
    assert(value->type == DB_INTEGER);
    return value->integer;
}

double db_row_real(const struct db_row *row, unsigned index)
{
    const struct db_value *value = row_column(row, index);
    if (value->type == DB_INTEGER)
        return (double)value->integer;
    assert(value->type == DB_REAL || value->type == DB_NULL);
    return value->type == DB_NULL ? 0 : value->real;
}

const char *db_row_text(const struct db_row *row, unsigned index)
{
    const struct db_value *value = row_column(row, index);
    assert(value->type == DB_TEXT || value->type == DB_NULL);
    return value->type == DB_NULL ? "" : value->data;
}

const void *db_row_bytes(const struct db_row *row, unsigned index, size_t *out_size)
{
    const struct db_value *value = row_column(row, index);
    assert(value->type == DB_BYTES || value->type == DB_NULL);
    *out_size = value->type == DB_NULL ? 0 : value->size;
    return value->type == DB_NULL || value->size == 0 ? "" : value->data;
}

bool db_row_copy(const struct db_row *row, unsigned index, char *out, size_t size)
{
    const struct db_value *value = row_column(row, index);
    assert(size > 0);
    out[0] = '\0';
    if (value->type == DB_NULL)
        return true;
    if (value->type != DB_TEXT || value->size >= size)
        return false;
    memcpy(out, value->data, value->size);
    out[value->size] = '\0';
    return true;
}
