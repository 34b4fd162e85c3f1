/* The population of experts: its physics, its spread, its play. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/online/experts.h"

static const struct env *world(void)
{
    return env_find("cartpole");
}

static const struct expert_population *population_of(const char *name)
{
    const struct expert_population *found = experts_find(env_find(name));
    cr_assert_not_null(found);
    return found;
}

static const struct expert_population *population(void)
{
    return population_of("cartpole");
}

/* The place of SETTING on the 10 x 10 x 10 grid; fails off the grid. */
static unsigned grid_place(uint64_t seed, uint64_t setting)
{
    double parameters[ENV_MAX_PARAMETERS], defaults[ENV_MAX_PARAMETERS];
    env_defaults(world(), defaults);
    experts_physics(population(), seed, setting, parameters);
    uint32_t count;
    const struct expert_variation *variations = experts_variations(population(), &count);
    unsigned place = 0;
    for (uint32_t v = 0; v < count; v++) {
        int index = env_parameter_index(world(), variations[v].parameter);
        double step = (variations[v].high - variations[v].low) / (variations[v].points - 1);
        double k = (parameters[index] - variations[v].low) / step;
        cr_assert_float_eq(k, round(k), 1e-9);
        cr_assert(round(k) >= 0 && round(k) < variations[v].points);
        place = place * variations[v].points + (unsigned)round(k);
    }
    int pole = env_parameter_index(world(), "masspole");
    cr_assert_eq(parameters[pole], defaults[pole]);
    return place;
}

Test(experts, settings_walk_through_the_whole_grid_in_an_order_of_the_seed)
{
    bool seen[1000] = {false};
    unsigned same = 0;
    for (uint64_t s = 0; s < 1000; s++) {
        unsigned place = grid_place(7, s);
        cr_assert_not(seen[place], "setting %u came twice", (unsigned)s);
        seen[place] = true;
        same += place == grid_place(8, s);
        if (s < 10)
            cr_assert_eq(place, grid_place(7, 1000 + s));
    }
    cr_assert_lt(same, 20); /* two random orders agree once on average */
}

Test(experts, worlds_without_a_population_have_none)
{
    struct env other = *world();
    other.name = "elsewhere";
    cr_assert_null(experts_find(&other));
}

Test(experts, every_population_varies_what_its_world_knows_within_its_bounds)
{
    unsigned worlds, populations = 0;
    const struct env *const *all = env_all(&worlds);
    for (unsigned w = 0; w < worlds; w++) {
        const struct expert_population *found = experts_find(all[w]);
        if (!found)
            continue;
        uint32_t count;
        const struct expert_variation *variations = experts_variations(found, &count);
        for (uint32_t v = 0; v < count; v++) {
            int index = env_parameter_index(all[w], variations[v].parameter);
            cr_assert_geq(index, 0, "%s: %s", all[w]->name, variations[v].parameter);
            const struct env_parameter *parameter = &all[w]->parameters[index];
            cr_assert(parameter->min <= variations[v].low);
            cr_assert(variations[v].low < variations[v].high);
            cr_assert(variations[v].high <= parameter->max);
        }
        populations++;
    }
    cr_assert_geq(populations, 3);
}

static double mean_return(const struct env *env, const struct policy *policy, uint64_t expert)
{
    struct expert_episode episode;
    struct rng rng;
    cr_assert(expert_episode_init(&episode, env, env->max_episode_steps < 200 ? 50 : 200));
    expert_rng(&rng, 1, expert);
    double sum = 0.0;
    for (int i = 0; i < 20; i++) {
        cr_assert(expert_play(&episode, policy, 0.02, &rng));
        for (uint32_t t = 0; t < episode.trajectory.length; t++)
            sum += (double)episode.trajectory.rewards[t];
    }
    expert_episode_clear(&episode);
    return sum / 20;
}

/* Mean returns in the usual world of each kind of expert, over SETTINGS settings. */
static void returns_by_kind(const char *world_name, unsigned settings,
                            double mean[EXPERTS_PER_SETTING])
{
    for (int k = 0; k < EXPERTS_PER_SETTING; k++)
        mean[k] = 0.0;
    for (uint64_t s = 0; s < settings; s++) {
        struct policy *policies[EXPERTS_PER_SETTING];
        cr_assert(experts_train(population_of(world_name), 1, s, policies));
        for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
            cr_assert_eq(policies[k]->output, POLICY_ARGMAX);
            mean[k] += mean_return(env_find(world_name), policies[k],
                                   s * EXPERTS_PER_SETTING + (uint64_t)k) /
                       settings;
            policy_free(policies[k]);
        }
    }
}

Test(experts, are_spread_from_beginners_to_masters)
{
    double mean[EXPERTS_PER_SETTING];
    returns_by_kind("cartpole", 4, mean);
    cr_assert(mean[0] > 20.0 && mean[0] < 100.0, "beginners: %g", mean[0]);
    cr_assert(mean[1] > 80.0 && mean[1] < 170.0, "middling: %g", mean[1]);
    cr_assert_gt(mean[2], 180.0, "masters: %g", mean[2]);
}

Test(experts, of_the_acrobot_are_spread_too)
{
    double mean[EXPERTS_PER_SETTING];
    returns_by_kind("acrobot", 4, mean);
    /* Here -167, -123, -86. One master in 25 remains a beginner. */
    cr_assert(mean[0] > -200.0 && mean[0] < -120.0, "beginners: %g", mean[0]);
    cr_assert(mean[1] > -165.0 && mean[1] < -90.0, "middling: %g", mean[1]);
    cr_assert_gt(mean[2], -120.0, "masters: %g", mean[2]);
}

Test(experts, of_hiv_are_spread_over_orders_of_size)
{
    double mean[EXPERTS_PER_SETTING];
    returns_by_kind("hiv", 2, mean);
    /* Here 8e7, 1.6e8, 6.9e8; both drugs always give 1.76e6. */
    cr_assert(mean[0] > 5e5 && mean[0] < 4e8, "beginners: %g", mean[0]);
    cr_assert_gt(mean[2], 4e8, "masters: %g", mean[2]);
}

Test(experts, one_setting_is_a_function_of_seed_and_setting)
{
    struct policy *a[EXPERTS_PER_SETTING], *b[EXPERTS_PER_SETTING], *c[EXPERTS_PER_SETTING];
    cr_assert(experts_train(population(), 3, 5, a));
    cr_assert(experts_train(population(), 3, 5, b));
    cr_assert(experts_train(population(), 4, 5, c));
    for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
        size_t size = mlp_parameter_count(&a[k]->shape) * sizeof(float);
        cr_assert_eq(memcmp(a[k]->parameters, b[k]->parameters, size), 0);
        cr_assert_neq(memcmp(a[k]->parameters, c[k]->parameters, size), 0);
        policy_free(a[k]);
        policy_free(b[k]);
        policy_free(c[k]);
    }
}

/* All outputs are equal, so the best action is 0. */
static struct policy *always_left(void)
{
    const struct mlp_shape shape = {
        .input = 4, .layer_count = 1, .width = {2}, .activation = MLP_RELU};
    struct policy *policy = policy_new(&shape, POLICY_ARGMAX);
    cr_assert_not_null(policy);
    return policy;
}

Test(experts, play_the_other_action_as_often_as_asked)
{
    struct policy *policy = always_left();
    struct expert_episode episode;
    struct rng rng;
    cr_assert(expert_episode_init(&episode, world(), 200));
    expert_rng(&rng, 1, 0);
    const double p = 0.1;
    double steps = 0.0, other = 0.0;
    while (steps < 20000) {
        cr_assert(expert_play(&episode, policy, p, &rng));
        for (uint32_t t = 0; t < episode.trajectory.length; t++)
            other += episode.trajectory.actions[t];
        steps += episode.trajectory.length;
    }
    cr_assert_float_eq(other / steps, p, 5 * sqrt(p * (1 - p) / steps));
    expert_episode_clear(&episode);
    policy_free(policy);
}

Test(experts, episodes_are_whole_and_say_how_they_ended)
{
    struct policy *policy = always_left();
    struct expert_episode episode, cut;
    struct rng rng;
    cr_assert(expert_episode_init(&episode, world(), 200));
    expert_rng(&rng, 1, 0);
    cr_assert(expert_play(&episode, policy, 0.0, &rng));
    const struct trajectory *whole = &episode.trajectory;
    cr_assert(whole->terminated && !whole->truncated);
    cr_assert(whole->length >= 8 && whole->length < 12);
    for (uint32_t t = 0; t < whole->length; t++) {
        cr_assert_eq(whole->actions[t], 0);
        cr_assert_eq(whole->rewards[t], 1.0F);
    }
    cr_assert_gt(fabsf(whole->states[whole->length * 4 + 2]), 0.2094F); /* the last one fell */

    /* The same episode cut one step earlier, and exactly at the fall. */
    for (uint32_t limit = whole->length - 1; limit <= whole->length; limit++) {
        cr_assert(expert_episode_init(&cut, world(), limit));
        expert_rng(&rng, 1, 0);
        cr_assert(expert_play(&cut, policy, 0.0, &rng));
        cr_assert_eq(cut.trajectory.length, limit);
        cr_assert(cut.trajectory.truncated);
        cr_assert_eq(cut.trajectory.terminated, limit == whole->length);
        cr_assert_eq(memcmp(cut.states, whole->states, (limit + 1) * 4 * sizeof(float)), 0);
        expert_episode_clear(&cut);
    }
    expert_episode_clear(&episode);
    policy_free(policy);
}

Test(experts, a_network_that_is_not_finite_does_not_play)
{
    struct policy *policy = always_left();
    policy->parameters[0] = NAN;
    struct expert_episode episode;
    struct rng rng;
    cr_assert(expert_episode_init(&episode, world(), 200));
    expert_rng(&rng, 1, 0);
    cr_assert_not(expert_play(&episode, policy, 0.02, &rng));
    expert_episode_clear(&episode);
    policy_free(policy);
}
