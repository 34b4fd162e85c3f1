/* Lists as parameters, which PostgreSQL has and SQLite has not. */
#ifndef TACET_TESTS_SIMULATOR_LISTS_H
#define TACET_TESTS_SIMULATOR_LISTS_H

#include "storage/db/db.h"

/* Runs SQL by DRIVER as its `run` does. "FROM unnest($1, ...)" with lists as values reads a row of
 * them after the other, with WITH ORDINALITY their numbers, too. Names are those of "AS n (...)".
 */
enum db_status lists_run(const struct db_driver *driver, void *connection, const char *sql,
                         const struct db_value *values, unsigned count, db_row_fn *each,
                         void *context, struct db_fault *fault);

#endif
