/* The recursions of RFC 9162, section 2.1, which end at the nodes that are kept, and its two loops
 * that check proofs. */
#include "storage/ledger/merkle.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define HASH MERKLE_HASH_SIZE

void merkle_leaf(const void *bytes, size_t size, unsigned char out[HASH])
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char[]){0}, 1);
    crypto_hash_sha256_update(&state, bytes, size);
    crypto_hash_sha256_final(&state, out);
}

/* OUT may be LEFT or RIGHT. */
static void merkle_parent(const unsigned char left[HASH], const unsigned char right[HASH],
                          unsigned char out[HASH])
{
    unsigned char both[1 + 2 * HASH] = {1};
    memcpy(both + 1, left, HASH);
    memcpy(both + 1 + HASH, right, HASH);
    crypto_hash_sha256(out, both, sizeof both);
}

void merkle_tile(const unsigned char tile[MERKLE_TILE][HASH], unsigned char out[HASH])
{
    unsigned char nodes[MERKLE_TILE / 2][HASH];
    for (unsigned i = 0; i < MERKLE_TILE / 2; i++)
        merkle_parent(tile[2 * i], tile[2 * i + 1], nodes[i]);
    for (unsigned count = MERKLE_TILE / 4; count > 0; count /= 2)
        for (unsigned i = 0; i < count; i++)
            merkle_parent(nodes[2 * i], nodes[2 * i + 1], nodes[i]);
    memcpy(out, nodes[0], HASH);
}

/* ---- roots and proofs */

/* The largest power of two below SIZE, which is at least 2. */
static uint64_t split_of(uint64_t size)
{
    return UINT64_C(1) << (63 - __builtin_clzll(size - 1));
}

/* The root of the SIZE leaves from BEGIN on. A range is aligned to the power of two at or above its
 * size, because every split is. */
static bool range_root(const struct merkle_tree *tree, uint64_t begin, uint64_t size,
                       unsigned char out[HASH])
{
    unsigned char right[HASH];
    unsigned bits = (unsigned)__builtin_ctzll(size);
    if (size == UINT64_C(1) << bits && bits % 8 == 0)
        return tree->node(tree->context, bits / 8, begin >> bits, out);
    uint64_t k = split_of(size);
    if (!range_root(tree, begin, k, out) || !range_root(tree, begin + k, size - k, right))
        return false;
    merkle_parent(out, right, out);
    return true;
}

bool merkle_root(const struct merkle_tree *tree, unsigned char out[HASH])
{
    assert(tree->size <= MERKLE_SIZE_MAX);
    if (tree->size > 0)
        return range_root(tree, 0, tree->size, out);
    crypto_hash_sha256(out, NULL, 0);
    return true;
}

static bool add_range(const struct merkle_tree *tree, uint64_t begin, uint64_t size,
                      struct merkle_proof *out)
{
    assert(out->count < MERKLE_PROOF_MAX);
    return range_root(tree, begin, size, out->hash[out->count++]);
}

/* PATH of section 2.1.3.1. */
static bool add_path(const struct merkle_tree *tree, uint64_t begin, uint64_t size, uint64_t index,
                     struct merkle_proof *out)
{
    if (size == 1)
        return true;
    uint64_t k = split_of(size);
    if (index < k)
        return add_path(tree, begin, k, index, out) && add_range(tree, begin + k, size - k, out);
    return add_path(tree, begin + k, size - k, index - k, out) && add_range(tree, begin, k, out);
}

bool merkle_inclusion(const struct merkle_tree *tree, uint64_t index, struct merkle_proof *out)
{
    assert(index < tree->size && tree->size <= MERKLE_SIZE_MAX);
    out->count = 0;
    return add_path(tree, 0, tree->size, index, out);
}

/* SUBPROOF of section 2.1.4.1. */
static bool add_subproof(const struct merkle_tree *tree, uint64_t begin, uint64_t size,
                         uint64_t old_size, bool known, struct merkle_proof *out)
{
    if (old_size == size)
        return known || add_range(tree, begin, size, out);
    uint64_t k = split_of(size);
    if (old_size <= k)
        return add_subproof(tree, begin, k, old_size, known, out) &&
               add_range(tree, begin + k, size - k, out);
    return add_subproof(tree, begin + k, size - k, old_size - k, false, out) &&
           add_range(tree, begin, k, out);
}

bool merkle_consistency(const struct merkle_tree *tree, uint64_t size, struct merkle_proof *out)
{
    assert(size <= tree->size && tree->size <= MERKLE_SIZE_MAX);
    out->count = 0;
    return size == 0 || add_subproof(tree, 0, tree->size, size, true, out);
}

/* ---- checking proofs */

/* Section 2.1.3.2. */
bool merkle_inclusion_holds(const unsigned char leaf[HASH], uint64_t index, uint64_t size,
                            const struct merkle_proof *proof, const unsigned char root[HASH])
{
    unsigned char hash[HASH];
    if (index >= size)
        return false;
    uint64_t node = index, last = size - 1;
    memcpy(hash, leaf, HASH);
    for (unsigned i = 0; i < proof->count; i++) {
        if (last == 0)
            return false;
        if ((node & 1) != 0 || node == last) {
            merkle_parent(proof->hash[i], hash, hash);
            for (; (node & 1) == 0 && node != 0; node >>= 1)
                last >>= 1;
        } else {
            merkle_parent(hash, proof->hash[i], hash);
        }
        node >>= 1;
        last >>= 1;
    }
    return last == 0 && memcmp(hash, root, HASH) == 0;
}

/* Section 2.1.4.2, for 0 < OLD_SIZE < SIZE. */
static bool subproof_holds(uint64_t old_size, const unsigned char old_root[HASH], uint64_t size,
                           const unsigned char root[HASH], const struct merkle_proof *proof)
{
    bool whole = (old_size & (old_size - 1)) == 0; /* the old root itself begins the proof */
    unsigned char old_hash[HASH], hash[HASH];
    uint64_t node = old_size - 1, last = size - 1;
    if (proof->count == 0)
        return false;
    for (; (node & 1) != 0; node >>= 1)
        last >>= 1;
    memcpy(hash, whole ? old_root : proof->hash[0], HASH);
    memcpy(old_hash, hash, HASH);
    for (unsigned i = !whole; i < proof->count; i++) {
        if (last == 0)
            return false;
        if ((node & 1) != 0 || node == last) {
            merkle_parent(proof->hash[i], old_hash, old_hash);
            merkle_parent(proof->hash[i], hash, hash);
            for (; (node & 1) == 0 && node != 0; node >>= 1)
                last >>= 1;
        } else {
            merkle_parent(hash, proof->hash[i], hash);
        }
        node >>= 1;
        last >>= 1;
    }
    return last == 0 && memcmp(old_hash, old_root, HASH) == 0 && memcmp(hash, root, HASH) == 0;
}

bool merkle_consistency_holds(uint64_t old_size, const unsigned char old_root[HASH], uint64_t size,
                              const unsigned char root[HASH], const struct merkle_proof *proof)
{
    if (old_size > size)
        return false;
    if (old_size == size)
        return proof->count == 0 && memcmp(old_root, root, HASH) == 0;
    if (old_size > 0)
        return subproof_holds(old_size, old_root, size, root, proof);
    return proof->count == 0;
}
