/* Importance sampling from logged trajectories. With rho_t the product over steps 0 .. t of
 * pi(a|s) / mu(a|s), mu the model of who made the data, w_t = rho_t / sum rho_t over all
 * trajectories, and a trajectory that is over keeping its last rho:
 *
 *   weighted per-decision importance sampling (Precup, Sutton and Singh 2000, section 3; the
 *   consistent form of Thomas 2015, section 3.9):
 *     WIS = sum_t discount^t sum_i w_t r_t
 *   weighted doubly robust (Thomas and Brunskill 2016, section 5; Jiang and Li 2016, equation 10,
 *   with weights that add up to 1), with w_-1 one over the number of trajectories:
 *     WDR = WIS - sum_t discount^t sum_i (w_t Q(s_t, a_t) - w_t-1 V(s_t))
 *
 * Intervals are percentiles of a bootstrap over groups of units (Efron 1979) by public coins. */
#ifndef TACET_ALGOS_OFFLINE_JUDGE_IMPORTANCE_H
#define TACET_ALGOS_OFFLINE_JUDGE_IMPORTANCE_H

#include "algos/offline/judge/logged.h"

struct judge_interval {
    double value, low, high;
};

struct importance_input {
    const struct logged *logged;
    const float *behaviour;      /* transition: mu of the logged action */
    const double *value, *taken; /* transition: V(s) and Q(s, a), with the steps that are left */
    double tail;                 /* probability left out at each end of an interval */
    uint64_t seed;
};

struct importance_result {
    struct judge_interval behaviour; /* the logged returns' own mean */
    struct judge_interval sampling, robust;
    double effective; /* sample size of Kish (1965), (sum rho)^2 / sum rho^2 in trajectories,
                       * averaged over steps with weights discount^t */
};

/* Estimates from all trajectories. */
void importance_estimate(const struct importance_input *input, struct importance_result *out);

#endif
