/* From public parameters to noise scales and the threshold.
 *
 * DESIGN. Both accountings give the same theorem different constants. A run is
 * (2 eps', (L + 1) delta')-private when the threshold noise has scale at least 2/eps', the query
 * noise at least 2/eps' (counts are monotone), and a count below theta passes one query with
 * probability at most delta'. SHARP takes the largest eps' whose T-fold optimal composition fits
 * and the exact quantile of the noise difference. PAPER takes advanced composition, a query noise
 * of twice the scale and a union bound; its delta' forgets the empty output, so what its parameters
 * are worth is composed_epsilon and not the budget that was asked for.
 *
 * Rounding. Discrete Laplace X of scale s on the integers is stochastically below L + 1 for the
 * continuous L: for k >= 1, P(X >= k) = e^(-k/s)/(1 + e^(-1/s)) <= e^(-(k-1)/s)/2, and for k <= 0,
 * 1 - P(X >= k) = e^((k-1)/s)/(1 + e^(-1/s)) >= e^((k-1)/s)/2. So X - Y is below L - L' + 2, and
 * two units on the threshold pay for the lattice. Scales and threshold are rounded up, with a
 * relative 2^-40 for the floating point of this file. */
#include "algos/privacy/training/sparse_vector.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/accounting/accountant.h"

#define MAX_SCALE_EXPERTS 8388608.0 /* 2^23: within NOISE_DISCRETE_MAX */
#define ROUNDING          0x1p-40

const char *sparse_vector_accounting_name(enum sparse_vector_accounting accounting)
{
    return accounting == SPARSE_VECTOR_PAPER ? "paper" : "sharp";
}

double sparse_vector_min_count(double epsilon)
{
    assert(epsilon > 0.0);
    return -1.0 / expm1(-epsilon);
}

double sparse_vector_tail(double scale_x, double scale_y, double t)
{
    assert(scale_x > 0.0 && scale_y > 0.0 && t >= 0.0);
    double wide = fmax(scale_x, scale_y), narrow = fmin(scale_x, scale_y);
    /* Nearly equal scales would cancel; the wider one for both is an upper bound. */
    if (wide - narrow < 1e-6 * wide)
        return (2.0 + t / wide) * exp(-t / wide) / 4.0;
    double a = scale_x * scale_x, b = scale_y * scale_y;
    return (a * exp(-t / scale_x) - b * exp(-t / scale_y)) / (2.0 * (a - b));
}

double sparse_vector_offset(double scale_x, double scale_y, double delta)
{
    assert(delta > 0.0 && delta < 0.5);
    double high = fmax(scale_x, scale_y), low = 0.0;
    delta *= 1.0 - ROUNDING;
    while (sparse_vector_tail(scale_x, scale_y, high) > delta)
        high *= 2.0;
    for (int i = 0; i < 200; i++) {
        double middle = 0.5 * (low + high);
        if (middle <= low || middle >= high)
            break;
        if (sparse_vector_tail(scale_x, scale_y, middle) > delta)
            low = middle;
        else
            high = middle;
    }
    return high;
}

const char *sparse_vector_problem(const struct sparse_vector_request *request)
{
    if (request->accounting != SPARSE_VECTOR_SHARP && request->accounting != SPARSE_VECTOR_PAPER)
        return "accounting must be sharp or paper";
    if (!request->experts || request->experts > SPARSE_VECTOR_MAX_EXPERTS)
        return "experts must be from 1 to 2^28";
    if (!(request->epsilon > 0.0 && request->epsilon <= 1000.0))
        return "epsilon must be above 0 and at most 1000";
    if (!(request->delta >= SPARSE_VECTOR_MIN_DELTA && request->delta < 1.0))
        return "delta must be at least 1e-100 and below 1";
    if (!request->trajectories || request->trajectories > SPARSE_VECTOR_MAX_TRAJECTORIES)
        return "trajectories must be from 1 to 10000";
    if (!request->max_length)
        return "max_length must be at least 1";
    if (!(request->min_probability > 0.0 && request->min_probability <= 0.5))
        return "min_probability must be above 0 and at most 1/2";
    return NULL;
}

/* ---- what runs cost together, and what one may cost: the optimal composition of mechanisms that
 * are known by their epsilon and delta alone (Kairouz, Oh and Viswanath 2015) */

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
    bool done =
        runs_of(run_epsilon, run_delta, trajectories, &runs) &&
        accountant_delta(&accountant_optimal_composition, &runs, epsilon, &delta) == ACCOUNTANT_OK;
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
    /* A run whose own epsilon is above the budget's fits only if delta is so large that it hardly
     * protects, so the search ends at epsilon + 1. The certified figure of the final LOW is within
     * the budget. */
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

/* Certified epsilon at DELTA of T runs of (run_epsilon, run_delta), optimal composition;
 * OUT_OF_REACH when the deltas alone exceed DELTA. */
static enum sparse_vector_status composed_epsilon(double run_epsilon, double run_delta,
                                                  uint32_t trajectories, double delta, double *out)
{
    struct composition runs;
    struct privacy_interval epsilon;
    bool done = runs_of(run_epsilon, run_delta, trajectories, &runs) &&
                accountant_epsilon(&accountant_optimal_composition, &runs, delta, &epsilon) ==
                    ACCOUNTANT_OK;
    composition_clear(&runs);
    if (!done)
        return SPARSE_VECTOR_OUT_OF_REACH;
    *out = epsilon.upper;
    return SPARSE_VECTOR_OK;
}

/* ---- the plan */

static enum sparse_vector_status fill_sharp(struct sparse_vector_plan *plan)
{
    const struct sparse_vector_request *request = &plan->request;
    double run;
    plan->run_delta = request->delta / (2.0 * request->trajectories);
    plan->delta_prime = plan->run_delta / (request->max_length + 1.0);
    enum sparse_vector_status status = sparse_vector_run_epsilon(
        request->epsilon, request->delta, request->trajectories, plan->run_delta, &run);
    if (status != SPARSE_VECTOR_OK)
        return status;
    if (run <= 0.0)
        return SPARSE_VECTOR_OUT_OF_REACH;
    plan->run_epsilon = run;
    plan->epsilon_prime = run / 2.0;
    plan->threshold_scale = plan->query_scale = 2.0 / plan->epsilon_prime;
    return SPARSE_VECTOR_OK;
}

static void fill_paper(struct sparse_vector_plan *plan)
{
    const struct sparse_vector_request *request = &plan->request;
    double runs = request->trajectories;
    plan->epsilon_prime = request->epsilon / sqrt(32.0 * runs * log(2.0 / request->delta));
    plan->delta_prime = request->delta / (2.0 * runs * request->max_length);
    plan->run_epsilon = 2.0 * plan->epsilon_prime;
    plan->run_delta = plan->delta_prime * (request->max_length + 1.0);
    plan->threshold_scale = 2.0 / plan->epsilon_prime;
    plan->query_scale = 4.0 / plan->epsilon_prime;
}

/* Rounds the scales up to the lattice and places the threshold for the rounded ones. */
static bool fill_lattice(struct sparse_vector_plan *plan)
{
    struct sparse_vector_lattice *lattice = &plan->lattice;
    if (!(fmax(plan->threshold_scale, plan->query_scale) <= MAX_SCALE_EXPERTS))
        return false;
    double up = (double)SPARSE_VECTOR_UNIT * (1.0 + ROUNDING);
    lattice->threshold_scale = (uint64_t)ceil(plan->threshold_scale * up);
    lattice->query_scale = (uint64_t)ceil(plan->query_scale * up);
    plan->min_count = sparse_vector_min_count(plan->epsilon_prime);
    plan->safe_count = plan->min_count / plan->request.min_probability;
    double threshold_scale = (double)lattice->threshold_scale / (double)SPARSE_VECTOR_UNIT;
    double query_scale = (double)lattice->query_scale / (double)SPARSE_VECTOR_UNIT;
    double offset = plan->request.accounting == SPARSE_VECTOR_PAPER
                        ? query_scale * log(1.0 / plan->delta_prime)
                        : sparse_vector_offset(query_scale, threshold_scale, plan->delta_prime);
    plan->threshold = plan->safe_count + offset;
    if (!(plan->threshold <= SPARSE_VECTOR_MAX_EXPERTS))
        return false;
    lattice->threshold = (int64_t)ceil(plan->threshold * up) + 2;
    return true;
}

uint32_t sparse_vector_unanimous_length(const struct sparse_vector_plan *plan, uint32_t actions)
{
    assert(actions >= 2);
    double agreed = 1.0 - (actions - 1.0) * plan->request.min_probability;
    double share = plan->threshold / plan->request.experts;
    if (!(agreed > 0.0 && agreed < 1.0 && share > 0.0 && share <= agreed))
        return 0;
    return (uint32_t)fmin(log(share) / log(agreed), UINT32_MAX);
}

enum sparse_vector_status sparse_vector_plan_make(const struct sparse_vector_request *request,
                                                  struct sparse_vector_plan *out)
{
    if (sparse_vector_problem(request))
        return SPARSE_VECTOR_BAD;
    struct sparse_vector_plan plan = {.request = *request};
    enum sparse_vector_status status = SPARSE_VECTOR_OK;
    if (request->accounting == SPARSE_VECTOR_SHARP)
        status = fill_sharp(&plan);
    else
        fill_paper(&plan);
    if (status != SPARSE_VECTOR_OK)
        return status;
    if (!fill_lattice(&plan))
        return SPARSE_VECTOR_OUT_OF_REACH;
    status = composed_epsilon(plan.run_epsilon, plan.run_delta, request->trajectories,
                              request->delta, &plan.composed_epsilon);
    if (status != SPARSE_VECTOR_OK)
        return status;
    /* The run's epsilon was found by the certified delta at the epsilon asked for, which therefore
     * holds, whatever allowances are on the way back from delta to epsilon. */
    if (request->accounting == SPARSE_VECTOR_SHARP)
        plan.composed_epsilon = fmin(plan.composed_epsilon, request->epsilon);
    *out = plan;
    return SPARSE_VECTOR_OK;
}
