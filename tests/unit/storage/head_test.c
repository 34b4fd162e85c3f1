/* The note of how many entries the ledger has had: it counts what is committed, and an older copy
 * or a shortened account has fewer. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "storage/ledger/ledger_verify.h"
#include "storage/upgrade.h"
#include "tests/unit/storage/store.h"

/* Notes are kept by durable stores alone. */
static void open_durable(void)
{
    char error[DB_ERROR_SIZE];
    fixture_name(&f);
    struct db_settings settings = {.location = f.path};
    f.store = db_store_new(&db_driver_sqlite, &settings);
    f.db = fixture_connect(&f);
    cr_assert_eq(storage_upgrade(f.db, error), DB_OK, "%s", error);
}

static void close_durable(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/ledger.head", f.folder);
    unlink(path);
    fixture_close(&f);
}

static int64_t entries(void)
{
    struct ledger_report report;
    cr_assert_eq(ledger_verify(f.db, &report), DB_OK);
    return report.entries;
}

static enum db_status debit_and_fail(struct db *db, void *account)
{
    enum db_status status = fixture_debit(db, account, 1, 0, NULL);
    return status == DB_OK ? DB_NONE : status;
}

Test(head, counts_what_is_committed, .init = open_durable, .fini = close_durable)
{
    cr_expect_eq(db_noted_entries(f.db), 0);
    struct ledger_account account = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 100, 0);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(fixture_debit(f.db, account.id, 1, 0, NULL), DB_OK);
        cr_expect_eq(db_noted_entries(f.db), entries());
    }
    cr_assert_eq(db_transact(f.db, debit_and_fail, account.id), DB_NONE);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_assert_eq(fixture_debit(f.db, account.id, 1, 0, NULL), DB_OK);
    db_rollback_batch(f.db);
    cr_expect_eq(db_noted_entries(f.db), entries());
    cr_expect_eq(entries(), 6);
}

/* Two connections: the number never falls, also when the other one has written it. */
Test(head, never_falls, .init = open_durable, .fini = close_durable)
{
    struct ledger_account account = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 100, 0);
    struct db *other = fixture_connect(&f);
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(fixture_debit(i % 2 ? other : f.db, account.id, 1, 0, NULL), DB_OK);
        cr_expect_eq(db_noted_entries(f.db), 2 + i);
        cr_assert_eq(
            fixture_sql(i % 2 ? f.db : other, "INSERT INTO meta (name, value) VALUES ('x', 'y')"),
            DB_OK);
        cr_assert_eq(fixture_sql(f.db, "DELETE FROM meta WHERE name = 'x'"), DB_OK);
        cr_expect_eq(db_noted_entries(other), 2 + i);
    }
    db_close(other);
}

/* The last entry of an account is removed, and head, sums and log are set to match: the chain is
 * whole, and the count is not. Others have written since. */
Test(head, a_shortened_account_has_fewer, .init = open_durable, .fini = close_durable)
{
    static const char *const cuts[] = {
        "DROP TRIGGER ledger_entries_stay",
        "DELETE FROM ledger_entries WHERE account = (SELECT id FROM ledger_accounts WHERE resource "
        "= 'ds_a') AND sequence = 3",
        "UPDATE ledger_accounts SET entries = 2, spent_units = 7, head = (SELECT hash FROM "
        "ledger_entries WHERE account = ledger_accounts.id AND sequence = 2) WHERE resource = "
        "'ds_a'",
        "DROP TRIGGER ledger_leaves_stay",
        "DROP TRIGGER ledger_leaves_fixed",
        "DELETE FROM ledger_leaves WHERE number = 3",
        "UPDATE ledger_leaves SET number = 3 WHERE number = 4",
    };
    struct ledger_account cut = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 100, 0);
    struct ledger_account whole = fixture_account(f.db, LEDGER_DATASET, "ds_b", NULL, 100, 0);
    cr_assert_eq(fixture_debit(f.db, cut.id, 7, 0, NULL), DB_OK);
    cr_assert_eq(fixture_debit(f.db, cut.id, 8, 0, NULL), DB_OK);
    cr_assert_eq(fixture_debit(f.db, whole.id, 9, 0, NULL), DB_OK);
    for (unsigned i = 0; i < sizeof cuts / sizeof *cuts; i++)
        cr_assert_eq(fixture_sql(f.db, cuts[i]), DB_OK, "%s", db_last_error(f.db));
    fixture_audit(f.db); /* it finds nothing */
    cr_expect_eq(entries(), 4);
    cr_expect_eq(db_noted_entries(f.db), 5);
}

static void put_note(const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s/ledger.head", f.folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

/* A write of 20 over 19 that ended between the digits; the one line of former versions; and what
 * is no note. */
Test(head, is_never_more_than_what_was_written, .init = open_durable, .fini = close_durable)
{
    static const struct {
        const char *text;
        int64_t number;
    } rows[] = {
        {"0000000000000000020\n0000000000000000020\n", 20},
        {"0000000000000000029\n0000000000000000019\n", 19},
        {"0000000000000000020\n0000000000000000029\n", 20},
        {"0000000000000000020\n", 20},
        {"0000000000000000020\n00000", 0},
        {"00000000000 0000020\n0000000000000000020\n", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put_note(rows[i].text);
        cr_expect_eq(db_noted_entries(f.db), rows[i].number, "%s", rows[i].text);
    }
}
