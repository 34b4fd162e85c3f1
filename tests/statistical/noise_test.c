/* Audits of the bare noises: a number, or a few, that one unit moves by the sensitivity. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/laws/renyi.h"
#include "algos/privacy/noise/noise_lattice.h"
#include "algos/privacy/noise/noise_rounded_gaussian.h"
#include "tests/statistical/audit.h"
#include "tests/statistical/profile.h"

enum { RUNS = 3, DIMENSIONS = 8 };

/* Scale over sensitivity of the noise that is drawn; claims are made of the whole one. */
static const double whole = 2.0, half = 1.0;

/* The float path of DP-SGD: each release moves by one, along a diagonal. */
static double gaussian_vector(const void *mechanism, bool with, struct noise_source *noise)
{
    double sum = 0.0, side = 1.0 / sqrt(DIMENSIONS);
    float v[RUNS * DIMENSIONS];
    for (int i = 0; i < RUNS * DIMENSIONS; i++)
        v[i] = with ? (float)side : 0.0F;
    noise_gaussian_add(noise, v, RUNS * DIMENSIONS, *(const float *)mechanism);
    for (int i = 0; i < RUNS * DIMENSIONS; i++)
        sum += (double)v[i] * side;
    return sum;
}

static struct mechanism gaussian(double noise)
{
    return (struct mechanism){.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, noise}};
}

Test(audit, gaussian)
{
    const struct mechanism one = gaussian(whole);
    const struct audit audit = {.name = AUDIT_GAUSSIAN,
                                .title = "gaussian",
                                .delta = 1e-5,
                                .epsilon = profile_price(&one, RUNS, 1e-5),
                                .claim = AUDIT_GAUSSIAN_DP,
                                .samples = 20000,
                                .statistic = gaussian_vector};
    const float scale = (float)whole, less = (float)half;
    audit_holds(&audit, &scale);
    audit_exceeds(&audit, &less, "half the noise");
}

struct rounded {
    double stddev;
    int64_t apart; /* the sensitivity */
};

static double rounded(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct rounded *r = mechanism;
    int64_t values[RUNS], sum = 0;
    for (int i = 0; i < RUNS; i++)
        values[i] = with ? r->apart : 0;
    rounded_gaussian_add(noise, r->stddev, values, RUNS);
    for (int i = 0; i < RUNS; i++)
        sum += values[i];
    return (double)sum;
}

Test(audit, rounded_gaussian)
{
    const struct mechanism one = gaussian(whole);
    const struct audit audit = {.name = AUDIT_ROUNDED_GAUSSIAN,
                                .title = "rounded gaussian",
                                .delta = 1e-5,
                                .epsilon = profile_price(&one, RUNS, 1e-5),
                                .claim = AUDIT_GAUSSIAN_DP,
                                .samples = 40000,
                                .statistic = rounded};
    struct rounded claimed = {4096.0, (int64_t)(4096.0 / whole)};
    struct rounded halved = {2048.0, (int64_t)(4096.0 / whole)};
    audit_holds(&audit, &claimed);
    audit_exceeds(&audit, &halved, "half the noise");
}

/* Of a small deviation, where integers are coarse: ten steps between the worlds. */
static double lattice(const void *mechanism, bool with, struct noise_source *noise)
{
    const int64_t apart = 10;
    uint64_t scale = (uint64_t)ldexp(*(const double *)mechanism * apart, NOISE_LATTICE_FRACTION);
    int64_t sum = 0;
    for (int i = 0; i < RUNS; i++)
        sum += noise_lattice_gaussian(noise, scale) + (with ? apart : 0);
    return (double)sum;
}

Test(audit, lattice_gaussian)
{
    const struct mechanism one = gaussian(whole);
    const struct audit audit = {.name = AUDIT_LATTICE_GAUSSIAN,
                                .title = "lattice gaussian",
                                .delta = 1e-5,
                                .epsilon = profile_price(&one, RUNS, 1e-5),
                                .claim = AUDIT_GAUSSIAN_DP,
                                .samples = 20000,
                                .statistic = lattice};
    audit_holds(&audit, &whole);
    audit_exceeds(&audit, &half, "half the noise");
}

static double discrete_laplace(const void *mechanism, bool with, struct noise_source *noise)
{
    uint64_t scale = (uint64_t)(*(const double *)mechanism * 16.0);
    return (double)(noise_discrete_laplace(noise, scale, 16) + with);
}

Test(audit, discrete_laplace)
{
    const struct audit audit = {.name = AUDIT_DISCRETE_LAPLACE,
                                .title = "discrete laplace",
                                .delta = 0.0,
                                .epsilon = 1.0 / whole, /* noise_discrete.h */
                                .samples = 40000,
                                .statistic = discrete_laplace};
    audit_holds(&audit, &whole);
    audit_exceeds(&audit, &half, "half the noise");
}

/* A uniform bucket is told with the probability that MECHANISM holds, else the true one. */
static double response(const void *mechanism, bool with, struct noise_source *noise)
{
    enum { BUCKETS = 4 };
    double ratio = 0.0;
    for (int run = 0; run < RUNS; run++) {
        bool lies = noise_uniform(noise) < *(const double *)mechanism;
        uint32_t told = lies ? noise_below(noise, BUCKETS) : with;
        ratio += told == 1 ? 1.0 : told == 0 ? -1.0 : 0.0;
    }
    return ratio;
}

Test(audit, randomised_response)
{
    const double claimed = 0.6, halved = 0.3;
    const struct mechanism one = {.kind = MECHANISM_RANDOMIZED_RESPONSE,
                                  .response = {.noise_parameter = claimed, .buckets = 4}};
    const struct audit audit = {.name = AUDIT_RESPONSE,
                                .title = "randomised response",
                                .delta = 0.05,
                                .epsilon = profile_price(&one, RUNS, 0.05),
                                .samples = 40000,
                                .statistic = response};
    audit_holds(&audit, &claimed);
    audit_exceeds(&audit, &halved, "half the lies");
}
