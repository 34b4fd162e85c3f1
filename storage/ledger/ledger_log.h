/* The ledger as a transparency log: a Merkle tree (merkle.h) that only grows, so that one number,
 * its root, stands for all that every account has ever done.
 *
 * A leaf is an account at one moment, "ACCOUNT SEQUENCE HASH": the id, the sequence of its last
 * entry, and the hash of that entry in hexadecimal, which chains all entries before it. A
 * transaction appends one leaf for each account that it changed, and a batch one for each account,
 * whatever the number of entries. Rows of the audit trail (trail.h) have leaves of the same form.
 *
 * When entries are folded, the leaves that named them are removed, and of each of them the tree
 * keeps the hash, in a tile: what it shows of all other leaves stays. A tile without leaves becomes
 * one hash (ledger_reduce.h). */
#ifndef TACET_STORAGE_LEDGER_LEDGER_LOG_H
#define TACET_STORAGE_LEDGER_LEDGER_LOG_H

#include "storage/db/table.h"
#include "storage/ledger/ledger.h"
#include "storage/ledger/merkle.h"

#define LEDGER_LEAF_SIZE 128 /* bytes of a leaf's text with its NUL */

struct ledger_leaf {
    int64_t number; /* 0, 1, ... without gaps */
    char account[ID_SIZE];
    int64_t sequence;
    unsigned char head[LEDGER_HASH_SIZE];
};

extern const struct table ledger_leaves_table; /* rows: struct ledger_leaf */

/* The hashes of 256 leaves, some of which are removed. */
struct ledger_tile {
    int64_t number; /* of its first leaf, divided by 256 */
    unsigned char hashes[MERKLE_TILE * MERKLE_HASH_SIZE];
};

/* The tile of this NUMBER. DB_NONE: all of its leaves are there, or it was reduced. */
enum db_status ledger_tile_find(struct db *db, int64_t number, struct ledger_tile *out);

/* Shows all such tiles in order. */
enum db_status ledger_tiles(struct db *db,
                            bool (*each)(void *context, const struct ledger_tile *tile),
                            void *context);

/* Writes the text of LEAF, whatever its number, and gives its size. */
size_t ledger_leaf_text(const struct ledger_leaf *leaf, char out[LEDGER_LEAF_SIZE]);

/* Hash of that text as a leaf of the tree. */
void ledger_leaf_hash(const struct ledger_leaf *leaf, unsigned char out[MERKLE_HASH_SIZE]);

/* Appends ACCOUNT as it stands, in the open transaction. For the files of the ledger alone. */
enum db_status ledger_log_append(struct db *db, const struct ledger_account *account);

/* Removes the leaves of ACCOUNT from sequence FIRST on and before LAST, whose entries were folded
 * in the open transaction. Those of the last 256 numbers that are not a whole tile yet stay. For
 * the files of the ledger alone. */
enum db_status ledger_log_forget(struct db *db, const char *account, int64_t first, int64_t last);

/* Notes the root of the whole log, in the open transaction, which has folded entries: nothing else
 * tells that a leaf has changed whose entry is gone and whose tile is not full yet. For the files
 * of the ledger alone. */
enum db_status ledger_log_note_root(struct db *db);

/* The same for a database that had no such note. ERROR is not used. */
enum db_status ledger_log_begin_root(struct db *db, char error[DB_ERROR_SIZE]);

/* DB_NONE: the log has not the root any more that was noted last, or that note is missing, or a
 * later leaf in the tile that is not full names another entry than there is. */
enum db_status ledger_log_check_end(struct db *db);

/* How many leaves are removed, to *OUT. */
enum db_status ledger_log_removed(struct db *db, int64_t *out);

/* Appends every account of a database that had no log. ERROR is not used. */
enum db_status ledger_log_begin(struct db *db, char error[DB_ERROR_SIZE]);

/* The leaf of ACCOUNT at SEQUENCE. DB_NONE: there is none. */
enum db_status ledger_log_find(struct db *db, const char *account, int64_t sequence,
                               struct ledger_leaf *out);

/* Copies at most LIMIT leaves of ACCOUNT behind SEQUENCE, in order, and how many they are to
 * *COUNT. */
enum db_status ledger_log_of(struct db *db, const char *account, int64_t sequence, unsigned limit,
                             struct ledger_leaf out[], unsigned *count);

/* Copies at most LIMIT leaves from number FROM on, up to the first that is removed, and how many
 * they are to *COUNT. */
enum db_status ledger_log_leaves(struct db *db, int64_t from, unsigned limit,
                                 struct ledger_leaf out[], unsigned *count);

/* The tree as it stands in one view or transaction, which outlives it. */
struct ledger_tree {
    struct merkle_tree tree; /* its context is this struct */
    struct db *db;
    enum db_status status; /* why a node could not be read */
    struct {
        int64_t number; /* of the tile; -1: none */
        unsigned count;
        unsigned char hash[MERKLE_TILE][MERKLE_HASH_SIZE];
    } tiles[MERKLE_LEVELS]; /* the last one that was read of each level */
};

/* Opens the tree of the first SIZE leaves, of all of them for SIZE -1. DB_NONE: there are fewer.
 * Must be inside a transaction or view; writes what a batch has kept. The caller frees *OUT with
 * free(). */
enum db_status ledger_tree_open(struct db *db, int64_t size, struct ledger_tree **out);

/* What a false from merkle.h means for TREE. DB_NONE: it would need a node that was reduced away.
 */
enum db_status ledger_tree_status(const struct ledger_tree *tree, bool read);

/* Reads the first COUNT nodes, 1 to 256, of a tile of TREE. DB_NONE: there are fewer, or it was
 * reduced. */
enum db_status ledger_tree_tile(struct ledger_tree *tree, unsigned level, int64_t number,
                                unsigned count, unsigned char out[][MERKLE_HASH_SIZE]);

#endif
