/* Values of the path from its key.
 *
 * DESIGN. A value is a sum of coefficient times normal over the nodes above a point
 * (gaussian_path_axis.h); in several dimensions over the product of the axes' nodes, which gives
 * the product kernel exactly. The normal of a node is a function of (key, path number, node):
 *
 *   HChaCha20 of (dimensions, number) turns the release's key into the path's; of (level, index)
 *   of a node of every axis but the last, that into the key of the last axis; there one ChaCha20
 *   block under nonce = name of a subtree of three levels holds the words of its seven nodes.
 *
 * Each key serves HChaCha20 or ChaCha20, never both, and how often it is handed down is fixed by
 * the number of dimensions, which is part of the first input: a cascade of pseudo-random functions
 * of fixed length. Three levels per block are what makes 24 levels cost nine blocks and not 26.
 *
 * An answer is a cell of the public grid. Rough normals almost always decide which (all but one in
 * 2^30); only where their error could reach a cell's edge are the fine ones drawn: from the same
 * words, so the answer is that of the fine ones always. */
#include "algos/privacy/functions/gaussian_path.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

#include "algos/privacy/functions/gaussian_grid.h"
#include "algos/privacy/math/normal_quantile.h"
#include "algos/privacy/noise/chacha20_blocks.h"

#define KEY_BYTES   GAUSSIAN_PATH_KEY_BYTES
#define TREE_LEVELS 3 /* 7 nodes of 8 bytes and one word unused */
#define MAX_TREES   (GAUSSIAN_PATH_MAX_BITS / TREE_LEVELS + 1) /* and that of the ends */

struct gaussian_path {
    struct gaussian_path_axis axis; /* the same along every dimension */
    struct gaussian_path_law law;
    uint8_t key[KEY_BYTES];
};

const char *gaussian_path_problem(const struct gaussian_path_law *law)
{
    if (!(law->beta >= 1e-9 && law->beta <= 1e9))
        return "beta must be from 1e-9 to 1e9";
    if (!(law->sigma >= 1e-12 && law->sigma <= 1e12))
        return "sigma must be from 1e-12 to 1e12";
    if (law->bits < 1 || law->bits > GAUSSIAN_PATH_MAX_BITS)
        return "bits must be from 1 to 24";
    if (law->dimensions < 1 || law->dimensions > GAUSSIAN_PATH_MAX_DIMENSIONS)
        return "dimensions must be from 1 to 4";
    if (pow(law->bits + 2.0, law->dimensions) > GAUSSIAN_PATH_MAX_TERMS)
        return "(bits + 2)^dimensions must be at most 110000";
    return NULL;
}

struct gaussian_path *gaussian_path_new(const struct gaussian_path_law *law,
                                        const uint8_t key[GAUSSIAN_PATH_KEY_BYTES])
{
    assert(!gaussian_path_problem(law));
    if (sodium_init() < 0)
        return NULL;
    struct gaussian_path *path = sodium_malloc(sizeof *path); /* locked, kept out of cores */
    if (!path)
        return NULL;
    path->law = *law;
    gaussian_path_axis_init(&path->axis, law->beta, law->bits);
    memcpy(path->key, key, KEY_BYTES);
    return path;
}

void gaussian_path_free(struct gaussian_path *path)
{
    sodium_free(path); /* wipes; takes NULL */
}

bool gaussian_path_quantise(const struct gaussian_path_law *law, const double *x, uint32_t *index)
{
    for (uint32_t j = 0; j < law->dimensions; j++)
        if (isnan(x[j]))
            return false;
    for (uint32_t j = 0; j < law->dimensions; j++)
        index[j] = (uint32_t)lrint(ldexp(fmax(0.0, fmin(1.0, x[j])), (int)law->bits));
    return true;
}

static void put_u64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_u64(const uint8_t *from)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static void hand_down(const uint8_t key[KEY_BYTES], uint64_t first, uint64_t second,
                      uint8_t child[KEY_BYTES])
{
    uint8_t input[crypto_core_hchacha20_INPUTBYTES];
    put_u64(input, first);
    put_u64(input + 8, second);
    crypto_core_hchacha20(child, input, key, NULL);
}

/* Which block holds NODE, and where in it. Tree 0: the ends; else 2^(its root's level) + its root's
 * index, so that no two share a name. */
static uint64_t tree_of(const struct gaussian_path_node *node, uint32_t *slot)
{
    if (node->level < 0) {
        *slot = node->index;
        return 0;
    }
    uint32_t below = (uint32_t)node->level % TREE_LEVELS, level = (uint32_t)node->level - below;
    *slot = (UINT32_C(1) << below) + (node->index & ((UINT32_C(1) << below) - 1));
    return (UINT64_C(1) << level) + (node->index >> below);
}

/* The nodes of one axis at one point, in the order of gaussian_path_axis_nodes. */
struct axis_nodes {
    size_t count;
    struct gaussian_path_node node[GAUSSIAN_PATH_MAX_NODES];
};

enum precision { ROUGH, FINE };

/* Where a node's word is: in the block of its tree. */
struct word_place {
    const uint8_t *key;
    uint64_t tree;
    uint32_t slot;
};

/* Further random bits after the word, for normals far out. They come from the same place in another
 * block: the one named like the tree, but with the DEPTH above it. No tree has that name. */
static uint64_t deeper_word(const void *context, unsigned depth)
{
    const struct word_place *at = context;
    uint8_t block[1][CHACHA20_BLOCK_BYTES];
    uint64_t nonce = at->tree | (uint64_t)depth << 56;
    chacha20_blocks(at->key, &nonce, 1, block);
    uint64_t word = get_u64(block[0] + 8 * (size_t)at->slot);
    sodium_memzero(block, sizeof block);
    return word;
}

static long double node_normal(const struct word_place *at, uint64_t word, enum precision precision)
{
    bool far = (word & (UINT64_MAX >> 1)) < NORMAL_WORD_TAIL;
    return precision == FINE || far ? normal_from_words(word, deeper_word, at)
                                    : normal_from_word_roughly(word);
}

/* Deepest first, the nodes of one tree follow one another. */
static long double last_axis(const uint8_t key[KEY_BYTES], const struct axis_nodes *nodes,
                             enum precision precision)
{
    uint8_t block[MAX_TREES][CHACHA20_BLOCK_BYTES];
    uint64_t tree[MAX_TREES];
    uint32_t slot[GAUSSIAN_PATH_MAX_NODES], at[GAUSSIAN_PATH_MAX_NODES], trees = 0;
    long double sum = 0.0L;
    for (size_t i = 0; i < nodes->count; i++) {
        uint64_t own = tree_of(&nodes->node[i], &slot[i]);
        if (trees == 0 || own != tree[trees - 1]) {
            assert(trees < MAX_TREES);
            tree[trees++] = own;
        }
        at[i] = trees - 1;
    }
    chacha20_blocks(key, tree, trees, block);
    for (size_t i = 0; i < nodes->count; i++) {
        uint64_t word = get_u64(block[at[i]] + 8 * (size_t)slot[i]);
        const struct word_place place = {key, tree[at[i]], slot[i]};
        sum += nodes->node[i].coefficient * node_normal(&place, word, precision);
    }
    sodium_memzero(block, sizeof block);
    return sum;
}

/* Sum over the nodes of AXES[0 .. count); as deep as there are dimensions. */
static long double all_axes(const uint8_t key[KEY_BYTES], const struct axis_nodes *axes,
                            uint32_t count, enum precision precision)
{
    if (count == 1)
        return last_axis(key, axes, precision);
    uint8_t child[KEY_BYTES];
    long double sum = 0.0L;
    for (size_t i = 0; i < axes->count; i++) {
        const struct gaussian_path_node *node = &axes->node[i];
        hand_down(key, (uint64_t)(int64_t)node->level, node->index, child);
        sum += node->coefficient * all_axes(child, axes + 1, count - 1, precision);
    }
    sodium_memzero(child, sizeof child);
    return sum;
}

static void find_nodes(const struct gaussian_path *path, const uint32_t *index,
                       struct axis_nodes *axes)
{
    assert(path->law.dimensions >= 1);
    for (uint32_t j = 0; j < path->law.dimensions; j++)
        axes[j].count = gaussian_path_axis_nodes(&path->axis, index[j], axes[j].node);
}

static long double value_at(const struct gaussian_path *path, uint32_t number,
                            const struct axis_nodes *axes, enum precision precision)
{
    uint8_t key[KEY_BYTES];
    hand_down(path->key, path->law.dimensions, number, key);
    long double value = path->law.sigma * all_axes(key, axes, path->law.dimensions, precision);
    sodium_memzero(key, sizeof key);
    return value;
}

long double gaussian_path_value(const struct gaussian_path *path, uint32_t number,
                                const uint32_t *index)
{
    struct axis_nodes axes[GAUSSIAN_PATH_MAX_DIMENSIONS];
    find_nodes(path, index, axes);
    return value_at(path, number, axes, FINE);
}

/* The greatest difference of the rough value from the fine one. It adds up the errors of all
 * normals. The rounding of the sums is 2^-20 of it. */
static long double rough_error(const struct gaussian_path *path, const struct axis_nodes *axes)
{
    long double product = path->law.sigma * (long double)NORMAL_ROUGH_ERROR;
    for (uint32_t j = 0; j < path->law.dimensions; j++) {
        long double sum = 0.0L;
        for (size_t i = 0; i < axes[j].count; i++)
            sum += axes[j].node[i].coefficient; /* none is negative */
        product *= sum;
    }
    return product;
}

static double path_release(const struct gaussian_path *path, uint32_t number,
                           const struct axis_nodes *axes, double mean, double value_limit)
{
    double sigma = path->law.sigma;
    long double rough = value_at(path, number, axes, ROUGH), error = rough_error(path, axes);
    double below = gaussian_grid_round(mean, rough - error, sigma, value_limit);
    double above = gaussian_grid_round(mean, rough + error, sigma, value_limit);
    if (below == above)
        return below;
    return gaussian_grid_round(mean, value_at(path, number, axes, FINE), sigma, value_limit);
}

void gaussian_path_release_all(const struct gaussian_path *path, uint32_t count,
                               const uint32_t *index, const double *mean, double value_limit,
                               double *out)
{
    struct axis_nodes axes[GAUSSIAN_PATH_MAX_DIMENSIONS];
    find_nodes(path, index, axes);
    for (uint32_t number = 0; number < count; number++)
        out[number] = path_release(path, number, axes, mean[number], value_limit);
}
