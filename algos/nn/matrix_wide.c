/* Products by AVX-512.
 *
 * DESIGN. A panel, PANEL columns of the right factor and up to INNER of its rows, is packed: one
 * row after the other, zeros beyond the last column. Then SIDE rows of the left factor at a time
 * run along it; their 16 sums stay in registers, each of the left factor's numbers is broadcast
 * from where it lies, and nothing else is copied. A panel has 32 KB and streams from the second
 * cache at a fraction of what that gives. On Zen 4, packing included, the multipliers are busy 97 %
 * of the time (110 of 114 GFLOP/s at 256 x 256 by 256 x 256).
 *
 * The loops over a tile's rows must be unrolled: its sums live in registers only then.
 *
 * The functions carry their own target, so that the rest of the program still starts on a processor
 * without the instructions. */
#include "algos/nn/matrix_wide.h"

#include <assert.h>

#ifdef __x86_64__

#include <immintrin.h>

enum { LANES = 16, HALVES = 2, PANEL = HALVES * LANES, INNER = 256, SIDE = 8 };

#define WIDE __attribute__((target("avx512f")))

/* Where a tile of results goes and what else is done to it. */
struct out {
    float *c;
    size_t stride, column; /* COLUMN: of the tile's first */
    __mmask16 there[HALVES];
    bool add;                           /* to what is in C */
    const struct matrix_finish *finish; /* NULL: nothing yet */
};

/* Row by row: sixteen rows of FROM, ACROSS apart, become the columns of TO; LIVE of them and of
 * their numbers are there, the rest is zero. Four times the same shuffle, of the first half of the
 * vectors with the second half, make a transpose. */
WIDE static inline void transpose(const float *from, size_t across, size_t live, __mmask16 numbers,
                                  float *to)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high =
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    __m512 v[2][LANES];
    for (size_t j = 0; j < LANES; j++)
        v[0][j] =
            j < live ? _mm512_maskz_loadu_ps(numbers, from + j * across) : _mm512_setzero_ps();
    for (size_t turn = 0; turn < 4; turn++) {
        const __m512 *now = v[turn & 1];
        __m512 *next = v[(turn + 1) & 1];
        for (size_t j = 0; j < LANES / 2; j++) {
            next[2 * j] = _mm512_permutex2var_ps(now[j], low, now[j + LANES / 2]);
            next[2 * j + 1] = _mm512_permutex2var_ps(now[j], high, now[j + LANES / 2]);
        }
    }
    for (size_t k = 0; k < LANES; k++)
        _mm512_store_ps(to + k * PANEL, v[0][k]);
}

WIDE static inline __mmask16 first_of(size_t count)
{
    return count >= LANES ? (__mmask16)0xffff : (__mmask16)((1U << count) - 1U);
}

/* WIDTH columns of FROM, INNER of its rows, to a panel. */
WIDE static void pack(struct matrix_factor from, size_t inner, size_t width, float *panel)
{
    if (from.across == 1) {
        for (size_t k = 0; k < inner; k++) {
            for (size_t h = 0; h < HALVES; h++) {
                size_t first = h * LANES < width ? h * LANES : width;
                const float *row = from.numbers + k * from.along + first;
                _mm512_store_ps(panel + k * PANEL + h * LANES,
                                _mm512_maskz_loadu_ps(first_of(width - first), row));
            }
        }
        return;
    }
    assert(from.along == 1);
    for (size_t k = 0; k < inner; k += LANES) {
        for (size_t h = 0; h < HALVES; h++) {
            size_t first = h * LANES < width ? h * LANES : width;
            transpose(from.numbers + first * from.across + k, from.across, width - first,
                      first_of(inner - k), panel + k * PANEL + h * LANES);
        }
    }
}

/* Row ROW of a tile, half H of it. */
WIDE static inline void write(const struct out *out, size_t row, size_t h, __m512 sum)
{
    const struct matrix_finish *finish = out->finish;
    __mmask16 there = out->there[h];
    size_t at = row * out->stride + h * LANES;
    if (out->add)
        sum = _mm512_add_ps(_mm512_maskz_loadu_ps(there, out->c + at), sum);
    if (finish && finish->bias)
        sum = _mm512_add_ps(sum,
                            _mm512_maskz_loadu_ps(there, finish->bias + out->column + h * LANES));
    if (finish && finish->rectify) /* the second of both when one is NaN: it must show */
        sum = _mm512_max_ps(_mm512_setzero_ps(), sum);
    if (finish && finish->where) {
        __m512 gate = _mm512_maskz_loadu_ps(there, finish->where + out->column + at);
        sum = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate, _mm512_setzero_ps(), _CMP_GT_OQ), sum);
    }
    _mm512_mask_storeu_ps(out->c + at, there, sum);
}

/* ROWS rows, a constant where this is used, against a panel. */
WIDE static inline __attribute__((always_inline)) void tile(const size_t rows, size_t inner,
                                                            struct matrix_factor left,
                                                            const float *panel,
                                                            const struct out *out)
{
    __m512 sum[SIDE][HALVES];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = _mm512_setzero_ps();
    for (size_t k = 0; k < inner; k++) {
        const __m512 first = _mm512_load_ps(panel + k * PANEL);
        const __m512 second = _mm512_load_ps(panel + k * PANEL + LANES);
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            const __m512 factor = _mm512_set1_ps(left.numbers[r * left.across + k * left.along]);
            sum[r][0] = _mm512_fmadd_ps(factor, first, sum[r][0]);
            sum[r][1] = _mm512_fmadd_ps(factor, second, sum[r][1]);
        }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        write(out, r, 0, sum[r][0]);
        write(out, r, 1, sum[r][1]);
    }
}

/* All rows of the left factor against a panel: by eights, then what is left by four, two, one. */
WIDE static void all_rows(size_t rows, size_t inner, struct matrix_factor left, const float *panel,
                          const struct out *out)
{
    size_t done = 0;
    while (done < rows) {
        struct matrix_finish finish = {0};
        struct matrix_factor from = {left.numbers + done * left.across, left.along, left.across};
        struct out to = *out;
        to.c += done * out->stride;
        if (out->finish) {
            finish = *out->finish;
            if (finish.where)
                finish.where += done * out->stride;
            to.finish = &finish;
        }
        size_t left_over = rows - done;
        if (left_over >= SIDE) {
            tile(SIDE, inner, from, panel, &to);
            done += SIDE;
        } else if (left_over >= 4) {
            tile(4, inner, from, panel, &to);
            done += 4;
        } else if (left_over >= 2) {
            tile(2, inner, from, panel, &to);
            done += 2;
        } else {
            tile(1, inner, from, panel, &to);
            done++;
        }
    }
}

WIDE void matrix_wide_product(size_t rows, size_t inner, size_t columns, struct matrix_factor left,
                              struct matrix_factor right, const struct matrix_finish *finish,
                              float *c)
{
    _Alignas(64) float panel[INNER * PANEL];
    for (size_t first = 0; first < columns; first += PANEL) {
        size_t width = columns - first < PANEL ? columns - first : PANEL;
        for (size_t k = 0; k < inner; k += INNER) {
            size_t part = inner - k < INNER ? inner - k : INNER;
            const struct matrix_factor here = {left.numbers + k * left.along, left.along,
                                               left.across},
                                       there = {right.numbers + k * right.along +
                                                    first * right.across,
                                                right.along, right.across};
            const struct out out = {
                .c = c + first,
                .stride = columns,
                .column = first,
                .there = {first_of(width), first_of(width > LANES ? width - LANES : 0)},
                .add = !finish || k > 0,
                .finish = k + part == inner ? finish : NULL};
            pack(there, part, width, panel);
            all_rows(rows, part, here, panel, &out);
        }
    }
}

#else

void matrix_wide_product(size_t rows, size_t inner, size_t columns, struct matrix_factor left,
                         struct matrix_factor right, const struct matrix_finish *finish, float *c)
{
    (void)rows, (void)inner, (void)columns, (void)left, (void)right, (void)finish, (void)c;
    assert(!"matrix_wide_product without AVX-512");
}

#endif
