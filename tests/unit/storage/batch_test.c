/* Debits in a batch. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/id.h"
#include "storage/db/listing.h"
#include "storage/endings.h"
#include "storage/ledger/ledger_verify.h"
#include "tests/unit/storage/fixture.h"

struct debit {
    const char *account;
    int64_t units;
    struct ledger_outcome outcome;
};

static enum db_status do_debit(struct db *db, void *context)
{
    struct debit *debit = context;
    const struct ledger_charge charge = {.prices = {{debit->account, debit->units, 0}},
                                         .count = 1,
                                         .client = "cli_test",
                                         .resource = "qry_test",
                                         .event = "{}",
                                         .now_ms = 7};
    enum db_status status = ledger_debit(db, &charge, &debit->outcome);
    return status == DB_OK && debit->outcome.verdict != LEDGER_OK ? DB_NONE : status;
}

/* One request of a batch. */
static enum ledger_verdict request(struct db *db, const char *account, int64_t units)
{
    struct debit debit = {.account = account, .units = units};
    enum db_status status = db_transact(db, do_debit, &debit);
    cr_assert(status == DB_OK || status == DB_NONE);
    cr_assert_eq(status == DB_OK, debit.outcome.verdict == LEDGER_OK);
    return debit.outcome.verdict;
}

static int64_t spent(struct db *db, const char *account)
{
    struct ledger_account found;
    cr_assert_eq(ledger_find(db, account, &found), DB_OK);
    return found.spent_units;
}

static bool add_spent(void *context, const struct ledger_account *account)
{
    *(int64_t *)context += account->spent_units;
    return true;
}

static int64_t listed(struct db *db)
{
    int64_t sum = 0;
    cr_assert_eq(ledger_list(db, NULL, NULL, &(struct listing_page){.limit = 10}, add_spent, &sum),
                 DB_OK);
    return sum;
}

Test(batch, sees_what_it_has_spent_and_keeps_to_the_limit)
{
    struct fixture f;
    fixture_open(&f, &db_driver_sqlite);
    struct ledger_account account = fixture_account(f.db, LEDGER_DATASET, "ds_desk", NULL, 100, 0);
    struct db *other = fixture_connect(&f);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_expect_eq(request(f.db, account.id, 40), LEDGER_OK);
    cr_expect_eq(request(f.db, account.id, 40), LEDGER_OK);
    cr_expect_eq(request(f.db, account.id, 40), LEDGER_EXHAUSTED);
    cr_expect_eq(spent(f.db, account.id), 80);
    cr_expect_eq(spent(other, account.id), 0);
    cr_expect_eq(listed(f.db), 80, "a list in the batch sees what it spent");
    cr_expect_eq(request(f.db, account.id, 20), LEDGER_OK);
    struct ledger_report report;
    cr_assert_eq(ledger_verify(f.db, &report), DB_OK);
    cr_expect_eq(report.fault_count, 0);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    cr_expect_eq(spent(other, account.id), 100);
    cr_expect_eq(listed(other), 100);
    db_close(other);
    fixture_audit(f.db);
    fixture_close(&f);
}

Test(batch, is_forgotten_when_it_is_rolled_back)
{
    struct fixture f;
    fixture_open(&f, &db_driver_sqlite);
    struct ledger_account account = fixture_account(f.db, LEDGER_DATASET, "ds_back", NULL, 100, 0);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_expect_eq(request(f.db, account.id, 60), LEDGER_OK);
    db_rollback_batch(f.db);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_expect_eq(spent(f.db, account.id), 0);
    cr_expect_eq(request(f.db, account.id, 60), LEDGER_OK);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    cr_expect_eq(spent(f.db, account.id), 60);
    fixture_audit(f.db);
    fixture_close(&f);
}

Test(batch, takes_many_accounts)
{
    enum { ACCOUNTS = 150 };
    struct fixture f;
    fixture_open(&f, &db_driver_sqlite);
    static char ids[ACCOUNTS][ID_SIZE];
    for (int i = 0; i < ACCOUNTS; i++) {
        char resource[32];
        snprintf(resource, sizeof resource, "ds_%d", i);
        struct ledger_account account =
            fixture_account(f.db, LEDGER_DATASET, resource, NULL, 100, 0);
        memcpy(ids[i], account.id, ID_SIZE);
    }
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < ACCOUNTS; i++)
            cr_expect_eq(request(f.db, ids[i], 1), LEDGER_OK);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    for (int i = 0; i < ACCOUNTS; i++)
        cr_expect_eq(spent(f.db, ids[i]), 2);
    fixture_audit(f.db);
    fixture_close(&f);
}

/* Pays, and then finds that it cannot answer. */
static enum db_status debit_and_fail(struct db *db, void *context)
{
    enum db_status status = do_debit(db, context);
    return status == DB_OK ? DB_FAILED : status;
}

Test(batch, a_request_that_fails_after_paying_takes_the_payment_back)
{
    struct fixture f;
    fixture_open(&f, &db_driver_sqlite);
    struct ledger_account account = fixture_account(f.db, LEDGER_DATASET, "ds", NULL, 100, 0);
    for (int attempt = 0; attempt < 2; attempt++) {
        cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
        struct debit first = {.account = account.id, .units = 3};
        cr_assert_eq(db_transact(f.db, do_debit, &first), DB_OK);
        struct debit debit = {.account = account.id, .units = 50};
        enum db_status status = db_transact(f.db, debit_and_fail, &debit);
        if (attempt == 0) { /* nothing can be undone alone: the batch is run again */
            cr_assert_eq(status, DB_RETRY);
            cr_assert_eq(db_commit_batch(f.db), DB_RETRY);
            db_rollback_batch(f.db);
            cr_assert_eq(spent(f.db, account.id), 0);
        } else {
            cr_assert_eq(status, DB_FAILED);
            cr_assert_eq(db_commit_batch(f.db), DB_OK);
        }
    }
    cr_assert_eq(spent(f.db, account.id), 3);
    fixture_audit(f.db);
    fixture_close(&f);
}

/* ---- what a batch remembers */

static void expect_ending(struct db *db, const char *resource, bool ended, bool deleted)
{
    struct ending found;
    enum db_status status = endings_find(db, resource, &found);
    cr_assert_eq(status, ended ? DB_OK : DB_NONE);
    cr_assert(!ended || (found.deleted_ms > 0) == deleted);
}

Test(batch, remembers_nothing_that_it_has_changed)
{
    struct fixture f;
    fixture_open(&f, &db_driver_sqlite);
    struct ledger_account account = fixture_account(f.db, LEDGER_DATASET, "ds_mem", NULL, 100, 0);
    struct ending ending = {.resource = "tch_a", .client = "cli_a", .closed_ms = 5};
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    expect_ending(f.db, "tch_a", false, false);
    cr_expect_eq(request(f.db, account.id, 1), LEDGER_OK);
    expect_ending(f.db, "tch_a", false, false);
    expect_ending(f.db, "tch_b", false, false);
    cr_assert_eq(endings_close(f.db, &ending), DB_OK);
    cr_expect_eq(request(f.db, account.id, 1), LEDGER_OK);
    expect_ending(f.db, "tch_a", true, false);
    expect_ending(f.db, "tch_b", false, false);
    ending.deleted_ms = 6;
    cr_assert_eq(endings_delete(f.db, &ending), DB_OK);
    expect_ending(f.db, "tch_a", true, true);
    db_rollback_batch(f.db);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    expect_ending(f.db, "tch_a", false, false);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    expect_ending(f.db, "tch_a", false, false);
    fixture_close(&f);
}

Test(batch, forgets_at_its_end_what_another_connection_may_change)
{
    struct fixture f;
    fixture_open(&f, &db_driver_sqlite);
    struct db *other = fixture_connect(&f);
    const struct ending ending = {.resource = "tch_a", .client = "cli_a", .closed_ms = 5};
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    expect_ending(f.db, "tch_a", false, false);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    cr_assert_eq(endings_close(other, &ending), DB_OK);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    expect_ending(f.db, "tch_a", true, false);
    db_rollback_batch(f.db);
    db_close(other);
    fixture_close(&f);
}

Test(batch, statements_see_the_entries_before_them)
{
    struct fixture f;
    fixture_open(&f, &db_driver_sqlite);
    struct ledger_account account = fixture_account(f.db, LEDGER_DATASET, "ds_see", NULL, 100, 0);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    for (int64_t n = 1; n <= 3; n++) {
        int64_t entries = 0;
        cr_expect_eq(request(f.db, account.id, 1), LEDGER_OK);
        cr_assert_eq(db_one(f.db, "SELECT count(*) FROM ledger_entries WHERE kind = 'debit'", NULL,
                            0, listing_integer, &entries),
                     DB_OK);
        cr_expect_eq(entries, n);
    }
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    fixture_audit(f.db);
    fixture_close(&f);
}
