/* Blocks of episodes, their means and deviations pooled exactly (Chan, Golub and LeVeque 1979). */
#include "api/jobs/run/job_run.h"

#include <math.h>

#include "algos/release/q_play.h"

#define PUBLIC_SEED UINT64_C(20260101)
#define BLOCK_WORK  4e8 /* multiply-adds of network and world in one block */

static uint32_t episodes_in_block(const struct job_plan *plan, const struct env *world)
{
    double step = (double)plan->plan.parameter_count + 1000 + world->step_work;
    double episodes = BLOCK_WORK / (step * plan->max_episode_steps);
    return (uint32_t)fmin(fmax(episodes, 1), 1000);
}

static bool play_block(const struct job_plan *plan, const struct env *world,
                       const double *parameters, const struct job_player *player, uint32_t count,
                       uint32_t done, struct policy_evaluation *out)
{
    uint32_t steps = plan->max_episode_steps;
    uint64_t seed = PUBLIC_SEED + done;
    if (player->release)
        return q_release_evaluate(player->release, world, parameters, count, steps, seed, out);
    return policy_evaluate(player->policy, world, parameters, count, steps, seed, out);
}

bool job_evaluate(const struct job_plan *plan, const struct env *world,
                  const struct job_player *player, bool (*between)(void *context, uint32_t done),
                  void *context, struct policy_evaluation *out)
{
    double parameters[ENV_MAX_PARAMETERS];
    double mean = 0, squares = 0; /* of the deviations */
    uint32_t block = episodes_in_block(plan, world), done = 0;
    *out = (struct policy_evaluation){0};
    if (!job_world_physics(&plan->evaluate, world, parameters))
        return false;
    while (done < plan->episodes) {
        uint32_t count = plan->episodes - done;
        if (count > block)
            count = block;
        struct policy_evaluation part;
        if (!between(context, done))
            return false;
        if (!play_block(plan, world, parameters, player, count, done, &part)) {
            *out = part;
            return false;
        }
        double difference = part.mean_return - mean, total = (double)done + count;
        squares += part.std_return * part.std_return * (count - 1) +
                   difference * difference * done * count / total;
        mean += difference * count / total;
        done += count;
    }
    *out = (struct policy_evaluation){.mean_return = mean, .episodes = done};
    if (done > 1)
        out->std_return = sqrt(squares / (done - 1));
    return true;
}
