/* REINFORCE (Williams 1992) with returns normalised within the episode, and its private form.
 *
 * Loss of an episode: - sum_t w_t log p(a_t | s_t), where w_t is the discounted return to go, less
 * the mean over the episode and over its deviation (0 where that is 0: one step, or all alike). An
 * update plays a fixed number of new episodes, adds up their gradients, divides by that number and
 * moves by Adam.
 *
 * MECHANISM_DPSGD: each episode's gradient over all tensors together is cut to the clip norm C and
 * N(0, (zC)^2) is added to every coordinate of their sum. Unit: an episode; neighbours: it is
 * removed, which means that its gradient counts as zero: the number of episodes is fixed and
 * public. An episode goes into one update and is forgotten, and all that follows, later episodes
 * included, reads the noised sum alone: so the guarantee of the whole run, all iterates shown, is
 * that of one Gaussian of sensitivity C (parallel composition), and does not grow with the updates.
 * An episode replaced by any other moves the sum by up to 2C; that figure is stated, too. In exact
 * arithmetic a clipped gradient is rounded to whole steps of C / 65536
 * (per_example_lattice_add_one), and the noise is whole, too (dp_sgd_plan_finish_lattice). */
#ifndef TACET_ALGOS_ONLINE_REINFORCE_H
#define TACET_ALGOS_ONLINE_REINFORCE_H

#include "algos/algorithm.h"
#include "algos/nn/batch.h"
#include "algos/online/observation_privacy.h"

/* An episode, and room for one. */
struct reinforce_episode {
    uint32_t max_steps, steps;
    double score;  /* undiscounted return */
    float *states; /* max_steps x input, as the learner sees them; owned, as are the rest */
    uint16_t *actions;
    double *rewards;
    double *weights; /* w_t */
};

/* Room for episodes of at most MAX_STEPS states of INPUT numbers. Free with
 * reinforce_episode_clear. */
void reinforce_episode_init(struct reinforce_episode *episode, uint32_t input, uint32_t max_steps);

/* Frees the room; takes an episode that is all zero. */
void reinforce_episode_clear(struct reinforce_episode *episode);

enum reinforce_play {
    REINFORCE_PLAYED,
    REINFORCE_WORLD_BROKE,
    REINFORCE_NOT_FINITE, /* the network's outputs */
};

/* How episodes are seen; NULL bounds: as they are. */
struct reinforce_view {
    const struct observation_bounds *bounds;
    const struct dp_sgd_plan *plan;
    struct noise_source *noise;
    bool goes_on; /* where the network's outputs are not finite, the action is a uniform one */
};

/* Plays one episode in ENV (an opened STATE with that PHYSICS) by actions drawn from the softmax of
 * the network; SCRATCH[mlp_scratch_count]. */
enum reinforce_play reinforce_play(struct reinforce_episode *episode, const struct mlp_shape *shape,
                                   const float *parameters, const struct env *env, void *state,
                                   const double *physics, const struct reinforce_view *view,
                                   struct rng *rng, float *scratch);

/* Fills the weights of a played episode. */
void reinforce_weigh(struct reinforce_episode *episode, double discount);

/* GRADIENT[mlp_parameter_count] of the loss of a weighed episode; BATCH is a workspace of that
 * shape. What is not finite makes all of it zero. */
void reinforce_gradient(const struct reinforce_episode *episode, struct batch *batch,
                        const float *parameters, float *gradient);

/* SUM += GRADIENT cut to CLIP_NORM (0: as it is): one norm over all tensors. */
void reinforce_add_clipped(const float *gradient, size_t count, double clip_norm, float *sum);

extern const struct algorithm reinforce_algorithm;

#endif
