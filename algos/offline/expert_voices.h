/* What the mechanisms that count experts ask of the experts: action probabilities on a lattice, so
 * that the policy that is drawn from is exactly the policy that is counted.
 *
 * A voice is an expert with a policy. A slot without a policy (its expert uploaded nothing) is no
 * voice: it is never drawn and adds to no count. So emptying a slot and removing its expert are the
 * same. */
#ifndef TACET_ALGOS_OFFLINE_EXPERT_VOICES_H
#define TACET_ALGOS_OFFLINE_EXPERT_VOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A source of voices. Each answer is a function of that expert's own data and of the state
 * alone. */
struct expert_voices {
    const void *context;
    uint32_t slots, state_dim, action_count;
    double min_probability; /* floor of every probability, at most 1 / action_count */
    bool (*present)(const void *context, uint32_t expert);
    /* Writes PROBABILITIES[count x state_count x actions] of the slots FIRST, FIRST + 1, ... at
     * STATES[state_count x state_dim]. The order is expert, state, action. */
    void (*probabilities)(const void *context, uint32_t first, uint32_t count, const float *states,
                          uint32_t state_count, double *probabilities);
};

/* The number of lattice units in a probability of 1. */
#define VOICE_UNIT (UINT32_C(1) << 30)

/* The floor that holds for the weights below: MIN_PROBABILITY rounded down to the lattice. */
double expert_voices_floor(double min_probability);

/* Rounds PROBABILITIES[actions] to whole WEIGHTS that add up to UNIT, a power of two up to
 * VOICE_UNIT. Each weight is at least the floor in units. If PROBABILITIES are not finite or no
 * distribution, the weights are as equal as they can be. */
void expert_voices_weights(const double *probabilities, uint32_t actions, double min_probability,
                           uint32_t unit, uint32_t *weights);

#endif
