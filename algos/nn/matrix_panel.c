/* Each result is one sum in the order of the inner dimension, by fused multiply-adds (this file
 * alone is compiled with -ffp-contract=fast). A tile of results is held in registers: some rows by
 * PANEL columns of B, which are packed side by side. A row at the end of the matrix is computed in
 * a whole tile too, beside copies of itself, so that every row takes the same instructions.
 * matrix_vector.c has another order, which needs no packing. */
#include "algos/nn/matrix_panel.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum {
    PANEL = 32,        /* columns of a tile */
    PANEL_INNER = 512, /* packed at once: 64 KB */
    ROWS_MOST = 8,     /* of a tile */
    QUARTET = 4,
};

/* How a factor lies in memory: number k of its row j. */
struct factor {
    const float *numbers;
    size_t along, across; /* from one k to the next, from one j to the next */
};

typedef float quartet __attribute__((vector_size(QUARTET * sizeof(float))));

/* Four numbers of four rows of FROM, turned: TO's rows are PANEL apart. */
static void pack_quartet(const float *from, size_t stride, float *to)
{
    quartet a, b, c, d;
    memcpy(&a, from, sizeof a);
    memcpy(&b, from + stride, sizeof b);
    memcpy(&c, from + 2 * stride, sizeof c);
    memcpy(&d, from + 3 * stride, sizeof d);
    quartet ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    quartet cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    quartet ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    quartet cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const quartet turned[QUARTET] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5),
                                     __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
                                     __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                                     __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
    for (size_t k = 0; k < QUARTET; k++)
        memcpy(to + k * PANEL, &turned[k], sizeof turned[k]);
}

/* Packs numbers FIRST_INNER .. + COUNT of B's rows FIRST .. + WIDTH: number k of row j goes to
 * [k][j]; zeros beyond WIDTH. */
static void panel_pack(struct factor b, size_t first, size_t width, size_t first_inner,
                       size_t count, float packed[][PANEL])
{
    const float *from = b.numbers + first * b.across + first_inner * b.along;
    if (width < PANEL)
        memset(packed, 0, count * sizeof *packed);
    for (size_t k = 0; b.across == 1 && k < count; k++)
        memcpy(packed[k], from + k * b.along, width * sizeof *from);
    if (b.across == 1)
        return;
    assert(b.along == 1);
    size_t whole = count / QUARTET * QUARTET, fours = width / QUARTET * QUARTET;
    for (size_t j = 0; j < fours; j += QUARTET)
        for (size_t k = 0; k < whole; k += QUARTET)
            pack_quartet(from + j * b.across + k, b.across, &packed[k][j]);
    for (size_t j = 0; j < width; j++)
        for (size_t k = j < fours ? whole : 0; k < count; k++)
            packed[k][j] = from[j * b.across + k];
}

/* Where a tile reads and writes. */
struct panel_tile {
    const float *row[ROWS_MOST]; /* of A */
    float *out[ROWS_MOST];       /* WIDTH numbers of C each */
    size_t width, count;         /* numbers of an OUT, and of a ROW */
    bool first;                  /* writes; else adds */
};

/* NAME: a tile of SIDE rows by PANEL columns, in vectors of LANES_OF floats. */
#define DEFINE_PANEL_TILE(NAME, LANES_OF, SIDE)                                                    \
    static inline __attribute__((always_inline)) void NAME(const struct panel_tile *tile,          \
                                                           const float packed[][PANEL])            \
    {                                                                                              \
        typedef float part __attribute__((vector_size((LANES_OF) * sizeof(float))));               \
        part sum[SIDE][PANEL / (LANES_OF)], b[PANEL / (LANES_OF)];                                 \
        for (size_t r = 0; r < (SIDE); r++) {                                                      \
            memset(sum[r], 0, sizeof sum[r]);                                                      \
            if (!tile->first)                                                                      \
                memcpy(sum[r], tile->out[r], tile->width * sizeof(float));                         \
        }                                                                                          \
        for (size_t k = 0; k < tile->count; k++) {                                                 \
            memcpy(b, packed[k], sizeof b);                                                        \
            for (size_t r = 0; r < (SIDE); r++)                                                    \
                for (size_t v = 0; v < PANEL / (LANES_OF); v++)                                    \
                    sum[r][v] += tile->row[r][k] * b[v];                                           \
        }                                                                                          \
        for (size_t r = 0; r < (SIDE); r++)                                                        \
            memcpy(tile->out[r], sum[r], tile->width * sizeof(float));                             \
    }

enum { ROWS_PLAIN = 3 };

DEFINE_PANEL_TILE(tile_plain, 8, ROWS_PLAIN)
DEFINE_PANEL_TILE(tile_wide, 16, ROWS_MOST)

typedef void tile_function(const struct panel_tile *tile, const float packed[][PANEL]);

/* A part of the product: A[rows] begin every STRIDE, C's rows every COLUMNS. */
struct panel_part {
    size_t rows, stride, columns, width, count;
    const float *a;
    float *c;
    bool first;
};

static inline __attribute__((always_inline)) void panel_rows(const struct panel_part *part,
                                                             size_t side, tile_function *compute,
                                                             const float packed[][PANEL])
{
    float spare[ROWS_MOST][PANEL] = {{0}};
    struct panel_tile tile = {.count = part->count, .first = part->first};
    for (size_t i = 0; i < part->rows; i += side) {
        tile.width = part->width;
        for (size_t r = 0; r < side; r++) { /* beyond the end: the last row again, for nobody */
            bool inside = i + r < part->rows;
            tile.row[r] = part->a + (inside ? i + r : part->rows - 1) * part->stride;
            tile.out[r] = inside ? part->c + (i + r) * part->columns : spare[r];
        }
        if (part->width == PANEL)
            tile.width = PANEL; /* copies of a known size are no calls */
        compute(&tile, packed);
    }
}

static void panel_plain(const struct panel_part *part, const float packed[][PANEL])
{
    panel_rows(part, ROWS_PLAIN, tile_plain, packed);
}

#ifdef __x86_64__
__attribute__((target("avx512f,fma"))) static void panel_wide(const struct panel_part *part,
                                                              const float packed[][PANEL])
{
    panel_rows(part, ROWS_MOST, tile_wide, packed);
}

static bool has_panel_wide(void)
{
    return __builtin_cpu_supports("avx512f");
}
#else
#define panel_wide panel_plain
static bool has_panel_wide(void)
{
    return false;
}
#endif

/* C[rows x columns] = A[rows x inner] times COLUMNS rows of B. */
static void panel_product(size_t rows, size_t inner, size_t columns, const float *a,
                          struct factor b, float *c)
{
    _Alignas(64) float packed[PANEL_INNER][PANEL];
    bool wide = has_panel_wide();
    assert(inner > 0 && columns > 0);
    for (size_t j = 0; rows > 0 && j < columns; j += PANEL) {
        size_t width = columns - j < PANEL ? columns - j : PANEL;
        for (size_t k = 0; k < inner; k += PANEL_INNER) {
            size_t count = inner - k < PANEL_INNER ? inner - k : PANEL_INNER;
            panel_pack(b, j, width, k, count, packed);
            const struct panel_part part = {rows,  inner, columns, width,
                                            count, a + k, c + j,   k == 0};
            if (wide)
                panel_wide(&part, packed);
            else
                panel_plain(&part, packed);
        }
    }
}

void matrix_panel_times_transposed(size_t rows, size_t inner, size_t columns, const float *a,
                                   const float *b, float *c)
{
    panel_product(rows, inner, columns, a, (struct factor){b, 1, inner}, c);
}

void matrix_panel_times(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                        float *c)
{
    panel_product(rows, inner, columns, a, (struct factor){b, columns, 1}, c);
}
