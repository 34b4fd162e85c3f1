/* Voices that count by skill. Most of a population may play badly, or well for a short while only,
 * and what all of them together would do is then no better. Here every expert first plays some
 * episodes in Tacet's world, and its voice is its policy mixed with the uniform one:
 *
 *   weight = clamp((mean return - low) / (high - low), 0, 1) ^ power
 *   voice  = weight pi + (1 - weight) / |A|
 *
 * PRIVACY. A voice is a policy made of that expert's own policy, of public numbers and of public
 * coins (the same starts for all experts), so whatever is proved of voices holds for these: a
 * consensus label's sensitivity is that of unweighted ones, because weights are at most 1. Weights
 * and returns are private values and are released by no one. The work does not tell of them: every
 * episode takes MAX_LENGTH steps of the world and evaluations of the network (steady_episode.h). */
#ifndef TACET_ALGOS_OFFLINE_SKILL_VOICES_H
#define TACET_ALGOS_OFFLINE_SKILL_VOICES_H

#include "algos/algorithm.h"
#include "algos/offline/expert_voices.h"
#include "envs/env.h"

struct skill_run {
    const struct expert_voices *voices; /* the unweighted voices; borrowed until the result is
                                         * freed */
    const struct skill_scale *scale;    /* stage_plan.h; power above 0 */
    const struct env *env;              /* with its default parameters and the voices' sizes */
    uint32_t max_length;                /* steps of an episode */
    uint64_t seed;                      /* public */
    bool (*goes_on)(void *context);     /* asked before each expert and every few steps of play;
                                         * false: stop. NULL: play to the end */
    void *context;
};

struct skill_voices;

/* Plays the likeliest actions of every voice and weighs the voices. The caller frees the result
 * with skill_voices_free. NULL: GOES_ON said stop. If the world cannot continue an episode, the
 * episode ends. */
struct skill_voices *skill_voices_new(const struct skill_run *run);

/* Frees the weights; takes NULL. */
void skill_voices_free(struct skill_voices *voices);

/* The weighted voices. They are valid as long as SKILLED. */
struct expert_voices skill_voices_of(const struct skill_voices *skilled);

#endif
