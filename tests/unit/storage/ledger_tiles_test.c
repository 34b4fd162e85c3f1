/* Leaves of the log go when their entries are folded; what the log shows stays. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "storage/ledger/ledger_log.h"
#include "tests/unit/storage/fold_scene.h"

#define LEAVES "SELECT count(*) FROM ledger_leaves"
#define MOST   1000

static void open_sqlite(void)
{
    fold_open(&db_driver_sqlite);
}

TestSuite(ledger_tiles, .init = open_sqlite, .fini = fold_close);

static unsigned char roots[2][MOST][MERKLE_HASH_SIZE];
static int64_t leaves;

static enum db_status read_roots(struct db *db, void *context)
{
    unsigned char(*out)[MERKLE_HASH_SIZE] = context;
    for (int64_t size = 0; size <= leaves; size++) {
        struct ledger_tree *tree = NULL;
        cr_assert_eq(ledger_tree_open(db, size, &tree), DB_OK);
        cr_assert(merkle_root(&tree->tree, out[size]));
        free(tree);
    }
    return DB_OK;
}

/* 300 debits of each of two accounts, in turns. */
static void spend_in_turns(void)
{
    for (int i = 0; i < 300; i++) {
        fold_spend(fold_teacher.id, 1000 + i, 1);
        fold_spend(fold_student.id, 1000 + i, 1);
    }
    leaves = fold_number(LEAVES);
    cr_assert_lt(leaves, MOST);
}

Test(ledger_tiles, the_log_has_every_root_that_it_had)
{
    spend_in_turns();
    cr_assert_eq(db_view(fold_fixture.db, read_roots, roots[0]), DB_OK);
    int64_t before = fold_verify().leaves;
    fold_before(2000);
    cr_expect_lt(fold_number(LEAVES), 100);
    cr_assert_eq(db_view(fold_fixture.db, read_roots, roots[1]), DB_OK);
    cr_expect_arr_eq(roots[0], roots[1], sizeof roots[0]);
    struct ledger_report report = fold_verify();
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_eq(report.leaves, before);
}

Test(ledger_tiles, it_goes_on_behind_them)
{
    spend_in_turns();
    fold_before(1100);
    fold_spend(fold_teacher.id, 5000, 300);
    leaves = fold_verify().leaves;
    cr_assert_lt(leaves, MOST);
    cr_assert_eq(db_view(fold_fixture.db, read_roots, roots[0]), DB_OK);
    fold_before(9000);
    cr_assert_eq(db_view(fold_fixture.db, read_roots, roots[1]), DB_OK);
    cr_expect_arr_eq(roots[0], roots[1], sizeof roots[0]);
    cr_expect_eq(fold_verify().fault_count, 0);
    cr_expect_lt(fold_number(LEAVES), 256);
}

Test(ledger_tiles, leaves_of_entries_that_are_there_stay)
{
    struct ledger_leaf leaf;
    spend_in_turns();
    fold_before(2000);
    cr_assert_eq(ledger_find(fold_fixture.db, fold_student.id, &fold_student), DB_OK);
    cr_expect_eq(ledger_log_find(fold_fixture.db, fold_student.id, 1, &leaf), DB_OK);
    cr_expect_eq(ledger_log_find(fold_fixture.db, fold_student.id, fold_student.entries, &leaf),
                 DB_OK);
    cr_expect_eq(ledger_log_find(fold_fixture.db, fold_student.id, 2, &leaf), DB_NONE);
    cr_expect_neq(fixture_sql(fold_fixture.db, "DELETE FROM ledger_leaves WHERE number = 0"),
                  DB_OK);
    cr_expect_neq(fixture_sql(fold_fixture.db, "DELETE FROM ledger_tiles"), DB_OK);
    cr_expect_neq(fixture_sql(fold_fixture.db, "UPDATE ledger_tiles SET number = 7"), DB_OK);
}

/* A list of leaves ends where one is removed. */
Test(ledger_tiles, no_other_leaf_stands_for_one_that_is_removed)
{
    struct ledger_leaf found[8];
    unsigned count = 0;
    spend_in_turns();
    fold_before(2000);
    cr_assert_eq(ledger_log_leaves(fold_fixture.db, 0, 8, found, &count), DB_OK);
    cr_assert_leq(count, 3);
    for (unsigned i = 0; i < count; i++)
        cr_expect_eq(found[i].number, i);
}

Test(ledger_tiles, the_auditor_sees_what_was_edited)
{
    static const char *const edits[] = {
        "UPDATE ledger_tiles SET hashes = zeroblob(8192) WHERE number = 0",
        "UPDATE ledger_tiles SET number = 9 WHERE number = 0",
        "DELETE FROM ledger_tiles WHERE number = 1",
        "DELETE FROM ledger_tiles",
        "DELETE FROM ledger_leaves WHERE sequence = 1",
    };
    struct ledger_report report;
    spend_in_turns();
    fold_before(2000);
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_tiles_stay");
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_tiles_fixed");
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_leaves_stay");
    fixture_sql(fold_fixture.db, "CREATE TABLE kept AS SELECT * FROM ledger_tiles");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        cr_assert_eq(fixture_sql(fold_fixture.db, edits[i]), DB_OK, "%s", edits[i]);
        enum db_status status = ledger_verify(fold_fixture.db, &report);
        cr_expect(status != DB_OK || report.fault_count > 0, "%s", edits[i]);
        fixture_sql(fold_fixture.db, "DELETE FROM ledger_tiles");
        fixture_sql(fold_fixture.db, "INSERT INTO ledger_tiles SELECT * FROM kept");
        if (i + 2 < sizeof edits / sizeof *edits)
            cr_assert_eq(fold_verify().fault_count, 0);
    }
}

/* Once its entry is gone nothing else tells that a leaf has changed. */
Test(ledger_tiles, a_leaf_that_is_not_its_entrys_is_never_made_true)
{
    static const char *const edits[] = {
        "UPDATE ledger_leaves SET head = zeroblob(32) WHERE number = 20",
        "UPDATE ledger_leaves SET head = zeroblob(32) WHERE number = (SELECT max(number) - 20 FROM "
        "ledger_leaves)",
        "UPDATE ledger_leaves SET sequence = 1000 WHERE number = (SELECT max(number) - 20 FROM "
        "ledger_leaves)",
    };
    spend_in_turns();
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_leaves_fixed");
    fixture_sql(fold_fixture.db, "CREATE TABLE kept AS SELECT * FROM ledger_leaves");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct ledger_sweep sweep = {.from_ms = 2000, .now_ms = INT64_MAX};
        cr_assert_eq(fixture_sql(fold_fixture.db, edits[i]), DB_OK);
        cr_expect_eq(ledger_fold(fold_fixture.db, &sweep), DB_FAILED, "%s", edits[i]);
        fixture_sql(fold_fixture.db,
                    "UPDATE ledger_leaves SET (head, sequence) = (SELECT head, "
                    "sequence FROM kept WHERE kept.number = ledger_leaves.number)");
    }
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_entries WHERE kind = 'folded'"), 0);
    fold_before(2000);
}

Test(ledger_tiles, a_leaf_that_changes_when_its_entry_is_gone_is_found_by_the_next_fold)
{
    static const char *const edits[] = {
        "UPDATE ledger_leaves SET head = zeroblob(32) WHERE number = "
        "(SELECT max(number) - 20 FROM ledger_leaves)",
        "DELETE FROM meta WHERE name = 'log-root'",
    };
    struct ledger_report report;
    spend_in_turns();
    fold_before(2000);
    fold_spend(fold_teacher.id, 3000, 3);
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_leaves_fixed");
    fixture_sql(fold_fixture.db, "CREATE TABLE kept AS SELECT * FROM ledger_leaves");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct ledger_sweep sweep = {.from_ms = 9000, .now_ms = INT64_MAX};
        cr_assert_eq(fixture_sql(fold_fixture.db, edits[i]), DB_OK);
        cr_expect_eq(ledger_fold(fold_fixture.db, &sweep), DB_FAILED, "%s", edits[i]);
        cr_expect(ledger_verify(fold_fixture.db, &report) == DB_OK && report.fault_count > 0);
        fixture_sql(fold_fixture.db, "UPDATE ledger_leaves SET head = (SELECT head FROM kept WHERE "
                                     "kept.number = ledger_leaves.number)");
    }
}
