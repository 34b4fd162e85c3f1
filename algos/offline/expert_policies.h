/* The policies of all experts of a dataset: what each of them would do at a state, asked of all or
 * of a range of them at once.
 *
 * Every expert has a slot 0 .. experts - 1. A slot that was given no policy (its expert gave
 * neither a network nor a trajectory) is nobody: who counts or draws experts leaves it out, so that
 * emptying a slot and removing an expert are the same. Asked, it gives every action the same
 * probability. All policies are mixed to the floor p_min = MIN_ACTION_PROBABILITY, so that no
 * action of any expert is less probable (Sharma et al. 2025, arXiv 2411.13598, assumption 3.6):
 *   POLICY_SOFTMAX          (1 - |A| p_min) softmax(outputs) + p_min
 *   POLICY_ARGMAX, POLICY_Q the best action 1 - (|A| - 1) p_min, every other p_min
 * (a tie goes to the lower number). Where a network's output is not a finite number its expert
 * plays uniformly: one upload must not end a job, for that would tell of it.
 *
 * Nothing here is random. An answer depends on that expert's network and the state alone, to the
 * bit: not on the other experts, on the range, on how many states are asked together, nor on
 * threads. Who draws an expert's actions must draw them from exactly these probabilities: the
 * theorem compares what is sampled with what is counted. */
#ifndef TACET_ALGOS_OFFLINE_EXPERT_POLICIES_H
#define TACET_ALGOS_OFFLINE_EXPERT_POLICIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/offline/expert_voices.h"
#include "algos/policy.h"

struct expert_policies;

/* Makes EXPERTS slots without a policy. The caller ensures 1 <= experts, 1 <= state_dim and
 * action_count <= MLP_MAX_WIDTH, and 0 <= min_action_probability <= 1 / action_count. Free with
 * expert_policies_free. */
struct expert_policies *expert_policies_new(uint32_t experts, uint32_t state_dim,
                                            uint32_t action_count, double min_action_probability);

/* Frees the slots and their policies; takes NULL. */
void expert_policies_free(struct expert_policies *policies);

/* Puts POLICY, which the slot then owns, into EXPERT's slot and frees the slot's former policy.
 * False: POLICY does not map state_dim numbers to action_count, or EXPERT is no slot; the caller
 * still owns POLICY. */
bool expert_policies_take(struct expert_policies *policies, uint32_t expert, struct policy *policy);

/* True when EXPERT's slot has a policy. */
bool expert_policies_has(const struct expert_policies *policies, uint32_t expert);

/* Bytes that the networks take, so that a loader can keep a limit. */
size_t expert_policies_bytes(const struct expert_policies *policies);

/* Action probabilities of the COUNT experts FIRST, FIRST + 1, ... at each of STATE_COUNT states:
 * STATES[state_count x state_dim], PROBABILITIES[count x state_count x actions], row major: expert,
 * then state, then action. Every one is at least p_min and each row sums to 1 within 1e-12 (for
 * |A| up to 1000). A state that is not finite gives uniform rows, so that such a state too is
 * answered alike by all.
 *
 * What it costs is reading the weights: 270 KB for hidden layers (256, 256), 810 MB for 3000
 * experts. An expert's weights stay in the cache while its states are gone through, so ask for
 * several states together where they are known. Threads may ask at the same time, for instance for
 * one half of the experts each, while no one takes. */
void expert_policies_probabilities(const struct expert_policies *policies, uint32_t first,
                                   uint32_t count, const float *states, uint32_t state_count,
                                   double *probabilities);

/* Presents POLICIES as voices, for the mechanisms that count experts. A slot without a policy is no
 * voice. POLICIES must outlive the result. */
struct expert_voices expert_policies_voices(const struct expert_policies *policies);

#endif
