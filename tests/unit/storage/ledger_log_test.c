/* The log of the ledger: what is appended, what the auditor compares, and old databases. */
#include "storage/ledger/ledger_log.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/upgrade.h"
#include "tests/checked_test.h"
#include "tests/unit/storage/old_format.h"
#include "tests/unit/storage/store.h"

#define MANY (2 * MERKLE_TILE + 3)

static struct ledger_account account;

static void open_log(void)
{
    fixture_open(&f, &db_driver_sqlite);
    account = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 100000, 1000);
}

static int64_t number_of(const char *sql)
{
    int64_t number = -1;
    cr_assert_eq(db_one(f.db, sql, NULL, 0, listing_integer, &number), DB_OK, "%s",
                 db_last_error(f.db));
    return number;
}

static struct ledger_report audit(void)
{
    struct ledger_report report;
    cr_assert_eq(ledger_verify(f.db, &report), DB_OK, "%s", db_last_error(f.db));
    return report;
}

static void debit(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        cr_assert_eq(fixture_debit(f.db, account.id, 1, 0, NULL), DB_OK);
}

TestSuite(ledger_log, .init = open_log, .fini = store_close);

CHECKED_TEST(ledger_log, every_change_of_an_account_is_a_leaf)
{
    struct ledger_account now;
    struct ledger_leaf leaf;
    debit(2);
    cr_assert_eq(fixture_hold(f.db, "job_a", account.id, 5, NULL), DB_OK);
    cr_assert_eq(fixture_settle(f.db, "job_a", account.id, 2, NULL), DB_OK);
    cr_assert_eq(ledger_find(f.db, account.id, &now), DB_OK);
    cr_assert_eq(now.entries, 5);
    cr_expect_eq(number_of("SELECT count(*) FROM ledger_leaves"), 5);
    cr_assert_eq(ledger_log_find(f.db, account.id, 5, &leaf), DB_OK);
    cr_expect_eq(leaf.number, 4);
    cr_expect_arr_eq(leaf.head, now.head, LEDGER_HASH_SIZE);
    cr_expect_eq(ledger_log_find(f.db, account.id, 6, &leaf), DB_NONE);
}

static enum db_status debit_twice(struct db *db, void *context)
{
    struct ledger_charge charge = {.prices = {{account.id, 1, 0}},
                                   .count = 1,
                                   .client = "cli_student",
                                   .resource = "qry_test",
                                   .event = "{}",
                                   .now_ms = 3000};
    struct ledger_outcome outcome;
    (void)context;
    enum db_status status = ledger_debit(db, &charge, &outcome);
    return status == DB_OK ? ledger_debit(db, &charge, &outcome) : status;
}

CHECKED_TEST(ledger_log, a_batch_appends_one_leaf_for_each_account)
{
    struct ledger_leaf leaves[8];
    unsigned count = 0;
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(db_transact(f.db, debit_twice, NULL), DB_OK);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    cr_assert_eq(ledger_log_of(f.db, account.id, 0, 8, leaves, &count), DB_OK);
    cr_assert_eq(count, 2);
    cr_expect_eq(leaves[1].sequence, 7);
    cr_assert_eq(ledger_log_of(f.db, account.id, 1, 8, leaves, &count), DB_OK);
    cr_expect_eq(count, 1);
}

CHECKED_TEST(ledger_log, what_is_rolled_back_leaves_no_leaf)
{
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_assert_eq(db_transact(f.db, debit_twice, NULL), DB_OK);
    db_rollback_batch(f.db);
    cr_expect_eq(number_of("SELECT count(*) FROM ledger_leaves"), 1);
}

/* ---- the tree */

static unsigned char flat[MANY][MERKLE_HASH_SIZE];

static enum db_status hash_leaf(void *context, const struct db_row *row)
{
    struct ledger_leaf leaf = {.sequence = db_row_integer(row, 1)};
    size_t size;
    cr_assert(db_row_copy(row, 0, leaf.account, ID_SIZE));
    memcpy(leaf.head, db_row_bytes(row, 2, &size), LEDGER_HASH_SIZE);
    char text[LEDGER_LEAF_SIZE], hex[65], wanted[LEDGER_LEAF_SIZE];
    sodium_bin2hex(hex, sizeof hex, leaf.head, 32);
    snprintf(wanted, sizeof wanted, "%s %d %s", leaf.account, (int)leaf.sequence, hex);
    merkle_leaf(text, ledger_leaf_text(&leaf, text), flat[(*(unsigned *)context)++]);
    cr_expect_str_eq(text, wanted);
    return DB_OK;
}

/* Carries an odd one up: the same tree, computed in another way. */
static void flat_root(unsigned count, unsigned char out[MERKLE_HASH_SIZE])
{
    unsigned char hash[MANY][MERKLE_HASH_SIZE], both[65] = {1};
    memcpy(hash, flat, sizeof hash);
    for (; count > 1; count = (count + 1) / 2) {
        for (unsigned i = 0; i + 1 < count; i += 2) {
            memcpy(both + 1, hash[i], 64);
            crypto_hash_sha256(hash[i / 2], both, sizeof both);
        }
        if (count % 2 == 1)
            memcpy(hash[count / 2], hash[count - 1], MERKLE_HASH_SIZE);
    }
    memcpy(out, hash[0], MERKLE_HASH_SIZE);
}

static enum db_status compare_trees(struct db *db, void *context)
{
    unsigned char root[MERKLE_HASH_SIZE], wanted[MERKLE_HASH_SIZE];
    unsigned char tile[MERKLE_TILE][MERKLE_HASH_SIZE];
    struct ledger_tree *tree;
    (void)context;
    for (unsigned size = 1; size <= MANY; size += size < 250 ? 83 : 1) {
        cr_assert_eq(ledger_tree_open(db, size, &tree), DB_OK);
        cr_assert(merkle_root(&tree->tree, root));
        flat_root(size, wanted);
        cr_expect_arr_eq(root, wanted, MERKLE_HASH_SIZE, "size %u", size);
        free(tree);
    }
    cr_expect_eq(ledger_tree_open(db, MANY + 1, &tree), DB_NONE);
    cr_assert_eq(ledger_tree_open(db, -1, &tree), DB_OK);
    cr_expect_eq(tree->tree.size, MANY);
    cr_expect_eq(ledger_tree_tile(tree, 0, 2, 3, tile), DB_OK);
    cr_expect_arr_eq(tile[2], flat[MANY - 1], MERKLE_HASH_SIZE);
    cr_expect_eq(ledger_tree_tile(tree, 0, 2, 4, tile), DB_NONE);
    cr_expect_eq(ledger_tree_tile(tree, 1, 0, 2, tile), DB_OK);
    cr_expect_eq(ledger_tree_tile(tree, 1, 0, 3, tile), DB_NONE);
    cr_expect_eq(ledger_tree_tile(tree, 2, 0, 1, tile), DB_NONE);
    cr_expect_eq(ledger_tree_tile(tree, 63, 0, 1, tile), DB_NONE);
    cr_expect_eq(ledger_tree_tile(tree, 0, INT64_MAX / 512, 1, tile), DB_NONE);
    free(tree);
    return DB_OK;
}

CHECKED_TEST(ledger_log, its_tree_is_that_of_its_leaves)
{
    unsigned count = 0;
    debit(MANY - 1);
    cr_assert_eq(db_run(f.db, "SELECT account, sequence, head FROM ledger_leaves ORDER BY number",
                        NULL, 0, hash_leaf, &count),
                 DB_OK);
    cr_assert_eq(count, MANY);
    cr_assert_eq(db_view(f.db, compare_trees, NULL), DB_OK);
    struct ledger_report report = audit();
    unsigned char wanted[MERKLE_HASH_SIZE];
    flat_root(MANY, wanted);
    cr_expect_eq(report.leaves, MANY);
    cr_expect_arr_eq(report.root, wanted, MERKLE_HASH_SIZE);
}

/* ---- the auditor */

CHECKED_TEST(ledger_log, nothing_of_it_is_changed_or_removed)
{
    debit(MERKLE_TILE);
    cr_expect_neq(fixture_sql(f.db, "UPDATE ledger_leaves SET sequence = 9 WHERE number = 0"),
                  DB_OK);
    cr_expect_neq(fixture_sql(f.db, "DELETE FROM ledger_leaves WHERE number = 0"), DB_OK);
    cr_expect_neq(fixture_sql(f.db, "UPDATE ledger_nodes SET level = 2"), DB_OK);
    cr_expect_neq(fixture_sql(f.db, "DELETE FROM ledger_nodes"), DB_OK);
}

CHECKED_TEST(ledger_log, the_auditor_sees_what_was_edited)
{
    static const char *const edits[] = {
        "UPDATE ledger_leaves SET head = x'"
        "0000000000000000000000000000000000000000000000000000000000000000' WHERE number = 3",
        "UPDATE ledger_leaves SET head = x'00' WHERE number = 3",
        "UPDATE ledger_leaves SET sequence = 9999 WHERE number = 3",
        "UPDATE ledger_leaves SET account = 'acc_other' WHERE number = 3",
        "UPDATE ledger_leaves SET number = 9999 WHERE number = 3",
        "DELETE FROM ledger_leaves WHERE number = 3",
        "DELETE FROM ledger_leaves WHERE number = 256",
        "DELETE FROM ledger_leaves",
        "DELETE FROM ledger_nodes",
        "UPDATE ledger_nodes SET number = 1",
        "UPDATE ledger_nodes SET hash = x'"
        "0000000000000000000000000000000000000000000000000000000000000000'",
        "INSERT INTO ledger_nodes (level, number, hash) VALUES (1, 1, x'00')",
    };
    debit(MERKLE_TILE);
    cr_assert_eq(audit().fault_count, 0);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_leaves_stay"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_leaves_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_nodes_stay"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_nodes_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "CREATE TABLE kept_leaves AS SELECT * FROM ledger_leaves"),
                 DB_OK);
    cr_assert_eq(fixture_sql(f.db, "CREATE TABLE kept_nodes AS SELECT * FROM ledger_nodes"), DB_OK);
    for (unsigned i = 0; i < sizeof edits / sizeof *edits; i++) {
        cr_assert_eq(fixture_sql(f.db, edits[i]), DB_OK, "%s: %s", edits[i], db_last_error(f.db));
        cr_expect_gt(audit().fault_count, 0, "%s", edits[i]);
        cr_assert_eq(fixture_sql(f.db, "DELETE FROM ledger_leaves"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "INSERT INTO ledger_leaves SELECT * FROM kept_leaves"),
                     DB_OK);
        cr_assert_eq(fixture_sql(f.db, "DELETE FROM ledger_nodes"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "INSERT INTO ledger_nodes SELECT * FROM kept_nodes"), DB_OK);
        cr_assert_eq(audit().fault_count, 0);
    }
}

/* ---- databases that had no log */

CHECKED_TEST(ledger_log, an_older_database_gets_a_leaf_for_each_account)
{
    struct fixture old;
    char error[DB_ERROR_SIZE];
    struct ledger_report report;
    old_open_golden(&old);
    cr_assert_eq(storage_upgrade(old.db, error), DB_OK, "%s", error);
    cr_assert_eq(ledger_verify(old.db, &report), DB_OK);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_gt(report.leaves, 1);
    cr_expect_eq(report.leaves, report.accounts);
    fixture_close(&old);
}
