/* Three accounts that are charged, and what is asked of them before and after a fold. */
#ifndef TACET_TESTS_UNIT_STORAGE_FOLD_SCENE_H
#define TACET_TESTS_UNIT_STORAGE_FOLD_SCENE_H

#include "storage/ledger/ledger_fold.h"
#include "storage/ledger/ledger_verify.h"
#include "tests/unit/storage/fixture.h"

#define FOLD_ROWS "SELECT count(*) FROM ledger_entries"

extern struct fixture fold_fixture;
extern struct ledger_account fold_teacher, fold_student, fold_dataset;

/* Opens a database with the three accounts. */
void fold_open(const struct db_driver *driver);

void fold_close(void);

/* A debit of ACCOUNT at TIME_MS. */
enum db_status fold_try_debit(const char *account, int64_t time_ms);

/* COUNT debits of one account, one a millisecond from TIME_MS on. */
void fold_spend(const char *account, int64_t time_ms, int count);

/* Folds until nothing is left to fold. */
void fold_all(struct ledger_sweep *sweep);

/* Folds what is older than FROM_MS, as after a start. */
void fold_before(int64_t from_ms);

/* The number that SQL gives. */
int64_t fold_number(const char *sql);

struct ledger_report fold_verify(void);

/* The auditor finds no fault, and counts so many entries of which so many are folded. */
void fold_expect_whole(int64_t entries, int64_t folded);

/* Balances, head and count of the account are as BEFORE. */
void fold_expect_same(const struct ledger_account *before);

#endif
