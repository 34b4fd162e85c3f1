#include "storage/ledger/ledger_reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/digest.h"
#include "storage/ledger/ledger_log.h"

#define TILES_AT_ONCE 1024 /* that are looked at */

static const struct column subtree_columns[] = {
    COLUMN(ledger_subtree, level, INTEGER),
    COLUMN(ledger_subtree, number, INTEGER),
    COLUMN(ledger_subtree, hash, BYTES),
};

const struct table ledger_subtrees_table = TABLE_DIGESTED(
    "ledger_subtrees", ledger_subtree, subtree_columns, TABLE_ALL(subtree_columns), "digest", 2, 0);

enum db_status ledger_subtree_find(struct db *db, int64_t level, int64_t number,
                                   struct ledger_subtree *out)
{
    return table_find(db, &ledger_subtrees_table, "WHERE level = $1 AND number = $2",
                      DB_VALUES(db_integer(level), db_integer(number)), out);
}

enum db_status ledger_subtree_above(struct db *db, int64_t level, int64_t number)
{
    struct ledger_subtree found;
    enum db_status status = DB_NONE;
    while (status == DB_NONE && ++level < MERKLE_LEVELS) {
        number /= MERKLE_TILE;
        status = ledger_subtree_find(db, level, number, &found);
    }
    return status;
}

TABLE_SHOW(show_subtree, ledger_subtree);

enum db_status ledger_subtrees(struct db *db,
                               bool (*each)(void *context, const struct ledger_subtree *subtree),
                               void *context)
{
    struct show_subtree show = {each, context};
    return table_list(db, &ledger_subtrees_table, "ORDER BY level, number", NULL, 0, show_subtree,
                      &show);
}

enum db_status ledger_head_keep(struct db *db, uint64_t size)
{
    return db_optional(
        db_change(db, "INSERT INTO ledger_heads (tile) VALUES ($1) ON CONFLICT DO NOTHING",
                  DB_VALUES(db_integer((int64_t)(size / MERKLE_TILE)))));
}

/* ---- reducing */

struct tiles_look {
    int64_t next;
    unsigned rows, count;
    int64_t tiles[TILES_AT_ONCE]; /* that may be reduced */
    bool damaged;
};

static enum db_status see_tile(void *context, const struct db_row *row)
{
    struct tiles_look *look = context;
    look->next = db_row_integer(row, 0) + 1;
    look->rows++;
    if (db_row_integer(row, 1) == 0)
        look->tiles[look->count++] = look->next - 1;
    return DB_OK;
}

static enum db_status find_tiles(struct db *db, void *context)
{
    struct tiles_look *look = context;
    return db_run(
        db,
        "SELECT t.number, (SELECT count(*) FROM ledger_heads WHERE tile = t.number) + (SELECT "
        "count(*) FROM ledger_leaves AS l WHERE l.number >= 256 * t.number AND l.number < 256 * "
        "t.number + 256) FROM ledger_tiles AS t WHERE t.number >= $1 ORDER BY t.number LIMIT $2",
        DB_VALUES(db_integer(look->next), db_integer(TILES_AT_ONCE)), see_tile, look);
}

struct tile_hashes {
    unsigned count;
    unsigned char hash[MERKLE_TILE][MERKLE_HASH_SIZE];
};

static bool copy_hash(void *context, const void *row)
{
    struct tile_hashes *tile = context;
    const struct ledger_subtree *subtree = row;
    memcpy(tile->hash[tile->count++], subtree->hash, MERKLE_HASH_SIZE);
    return true;
}

static enum db_status compare_hash(void *context, const struct db_row *row)
{
    size_t size;
    const void *stored = db_row_bytes(row, 0, &size);
    bool same = size == MERKLE_HASH_SIZE && memcmp(stored, context, size) == 0;
    return same ? DB_OK : DB_NONE;
}

/* Puts the node of LEVEL over TILE, if it is the one that was stored when its last leaf came.
 * DB_NONE: it is not. */
static enum db_status put_subtree(struct db *db, int64_t level, int64_t number,
                                  const struct tile_hashes *tile)
{
    struct ledger_subtree subtree = {.level = level, .number = number};
    merkle_tile(tile->hash, subtree.hash);
    enum db_status status =
        db_one(db, "SELECT hash FROM ledger_nodes WHERE level = $1 AND number = $2",
               DB_VALUES(db_integer(level), db_integer(number)), compare_hash, subtree.hash);
    return status == DB_OK ? db_owed(table_insert(db, &ledger_subtrees_table, &subtree, NULL, 0))
                           : status;
}

/* Joins the tile of reduced subtrees of LEVEL that is node NUMBER of the next level, if it is full:
 * DB_NONE: it is not. */
static enum db_status join_subtrees(struct db *db, int64_t level, int64_t number)
{
    struct tile_hashes tile = {.count = 0};
    struct db_value values[] = {db_integer(level), db_integer(number * MERKLE_TILE),
                                db_integer(number * MERKLE_TILE + MERKLE_TILE)};
    enum db_status status =
        table_list(db, &ledger_subtrees_table,
                   "WHERE level = $1 AND number >= $2 AND number < $3 ORDER BY number", values, 3,
                   copy_hash, &tile);
    if (status == DB_OK && tile.count < MERKLE_TILE)
        return DB_NONE;
    if (status == DB_OK)
        status = db_owed(put_subtree(db, level + 1, number, &tile));
    if (status == DB_OK)
        status = db_change(
            db, "DELETE FROM ledger_nodes WHERE level = $1 AND number >= $2 AND number < $3",
            values, 3);
    if (status == DB_OK)
        status = db_change(
            db, "DELETE FROM ledger_subtrees WHERE level = $1 AND number >= $2 AND number < $3",
            values, 3);
    return db_owed(status);
}

/* Puts the root of a tile in its place, and joins what is then full. DB_NONE: the tile is not as it
 * was stored, and stays. */
static enum db_status reduce_tile(struct db *db, int64_t number)
{
    struct ledger_tile stored;
    struct tile_hashes tile = {.count = MERKLE_TILE};
    char name[24];
    snprintf(name, sizeof name, "%lld", (long long)number);
    enum db_status status = db_owed(ledger_tile_find(db, number, &stored));
    if (status != DB_OK)
        return digest_damaged(db, &ledger_tiles_table, name) ? DB_NONE : status;
    memcpy(tile.hash, stored.hashes, sizeof tile.hash);
    status = put_subtree(db, 1, number, &tile);
    if (status == DB_OK)
        status = db_owed(db_change(db, "DELETE FROM ledger_tiles WHERE number = $1",
                                   DB_VALUES(db_integer(number))));
    if (status != DB_OK)
        return status;
    for (int64_t level = 1; status == DB_OK && level + 1 < MERKLE_LEVELS; level++) {
        number /= MERKLE_TILE;
        status = join_subtrees(db, level, number);
    }
    return db_optional(status);
}

static enum db_status reduce_tiles(struct db *db, void *context)
{
    struct tiles_look *look = context;
    enum db_status status = DB_OK;
    look->damaged = false;
    for (unsigned i = 0; i < look->count && status == DB_OK; i++) {
        status = reduce_tile(db, look->tiles[i]);
        look->damaged = look->damaged || status == DB_NONE;
        status = db_optional(status);
    }
    return status;
}

enum db_status ledger_reduce(struct db *db, struct ledger_reduction *reduction)
{
    struct tiles_look *look = memory_new(1, sizeof *look);
    look->next = reduction->next;
    enum db_status status = db_view(db, find_tiles, look);
    if (status == DB_OK && look->count > 0)
        status = db_transact(db, reduce_tiles, look);
    reduction->damaged = status == DB_OK && look->damaged;
    reduction->more = status == DB_OK && look->count > 0 && !look->damaged;
    if (status == DB_OK)
        reduction->next = look->rows == TILES_AT_ONCE ? look->next : 0;
    free(look);
    return status;
}
