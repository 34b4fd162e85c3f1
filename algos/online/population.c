/* The populations of the known worlds: whose physics differ in what, and how they are trained
 * (Sharma et al. 2025, appendix B.1). A new world is one struct here and one line in the table. */
#include "algos/online/population.h"

#include <string.h>

/* What all of them learn with. */
#define POPULATION_PPO                                                                             \
    .hidden_count = 2, .hidden = {64, 64}, .epochs = 4, .clip = 0.2, .entropy_bonus = 0.01,        \
    .value_weight = 0.5, .max_gradient_norm = 0.5

static const struct expert_population cartpole = {
    .world = "cartpole",
    .variation_count = 3,
    .variations = {{"gravity", 8.75, 11.0, 10},
                   {"force_mag", 9.0, 11.25, 10},
                   {"masscart", 0.8, 1.25, 10}},
    .aspiration = {{20, 90}, {90, 160}, {200, 200}},
    .updates = 80,
    .measure_every = 1,
    .episodes = 10,
    .learning_rate = 1e-3,
    .settings = {POPULATION_PPO, .activation = MLP_RELU, .worlds = 8, .steps = 32, .minibatch = 128,
                 .step_limit = 200, .discount = 0.99, .lambda = 0.95, .reward_scale = 1.0},
};

/* The second link has a length in its drawing alone, so the first link's is the one that varies. */
static const struct expert_population acrobot = {
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
    .settings = {POPULATION_PPO, .activation = MLP_RELU, .worlds = 8, .steps = 32, .minibatch = 128,
                 .step_limit = 200, .discount = 0.99, .lambda = 0.95, .reward_scale = 0.1},
};

/* Nothing but the noise of the drugs' efficacy is chance there, and the best policies earn a
 * thousand times what the others do: returns are told apart by their logarithms, and the two lower
 * aspirations spread evenly over the orders of size from the constant treatments' up. */
static const struct expert_population hiv = {
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
    .settings = {POPULATION_PPO, .activation = MLP_TANH, .worlds = 16, .steps = 50,
                 .minibatch = 100, .step_limit = 50, .discount = 0.99, .lambda = 0.95,
                 .reward_scale = 1.0, .normalize_observations = true, .normalize_rewards = true},
};

/* Trained from scratch, each in five CPU seconds. Episodes end at 500 steps, which a landing does
 * not need and hovering would fill. */
static const struct expert_population lunar_lander = {
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
    .settings = {POPULATION_PPO, .activation = MLP_RELU, .worlds = 16, .steps = 128,
                 .minibatch = 128, .step_limit = 500, .discount = 0.999, .lambda = 0.98,
                 .reward_scale = 1.0, .normalize_observations = true, .normalize_rewards = true},
};

/* What the three worlds of examples learn with: an episode is a stay, a year or two shifts. */
#define POPULATION_EXAMPLE(episode_steps)                                                          \
    {                                                                                              \
        POPULATION_PPO, .activation = MLP_TANH, .worlds = 8, .steps = 64, .minibatch = 128,        \
                        .step_limit = (episode_steps), .discount = 0.99, .lambda = 0.95,           \
                        .reward_scale = 1.0, .normalize_observations = true,                       \
                        .normalize_rewards = true                                                  \
    }

static const struct expert_population ward = {
    .world = "ward",
    .variation_count = 3,
    .variations = {{"recovery", 0.04, 0.08, 10},
                   {"fluid_effect", 4.5, 7.5, 10},
                   {"vasopressor_effect", 6.0, 10.0, 10}},
    .aspiration = {{-4, 1}, {1, 5}, {9, 9}},
    .updates = 60,
    .measure_every = 2,
    .episodes = 32,
    .learning_rate = 1e-3,
    .settings = POPULATION_EXAMPLE(48),
};

/* The returns of a year differ by 20 from chance alone, so a snapshot takes many episodes. */
static const struct expert_population fund = {
    .world = "fund",
    .variation_count = 3,
    .variations = {{"trading_cost", 0.02, 0.2, 10},
                   {"persistence", 0.92, 0.97, 10},
                   {"risk_aversion", 0.02, 0.08, 10}},
    .aspiration = {{-8, 0}, {0, 6}, {12, 12}},
    .updates = 60,
    .measure_every = 2,
    .episodes = 64,
    .learning_rate = 1e-3,
    .settings = POPULATION_EXAMPLE(52),
};

static const struct expert_population factory = {
    .world = "factory",
    .variation_count = 3,
    .variations = {{"arrivals", 1.0, 1.4, 10}, {"wear_rate", 1.5, 2.5, 10}, {"repair", 20, 30, 10}},
    .aspiration = {{10, 35}, {35, 60}, {75, 75}},
    .updates = 120,
    .measure_every = 1,
    .episodes = 16,
    .learning_rate = 3e-4,
    .settings = POPULATION_EXAMPLE(64),
};

static const struct expert_population *const populations[] = {
    &cartpole, &acrobot, &hiv, &lunar_lander, &ward, &fund, &factory};

const struct expert_population *experts_find(const struct env *env)
{
    for (size_t i = 0; i < sizeof populations / sizeof populations[0]; i++)
        if (strcmp(populations[i]->world, env->name) == 0)
            return populations[i];
    return NULL;
}
