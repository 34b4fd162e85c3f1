/* Noisy histograms, then noisy moments, then ranges.
 *
 * DESIGN. Both releases have the same noise multiplier: the plan is two steps of a Gaussian that
 * every expert joins, and the second may look at what the first gave. A coordinate whose buckets
 * all drown in the noise keeps no range: its name is told, and no job trains by a guess. */
#include "algos/release/feature_ranges.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "algos/offline/hooks.h"
#include "algos/offline/offline.h"
#include "algos/privacy/noise/noise_lattice.h"
#include "algos/privacy/noise/noise_source.h"
#include "memory/memory.h"

#define UP             (1.0 + 1e-14)
#define LEAST_EXPONENT (-20)
#define STEPS          2
#define DEVIATIONS     1.6448536269514722 /* of a normal law: 5 % are below, 5 % above */
#define LEAST_SPREAD   (1.0 / 64)         /* of u */
#define CLEAR_NOISE    0.2 /* noise in the mean of u; above it the coarse range stays */
#define EXPERTS_A_BEAT 16

/* ---- one expert's share */

uint32_t ranges_bucket(double x)
{
    double size = fabs(x);
    if (!(size >= ldexp(1.0, LEAST_EXPONENT)))
        return RANGES_EXPONENTS;
    int exponent;
    (void)frexp(size, &exponent); /* size in 2^(exponent - 1) .. 2^exponent */
    int place = exponent - 1 - LEAST_EXPONENT;
    place = place < RANGES_EXPONENTS ? place : RANGES_EXPONENTS - 1;
    return (uint32_t)(x > 0 ? RANGES_EXPONENTS + 1 + place : RANGES_EXPONENTS - 1 - place);
}

struct feature_range ranges_of_bucket(uint32_t bucket)
{
    int place = (int)bucket - RANGES_EXPONENTS;
    double least = ldexp(1.0, LEAST_EXPONENT);
    if (place == 0)
        return (struct feature_range){-least, least};
    double low = ldexp(1.0, LEAST_EXPONENT + abs(place) - 1);
    if (place > 0)
        return (struct feature_range){low, 2.0 * low};
    return (struct feature_range){-2.0 * low, -low};
}

static void add_buckets(const struct dataset *data, uint32_t expert, uint32_t coordinate,
                        int64_t *sum)
{
    uint64_t counts[RANGES_BUCKETS] = {0};
    uint64_t first = data->expert_transitions[expert], end = data->expert_transitions[expert + 1];
    for (uint64_t t = first; t < end; t++)
        counts[ranges_bucket(
            (double)data->states[data->state_row[t] * data->state_dim + coordinate])]++;
    for (uint32_t b = 0; b < RANGES_BUCKETS && end > first; b++)
        sum[b] += (int64_t)(counts[b] * RANGES_UNIT / (end - first));
}

static int64_t unit_share(double mean)
{
    return (int64_t)(mean * RANGES_UNIT); /* towards zero */
}

static void add_moments(const struct dataset *data, uint32_t expert, uint32_t coordinate,
                        const struct features *coarse, int64_t *sum)
{
    uint64_t first = data->expert_transitions[expert], end = data->expert_transitions[expert + 1];
    double mean = 0.0, square = 0.0;
    for (uint64_t t = first; t < end; t++) {
        double x = (double)data->states[data->state_row[t] * data->state_dim + coordinate];
        double u = fmin(fmax(features_normal(coarse, coordinate, x), -1.0), 1.0);
        mean += u;
        square += u * u;
    }
    double count = (double)(end - first);
    sum[0] += unit_share(fmin(fmax(mean / count, -1.0), 1.0));
    sum[1] += unit_share(fmin(square / count, 1.0));
}

void ranges_add_expert(const struct dataset *data, uint32_t expert, const struct features *coarse,
                       int64_t *sum)
{
    if (data->expert_transitions[expert] == data->expert_transitions[expert + 1])
        return;
    if (coarse)
        sum[0] += RANGES_UNIT;
    for (uint32_t d = 0; d < data->state_dim; d++)
        if (coarse)
            add_moments(data, expert, d, coarse, sum + 1 + 2 * d);
        else
            add_buckets(data, expert, d, sum + (size_t)d * RANGES_BUCKETS);
}

double ranges_norm(uint32_t state_dim, bool coarse)
{
    double squares = coarse ? 1.0 + 2.0 * state_dim : state_dim;
    return RANGES_UNIT * sqrt(squares) * UP;
}

/* The noise's deviation as noise_lattice.h takes it, rounded up. */
static double ranges_scale(double noise_multiplier, double norm)
{
    return ceil(ldexp(noise_multiplier * norm * UP, NOISE_LATTICE_FRACTION));
}

void ranges_release(struct noise_source *noise, double noise_multiplier, double norm, int64_t *sum,
                    size_t count)
{
    double scale = ranges_scale(noise_multiplier, norm);
    assert(scale >= 1.0 && scale <= (double)NOISE_LATTICE_MAX);
    for (size_t i = 0; i < count; i++)
        sum[i] += noise_lattice_gaussian(noise, (uint64_t)scale);
}

/* ---- what the noise leaves, in experts */

static double noise_in_experts(double noise_multiplier, uint32_t state_dim, bool coarse)
{
    return noise_multiplier * ranges_norm(state_dim, coarse) / RANGES_UNIT;
}

/* That any of the buckets without experts passes it has a probability of 1 % at most:
 * P(N(0, 1) > t) <= exp(-t^2 / 2), once for each bucket. */
static double threshold_of(double noise_multiplier, uint32_t state_dim)
{
    return noise_in_experts(noise_multiplier, state_dim, false) *
           sqrt(2.0 * log(100.0 * RANGES_BUCKETS * state_dim));
}

/* OUT: from the lowest to the highest bucket of SUM that stands out. False: none does. */
static bool coarse_range(const int64_t *sum, double threshold, struct feature_range *out)
{
    bool found = false;
    for (uint32_t b = 0; b < RANGES_BUCKETS; b++) {
        if ((double)sum[b] / RANGES_UNIT < threshold)
            continue;
        struct feature_range bucket = ranges_of_bucket(b);
        if (!found)
            out->low = bucket.low;
        out->high = bucket.high;
        found = true;
    }
    return found;
}

/* X to five decimal digits: what is released is a text. A range is wider than that. */
static double shorten_number(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.5g", x);
    return strtod(text, NULL);
}

/* Narrows RANGE by the moments of u, whose means over experts have NOISE each. The spread is taken
 * two deviations of its noise too wide: inputs that are small teach more slowly, and those beyond
 * the range are what a scale is to prevent. */
static void narrow_range(const int64_t *moments, double experts, double noise,
                         struct feature_range *range)
{
    double mean = fmin(fmax((double)moments[0] / RANGES_UNIT / experts, -1.0), 1.0);
    double square = (double)moments[1] / RANGES_UNIT / experts;
    double more = 2.0 * noise * sqrt(1.0 + 4.0 * mean * mean);
    double variance = fmax(square - mean * mean, LEAST_SPREAD * LEAST_SPREAD) + more;
    double spread = sqrt(fmin(variance, 1.0));
    double center = feature_center(range), half = 1.0 / feature_scale(range);
    range->low = shorten_number(center + half * fmax(mean - DEVIATIONS * spread, -1.0));
    range->high = shorten_number(center + half * fmin(mean + DEVIATIONS * spread, 1.0));
}

/* ---- the plan */

static enum algorithm_status ranges_plan(const struct algorithm_request *request,
                                         struct algorithm_plan *out, const char **message)
{
    *message = "";
    struct algorithm_plan plan = {.total_steps = STEPS};
    if (request->state_dim < 1 || request->state_dim > RANGES_DIM_MAX) {
        *message = "states must have from 1 to 64 numbers: describe the features of others";
        return ALGORITHM_BAD_INPUT;
    }
    if (request->nominal_experts < 1) {
        *message = "the number of experts must be known";
        return ALGORITHM_BAD_INPUT;
    }
    plan.privacy = (struct dp_sgd_plan){.sampling_rate = 1.0,
                                        .clip_norm = 1.0,
                                        .batch_size = request->nominal_experts,
                                        .nominal_experts = request->nominal_experts,
                                        .steps = STEPS,
                                        .delta = request->delta};
    static const char drowned[] =
        "the noise would hide where the features lie: it takes more experts, a larger epsilon or "
        "fewer features; or describe the features, which costs nothing";
    enum algorithm_status status = offline_plan_status(
        dp_sgd_plan_find_noise(&plan.privacy, request->epsilon), drowned, message);
    if (status != ALGORITHM_OK)
        return status;
    double multiplier = plan.privacy.noise_multiplier;
    if (2.0 * threshold_of(multiplier, request->state_dim) > request->nominal_experts) {
        *message = drowned;
        return ALGORITHM_INFEASIBLE;
    }
    /* The second release has the larger norm. Only a number of experts in the millions gets here.
     */
    if (ranges_scale(multiplier, ranges_norm(request->state_dim, true)) >
        (double)NOISE_LATTICE_MAX) {
        *message = "epsilon is so small that the noise could not be drawn";
        return ALGORITHM_INFEASIBLE;
    }
    plan.shape = (struct mlp_shape){.input = request->state_dim, .layer_count = 1, .width = {1}};
    *out = plan;
    return ALGORITHM_OK;
}

/* ---- the run */

/* Adds every expert to SUM, for the second release where COARSE is given. A run that is ended here
 * has made the releases before, no more. */
static enum algorithm_status sum_experts(const struct algorithm_run *run,
                                         const struct features *coarse, int64_t *sum)
{
    const uint64_t releases = coarse ? 1 : 0;
    for (uint32_t e = 0; e < run->data->expert_count; e++) {
        enum algorithm_status status = ALGORITHM_OK;
        if (e % EXPERTS_A_BEAT == 0)
            status = hooks_pulse(&run->hooks, releases, NULL, NULL);
        if (status != ALGORITHM_OK)
            return status;
        ranges_add_expert(run->data, e, coarse, sum);
    }
    return ALGORITHM_OK;
}

/* The two releases. *OUT_UNCLEAR counts coordinates without a range. */
static enum algorithm_status measure_ranges(const struct algorithm_run *run,
                                            struct noise_source *noise, struct features *out,
                                            uint32_t *out_unclear)
{
    const double multiplier = run->plan->privacy.noise_multiplier;
    const uint32_t dim = run->data->state_dim;
    const size_t buckets = (size_t)dim * RANGES_BUCKETS, moments = 1 + 2 * (size_t)dim;
    int64_t *sum = memory_new(buckets > moments ? buckets : moments, sizeof *sum);
    enum algorithm_status status = sum_experts(run, NULL, sum);
    if (status != ALGORITHM_OK)
        goto cleanup;
    ranges_release(noise, multiplier, ranges_norm(dim, false), sum, buckets);
    double threshold = threshold_of(multiplier, dim);
    for (uint32_t d = 0; d < dim; d++) {
        if (coarse_range(sum + (size_t)d * RANGES_BUCKETS, threshold, &out->range[d]))
            continue;
        out->range[d] = (struct feature_range){NAN, NAN};
        ++*out_unclear;
    }
    for (size_t i = 0; i < moments; i++)
        sum[i] = 0;
    status = sum_experts(run, out, sum);
    if (status != ALGORITHM_OK)
        goto cleanup;
    ranges_release(noise, multiplier, ranges_norm(dim, true), sum, moments);
    double experts = (double)sum[0] / RANGES_UNIT, left = noise_in_experts(multiplier, dim, true);
    if (experts > 0.0 && left < CLEAR_NOISE * experts)
        for (uint32_t d = 0; d < dim; d++)
            if (!isnan(out->range[d].low))
                narrow_range(sum + 1 + 2 * (size_t)d, experts, left / experts, &out->range[d]);

cleanup:
    free(sum);
    return status;
}

static enum algorithm_status ranges_train(const struct algorithm_run *run,
                                          struct policy **out_policy, const char **message)
{
    *out_policy = NULL;
    *message = "";
    if (!run->data || run->data->state_dim != run->request->state_dim) {
        *message = "the dataset's dimensions are not those of the request";
        return ALGORITHM_BAD_INPUT;
    }
    struct noise_source *own = run->noise ? NULL : noise_source_new("feature ranges");
    struct noise_source *noise = run->noise ? run->noise : own;
    if (!noise)
        return ALGORITHM_NO_RANDOMNESS;
    struct features *ranges = features_new(run->data->state_dim);
    uint32_t unclear = 0;
    enum algorithm_status status = measure_ranges(run, noise, ranges, &unclear);
    if (status == ALGORITHM_OK && run->hooks.show_finding)
        run->hooks.show_finding(run->hooks.context, "unclear", unclear);
    if (status == ALGORITHM_OK && run->hooks.give_ranges)
        run->hooks.give_ranges(run->hooks.context, ranges);
    else
        free(ranges);
    noise_source_free(own);
    return status;
}

const struct algorithm feature_ranges_algorithm = {
    .name = "feature_ranges",
    .summary = "Where the numbers of a dataset's states lie, with noise: scales for datasets that "
               "do not describe their features.",
    .mechanisms = {[MECHANISM_GAUSSIAN] = true},
    .kind = ALGORITHM_MEASURES,
    .privacy_unit = "expert",
    .plan = ranges_plan,
    .train = ranges_train,
};
