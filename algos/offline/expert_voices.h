/* What the mechanisms that count experts ask of them: the probabilities of their actions, on a
 * lattice, so that what is drawn is exactly what is counted.
 *
 * A voice is an expert that has a policy. A slot without one (an expert who uploaded nothing) is
 * no voice: it is never drawn and adds to no count, so that emptying a slot and removing an expert
 * are the same thing. */
#ifndef TACET_ALGOS_OFFLINE_EXPERT_VOICES_H
#define TACET_ALGOS_OFFLINE_EXPERT_VOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Any source of experts. Each answer is a function of that expert's own data and of the state
 * alone. */
struct expert_voices {
    const void *context;
    uint32_t slots, state_dim, action_count;
    double min_probability; /* floor of every probability, at most 1 / action_count */
    bool (*present)(const void *context, uint32_t expert);
    /* PROBABILITIES[count x state_count x actions] of the slots FIRST, ... at STATES[state_count x
     * state_dim]: expert, then state, then action. */
    void (*probabilities)(const void *context, uint32_t first, uint32_t count, const float *states,
                          uint32_t state_count, double *probabilities);
};

/* Lattice units that are a probability of 1. */
#define VOICE_UNIT (UINT32_C(1) << 30)

/* P_MIN rounded down to the lattice: the floor that holds for the weights below. */
double expert_voices_floor(double min_probability);

/* PROBABILITIES[actions] as whole WEIGHTS that add up to UNIT, a power of two up to VOICE_UNIT,
 * each at least the floor in units: the policy that is drawn from and counted. Where a probability
 * is not finite or they are no distribution at all, all actions are as likely as they can be. */
void expert_voices_weights(const double *probabilities, uint32_t actions, double min_probability,
                           uint32_t unit, uint32_t *weights);

/* Numbers of the voices, in order; the caller frees them. *OUT_COUNT of them, perhaps 0. */
uint32_t *expert_voices_list(const struct expert_voices *voices, uint32_t *out_count);

#endif
