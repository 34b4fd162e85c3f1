/* PrivUnit and the half sphere: with one probability a uniform point of the sphere, with the other
 * one of the cap around the vector. Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018; optimal
 * among its kind: Asi, Feldman and Talwar 2022.
 *
 * DESIGN. They say it as "the cap with probability p, else the rest of the sphere"; with 1 - p = q
 * (1 - P) the law is the same, and it is this form that has a proof for what is sent: both points
 * are drawn on a lattice (local_cap_lattice.h), where the cap's law exceeds the sphere's by a
 * factor of at most 1/share, whatever the vector. q is the least that this factor allows. What is
 * sent, the point's direction in multiples of 2^-16, is a function of the point. */
#include "algos/privacy/local/local_cap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/local/local_cap_lattice.h"
#include "algos/privacy/local/local_clip.h"
#include "algos/privacy/local/local_mechanism.h"
#include "algos/privacy/math/sphere.h"
#include "memory/memory.h"

#define GRID 65536.0 /* 2^16 */

/* q, so that 1 + (1 - q)/(q SHARE) is at most e^EPSILON. */
static double whole_probability(double epsilon, double share)
{
    return 1.0 / (1.0 + expm1(epsilon) * share * (1.0 - 0x1p-36));
}

/* The mean of a point's height: that of the sphere is 0. */
static double mean_of(uint32_t dimension, double gamma, double share, double whole)
{
    return (1.0 - whole) * sphere_tail_mean(dimension, gamma) / share;
}

/* The mean mu that the cap of edge GAMMA in R^dimension reaches at EPSILON; 0 for one that cannot
 * be drawn. */
static double cap_mean(uint32_t dimension, double epsilon, double gamma)
{
    double share = sphere_tail(dimension, gamma);
    if (!(share >= 2.0 * LOCAL_CAP_LEAST_SHARE(dimension) && gamma <= LOCAL_CAP_MOST_EDGE))
        return 0.0;
    return mean_of(dimension, gamma, share, whole_probability(epsilon, share));
}

/* GAMMA is the edge that the mechanism has chosen. */
static void cap_prepare(struct local_scheme *scheme, double gamma)
{
    uint32_t n = scheme->parameters.dimension + 1;
    struct local_cap_lattice lattice;
    local_cap_lattice_make(&lattice, n, gamma, LOCAL_CAP_SPREAD);
    double share = sphere_tail(n, gamma), square = sphere_tail_square(n, gamma) / share;
    double whole = whole_probability(scheme->parameters.epsilon, local_cap_lattice_share(&lattice));
    assert(whole > 0.0 && whole < 1.0);
    scheme->report_length = n;
    scheme->epsilon = scheme->parameters.epsilon;
    scheme->unbiased = true;
    scheme->constant[LOCAL_CAP_EDGE] = gamma;
    scheme->constant[LOCAL_CAP_SHARE] = share;
    scheme->constant[LOCAL_CAP_WHOLE] = whole;
    scheme->constant[LOCAL_CAP_MEAN] = mean_of(n, gamma, share, whole);
    scheme->constant[LOCAL_CAP_SQUARE] = (1.0 - whole) * square + whole / n;
}

uint64_t local_cap_coin(const struct local_scheme *scheme)
{
    return (uint64_t)ceil(ldexp(scheme->constant[LOCAL_CAP_WHOLE], 64)) + 1;
}

static enum local_status cap_randomise(const struct local_scheme *scheme, const unsigned char *seed,
                                       const double *vector, struct noise_source *noise,
                                       int64_t *report)
{
    (void)seed;
    uint32_t n = scheme->parameters.dimension + 1;
    struct local_cap_lattice lattice;
    local_cap_lattice_make(&lattice, n, scheme->constant[LOCAL_CAP_EDGE], LOCAL_CAP_SPREAD);
    double *v = memory_new(2 * (size_t)n + 1, sizeof *v);
    int64_t *point = (int64_t *)(v + n);
    local_clip_lift(vector, n - 1, scheme->parameters.clip, v);
    if (noise_u64(noise) < local_cap_coin(scheme))
        local_cap_lattice_reference(&lattice, noise, point);
    else
        local_cap_lattice_cap(&lattice, v, noise, point);
    double square = 0.0;
    for (uint32_t i = 0; i < n; i++)
        square += (double)point[i] * (double)point[i];
    for (uint32_t i = 0; i < n; i++)
        report[i] = llrint((double)point[i] * (GRID / sqrt(square)));
    explicit_bzero(v, (2 * (size_t)n + 1) * sizeof *v);
    free(v);
    return LOCAL_OK;
}

static enum local_status cap_decode(const struct local_scheme *scheme, const unsigned char *seed,
                                    const int64_t *report, double *estimate)
{
    (void)seed;
    uint32_t n = scheme->parameters.dimension + 1;
    double square = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        if (report[i] < -(int64_t)GRID || report[i] > (int64_t)GRID)
            return LOCAL_BAD_REPORT;
        square += (double)report[i] * (double)report[i];
    }
    /* Rounding moves each coordinate of a unit vector by at most half a cell. */
    double norm = sqrt(square), slack = 0.5 * sqrt(n) + 1e-6;
    if (!(norm > 0.0 && fabs(norm - GRID) <= slack))
        return LOCAL_BAD_REPORT;
    double scale = scheme->parameters.clip / (norm * scheme->constant[LOCAL_CAP_MEAN]);
    for (uint32_t i = 0; estimate && i + 1 < n; i++)
        estimate[i] = (double)report[i] * scale;
    return LOCAL_OK;
}

static double cap_squared_error(const struct local_scheme *scheme, double squared_norm)
{
    double d = scheme->parameters.dimension, clip = scheme->parameters.clip;
    double mean = scheme->constant[LOCAL_CAP_MEAN], square = scheme->constant[LOCAL_CAP_SQUARE];
    /* The point's coordinate along the axis that the lift added is dropped. */
    double added = 1.0 - squared_norm / (clip * clip);
    double dropped = square * added + (1.0 - square) * (1.0 - added) / d;
    return clip * clip * (1.0 - dropped) / (mean * mean) - squared_norm;
}

/* ---- PrivUnit, with the best cap for its dimension and epsilon */

/* The mean as a function of the edge has its maximum where both are equal. (At a great epsilon in
 * few dimensions the best cap is too small to be drawn, and the smallest that is not is taken.) */
static double best_edge(uint32_t dimension, double epsilon)
{
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 100 && high - low > 1e-15 * high; i++) {
        double middle = 0.5 * (low + high);
        if (cap_mean(dimension, epsilon, middle) > middle)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void privunit_prepare(struct local_scheme *scheme)
{
    cap_prepare(scheme, best_edge(scheme->parameters.dimension + 1, scheme->parameters.epsilon));
}

const struct local_mechanism local_privunit = {
    .name = "privunit",
    .norm = "l2",
    .prepare = privunit_prepare,
    .randomise = cap_randomise,
    .decode = cap_decode,
    .squared_error = cap_squared_error,
};

/* ---- the half of the sphere that the vector points to, or the other: Duchi, Jordan and Wainwright
 * 2018, 4.2.3. PrivUnit with its edge at 0 */

static void half_sphere_prepare(struct local_scheme *scheme)
{
    cap_prepare(scheme, 0.0);
}

const struct local_mechanism local_half_sphere = {
    .name = "half_sphere",
    .norm = "l2",
    .prepare = half_sphere_prepare,
    .randomise = cap_randomise,
    .decode = cap_decode,
    .squared_error = cap_squared_error,
};
