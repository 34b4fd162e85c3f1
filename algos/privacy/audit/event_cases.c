/* The table of noises that are searched for events, each in several settings: of few steps of the
 * lattice and of many, at an input of zero and at a large one. */
#include <math.h>
#include <stddef.h>

#include "algos/privacy/audit/event_search.h"
#include "algos/privacy/local/local_mechanism.h"
#include "algos/privacy/noise/noise_lattice.h"

enum { COORDINATES = 4096, WHOLES = 2048 };

static double input_of(const struct event_case *self, bool with)
{
    return self->input + (with ? self->apart : 0.0);
}

static void float_normals(const struct event_case *self, bool with, struct noise_source *noise,
                          double *out, uint32_t count)
{
    float v[WHOLES];
    for (uint32_t done = 0; done < count; done += WHOLES) {
        uint32_t part = count - done < WHOLES ? count - done : WHOLES;
        for (uint32_t i = 0; i < part; i++)
            v[i] = (float)input_of(self, with);
        noise_gaussian_add(noise, v, part, (float)self->noise);
        for (uint32_t i = 0; i < part; i++)
            out[done + i] = (double)v[i];
    }
}

/* How many coordinates of a step are zero, as they were before the noise without the unit: exactly.
 * With the unit all coordinates are elsewhere. */
static void float_zeros(const struct event_case *self, bool with, struct noise_source *noise,
                        double *out, uint32_t count)
{
    const float moved = with ? (float)self->mu / sqrtf((float)COORDINATES) : 0.0F;
    float v[COORDINATES];
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < COORDINATES; j++)
            v[j] = moved;
        noise_gaussian_add(noise, v, COORDINATES, 1.0F);
        out[i] = 0.0;
        for (uint32_t j = 0; j < COORDINATES; j++)
            out[i] += v[j] == 0.0F;
    }
}

static void rounded_normals(const struct event_case *self, bool with, struct noise_source *noise,
                            double *out, uint32_t count)
{
    int64_t v[WHOLES];
    for (uint32_t done = 0; done < count; done += WHOLES) {
        uint32_t part = count - done < WHOLES ? count - done : WHOLES;
        for (uint32_t i = 0; i < part; i++)
            v[i] = (int64_t)input_of(self, with);
        rounded_gaussian_add(noise, self->noise, v, part);
        for (uint32_t i = 0; i < part; i++)
            out[done + i] = (double)v[i];
    }
}

static void lattice_normals(const struct event_case *self, bool with, struct noise_source *noise,
                            double *out, uint32_t count)
{
    const uint64_t scale = (uint64_t)ldexp(self->noise, NOISE_LATTICE_FRACTION);
    for (uint32_t i = 0; i < count; i++)
        out[i] = input_of(self, with) + (double)noise_lattice_gaussian(noise, scale);
}

static void whole_laplaces(const struct event_case *self, bool with, struct noise_source *noise,
                           double *out, uint32_t count)
{
    const uint64_t scale = (uint64_t)(self->noise * 16.0);
    for (uint32_t i = 0; i < count; i++)
        out[i] = input_of(self, with) + (double)noise_discrete_laplace(noise, scale, 16);
}

/* The estimate of one number from a local report, along the vector; vectors are opposite and as
 * long as the clip allows. */
static void local_estimates(const struct event_case *self, bool with, struct noise_source *noise,
                            double *out, uint32_t count)
{
    const struct local_parameters parameters = {
        .dimension = 3, .epsilon = self->epsilon, .clip = 1.0};
    const double vector[3] = {with ? 1.0 : -1.0, 0.0, 0.0};
    struct local_scheme scheme;
    double estimate[3] = {0};
    int64_t report[4];
    if (local_scheme_make(self->local, &parameters, &scheme))
        return;
    for (uint32_t i = 0; i < count; i++) {
        unsigned char seed[LOCAL_SEED_SIZE];
        noise_bytes(noise, seed, sizeof seed);
        (void)self->local->randomise(&scheme, seed, vector, noise, report);
        (void)self->local->decode(&scheme, seed, report, estimate);
        out[i] = estimate[0];
    }
}

/* noise, input, apart, grid, mu, epsilon, delta, work; draw, local */
static const struct event_case cases[] = {
    {"gaussian in float", 2, 0, 1, 0, 0.5, 0, 1e-5, 1, float_normals, NULL},
    {"gaussian in float", 0.25, 1000, 0.25, 0, 1, 0, 1e-5, 1, float_normals, NULL},
    {"gaussian in float, a step", 1, 0, 0, 0, 0.02, 0, 1e-5, 64, float_zeros, NULL},
    {"rounded gaussian", 2, 0, 2, 1, 1, 0, 1e-5, 2, rounded_normals, NULL},
    {"rounded gaussian", 37.3, 1000, 20, 1, 20 / 37.3, 0, 1e-5, 2, rounded_normals, NULL},
    {"rounded gaussian", 131072, 0, 65536, 1, 0.5, 0, 1e-5, 2, rounded_normals, NULL},
    {"lattice gaussian", 1, 0, 1, 1, 1, 0, 1e-5, 64, lattice_normals, NULL},
    {"lattice gaussian", 20.5, 1000, 10, 1, 10 / 20.5, 0, 1e-5, 64, lattice_normals, NULL},
    {"discrete laplace", 2, 0, 1, 1, 0, 0.5, 0, 64, whole_laplaces, NULL},
    {"discrete laplace", 0.5, 7, 1, 1, 0, 2, 0, 64, whole_laplaces, NULL},
    {"discrete laplace", 4096, 0, 2048, 1, 0, 0.5, 0, 64, whole_laplaces, NULL},
    {"local laplace", 2, -1, 2, 0, 0, 1, 0, 256, local_estimates, &local_laplace},
    {"projected sign", 1, -1, 2, 0, 0, 1, 0, 256, local_estimates, &local_projected_sign},
    {"privunit", 1, -1, 2, 0, 0, 2, 0, 256, local_estimates, &local_privunit},
    {"half sphere", 1, -1, 2, 0, 0, 1, 0, 256, local_estimates, &local_half_sphere},
};

const struct event_case *event_case_at(unsigned i)
{
    return i < sizeof cases / sizeof cases[0] ? &cases[i] : NULL;
}
