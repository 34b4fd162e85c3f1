/* Experts of the treatment of HIV: both drugs' costs differ, and whether their efficacy is noisy
 * (Sharma et al., appendix B.1). Nothing but the noise is chance there, and the best policies earn
 * a thousand times what the others do: returns are told apart by their logarithms, and the two
 * lower aspirations spread evenly over the orders of size from the constant treatments' up. */
#include "algos/online/population.h"

const struct expert_population hiv_population = {
    .world = "hiv",
    .variation_count = 3,
    .variations = {{"penalty_drug1_R1", 18750, 21250, 50},
                   {"penalty_drug2_R2", 1850, 2150, 20},
                   {"efficacy_noise_sd", 0, 0.01, 2}},
    .aspiration = {{8e5, 5e6}, {5e6, 5e8}, {3e9, 3e9}},
    .logarithmic = true,
    .updates = 40,
    .measure_every = 1,
    .episodes = 2,
    .learning_rate = 1e-3,
    .settings = {.hidden_count = 2,
                 .hidden = {64, 64},
                 .activation = MLP_TANH,
                 .worlds = 16,
                 .steps = 50,
                 .epochs = 4,
                 .minibatch = 100,
                 .step_limit = 50,
                 .discount = 0.99,
                 .lambda = 0.95,
                 .clip = 0.2,
                 .entropy_bonus = 0.01,
                 .value_weight = 0.5,
                 .max_gradient_norm = 0.5,
                 .reward_scale = 1.0,
                 .normalize_observations = true,
                 .normalize_rewards = true},
};
