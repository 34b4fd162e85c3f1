/* The population of experts: its physics, its spread, its play. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/online/experts.h"
#include "algos/online/population.h"

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
    const struct expert_variation *variations = population()->variations;
    uint32_t count = population()->variation_count;
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
        const struct expert_variation *variations = found->variations;
        uint32_t count = found->variation_count;
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

static double mean_return(const struct expert_population *population, const struct env *env,
                          const struct policy *policy, uint64_t expert)
{
    struct expert_episode episode;
    struct rng rng;
    cr_assert_eq(policy->output, POLICY_ARGMAX);
    expert_episode_init(&episode, env, experts_episode_steps(population));
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

/* Mean returns in the usual world of beginners, middling ones and masters, from SETTINGS settings:
 * of EXPERTS_TOP the kinds of settings, of EXPERTS_MOMENTS those within each. */
static void returns_by_kind(const struct expert_population *population, enum experts_select select,
                            const struct env *env, unsigned settings,
                            double mean[EXPERTS_PER_SETTING])
{
    unsigned count[EXPERTS_PER_SETTING] = {0};
    for (int k = 0; k < EXPERTS_PER_SETTING; k++)
        mean[k] = 0.0;
    for (uint64_t s = 0; s < settings; s++) {
        struct policy *policies[EXPERTS_PER_SETTING];
        cr_assert(experts_train(population, select, 1, s, NULL, policies));
        for (uint64_t k = 0; k < EXPERTS_PER_SETTING; k++) {
            uint64_t kind = select == EXPERTS_TOP ? s % EXPERTS_PER_SETTING : k;
            mean[kind] += mean_return(population, env, policies[k], s * EXPERTS_PER_SETTING + k);
            count[kind]++;
            policy_free(policies[k]);
        }
    }
    for (int k = 0; k < EXPERTS_PER_SETTING; k++)
        mean[k] /= count[k];
}

static void top_by_kind(const char *name, unsigned settings, double mean[EXPERTS_PER_SETTING])
{
    returns_by_kind(population_of(name), EXPERTS_TOP, env_find(name), settings, mean);
}

Test(experts, are_spread_from_beginners_to_masters)
{
    double mean[EXPERTS_PER_SETTING];
    top_by_kind("cartpole", 12, mean);
    cr_assert(mean[0] > 25.0 && mean[0] < 110.0, "beginners: %g", mean[0]);
    cr_assert(mean[1] > 70.0 && mean[1] < 150.0, "middling: %g", mean[1]);
    cr_assert_gt(mean[2], 165.0, "masters: %g", mean[2]);
}

Test(experts, of_the_acrobot_are_spread_too)
{
    double mean[EXPERTS_PER_SETTING];
    top_by_kind("acrobot", 9, mean);
    cr_assert(mean[0] >= -200.0 && mean[0] < -150.0, "beginners: %g", mean[0]);
    cr_assert(mean[1] > -190.0 && mean[1] < -100.0, "middling: %g", mean[1]);
    cr_assert_gt(mean[2], -110.0, "masters: %g", mean[2]);
}

Test(experts, of_hiv_are_spread_over_orders_of_size)
{
    double mean[EXPERTS_PER_SETTING];
    top_by_kind("hiv", 3, mean);
    /* both drugs always give 1.76e6 */
    cr_assert(mean[0] > 5e5 && mean[0] < 1e8, "beginners: %g", mean[0]);
    cr_assert(mean[1] > 5e6 && mean[1] < 6e8, "middling: %g", mean[1]);
    cr_assert_gt(mean[2], 4e8, "masters: %g", mean[2]);
}

/* With masters who learn for half as long: two settings, from crashes to the first landings. */
Test(experts, of_the_lunar_lander_are_spread_too)
{
    struct expert_population short_runs = *population_of("lunar_lander");
    short_runs.updates = 28;
    double mean[EXPERTS_PER_SETTING];
    returns_by_kind(&short_runs, EXPERTS_TOP, env_find("lunar_lander"), 3, mean);
    cr_assert(mean[0] > -400.0 && mean[0] < 50.0, "beginners: %g", mean[0]);
    cr_assert_gt(mean[2], mean[0] + 60.0, "beginners: %g, masters: %g", mean[0], mean[2]);
}

Test(experts, that_are_moments_of_one_run_are_spread_within_it)
{
    double mean[EXPERTS_PER_SETTING];
    returns_by_kind(population(), EXPERTS_MOMENTS, world(), 4, mean);
    cr_assert(mean[0] > 20.0 && mean[0] < 100.0, "beginners: %g", mean[0]);
    cr_assert(mean[1] > 80.0 && mean[1] < 170.0, "middling: %g", mean[1]);
    cr_assert_gt(mean[2], 180.0, "masters: %g", mean[2]);
}

/* What an observer saw of a run. */
struct seen {
    unsigned count;
    double measured[256];
    uint64_t sum[256]; /* of the network's bits */
};

static uint64_t sum_of(const struct policy *policy)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < mlp_parameter_count(&policy->shape); i++) {
        uint32_t bits;
        memcpy(&bits, &policy->parameters[i], sizeof bits);
        sum = sum * 31 + bits;
    }
    return sum;
}

static void note(void *context, const struct policy *policy, double measured)
{
    struct seen *seen = context;
    cr_assert_lt(seen->count, 256);
    seen->measured[seen->count] = measured;
    seen->sum[seen->count++] = sum_of(policy);
}

/* Nobody whom the run measured and who is not among the three was better than any of them. */
static void check_top_three(const char *name, uint64_t setting)
{
    struct policy *policies[EXPERTS_PER_SETTING];
    struct seen seen = {0};
    const struct experts_observer observer = {.saw = note, .context = &seen};
    cr_assert(experts_train(population_of(name), EXPERTS_TOP, 1, setting, &observer, policies));
    bool chosen[256] = {false};
    double worst = INFINITY, last = -INFINITY;
    for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
        unsigned i = 0;
        while (i < seen.count && (chosen[i] || seen.sum[i] != sum_of(policies[k])))
            i++;
        cr_assert_lt(i, seen.count, "%s: an expert that was never measured", name);
        chosen[i] = true;
        worst = fmin(worst, seen.measured[i]);
        cr_expect_geq(seen.measured[i], last, "%s: worst first", name);
        last = seen.measured[i];
        policy_free(policies[k]);
    }
    cr_expect_gt(seen.count, EXPERTS_PER_SETTING);
    for (unsigned i = 0; i < seen.count; i++)
        cr_expect(chosen[i] || seen.measured[i] <= worst, "%s %u: %g was left out, %g was not",
                  name, (unsigned)setting, seen.measured[i], worst);
}

Test(experts, are_the_top_three_of_their_setting)
{
    for (uint64_t setting = 0; setting < 6; setting++)
        check_top_three("cartpole", setting);
    check_top_three("acrobot", 0);
    check_top_three("acrobot", 2);
    check_top_three("hiv", 0);
    check_top_three("lunar_lander", 0);
}

/* A setting that aspires to less ends its run sooner; three runs of each, because one may end early
 * by luck, and how the processor's products round is part of that. */
Test(experts, of_a_beginners_setting_are_from_a_shorter_run)
{
    unsigned seen_of[2] = {0};
    const uint64_t setting[] = {0, 2};
    for (uint64_t n = 0; n < 6; n++) {
        struct policy *policies[EXPERTS_PER_SETTING];
        struct seen seen = {0};
        const struct experts_observer observer = {.saw = note, .context = &seen};
        cr_assert(experts_train(population_of("acrobot"), EXPERTS_TOP, 1 + n / 2, setting[n % 2],
                                &observer, policies));
        seen_of[n % 2] += seen.count;
        for (int k = 0; k < EXPERTS_PER_SETTING; k++)
            policy_free(policies[k]);
    }
    cr_expect_gt(seen_of[1], 2 * seen_of[0], "%u, %u", seen_of[1], seen_of[0]);
}

Test(experts, one_setting_is_a_function_of_seed_and_setting)
{
    struct policy *a[EXPERTS_PER_SETTING], *b[EXPERTS_PER_SETTING], *c[EXPERTS_PER_SETTING];
    cr_assert(experts_train(population(), EXPERTS_TOP, 3, 5, NULL, a));
    cr_assert(experts_train(population(), EXPERTS_TOP, 3, 5, NULL, b));
    cr_assert(experts_train(population(), EXPERTS_TOP, 4, 5, NULL, c));
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
    expert_episode_init(&episode, world(), 200);
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
    expert_episode_init(&episode, world(), 200);
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
        expert_episode_init(&cut, world(), limit);
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
    expert_episode_init(&episode, world(), 200);
    expert_rng(&rng, 1, 0);
    cr_assert_not(expert_play(&episode, policy, 0.02, &rng));
    expert_episode_clear(&episode);
    policy_free(policy);
}
