/* A policy: a network and how its outputs become actions. */
#ifndef TACET_ALGOS_POLICY_H
#define TACET_ALGOS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/nn/mlp.h"
#include "envs/env.h"

enum policy_output {
    POLICY_SOFTMAX, /* outputs are logits; actions are drawn from their softmax */
    POLICY_ARGMAX,  /* outputs are scores; the best is played */
    POLICY_Q,       /* outputs are action values; the best is played, a teacher answers softmax(Q /
                       temperature) */
    POLICY_BCQ,     /* two heads, so twice as many outputs as actions: action values, then logits of
                       what the experts do, G = softmax(logits). The best value is played among the
                       actions with G(a) > threshold max G */
};

struct policy {
    struct mlp_shape shape;
    enum policy_output output;
    float threshold;   /* POLICY_BCQ: from 0 to 1, below 1; else 0 */
    float *parameters; /* owned */
    /* Noise in it came from a source that can be repeated (tests only): it protects nobody, and a
     * certificate says so. False in policies that were read back: certificates come before. */
    bool injected_noise;
};

/* A policy of that shape with all parameters zero, for policy_free. NULL: no such shape, or it does
 * not fit into memory. */
struct policy *policy_new(const struct mlp_shape *shape, enum policy_output output);

/* Frees it; takes NULL too. */
void policy_free(struct policy *policy);

/* Actions it chooses among. */
uint32_t policy_action_count(const struct policy *policy);

/* The action that all the network's OUTPUTS at a state choose where none is drawn; -1 when one is
 * not finite. */
int policy_choose(const struct policy *policy, const float *outputs);

/* The action that is played at STATE[input] where none is drawn, and in VALUES[actions] the first
 * outputs, one for each action (POLICY_BCQ: values of all actions, allowed or not). Deterministic
 * to the bit. -1 when an output is not finite. */
int policy_decide(const struct policy *policy, const float *state, float *values);

/* The same without the action; false when an output is not finite. */
bool policy_values(const struct policy *policy, const float *state, float *values);

/* Action probabilities at STATE: softmax(outputs / temperature), or for POLICY_ARGMAX and
 * POLICY_BCQ all on the action that is played. False when an output is not finite or TEMPERATURE
 * not positive.
 */
bool policy_probabilities(const struct policy *policy, const float *state, double temperature,
                          double *probabilities);

/* Of ACTIONS values and logits: the action of POLICY_BCQ. Ties go to the lower number; the action
 * with the largest logit is always allowed. */
uint32_t policy_best_allowed(const float *values, const float *logits, uint32_t actions,
                             float threshold);

/* The action with the largest output; ties go to the lower number. */
uint32_t policy_best_action(const float *values, uint32_t actions);

/* How a policy does in a world. */
struct policy_evaluation {
    double mean_return, std_return;
    uint32_t episodes;
    bool not_finite; /* the network gave what is no number */
    bool broken;     /* no memory, or the world broke: which says nothing of the network */
};

/* Plays EPISODES episodes of at most MAX_STEPS in ENV with the best action (POLICY_SOFTMAX: drawn),
 * from the public SEED, and gives mean and standard deviation of the undiscounted return.
 * PARAMETERS as env_defaults fills them. The deviation is that of a sample (n - 1; 0 for one
 * episode). Episode e is a function of (SEED, e), and its actions are those that policy_values or
 * policy_probabilities give it alone. False: nothing was evaluated, and *out says whether the
 * network or the world was at fault; neither: no episode, no step, or a network that does not fit
 * the world.
 */
bool policy_evaluate(const struct policy *policy, const struct env *env, const double *parameters,
                     uint32_t episodes, uint32_t max_steps, uint64_t seed,
                     struct policy_evaluation *out);

/* A self-describing little-endian byte form with a checksum. The caller frees *out_bytes. */
bool policy_to_bytes(const struct policy *policy, unsigned char **out_bytes, size_t *out_size);

/* The policy those bytes hold, or NULL when they are not one (length, checksum, shape, a number not
 * finite). */
struct policy *policy_from_bytes(const unsigned char *bytes, size_t size);

#endif
