/* Consensus labels: at public states, what the experts together would do.
 *
 * At a state s the sum over experts of pi_i(.|s) - 1/|A| gets Gaussian noise; the action with the
 * largest noisy sum is the label, and is played. The states come from playing in Tacet's world: in
 * the first round these very labels, later by turns labels and a student, a small network that has
 * learned from the labels so far (Ross, Gordon and Bagnell 2011, "DAgger"), with a public share of
 * uniformly random actions between them, after which labels show how to come back (Laskey et al.
 * 2017, "DART"). So every state is a function of labels released before and of public coins, and
 * the whole is an adaptive composition of Gaussians. A student averages over labels and keeps
 * nearer to what it can do; labels far from there may say more, so that rounds do not always help.
 * Unit: one expert, added or removed. It needs no floor under probabilities, no threshold and no
 * logged trajectory. Proof and price: docs/proofs/consensus.md.
 *
 * Sensitivity. One expert adds one vector pi - 1/|A|: at most (|A|-1)/|A| on one action and -1/|A|
 * on all others, so 2-norm at most sqrt(1 - 1/|A|), which is less than the 1 of the uncentred sum
 * and half of the sqrt(2) of replacing an expert when |A| = 2. */
#ifndef TACET_ALGOS_OFFLINE_CONSENSUS_H
#define TACET_ALGOS_OFFLINE_CONSENSUS_H

#include "algos/algorithm.h"
#include "algos/offline/consensus_plan.h"
#include "algos/offline/expert_voices.h"

#define CONSENSUS_LANES 16 /* episodes that are played side by side */

struct consensus_run {
    const struct consensus_plan *plan;
    const struct expert_voices *voices;
    const struct env *env; /* with its default parameters */
    uint32_t max_length;   /* steps of an episode */
    double explore;        /* share of steps that have a uniformly random action and no label */
    uint32_t rounds;       /* at least 1; between two of them the student learns */
    uint64_t seed;         /* public: the student's first weights and coins */
    struct noise_source *noise;
    bool (*goes_on)(void *context); /* asked before each round of labels; NULL, or false: stop */
    void *context;
};

#define CONSENSUS_EXPERTS 64 /* asked at once */

/* Computes the noisy sums of the centred policies at STATES[count x state_dim], COUNT at most
 * CONSENSUS_LANES, into SUMS[count x actions], in units of 1/(|A| CONSENSUS_UNIT) of an expert.
 * SCRATCH has room for CONSENSUS_EXPERTS x count x actions numbers. The call spends COUNT
 * labels. */
void consensus_sums(const struct consensus_plan *plan, const struct expert_voices *voices,
                    struct noise_source *noise, const float *states, uint32_t count,
                    double *scratch, int64_t *sums);

/* The action with the largest of SUMS[actions]; the first such action if several are equal. */
uint32_t consensus_label(const int64_t *sums, uint32_t actions);

/* On ALGORITHM_OK, *OUT_RELEASED has exactly plan->labels transitions: state, released label as the
 * action, the world's reward, next state. Consecutive transitions form one trajectory, all in the
 * one expert slot. The caller frees *OUT_RELEASED. Other results: as stable_prefix_release. */
enum algorithm_status consensus_release(const struct consensus_run *run,
                                        struct dataset **out_released, const char **message);

/* Does what consensus_release does, at the states of GRID (consensus_plan.h) and without a world.
 * RUN's env, max_length, explore, rounds and seed are not read. The plan has as many labels as GRID
 * has states. Each state is a trajectory of one step with reward 0. */
enum algorithm_status consensus_grid_release(const struct consensus_run *run,
                                             const struct consensus_grid *grid,
                                             struct dataset **out_released);

#endif
