/* Random projections, of which only noisy signs leave.
 *
 * One of b bits: a row of independent sqrt(3) {+1, 0, -1} with probabilities 1/6, 2/3, 1/6
 * (Achlioptas 2003), drawn from the report's public seed and so without looking at the data; u =
 * <row, vector>, clamped to
 * [-C, C]; a sign that is + with probability 1/(e^e + 1) + (u + C)/(2C) tanh(e/2), e = epsilon/b.
 * Each bit is e-private because this stays within [1/(e^e + 1), e^e/(e^e + 1)]; b bits are
 * epsilon-private; adding the rows by their signs is post-processing. The same e must stand in both
 * places. A report is the b bits; the server draws the rows anew. The sum of the rows by sign over
 * sqrt(3) has the mean b tanh(e/2)/(sqrt(3) C) times the vector, over seeds and coins, as long as
 * nothing is clamped: |u| <= sqrt(3) |v|_1.
 */
#include "algos/privacy/local/local_projected_sign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/local/local_clip.h"
#include "envs/rng.h"
#include "memory/memory.h"

#define SQRT_3 1.7320508075688772935

enum {
    BITS,
    BOUND,  /* C */
    SHRINK, /* tanh(e/2) */
};

static const char *projected_sign_problem(const struct local_parameters *parameters)
{
    double most = SQRT_3 * parameters->clip;
    if (!(parameters->projection_clip >= 0.0 && parameters->projection_clip <= most))
        return "projection_clip must be from 0 to sqrt(3) clip";
    if (parameters->projection_clip > 0.0 && parameters->projection_clip < 1e-6 * parameters->clip)
        return "projection_clip must be 0 or at least clip / 1000000";
    return NULL;
}

static void projected_sign_prepare(struct local_scheme *scheme)
{
    const struct local_parameters *parameters = &scheme->parameters;
    double bits = fmax(1.0, fmin(parameters->dimension, floor(parameters->epsilon / 2.5)));
    double most = SQRT_3 * parameters->clip;
    scheme->report_length = (size_t)bits;
    scheme->epsilon = parameters->epsilon;
    scheme->unbiased = parameters->projection_clip == 0.0 || parameters->projection_clip >= most;
    scheme->constant[BITS] = bits;
    scheme->constant[BOUND] = scheme->unbiased ? most : parameters->projection_clip;
    scheme->constant[SHRINK] = tanh(parameters->epsilon / bits / 2.0);
}

uint32_t local_projected_sign_bits(const struct local_scheme *scheme)
{
    return (uint32_t)scheme->constant[BITS];
}

uint64_t local_projected_sign_coin(const struct local_scheme *scheme, double u)
{
    double e = scheme->parameters.epsilon / scheme->constant[BITS];
    double share = 0.5 * (u / scheme->constant[BOUND] + 1.0);
    share = share > 0.0 ? fmin(share, 1.0) : 0.0; /* 0 for NaN as well */
    long double least = ldexpl(1.0L / (expl(e) + 1.0L), 64);
    /* Rounded inward, and by more than e and the exponential can be wrong. */
    uint64_t low = (uint64_t)(least * (1.0L + 0x1p-44L)) + 1, high = UINT64_MAX - low + 1;
    long double coin = least + share * (0x1p64L - 2.0L * least);
    if (coin <= (long double)low)
        return low;
    return coin >= (long double)high ? high : (uint64_t)coin;
}

/* The generator of a report's rows; 0, its one bad state, cannot be hit by seeds that are hashes,
 * and is avoided all the same. */
static struct rng rows_of(const unsigned char *seed)
{
    struct rng rows;
    for (int i = 0; i < 4; i++) {
        rows.state[i] = 0;
        for (int k = 7; k >= 0; k--)
            rows.state[i] = rows.state[i] << 8 | seed[8 * i + k];
    }
    rows.state[0] |= rows.state[1] | rows.state[2] | rows.state[3] ? 0 : 1;
    return rows;
}

/* The next row of the projection over sqrt(3). */
static void draw_row(struct rng *rows, int8_t *row, uint32_t d)
{
    for (uint32_t i = 0; i < d; i++) {
        uint32_t side = rng_below(rows, 6);
        row[i] = (int8_t)((side == 0) - (side == 1));
    }
}

static enum local_status projected_sign_randomise(const struct local_scheme *scheme,
                                                  const unsigned char *seed, const double *vector,
                                                  struct noise_source *noise, int64_t *report)
{
    uint32_t d = scheme->parameters.dimension;
    double *clipped = memory_new(d, sizeof *clipped + sizeof(int8_t));
    int8_t *row = (int8_t *)(clipped + d);
    struct rng rows = rows_of(seed);
    local_clip_l1(vector, d, scheme->parameters.clip, clipped);
    for (uint32_t bit = 0; bit < local_projected_sign_bits(scheme); bit++) {
        double u = 0.0;
        draw_row(&rows, row, d);
        for (uint32_t i = 0; i < d; i++)
            u += row[i] * clipped[i];
        report[bit] = noise_u64(noise) < local_projected_sign_coin(scheme, SQRT_3 * u);
    }
    explicit_bzero(clipped, (sizeof *clipped + sizeof(int8_t)) * d);
    free(clipped);
    return LOCAL_OK;
}

static enum local_status projected_sign_decode(const struct local_scheme *scheme,
                                               const unsigned char *seed, const int64_t *report,
                                               double *estimate)
{
    uint32_t d = scheme->parameters.dimension, bits = local_projected_sign_bits(scheme);
    for (uint32_t bit = 0; bit < bits; bit++)
        if (report[bit] != 0 && report[bit] != 1)
            return LOCAL_BAD_REPORT;
    if (!estimate)
        return LOCAL_OK;
    int8_t *row = memory_new(d, sizeof *row);
    struct rng rows = rows_of(seed);
    double scale = SQRT_3 * scheme->constant[BOUND] / ((double)bits * scheme->constant[SHRINK]);
    memset(estimate, 0, d * sizeof *estimate);
    for (uint32_t bit = 0; bit < bits; bit++) {
        draw_row(&rows, row, d);
        for (uint32_t i = 0; i < d; i++)
            estimate[i] += report[bit] ? row[i] * scale : -row[i] * scale;
    }
    free(row);
    return LOCAL_OK;
}

static double projected_sign_squared_error(const struct local_scheme *scheme, double squared_norm)
{
    double bound = scheme->constant[BOUND] / scheme->constant[SHRINK];
    if (!scheme->unbiased)
        return NAN;
    return (bound * bound * scheme->parameters.dimension - squared_norm) / scheme->constant[BITS];
}

const struct local_mechanism local_projected_sign = {
    .name = "projected_random_sign",
    .norm = "l1",
    .problem = projected_sign_problem,
    .prepare = projected_sign_prepare,
    .randomise = projected_sign_randomise,
    .decode = projected_sign_decode,
    .squared_error = projected_sign_squared_error,
};
