/* Merkle trees of RFC 9162 (the same as RFC 6962), section 2.1, over SHA-256: roots, and proofs
 * that a leaf is in a tree and that one tree is the beginning of another.
 *
 * A tree is kept as tiles (C2SP tlog-tiles): a node of level L is the root of 256^L leaves, level 0
 * are the hashes of leaves, and a tile is 256 nodes of one level in a row. No other node is kept.
 */
#ifndef TACET_STORAGE_LEDGER_MERKLE_H
#define TACET_STORAGE_LEDGER_MERKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERKLE_HASH_SIZE 32
#define MERKLE_TILE      256 /* nodes of a tile */
#define MERKLE_LEVELS    8   /* of nodes: 256^8 leaves are more than any tree has */
#define MERKLE_PROOF_MAX 64  /* hashes of a proof, of trees of at most 2^62 leaves */
#define MERKLE_SIZE_MAX  (UINT64_C(1) << 62)

/* Gives node INDEX of LEVEL, all of whose leaves are in the tree. False: it cannot be read. */
typedef bool merkle_node_fn(void *context, unsigned level, uint64_t index,
                            unsigned char out[MERKLE_HASH_SIZE]);

struct merkle_tree {
    uint64_t size; /* leaves; at most MERKLE_SIZE_MAX */
    merkle_node_fn *node;
    void *context;
};

struct merkle_proof {
    unsigned count;
    unsigned char hash[MERKLE_PROOF_MAX][MERKLE_HASH_SIZE];
};

/* Hash of the leaf that is these SIZE bytes. */
void merkle_leaf(const void *bytes, size_t size, unsigned char out[MERKLE_HASH_SIZE]);

/* The root of a full tile, which is a node of the next level. */
void merkle_tile(const unsigned char tile[MERKLE_TILE][MERKLE_HASH_SIZE],
                 unsigned char out[MERKLE_HASH_SIZE]);

/* The root of TREE. False: a node could not be read. */
bool merkle_root(const struct merkle_tree *tree, unsigned char out[MERKLE_HASH_SIZE]);

/* Proves that leaf INDEX, which is below its size, is in TREE: the hashes from the leaf's sibling
 * on. False: a node could not be read. */
bool merkle_inclusion(const struct merkle_tree *tree, uint64_t index, struct merkle_proof *out);

/* Proves that TREE goes on from its first SIZE leaves, 0 to its own size. False: a node could not
 * be read. */
bool merkle_consistency(const struct merkle_tree *tree, uint64_t size, struct merkle_proof *out);

/* Whether PROOF shows that LEAF has number INDEX in the tree of SIZE and ROOT. */
bool merkle_inclusion_holds(const unsigned char leaf[MERKLE_HASH_SIZE], uint64_t index,
                            uint64_t size, const struct merkle_proof *proof,
                            const unsigned char root[MERKLE_HASH_SIZE]);

/* Whether PROOF shows that the tree of SIZE and ROOT goes on from that of OLD_SIZE and OLD_ROOT.
 * From an empty tree and to the same size the proof is empty. */
bool merkle_consistency_holds(uint64_t old_size, const unsigned char old_root[MERKLE_HASH_SIZE],
                              uint64_t size, const unsigned char root[MERKLE_HASH_SIZE],
                              const struct merkle_proof *proof);

#endif
