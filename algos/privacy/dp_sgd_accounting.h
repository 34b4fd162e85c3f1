/* Inside the accounting of DP-SGD: shared by the plan and the search for one. */
#ifndef TACET_ALGOS_PRIVACY_DP_SGD_ACCOUNTING_H
#define TACET_ALGOS_PRIVACY_DP_SGD_ACCOUNTING_H

#include "algos/privacy/dp_sgd_plan.h"
#include "algos/privacy/pld_certify.h"

/* What the accountant takes; outside a plan is DP_SGD_PLAN_BAD. */
#define DP_SGD_MIN_NOISE 0.05
#define DP_SGD_MAX_NOISE 1e6
#define DP_SGD_MAX_STEPS 1000000000
#define DP_SGD_MIN_DELTA 1e-50

/* How closely a figure is certified that will be charged. */
static const struct pld_effort DP_SGD_CERTIFICATE = {.relative_gap = 2e-4, .max_log2_size = 20};

/* True when every field that accounting reads is in range and finite, and sampling_rate is
 * batch_size / nominal_experts. */
bool dp_sgd_accounting_valid(const struct dp_sgd_plan *plan);

/* The interval of a valid plan, the worse of adding and removing. INFEASIBLE when no finite epsilon
 * could be certified. */
enum dp_sgd_plan_status dp_sgd_accounting_interval(const struct dp_sgd_plan *plan,
                                                   const struct pld_effort *effort,
                                                   struct privacy_interval *out);

#endif
