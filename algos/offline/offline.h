/* What offline algorithms have in common before and after the trainer: the parameters that all
 * have, the plan, and the way from a request to the trainer's settings and from weights to a
 * policy.
 *
 * An algorithm is a file with a table of parameters that begins with OFFLINE_PARAMETERS (and, if it
 * bootstraps, OFFLINE_VALUE_PARAMETERS), a struct offline_kind, the gradient of one example's loss,
 * and a plan and a train function of one call each. See behaviour_cloning.c for the shortest. */
#ifndef TACET_ALGOS_OFFLINE_OFFLINE_H
#define TACET_ALGOS_OFFLINE_OFFLINE_H

#include "algos/offline/dp_trainer.h"

/* Positions of the shared parameters in an algorithm's table. */
enum offline_parameter {
    OFFLINE_HIDDEN,
    OFFLINE_ACTIVATION,
    OFFLINE_LEARNING_RATE,
    OFFLINE_RATE_SCHEDULE,
    OFFLINE_FINAL_RATE,
    OFFLINE_WARMUP,
    OFFLINE_OPTIMIZER,
    OFFLINE_MOMENTUM,
    OFFLINE_BETA2,
    OFFLINE_ADAM_EPSILON,
    OFFLINE_BATCH_SIZE,
    OFFLINE_CLIP_NORM,
    OFFLINE_STEPS,
    OFFLINE_NOISE_MULTIPLIER,
    OFFLINE_AVERAGE_DECAY,
    OFFLINE_FULL_WEIGHT,
    OFFLINE_WEIGHT_POWER,
    OFFLINE_INPUT_SCALE,
    OFFLINE_INPUT_CENTER,
    OFFLINE_ARITHMETIC,
    OFFLINE_RETURN_LOW,
    OFFLINE_RETURN_HIGH,
    OFFLINE_RETURN_POWER,
    OFFLINE_PER_EXPERT,
    OFFLINE_COMMON_COUNT,
    /* Positions of the parameters that only algorithms with values have. */
    OFFLINE_REWARD_SCALE = OFFLINE_COMMON_COUNT,
    OFFLINE_TARGET_INTERVAL,
    OFFLINE_POLYAK_TAU,
    OFFLINE_HUBER,
    OFFLINE_VALUE_COUNT
};

extern const char *const offline_activations[];
extern const char *const offline_optimizers[];
extern const char *const offline_rate_schedules[];
extern const char *const offline_arithmetics[]; /* float, exact */

/* Rows of a table of parameters.
 *
 * Defaults: found with cql on three populations of 300 CartPole experts and on two synthetic ones,
 * epsilon 10, delta 1e-5, 24 runs a setting. What mattered: one small hidden layer (noise grows
 * with the number of weights); inputs of order 1 to 10, because states of order 0.1 hardly move the
 * first layer; weighing experts (mean return 74 unweighted, 97 to 123 at power 1, 141 at 2, 165 at
 * 3); values of order 5. Learning rate, clip norm, batch size and steps may change by factors of 2
 * to 4 with little effect: the noise that the budget leaves after averaging does not depend on
 * them. */
/* clang-format off */
#define OFFLINE_PARAMETERS                                                                         \
    [OFFLINE_HIDDEN] = {"hidden", PARAMETER_INTEGER_LIST, {{128}, 1}, 1, 1024, NULL, "units",      \
        "Widths of the hidden layers, [] for a linear model; noise grows with the network, so "    \
        "smaller is better under privacy."},                                                                               \
    [OFFLINE_ACTIVATION] = {"activation", PARAMETER_CHOICE, PARAMETER_ONE(MLP_RELU), 0, 1,           \
        offline_activations, "", "What follows every hidden layer."},                              \
    [OFFLINE_LEARNING_RATE] = {"learning_rate", PARAMETER_REAL, PARAMETER_ONE(0.003), 1e-7, 10,      \
        NULL, "", "Step size of the optimiser at the start."},                                     \
    [OFFLINE_RATE_SCHEDULE] = {"rate_schedule", PARAMETER_CHOICE, PARAMETER_ONE(RATE_LINEAR), 0, 2,  \
        offline_rate_schedules, "", "How the step size falls to final_rate_fraction of itself."},  \
    [OFFLINE_FINAL_RATE] = {"final_rate_fraction", PARAMETER_REAL, PARAMETER_ONE(0.1), 0, 1, NULL,   \
        "", "What is left of the step size at the end, unless rate_schedule is constant."},        \
    [OFFLINE_WARMUP] = {"warmup_steps", PARAMETER_INTEGER, PARAMETER_ONE(0), 0, 10000000, NULL,      \
        "steps", "The step size grows to its size in so many steps."},                             \
    [OFFLINE_OPTIMIZER] = {"optimizer", PARAMETER_CHOICE, PARAMETER_ONE(OPTIMIZER_ADAM), 0, 1,       \
        offline_optimizers, "", "How gradients move the weights."},                                \
    [OFFLINE_MOMENTUM] = {"momentum", PARAMETER_REAL, PARAMETER_ONE(0.9), 0, 0.9999, NULL, "",       \
        "Momentum of sgd (0: none), or the first beta of adam."},                                  \
    [OFFLINE_BETA2] = {"beta2", PARAMETER_REAL, PARAMETER_ONE(0.999), 0, 0.999999, NULL, "",         \
        "The second beta of adam."},                                                               \
    [OFFLINE_ADAM_EPSILON] = {"adam_epsilon", PARAMETER_REAL, PARAMETER_ONE(1e-8), 1e-12, 1, NULL,   \
        "", "Added to the root of adam's second moment."},                                         \
    [OFFLINE_BATCH_SIZE] = {"batch_size", PARAMETER_INTEGER, PARAMETER_ONE(0), 0, 65536, NULL,       \
        "experts", "Expected examples in a step; in a noisy one each is of another expert. 0: "    \
        "128, or the nominal number of experts where that is smaller."},                           \
    [OFFLINE_CLIP_NORM] = {"clip_norm", PARAMETER_REAL, PARAMETER_ONE(3), 1e-6, 1e6, NULL, "",       \
        "Bound of one example's gradient norm in a noisy step."},                                  \
    [OFFLINE_STEPS] = {"steps", PARAMETER_INTEGER, PARAMETER_ONE(10000), 1, 10000000, NULL, "steps", \
        "Optimiser steps; the most of them when noise_multiplier is given."},                      \
    [OFFLINE_NOISE_MULTIPLIER] = {"noise_multiplier", PARAMETER_REAL, PARAMETER_ONE(0), 0, 1e6,      \
        NULL, "", "Noise deviation over clip_norm; 0: the least that the requested epsilon "       \
        "allows for all steps."},                                                                  \
    [OFFLINE_AVERAGE_DECAY] = {"average_decay", PARAMETER_REAL, PARAMETER_ONE(0.999), 0, 0.999999,   \
        NULL, "", "Decay of the average of weights that is the result; 0: the last weights."},     \
    [OFFLINE_FULL_WEIGHT] = {"full_weight_transitions", PARAMETER_INTEGER, PARAMETER_ONE(4000), 1,   \
        1e9, NULL, "transitions", "Public; an expert with fewer transitions weighs less."},        \
    [OFFLINE_WEIGHT_POWER] = {"weight_power", PARAMETER_REAL, PARAMETER_ONE(0), 0, 10, NULL, "",     \
        "Power of that weight: 0 weighs experts alike, 1 weighs transitions alike, more trusts "   \
        "experts with long episodes."},                                                            \
    [OFFLINE_INPUT_SCALE] = {"input_scale", PARAMETER_REAL_EACH, PARAMETER_ONE(10), 1e-6, 1e6,       \
        NULL, "", "Factor of the numbers of a state, public: one for all of them, or one for "     \
        "each; of order 1 they suit the network."},           \
    [OFFLINE_INPUT_CENTER] = {"input_center", PARAMETER_REAL_LIST, {{0}, 1}, -1e9, 1e9, NULL, "",     \
        "Taken from the numbers of a state before input_scale, public: one for all of them, or one "   \
        "for each."},                                                                              \
    [OFFLINE_ARITHMETIC] = {"arithmetic", PARAMETER_CHOICE, PARAMETER_ONE(1), 0, 1,                  \
        offline_arithmetics, "", "Of noisy steps: exact sums whole numbers, and the proof covers " \
        "every bit; float is faster by a quarter, and no theorem covers its last bits."},           \
    [OFFLINE_RETURN_LOW] = {"return_low", PARAMETER_REAL, PARAMETER_ONE(0), -1e12, 1e12, NULL, "",   \
        "Public; an expert whose trajectories return this on average, without discount, or less, " \
        "weighs nothing; for return_power."},                                                      \
    [OFFLINE_RETURN_HIGH] = {"return_high", PARAMETER_REAL, PARAMETER_ONE(1), -1e12, 1e12, NULL, "", \
        "Public; an expert of this mean return or more has full weight; above return_low."},       \
    [OFFLINE_RETURN_POWER] = {"return_power", PARAMETER_REAL, PARAMETER_ONE(0), 0, 10, NULL, "",     \
        "Power of that weight, of the mean return's place between both; 0: returns weigh "         \
        "nothing."},                                                                               \
    [OFFLINE_PER_EXPERT] = {"transitions_per_expert", PARAMETER_INTEGER, PARAMETER_ONE(1), 1,        \
        TRAINER_GROUP_MOST, NULL, "transitions", "Drawn of each expert in a noisy step, with "     \
        "replacement; the mean of their gradients is clipped once, so more of them make a "         \
        "quieter signal for the same noise, at as many times the work."}

/* Further rows, for algorithms that learn values. */
#define OFFLINE_VALUE_PARAMETERS                                                                   \
    [OFFLINE_REWARD_SCALE] = {"reward_scale", PARAMETER_REAL, PARAMETER_ONE(0.05), 1e-12, 1e6, NULL,  \
        "", "Factor of every reward, public; values of order 1 suit the loss."},                   \
    [OFFLINE_TARGET_INTERVAL] = {"target_update_interval", PARAMETER_INTEGER, PARAMETER_ONE(100), 1, \
        10000000, NULL, "steps",                                                                   \
        "Steps between copies to the target network when polyak_tau is 0."},                       \
    [OFFLINE_POLYAK_TAU] = {"polyak_tau", PARAMETER_REAL, PARAMETER_ONE(0), 0, 1, NULL, "",          \
        "Part of the way that the target network follows in every step."},                         \
    [OFFLINE_HUBER] = {"huber_threshold", PARAMETER_REAL, PARAMETER_ONE(1), 1e-3, 1e6, NULL, "",     \
        "Errors of a value are squared up to here and linear beyond."}
/* clang-format on */

/* Defaults of worlds that are known, among an algorithm's overrides. Where long episodes are good
 * ones, experts who make them are trusted (cartpole). In acrobot and hiv all are as long or short
 * ones are good, and experts are trusted by their returns. States of hiv are decimal logarithms:
 * what tells them apart is small beside what they have in common, so the middle of the range of
 * each is taken away, and half the range is the unit. Mean returns of three runs before and with
 * the weights and scales, 300 experts, epsilon 10: acrobot, cql -113 and -99, behaviour_cloning -87
 * and -84; hiv, behaviour_cloning 4.7e6 and 9.2e7 (without noise 1.5e8 and 7.4e8). The worlds of
 * examples show natural units: the middle of where play stays, and two over half its width. */
/* clang-format off */
#define OFFLINE_OVERRIDES                                                                          \
    {"cartpole", OFFLINE_WEIGHT_POWER, PARAMETER_ONE(3)},                                          \
    {"acrobot", OFFLINE_RETURN_LOW, PARAMETER_ONE(-200)},                                          \
    {"acrobot", OFFLINE_RETURN_HIGH, PARAMETER_ONE(-75)},                                          \
    {"acrobot", OFFLINE_RETURN_POWER, PARAMETER_ONE(2)},                                           \
    {"hiv", OFFLINE_INPUT_CENTER, {{5.6, 1.75, 2.98, 1.22, 3.7, 3.46}, 6}},                        \
    {"hiv", OFFLINE_INPUT_SCALE, {{2.6, 0.96, 0.91, 2.3, 0.91, 0.48}, 6}},                         \
    {"hiv", OFFLINE_RETURN_HIGH, PARAMETER_ONE(1e9)},                                              \
    {"hiv", OFFLINE_RETURN_POWER, PARAMETER_ONE(3)},                                               \
    {"ward", OFFLINE_INPUT_CENTER, {{100, 75, 0.4, 93, 0.5, 0.5}, 6}},                             \
    {"ward", OFFLINE_INPUT_SCALE, {{0.04, 0.08, 4, 0.4, 2, 2}, 6}},                                \
    {"fund", OFFLINE_INPUT_CENTER, {{0, 0.3, 5, 0.5, 0.5, 0.5}, 6}},                               \
    {"fund", OFFLINE_INPUT_SCALE, {{1, 5, 0.2, 2, 2, 2}, 6}},                                      \
    {"factory", OFFLINE_INPUT_CENTER, {{60, 40, 8}, 3}},                                           \
    {"factory", OFFLINE_INPUT_SCALE, {{0.06, 0.05, 0.25}, 3}}
/* clang-format on */

/* And of those that learn values. States of lunar_lander are of order 1 already. The usual network
 * at the usual rate, of inputs ten times that, fits too coarsely to tell actions of a fiftieth of a
 * second apart (cql -64, bcq -664 with their own overrides, 228 and 182 with these; 10000 steps:
 * cql 169). */
/* clang-format off */
#define OFFLINE_VALUE_OVERRIDES                                                                    \
    {"lunar_lander", OFFLINE_HIDDEN, {{64, 64}, 2}},                                               \
    {"lunar_lander", OFFLINE_LEARNING_RATE, PARAMETER_ONE(0.001)},                                 \
    {"lunar_lander", OFFLINE_STEPS, PARAMETER_ONE(40000)},                                         \
    {"lunar_lander", OFFLINE_INPUT_SCALE, PARAMETER_ONE(1)}
/* clang-format on */

/* Shared parameters that came later; an algorithm's table of later parameters includes them. */
/* clang-format off */
#define OFFLINE_LATER                                                                              \
    {OFFLINE_INPUT_CENTER, PARAMETER_ONE(0)},                                                      \
    {OFFLINE_ARITHMETIC, PARAMETER_ONE(0)}, /* float */                                            \
    {OFFLINE_RETURN_LOW, PARAMETER_ONE(0)},                                                        \
    {OFFLINE_RETURN_HIGH, PARAMETER_ONE(1)},                                                       \
    {OFFLINE_RETURN_POWER, PARAMETER_ONE(0)},                                                      \
    {OFFLINE_PER_EXPERT, PARAMETER_ONE(1)}
/* clang-format on */

/* The mechanisms of all offline algorithms: noisy steps, and plain steps on the first stage's
 * release. */
#define OFFLINE_MECHANISMS                                                                         \
    {                                                                                              \
        [MECHANISM_NONE] = true, [MECHANISM_DPSGD] = true, [MECHANISM_SELECTIVE] = true,           \
        [MECHANISM_CONSENSUS] = true                                                               \
    }

/* What distinguishes an algorithm apart from its loss. */
struct offline_kind {
    const struct parameter_spec *parameters;
    unsigned parameter_count;
    uint32_t outputs_per_action; /* 1, or 2 for a second head */
    bool learns_values;          /* bootstraps from the first action_count outputs; the table has
                                  * OFFLINE_VALUE_PARAMETERS */
    bool asks_online_next;       /* evaluates the online network at s' too (double DQN) */
    enum policy_output output;
    float threshold;                 /* of POLICY_BCQ */
    const struct trainer_feed *feed; /* of the run's data; NULL: they stay as they are */
};

/* Implements struct algorithm.plan for KIND. */
enum algorithm_status offline_plan(const struct offline_kind *kind,
                                   const struct algorithm_request *request,
                                   struct algorithm_plan *out, const char **message);

/* Translates the result of a search for a private plan. INFEASIBLE is the message for a budget that
 * is too small. */
enum algorithm_status offline_plan_status(enum dp_sgd_plan_status status, const char *infeasible,
                                          const char **message);

/* The price of the one release of a judge by held-out experts, whose noise is NOISE_MULTIPLIER
 * times its sensitivity. */
struct composition_part offline_judge_price(double noise_multiplier);

/* Implements struct algorithm.train for KIND, with the loss of struct trainer_rule. */
enum algorithm_status offline_train(const struct offline_kind *kind,
                                    const struct algorithm_run *run,
                                    void (*errors)(const void *, const struct trainer_rows *),
                                    const void *context, struct policy **out_policy,
                                    const char **message);

/* Huber's loss (1964) of an error DIFFERENCE: half its square up to THRESHOLD, linear beyond. */
float offline_huber(float difference, float threshold);

/* The derivative of offline_huber: DIFFERENCE, clipped to +-THRESHOLD. */
float offline_huber_slope(float difference, float threshold);

/* Writes GRADIENT[count] = scale softmax(LOGITS) and returns logsumexp(LOGITS). The result is NaN
 * where a logit is NaN. */
float offline_softmax(const float *logits, uint32_t count, float scale, float *gradient);

/* The bootstrapped target of example I of ROWS, where BEST is the action to play at its next state.
 * It is the reward plus, unless the episode ended there, DISCOUNT times the target network's value
 * of BEST. The target network has ACTIONS outputs. */
float offline_target(const struct trainer_rows *rows, uint32_t i, uint32_t best, uint32_t actions,
                     float discount);

#endif
