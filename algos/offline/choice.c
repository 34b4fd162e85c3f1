/* Moments and blocks of episodes. */
#include "algos/offline/choice.h"

#include <assert.h>
#include <math.h>

/* Not the seed of the episodes that judge a finished policy. */
#define PUBLIC_SEED UINT64_C(0x63686f6f7365)
#define BLOCK_WORK  4e8 /* multiply-adds of network and world in one block */

uint32_t choice_due(const struct choice *choice, uint64_t steps_done, uint64_t total_steps)
{
    return (uint32_t)(steps_done * choice->candidates / total_steps);
}

static uint32_t episodes_at_once(const struct choice *choice, const struct policy *policy,
                                 const struct env *world)
{
    double step = (double)mlp_parameter_count(&policy->shape) + 1000 + world->step_work;
    double episodes = BLOCK_WORK / (step * choice->max_steps);
    return (uint32_t)fmin(fmax(episodes, 1), 1000);
}

enum choice_verdict choice_play(const struct choice *choice, const struct policy *policy,
                                const struct choice_place *place, struct choice_score *score)
{
    assert(score->episodes < choice->episodes);
    uint32_t left = choice->episodes - score->episodes,
             block = episodes_at_once(choice, policy, place->world);
    uint32_t count = left < block ? left : block;
    struct policy_evaluation played;
    if (!policy_evaluate(policy, place->world, place->physics, count, choice->max_steps,
                         PUBLIC_SEED + score->episodes, &played))
        return played.not_finite ? CHOICE_NOT_FINITE : CHOICE_BROKEN;
    score->sum += played.mean_return * count;
    score->episodes += count;
    return CHOICE_PLAYED;
}
