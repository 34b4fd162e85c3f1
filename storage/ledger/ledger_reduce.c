#include "storage/ledger/ledger_reduce.h"

#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/listing.h"
#include "storage/ledger/ledger_log.h"

#define TILES_SEEN    1024 /* at once */
#define TILES_AT_ONCE 32   /* are reduced in one transaction: some milliseconds */

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

static enum db_status compare_hash(void *context, const struct db_row *row)
{
    size_t size;
    const void *stored = db_row_bytes(row, 0, &size);
    bool same = size == MERKLE_HASH_SIZE && memcmp(stored, context, size) == 0;
    return same ? DB_OK : DB_NONE;
}

enum db_status ledger_node_compare(struct db *db, int64_t level, int64_t number,
                                   unsigned char hash[MERKLE_HASH_SIZE])
{
    return db_one(db, "SELECT hash FROM ledger_nodes WHERE level = $1 AND number = $2",
                  DB_VALUES(db_integer(level), db_integer(number)), compare_hash, hash);
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

/* ---- heads */

static enum db_status store_head(struct db *db, void *context)
{
    const int64_t *tile = context;
    enum db_status status = ledger_subtree_above(db, 0, *tile * MERKLE_TILE);
    if (status == DB_OK)
        return db_fail(db, "ledger_heads",
                       "the log does not have any more what a checkpoint needs");
    if (status != DB_NONE)
        return status;
    return db_optional(
        db_change(db, "INSERT INTO ledger_heads (tile) VALUES ($1) ON CONFLICT DO NOTHING",
                  DB_VALUES(db_integer(*tile))));
}

enum db_status ledger_head_keep(struct db *db, uint64_t size)
{
    int64_t tile = (int64_t)(size / MERKLE_TILE);
    if (size == 0)
        return DB_OK;
    enum db_status status = db_one(db, "SELECT 1 FROM ledger_heads WHERE tile = $1",
                                   DB_VALUES(db_integer(tile)), listing_ignore, NULL);
    return status == DB_NONE ? db_transact(db, store_head, &tile) : status;
}

enum db_status ledger_head_keep_now(struct db *db)
{
    int64_t size = 0;
    enum db_status status =
        db_owed(db_one(db, "SELECT coalesce(max(number) + 1, 0) FROM ledger_leaves", NULL, 0,
                       listing_integer, &size));
    return status == DB_OK ? ledger_head_keep(db, (uint64_t)size) : status;
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
    return look->count < TILES_AT_ONCE ? DB_OK : DB_NONE;
}

static enum db_status find_tiles(struct db *db, void *context)
{
    struct tiles_look *look = context;
    return db_optional(db_run(
        db,
        "SELECT t.number, (SELECT count(*) FROM ledger_heads WHERE tile = t.number) + (SELECT "
        "count(*) FROM ledger_leaves AS l WHERE l.number >= 256 * t.number AND l.number < 256 * "
        "t.number + 256) FROM ledger_tiles AS t WHERE t.number >= $1 ORDER BY t.number LIMIT $2",
        DB_VALUES(db_integer(look->next), db_integer(TILES_SEEN)), see_tile, look));
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

/* Puts the node of LEVEL over TILE, if it is the one that was stored when its last leaf came. */
static enum db_status put_subtree(struct db *db, int64_t level, int64_t number,
                                  const struct tile_hashes *tile)
{
    struct ledger_subtree subtree = {.level = level, .number = number};
    merkle_tile(tile->hash, subtree.hash);
    enum db_status status = ledger_node_compare(db, level, number, subtree.hash);
    if (status == DB_NONE)
        return db_fail(db, "ledger_nodes", "a hash of the log is not that of what is below");
    return status == DB_OK ? db_owed(table_insert(db, &ledger_subtrees_table, &subtree, NULL, 0))
                           : status;
}

struct tile_place {
    int64_t level, number;
};

/* Joins the 256 reduced subtrees of a level that are node NUMBER of the next one. DB_NONE: not all
 * of them are. */
static enum db_status join_subtrees(struct db *db, void *context)
{
    const struct tile_place *place = context;
    struct tile_hashes tile = {.count = 0};
    int64_t count = 0, first = place->number * MERKLE_TILE;
    struct db_value values[] = {db_integer(place->level), db_integer(first),
                                db_integer(first + MERKLE_TILE)};
    enum db_status status = db_owed(db_one(
        db,
        "SELECT count(*) FROM ledger_subtrees WHERE level = $1 AND number >= $2 AND number < $3",
        values, 3, listing_integer, &count));
    if (status == DB_OK && count < MERKLE_TILE)
        return DB_NONE;
    if (status == DB_OK)
        status = table_list(db, &ledger_subtrees_table,
                            "WHERE level = $1 AND number >= $2 AND number < $3 ORDER BY number",
                            values, 3, copy_hash, &tile);
    if (status == DB_OK)
        status = put_subtree(db, place->level + 1, place->number, &tile);
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

/* Puts the root of a tile in its place. */
static enum db_status reduce_tile(struct db *db, void *context)
{
    const int64_t *number = context;
    struct ledger_tile stored;
    struct tile_hashes tile = {.count = MERKLE_TILE};
    enum db_status status = db_owed(ledger_tile_find(db, *number, &stored));
    if (status != DB_OK)
        return status;
    memcpy(tile.hash, stored.hashes, sizeof tile.hash);
    status = put_subtree(db, 1, *number, &tile);
    if (status == DB_OK)
        status = db_change(db, "DELETE FROM ledger_tiles WHERE number = $1",
                           DB_VALUES(db_integer(*number)));
    return db_owed(status);
}

/* Reduces a tile, and joins what is then full. Each step is undone alone when it fails. */
static enum db_status reduce_from(struct db *db, int64_t number)
{
    struct tile_place place = {.number = number};
    enum db_status status = db_transact(db, reduce_tile, &number);
    while (status == DB_OK && ++place.level < SUBTREE_LEVEL_MOST) {
        place.number /= MERKLE_TILE;
        status = db_transact(db, join_subtrees, &place);
    }
    return db_optional(status);
}

static enum db_status reduce_tiles(struct db *db, void *context)
{
    struct tiles_look *look = context;
    look->damaged = false;
    for (unsigned i = 0; i < look->count; i++) {
        enum db_status status = reduce_from(db, look->tiles[i]);
        if (db_may_pass(status))
            return status;
        look->damaged = look->damaged || status != DB_OK;
    }
    return DB_OK;
}

enum db_status ledger_reduce(struct db *db, struct ledger_reduction *reduction)
{
    struct tiles_look *look = memory_new(1, sizeof *look);
    look->next = reduction->next;
    enum db_status status = db_view(db, find_tiles, look);
    if (status == DB_OK && look->count > 0)
        status = db_transact(db, reduce_tiles, look);
    reduction->damaged = status == DB_OK && look->damaged;
    bool ahead = look->rows == TILES_SEEN || look->count == TILES_AT_ONCE;
    reduction->more = status == DB_OK && ahead && look->count > 0;
    if (status == DB_OK)
        reduction->next = ahead ? look->next : 0;
    free(look);
    return status;
}
