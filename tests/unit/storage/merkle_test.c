/* Merkle trees of RFC 9162: roots and proofs against the definition and the published vectors. */
#include "storage/ledger/merkle.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define HASH  MERKLE_HASH_SIZE
#define MOST  (3 * MERKLE_TILE + 7)
#define PAIRS 64

static unsigned char leaves[MOST][HASH];

static void parent_of(const unsigned char *left, const unsigned char *right, unsigned char *out)
{
    unsigned char both[1 + 2 * HASH] = {1};
    memcpy(both + 1, left, HASH);
    memcpy(both + 1 + HASH, right, HASH);
    crypto_hash_sha256(out, both, sizeof both);
}

/* The definition, section 2.1.1, without tiles. */
static void naive_root(const unsigned char d[][HASH], uint64_t size, unsigned char out[HASH])
{
    unsigned char left[HASH], right[HASH];
    uint64_t k = 1;
    if (size == 1) {
        memcpy(out, d[0], HASH);
        return;
    }
    while (2 * k < size)
        k *= 2;
    naive_root(d, k, left);
    naive_root(d + k, size - k, right);
    parent_of(left, right, out);
}

static bool naive_node(void *context, unsigned level, uint64_t index, unsigned char out[HASH])
{
    uint64_t size = UINT64_C(1) << (8 * level);
    cr_assert_leq((index + 1) * size, *(uint64_t *)context, "a node that the tree does not have");
    naive_root(leaves + index * size, size, out);
    return true;
}

static bool no_node(void *context, unsigned level, uint64_t index, unsigned char out[HASH])
{
    (void)level;
    memset(out, 0, HASH);
    return index != *(uint64_t *)context;
}

static struct merkle_tree tree_of(uint64_t *size)
{
    return (struct merkle_tree){.size = *size, .node = naive_node, .context = size};
}

static void make_leaves(void)
{
    cr_assert_geq(sodium_init(), 0);
    for (uint32_t i = 0; i < MOST; i++)
        merkle_leaf(&i, sizeof i, leaves[i]);
}

static void expect_hex(const unsigned char hash[HASH], const char *hex, int size)
{
    char text[2 * HASH + 1];
    cr_expect_str_eq(sodium_bin2hex(text, sizeof text, hash, HASH), hex, "size %d", size);
}

TestSuite(merkle, .init = make_leaves);

Test(merkle, roots_are_the_published_ones)
{
    static const struct {
        unsigned size;
        const char *leaf, *root; /* of the tree that ends with the leaf */
    } vectors[] = {
        {0, "", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"},
        {1, "\0", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"},
        {1, "\x10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"},
        {2, " !", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"},
        {2, "01", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"},
        {4, "@ABC", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"},
        {8, "PQRSTUVW", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"},
        {16, "`abcdefghijklmno",
         "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"},
    };
    unsigned char root[HASH];
    uint64_t size = 0;
    struct merkle_tree tree = tree_of(&size);
    cr_assert(merkle_root(&tree, root));
    expect_hex(root, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0);
    for (size = 1; size <= 8; size++) {
        merkle_leaf(vectors[size - 1].leaf, vectors[size - 1].size, leaves[size - 1]);
        tree = tree_of(&size);
        cr_assert(merkle_root(&tree, root));
        expect_hex(root, vectors[size - 1].root, (int)size);
    }
}

/* The tree of seven leaves in RFC 9162, section 2.1.5. */
Test(merkle, proofs_are_those_of_the_rfc)
{
    unsigned char g[HASH], h[HASH], i[HASH], j[HASH], k[HASH], l[HASH];
    const unsigned char *a = leaves[0], *b = leaves[1], *c = leaves[2], *d = leaves[3],
                        *e = leaves[4], *f = leaves[5];
    uint64_t size = 7;
    struct merkle_tree tree = tree_of(&size);
    parent_of(a, b, g);
    parent_of(c, d, h);
    parent_of(e, f, i);
    memcpy(j, leaves[6], HASH);
    parent_of(g, h, k);
    parent_of(i, j, l);
    const struct {
        bool inclusion;
        uint64_t of;
        const unsigned char *hashes[5];
    } rows[] = {
        {true, 0, {b, h, l}},     {true, 3, {c, g, l}}, {true, 4, {f, j, k}},  {true, 6, {i, k}},
        {false, 3, {c, d, g, l}}, {false, 4, {l}},      {false, 6, {i, j, k}},
    };
    for (unsigned n = 0; n < sizeof rows / sizeof *rows; n++) {
        struct merkle_proof proof;
        unsigned count = 0;
        if (rows[n].inclusion)
            cr_assert(merkle_inclusion(&tree, rows[n].of, &proof));
        else
            cr_assert(merkle_consistency(&tree, rows[n].of, &proof));
        for (; rows[n].hashes[count]; count++)
            cr_expect_arr_eq(proof.hash[count], rows[n].hashes[count], HASH, "row %u", n);
        cr_expect_eq(proof.count, count, "row %u", n);
    }
}

static void expect_root(uint64_t size)
{
    unsigned char root[HASH], wanted[HASH];
    struct merkle_tree tree = tree_of(&size);
    naive_root(leaves, size, wanted);
    cr_assert(merkle_root(&tree, root));
    cr_expect_arr_eq(root, wanted, HASH, "size %d", (int)size);
}

Test(merkle, roots_are_those_of_the_definition)
{
    for (uint64_t size = 1; size <= 200; size++)
        expect_root(size);
    for (uint64_t size = MERKLE_TILE - 1; size <= MOST; size += 1 + size % 3 * 20)
        expect_root(size);
    expect_root(2 * MERKLE_TILE);
}

/* What holds for PROOF must not hold for another number or size, nor with one bit changed. */
static void expect_inclusion(uint64_t size, uint64_t index, const unsigned char root[HASH])
{
    struct merkle_tree tree = tree_of(&size);
    struct merkle_proof proof, bad;
    cr_assert(merkle_inclusion(&tree, index, &proof));
    cr_expect(merkle_inclusion_holds(leaves[index], index, size, &proof, root), "%d of %d",
              (int)index, (int)size);
    cr_expect_not(merkle_inclusion_holds(leaves[index + 1], index, size, &proof, root));
    cr_expect_not(merkle_inclusion_holds(leaves[index], index ^ 1, size, &proof, root));
    cr_expect_not(merkle_inclusion_holds(leaves[index], index + size, size, &proof, root));
    for (unsigned i = 0; i < proof.count; i++) {
        bad = proof;
        bad.hash[i][i % HASH] ^= 1;
        cr_expect_not(merkle_inclusion_holds(leaves[index], index, size, &bad, root));
    }
    bad = proof;
    bad.count += proof.count < MERKLE_PROOF_MAX;
    cr_expect_not(merkle_inclusion_holds(leaves[index], index, size, &bad, root));
    bad.count = proof.count - 1;
    if (proof.count > 0)
        cr_expect_not(merkle_inclusion_holds(leaves[index], index, size, &bad, root));
}

Test(merkle, inclusion_is_proven_for_every_leaf_and_for_nothing_else)
{
    unsigned char root[HASH];
    for (uint64_t size = 1; size <= PAIRS; size++) {
        naive_root(leaves, size, root);
        for (uint64_t index = 0; index < size; index++)
            expect_inclusion(size, index, root);
    }
    naive_root(leaves, MOST - 1, root);
    for (uint64_t index = 0; index < MOST - 1; index += 37)
        expect_inclusion(MOST - 1, index, root);
}

static void expect_consistency(uint64_t old_size, uint64_t size)
{
    unsigned char old_root[HASH], root[HASH], other[HASH];
    struct merkle_tree tree = tree_of(&size);
    struct merkle_proof proof, bad;
    naive_root(leaves, old_size, old_root);
    naive_root(leaves, size, root);
    memcpy(other, old_root, HASH);
    other[7] ^= 0x10;
    cr_assert(merkle_consistency(&tree, old_size, &proof));
    cr_expect(merkle_consistency_holds(old_size, old_root, size, root, &proof), "%d to %d",
              (int)old_size, (int)size);
    cr_expect_not(merkle_consistency_holds(old_size, other, size, root, &proof), "%d to %d",
                  (int)old_size, (int)size);
    cr_expect_not(merkle_consistency_holds(old_size, old_root, size, other, &proof));
    if (old_size < size)
        cr_expect_not(merkle_consistency_holds(size, root, old_size, old_root, &proof));
    for (unsigned i = 0; i < proof.count; i++) {
        bad = proof;
        bad.hash[i][i % HASH] ^= 1;
        cr_expect_not(merkle_consistency_holds(old_size, old_root, size, root, &bad));
    }
    bad = proof;
    bad.count++;
    cr_expect_not(merkle_consistency_holds(old_size, old_root, size, root, &bad));
}

Test(merkle, consistency_is_proven_for_every_pair_and_for_nothing_else)
{
    for (uint64_t size = 1; size <= PAIRS; size++)
        for (uint64_t old_size = 1; old_size <= size; old_size++)
            expect_consistency(old_size, size);
    for (uint64_t old_size = 1; old_size < MOST; old_size += 41)
        expect_consistency(old_size, MOST - 1);
}

Test(merkle, everything_goes_on_from_an_empty_tree)
{
    struct merkle_proof proof = {.count = 9};
    unsigned char root[HASH];
    uint64_t size = 5;
    struct merkle_tree tree = tree_of(&size);
    naive_root(leaves, size, root);
    cr_assert(merkle_consistency(&tree, 0, &proof));
    cr_expect_eq(proof.count, 0);
    cr_expect(merkle_consistency_holds(0, leaves[0], 5, root, &proof));
}

Test(merkle, a_full_tile_is_a_node)
{
    unsigned char wanted[HASH], got[HASH];
    naive_root(leaves, MERKLE_TILE, wanted);
    merkle_tile((const unsigned char(*)[HASH])leaves, got);
    cr_expect_arr_eq(got, wanted, HASH);
}

Test(merkle, says_so_when_a_node_cannot_be_read)
{
    struct merkle_proof proof;
    unsigned char root[HASH];
    uint64_t missing = 4;
    struct merkle_tree tree = {.size = 7, .node = no_node, .context = &missing};
    cr_expect_not(merkle_root(&tree, root));
    cr_expect_not(merkle_inclusion(&tree, 0, &proof));
    cr_expect_not(merkle_consistency(&tree, 6, &proof));
}
