/* A row's inputs are made whole once, its errors at a factor that is lowered until the norm fits;
 * the first is lower by ROUNDING_SHARE, so that it mostly does. */
#include "algos/nn/per_example_lattice.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/matrix.h"
#include "algos/nn/per_example.h"
#include "envs/rng.h"
#include "memory/memory.h"

/* The norm to which a layer's integer inputs are scaled, about: the square root of the lattice's.
 * The rows of a group, each of which has a part of that, get less. */
#define INPUT_NORM     256.0F
#define TRIES          4
#define ROUNDING_SHARE 0x1p-8
#define SUM_ERROR      (1.0 + 0x1p-13)
#define NORM_SQUARED   ((double)PER_EXAMPLE_LATTICE_NORM * PER_EXAMPLE_LATTICE_NORM)

enum { LANES = 16, OCTET = 8, PART_MOST = 32768 };

typedef float octet __attribute__((vector_size(OCTET * sizeof(float))));

void per_example_lattice_init(struct per_example_lattice *lattice, const struct mlp_shape *shape)
{
    const size_t rows = PER_EXAMPLE_LATTICE_ROWS;
    size_t count = PER_EXAMPLE_GROUP_MOST;
    for (uint32_t l = 0; l < shape->layer_count; l++)
        count += mlp_layer_input(shape, l) + (rows + 1) * shape->width[l] + rows;
    lattice->memory = memory_new(count, sizeof *lattice->memory);
    float *next = lattice->memory;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        lattice->dither[0][l] = next;
        next += mlp_layer_input(shape, l);
        lattice->dither[1][l] = next;
        next += shape->width[l];
    }
    next += PER_EXAMPLE_GROUP_MOST; /* what a group's later rows read beyond the last dither */
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        lattice->error[l] = next;
        next += rows * shape->width[l];
        lattice->scale[l] = next;
        next += rows;
    }
}

void per_example_lattice_clear(struct per_example_lattice *lattice)
{
    free(lattice->memory);
    *lattice = (struct per_example_lattice){0};
}

void per_example_lattice_dither(struct per_example_lattice *lattice, const struct mlp_shape *shape,
                                uint64_t seed, uint64_t step)
{
    struct rng rng;
    rng_seed(&rng, seed, step);
    size_t count = PER_EXAMPLE_GROUP_MOST;
    for (uint32_t l = 0; l < shape->layer_count; l++)
        count += mlp_layer_input(shape, l) + shape->width[l];
    float *dither = lattice->dither[0][0];
    for (size_t i = 0; i < count; i++)
        dither[i] = (float)(rng_next(&rng) >> 40) * 0x1p-24F - 0.5F;
}

/* Added and taken away again, it leaves the nearest whole number of what is at most 2^22 in size.
 * What is larger may keep a fraction, but fails the bound on the norm. */
#define ROUNDER 0x1.8p23F

/* OUT = the whole numbers next to SCALE X that the DITHER, in [-1/2, 1/2), chooses. Gives their
 * squared length, too low by less than the relative SUM_ERROR: no term is negative, and each goes
 * through at most 600 additions. X and OUT may be one vector. */
static float make_whole(const float *x, const float *dither, uint32_t count, float scale,
                        float *out)
{
    octet squares = {0}, values, dithers;
    float sum = 0.0F;
    uint32_t k = 0;
    for (; k + OCTET <= count; k += OCTET) {
        memcpy(&values, x + k, sizeof values);
        memcpy(&dithers, dither + k, sizeof dithers);
        values = scale * values + dithers + ROUNDER - ROUNDER;
        squares += values * values;
        memcpy(out + k, &values, sizeof values);
    }
    for (; k < count; k++) {
        out[k] = scale * x[k] + dither[k] + ROUNDER - ROUNDER;
        sum += out[k] * out[k];
    }
    for (uint32_t j = 0; j < OCTET; j++)
        sum += squares[j];
    return sum;
}

/* Squared length of X, roughly. */
static float about_square(const float *x, uint32_t count)
{
    float lane[LANES] = {0}, sum = 0.0F;
    uint32_t k = 0;
    for (; k + LANES <= count; k += LANES)
        for (uint32_t j = 0; j < LANES; j++)
            lane[j] += x[k + j] * x[k + j];
    for (; k < count; k++)
        sum += x[k] * x[k];
    for (uint32_t j = 0; j < LANES; j++)
        sum += lane[j];
    return sum;
}

static float *layer_inputs(const struct batch *batch, uint32_t layer)
{
    return layer == 0 ? batch->input : batch->activation[layer - 1];
}

/* The power of two that brings a vector of SQUARED length, that of the input and the bias's 1, near
 * NORM. Never a fraction: the bias's input is this number. */
static float input_scale(float squared, float norm)
{
    int shift = 0;
    if (squared > 0.0F) /* false for NaN */
        (void)frexpf(norm / sqrtf(squared), &shift);
    return (float)ldexp(1.0, shift > 0 ? shift : 0);
}

/* A row that is being rounded. */
struct row {
    struct per_example_lattice *lattice;
    struct batch *batch;
    uint32_t number, place;        /* in the batch, and in its group */
    float input_norm;              /* to be about that of its whole inputs */
    float scale[MLP_MAX_LAYERS];   /* 2^p of each layer's input */
    double square[MLP_MAX_LAYERS]; /* of the whole inputs, with the bias's, at most */
};

/* False: they are not finite, or too large for the lattice. */
static bool round_inputs(struct row *row)
{
    const struct mlp_shape *shape = &row->batch->shape;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l);
        float *input = layer_inputs(row->batch, l) + (size_t)row->number * in;
        float scale = input_scale(about_square(input, in) + 1.0F, row->input_norm);
        const float *dither = row->lattice->dither[0][l] + row->place;
        double square = (double)make_whole(input, dither, in, scale, input);
        row->scale[l] = scale;
        row->square[l] = square * SUM_ERROR + (double)scale * (double)scale;
        if (!(row->square[l] <= NORM_SQUARED))
            return false;
    }
    return true;
}

/* The squared norm of the row's whole gradient, at most, with errors times FACTOR. */
static double round_errors(const struct row *row, double factor, double units)
{
    const struct mlp_shape *shape = &row->batch->shape;
    double sum = 0.0;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t out = shape->width[l];
        size_t place = (size_t)row->number * out;
        float scale = (float)(factor * units / (double)row->scale[l]);
        const float *dither = row->lattice->dither[1][l] + row->place;
        double square = (double)make_whole(row->batch->error[l] + place, dither, out, scale,
                                           row->lattice->error[l] + place);
        sum += square * SUM_ERROR * row->square[l];
    }
    return sum;
}

/* Twice the inner products of ROW's whole gradient with those of its group's rows from FIRST on:
 * whole numbers, and exact, because no row is longer than the lattice's norm. */
static double whole_cross_terms(const struct row *first, const struct row *row)
{
    const struct mlp_shape *shape = &row->batch->shape;
    double sum = 0.0;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        const float *input = layer_inputs(row->batch, l), *error = row->lattice->error[l];
        const float *my_input = input + (size_t)row->number * in;
        const float *my_error = error + (size_t)row->number * out;
        for (const struct row *other = first; other < row; other++)
            sum += per_example_inner_product(my_error, error + (size_t)other->number * out, out) *
                   (per_example_inner_product(my_input, input + (size_t)other->number * in, in) +
                    (double)row->scale[l] * (double)other->scale[l]);
    }
    return 2.0 * sum;
}

/* The squared norm, at most, of the sum of the whole gradients of ROWS[count], or of the longest of
 * them if that is more. */
static double round_group(const struct row *rows, uint32_t count, double factor, double units)
{
    double most = 0.0, sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        double square = round_errors(&rows[i], factor, units);
        most = fmax(most, square);
        sum += square;
    }
    if (count == 1 || !(most <= NORM_SQUARED) || isnan(sum))
        return isnan(sum) ? sum : most;
    for (uint32_t i = 1; i < count; i++)
        sum += whole_cross_terms(rows, &rows[i]);
    return fmax(most, sum);
}

/* Makes the rows of a group whole. False: they cannot be. */
static bool round_rows(struct row *rows, uint32_t count, double factor, double units)
{
    if (!(factor > 0.0))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!round_inputs(&rows[i]))
            return false;
    factor *= 1.0 - ROUNDING_SHARE;
    for (int i = 0; i < TRIES; i++) {
        double square = round_group(rows, count, factor, units);
        if (square <= NORM_SQUARED)
            return true;
        factor *= sqrt(NORM_SQUARED / square) * (1.0 - ROUNDING_SHARE); /* NaN ends in false */
    }
    return false;
}

/* Zero times NaN is NaN, so both factors of a dropped row become zero. */
static void drop_whole_row(const struct row *row)
{
    const struct mlp_shape *shape = &row->batch->shape;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        memset(layer_inputs(row->batch, l) + (size_t)row->number * in, 0, in * sizeof(float));
        memset(row->lattice->error[l] + (size_t)row->number * out, 0, out * sizeof(float));
    }
}

/* Makes a group's rows whole, or zero. */
static void round_or_drop(struct row *rows, uint32_t count, double factor, double units)
{
    bool fits = round_rows(rows, count, factor, units);
    for (uint32_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        for (uint32_t l = 0; l < row->batch->shape.layer_count; l++)
            row->lattice->scale[l][row->number] = fits ? row->scale[l] : 0.0F;
        if (!fits)
            drop_whole_row(row);
    }
}

void per_example_lattice_round(struct per_example_lattice *lattice, struct batch *batch,
                               uint32_t rows, uint32_t group, const float *factor, double units)
{
    assert(rows <= batch->capacity && rows <= PER_EXAMPLE_LATTICE_ROWS && units > 0.0);
    assert(group > 0 && group <= PER_EXAMPLE_GROUP_MOST && rows % group == 0);
    struct row members[PER_EXAMPLE_GROUP_MOST];
    for (uint32_t row = 0; row < rows; row += group) {
        for (uint32_t i = 0; i < group; i++)
            members[i] = (struct row){.lattice = lattice,
                                      .batch = batch,
                                      .number = row + i,
                                      .place = i,
                                      .input_norm = INPUT_NORM / sqrtf((float)group)};
        round_or_drop(members, group, (double)factor[row], units);
    }
}

uint32_t per_example_parts(const struct mlp_shape *shape, struct per_example_part *out)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l), width = shape->width[l];
        uint32_t most = in < PART_MOST ? PART_MOST / in : 1;
        for (uint32_t first = 0; first < width; first += most) {
            uint32_t units = width - first < most ? width - first : most;
            bool last = first + units == width;
            if (out)
                out[count] = (struct per_example_part){
                    .layer = l,
                    .first = first,
                    .units = units,
                    .offset = mlp_weight_offset(shape, l) + (size_t)first * in,
                    .count = (size_t)units * in + (last ? width : 0)};
            count++;
        }
    }
    return count;
}

/* The bias's input is 1, and so 2^p. */
static void add_whole_biases(const struct per_example_lattice *lattice, uint32_t rows,
                             uint32_t layer, uint32_t width, float *bias)
{
    for (uint32_t i = 0; i < rows; i++) {
        const float *error = lattice->error[layer] + (size_t)i * width;
        float scale = lattice->scale[layer][i];
        for (uint32_t j = 0; j < width; j++)
            bias[j] += error[j] * scale;
    }
}

void per_example_lattice_product(const struct per_example_lattice *lattice,
                                 const struct batch *batch, uint32_t rows,
                                 const struct per_example_part *part, float *product, bool add)
{
    const struct mlp_shape *shape = &batch->shape;
    uint32_t in = mlp_layer_input(shape, part->layer), width = shape->width[part->layer];
    size_t weights = (size_t)part->units * in;
    float *bias = product + part->offset + weights;
    matrix_transposed_times_some(width, part->first, part->units, rows, in,
                                 lattice->error[part->layer], layer_inputs(batch, part->layer),
                                 product + part->offset, add);
    if (part->count == weights)
        return;
    if (!add)
        memset(bias, 0, width * sizeof *bias);
    add_whole_biases(lattice, rows, part->layer, width, bias);
}

void per_example_lattice_add_one(const float *gradient, size_t count, double units, int64_t *sum)
{
    double squares = 0.0, factor = units;
    for (size_t i = 0; i < count; i++)
        squares += (double)gradient[i] * (double)gradient[i];
    double most = PER_EXAMPLE_LATTICE_NORM * (1.0 - ROUNDING_SHARE), norm = sqrt(squares) * units;
    if (!isfinite(norm))
        return;
    if (norm > most)
        factor *= most / norm;
    /* The bound in whole numbers, exact in double: no term is above 2^32, nor is their sum. */
    squares = 0.0;
    for (size_t i = 0; i < count && squares <= NORM_SQUARED; i++) {
        double whole = trunc(factor * (double)gradient[i]);
        squares += whole * whole;
    }
    for (size_t i = 0; i < count && squares <= NORM_SQUARED; i++)
        sum[i] += (int64_t)(factor * (double)gradient[i]);
}
