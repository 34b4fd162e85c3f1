/* Behaviour clones: a policy for every expert of a dataset who uploaded trajectories and no
 * network.
 *
 * A clone is a softmax perceptron fitted by Adam to the expert's own actions, and to the
 * probabilities with which it is going to be played: the loss of one transition is
 *   - ln((1 - |A| p_min) softmax(outputs)_a + p_min),
 * the likelihood of the policy mixed to the floor (expert_policies.h). An expert who really plays
 * its best action but for the floor is matched exactly by a clone that is sure; plain cross-entropy
 * would mix the floor in twice, and probabilities along a trajectory are multiplied.
 *
 * PRIVACY. A clone is a function of the public settings, the public seed and that expert's own
 * transitions in their own order, to the bit: all experts have the same first weights and the same
 * public coins whatever their number is, inputs are scaled by that expert's own mean and deviation,
 * and the work of one is a fixed number of steps. So adding or removing an expert leaves every
 * other clone as it was, and no private noise is needed here. Clones are private values: what is
 * computed from them is released by a mechanism or not at all. */
#ifndef TACET_ALGOS_OFFLINE_EXPERT_CLONES_H
#define TACET_ALGOS_OFFLINE_EXPERT_CLONES_H

#include "algos/algorithm.h"
#include "algos/data/dataset.h"
#include "algos/offline/expert_policies.h"

/* Settings of a clone. They are public, and the same for all experts. */
struct clone_settings {
    uint32_t hidden_layers; /* 1 .. MLP_MAX_LAYERS - 1, of ReLU */
    uint32_t hidden_width;  /* of each; 1 .. MLP_MAX_WIDTH */
    uint32_t steps;         /* of Adam, at least 1 */
    uint32_t batch_size;    /* transitions drawn uniformly from the expert's own, with
                             * replacement; 1 .. BATCH_MAX_ROWS */
    double learning_rate;   /* at the first step; it falls linearly to 0 */
};

/* Settings that suit some thousand transitions of each expert (docs/performance.md has what they
 * cost). */
struct clone_settings clone_defaults(void);

/* Bytes that a clone takes, as expert_policies_bytes counts them. */
size_t clone_bytes(const struct clone_settings *settings, uint32_t state_dim,
                   uint32_t action_count);

/* The clone of EXPERT, which must have a transition, for a floor of MIN_ACTION_PROBABILITY; the
 * caller frees it. Where the data are so wild that weights are no numbers the
 * clone's outputs are none either, which expert_policies_probabilities answers for. */
struct policy *expert_clone(const struct clone_settings *settings, const struct dataset *data,
                            uint32_t expert, double min_action_probability, uint64_t seed);

/* Fills every slot of POLICIES that has no policy and whose expert has a transition in DATA (as
 * many experts as slots, same sizes). By HOOKS: parallel, when it is given, does experts side by
 * side, with the same result; pulse is asked after every few experts, with STEPS_DONE. Nothing is
 * saved: who has to stop makes the same clones again. ALGORITHM_OK, _PAUSED, _CANCELLED or
 * _NO_MEMORY; otherwise the slots that were filled stay so. */
enum algorithm_status expert_clones_fill(struct expert_policies *policies,
                                         const struct dataset *data,
                                         const struct clone_settings *settings, uint64_t seed,
                                         const struct algorithm_hooks *hooks, uint64_t steps_done);

/* The policies of all experts of RUN: the networks that were uploaded, and clones of the other
 * experts from RUN's data and its request's seed. On ALGORITHM_OK the caller frees *out; else as
 * above, or ALGORITHM_BAD_DATA. RUN's hooks must have experts. */
enum algorithm_status expert_clones_all(const struct algorithm_run *run,
                                        const struct clone_settings *settings, uint64_t steps_done,
                                        struct expert_policies **out);

/* Computes the loss above for one transition from the clone's OUTPUTS[actions], and writes its
 * GRADIENT[actions] with respect to OUTPUTS. */
float clone_loss(const float *outputs, uint32_t actions, uint32_t action,
                 float min_action_probability, float *gradient);

#endif
