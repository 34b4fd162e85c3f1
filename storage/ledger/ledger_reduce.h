/* Subtrees of the log's tree of which one hash is left, so that a log whose leaves go takes a
 * bounded disk.
 *
 * DESIGN. A subtree is reduced when none of its leaves is there any more (ledger_log_forget) and
 * when no checkpoint was given that ends in it: its hash is then part of every root and of every
 * proof that anybody may ask for. So where a checkpoint ends is stored before it leaves. 256
 * reduced subtrees in a row become one of the level above. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_REDUCE_H
#define TACET_STORAGE_LEDGER_LEDGER_REDUCE_H

#include "storage/db/table.h"
#include "storage/ledger/merkle.h"

#define SUBTREE_LEVEL_MOST (MERKLE_LEVELS - 2) /* 2^48 leaves are more than any log has */

/* A node of the tree (merkle.h) below which nothing is stored. */
struct ledger_subtree {
    int64_t level; /* 1 to SUBTREE_LEVEL_MOST */
    int64_t number;
    unsigned char hash[MERKLE_HASH_SIZE];
};

extern const struct table ledger_subtrees_table; /* rows: struct ledger_subtree */

/* The reduced subtree that is this node itself. DB_NONE: it is not reduced, or a part of another
 * one. */
enum db_status ledger_subtree_find(struct db *db, int64_t level, int64_t number,
                                   struct ledger_subtree *out);

/* Whether the node is below a reduced subtree: DB_OK, or DB_NONE. */
enum db_status ledger_subtree_above(struct db *db, int64_t level, int64_t number);

/* Whether the node is stored with this HASH: DB_OK, or DB_NONE. */
enum db_status ledger_node_compare(struct db *db, int64_t level, int64_t number,
                                   unsigned char hash[MERKLE_HASH_SIZE]);

/* Shows all of them, by level and number. */
enum db_status ledger_subtrees(struct db *db,
                               bool (*each)(void *context, const struct ledger_subtree *subtree),
                               void *context);

/* Stores, in the open transaction or one of its own, that a checkpoint is given of the log's first
 * SIZE leaves (0: nothing). The leaf behind them is in a tile that is never reduced from then on.
 * DB_FAILED: or it was reduced already. */
enum db_status ledger_head_keep(struct db *db, uint64_t size);

/* The same of the log as it is: at a start, because the database may be a copy that was made just
 * before a checkpoint. */
enum db_status ledger_head_keep_now(struct db *db);

struct ledger_reduction {
    int64_t next; /* the first tile to look at; at first, and again behind the last one, 0 */
    bool more;    /* out: some were reduced, and there are others to look at; call again */
    bool damaged; /* out: a tile or a hash above it has changed. It stays, and the others do not */
};

/* Looks at some tiles, and reduces those that may be, a few in one transaction. One thread at a
 * time. */
enum db_status ledger_reduce(struct db *db, struct ledger_reduction *reduction);

#endif
