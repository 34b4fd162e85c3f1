/* PPO's parameters, as the head of a table: algorithms that train by PPO have them first and may
 * add their own. Within algos/online. */
#ifndef TACET_ALGOS_ONLINE_PPO_PARAMETERS_H
#define TACET_ALGOS_ONLINE_PPO_PARAMETERS_H

#include "algos/online/ppo.h"
#include "algos/parameters.h"

enum {
    PPO_P_HIDDEN,
    PPO_P_ACTIVATION,
    PPO_P_TRANSITIONS,
    PPO_P_WORLDS,
    PPO_P_ROLLOUT,
    PPO_P_EPOCHS,
    PPO_P_MINIBATCH,
    PPO_P_LEARNING_RATE,
    PPO_P_FINAL_RATE,
    PPO_P_DISCOUNT,
    PPO_P_LAMBDA,
    PPO_P_CLIP,
    PPO_P_ENTROPY,
    PPO_P_VALUE_WEIGHT,
    PPO_P_GRADIENT_NORM,
    PPO_P_STEP_LIMIT,
    PPO_P_OBSERVATIONS,
    PPO_P_REWARDS,
    PPO_P_COUNT /* the first place of one's own */
};

/* Names of choices; NULL ends them. */
extern const char *const ppo_activation_names[];
extern const char *const ppo_answer_names[];

#define PPO_PARAMETER_WIDTHS(width)                                                                \
    {                                                                                              \
        {width, width}, 2                                                                          \
    }

/* clang-format off */
/* Rows of a struct parameter_spec[]; WIDTH of the two hidden layers unless asked otherwise. */
#define PPO_PARAMETERS(width) \
    [PPO_P_HIDDEN] = {"hidden", PARAMETER_INTEGER_LIST, PPO_PARAMETER_WIDTHS(width), 1, 1024, NULL, "units", \
                  "Widths of the hidden layers, of the policy and of the value network alike; [] for linear ones."}, \
    [PPO_P_ACTIVATION] = {"activation", PARAMETER_CHOICE, PARAMETER_ONE(MLP_TANH), 0, 1, ppo_activation_names, "", \
                      "What follows every hidden layer."}, \
    [PPO_P_TRANSITIONS] = {"transitions", PARAMETER_INTEGER, PARAMETER_ONE(300000), 1, 1e9, NULL, "steps", \
                       "Steps to play over all worlds, rounded up to whole roll-outs."}, \
    [PPO_P_WORLDS] = {"worlds", PARAMETER_INTEGER, PARAMETER_ONE(16), 1, PPO_MAX_WORLDS, NULL, "worlds", \
                  "Copies of the world played side by side."}, \
    [PPO_P_ROLLOUT] = {"rollout_steps", PARAMETER_INTEGER, PARAMETER_ONE(64), 1, PPO_MAX_STEPS, NULL, "steps", \
                   "Steps of each world between two updates."}, \
    [PPO_P_EPOCHS] = {"epochs", PARAMETER_INTEGER, PARAMETER_ONE(4), 1, 100, NULL, "passes", \
                  "Passes over the transitions of a roll-out."}, \
    [PPO_P_MINIBATCH] = {"minibatch", PARAMETER_INTEGER, PARAMETER_ONE(128), 1, 65536, NULL, "transitions", \
                     "Transitions of a gradient step; at most worlds times rollout_steps."}, \
    [PPO_P_LEARNING_RATE] = {"learning_rate", PARAMETER_REAL, PARAMETER_ONE(1e-3), 1e-7, 1, NULL, "", \
                         "Step size of Adam at the start."}, \
    [PPO_P_FINAL_RATE] = {"final_rate_fraction", PARAMETER_REAL, PARAMETER_ONE(0), 0, 1, NULL, "", \
                      "The step size falls linearly to this part of itself."}, \
    [PPO_P_DISCOUNT] = {"discount", PARAMETER_REAL, PARAMETER_ONE(0.99), 0, 1, NULL, "", \
                    "Worth of a reward one step later."}, \
    [PPO_P_LAMBDA] = {"lambda", PARAMETER_REAL, PARAMETER_ONE(0.95), 0, 1, NULL, "", \
                  "Of the generalised advantage estimate."}, \
    [PPO_P_CLIP] = {"clip", PARAMETER_REAL, PARAMETER_ONE(0.2), 1e-6, 1, NULL, "", \
                "How far a probability ratio may gain from leaving 1."}, \
    [PPO_P_ENTROPY] = {"entropy_bonus", PARAMETER_REAL, PARAMETER_ONE(0.01), 0, 10, NULL, "", \
                   "Weight of the policy's entropy."}, \
    [PPO_P_VALUE_WEIGHT] = {"value_weight", PARAMETER_REAL, PARAMETER_ONE(0.5), 0, 100, NULL, "", \
                        "Weight of the value network's squared error."}, \
    [PPO_P_GRADIENT_NORM] = {"max_gradient_norm", PARAMETER_REAL, PARAMETER_ONE(0.5), 1e-6, 1e6, NULL, "", \
                         "Longer gradients, of both networks jointly, are cut to this length."}, \
    [PPO_P_STEP_LIMIT] = {"step_limit", PARAMETER_INTEGER, PARAMETER_ONE(0), 0, 100000, NULL, "steps", \
                      "Episodes are cut off there; 0: the usual limit of the world."}, \
    [PPO_P_OBSERVATIONS] = {"normalize_observations", PARAMETER_CHOICE, PARAMETER_ONE(1), 0, 1, ppo_answer_names, "", \
                        "Whether the networks learn on observations of mean 0 and deviation 1; " \
                        "the result reads plain ones."}, \
    [PPO_P_REWARDS] = {"normalize_rewards", PARAMETER_CHOICE, PARAMETER_ONE(1), 0, 1, ppo_answer_names, "", \
                   "Whether rewards are divided by the deviation of discounted returns."}

/* Rows of a struct parameter_override[]: what suffices in a world, with some to spare:
 * docs/learning.md has the curves. A landing pays off hundreds of steps after the decisions that led
 * to it, so the lander looks further ahead. */
#define PPO_OVERRIDES \
    {"cartpole", PPO_P_TRANSITIONS, PARAMETER_ONE(100000)}, {"acrobot", PPO_P_TRANSITIONS, PARAMETER_ONE(150000)}, \
    {"hiv", PPO_P_TRANSITIONS, PARAMETER_ONE(200000)},      {"lunar_lander", PPO_P_TRANSITIONS, PARAMETER_ONE(1000000)}, \
    {"lunar_lander", PPO_P_ROLLOUT, PARAMETER_ONE(128)},    {"lunar_lander", PPO_P_DISCOUNT, PARAMETER_ONE(0.999)}, \
    {"lunar_lander", PPO_P_LAMBDA, PARAMETER_ONE(0.98)}
/* clang-format on */

#endif
