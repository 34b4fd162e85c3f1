/* Inside the accounting of DP-SGD: shared by the plan and the search for one. */
#ifndef TACET_ALGOS_PRIVACY_TRAINING_DP_SGD_ACCOUNTING_H
#define TACET_ALGOS_PRIVACY_TRAINING_DP_SGD_ACCOUNTING_H

#include "algos/privacy/accounting/accountant_pld.h"
#include "algos/privacy/training/dp_sgd_plan.h"

/* What the accountant takes; outside a plan is DP_SGD_PLAN_BAD. */
#define DP_SGD_MIN_NOISE 0.05
#define DP_SGD_MAX_NOISE 1e6
#define DP_SGD_MAX_STEPS 1000000000
#define DP_SGD_MIN_DELTA 1e-50

/* True when every field that accounting reads is in range and finite, and sampling_rate is
 * batch_size / nominal_experts. */
bool dp_sgd_accounting_valid(const struct dp_sgd_plan *plan);

/* The interval of a valid plan, the worse of adding and removing. INFEASIBLE when no finite epsilon
 * could be certified. */
enum dp_sgd_plan_status dp_sgd_accounting_interval(const struct dp_sgd_plan *plan,
                                                   const struct pld_effort *effort,
                                                   struct privacy_interval *out);

/* Writes the three epsilons of a valid plan: INTERVAL and the Renyi figure. */
void dp_sgd_accounting_fill(struct dp_sgd_plan *plan, const struct privacy_interval *interval);

/* Bounds for the noise that is drawn, from the exact Gaussian law. At plan->delta, the epsilon of
 * the drawn noise lies between two figures of the exact law: its lower figure at delta_below, minus
 * EPSILON, and its upper figure at delta_above, plus EPSILON. */
struct dp_sgd_allowance {
    double delta_above;
    double delta_below;
    double epsilon;
};

/* The allowance of a valid PLAN (dp_sgd_lattice.c); nothing where its noise is float. */
struct dp_sgd_allowance dp_sgd_lattice_allowance(const struct dp_sgd_plan *plan);

#endif
