/* Planning of the first stage. */
#include "algos/offline/stage_plan.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "algos/offline/expert_voices.h"

static const char *const source_names[STABLE_SOURCES] = {
    [STABLE_ROLLOUTS] = "rollouts",
    [STABLE_LOGGED] = "logged",
};

const char *stable_source_name(enum stable_source source)
{
    return source_names[source];
}

static enum algorithm_status plan_stable(const struct stage_request *request, double epsilon,
                                         double delta, uint32_t nominal_experts,
                                         uint32_t action_count, struct sparse_vector_plan *out,
                                         const char **message)
{
    const struct sparse_vector_request wish = {
        .experts = nominal_experts,
        .epsilon = epsilon * fmin(request->epsilon_share, STAGE_MOST_SHARE),
        .delta = delta * fmin(request->delta_share, STAGE_MOST_SHARE),
        .trajectories = request->runs,
        .max_length = request->max_length,
        .min_probability = expert_voices_floor(request->min_probability),
        .accounting = request->accounting};
    switch (sparse_vector_plan_make(&wish, out)) {
    case SPARSE_VECTOR_OK:
        if (action_count >= 2 && sparse_vector_unanimous_length(out, action_count) > 0)
            return ALGORITHM_OK;
        *message = "no prefix could be released: the stable threshold is above the number of "
                   "experts, even if all agreed; a larger share of the budget, fewer trajectories "
                   "or a larger min_action_probability would lower it";
        return ALGORITHM_INFEASIBLE;
    case SPARSE_VECTOR_BAD: *message = sparse_vector_problem(&wish); return ALGORITHM_BAD_INPUT;
    case SPARSE_VECTOR_OUT_OF_REACH:
        *message = "the stable stage's share of the budget is too small for so many trajectories";
        break;
    }
    return ALGORITHM_INFEASIBLE;
}

static enum algorithm_status plan_consensus(const struct stage_request *request, double epsilon,
                                            double delta, uint32_t action_count,
                                            struct consensus_plan *out, const char **message)
{
    enum consensus_status status =
        consensus_plan_make(request->labels, action_count, epsilon * request->epsilon_share,
                            delta * request->delta_share, out);
    if (status == CONSENSUS_OK)
        return ALGORITHM_OK;
    *message = status == CONSENSUS_BAD
                   ? "consensus labels need 2 to 16 actions, and delta at most 1/2"
                   : "the budget is too small for so many labels";
    return status == CONSENSUS_BAD ? ALGORITHM_BAD_INPUT : ALGORITHM_INFEASIBLE;
}

struct composition_part stage_price(const struct stage_request *request,
                                    const struct stage_plan *plan)
{
    struct composition_part price = {.times = 0};
    if (request->kind == STAGE_STABLE) {
        price.mechanism = (struct mechanism){
            .kind = MECHANISM_EPSILON_DELTA,
            .pair = {.epsilon = plan->stable.run_epsilon, .delta = plan->stable.run_delta}};
        price.times = plan->stable.request.trajectories;
    } else if (request->kind == STAGE_CONSENSUS) {
        price.mechanism = (struct mechanism){.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                                             .gaussian = {1.0, plan->consensus.noise_multiplier}};
        price.times = plan->consensus.labels;
    }
    return price;
}

/* Checks what the selective and the consensus mechanism both require. Returns a message about the
 * first requirement that is not met, or NULL. */
static const char *stage_problem(const struct stage_request *request, uint32_t nominal_experts)
{
    if (nominal_experts < 2)
        return "this mechanism needs at least 2 experts: it releases what several experts have in "
               "common";
    if (!(request->epsilon_share > 0.0 && request->epsilon_share <= 1.0 &&
          request->delta_share > 0.0 && request->delta_share <= 1.0))
        return "the first stage's shares of the budget must be above 0 and at most 1";
    if (request->max_length < 1)
        return "max_length must be at least 1";
    if (request->kind == STAGE_CONSENSUS && request->rounds < 1)
        return "rounds must be at least 1";
    const struct skill_scale *skill = &request->skill;
    if (!(skill->power >= 0.0 && skill->power <= 100.0))
        return "skill's power must be from 0 to 100";
    if (skill->power > 0.0 &&
        !(isfinite(skill->low) && isfinite(skill->high) && skill->low < skill->high &&
          skill->episodes >= 1 && skill->episodes <= SKILL_MAX_EPISODES))
        return "skill needs a low return below a high one, and 1 to 16 episodes";
    if (request->grid.dims > 0 && consensus_grid_size(&request->grid) != request->labels)
        return "the grid of states is out of bounds";
    if (request->grid.dims > 0 && skill->power > 0.0)
        return "skill is measured by play, and a grid of states is not played";
    if (!(request->explore >= 0.0 && request->explore < 1.0))
        return "explore must be at least 0 and below 1";
    return NULL;
}

enum algorithm_status stage_plan_make(const struct stage_request *request, double epsilon,
                                      double delta, uint32_t nominal_experts, uint32_t action_count,
                                      struct stage_plan *out, struct composition_part *out_before,
                                      const char **message)
{
    struct stage_plan plan = {0};
    enum algorithm_status status = ALGORITHM_OK;
    *message = request->kind == STAGE_NONE ? NULL : stage_problem(request, nominal_experts);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    *message = "";
    if (request->kind == STAGE_STABLE)
        status = plan_stable(request, epsilon, delta, nominal_experts, action_count, &plan.stable,
                             message);
    else if (request->kind == STAGE_CONSENSUS)
        status = plan_consensus(request, epsilon, delta, action_count, &plan.consensus, message);
    if (status != ALGORITHM_OK)
        return status;
    *out = plan;
    *out_before = stage_price(request, &plan);
    return ALGORITHM_OK;
}
