/* Values of statements and rows in PostgreSQL's binary form. */
#ifndef TACET_STORAGE_DB_POSTGRES_VALUES_H
#define TACET_STORAGE_DB_POSTGRES_VALUES_H

#include <libpq-fe.h>

#include "storage/db/db.h"

/* The parameters of one statement, as libpq takes them. */
struct postgres_parameters {
    Oid types[DB_VALUES_MAX];
    const char *data[DB_VALUES_MAX];
    int sizes[DB_VALUES_MAX];
    int formats[DB_VALUES_MAX];
    unsigned char numbers[DB_VALUES_MAX][8];
    char *lists[DB_VALUES_MAX]; /* allocated; NULL: no list */
};

/* Fills *OUT from COUNT values; texts and bytes are borrowed. False: one is larger than libpq can
 * send, or there is no memory for it. postgres_bound follows in both cases. */
bool postgres_bind(const struct db_value *values, unsigned count, struct postgres_parameters *out);

/* Frees what postgres_bind allocated for COUNT values. */
void postgres_bound(struct postgres_parameters *parameters, unsigned count);

/* Shows row NUMBER of RESULT to EACH. DB_FAILED, with a sentence in FAULT: a column has a type that
 * no statement of this program gives. */
enum db_status postgres_show_row(const PGresult *result, int number, db_row_fn *each, void *context,
                                 struct db_fault *fault);

#endif
