#include "tests/unit/storage/fold_scene.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/listing.h"

struct fixture fold_fixture;
struct ledger_account fold_teacher, fold_student, fold_dataset;

void fold_open(const struct db_driver *driver)
{
    fixture_open(&fold_fixture, driver);
    struct db *db = fold_fixture.db;
    fold_teacher = fixture_account(db, LEDGER_TEACHER, "tch_a", NULL, 1000000, 10000);
    fold_student = fixture_account(db, LEDGER_CLIENT, "tch_a", "cli_a", 1000000, 10000);
    fold_dataset = fixture_account(db, LEDGER_DATASET, "ds_a", NULL, 1000000, 10000);
}

void fold_close(void)
{
    fixture_close(&fold_fixture);
}

struct debit {
    const char *account;
    int64_t time_ms;
};

static enum db_status debit_one(struct db *db, void *context)
{
    const struct debit *debit = context;
    struct ledger_outcome outcome;
    const struct ledger_charge charge = {.prices = {{debit->account, 7, 1}},
                                         .count = 1,
                                         .client = "cli_a",
                                         .resource = "qry_a",
                                         .event = "{}",
                                         .now_ms = debit->time_ms};
    enum db_status status = ledger_debit(db, &charge, &outcome);
    return status == DB_OK && outcome.verdict != LEDGER_OK ? DB_FAILED : status;
}

enum db_status fold_try_debit(const char *account, int64_t time_ms)
{
    struct debit debit = {account, time_ms};
    return db_transact(fold_fixture.db, debit_one, &debit);
}

void fold_spend(const char *account, int64_t time_ms, int count)
{
    for (int i = 0; i < count; i++)
        cr_assert_eq(fold_try_debit(account, time_ms + i), DB_OK, "%s",
                     db_last_error(fold_fixture.db));
}

void fold_all(struct ledger_sweep *sweep)
{
    do
        cr_assert_eq(ledger_fold(fold_fixture.db, sweep), DB_OK, "%s",
                     db_last_error(fold_fixture.db));
    while (sweep->more);
}

void fold_before(int64_t from_ms)
{
    struct ledger_sweep sweep = {.from_ms = from_ms, .now_ms = INT64_MAX};
    fold_all(&sweep);
}

int64_t fold_number(const char *sql)
{
    int64_t value = -1;
    cr_assert_eq(db_one(fold_fixture.db, sql, NULL, 0, listing_integer, &value), DB_OK, "%s",
                 db_last_error(fold_fixture.db));
    return value;
}

struct ledger_report fold_verify(void)
{
    struct ledger_report report;
    cr_assert_eq(ledger_verify(fold_fixture.db, &report), DB_OK, "%s",
                 db_last_error(fold_fixture.db));
    return report;
}

void fold_expect_whole(int64_t entries, int64_t folded)
{
    struct ledger_report report = fold_verify();
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_eq(report.entries, entries, "%" PRId64, report.entries);
    cr_expect_eq(report.folded, folded, "%" PRId64, report.folded);
}

void fold_expect_same(const struct ledger_account *before)
{
    struct ledger_account after;
    cr_assert_eq(ledger_find(fold_fixture.db, before->id, &after), DB_OK);
    cr_expect_eq(memcmp(before, &after, sizeof after), 0, "balances, head and count stay");
}
