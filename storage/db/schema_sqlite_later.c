/* The later versions of the tables: see schema_sqlite.c, whose array has them all. */
#include "storage/db/schema_sqlite.h"

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
    "CREATE UNIQUE INDEX teachers_by_certificate ON teachers (certificate) WHERE certificate <> ''",
    NULL,
};

/* Answers in blocks, a batch's worth in a row (answer_block.h), found by a hash of client and key:
 * an answer no longer costs a row and a place in an index of texts. What stands in the old table
 * stays there. Places of blocks up to answers_filed are in answer_places. */
const char *const schema_sqlite_11[] = {
    "CREATE TABLE answer_blocks (id INTEGER NOT NULL PRIMARY KEY, answers BLOB NOT NULL) STRICT",
    "CREATE TABLE answer_places (hash INTEGER NOT NULL, block INTEGER NOT NULL,"
    " PRIMARY KEY (hash, block)) STRICT, WITHOUT ROWID",
    "CREATE TABLE answers_filed (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),"
    " upto INTEGER NOT NULL) STRICT",
    "INSERT INTO answers_filed VALUES (1, 0)",
    "CREATE TRIGGER answer_blocks_stay BEFORE DELETE ON answer_blocks"
    " BEGIN SELECT RAISE(ABORT, 'answers are never removed'); END",
    "CREATE TRIGGER answer_blocks_fixed BEFORE UPDATE ON answer_blocks"
    " BEGIN SELECT RAISE(ABORT, 'answers never change'); END",
    "CREATE TRIGGER answer_places_stay BEFORE DELETE ON answer_places"
    " BEGIN SELECT RAISE(ABORT, 'answers are never removed'); END",
    "CREATE TRIGGER answer_places_fixed BEFORE UPDATE ON answer_places"
    " BEGIN SELECT RAISE(ABORT, 'answers never change'); END",
    "CREATE TRIGGER answers_closed BEFORE INSERT ON answers"
    " BEGIN SELECT RAISE(ABORT, 'new answers go to answer_blocks'); END",
    NULL,
};

/* Entries and answers as rows, each appended at the end of its table. storage/upgrade.c copies what
 * the tables of before hold, behind these statements; the version after this one drops those. */
const char *const schema_sqlite_12[] = {
    "CREATE TABLE ledger_entries ("
    " account TEXT NOT NULL,"
    " sequence INTEGER NOT NULL," /* 1, 2, ... without gaps */
    " time_ms INTEGER NOT NULL,"
    " kind TEXT NOT NULL,"
    " limit_units INTEGER NOT NULL," /* the six effects: an account's balances are their sums */
    " spent_units INTEGER NOT NULL,"
    " held_units INTEGER NOT NULL,"
    " limit_delta INTEGER NOT NULL,"
    " spent_delta INTEGER NOT NULL,"
    " held_delta INTEGER NOT NULL,"
    " epsilon REAL NOT NULL,"
    " delta REAL NOT NULL,"
    " client TEXT NOT NULL,"
    " resource TEXT NOT NULL,"
    " event TEXT NOT NULL,"
    " hash BLOB NOT NULL,"
    " PRIMARY KEY (account, sequence)) STRICT",
    "CREATE TRIGGER ledger_entries_stay BEFORE DELETE ON ledger_entries"
    " BEGIN SELECT RAISE(ABORT, 'entries of the ledger are never removed'); END",
    "CREATE TRIGGER ledger_entries_fixed BEFORE UPDATE ON ledger_entries"
    " BEGIN SELECT RAISE(ABORT, 'entries of the ledger never change'); END",
    "DROP TRIGGER answers_closed",
    NULL,
};

const char *const schema_sqlite_13[] = {
    "DROP TABLE ledger_blocks",
    "DROP TABLE answer_blocks",
    "DROP TABLE answer_places",
    "DROP TABLE answers_filed",
    "DROP INDEX ledger_accounts_by_number",
    "ALTER TABLE ledger_accounts DROP COLUMN number",
    NULL,
};
