/* What T runs of the sparse vector cost together, and what one run may cost: the optimal
 * composition of mechanisms that are known by their epsilon and delta alone (Kairouz, Oh and
 * Viswanath 2015). */
#include "algos/privacy/training/sparse_vector.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/accounting/accountant.h"

/* T runs of (epsilon, delta); to be cleared. False: they are no mechanism. */
static bool runs_of(double epsilon, double delta, uint32_t trajectories, struct composition *out)
{
    struct mechanism run = {.kind = MECHANISM_EPSILON_DELTA,
                            .pair = {.epsilon = epsilon, .delta = delta}};
    *out = (struct composition){0};
    return composition_add(out, &run, trajectories) == COMPOSITION_OK;
}

/* Certified delta at EPSILON of T runs. */
static enum sparse_vector_status composed_delta(double run_epsilon, double run_delta,
                                                uint32_t trajectories, double epsilon, double *out)
{
    struct composition runs;
    struct privacy_interval delta;
    bool done = runs_of(run_epsilon, run_delta, trajectories, &runs) &&
                accountant_optimal_composition.delta(&runs, epsilon, &delta) == ACCOUNTANT_OK;
    composition_clear(&runs);
    if (!done)
        return SPARSE_VECTOR_OUT_OF_REACH;
    *out = delta.upper;
    return SPARSE_VECTOR_OK;
}

enum sparse_vector_status sparse_vector_run_epsilon(double epsilon, double delta,
                                                    uint32_t trajectories, double run_delta,
                                                    double *out)
{
    assert(epsilon > 0.0 && trajectories > 0);
    /* A run above epsilon is affordable only to a delta that forbids next to nothing: not looked
     * for beyond epsilon + 1. Whatever LOW ends at fits by the certified figure. */
    double low = 0.0, high = epsilon + 1.0;
    for (int i = 0; i < 55; i++) {
        double middle = 0.5 * (low + high), composed;
        enum sparse_vector_status status =
            composed_delta(middle, run_delta, trajectories, epsilon, &composed);
        if (status != SPARSE_VECTOR_OK)
            return status;
        if (composed <= delta)
            low = middle;
        else
            high = middle;
    }
    *out = low;
    return SPARSE_VECTOR_OK;
}

enum sparse_vector_status sparse_vector_composed_epsilon(double run_epsilon, double run_delta,
                                                         uint32_t trajectories, double delta,
                                                         double *out)
{
    struct composition runs;
    struct privacy_interval epsilon;
    bool done = runs_of(run_epsilon, run_delta, trajectories, &runs) &&
                accountant_optimal_composition.epsilon(&runs, delta, &epsilon) == ACCOUNTANT_OK;
    composition_clear(&runs);
    if (!done)
        return SPARSE_VECTOR_OUT_OF_REACH;
    *out = epsilon.upper;
    return SPARSE_VECTOR_OK;
}
