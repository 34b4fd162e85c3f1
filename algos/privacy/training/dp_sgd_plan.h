/* The one description of a private training run. The accountant makes it; the trainer can draw its
 * batches and its noise from nothing else. What was accounted is what runs. */
#ifndef TACET_ALGOS_PRIVACY_TRAINING_DP_SGD_PLAN_H
#define TACET_ALGOS_PRIVACY_TRAINING_DP_SGD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/laws/mechanism.h"
#include "algos/privacy/math/work.h"
#include "algos/privacy/noise/noise.h"

/* Composed Poisson-subsampled Gaussian; unit: one expert, add or remove (or zeroed out, see
 * docs/proofs/dp_sgd.md). What was released of the same data before the first step (stable
 * prefixes, consensus labels) may be part of the plan: then every figure is that of both together,
 * composed in one distribution. */
struct dp_sgd_plan {
    double sampling_rate; /* each expert joins a step's batch with this probability; = batch_size /
                             nominal_experts */
    double noise_multiplier; /* noise standard deviation over clip_norm */
    double clip_norm;        /* 2-norm bound of one expert's whole gradient, all tensors jointly */
    uint32_t batch_size; /* nominal (expected) batch; the sum is divided by this, never by the drawn
                            size */
    uint32_t nominal_experts;       /* public */
    uint64_t steps;                 /* noisy steps; may be 0 with a release before */
    struct composition_part before; /* released before the steps; times 0: nothing */
    uint64_t
        rounded_draws; /* 0: noise in float. Else exact arithmetic: whole numbers are summed and
                          each step adds so many draws of the rounded Gaussian, whose distance
                          from the true law every figure pays for (dp_sgd_lattice.c) */
    double delta;
    double epsilon; /* certified upper bound at delta: privacy-loss distribution, or the closed form
                       of plain Gaussians where sampling_rate is 1 */
    double epsilon_lower; /* certified lower bound, likewise */
    double epsilon_renyi; /* Renyi accounting beside it, as a check: never below epsilon_lower */
    struct dp_sgd_work *work; /* what accounting for it may take; NULL: any work. Borrowed */
};

enum dp_sgd_plan_status {
    DP_SGD_PLAN_OK,
    DP_SGD_PLAN_BAD,        /* an argument out of range or not finite */
    DP_SGD_PLAN_INFEASIBLE, /* no noise multiplier up to 1e6 (or not one step) fits the budget */
    DP_SGD_PLAN_NO_MEMORY,
    DP_SGD_PLAN_TOO_MUCH_WORK, /* more than the plan's work allows */
};

/* What the accounting of several plans may take together, and what searches have found: one that is
 * asked again takes nothing. It begins as zeros but for work. */
#define DP_SGD_KNOWN 16

struct dp_sgd_work {
    struct work work;
    struct dp_sgd_known {
        struct dp_sgd_plan asked, found;
        double epsilon, least; /* what was asked for, and the end of the range */
        bool for_steps;
        enum dp_sgd_plan_status status;
    } known[DP_SGD_KNOWN]; /* the latest; zeros: none */
    unsigned searches;
};

/* Fills the three epsilons of *plan from its other fields. In range are: batch_size from 1 to
 * nominal_experts, sampling_rate their quotient, noise_multiplier 0.05 .. 1e6, clip_norm 1e-12 ..
 * 1e12, steps 1 .. 1e9 (0, whatever the noise multiplier, with a release before), delta 1e-50 ..
 * 0.5. INFEASIBLE when no finite epsilon can be certified. *plan is touched on success only; so in
 * all that follow. */
enum dp_sgd_plan_status dp_sgd_plan_account(struct dp_sgd_plan *plan);

/* The smallest noise multiplier (to 1e-3 relative, rounded up) at which plan->steps, with what was
 * before, cost at most TARGET_EPSILON; fills noise_multiplier (0 for no step) and the epsilons. */
enum dp_sgd_plan_status dp_sgd_plan_find_noise(struct dp_sgd_plan *plan, double target_epsilon);

/* The most steps (to 1e-3 relative, rounded down; at most MAX_STEPS) that cost at most
 * TARGET_EPSILON; fills steps and the epsilons. */
enum dp_sgd_plan_status dp_sgd_plan_find_steps(struct dp_sgd_plan *plan, double target_epsilon,
                                               uint64_t max_steps);

/* Certified epsilon at plan->delta of the first STEPS steps (0 for 0) with all of what was before;
 * never above plan->epsilon. */
enum dp_sgd_plan_status dp_sgd_plan_epsilon_after(const struct dp_sgd_plan *plan, uint64_t steps,
                                                  double *out_epsilon);

/* Certified epsilon at plan->delta where neighbours differ in a unit that is replaced by any other,
 * for a plan of one step that every unit joins (twice the sensitivity). INFINITY: none can be
 * certified. */
double dp_sgd_plan_epsilon_replaced(const struct dp_sgd_plan *plan);

/* The batch of one step: which of the EXPERT_COUNT slots join. CHOSEN has room for all; gives how
 * many. */
uint32_t dp_sgd_plan_draw_batch(const struct dp_sgd_plan *plan, struct noise_source *noise,
                                uint32_t expert_count, uint32_t *chosen);

/* Adds the step's noise to the clipped SUM[count] and divides by the nominal batch. */
void dp_sgd_plan_finish_sum(const struct dp_sgd_plan *plan, struct noise_source *noise, float *sum,
                            uint64_t count);

/* Exact arithmetic. The clip norm, in steps of the lattice: no expert's whole gradient is longer
 * (algos/nn/per_example_lattice.h). */
#define DP_SGD_LATTICE_NORM 65536

/* Whether the noise of PLAN is in the sampler's range: that of every plan that was accounted is. */
bool dp_sgd_plan_lattice_has_noise(const struct dp_sgd_plan *plan);

/* How many steps of the lattice are 1. */
double dp_sgd_plan_lattice_units(const struct dp_sgd_plan *plan);

/* Adds a step's rounded Gaussians to a part SUM[count] of its whole numbers. */
void dp_sgd_plan_noise_lattice(const struct dp_sgd_plan *plan, struct noise_source *noise,
                               int64_t *sum, uint64_t count);

/* OUT[count] of a part of the noisy SUM[count]: what dp_sgd_plan_finish_sum gives in float. */
void dp_sgd_plan_scale_lattice(const struct dp_sgd_plan *plan, const int64_t *sum, uint64_t count,
                               float *out);

/* Both, one after the other. */
void dp_sgd_plan_finish_lattice(const struct dp_sgd_plan *plan, struct noise_source *noise,
                                int64_t *sum, uint64_t count, float *out);

/* The extra cost of STEPS noisy steps of a plan with rounded_draws, because their draws follow the
 * rounded Gaussian only up to a bounded error. The cost is one (epsilon, delta) part, to be
 * composed with the Gaussians. The plan's own figures include it. The part has times 0 for other
 * plans and for no step. */
struct composition_part dp_sgd_plan_rounding_price(const struct dp_sgd_plan *plan, uint64_t steps);

/* Whether the price's delta suffices for draws beyond 12 deviations where everything that PLAN is a
 * part of costs EPSILON. True for plans whose noise is float. */
bool dp_sgd_lattice_fits(const struct dp_sgd_plan *plan, double epsilon);

#endif
