/* A store in a temporary folder. */
#ifndef TACET_TESTS_STORAGE_FIXTURE_H
#define TACET_TESTS_STORAGE_FIXTURE_H

#include "storage/db/db.h"
#include "storage/ledger/ledger.h"

struct fixture {
    char folder[64];
    char path[96];
    struct db_store *store;
    struct db *db;
};

/* Makes the folder and the name of the database in it. */
void fixture_name(struct fixture *fixture);

/* Opens a fresh store over DRIVER (or over PostgreSQL: postgres_place.h), migrated; commits are not
 * synced (the tests kill processes, not machines). Fails the test when it cannot. */
void fixture_open(struct fixture *fixture, const struct db_driver *driver);
/* Closes and opens the same file again. */
void fixture_reopen(struct fixture *fixture);
/* Closes and removes everything. */
void fixture_close(struct fixture *fixture);

/* One more connection to the fixture's store. */
struct db *fixture_connect(struct fixture *fixture);

/* Opens an account of KIND for RESOURCE (and CLIENT) with these limits. */
struct ledger_account fixture_account(struct db *db, enum ledger_kind kind, const char *resource,
                                      const char *client, int64_t limit_units, int64_t limit_delta);

/* Debits one account in a transaction of its own; *OUT (may be NULL) is the verdict. */
enum db_status fixture_debit(struct db *db, const char *account, int64_t units, int64_t delta_units,
                             enum ledger_verdict *out);

/* Holds and settles likewise, under the name HOLD. */
enum db_status fixture_hold(struct db *db, const char *hold, const char *account, int64_t units,
                            enum ledger_verdict *out);
enum db_status fixture_settle(struct db *db, const char *hold, const char *account, int64_t units,
                              enum ledger_verdict *out);

/* Asserts that the auditor finds nothing, and prints what it found. */
void fixture_audit(struct db *db);

/* Runs SQL that needs no values, in a transaction of its own. */
enum db_status fixture_sql(struct db *db, const char *sql);

/* A small generator for tests: uniform in 0..LIMIT-1. */
uint64_t fixture_random(uint64_t *state, uint64_t limit);

#endif
