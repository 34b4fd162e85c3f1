/* What is left of the log where no leaf is, and what it still shows. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "storage/ledger/ledger_log.h"
#include "storage/ledger/ledger_reduce.h"
#include "tests/unit/storage/fold_scene.h"

#define LEAVES   "SELECT count(*) FROM ledger_leaves"
#define TILES    "SELECT count(*) FROM ledger_tiles"
#define SUBTREES "SELECT count(*) FROM ledger_subtrees"
#define NODES    "SELECT count(*) FROM ledger_nodes"

static void open_sqlite(void)
{
    fold_open(&db_driver_sqlite);
}

TestSuite(ledger_reduce, .init = open_sqlite, .fini = fold_close);

/* A head of the log, and the proof that the whole of it goes on from there. */
struct head {
    int64_t size;
    unsigned char root[MERKLE_HASH_SIZE];
    enum db_status status; /* of the proof */
    bool goes_on;
};

static enum db_status take_root(struct db *db, void *context)
{
    struct head *head = context;
    struct ledger_tree *tree = NULL;
    cr_assert_eq(ledger_tree_open(db, head->size, &tree), DB_OK);
    cr_assert(merkle_root(&tree->tree, head->root));
    head->size = (int64_t)tree->tree.size;
    free(tree);
    return DB_OK;
}

/* The first SIZE leaves, or all of them for -1. */
static struct head head_of(int64_t size)
{
    struct head head = {.size = size};
    cr_assert_eq(db_view(fold_fixture.db, take_root, &head), DB_OK);
    return head;
}

static enum db_status prove(struct db *db, void *context)
{
    struct head *head = context;
    struct ledger_tree *tree = NULL;
    struct merkle_proof proof;
    unsigned char root[MERKLE_HASH_SIZE];
    cr_assert_eq(ledger_tree_open(db, -1, &tree), DB_OK);
    cr_assert(merkle_root(&tree->tree, root));
    bool read = merkle_consistency(&tree->tree, (uint64_t)head->size, &proof);
    head->status = ledger_tree_status(tree, read);
    head->goes_on = read && merkle_consistency_holds((uint64_t)head->size, head->root,
                                                     tree->tree.size, root, &proof);
    free(tree);
    return DB_OK;
}

static enum db_status proof_of(struct head *head)
{
    cr_assert_eq(db_view(fold_fixture.db, prove, head), DB_OK);
    return head->status;
}

static bool reduce_all(void)
{
    struct ledger_reduction reduction = {.next = 0};
    bool damaged = false;
    do {
        cr_assert_eq(ledger_reduce(fold_fixture.db, &reduction), DB_OK, "%s",
                     db_last_error(fold_fixture.db));
        damaged = damaged || reduction.damaged;
    } while (reduction.more || reduction.next > 0);
    return damaged;
}

static void expect_whole(void)
{
    struct ledger_report report = fold_verify();
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
}

static enum db_status read_tile(struct db *db, void *context)
{
    unsigned char tile[MERKLE_TILE][MERKLE_HASH_SIZE];
    struct ledger_tree *tree = NULL;
    cr_assert_eq(ledger_tree_open(db, -1, &tree), DB_OK);
    enum db_status status = ledger_tree_tile(tree, 0, *(const int64_t *)context, MERKLE_TILE, tile);
    free(tree);
    return status;
}

static enum db_status tile_status(int64_t number)
{
    return db_view(fold_fixture.db, read_tile, &number);
}

/* Tile 0 has the leaves of three accounts that opened; 1, 2 and 3 of debits alone. */
static void spend_and_fold(void)
{
    fold_spend(fold_teacher.id, 1000, 1100);
    fold_before(5000);
    cr_assert_eq(fold_number(TILES), 4);
}

Test(ledger_reduce, leaves_the_roots_of_tiles_without_leaves)
{
    spend_and_fold();
    struct head whole = head_of(-1), second = head_of(512);
    int64_t leaves = fold_verify().leaves;
    cr_expect_not(reduce_all());
    cr_expect_eq(fold_number(SUBTREES), 3);
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_tiles WHERE number = 0"), 1);
    cr_expect_eq(fold_number(TILES), 1);
    cr_expect_arr_eq(head_of(-1).root, whole.root, sizeof whole.root);
    cr_expect_eq(proof_of(&second), DB_OK); /* it ends where a tile does */
    cr_expect(second.goes_on);
    cr_expect_eq(tile_status(0), DB_OK);
    cr_expect_eq(tile_status(1), DB_NONE);
    expect_whole();
    cr_expect_eq(fold_verify().leaves, leaves);
    fold_spend(fold_teacher.id, 6000, 600);
    expect_whole();
    fold_before(9000);
    cr_expect_not(reduce_all());
    cr_expect_eq(fold_number(SUBTREES), 5);
    expect_whole();
}

Test(ledger_reduce, leaves_what_a_checkpoint_was_given_of)
{
    spend_and_fold();
    struct head given = head_of(600), aligned = head_of(768), other = head_of(300);
    cr_assert_eq(ledger_head_keep(fold_fixture.db, 600), DB_OK);
    cr_assert_eq(ledger_head_keep(fold_fixture.db, 601), DB_OK);
    cr_expect_not(reduce_all());
    cr_expect_eq(fold_number(SUBTREES), 2);
    cr_expect_eq(tile_status(2), DB_OK);
    cr_expect_eq(proof_of(&given), DB_OK);
    cr_expect(given.goes_on);
    cr_expect_eq(proof_of(&aligned), DB_OK);
    cr_expect(aligned.goes_on);
    cr_expect_eq(proof_of(&other), DB_NONE);
    expect_whole();
    cr_expect_eq(ledger_head_keep(fold_fixture.db, 300), DB_FAILED); /* too late */
    cr_assert_eq(ledger_head_keep_now(fold_fixture.db), DB_OK);
    cr_expect_eq(fold_number("SELECT max(tile) FROM ledger_heads"), 4);
}

/* ---- a large log */

#define LARGE (65536 + 65536 + 700)

static enum db_status append_many(struct db *db, void *context)
{
    struct ledger_account account = fold_teacher;
    (void)context;
    for (int64_t i = 0; i < LARGE; i++) {
        account.entries++;
        memcpy(account.head, &account.entries, sizeof account.entries);
        cr_assert_eq(ledger_log_append(db, &account), DB_OK);
    }
    return ledger_log_forget(db, account.id, 2, account.entries);
}

/* Leaves of entries that there never were: only the tree is asked for. */
static void make_large(void)
{
    cr_assert_eq(db_transact(fold_fixture.db, append_many, NULL), DB_OK, "%s",
                 db_last_error(fold_fixture.db));
    cr_assert_eq(fold_number(TILES), LARGE / 256);
}

Test(ledger_reduce, joins_256_parts_of_one_level)
{
    make_large();
    struct head given = head_of(70000), end = head_of(-1), old = head_of(131072);
    cr_assert_eq(ledger_head_keep(fold_fixture.db, 70000), DB_OK);
    cr_expect_not(reduce_all());
    /* Of the first 65536 the tile of the opened accounts stays; of the others that of the head. */
    cr_expect_eq(fold_number(TILES), 2);
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_subtrees WHERE level = 2"), 0);
    cr_expect_arr_eq(head_of(-1).root, end.root, sizeof end.root);
    cr_expect_eq(proof_of(&given), DB_OK);
    cr_expect(given.goes_on);
    cr_expect_eq(proof_of(&old), DB_OK);
    cr_expect(old.goes_on);
}

Test(ledger_reduce, keeps_one_hash_of_65536_leaves)
{
    make_large();
    struct head second = head_of(131072), inside = head_of(65536 + 256), end = head_of(-1);
    cr_expect_not(reduce_all());
    cr_expect_eq(fold_number("SELECT number FROM ledger_subtrees WHERE level = 2"), 1);
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_subtrees WHERE level = 1 AND number < "
                             "512"),
                 255);
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_nodes WHERE level = 1 AND number >= 256 "
                             "AND number < 512"),
                 0);
    cr_expect_arr_eq(head_of(-1).root, end.root, sizeof end.root);
    cr_expect_eq(proof_of(&second), DB_OK);
    cr_expect(second.goes_on);
    cr_expect_eq(proof_of(&inside), DB_NONE);
    cr_expect_eq(tile_status(300), DB_NONE);
}

/* ---- what must not happen */

Test(ledger_reduce, leaves_a_damaged_tile_and_reduces_the_others)
{
    spend_and_fold();
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_tiles_fixed");
    fixture_sql(fold_fixture.db,
                "UPDATE ledger_tiles SET hashes = zeroblob(8192) WHERE number = 2");
    cr_expect(reduce_all());
    cr_expect_eq(fold_number(SUBTREES), 2);
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_tiles WHERE number = 2"), 1);
}

/* Its row is as it was stored, and not as the tree is. */
Test(ledger_reduce, leaves_what_is_above_a_damaged_part, .timeout = 60)
{
    make_large();
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_nodes_fixed");
    fixture_sql(fold_fixture.db, "UPDATE ledger_nodes SET hash = zeroblob(32) WHERE level = 2");
    cr_expect(reduce_all());
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_subtrees WHERE level = 2"), 0);
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_subtrees WHERE level = 1"),
                 LARGE / 256 - 1);
}

Test(ledger_reduce, takes_no_hash_that_is_not_the_trees)
{
    spend_and_fold();
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_nodes_fixed");
    fixture_sql(fold_fixture.db, "UPDATE ledger_nodes SET hash = zeroblob(32) WHERE number = 2");
    cr_expect(reduce_all());
    cr_expect_eq(fold_number(SUBTREES), 2);
}

Test(ledger_reduce, the_database_refuses_what_would_lose_a_part)
{
    static const char *const statements[] = {
        "DELETE FROM ledger_heads",
        "UPDATE ledger_heads SET tile = 7",
        "DELETE FROM ledger_subtrees",
        "UPDATE ledger_subtrees SET number = 7",
        "DELETE FROM ledger_nodes",
        "DELETE FROM ledger_tiles",
        "INSERT INTO ledger_subtrees VALUES (1, 0, zeroblob(32), x'00')",
        "INSERT INTO ledger_subtrees VALUES (1, 9, zeroblob(32), x'00')",
        "INSERT INTO ledger_subtrees SELECT 1, number, hash, x'00' FROM ledger_nodes WHERE number "
        "= 0",
        "INSERT INTO ledger_subtrees VALUES (2, 0, zeroblob(32), x'00')",
    };
    spend_and_fold();
    cr_assert_eq(ledger_head_keep(fold_fixture.db, 9 * 256), DB_OK);
    reduce_all();
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        cr_expect_neq(fixture_sql(fold_fixture.db, statements[i]), DB_OK, "%s", statements[i]);
    expect_whole();
}

Test(ledger_reduce, the_auditor_sees_what_was_edited)
{
    static const char *const edits[] = {
        "UPDATE ledger_subtrees SET hash = zeroblob(32) WHERE number = 2",
        "UPDATE ledger_subtrees SET number = 9 WHERE number = 2",
        "DELETE FROM ledger_subtrees WHERE number = 3",
        "DELETE FROM ledger_subtrees",
        "INSERT INTO ledger_subtrees VALUES (2, 7, zeroblob(32), x'00')",
        "INSERT INTO ledger_heads VALUES (2)",
    };
    struct ledger_report report;
    spend_and_fold();
    reduce_all();
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_subtrees_fixed");
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_subtrees_join");
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_subtrees_bare");
    fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_heads_stay");
    fixture_sql(fold_fixture.db, "CREATE TABLE kept AS SELECT * FROM ledger_subtrees");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        cr_assert_eq(fixture_sql(fold_fixture.db, edits[i]), DB_OK, "%s", edits[i]);
        enum db_status status = ledger_verify(fold_fixture.db, &report);
        cr_expect(status != DB_OK || report.fault_count > 0, "%s", edits[i]);
        fixture_sql(fold_fixture.db, "DELETE FROM ledger_subtrees");
        fixture_sql(fold_fixture.db, "DELETE FROM ledger_heads");
        fixture_sql(fold_fixture.db, "INSERT INTO ledger_subtrees SELECT * FROM kept");
        expect_whole();
    }
    cr_assert_eq(fixture_sql(fold_fixture.db, "UPDATE ledger_nodes SET hash = x''"), DB_FAILED);
}
