/* Independent discrete Laplace noise on every coordinate of a vector that is clipped in 1-norm.
 *
 * Two clipped vectors differ by at most 2 clip in 1-norm, that is 2^33 units of the lattice
 * clip / 2^32; noise of scale s units on each costs 2^33/s. All of it is integers: exact. */
#include <math.h>

#include "algos/privacy/local/local_clip.h"
#include "algos/privacy/local/local_mechanism.h"
#include "algos/privacy/noise/noise_discrete.h"

enum { SCALE }; /* units, an integer */

#define DIAMETER (2.0 * (double)LOCAL_CLIP_UNITS)
/* An honest coordinate exceeds the clip by more than this many scales with probability e^-200. */
#define MOST_SCALES 200.0

static void laplace_prepare(struct local_scheme *scheme)
{
    double scale = ceil(DIAMETER / scheme->parameters.epsilon * (1.0 + 0x1p-40));
    scheme->report_length = scheme->parameters.dimension;
    scheme->epsilon = fmin(DIAMETER / scale * (1.0 + 0x1p-50), scheme->parameters.epsilon);
    scheme->unbiased = true;
    scheme->constant[SCALE] = scale;
}

static enum local_status laplace_randomise(const struct local_scheme *scheme,
                                           const unsigned char *seed, const double *vector,
                                           struct noise_source *noise, int64_t *report)
{
    (void)seed;
    local_clip_l1_units(vector, scheme->report_length, scheme->parameters.clip, report);
    for (size_t i = 0; i < scheme->report_length; i++)
        report[i] += noise_discrete_laplace(noise, (uint64_t)scheme->constant[SCALE], 1);
    return LOCAL_OK;
}

static enum local_status laplace_decode(const struct local_scheme *scheme,
                                        const unsigned char *seed, const int64_t *report,
                                        double *estimate)
{
    (void)seed;
    double unit = scheme->parameters.clip / (double)LOCAL_CLIP_UNITS;
    double most = (double)LOCAL_CLIP_UNITS + MOST_SCALES * scheme->constant[SCALE];
    for (size_t i = 0; i < scheme->report_length; i++)
        if (fabs((double)report[i]) > most)
            return LOCAL_BAD_REPORT;
    for (size_t i = 0; estimate && i < scheme->report_length; i++)
        estimate[i] = (double)report[i] * unit;
    return LOCAL_OK;
}

static double laplace_squared_error(const struct local_scheme *scheme, double squared_norm)
{
    (void)squared_norm; /* the noise does not depend on the vector */
    double unit = scheme->parameters.clip / (double)LOCAL_CLIP_UNITS;
    double wave = sinh(0.5 / scheme->constant[SCALE]);
    return scheme->parameters.dimension * unit * unit / (2.0 * wave * wave);
}

const struct local_mechanism local_laplace = {
    .name = "laplace",
    .norm = "l1",
    .prepare = laplace_prepare,
    .randomise = laplace_randomise,
    .decode = laplace_decode,
    .squared_error = laplace_squared_error,
};
