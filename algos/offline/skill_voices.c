/* Episodes of one expert are played side by side, so that its weights are read once for all of
 * them, and to the full length, so that no expert's work tells how it plays (steady_episode.h). An
 * expert's answers depend on its network and the state alone (expert_policies.h), and the starts on
 * the public seed: nobody's weight depends on another expert. */
#include "algos/offline/skill_voices.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "algos/offline/steady_episode.h"
#include "memory/memory.h"

#define STEPS_BETWEEN 16 /* steps of an expert between two calls of GOES_ON */

struct skill_voices {
    struct expert_voices plain;
    double *weights; /* one for each slot */
};

struct play {
    const struct skill_run *run;
    struct steady_episode episode[SKILL_MAX_EPISODES];
    float states[SKILL_MAX_EPISODES * ENV_MAX_STATE_DIM]; /* one row an episode */
    double probabilities[SKILL_MAX_EPISODES * ENV_MAX_ACTIONS];
};

static float *episode_state(struct play *p, uint32_t number)
{
    return p->states + (size_t)number * p->run->env->state_dim;
}

static void start_episodes(struct play *p)
{
    for (uint32_t k = 0; k < p->run->scale->episodes; k++)
        (void)steady_episode_start(&p->episode[k], p->run->seed, k, episode_state(p, k));
}

static uint32_t likeliest_action(const double *probabilities, uint32_t actions)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < actions; a++)
        best = probabilities[a] > probabilities[best] ? a : best;
    return best;
}

/* Moves all episodes by one step; returns the sum of the rewards of those that go on. */
static double step_episodes(struct play *p, uint32_t expert)
{
    const struct skill_run *run = p->run;
    const uint32_t actions = run->env->action_count;
    double earned = 0.0;
    run->voices->probabilities(run->voices->context, expert, 1, p->states, run->scale->episodes,
                               p->probabilities);
    for (uint32_t k = 0; k < run->scale->episodes; k++) {
        uint32_t action = likeliest_action(p->probabilities + (size_t)k * actions, actions);
        struct steady_step step = steady_episode_step(&p->episode[k], action, episode_state(p, k));
        if (step.made)
            earned += step.reward;
    }
    return earned;
}

static bool weighing_goes_on(const struct skill_run *run)
{
    return !run->goes_on || run->goes_on(run->context);
}

/* Plays one expert's episodes and computes its weight. False: GOES_ON said stop. */
static bool weigh_one(struct play *p, uint32_t expert, double *out)
{
    const struct skill_scale *scale = p->run->scale;
    double sum = 0.0;
    start_episodes(p);
    for (uint32_t t = 0; t < p->run->max_length; t++) {
        if (t > 0 && t % STEPS_BETWEEN == 0 && !weighing_goes_on(p->run))
            return false;
        sum += step_episodes(p, expert);
    }
    double part = (sum / scale->episodes - scale->low) / (scale->high - scale->low);
    *out = part > 0.0 ? pow(fmin(part, 1.0), scale->power) : 0.0; /* a NaN gets weight 0 */
    return true;
}

/* Weighs every voice. False: GOES_ON said stop. */
static bool weigh_all(struct play *p, struct skill_voices *out)
{
    const struct skill_run *run = p->run;
    for (uint32_t e = 0; e < run->voices->slots; e++) {
        if (!weighing_goes_on(run))
            return false;
        if (run->voices->present(run->voices->context, e) && !weigh_one(p, e, &out->weights[e]))
            return false;
    }
    return true;
}

struct skill_voices *skill_voices_new(const struct skill_run *run)
{
    assert(run->scale->power > 0.0 && run->scale->high > run->scale->low);
    assert(run->scale->episodes > 0 && run->scale->episodes <= SKILL_MAX_EPISODES);
    assert(run->env->state_dim == run->voices->state_dim &&
           run->env->action_count == run->voices->action_count);
    struct skill_voices *skilled = memory_new(1, sizeof *skilled);
    struct play *p = memory_new(1, sizeof *p);
    skilled->plain = *run->voices;
    skilled->weights = memory_new(run->voices->slots, sizeof *skilled->weights);
    p->run = run;
    for (uint32_t k = 0; k < run->scale->episodes; k++)
        steady_episode_open(&p->episode[k], run->env);
    bool whole = weigh_all(p, skilled);
    for (uint32_t k = 0; k < run->scale->episodes; k++)
        steady_episode_close(&p->episode[k]);
    free(p);
    if (whole)
        return skilled;
    skill_voices_free(skilled);
    return NULL;
}

void skill_voices_free(struct skill_voices *voices)
{
    if (!voices)
        return;
    free(voices->weights);
    free(voices);
}

/* ---- as voices */

static bool skilled_present(const void *context, uint32_t expert)
{
    const struct skill_voices *skilled = context;
    return skilled->plain.present(skilled->plain.context, expert);
}

static void skilled_probabilities(const void *context, uint32_t first, uint32_t count,
                                  const float *states, uint32_t state_count, double *out)
{
    const struct skill_voices *skilled = context;
    const struct expert_voices *plain = &skilled->plain;
    const double even = 1.0 / plain->action_count;
    const size_t numbers = (size_t)state_count * plain->action_count;
    plain->probabilities(plain->context, first, count, states, state_count, out);
    for (uint32_t e = 0; e < count; e++) {
        double weight = skilled->weights[first + e];
        for (size_t i = 0; i < numbers; i++)
            out[e * numbers + i] = even + weight * (out[e * numbers + i] - even);
    }
}

struct expert_voices skill_voices_of(const struct skill_voices *skilled)
{
    struct expert_voices voices = skilled->plain;
    voices.context = skilled;
    voices.present = skilled_present;
    voices.probabilities = skilled_probabilities;
    return voices;
}
