/* The release of stable prefixes (Sharma et al. 2025, arXiv 2411.13598, Algorithms 1 and 2, with
 * the repairs that docs/proofs/stable_prefixes.md proves): beginnings of trajectories that so
 * many experts would have taken that showing them protects each.
 *
 * COUNT times: draw an expert uniformly, with replacement; take a fresh trajectory of its policy;
 * release its longest prefix before the first noisy count below the noisy threshold. Unit: one
 * expert, added or removed. What is released is a function of the policies, of public randomness
 * (the world's) and of the mechanism's own. */
#ifndef TACET_ALGOS_OFFLINE_STABLE_PREFIX_H
#define TACET_ALGOS_OFFLINE_STABLE_PREFIX_H

#include "algos/algorithm.h"
#include "algos/offline/expert_voices.h"
#include "algos/offline/stage_plan.h"

/* True when this release may use an expert's trajectory NUMBER (in the order of the dataset) with
 * STABLE_LOGGED. The release uses the even numbers, one in each run; the training after it uses the
 * odd ones. A trajectory in both, or in two runs, would break their composition. */
bool stable_prefix_uses(uint64_t number);

/* Copies DATA without the trajectories that STABLE_LOGGED may release. NULL: no memory. */
struct dataset *stable_prefix_rest(const struct dataset *data);

struct stable_prefix_run {
    const struct sparse_vector_plan *plan; /* its request's min_probability is on the lattice of
                                              voices, as stage_plan_make sees to */
    const struct expert_voices *voices;
    enum stable_source source;
    const struct env *env;          /* STABLE_ROLLOUTS: played with its default parameters */
    const struct dataset *logged;   /* STABLE_LOGGED: all data; expert slots as in VOICES */
    struct noise_source *noise;     /* draws experts, actions and noise */
    bool (*goes_on)(void *context); /* asked a few times a second; NULL, or false: stop */
    void *context;
};

/* ALGORITHM_OK: *OUT_RELEASED has the prefixes, each a trajectory of an expert slot of its own
 * (there are COUNT, those of empty prefixes have nothing); the caller frees it. Else
 * ALGORITHM_CANCELLED (GOES_ON said so), ALGORITHM_BAD_INPUT (the world has no start, or is of
 * other sizes than the voices; *message) or ALGORITHM_NO_MEMORY, and nothing was released. A step
 * that the world cannot take is no error, which would tell of the actions that led there: it ends
 * the walk. */
enum algorithm_status stable_prefix_release(const struct stable_prefix_run *run,
                                            struct dataset **out_released, const char **message);

#endif
