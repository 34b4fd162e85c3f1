/* PrivUnit and the half sphere: a uniform point of a cap of the sphere around the vector with one
 * probability, of the rest of the sphere with the other. Bhowmick, Duchi, Freudiger, Kapoor and
 * Rogers 2018; optimal among its kind: Asi, Feldman and Talwar 2022.
 *
 * DESIGN. Inside of the cap the density is p/P, outside (1 - p)/(1 - P), of the uniform one; their
 * ratio is e^epsilon when logit p = epsilon + logit P. P is known to 1e-10, so epsilon is
 * taken 1e-9 smaller; the coin is a 64-bit integer, rounded so that outside is more likely. The
 * height of the point is the inverse of the same tail function at a uniform number, its direction
 * across is a normalised vector of normals. Floating point: the law is exact to about 1e-10, which
 * is an estimate and no theorem; coordinates leave on the grid 2^-16, each cell holding some 2^36
 * doubles. */
#include "algos/privacy/local/local_cap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/local/local_clip.h"
#include "algos/privacy/local/local_mechanism.h"
#include "algos/privacy/math/sphere.h"
#include "memory/memory.h"

#define MARGIN 1e-9
#define GRID   65536.0 /* 2^16 */

static double outside_probability(double epsilon, double share)
{
    return 1.0 / (1.0 + exp(epsilon - MARGIN) * share / (1.0 - share));
}

static double mean_of(uint32_t dimension, double gamma, double share, double outside)
{
    return sphere_tail_mean(dimension, gamma) * ((1.0 - outside) / share - outside / (1.0 - share));
}

/* The mean mu that the cap of edge GAMMA in R^dimension reaches at EPSILON. */
static double cap_mean(uint32_t dimension, double epsilon, double gamma)
{
    double share = sphere_tail(dimension, gamma);
    if (!(share > 0.0))
        return 0.0;
    return mean_of(dimension, gamma, share, outside_probability(epsilon, share));
}

/* GAMMA is the edge that the mechanism has chosen. */
static void cap_prepare(struct local_scheme *scheme, double gamma)
{
    uint32_t n = scheme->parameters.dimension + 1;
    double share = sphere_tail(n, gamma);
    assert(gamma >= 0.0 && share > 0.0);
    double outside = outside_probability(scheme->parameters.epsilon, share);
    double square = sphere_tail_square(n, gamma);
    scheme->report_length = n;
    scheme->epsilon = scheme->parameters.epsilon;
    scheme->unbiased = true;
    scheme->constant[LOCAL_CAP_EDGE] = gamma;
    scheme->constant[LOCAL_CAP_SHARE] = share;
    scheme->constant[LOCAL_CAP_OUTSIDE] = outside;
    scheme->constant[LOCAL_CAP_MEAN] = mean_of(n, gamma, share, outside);
    scheme->constant[LOCAL_CAP_SQUARE] =
        (1.0 - outside) * square / share + outside * (1.0 / n - square) / (1.0 - share);
}

/* <point, vector> of the draw. */
static double draw_height(const struct local_scheme *scheme, struct noise_source *noise)
{
    uint32_t n = scheme->parameters.dimension + 1;
    double share = scheme->constant[LOCAL_CAP_SHARE];
    /* Rounded up: outside is never less likely than it has to be. */
    uint64_t outside = (uint64_t)ceil(ldexp(scheme->constant[LOCAL_CAP_OUTSIDE], 64)) + 1;
    bool is_outside = noise_u64(noise) < outside;
    double u = noise_uniform_fine(noise); /* the pole, too, has its points */
    if (!is_outside)
        return fmax(sphere_tail_inverse(n, share * u), scheme->constant[LOCAL_CAP_EDGE]);
    double below = (1.0 - share) * u; /* the share of the sphere that lies lower */
    double t = below <= 0.5 ? -sphere_tail_inverse(n, below) : sphere_tail_inverse(n, 1.0 - below);
    return fmin(t, scheme->constant[LOCAL_CAP_EDGE]);
}

/* A uniform unit vector orthogonal to the unit vector V[n]. */
static void draw_across(const double *v, uint32_t n, struct noise_source *noise, double *across)
{
    double norm = 0.0;
    while (!(norm > 0.0)) {
        double along = 0.0;
        for (uint32_t i = 0; i < n; i++) {
            across[i] = noise_normal(noise);
            along += across[i] * v[i];
        }
        norm = 0.0;
        for (uint32_t i = 0; i < n; i++) {
            across[i] -= along * v[i];
            norm += across[i] * across[i];
        }
        assert(isfinite(norm));
    }
    norm = sqrt(norm);
    for (uint32_t i = 0; i < n; i++)
        across[i] /= norm;
}

static enum local_status cap_randomise(const struct local_scheme *scheme, const unsigned char *seed,
                                       const double *vector, struct noise_source *noise,
                                       int64_t *report)
{
    (void)seed;
    uint32_t n = scheme->parameters.dimension + 1;
    double *v = memory_new(2 * (size_t)n, sizeof *v);
    double *across = v + n;
    local_clip_lift(vector, n - 1, scheme->parameters.clip, v);
    double height = draw_height(scheme, noise);
    draw_across(v, n, noise, across);
    double rest = sqrt((1.0 - height) * (1.0 + height));
    for (uint32_t i = 0; i < n; i++)
        report[i] = llrint((height * v[i] + rest * across[i]) * GRID);
    explicit_bzero(v, 2 * (size_t)n * sizeof *v);
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
    for (uint32_t i = 0; i + 1 < n; i++)
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

/* The mean as a function of the edge has its maximum where both are equal. */
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
