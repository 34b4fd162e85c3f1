/* Signal over noise of a plan. */
#include <math.h>

#include "algos/advice/advice.h"
#include "algos/privacy/answers/answer_error.h"
#include "algos/release/ensemble.h"

#define LEAST_PROBABILITY 0.1 /* of the Dirichlet mechanism, which is not looked at */

double advice_signal(const struct algorithm_request *request, const struct algorithm_plan *plan,
                     enum advice_method *out_method)
{
    const struct dp_sgd_plan *noisy = &plan->privacy;
    const struct consensus_plan *votes = &plan->stage.consensus;
    bool selective = request->mechanism == MECHANISM_SELECTIVE;
    if ((request->mechanism == MECHANISM_DPSGD || selective) && noisy->noise_multiplier > 0) {
        *out_method = ADVICE_DPSGD;
        if (selective)
            *out_method = ADVICE_SELECTIVE;
        else if (plan->shape.layer_count == 1)
            *out_method = ADVICE_LINEAR;
        return noisy->batch_size * sqrt((double)noisy->steps) /
               (noisy->noise_multiplier * sqrt((double)plan->parameter_count));
    }
    if (request->mechanism == MECHANISM_CONSENSUS && votes->noise > 0) {
        *out_method = request->stage.grid.dims > 0 ? ADVICE_GRID : ADVICE_CONSENSUS;
        return request->nominal_experts / votes->noise;
    }
    if (request->mechanism == MECHANISM_GAUSSIAN_PROCESS && plan->release.noise_to_range > 0) {
        *out_method = ADVICE_RELEASE;
        return 1 / plan->release.noise_to_range;
    }
    return NAN;
}

double advice_teaching_signal(const struct advice_facts *facts, uint32_t shards)
{
    struct answer_choice dirichlet, gaussian;
    double least = fmin(LEAST_PROBABILITY, 0.5 / facts->action_count);
    answer_choices(facts->action_count, ensemble_change(shards), least, ADVICE_ANSWERS,
                   facts->epsilon, facts->delta, &dirichlet, &gaussian);
    if (!gaussian.possible || !(gaussian.setting > 0))
        return 0;
    return 1 / gaussian.setting;
}
