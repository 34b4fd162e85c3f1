/* Coordinates of one bisection, from the ends down.
 *
 * DESIGN. A point's value needs the coordinates of the two ends and of the midpoints above it, and
 * these need the function at just those points: one walk down serves both. The two ends of the
 * gap at hand are kept, of the function and of what is released.
 *
 * The words of a coordinate's noise are the blocks of a ChaCha20 stream of its own: key, the path's
 * (HChaCha20 of the release's); nonce, the coordinate's name with the block's number above it. The
 * sampler (noise_lattice.h) takes a dozen words or two, so two blocks of every coordinate are made
 * at once and more where they are asked for. */
#include "algos/privacy/functions/gaussian_tree.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

#include "algos/privacy/functions/gaussian_grid.h"
#include "algos/privacy/noise/chacha20_blocks.h"
#include "algos/privacy/noise/noise_lattice.h"

#define KEY_BYTES   GAUSSIAN_PATH_KEY_BYTES
#define BLOCK_WORDS (CHACHA20_BLOCK_BYTES / 8)
#define FIRST       2      /* blocks of every coordinate that are made at once */
#define STEPS_MOST  0x1p61 /* in a coordinate: with its noise they are an int64_t */

struct gaussian_tree {
    struct gaussian_path_axis axis;
    struct gaussian_lattice lattice;
    double sigma;
    uint8_t key[KEY_BYTES];
};

static double coordinates_of(const struct gaussian_path_law *law, uint32_t paths)
{
    return (ldexp(1.0, (int)law->bits) + 1.0) * paths;
}

bool gaussian_tree_fits(const struct gaussian_path_law *law, uint32_t paths, double sensitivity)
{
    return gaussian_lattice_fits(sensitivity, law->sigma, (size_t)coordinates_of(law, paths));
}

/* Half of this bounds a coordinate of anything within the limit; 2^-59 of it bounds the error of
 * the quotient above, whose four operations and two constants are right to 2^-61 each. */
static double coordinate_most(const struct gaussian_path_law *law, double value_limit)
{
    double least_spread = sqrt(tanh(ldexp(law->beta, -(int)law->bits)));
    return 4.0 * value_limit / least_spread * (1.0 + 1e-14);
}

struct gaussian_lattice gaussian_tree_lattice(const struct gaussian_path_law *law, uint32_t paths,
                                              double sensitivity, double value_limit)
{
    return gaussian_lattice_of(sensitivity, law->sigma, (size_t)coordinates_of(law, paths),
                               coordinate_most(law, value_limit));
}

bool gaussian_tree_takes(const struct gaussian_path_law *law,
                         const struct gaussian_lattice *lattice, double value_limit)
{
    int exponent;
    return isnormal(lattice->step) && frexp(lattice->step, &exponent) == 0.5 &&
           coordinate_most(law, value_limit) / lattice->step <= STEPS_MOST && lattice->scale > 0 &&
           lattice->scale <= NOISE_LATTICE_MAX;
}

struct gaussian_tree *gaussian_tree_new(const struct gaussian_path_law *law,
                                        const struct gaussian_lattice *lattice,
                                        const uint8_t key[KEY_BYTES])
{
    assert(!gaussian_path_problem(law) && law->dimensions == 1 &&
           gaussian_tree_takes(law, lattice, 0.0));
    if (sodium_init() < 0)
        return NULL;
    struct gaussian_tree *tree = sodium_malloc(sizeof *tree); /* locked, kept out of cores */
    if (!tree)
        return NULL;
    tree->lattice = *lattice;
    tree->sigma = law->sigma;
    gaussian_path_axis_init(&tree->axis, law->beta, law->bits);
    memcpy(tree->key, key, KEY_BYTES);
    return tree;
}

void gaussian_tree_free(struct gaussian_tree *tree)
{
    sodium_free(tree); /* wipes; takes NULL */
}

/* ---- noise */

/* The coordinates that INDEX needs: ends, then midpoints downwards; the last is its own. */
static uint32_t tree_way(const struct gaussian_path_axis *axis, uint32_t index, uint32_t *way)
{
    uint32_t count = 0, size = UINT32_C(1) << axis->bits;
    way[count++] = 0;
    if (index > 0)
        way[count++] = size;
    for (uint32_t half = size / 2; half > 0 && way[count - 1] != index && index > 0; half /= 2)
        way[count++] = (index / (2 * half)) * 2 * half + half;
    return count;
}

/* The words of one coordinate's noise. */
struct tree_words {
    const uint8_t *key;
    uint64_t name;
    const uint8_t (*first)[CHACHA20_BLOCK_BYTES]; /* FIRST blocks, or NULL */
    uint8_t later[CHACHA20_BLOCK_BYTES];
    uint64_t next;
};

/* A point's own number is the name of its coordinate. */
static uint64_t block_name(uint32_t point, uint64_t block)
{
    return point | block << 32;
}

static uint64_t tree_word(void *context)
{
    struct tree_words *words = context;
    uint64_t block = words->next / BLOCK_WORDS, place = words->next % BLOCK_WORDS, word = 0;
    const uint8_t *bytes = words->later;
    words->next++;
    if (block < FIRST)
        bytes = words->first[block];
    else if (place == 0)
        chacha20_blocks(words->key, &(uint64_t){block_name((uint32_t)words->name, block)}, 1,
                        &words->later);
    for (int i = 7; i >= 0; i--)
        word = word << 8 | bytes[8 * place + (uint64_t)i];
    return word;
}

/* NOISE[count] of path NUMBER at the coordinates WAY. */
static void tree_noises(const struct gaussian_tree *tree, uint32_t number, const uint32_t *way,
                        uint32_t count, int64_t *noise)
{
    uint8_t key[KEY_BYTES], input[crypto_core_hchacha20_INPUTBYTES] = {0};
    uint8_t block[FIRST * GAUSSIAN_PATH_MAX_NODES][CHACHA20_BLOCK_BYTES];
    uint64_t name[FIRST * GAUSSIAN_PATH_MAX_NODES];
    for (int i = 0; i < 4; i++)
        input[i] = (uint8_t)(number >> 8 * i);
    crypto_core_hchacha20(key, input, tree->key, NULL);
    for (uint32_t i = 0; i < FIRST * count; i++)
        name[i] = block_name(way[i / FIRST], i % FIRST);
    chacha20_blocks(key, name, FIRST * count, block);
    for (uint32_t i = 0; i < count; i++) {
        struct tree_words words = {
            .key = key, .name = way[i], .first = (const uint8_t(*)[CHACHA20_BLOCK_BYTES])block};
        words.first += FIRST * (size_t)i;
        noise[i] = noise_lattice_gaussian_by(tree_word, &words, tree->lattice.scale);
        sodium_memzero(&words, sizeof words);
    }
    sodium_memzero(key, sizeof key);
    sodium_memzero(block, sizeof block);
}

int64_t gaussian_tree_noise(const struct gaussian_tree *tree, uint32_t number, uint32_t index)
{
    int64_t noise;
    tree_noises(tree, number, &index, 1, &noise);
    return noise;
}

/* ---- values */

/* One function at the two ends of a gap, as it is and as it is released. */
struct tree_gap {
    double left, right;
    long double told_left, told_right;
};

/* What is told of a coordinate. */
static long double tell_coordinate(const struct gaussian_lattice *lattice, long double coordinate,
                                   int64_t noise)
{
    int64_t units = llrintl(coordinate / lattice->step); /* the quotient is exact */
    return (long double)(units + noise) * lattice->step;
}

/* The released function at the last point of WAY[count], from its values F[k * stride] there. */
static long double tell_value(const struct gaussian_tree *tree, const uint32_t *way, uint32_t count,
                              const double *f, uint32_t stride, const int64_t *noise)
{
    const struct gaussian_path_axis *axis = &tree->axis;
    struct tree_gap gap = {.left = f[0],
                           .told_left = tell_coordinate(&tree->lattice, f[0], noise[0])};
    if (count == 1)
        return gap.told_left;
    gap.right = f[stride];
    gap.told_right =
        axis->end_weight * gap.told_left +
        axis->end_spread *
            tell_coordinate(&tree->lattice,
                            (gap.right - axis->end_weight * gap.left) / axis->end_spread, noise[1]);
    long double told = gap.told_right;
    for (uint32_t k = 2; k < count; k++) {
        long double weight = axis->weight[k - 2], spread = axis->spread[k - 2];
        double middle = f[k * stride];
        long double coordinate = (middle - weight * ((long double)gap.left + gap.right)) / spread;
        told = weight * (gap.told_left + gap.told_right) +
               spread * tell_coordinate(&tree->lattice, coordinate, noise[k]);
        if (way[count - 1] < way[k]) {
            gap.right = middle;
            gap.told_right = told;
        } else {
            gap.left = middle;
            gap.told_left = told;
        }
    }
    return told;
}

void gaussian_tree_release(const struct gaussian_tree *tree, uint32_t count, uint32_t index,
                           gaussian_tree_function *function, const void *context,
                           double value_limit, double *out)
{
    uint32_t way[GAUSSIAN_PATH_MAX_NODES], length = tree_way(&tree->axis, index, way);
    double f[GAUSSIAN_PATH_MAX_NODES * GAUSSIAN_TREE_MAX_PATHS];
    int64_t noise[GAUSSIAN_PATH_MAX_NODES];
    assert(count <= GAUSSIAN_TREE_MAX_PATHS && index <= UINT32_C(1) << tree->axis.bits);
    for (uint32_t k = 0; k < length; k++)
        function(context, way[k], f + (size_t)k * count);
    for (uint32_t a = 0; a < count; a++) {
        tree_noises(tree, a, way, length, noise);
        long double told = tell_value(tree, way, length, f + a, count, noise);
        out[a] = gaussian_grid_round(0.0, told, tree->sigma, value_limit);
    }
    sodium_memzero(f, sizeof f);
    sodium_memzero(noise, sizeof noise);
}
