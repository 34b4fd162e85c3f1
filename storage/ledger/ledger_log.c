/* DESIGN. Leaves are rows until their entries are folded, and of the tree's other nodes only the
 * roots of full tiles are stored, when the last leaf below them is appended. So an append is one
 * row, and now and then a few more, and a root or a proof reads a few tiles of each level. */
#include "storage/ledger/ledger_log.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/listing.h"
#include "storage/db/note.h"
#include "storage/ledger/ledger_post.h"
#include "storage/ledger/ledger_reduce.h"
#include "storage/ledger/trail.h"

#define ROOT_NOTE "log-root"

static const struct column leaf_columns[] = {
    COLUMN(ledger_leaf, number, INTEGER),
    COLUMN(ledger_leaf, account, TEXT),
    COLUMN(ledger_leaf, sequence, INTEGER),
    COLUMN(ledger_leaf, head, BYTES),
};

const struct table ledger_leaves_table = TABLE("ledger_leaves", ledger_leaf, leaf_columns, 0);

struct tree_node {
    unsigned char hash[MERKLE_HASH_SIZE];
};

static const struct column node_columns[] = {COLUMN(tree_node, hash, BYTES)};

static const struct table nodes_table = TABLE("ledger_nodes", tree_node, node_columns, 0);

static const struct column tile_columns[] = {
    COLUMN(ledger_tile, number, INTEGER),
    COLUMN(ledger_tile, hashes, BYTES),
};

static const struct table tiles_table = TABLE_DIGESTED("ledger_tiles", ledger_tile, tile_columns,
                                                       TABLE_ALL(tile_columns), "digest", 1, 0);

size_t ledger_leaf_text(const struct ledger_leaf *leaf, char out[LEDGER_LEAF_SIZE])
{
    char hash[2 * LEDGER_HASH_SIZE + 1];
    sodium_bin2hex(hash, sizeof hash, leaf->head, LEDGER_HASH_SIZE);
    return (size_t)snprintf(out, LEDGER_LEAF_SIZE, "%s %lld %s", leaf->account,
                            (long long)leaf->sequence, hash);
}

void ledger_leaf_hash(const struct ledger_leaf *leaf, unsigned char out[MERKLE_HASH_SIZE])
{
    char text[LEDGER_LEAF_SIZE];
    merkle_leaf(text, ledger_leaf_text(leaf, text), out);
}

/* ---- the tree as it is stored */

struct tile_read {
    unsigned char (*out)[MERKLE_HASH_SIZE];
    unsigned count;
};

static bool copy_leaf_hash(void *context, const void *row)
{
    struct tile_read *read = context;
    ledger_leaf_hash(row, read->out[read->count++]);
    return true;
}

static bool copy_node_hash(void *context, const void *row)
{
    struct tile_read *read = context;
    const struct tree_node *node = row;
    memcpy(read->out[read->count++], node->hash, MERKLE_HASH_SIZE);
    return true;
}

enum db_status ledger_tile_find(struct db *db, int64_t number, struct ledger_tile *out)
{
    return table_find(db, &tiles_table, "WHERE number = $1", DB_VALUES(db_integer(number)), out);
}

TABLE_SHOW(show_tile, ledger_tile);

enum db_status ledger_tiles(struct db *db,
                            bool (*each)(void *context, const struct ledger_tile *tile),
                            void *context)
{
    struct show_tile show = {each, context};
    return table_list(db, &tiles_table, "ORDER BY number", NULL, 0, show_tile, &show);
}

/* Copies the first COUNT hashes of leaves of tile NUMBER, some of which are removed. */
static enum db_status stored_hashes(struct db *db, int64_t number, unsigned count,
                                    unsigned char out[][MERKLE_HASH_SIZE])
{
    struct ledger_tile tile;
    enum db_status status = ledger_tile_find(db, number, &tile);
    if (status == DB_OK)
        memcpy(out, tile.hashes, count * sizeof *out);
    return status;
}

/* DB_NONE: nodes from FROM on are missing because they were reduced. Otherwise the tree is damaged.
 */
static enum db_status explain_missing(struct db *db, unsigned level, int64_t from)
{
    enum db_status status = ledger_subtree_above(db, level, from);
    if (status == DB_OK)
        return DB_NONE;
    return status == DB_NONE ? db_fail(db, "ledger_nodes", "a part of the ledger's tree is missing")
                             : status;
}

/* Reads COUNT nodes of LEVEL from node FROM on, which begins a tile. DB_NONE: they were reduced. */
static enum db_status read_nodes(struct db *db, unsigned level, int64_t from, unsigned count,
                                 unsigned char out[][MERKLE_HASH_SIZE])
{
    struct tile_read read = {out, 0};
    struct db_value values[] = {db_integer(from), db_integer(from + count), db_integer(level)};
    enum db_status status;
    if (level == 0)
        status = table_list(db, &ledger_leaves_table,
                            "WHERE number >= $1 AND number < $2 ORDER BY number", values, 2,
                            copy_leaf_hash, &read);
    else
        status = table_list(db, &nodes_table,
                            "WHERE level = $3 AND number >= $1 AND number < $2 ORDER BY number",
                            values, 3, copy_node_hash, &read);
    if (status == DB_OK && read.count != count && level == 0)
        status = stored_hashes(db, from / MERKLE_TILE, count, out);
    else if (status == DB_OK && read.count != count)
        status = DB_NONE;
    return status == DB_NONE ? explain_missing(db, level, from) : status;
}

/* Gives COUNT nodes of a tile through the cache. */
static enum db_status cache_tile(struct ledger_tree *tree, unsigned level, int64_t number)
{
    int64_t nodes = (int64_t)(tree->tree.size >> (8 * level)) - number * MERKLE_TILE;
    unsigned count = nodes < MERKLE_TILE ? (unsigned)nodes : MERKLE_TILE;
    assert(level < MERKLE_LEVELS && nodes > 0);
    if (tree->tiles[level].number == number)
        return DB_OK;
    tree->tiles[level].number = -1;
    enum db_status status =
        read_nodes(tree->db, level, number * MERKLE_TILE, count, tree->tiles[level].hash);
    if (status == DB_OK)
        tree->tiles[level].number = number;
    return status;
}

static bool tree_node(void *context, unsigned level, uint64_t index, unsigned char *out)
{
    struct ledger_tree *tree = context;
    tree->status = cache_tile(tree, level, (int64_t)(index / MERKLE_TILE));
    if (tree->status == DB_OK)
        memcpy(out, tree->tiles[level].hash[index % MERKLE_TILE], MERKLE_HASH_SIZE);
    return tree->status == DB_OK;
}

static enum db_status count_leaves(struct db *db, int64_t *out)
{
    return db_owed(db_one(db, "SELECT coalesce(max(number) + 1, 0) FROM ledger_leaves", NULL, 0,
                          listing_integer, out));
}

enum db_status ledger_tree_open(struct db *db, int64_t size, struct ledger_tree **out)
{
    int64_t leaves = 0;
    assert(db_in_transaction(db));
    enum db_status status = ledger_batch_write(db);
    if (status == DB_OK)
        status = count_leaves(db, &leaves);
    if (status != DB_OK || size > leaves)
        return status == DB_OK ? DB_NONE : status;
    struct ledger_tree *tree = memory_new(1, sizeof *tree);
    tree->tree = (struct merkle_tree){
        .size = (uint64_t)(size < 0 ? leaves : size), .node = tree_node, .context = tree};
    tree->db = db;
    for (unsigned level = 0; level < MERKLE_LEVELS; level++)
        tree->tiles[level].number = -1;
    *out = tree;
    return DB_OK;
}

enum db_status ledger_tree_status(const struct ledger_tree *tree, bool read)
{
    return read ? DB_OK : tree->status;
}

enum db_status ledger_tree_tile(struct ledger_tree *tree, unsigned level, int64_t number,
                                unsigned count, unsigned char out[][MERKLE_HASH_SIZE])
{
    assert(count > 0 && count <= MERKLE_TILE);
    int64_t nodes = level < MERKLE_LEVELS ? (int64_t)(tree->tree.size >> (8 * level)) : 0;
    if (number < 0 || number > nodes / MERKLE_TILE || number * MERKLE_TILE + count > nodes)
        return DB_NONE;
    enum db_status status = cache_tile(tree, level, number);
    if (status == DB_OK)
        memcpy(out, tree->tiles[level].hash, count * MERKLE_HASH_SIZE);
    return status;
}

/* ---- appending */

/* Stores the nodes whose last leaf is number LEAF. */
static enum db_status close_tiles(struct db *db, int64_t leaf)
{
    unsigned char tile[MERKLE_TILE][MERKLE_HASH_SIZE], root[MERKLE_HASH_SIZE];
    enum db_status status = DB_OK;
    int64_t nodes = leaf + 1; /* of the level below */
    for (unsigned level = 1; status == DB_OK && nodes % MERKLE_TILE == 0; level++) {
        status = read_nodes(db, level - 1, nodes - MERKLE_TILE, MERKLE_TILE, tile);
        if (status != DB_OK)
            return status;
        merkle_tile(tile, root);
        nodes /= MERKLE_TILE;
        status = db_change(
            db, "INSERT INTO ledger_nodes (level, number, hash) VALUES ($1, $2, $3)",
            DB_VALUES(db_integer(level), db_integer(nodes - 1), db_bytes(root, sizeof root)));
    }
    return status;
}

enum db_status ledger_log_append(struct db *db, const struct ledger_account *account)
{
    int64_t number = -1;
    enum db_status status = db_change_one(
        db,
        "INSERT INTO ledger_leaves (number, account, sequence, head) VALUES "
        "((SELECT coalesce(max(number) + 1, 0) FROM ledger_leaves), $1, $2, $3) RETURNING number",
        DB_VALUES(db_text(account->id), db_integer(account->entries),
                  db_bytes(account->head, LEDGER_HASH_SIZE)),
        listing_integer, &number);
    return status == DB_OK ? close_tiles(db, number) : db_owed(status);
}

/* ---- removing */

static enum db_status keep_tile(struct db *db, int64_t number)
{
    struct ledger_tile tile = {.number = number};
    unsigned char hashes[MERKLE_TILE][MERKLE_HASH_SIZE];
    enum db_status status = read_nodes(db, 0, number * MERKLE_TILE, MERKLE_TILE, hashes);
    if (status != DB_OK)
        return status;
    memcpy(tile.hashes, hashes, sizeof tile.hashes);
    return db_owed(table_insert(db, &tiles_table, &tile, NULL, 0));
}

enum db_status ledger_log_removed(struct db *db, int64_t *out)
{
    char value[NOTE_SIZE];
    enum db_status status = note_find(db, "leaves-removed", value);
    *out = strtoll(value, NULL, 10);
    return db_optional(status);
}

static enum db_status note_removed(struct db *db, int64_t more)
{
    char value[NOTE_SIZE];
    int64_t before = 0;
    enum db_status status = ledger_log_removed(db, &before);
    if (status != DB_OK)
        return status;
    snprintf(value, sizeof value, "%lld", (long long)(before + more));
    return note_put(db, "leaves-removed", value);
}

enum db_status ledger_log_forget(struct db *db, const char *account, int64_t first, int64_t last)
{
    int64_t leaves = 0, tile = 0, count = 0;
    enum db_status status = count_leaves(db, &leaves);
    struct db_value values[] = {db_text(account), db_integer(first), db_integer(last),
                                db_integer(leaves - leaves % MERKLE_TILE)};
    while (status == DB_OK && tile >= 0) {
        status = db_one(db,
                        "SELECT coalesce(min(number) / 256, -1) FROM ledger_leaves WHERE account = "
                        "$1 AND sequence >= $2 AND sequence < $3 AND number < $4 AND number / 256 "
                        "NOT IN (SELECT number FROM ledger_tiles)",
                        values, 4, listing_integer, &tile);
        if (status == DB_OK && tile >= 0)
            status = keep_tile(db, tile);
    }
    if (status == DB_OK)
        status = db_one(db,
                        "SELECT count(*) FROM ledger_leaves WHERE account = $1 AND sequence >= $2 "
                        "AND sequence < $3 AND number < $4",
                        values, 4, listing_integer, &count);
    if (status == DB_OK && count > 0)
        status = db_change(db,
                           "DELETE FROM ledger_leaves WHERE account = $1 AND sequence >= $2 "
                           "AND sequence < $3 AND number < $4",
                           values, 4);
    return status == DB_OK && count > 0 ? note_removed(db, count) : db_owed(status);
}

/* Writes "SIZE ROOT" of the log as it was when it had SIZE leaves, -1: as it is. */
static enum db_status write_root(struct db *db, int64_t size, char out[NOTE_SIZE])
{
    struct ledger_tree *tree = NULL;
    unsigned char root[MERKLE_HASH_SIZE];
    char hex[2 * MERKLE_HASH_SIZE + 1];
    enum db_status status = ledger_tree_open(db, size, &tree);
    if (status == DB_OK)
        status = ledger_tree_status(tree, merkle_root(&tree->tree, root));
    if (status == DB_OK) {
        sodium_bin2hex(hex, sizeof hex, root, sizeof root);
        snprintf(out, NOTE_SIZE, "%llu %s", (unsigned long long)tree->tree.size, hex);
    }
    free(tree);
    return status;
}

enum db_status ledger_log_note_root(struct db *db)
{
    char value[NOTE_SIZE];
    enum db_status status = db_owed(write_root(db, -1, value));
    return status == DB_OK ? note_put(db, ROOT_NOTE, value) : status;
}

enum db_status ledger_log_begin_root(struct db *db, char error[DB_ERROR_SIZE])
{
    (void)error;
    return ledger_log_note_root(db);
}

/* Compares the leaves from FROM on with their entries, none of which is folded. DB_NONE: one has
 * another. */
static enum db_status check_leaves(struct db *db, int64_t from)
{
    int64_t others = 0;
    enum db_status status = db_owed(
        db_one(db,
               "SELECT count(*) FROM ledger_leaves AS l LEFT JOIN ledger_entries AS e ON e.account "
               "= l.account AND e.sequence = l.sequence WHERE l.number >= $1 AND l.account <> $2 "
               "AND (e.hash IS NULL OR e.hash <> l.head)",
               DB_VALUES(db_integer(from), db_text(TRAIL_ACCOUNT)), listing_integer, &others));
    return status == DB_OK && others > 0 ? DB_NONE : status;
}

/* DB_NONE: there is a fold, so there has to be a note. */
static enum db_status owe_no_note(struct db *db)
{
    enum db_status status = db_one(db, "SELECT 1 FROM ledger_entries WHERE kind = 'folded' LIMIT 1",
                                   NULL, 0, listing_ignore, NULL);
    if (status == DB_NONE)
        return DB_OK;
    return status == DB_OK ? DB_NONE : status;
}

enum db_status ledger_log_check_end(struct db *db)
{
    char noted[NOTE_SIZE], now[NOTE_SIZE] = "";
    int64_t leaves = 0, size = 0;
    enum db_status status = note_find(db, ROOT_NOTE, noted);
    if (status == DB_OK) {
        size = strtoll(noted, NULL, 10);
        status = write_root(db, size, now);
    } else if (status == DB_NONE) {
        status = owe_no_note(db);
    }
    if (status == DB_OK && strcmp(noted, now) != 0)
        return DB_NONE;
    if (status == DB_OK)
        status = count_leaves(db, &leaves);
    int64_t open = leaves - leaves % MERKLE_TILE;
    return status == DB_OK ? check_leaves(db, size > open ? size : open) : status;
}

struct log_beginning {
    struct db *db;
    enum db_status status;
};

static bool append_account(void *context, const void *row)
{
    struct log_beginning *beginning = context;
    beginning->status = ledger_log_append(beginning->db, row);
    return beginning->status == DB_OK;
}

enum db_status ledger_log_begin(struct db *db, char error[DB_ERROR_SIZE])
{
    struct log_beginning beginning = {db, DB_OK};
    (void)error;
    enum db_status status = table_list(db, &ledger_accounts_table, "ORDER BY created_ms, id", NULL,
                                       0, append_account, &beginning);
    return status == DB_OK ? beginning.status : status;
}

/* ---- leaves */

enum db_status ledger_log_find(struct db *db, const char *account, int64_t sequence,
                               struct ledger_leaf *out)
{
    enum db_status status = ledger_batch_write(db);
    if (status != DB_OK)
        return status;
    return table_find(db, &ledger_leaves_table, "WHERE account = $1 AND sequence = $2",
                      DB_VALUES(db_text(account), db_integer(sequence)), out);
}

struct leaf_list {
    struct ledger_leaf *out;
    unsigned count;
    int64_t number; /* of the next one */
};

static bool copy_leaf(void *context, const void *row)
{
    struct leaf_list *list = context;
    list->out[list->count++] = *(const struct ledger_leaf *)row;
    return true;
}

enum db_status ledger_log_of(struct db *db, const char *account, int64_t sequence, unsigned limit,
                             struct ledger_leaf out[], unsigned *count)
{
    struct leaf_list list = {out, 0, 0};
    enum db_status status = table_list(
        db, &ledger_leaves_table, "WHERE account = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
        DB_VALUES(db_text(account), db_integer(sequence), db_integer(limit)), copy_leaf, &list);
    *count = list.count;
    return status;
}

static bool copy_next_leaf(void *context, const void *row)
{
    struct leaf_list *list = context;
    const struct ledger_leaf *leaf = row;
    return leaf->number == list->number++ && copy_leaf(context, row);
}

enum db_status ledger_log_leaves(struct db *db, int64_t from, unsigned limit,
                                 struct ledger_leaf out[], unsigned *count)
{
    struct leaf_list list = {out, 0, from};
    enum db_status status =
        table_list(db, &ledger_leaves_table, "WHERE number >= $1 ORDER BY number LIMIT $2",
                   DB_VALUES(db_integer(from), db_integer(limit)), copy_next_leaf, &list);
    *count = list.count;
    return status;
}
