/* Privacy-loss distributions as an accountant. */
#include <math.h>

#include "algos/privacy/accountant.h"
#include "algos/privacy/pld_certify.h"
#include "algos/privacy/subsampled_gaussian.h"

static const struct pld_effort EFFORT = {.relative_gap = 1e-3, .max_log2_size = 20};

static enum accountant_status epsilon(const struct composition *composition, double delta,
                                      struct privacy_interval *out)
{
    if (!composition->count || !(delta > 0.0 && delta < 1.0))
        return ACCOUNTANT_BAD;
    const struct composition_part *part = &composition->part[0];
    if (composition->count > 1 || part->mechanism.kind != MECHANISM_SUBSAMPLED_GAUSSIAN)
        return ACCOUNTANT_UNSUPPORTED;
    double tail = sqrt(2.0 * log((double)part->times / (1e-10 * delta)));
    struct subsampled_gaussian step = {.sampling_rate = part->mechanism.gaussian.sampling_rate,
                                       .noise_multiplier =
                                           part->mechanism.gaussian.noise_multiplier,
                                       .tail = fmin(fmax(tail, 6.0), 37.0)};
    struct privacy_interval removed, added;
    if (!pld_certify(subsampled_gaussian_outcomes, &step, part->times, delta, &EFFORT, &removed))
        return ACCOUNTANT_NO_MEMORY;
    step.add = true;
    if (!pld_certify(subsampled_gaussian_outcomes, &step, part->times, delta, &EFFORT, &added))
        return ACCOUNTANT_NO_MEMORY;
    out->lower = fmax(removed.lower, added.lower);
    out->upper = fmax(removed.upper, added.upper);
    return isfinite(out->upper) ? ACCOUNTANT_OK : ACCOUNTANT_OUT_OF_REACH;
}

static enum accountant_status delta(const struct composition *composition, double at,
                                    struct privacy_interval *out)
{
    (void)out;
    if (!composition->count || !(at >= 0.0))
        return ACCOUNTANT_BAD;
    return ACCOUNTANT_UNSUPPORTED;
}

const struct accountant accountant_pld = {"pld", ACCOUNTANT_CERTIFIED, epsilon, delta};
