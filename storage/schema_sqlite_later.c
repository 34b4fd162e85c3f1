/* The later versions of the tables: see schema_sqlite.c, whose array has them all. */
#include "storage/schema_sqlite.h"

#include <stddef.h>

/* Ensembles, whose bytes are ciphertext, and teachers that spend from their dataset's account too:
 * the first answer ever pays first_units and first_delta there beside its price. */
const char *const schema_sqlite_10[] = {
    "ALTER TABLE policies ADD COLUMN shards INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX policies_by_dataset ON policies (dataset) WHERE shards > 0",
    "ALTER TABLE teachers ADD COLUMN shards INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE teachers ADD COLUMN dataset TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE teachers ADD COLUMN dataset_account TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE teachers ADD COLUMN first_units INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE teachers ADD COLUMN first_delta INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE teachers ADD COLUMN at_floor TEXT NOT NULL DEFAULT 'charge'",
    "ALTER TABLE teachers ADD COLUMN certificate TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE teachers ADD COLUMN certificate_text TEXT NOT NULL DEFAULT ''",
    "CREATE UNIQUE INDEX teachers_by_certificate ON teachers (certificate)"
    " WHERE certificate <> ''",
    NULL,
};
