/* The types are told to the database, so that it need not guess them from the statement. Their
 * numbers are fixed by its catalogue. */
#include "storage/db/postgres_values.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { OID_BOOL = 16, OID_BYTEA = 17, OID_INT8 = 20, OID_INT4 = 23, OID_TEXT = 25 };
enum { OID_FLOAT8 = 701 };

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

bool postgres_bind(const struct db_value *values, unsigned count, struct postgres_parameters *out)
{
    for (unsigned i = 0; i < count; i++) {
        const struct db_value *value = &values[i];
        bool is_number = value->type == DB_INTEGER || value->type == DB_REAL;
        static const Oid types[] = {[DB_NULL] = 0,
                                    [DB_INTEGER] = OID_INT8,
                                    [DB_REAL] = OID_FLOAT8,
                                    [DB_TEXT] = OID_TEXT,
                                    [DB_BYTES] = OID_BYTEA};
        out->types[i] = types[value->type];
        out->formats[i] = 1;
        out->data[i] = NULL;
        out->sizes[i] = 0;
        if (is_number) {
            write_big_endian(value->type == DB_REAL ? bits_of_real(value->real)
                                                    : (uint64_t)value->integer,
                             out->numbers[i]);
            out->data[i] = (const char *)out->numbers[i];
            out->sizes[i] = 8;
        } else if (value->type != DB_NULL) {
            if (value->size > INT_MAX)
                return false;
            out->data[i] = value->size == 0 ? "" : value->data;
            out->sizes[i] = (int)value->size;
        }
    }
    return true;
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
