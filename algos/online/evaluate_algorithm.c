/* Evaluation's plan: as many steps as episodes, for the network that is there already. */
#include "algos/online/evaluate_algorithm.h"

static enum algorithm_status evaluate_plan(const struct algorithm_request *request,
                                           struct algorithm_plan *out, const char **message)
{
    *message = "";
    if (request->episodes == 0 || !mlp_shape_valid(&request->played)) {
        *message = "a policy and episodes to play are needed";
        return ALGORITHM_BAD_INPUT;
    }
    *out = (struct algorithm_plan){.total_steps = request->episodes, .shape = request->played};
    out->parameter_count = mlp_parameter_count(&out->shape);
    return ALGORITHM_OK;
}

const struct algorithm evaluate_algorithm = {
    .name = "evaluate",
    .summary = "Plays a policy or released Q-function that is there already; trains nothing.",
    .mechanisms = {[MECHANISM_NONE] = true},
    .kind = ALGORITHM_EVALUATES,
    .privacy_unit = "",
    .plan = evaluate_plan,
};
