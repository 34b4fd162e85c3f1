/* The auditor's part that is the log: computes its tree again from the leaves, and compares the
 * leaves with the accounts. */
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/listing.h"
#include "storage/ledger/ledger_log.h"
#include "storage/ledger/ledger_post.h"
#include "storage/ledger/ledger_reduce.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/ledger/trail.h"

struct log_audit {
    struct db *db;
    struct ledger_report *report;
    int64_t leaves, removed;
    int64_t nodes, subtrees; /* that should be stored */
    struct ledger_tile tile; /* the last one that was looked for; not there: its number is -1 */
    int64_t tile_number;     /* that was looked for; -1: none */
    unsigned char tiles[MERKLE_LEVELS][MERKLE_TILE][MERKLE_HASH_SIZE]; /* that are growing */
};

static enum db_status check_node(struct log_audit *log, unsigned level, int64_t number,
                                 unsigned char hash[MERKLE_HASH_SIZE])
{
    log->nodes++;
    enum db_status status = ledger_node_compare(log->db, level, number, hash);
    if (status == DB_NONE)
        ledger_report_fault(log->report, "", 0, "the leaves of the log are not those of its tree");
    return db_optional(status);
}

/* Looks for the tile of leaf NUMBER, which has the hashes of leaves that are removed. */
static enum db_status take_tile(struct log_audit *log, int64_t number)
{
    if (log->tile_number == number / MERKLE_TILE)
        return DB_OK;
    log->tile_number = number / MERKLE_TILE;
    enum db_status status = ledger_tile_find(log->db, log->tile_number, &log->tile);
    if (status == DB_NONE)
        log->tile.number = -1;
    return db_optional(status);
}

/* A tile that is stored is that of its leaves. */
static enum db_status check_tile(struct log_audit *log, int64_t last)
{
    enum db_status status = take_tile(log, last);
    if (status == DB_OK && log->tile.number >= 0 &&
        memcmp(log->tile.hashes, log->tiles[0], sizeof log->tile.hashes) != 0)
        ledger_report_fault(log->report, "", 0, "a tile of the log is not that of its leaves");
    return status;
}

/* Adds node NUMBER of LEVEL to the tiles, and compares the nodes that it completes with those that
 * are stored. */
static enum db_status grow_tiles(struct log_audit *log, unsigned level, int64_t number,
                                 const unsigned char node[MERKLE_HASH_SIZE])
{
    unsigned char hash[MERKLE_HASH_SIZE];
    enum db_status status = DB_OK;
    memcpy(hash, node, sizeof hash);
    for (; level + 1 < MERKLE_LEVELS && status == DB_OK; level++) {
        memcpy(log->tiles[level][number % MERKLE_TILE], hash, MERKLE_HASH_SIZE);
        if (number % MERKLE_TILE != MERKLE_TILE - 1)
            break;
        if (level == 0)
            status = check_tile(log, number);
        if (status != DB_OK)
            break;
        merkle_tile(log->tiles[level], hash);
        number /= MERKLE_TILE;
        status = check_node(log, level + 1, number, hash);
    }
    return status;
}

static enum db_status count_leaf(struct log_audit *log, const unsigned char hash[MERKLE_HASH_SIZE])
{
    return grow_tiles(log, 0, log->leaves++, hash);
}

/* No checkpoint was given that ends among the leaves from FIRST on and before LAST. */
static enum db_status check_heads(struct log_audit *log, int64_t first, int64_t last)
{
    int64_t heads = 0;
    enum db_status status =
        db_owed(db_one(log->db, "SELECT count(*) FROM ledger_heads WHERE tile >= $1 AND tile < $2",
                       DB_VALUES(db_integer(first / MERKLE_TILE), db_integer(last / MERKLE_TILE)),
                       listing_integer, &heads));
    if (status == DB_OK && heads > 0)
        ledger_report_fault(log->report, "", 0,
                            "a part of the log is gone that a checkpoint needs");
    return status;
}

/* Adds the reduced subtree that begins with the next leaf. DB_NONE: there is none. */
static enum db_status add_subtree(struct log_audit *log)
{
    struct ledger_subtree subtree;
    enum db_status status = DB_NONE;
    int64_t leaves = 1; /* of a node of LEVEL */
    for (int64_t level = 1; status == DB_NONE && level < MERKLE_LEVELS; level++) {
        leaves *= MERKLE_TILE;
        if (log->leaves % leaves != 0)
            return DB_NONE;
        status = ledger_subtree_find(log->db, level, log->leaves / leaves, &subtree);
    }
    if (status != DB_OK)
        return status;
    log->leaves += leaves;
    log->removed += leaves;
    log->subtrees++;
    status = check_heads(log, log->leaves - leaves, log->leaves);
    if (status == DB_OK)
        status = check_node(log, (unsigned)subtree.level, subtree.number, subtree.hash);
    return status == DB_OK ? grow_tiles(log, (unsigned)subtree.level, subtree.number, subtree.hash)
                           : status;
}

/* Adds the leaves before NUMBER that are removed. DB_NONE: one of them has no hash. */
static enum db_status add_removed(struct log_audit *log, int64_t number)
{
    enum db_status status = DB_OK;
    while (log->leaves < number && status == DB_OK) {
        status = take_tile(log, log->leaves);
        if (status == DB_OK && log->tile.number < 0) {
            status = add_subtree(log);
        } else if (status == DB_OK) {
            int64_t place = log->leaves % MERKLE_TILE;
            log->removed++;
            status = count_leaf(log, log->tile.hashes + place * MERKLE_HASH_SIZE);
        }
    }
    return status;
}

/* A leaf, the hash of its entry, and how many entries its account has. */
static enum db_status audit_leaf(void *context, const struct db_row *row)
{
    struct log_audit *log = context;
    struct ledger_leaf leaf = {.number = db_row_integer(row, 0),
                               .sequence = db_row_integer(row, 2)};
    unsigned char hash[MERKLE_HASH_SIZE];
    size_t size, entry_size;
    const void *head = db_row_bytes(row, 3, &size), *entry = db_row_bytes(row, 4, &entry_size);
    enum db_status status = add_removed(log, leaf.number);
    if (status != DB_OK && status != DB_NONE)
        return status;
    if (!db_row_copy(row, 1, leaf.account, ID_SIZE) || size != LEDGER_HASH_SIZE ||
        leaf.number != log->leaves) {
        ledger_report_fault(log->report, leaf.account, leaf.sequence,
                            "a leaf of the log is missing or cannot be read");
        return DB_NONE; /* what is behind it has other places */
    }
    memcpy(leaf.head, head, LEDGER_HASH_SIZE);
    bool of_trail = strcmp(leaf.account, TRAIL_ACCOUNT) == 0; /* trail_verify compares its rows */
    if (leaf.sequence < 1 || (!of_trail && leaf.sequence > db_row_integer(row, 5)) ||
        (entry_size > 0 && (entry_size != size || memcmp(head, entry, size) != 0)))
        ledger_report_fault(log->report, leaf.account, leaf.sequence, "the log has another entry");
    ledger_leaf_hash(&leaf, hash);
    return count_leaf(log, hash);
}

static enum db_status audit_unlogged(void *context, const struct db_row *row)
{
    ledger_report_fault(context, db_row_text(row, 0), db_row_integer(row, 1),
                        "the last entry is not in the log");
    return DB_OK;
}

static enum db_status audit_leaves(struct log_audit *log)
{
    int64_t nodes = 0, subtrees = 0;
    enum db_status status = db_run(
        log->db,
        "SELECT l.number, l.account, l.sequence, l.head, e.hash, a.entries FROM ledger_leaves AS l "
        "LEFT JOIN ledger_entries AS e ON e.account = l.account AND e.sequence = l.sequence "
        "LEFT JOIN ledger_accounts AS a ON a.id = l.account ORDER BY l.number",
        NULL, 0, audit_leaf, log);
    if (status != DB_OK)
        return db_optional(status);
    status = db_one(log->db, "SELECT count(*) FROM ledger_nodes", NULL, 0, listing_integer, &nodes);
    if (status == DB_OK)
        status = db_one(log->db, "SELECT count(*) FROM ledger_subtrees", NULL, 0, listing_integer,
                        &subtrees);
    if (status == DB_OK && (nodes != log->nodes || subtrees != log->subtrees))
        ledger_report_fault(log->report, "", 0, "the log's tree has other nodes than its leaves");
    if (status != DB_OK)
        return db_owed(status);
    return db_run(
        log->db,
        "SELECT a.id, a.entries FROM ledger_accounts AS a LEFT JOIN ledger_leaves AS l "
        "ON l.account = a.id AND l.sequence = a.entries WHERE l.number IS NULL ORDER BY a.id",
        NULL, 0, audit_unlogged, log->report);
}

enum db_status ledger_log_verify(struct db *db, struct ledger_report *report)
{
    struct log_audit *log = memory_new(1, sizeof *log);
    struct ledger_tree *tree = NULL;
    int64_t removed = 0;
    log->db = db;
    log->report = report;
    log->tile_number = -1;
    enum db_status status = audit_leaves(log);
    report->leaves = log->leaves;
    if (status == DB_OK)
        status = ledger_log_removed(db, &removed);
    if (status == DB_OK && log->removed != removed)
        ledger_report_fault(report, "", 0, "the log has other leaves than are noted");
    if (status == DB_OK)
        status = trail_verify(db, report);
    if (status == DB_OK && report->fault_count == 0)
        status = ledger_log_check_end(db);
    if (status == DB_NONE) {
        ledger_report_fault(report, "", 0, "the log once had other leaves");
        status = DB_OK;
    }
    if (status == DB_OK && report->fault_count == 0)
        status = ledger_tree_open(db, -1, &tree);
    if (tree)
        status = ledger_tree_status(tree, merkle_root(&tree->tree, report->root));
    free(tree);
    free(log);
    return status;
}
