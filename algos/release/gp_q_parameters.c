/* The settings of gp_q_learning. */
#include "algos/offline/bcq.h"
#include "algos/offline/cql.h"
#include "algos/offline/offline.h"
#include "algos/privacy/functions/gaussian_path_axis.h"
#include "algos/release/gp_q_learning.h"
#include "algos/release/knots.h"
#include "algos/release/relu_features.h"

/* In the same order; stored plans keep the names. */
static const char *const bases[] = {"cql", "bcq", NULL};
const struct algorithm *const gp_q_bases[] = {&cql_algorithm, &bcq_algorithm, NULL};

static const char *const forms[] = {"automatic", "path", "features", "grid", NULL};
static const char *const released[] = {"values", "advantages", NULL};
static const char *const outside[] = {"refuse", "clamp", NULL};

/* clang-format off */
const struct parameter_spec gp_q_parameters[GP_Q_COUNT] = {
    [GP_Q_HIDDEN] = {"hidden", PARAMETER_INTEGER_LIST, {{32}, 1}, 1, 1024, NULL, "units",
        "Widths of the hidden layers of a shard's network; [] for a linear one."},
    [GP_Q_ACTIVATION] = {"activation", PARAMETER_CHOICE, PARAMETER_ONE(MLP_RELU), 0, 1,
        offline_activations, "", "What follows every hidden layer."},
    [GP_Q_LEARNING_RATE] = {"learning_rate", PARAMETER_REAL, PARAMETER_ONE(0.003), 1e-7, 10, NULL, "",
        "Step size of the optimiser at the start."},
    [GP_Q_BATCH_SIZE] = {"batch_size", PARAMETER_INTEGER, PARAMETER_ONE(64), 1, 65536, NULL,
        "transitions", "Transitions in a step."},
    [GP_Q_STEPS] = {"steps", PARAMETER_INTEGER, PARAMETER_ONE(300), 1, 10000000, NULL, "steps",
        "Optimiser steps on each shard; they cost no privacy."},
    [GP_Q_AVERAGE_DECAY] = {"average_decay", PARAMETER_REAL, PARAMETER_ONE(0.99), 0, 0.999999, NULL,
        "", "Decay of the average of weights that is a shard's result; 0: the last weights."},
    [GP_Q_INPUT_SCALE] = {"input_scale", PARAMETER_REAL, PARAMETER_ONE(1), 1e-6, 1e6, NULL, "",
        "Factor of every number of a state, public; of order 1 they suit the network."},
    [GP_Q_REWARD_SCALE] = {"reward_scale", PARAMETER_REAL, PARAMETER_ONE(0.05), 1e-12, 1e6, NULL, "",
        "Factor of every reward, public (cql): released values are in these units."},
    [GP_Q_TARGET_INTERVAL] = {"target_update_interval", PARAMETER_INTEGER, PARAMETER_ONE(100), 1,
        10000000, NULL, "steps", "Steps between copies to the target network (cql)."},
    [GP_Q_HUBER] = {"huber_threshold", PARAMETER_REAL, PARAMETER_ONE(1), 1e-3, 1e6, NULL, "",
        "Errors of a value are squared up to here and linear beyond (cql)."},
    [GP_Q_ALPHA] = {"alpha", PARAMETER_REAL, PARAMETER_ONE(1), 0, 1000, NULL, "",
        "Weight of the conservative term (cql); 0 is deep Q-learning."},
    [GP_Q_BASE] = {"base", PARAMETER_Q_LEARNER, PARAMETER_ONE(0), 0, 0, bases, "",
        "What learns on each shard: any algorithm that learns a Q-function from a dataset. Settings that are not listed here have that algorithm's own defaults. For bcq, actions that are not allowed get values below those of allowed ones."},
    [GP_Q_FORM] = {"form", PARAMETER_CHOICE, PARAMETER_ONE(0), 0, 3, forms, "",
        "path: a Gaussian process over one coordinate; features: coefficients of public random "
        "features, an ordinary network; grid: values at public nodes. automatic: path for states "
        "of one number, else features."},
    [GP_Q_RELEASED] = {"released", PARAMETER_CHOICE, PARAMETER_ONE(1), 0, 1, released, "",
        "Unit expert: action values; or advantages, action values less their mean over the actions "
        "at each state, which choose the same actions and are smaller, so that a smaller class and "
        "less noise do."},
    [GP_Q_LOW] = {"low", PARAMETER_REAL_LIST, {{0}, 1}, -1e9, 1e9, NULL, "",
        "Declared lower bounds of the states: one for each coordinate, or one for all. Public."},
    [GP_Q_HIGH] = {"high", PARAMETER_REAL_LIST, {{1}, 1}, -1e9, 1e9, NULL, "",
        "Declared upper bounds likewise."},
    [GP_Q_OUTSIDE] = {"outside", PARAMETER_CHOICE, PARAMETER_ONE(0), 0, 1, outside, "",
        "What happens to a question outside of the bounds: it is refused, or it is moved to the bounds."},
    [GP_Q_SHARDS] = {"shards", PARAMETER_INTEGER, PARAMETER_ONE(0), 0, 100000, NULL, "shards",
        "Number of shards into which the experts are split. The noise falls as 1 / shards, and so does "
        "the number of experts in a shard. 0: 300, or a fifth of the nominal number of experts if that "
        "is smaller."},
    [GP_Q_VALUE_LIMIT] = {"value_limit", PARAMETER_REAL, PARAMETER_ONE(5), 1e-6, 1e6, NULL, "",
        "Every shard's values are forced into [-value_limit, value_limit] (path and grid)."},
    [GP_Q_LIPSCHITZ] = {"lipschitz", PARAMETER_REAL, PARAMETER_ONE(20), 1e-6, 1e9, NULL, "",
        "And to slopes of at most this over the declared range as a whole (path)."},
    [GP_Q_BITS] = {"bits", PARAMETER_INTEGER, PARAMETER_ONE(20), 1, GAUSSIAN_PATH_MAX_BITS, NULL,
        "bits", "A state is rounded to one of 2^bits steps (path)."},
    [GP_Q_KNOT_BITS] = {"knot_bits", PARAMETER_INTEGER, PARAMETER_ONE(9), 0, KNOTS_MAX_BITS, NULL,
        "bits", "A shard's function is linear on each of 2^knot_bits pieces (path)."},
    [GP_Q_RADIUS] = {"radius", PARAMETER_REAL, PARAMETER_ONE(0.1), 1e-6, 1e6, NULL, "",
        "Every shard's coefficients are forced into a ball of this radius (features)."},
    [GP_Q_FEATURES] = {"features", PARAMETER_INTEGER, PARAMETER_ONE(32), 2, RELU_FEATURES_MAX, NULL,
        "features", "How many public features; more than state_dim (features)."},
    [GP_Q_NODES] = {"nodes", PARAMETER_INTEGER, PARAMETER_ONE(9), 2, 4096, NULL, "nodes",
        "Nodes along each coordinate (grid)."},
    [GP_Q_UPDATES] = {"updates", PARAMETER_INTEGER, PARAMETER_ONE(40), 1, 100000, NULL, "updates",
        "Unit reward: updates of the function, each with noise of its own and of batch_size "
        "transitions."},
    [GP_Q_RATE] = {"update_rate", PARAMETER_REAL, PARAMETER_ONE(0.5), 1e-6, 100, NULL, "",
        "Unit reward: step size of an update in the kernel's space."},
    [GP_Q_ERROR_LIMIT] = {"error_limit", PARAMETER_REAL, PARAMETER_ONE(1000), 1e-3, 1e6, NULL, "",
        "Unit reward: errors of a value are clipped to this; below 1/2 that lowers the noise."},
    [GP_Q_BETA] = {"kernel_beta", PARAMETER_REAL, PARAMETER_ONE(5), 1e-3, 1e6, NULL, "",
        "Unit reward, one coordinate: the kernel is exp(-kernel_beta |x - y|) over the declared "
        "range as a whole."},
    [GP_Q_EXPLORATION] = {"exploration", PARAMETER_REAL, PARAMETER_ONE(0.2), 0, 1, NULL, "",
        "Unit reward, in a world: share of steps with a uniformly random action."},
    [GP_Q_DISCOUNT] = {"discount", PARAMETER_REAL, PARAMETER_ONE(0.99), 0, 1, NULL, "",
        "Unit reward, in a world: worth of a reward one step later; datasets have their own."},
};
/* clang-format on */
