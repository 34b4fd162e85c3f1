/* gp_q_learning, unit expert (unit reward: reward_q.h): a Q-function for each shard of experts,
 * learned without privacy, each forced into a public class; their mean plus Gaussian noise is
 * released, to be asked for ever. Unit: one expert, added, removed or with other data. The theorem
 * is in algos/privacy/functions/gaussian_process_plan.h (form path), gaussian_process_features.h
 * (features); a grid is that with values for coefficients. The training does not enter the
 * guarantee: all of it could be replaced.
 *
 * Source: Wang and Hegde 2019, whose own guarantee does not hold (docs/proofs/gaussian_process.md);
 * Hall, Rinaldo and Wasserman 2013; Nissim, Raskhodnikova and Smith 2007. */
#ifndef TACET_ALGOS_RELEASE_GP_Q_LEARNING_H
#define TACET_ALGOS_RELEASE_GP_Q_LEARNING_H

#include "algos/algorithm.h"

extern const struct algorithm gp_q_learning_algorithm;

/* Positions of the parameters in the table of gp_q_learning. Parameters that share a name with one
 * of the base algorithm come first. */
enum gp_q_parameter {
    GP_Q_HIDDEN,
    GP_Q_ACTIVATION,
    GP_Q_LEARNING_RATE,
    GP_Q_BATCH_SIZE,
    GP_Q_STEPS,
    GP_Q_AVERAGE_DECAY,
    GP_Q_INPUT_SCALE,
    GP_Q_REWARD_SCALE,
    GP_Q_TARGET_INTERVAL,
    GP_Q_HUBER,
    GP_Q_ALPHA,
    GP_Q_BASE_COUNT,
    GP_Q_BASE = GP_Q_BASE_COUNT,
    GP_Q_FORM,
    GP_Q_RELEASED,
    GP_Q_LOW,
    GP_Q_HIGH,
    GP_Q_OUTSIDE,
    GP_Q_SHARDS,
    GP_Q_VALUE_LIMIT,
    GP_Q_LIPSCHITZ,
    GP_Q_BITS,
    GP_Q_KNOT_BITS,
    GP_Q_RADIUS,
    GP_Q_FEATURES,
    GP_Q_NODES,
    GP_Q_UPDATES,
    GP_Q_RATE,
    GP_Q_ERROR_LIMIT,
    GP_Q_BETA,
    GP_Q_EXPLORATION,
    GP_Q_DISCOUNT,
    GP_Q_COUNT
};
extern const struct parameter_spec gp_q_parameters[GP_Q_COUNT]; /* defined in gp_q_parameters.c */

/* The algorithms that may learn on a shard: every algorithm that learns a Q-function from a
 * dataset, in the order of the choices of GP_Q_BASE. The last entry is NULL. */
extern const struct algorithm *const gp_q_bases[];

struct shards;

/* Fills OUT with the base algorithm, its request and the number of shards. TAKE and KEPT of OUT are
 * left NULL. */
void gp_q_shards(const struct algorithm_request *request, struct shards *out);

/* ---- between the files of the algorithm */

double gp_q_number(const struct algorithm_request *request, enum gp_q_parameter which);

/* Fills the state dimension, the number of actions, the bounds, and the treatment of states outside
 * of the bounds. Returns NULL, or a sentence about what does not fit. */
const char *gp_q_bounds(const struct algorithm_request *request, struct q_terms *out);

/* Prices terms->updates releases with noise terms->sigma each, and fills PRIVACY and mu. Sigma
 * grows in its last digits until the certified epsilon is at most the requested one. */
enum algorithm_status gp_q_price(const struct algorithm_request *request, struct q_terms *terms,
                                 struct dp_sgd_plan *privacy, const char **message);

/* Gives MADE to the caller of the run (hooks.give_release). */
void gp_q_give(const struct algorithm_run *run, struct q_release *made, bool injected_noise);

/* Implements struct algorithm.plan for unit reward (gp_q_reward.c). */
enum algorithm_status gp_q_reward_plan(const struct algorithm_request *request,
                                       struct algorithm_plan *out, const char **message);

/* Implements struct algorithm.train for unit reward. The result is a Q-release, not a policy. */
enum algorithm_status gp_q_reward_train(const struct algorithm_run *run, const char **message);

/* Implements struct algorithm.plan. */
enum algorithm_status gp_q_plan(const struct algorithm_request *request, struct algorithm_plan *out,
                                const char **message);

#endif
