/* Made-up worlds and experts, and rehearsals in them. */
#include "algos/advice/rehearsal.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/advice/made_up_world.h"
#include "algos/privacy/noise/noise.h"
#include "memory/memory.h"
#include "tests/unit/algos/offline_kit.h"

enum { EXPERTS = 30, STEPS = 50 };

static const struct made_up_size size = {EXPERTS, 2, STEPS};

static struct features *ranges_of(double low, double high)
{
    struct features *ranges = features_new(KIT_DIM);
    for (uint32_t d = 0; d < KIT_DIM; d++)
        ranges->range[d] = (struct feature_range){low + d, high + d};
    return ranges;
}

/* ---- the world */

/* The mean return of an episode of STEPS steps, of the right action or of a random one. */
static double play_world(const struct made_up_world *world, bool right, uint32_t episodes)
{
    double observation[ENV_MAX_STATE_DIM], sum = 0;
    struct rng rng;
    rng_seed(&rng, 9, 0);
    void *state = memory_must(env_open(&world->env));
    for (uint32_t e = 0; e < episodes; e++) {
        cr_assert(world->env.reset(state, NULL, &rng, observation));
        for (int t = 0; t < STEPS; t++) {
            unsigned action = rng_below(&rng, world->env.action_count);
            if (right)
                action = made_up_world_target(world, observation);
            sum += world->env.step(state, NULL, action, &rng, observation).reward;
        }
    }
    env_close(&world->env, state);
    return sum / episodes;
}

Test(made_up, the_right_action_always_earns_and_a_random_one_by_its_chance)
{
    struct kit kit;
    struct made_up_world world;
    kit_init(&kit, "behaviour_cloning", MECHANISM_DPSGD, EXPERTS);
    made_up_world_init(&world, &kit.request, 1);
    cr_assert_eq(play_world(&world, true, 20), STEPS);
    /* 200 episodes of 50 throws of chance 1/3: the mean has a deviation of 0.24. */
    cr_assert_float_eq(play_world(&world, false, 200), STEPS / 3.0, 5 * 0.24);
}

Test(made_up, states_lie_within_what_is_declared)
{
    struct kit kit;
    struct made_up_world world;
    struct features *ranges = ranges_of(10, 14);
    double mean;
    kit_init(&kit, "behaviour_cloning", MECHANISM_DPSGD, EXPERTS);
    kit.request.features = ranges;
    made_up_world_init(&world, &kit.request, 1);
    struct dataset *data = made_up_experts(&world, &size, 0.01, 1, &mean);
    size_t rows = data->transition_count + data->trajectory_count;
    float least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < rows * KIT_DIM; i++) {
        float from = data->states[i] - (float)(i % KIT_DIM);
        least = fminf(least, from);
        most = fmaxf(most, from);
    }
    cr_assert(least >= 10 && most <= 14 && least < 10.5F && most > 13.5F);
    dataset_free(data);
    kit.request.features = NULL;
    kit_set(&kit, "input_scale", 0.5);
    kit_set(&kit, "input_center", 7);
    made_up_world_init(&world, &kit.request, 1);
    cr_assert_eq(world.middle[2], 7);
    cr_assert_eq(world.half[2], 4);
    kit.request.stage.grid = (struct consensus_grid){.dims = KIT_DIM, .high = {1, 2, 0}};
    made_up_world_init(&world, &kit.request, 1);
    cr_assert_eq(world.half[1], 1);
    cr_assert_eq(world.half[2], 4, "a grid of one value has no width");
    free(ranges);
}

Test(made_up, experts_are_a_function_of_the_seed_and_as_skilled_as_declared)
{
    struct kit kit;
    struct made_up_world world;
    double means[3];
    struct dataset *data[3];
    kit_init(&kit, "behaviour_cloning", MECHANISM_DPSGD, EXPERTS);
    for (int i = 0; i < 3; i++) {
        made_up_world_init(&world, &kit.request, i == 2 ? 8 : 7);
        data[i] = made_up_experts(&world, &size, 0.02, i == 2 ? 8 : 7, &means[i]);
        cr_assert_eq(data[i]->transition_count, (uint64_t)EXPERTS * 2 * STEPS);
    }
    size_t bytes = data[0]->transition_count * sizeof data[0]->actions[0];
    cr_assert_eq(memcmp(data[0]->actions, data[1]->actions, bytes), 0);
    cr_assert_neq(memcmp(data[0]->actions, data[2]->actions, bytes), 0);
    /* Right by skill, by chance else and at the floor; 3000 throws deviate by less than 0.0092. */
    double free = 3 * 0.02, skill = (MADE_UP_SKILL_LOW + MADE_UP_SKILL_HIGH) / 2;
    double right = free / 3 + (1 - free) * (skill + (1 - skill) / 3);
    cr_assert_float_eq(means[0] / STEPS, right, 5 * 0.0092);
    for (int i = 0; i < 3; i++)
        dataset_free(data[i]);
}

/* ---- rehearsals */

struct rehearsing {
    uint64_t pulses, last;
    uint64_t stop_from; /* pulses */
};

static enum algorithm_pulse rehearsing_pulse(void *context, uint64_t steps_done)
{
    struct rehearsing *r = context;
    cr_assert_geq(steps_done, r->last);
    r->last = steps_done;
    if (++r->pulses > r->stop_from)
        return PULSE_CANCEL;
    return PULSE_SAVE;
}

static enum algorithm_status kit_rehearse(const struct kit *kit, struct rehearsing *r,
                                          struct rehearsal_figures *out)
{
    const uint8_t key[32] = {5};
    struct noise_source *noise = noise_source_new_injected(key);
    const struct algorithm_hooks hooks = {.context = r, .pulse = rehearsing_pulse};
    const struct rehearsal rehearsal = {.algorithm = kit->algorithm,
                                        .request = &kit->request,
                                        .plan = &kit->plan,
                                        .terms = {REHEARSAL_RUNS, STEPS, 0.02},
                                        .hooks = &hooks,
                                        .noise = noise};
    const char *message = "";
    enum algorithm_status status = rehearsal_train(&rehearsal, out, &message);
    noise_source_free(noise);
    return status;
}

/* What a rehearsal to its end finds. */
static struct rehearsal_figures kit_figures(const struct kit *kit)
{
    struct rehearsing r = {.stop_from = UINT64_MAX};
    struct rehearsal_figures f;
    cr_assert_eq(kit_rehearse(kit, &r, &f), ALGORITHM_OK);
    cr_assert_eq(f.runs, 3);
    cr_assert_eq(f.best_return, STEPS);
    cr_assert_gt(r.pulses, 0);
    cr_assert_leq(r.last, kit->plan.total_steps);
    return f;
}

static double mean_quality(const struct kit *kit)
{
    const struct rehearsal_figures f = kit_figures(kit);
    double sum = 0;
    for (uint32_t i = 0; i < f.runs; i++) {
        cr_assert_gt(f.run[i].plain_return, f.random_return);
        sum += f.run[i].quality / f.runs;
    }
    return sum;
}

static void kit_of_rehearsal(struct kit *kit, const char *algorithm,
                             enum algorithm_mechanism mechanism)
{
    kit_init(kit, algorithm, mechanism, EXPERTS);
    kit_set(kit, "hidden", 16);
    kit_set(kit, "steps", 1500);
    kit_set(kit, "batch_size", EXPERTS);
    kit_set(kit, "average_decay", 0.99);
}

/* With next to no noise and no clip private and plain training do the same on the same data.
 * Weights that are noise alone agree with the right one of three actions in a third of states, with
 * a deviation of some 0.2 between networks, thus 0.2 of the mean of three qualities: 0.5 is beyond
 * two. */
Test(rehearsal, quality_is_one_without_noise_and_none_with_noise_alone)
{
    static const char *const algorithms[] = {"behaviour_cloning", "cql"};
    for (size_t i = 0; i < 2; i++) {
        struct kit kit;
        kit_of_rehearsal(&kit, algorithms[i], MECHANISM_DPSGD);
        kit_plan(&kit);
        kit.plan.privacy.noise_multiplier = 1e-12;
        kit.plan.privacy.clip_norm = 1e6;
        double quality = mean_quality(&kit);
        cr_assert(quality > 0.8 && quality < 1.2, "%s: %g", algorithms[i], quality);
        kit.plan.privacy.noise_multiplier = 1e4;
        kit.plan.privacy.clip_norm = 1;
        quality = mean_quality(&kit);
        cr_assert(fabs(quality) < 0.5, "%s: %g", algorithms[i], quality);
    }
}

/* Of 30 experts and noise of less than one of them nearly all labels are right, and a policy that
 * learns of them is better than one that imitates the experts' mistakes too. That holds whatever
 * the length of the episodes is in which their skill is measured. */
Test(rehearsal, plays_consensus_and_skill_in_the_made_up_world)
{
    static const uint32_t lengths[] = {STEPS, STEPS / 5};
    for (size_t i = 0; i < 2; i++) {
        struct kit kit;
        kit_of_rehearsal(&kit, "behaviour_cloning", MECHANISM_CONSENSUS);
        kit.request.epsilon = 900;
        kit.request.plain_share = 1;
        kit.request.stage = (struct stage_request){
            .kind = STAGE_CONSENSUS,
            .epsilon_share = 1,
            .delta_share = 1,
            .max_length = lengths[i],
            .labels = 200,
            .explore = 0.1,
            .rounds = 2,
            .skill = {.low = -1e9, .high = -9e8, .power = 2, .episodes = 2},
        };
        kit_plan(&kit);
        double quality = mean_quality(&kit);
        cr_assert(quality > 0.8, "%u: %g", lengths[i], quality);
    }
}

Test(rehearsal, does_not_depend_on_the_scale_of_somebodys_rewards_and_records)
{
    static const struct {
        const char *name;
        double value;
    } set[] = {{"reward_scale", 1e-9},
               {"return_low", -200},
               {"return_high", -75},
               {"full_weight_transitions", 1e6}};
    struct kit kit;
    kit_of_rehearsal(&kit, "cql", MECHANISM_DPSGD);
    kit_set(&kit, "steps", 20);
    kit_set(&kit, "return_power", 1);
    kit_set(&kit, "weight_power", 1);
    kit_plan(&kit);
    const struct rehearsal_figures usual = kit_figures(&kit);
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        kit_set(&kit, set[i].name, set[i].value);
    const struct rehearsal_figures other = kit_figures(&kit);
    for (uint32_t i = 0; i < usual.runs; i++)
        cr_assert_eq(usual.run[i].private_return, other.run[i].private_return);
}

/* Where the budget cuts the steps, they are cut of both trainings, and progress ends at its end. */
Test(rehearsal, plain_training_has_the_steps_that_are_paid_for)
{
    struct kit kit;
    kit_of_rehearsal(&kit, "behaviour_cloning", MECHANISM_DPSGD);
    kit_set(&kit, "steps", 3000);
    kit_set(&kit, "noise_multiplier", 4);
    kit_plan(&kit);
    cr_assert_lt(kit.plan.total_steps, 3000 / 6);
    (void)kit_figures(&kit); /* its pulses end at total_steps */
}

/* The size that public numbers decide is that of few experts in both trainings. */
Test(rehearsal, plain_batches_are_as_large_as_noisy_ones)
{
    struct kit kit;
    kit_of_rehearsal(&kit, "behaviour_cloning", MECHANISM_DPSGD);
    kit_set(&kit, "steps", 100);
    kit_plan(&kit);
    const struct rehearsal_figures asked = kit_figures(&kit);
    kit_set(&kit, "batch_size", 0);
    kit_plan(&kit);
    const struct rehearsal_figures usual = kit_figures(&kit);
    for (uint32_t i = 0; i < usual.runs; i++)
        cr_assert_eq(usual.run[i].plain_return, asked.run[i].plain_return);
}

/* One candidate is the last moment. Weights that are noise alone and move far in each step earn at
 * every moment something else, with a deviation of some 0.2 of 50 steps. The best of 20 earns 1.87
 * deviations more than their mean: 56 in three runs, where three last moments deviate by 17. */
Test(rehearsal, chooses_in_the_made_up_world)
{
    static const uint32_t candidates[] = {0, 1, 20};
    double sum[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        struct kit kit;
        kit_of_rehearsal(&kit, "behaviour_cloning", MECHANISM_DPSGD);
        kit_set(&kit, "average_decay", 0);
        kit_set(&kit, "learning_rate", 0.1);
        kit_plan(&kit);
        kit.plan.privacy.noise_multiplier = 1e4;
        kit.plan.privacy.clip_norm = 1;
        kit.request.choice =
            (struct choice){.candidates = candidates[i], .episodes = 50, .max_steps = 10000};
        const struct rehearsal_figures figures = kit_figures(&kit);
        for (uint32_t run = 0; run < figures.runs; run++)
            sum[i] += figures.run[run].private_return;
    }
    cr_assert_eq(sum[0], sum[1]);
    cr_assert_gt(sum[2], sum[0]);
}

/* A step without adaptive moments is as long as its gradient: both trainings' are of one scale. */
Test(rehearsal, plain_steps_are_as_long_as_noisy_ones)
{
    struct kit kit;
    kit_of_rehearsal(&kit, "behaviour_cloning", MECHANISM_DPSGD);
    kit_set(&kit, "optimizer", 0); /* sgd */
    kit_set(&kit, "learning_rate", 0.05);
    kit_plan(&kit);
    kit.plan.privacy.noise_multiplier = 1e-12;
    kit.plan.privacy.clip_norm = 1e6;
    double quality = mean_quality(&kit);
    cr_assert(quality > 0.8 && quality < 1.2, "%g", quality);
}

/* A policy's play may take long, too: two plays a run. */
Test(rehearsal, asks_while_policies_play)
{
    struct rehearsing r = {.stop_from = UINT64_MAX};
    struct rehearsal_figures figures;
    struct kit kit;
    kit_of_rehearsal(&kit, "behaviour_cloning", MECHANISM_DPSGD);
    kit_set(&kit, "steps", 1);
    kit_plan(&kit);
    cr_assert_eq(kit_rehearse(&kit, &r, &figures), ALGORITHM_OK);
    cr_assert_geq(r.pulses, 2 * REHEARSAL_RUNS * REHEARSAL_EPISODES / REHEARSAL_BLOCK);
}

/* A plan that was stored is read by the same bounds. */
Test(rehearsal, fits_within_what_can_be_made_up)
{
    const struct rehearsal_terms good = {REHEARSAL_RUNS, 1, 1.0 / KIT_ACTIONS};
    const struct rehearsal_terms bad[] = {{0, STEPS, 0.02},
                                          {REHEARSAL_RUNS + 1, STEPS, 0.02},
                                          {REHEARSAL_RUNS, 0, 0.02},
                                          {REHEARSAL_RUNS, STEPS, NAN},
                                          {REHEARSAL_RUNS, STEPS, -0.02},
                                          {REHEARSAL_RUNS, STEPS, 0.34}};
    struct kit kit;
    kit_init(&kit, "cql", MECHANISM_DPSGD, EXPERTS);
    cr_assert(rehearsal_fits(kit.algorithm, &kit.request, &good));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_not(rehearsal_fits(kit.algorithm, &kit.request, &bad[i]), "%zu", i);
    const struct algorithm_request usual = kit.request;
    const struct {
        uint32_t *at, value;
    } sizes[] = {{&kit.request.state_dim, 0},
                 {&kit.request.state_dim, ENV_MAX_STATE_DIM + 1},
                 {&kit.request.action_count, 1},
                 {&kit.request.action_count, ENV_MAX_ACTIONS + 1},
                 {&kit.request.nominal_experts, 0},
                 {&kit.request.nominal_experts, REHEARSAL_MAX_EXPERTS + 1}};
    const struct rehearsal_terms floorless = {REHEARSAL_RUNS, STEPS, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        kit.request = usual;
        *sizes[i].at = sizes[i].value;
        cr_assert_not(rehearsal_fits(kit.algorithm, &kit.request, &floorless), "size %zu", i);
    }
    kit.request = usual;
    kit.request.mechanism = MECHANISM_NONE;
    cr_assert_not(rehearsal_fits(kit.algorithm, &kit.request, &good));
}

Test(rehearsal, ends_when_it_is_cancelled)
{
    struct rehearsing r = {.stop_from = 1};
    struct rehearsal_figures figures;
    struct kit kit;
    kit_of_rehearsal(&kit, "behaviour_cloning", MECHANISM_DPSGD);
    kit_set(&kit, "steps", 100000);
    kit_plan(&kit);
    cr_assert_eq(kit_rehearse(&kit, &r, &figures), ALGORITHM_CANCELLED);
    cr_assert_lt(r.last, kit.plan.total_steps / 6 + 1);
}
