/* Experts of LunarLander, whose gravity, wind and turbulence differ (Sharma et al., appendix B.1).
 * Trained from scratch, each in five CPU seconds; episodes end at 500 steps, which a landing does
 * not need and hovering would fill. */
#include "algos/online/population.h"

const struct expert_population lunar_lander_population = {
    .world = "lunar_lander",
    .variation_count = 3,
    .variations = {{"gravity", -11.0, -9.0, 10},
                   {"wind_power", 0.0, 5.0, 10},
                   {"turbulence_power", 0.0, 0.5, 10}},
    .aspiration = {{-250, -50}, {-50, 150}, {300, 300}},
    .updates = 56,
    .measure_every = 2,
    .episodes = 4,
    .learning_rate = 1e-3,
    .settings = {.hidden_count = 2,
                 .hidden = {64, 64},
                 .activation = MLP_RELU,
                 .worlds = 16,
                 .steps = 128,
                 .epochs = 4,
                 .minibatch = 128,
                 .step_limit = 500,
                 .discount = 0.999,
                 .lambda = 0.98,
                 .clip = 0.2,
                 .entropy_bonus = 0.01,
                 .value_weight = 0.5,
                 .max_gradient_norm = 0.5,
                 .reward_scale = 1.0,
                 .normalize_observations = true,
                 .normalize_rewards = true},
};
