/* Counts on the lattice, and one run over them. Everything that noise is added to or compared with
 * is an integer: no rounding depends on the data (docs/proofs/stable_prefixes.md). */
#include "algos/privacy/training/sparse_vector.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/privacy/noise/noise_discrete.h"

#define MAX_COUNT ((int64_t)1 << 60)

static_assert(SPARSE_VECTOR_MAX_EXPERTS * SPARSE_VECTOR_UNIT <= MAX_COUNT, "counts fit");

uint64_t sparse_vector_units(double probability)
{
    if (!(probability > 0.0))
        return 0;
    if (probability >= 1.0)
        return (uint64_t)SPARSE_VECTOR_UNIT;
    return (uint64_t)(probability *
                      (double)SPARSE_VECTOR_UNIT); /* a power of two: exact, then down */
}

void sparse_vector_begin(struct sparse_vector_run *run, const struct sparse_vector_lattice *lattice,
                         struct noise_source *noise)
{
    assert(lattice->threshold_scale && lattice->query_scale);
    *run = (struct sparse_vector_run){
        .noise = noise, .threshold = lattice->threshold, .query_scale = lattice->query_scale};
    run->threshold_noise = noise_discrete_laplace(noise, lattice->threshold_scale, 1);
}

bool sparse_vector_query(struct sparse_vector_run *run, int64_t count)
{
    assert(!run->stopped && count >= 0 && count <= MAX_COUNT);
    int64_t query_noise = noise_discrete_laplace(run->noise, run->query_scale, 1);
    /* 128 bits: noise has no bound that a sum of two could not exceed. */
    __int128 noisy_count = (__int128)count + query_noise;
    __int128 noisy_threshold = (__int128)run->threshold + run->threshold_noise;
    run->stopped = noisy_count < noisy_threshold;
    return !run->stopped;
}
