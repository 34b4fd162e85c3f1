/* Experts of LunarLander, whose gravity, wind and turbulence differ (Sharma et al., appendix B.1).
 */
#include "algos/online/population.h"

const struct expert_population lunar_lander_population = {
    .world = "lunar_lander",
    .variation_count = 3,
    .variations = {{"gravity", -11.0, -9.0, 10},
                   {"wind_power", 0.0, 5.0, 10},
                   {"turbulence_power", 0.0, 0.5, 10}},
    .aspiration = {{-250, -50}, {-50, 150}, {300, 300}},
    .updates = 80,
    .episodes = 6,
    .learning_rate = 1e-3,
    .settings = {.hidden_count = 2,
                 .hidden = {64, 64},
                 .activation = MLP_TANH,
                 .worlds = 16,
                 .steps = 64,
                 .epochs = 4,
                 .minibatch = 128,
                 .step_limit = 500,
                 .discount = 0.995,
                 .lambda = 0.97,
                 .clip = 0.2,
                 .entropy_bonus = 0.0,
                 .value_weight = 0.5,
                 .max_gradient_norm = 0.5,
                 .reward_scale = 1.0,
                 .normalize_observations = true,
                 .normalize_rewards = true},
};
