/* The types are told to the database, so that it need not guess them from the statement. Their
 * numbers are fixed by its catalogue. */
#include "storage/db/postgres_values.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OID_BOOL = 16, OID_BYTEA = 17, OID_INT8 = 20, OID_INT4 = 23, OID_TEXT = 25 };
enum { OID_FLOAT8 = 701 };
enum { OID_BYTEA_LIST = 1001, OID_TEXT_LIST = 1009, OID_INT8_LIST = 1016 };
enum { OID_FLOAT8_LIST = 1022 };

static uint64_t read_big_endian(const char *bytes, unsigned size)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < size; i++)
        number = number << 8 | (unsigned char)bytes[i];
    return number;
}

static void write_big_endian(uint64_t number, unsigned char bytes[8])
{
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (56 - 8 * i));
}

static uint64_t bits_of_real(double real)
{
    uint64_t bits;
    real += 0.0; /* SQLite keeps no negative zero, and digests are made without it */
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static bool value_is_number(const struct db_value *value)
{
    return value->type == DB_INTEGER || value->type == DB_REAL;
}

static void write_number(const struct db_value *value, unsigned char bytes[8])
{
    write_big_endian(value->type == DB_REAL ? bits_of_real(value->real) : (uint64_t)value->integer,
                     bytes);
}

/* ---- lists: dimensions, whether there are NULLs, the type; length, first index; then the values,
 * each behind its size */

static const Oid value_types[] = {[DB_NULL] = 0,
                                  [DB_INTEGER] = OID_INT8,
                                  [DB_REAL] = OID_FLOAT8,
                                  [DB_TEXT] = OID_TEXT,
                                  [DB_BYTES] = OID_BYTEA};
static const Oid list_types[] = {[DB_INTEGER] = OID_INT8_LIST,
                                 [DB_REAL] = OID_FLOAT8_LIST,
                                 [DB_TEXT] = OID_TEXT_LIST,
                                 [DB_BYTES] = OID_BYTEA_LIST};

static char *put_int4(char *at, size_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        *at++ = (char)(number >> shift);
    return at;
}

/* The bytes of LIST, to be freed; NULL: they are too many, or there is no memory. */
static char *list_bytes(const struct db_value *list, int *out_size)
{
    const struct db_value *values = list->data;
    size_t size = 5 * 4;
    for (size_t i = 0; i < list->size && size <= INT_MAX; i++)
        size += 4 + (value_is_number(&values[i]) ? 8 : values[i].size);
    char *bytes = size <= INT_MAX ? malloc(size) : NULL, *at = bytes;
    if (!bytes)
        return NULL;
    const size_t head[] = {1, 0, value_types[values->type], list->size, 1};
    for (unsigned i = 0; i < sizeof head / sizeof *head; i++)
        at = put_int4(at, head[i]);
    for (size_t i = 0; i < list->size; i++) {
        assert(values[i].type == values->type);
        at = put_int4(at, value_is_number(&values[i]) ? 8 : values[i].size);
        if (value_is_number(&values[i]))
            write_number(&values[i], (unsigned char *)at);
        else
            memcpy(at, values[i].data, values[i].size);
        at += value_is_number(&values[i]) ? 8 : values[i].size;
    }
    *out_size = (int)size;
    return bytes;
}

/* ---- parameters */

static bool bind_value(const struct db_value *value, unsigned i, struct postgres_parameters *out)
{
    out->formats[i] = 1;
    out->data[i] = NULL;
    out->sizes[i] = 0;
    if (value->type == DB_LIST) {
        out->types[i] = list_types[((const struct db_value *)value->data)->type];
        out->data[i] = out->lists[i] = list_bytes(value, &out->sizes[i]);
        return out->lists[i];
    }
    out->types[i] = value_types[value->type];
    if (value_is_number(value)) {
        write_number(value, out->numbers[i]);
        out->data[i] = (const char *)out->numbers[i];
        out->sizes[i] = 8;
    } else if (value->type != DB_NULL) {
        if (value->size > INT_MAX)
            return false;
        out->data[i] = value->size == 0 ? "" : value->data;
        out->sizes[i] = (int)value->size;
    }
    return true;
}

bool postgres_bind(const struct db_value *values, unsigned count, struct postgres_parameters *out)
{
    bool bound = true;
    for (unsigned i = 0; i < count; i++)
        out->lists[i] = NULL;
    for (unsigned i = 0; i < count && bound; i++)
        bound = bind_value(&values[i], i, out);
    return bound;
}

void postgres_bound(struct postgres_parameters *parameters, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(parameters->lists[i]);
}

static bool read_result_column(const PGresult *result, int row, int column, struct db_value *out)
{
    const char *bytes = PQgetvalue(result, row, column);
    size_t size = (size_t)PQgetlength(result, row, column);
    uint64_t bits;
    if (PQgetisnull(result, row, column)) {
        *out = db_null();
        return true;
    }
    switch (PQftype(result, column)) {
    case OID_BOOL: *out = db_integer(bytes[0] != 0); return true;
    case OID_INT4: *out = db_integer((int32_t)read_big_endian(bytes, 4)); return true;
    case OID_INT8: *out = db_integer((int64_t)read_big_endian(bytes, 8)); return true;
    case OID_FLOAT8:
        bits = read_big_endian(bytes, 8);
        *out = (struct db_value){.type = DB_REAL};
        memcpy(&out->real, &bits, sizeof bits);
        return true;
    case OID_TEXT: *out = (struct db_value){DB_TEXT, {.data = bytes}, size}; return true;
    case OID_BYTEA: *out = (struct db_value){DB_BYTES, {.data = bytes}, size}; return true;
    default: return false;
    }
}

enum db_status postgres_show_row(const PGresult *result, int number, db_row_fn *each, void *context,
                                 struct db_fault *fault)
{
    struct db_value values[DB_COLUMNS_MAX];
    int count = PQnfields(result);
    assert(count <= DB_COLUMNS_MAX);
    for (int i = 0; i < count; i++) {
        if (!read_result_column(result, number, i, &values[i])) {
            snprintf(fault->text, sizeof fault->text, "run: column %.60s has the type %u",
                     PQfname(result, i), PQftype(result, i));
            return DB_FAILED;
        }
    }
    return each(context, &(struct db_row){.values = values, .count = (unsigned)count});
}
