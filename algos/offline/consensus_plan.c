/* Finds the noise of a sum from the number of labels and a budget. */
#include "algos/offline/consensus_plan.h"

#include <math.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/noise/noise_lattice.h"
#include "envs/env.h"

enum consensus_status consensus_plan_make(uint32_t labels, uint32_t action_count, double epsilon,
                                          double delta, struct consensus_plan *out)
{
    if (labels < 1 || labels > CONSENSUS_MAX_LABELS || action_count < 2 ||
        action_count > ENV_MAX_ACTIONS || !(epsilon > 0.0 && epsilon <= 1000.0) ||
        !(delta > 0.0 && delta <= 0.5))
        return CONSENSUS_BAD;
    struct consensus_plan plan = {.labels = labels, .action_count = action_count};
    plan.sensitivity = sqrt(1.0 - 1.0 / action_count);
    /* The noise is rounded up by more than the errors of the closed form and of this line. */
    plan.noise_multiplier =
        sqrt((double)labels) / gaussian_dp_mu_for(epsilon, delta) * (1.0 + 1e-9);
    plan.noise = plan.noise_multiplier * plan.sensitivity * (1.0 + 1e-12);
    double scale = plan.noise * action_count * CONSENSUS_UNIT * 0x1p20;
    if (!(scale <= (double)NOISE_LATTICE_MAX - 1.0))
        return CONSENSUS_OUT_OF_REACH;
    plan.lattice_scale = (uint64_t)ceil(scale) + 1;
    *out = plan;
    return CONSENSUS_OK;
}
