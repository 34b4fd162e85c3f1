/* Experts of Acrobot (Sharma et al., appendix B.1). The second link has a length in its drawing
 * alone, so the first link's is the one that varies. */
#include "algos/online/population.h"

const struct expert_population acrobot_population = {
    .world = "acrobot",
    .variation_count = 3,
    .variations = {{"link_length_1", 0.8, 1.2, 10},
                   {"link_mass_1", 0.9, 1.1, 10},
                   {"link_mass_2", 0.9, 1.1, 10}},
    .aspiration = {{-195, -150}, {-150, -105}, {-75, -75}},
    .updates = 160,
    .measure_every = 1,
    .episodes = 10,
    .learning_rate = 1e-3,
    .settings = {.hidden_count = 2,
                 .hidden = {64, 64},
                 .activation = MLP_RELU,
                 .worlds = 8,
                 .steps = 32,
                 .epochs = 4,
                 .minibatch = 128,
                 .step_limit = 200,
                 .discount = 0.99,
                 .lambda = 0.95,
                 .clip = 0.2,
                 .entropy_bonus = 0.01,
                 .value_weight = 0.5,
                 .max_gradient_norm = 0.5,
                 .reward_scale = 0.1,
                 .normalize_observations = false,
                 .normalize_rewards = false},
};
