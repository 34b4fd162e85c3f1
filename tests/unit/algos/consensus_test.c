/* Consensus labels: the price in closed form, the sensitivity by trying, the law of the noise, and
 * what is released. */
#include "algos/offline/consensus.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/noise/noise.h"
#include "envs/cartpole.h"

enum { SLOTS = 150 };

/* On cartpole: an expert pushes towards the side to which the pole falls, with this confidence. */
struct crowd {
    double confidence[SLOTS];
    bool absent[SLOTS];
    uint32_t slots, actions;
};

static bool present(const void *context, uint32_t expert)
{
    return !((const struct crowd *)context)->absent[expert];
}

static void probabilities(const void *context, uint32_t first, uint32_t count, const float *states,
                          uint32_t state_count, double *out)
{
    const struct crowd *crowd = context;
    for (uint32_t e = first; e < first + count; e++) {
        for (uint32_t s = 0; s < state_count; s++) {
            const float *x = states + 4 * s;
            uint32_t best = x[2] + 0.5F * x[3] + 0.1F * x[1] + 0.02F * x[0] > 0.0F;
            for (uint32_t a = 0; a < crowd->actions; a++)
                *out++ = a == best ? crowd->confidence[e]
                                   : (1.0 - crowd->confidence[e]) / (crowd->actions - 1);
        }
    }
}

static struct expert_voices voices_of(const struct crowd *crowd)
{
    return (struct expert_voices){.context = crowd,
                                  .slots = crowd->slots,
                                  .state_dim = 4,
                                  .action_count = crowd->actions,
                                  .present = present,
                                  .probabilities = probabilities};
}

static struct crowd crowd_of(uint32_t actions)
{
    struct crowd crowd = {.slots = SLOTS, .actions = actions};
    for (int e = 0; e < SLOTS; e++)
        crowd.confidence[e] = 0.6 + 0.4 * e / SLOTS;
    return crowd;
}

static struct noise_source *noise_of(uint8_t number)
{
    const uint8_t key[32] = {number, 12};
    struct noise_source *noise = noise_source_new_injected(key);
    cr_assert_not_null(noise);
    return noise;
}

Test(consensus, costs_what_gaussians_cost)
{
    struct consensus_plan plan;
    cr_assert_eq(consensus_plan_make(1000, 2, 2.59, 1e-5, &plan), CONSENSUS_OK);
    cr_expect_float_eq(plan.noise_multiplier, 50.0, 0.1);
    cr_expect_float_eq(plan.sensitivity, sqrt(0.5), 1e-12);
    cr_expect_float_eq(plan.noise, plan.noise_multiplier * sqrt(0.5), 1e-6);
    double mu = sqrt(1000.0) / plan.noise_multiplier;
    cr_expect_leq(gaussian_dp_epsilon(mu, 1e-5), 2.59);
    /* The lattice has at least that noise: |A| units of 2^-16 of an expert, in parts of 2^-20. */
    double drawn = (double)plan.lattice_scale / 0x1p20 / (2.0 * CONSENSUS_UNIT);
    cr_expect(drawn >= plan.noise && drawn < plan.noise * (1.0 + 1e-9));
    struct consensus_plan same = plan;
    cr_expect_eq(consensus_plan_make(0, 2, 1, 1e-5, &plan), CONSENSUS_BAD);
    cr_expect_eq(consensus_plan_make(10, 1, 1, 1e-5, &plan), CONSENSUS_BAD);
    cr_expect_eq(consensus_plan_make(10, 2, NAN, 1e-5, &plan), CONSENSUS_BAD);
    cr_expect_eq(consensus_plan_make(10, 2, 1, 0.0, &plan), CONSENSUS_BAD);
    cr_expect_eq(consensus_plan_make(1000000, 16, 1e-4, 1e-9, &plan), CONSENSUS_OUT_OF_REACH);
    cr_expect_eq(memcmp(&plan, &same, sizeof plan), 0);
}

/* With the same noise twice, the difference of two sums is what one expert adds. */
Test(consensus, one_expert_adds_no_more_than_the_sensitivity)
{
    static const double confidences[] = {0.0, 0.3, 0.5, 0.9, 1.0, NAN};
    for (uint32_t actions = 2; actions <= 4; actions++) {
        struct crowd crowd = crowd_of(actions);
        const struct expert_voices voices = voices_of(&crowd);
        struct consensus_plan plan;
        double scratch[CONSENSUS_EXPERTS * 4], worst = 0.0;
        cr_assert_eq(consensus_plan_make(100, actions, 3, 1e-5, &plan), CONSENSUS_OK);
        for (size_t i = 0; i < sizeof confidences / sizeof confidences[0]; i++) {
            int64_t with[4], without[4];
            const float state[4] = {0, 0, 1, 0};
            double norm = 0.0;
            crowd.confidence[70] = confidences[i];
            for (int world = 0; world < 2; world++) {
                struct noise_source *noise = noise_of(1);
                crowd.absent[70] = world;
                consensus_sums(&plan, &voices, noise, state, 1, scratch, world ? without : with);
                noise_source_free(noise);
            }
            for (uint32_t a = 0; a < actions; a++) {
                double moved = (double)(with[a] - without[a]) / (actions * CONSENSUS_UNIT);
                norm += moved * moved;
            }
            worst = fmax(worst, sqrt(norm));
        }
        cr_expect_leq(worst, plan.sensitivity * (1.0 + 1e-12), "%u actions", actions);
        cr_expect_geq(worst, plan.sensitivity * (1.0 - 1e-12), "it is attained");
    }
}

/* 20,000 sums of two actions: mean within 5 and variance within 5 standard errors (1e-6). */
Test(consensus, sums_have_the_planned_noise)
{
    enum { ROUNDS = 10000 };
    struct crowd crowd = crowd_of(2);
    const struct expert_voices voices = voices_of(&crowd);
    struct consensus_plan plan;
    cr_assert_eq(consensus_plan_make(100, 2, 3, 1e-5, &plan), CONSENSUS_OK);
    struct noise_source *noise = noise_of(2);
    double scratch[CONSENSUS_EXPERTS * 2], expected = 0.0, sum = 0.0, square = 0.0;
    const float state[4] = {0, 0, 1, 0};
    crowd.absent[3] = true;
    for (int e = 0; e < SLOTS; e++)
        expected += crowd.absent[e] ? 0.0 : crowd.confidence[e] - 0.5;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t sums[2];
        consensus_sums(&plan, &voices, noise, state, 1, scratch, sums);
        for (int a = 0; a < 2; a++) {
            double noise_of_it =
                (double)sums[a] / (2.0 * CONSENSUS_UNIT) - (a ? expected : -expected);
            sum += noise_of_it;
            square += noise_of_it * noise_of_it;
        }
    }
    double error = plan.noise / sqrt(2.0 * ROUNDS);
    cr_expect_lt(fabs(sum / (2.0 * ROUNDS)), 5.0 * error + 0.01);
    cr_expect_float_eq(square / (2.0 * ROUNDS) / (plan.noise * plan.noise), 1.0,
                       5.0 * sqrt(2.0 / (2.0 * ROUNDS)) + 1e-3);
    noise_source_free(noise);
}

static struct dataset *release(const struct crowd *crowd, const struct consensus_plan *plan,
                               double explore, uint32_t rounds, struct noise_source *noise)
{
    const struct expert_voices voices = voices_of(crowd);
    const struct consensus_run run = {.plan = plan,
                                      .voices = &voices,
                                      .env = &cartpole_env,
                                      .max_length = 60,
                                      .explore = explore,
                                      .rounds = rounds,
                                      .noise = noise};
    struct dataset *released = NULL;
    const char *message = NULL;
    cr_assert_eq(consensus_release(&run, &released, &message), ALGORITHM_OK, "%s", message);
    return released;
}

Test(consensus, releases_exactly_its_labels_with_what_the_world_gave)
{
    struct crowd crowd = crowd_of(2);
    struct consensus_plan plan;
    cr_assert_eq(consensus_plan_make(1003, 2, 20, 1e-5, &plan), CONSENSUS_OK);
    struct noise_source *noise = noise_of(3);
    for (int explored = 0; explored < 2; explored++) {
        struct dataset *released = release(&crowd, &plan, explored ? 0.2 : 0.0, 1, noise);
        uint64_t agreed = 0;
        cr_assert_eq(released->transition_count, 1003);
        cr_assert_eq(released->expert_count, 1);
        for (uint64_t i = 0; i < released->transition_count; i++) {
            const float *s = released->states + 4 * released->state_row[i];
            uint32_t best = s[2] + 0.5F * s[3] + 0.1F * s[1] + 0.02F * s[0] > 0.0F;
            agreed += released->actions[i] == best;
            /* The label was played: x' = x + tau x_dot, and the push shows in the velocity. */
            cr_assert_float_eq(s[4], s[0] + 0.02F * s[1], 1e-5);
            cr_assert((s[5] > s[1]) == (released->actions[i] == 1));
            cr_assert_eq(released->rewards[i], 1.0F);
        }
        /* About 88 of 150 experts' votes above one half against a noise of 13 and less. */
        cr_assert_gt(agreed, 950, "%llu", (unsigned long long)agreed);
        /* Without exploring, an episode of 60 labels is one trajectory. */
        if (!explored)
            cr_assert_lt(released->trajectory_count, 60);
        else
            cr_assert_gt(released->trajectory_count, 120);
        dataset_free(released);
    }
    noise_source_free(noise);
}

/* Noise of 300 on sums of 40: a label alone is right by 55 to 45, and episodes of such labels last
 * some 25 steps. A student of hundreds of them leads to longer ones. */
Test(consensus, a_student_leads_to_better_states, .timeout = 600)
{
    struct crowd crowd = crowd_of(2);
    struct consensus_plan plan;
    cr_assert_eq(consensus_plan_make(6000, 2, 0.8, 1e-5, &plan), CONSENSUS_OK);
    cr_assert(plan.noise > 250 && plan.noise < 450, "%g", plan.noise);
    double leaning[2];
    for (int i = 0; i < 2; i++) {
        struct noise_source *noise = noise_of(5);
        struct dataset *released = release(&crowd, &plan, 0.0, i == 0 ? 1 : 6, noise);
        cr_assert_eq(released->transition_count, 6000);
        leaning[i] = 0.0;
        for (uint64_t t = 3000; t < 6000; t++)
            leaning[i] += fabs(released->states[4 * released->state_row[t] + 2]) / 3000.0;
        dataset_free(released);
        noise_source_free(noise);
    }
    /* Mean angle of the pole where labels were asked, in the second half. */
    cr_assert_lt(leaning[1], 0.8 * leaning[0], "%g and %g", leaning[0], leaning[1]);
}

static bool never(void *context)
{
    (void)context;
    return false;
}

Test(consensus, nobody_to_ask_is_no_error_and_stopping_is)
{
    struct crowd crowd = crowd_of(2);
    struct consensus_plan plan;
    memset(crowd.absent, true, sizeof crowd.absent);
    cr_assert_eq(consensus_plan_make(40, 2, 1, 1e-5, &plan), CONSENSUS_OK);
    struct noise_source *noise = noise_of(4);
    struct dataset *released = release(&crowd, &plan, 0.1, 3, noise);
    cr_assert_eq(released->transition_count, 40);
    dataset_free(released);
    const struct expert_voices voices = voices_of(&crowd);
    struct consensus_run run = {.plan = &plan,
                                .voices = &voices,
                                .env = &cartpole_env,
                                .max_length = 60,
                                .rounds = 1,
                                .noise = noise,
                                .goes_on = never};
    const char *message = NULL;
    cr_assert_eq(consensus_release(&run, &released, &message), ALGORITHM_CANCELLED);
    noise_source_free(noise);
}

/* 3 x 5 x 1 x 4 states: each once, the last number changing first, with the label of its state. */
Test(consensus, a_grid_is_labelled_state_by_state)
{
    const struct consensus_grid grid = {
        .dims = 4, .low = {-1, -2, 0.5, -3}, .high = {1, 2, 1.5, 0}, .points = {3, 5, 1, 4}};
    struct crowd crowd = crowd_of(2);
    const struct expert_voices voices = voices_of(&crowd);
    struct consensus_plan plan;
    cr_assert_eq(consensus_grid_size(&grid), 60);
    cr_assert_eq(consensus_plan_make(60, 2, 20, 1e-5, &plan), CONSENSUS_OK);
    struct noise_source *noise = noise_of(6);
    const struct consensus_run run = {.plan = &plan, .voices = &voices, .noise = noise};
    struct dataset *released = NULL;
    cr_assert_eq(consensus_grid_release(&run, &grid, &released), ALGORITHM_OK);
    cr_assert_eq(released->transition_count, 60);
    uint32_t agreed = 0, row = 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 5; j++) {
            for (int k = 0; k < 4; k++, row++) {
                const float *s = released->states + 4 * released->state_row[row];
                const float want[4] = {(float)(i - 1), (float)(j - 2), 1.0F, (float)(k - 3)};
                cr_assert_arr_eq(s, want, sizeof want, "state %u", row);
                uint32_t best = s[2] + 0.5F * s[3] + 0.1F * s[1] + 0.02F * s[0] > 0.0F;
                agreed += released->actions[row] == best;
                cr_assert(released->terminated[row] && released->rewards[row] == 0.0F);
            }
        }
    }
    /* Votes differ by 80 to 90 experts, noise by 2 of deviation 2. */
    cr_assert_eq(agreed, 60);
    dataset_free(released);
    noise_source_free(noise);
}

Test(consensus, grids_out_of_bounds_have_no_size)
{
    const struct consensus_grid good = {
        .dims = 2, .low = {0, 0}, .high = {1, 1}, .points = {1000, 1000}};
    cr_expect_eq(consensus_grid_size(&good), 1000000);
    struct consensus_grid grid = good;
    grid.dims = 0;
    cr_expect_eq(consensus_grid_size(&grid), 0);
    grid.dims = ENV_MAX_STATE_DIM + 1;
    cr_expect_eq(consensus_grid_size(&grid), 0);
    grid = good, grid.points[0] = 1001;
    cr_expect_eq(consensus_grid_size(&grid), 0);
    grid = good, grid.dims = 3, grid.points[2] = 2;
    cr_expect_eq(consensus_grid_size(&grid), 0, "two million");
    grid = good, grid.points[1] = 0;
    cr_expect_eq(consensus_grid_size(&grid), 0);
    grid = good, grid.low[1] = 1.5;
    cr_expect_eq(consensus_grid_size(&grid), 0);
    grid = good, grid.high[1] = NAN;
    cr_expect_eq(consensus_grid_size(&grid), 0);
}

/* Every state of a list in its place, one that stands twice as often as it stands there. */
Test(consensus, a_list_is_labelled_state_by_state)
{
    enum { COUNT = 40 };
    double states[COUNT * 4];
    for (size_t i = 0; i < COUNT; i++) {
        double sign = i % 3 == 0 ? -1.0 : 1.0;
        const double one[4] = {0.125 * (double)(i / 2), -0.5, sign, sign};
        memcpy(states + 4 * i, one, sizeof one);
    }
    const struct consensus_grid list = {.dims = 4, .count = COUNT, .states = states};
    struct crowd crowd = crowd_of(2);
    const struct expert_voices voices = voices_of(&crowd);
    struct consensus_plan plan;
    cr_assert_eq(consensus_grid_size(&list), COUNT);
    cr_assert_eq(consensus_plan_make(COUNT, 2, 20, 1e-5, &plan), CONSENSUS_OK);
    struct noise_source *noise = noise_of(6);
    const struct consensus_run run = {.plan = &plan, .voices = &voices, .noise = noise};
    struct dataset *released = NULL;
    cr_assert_eq(consensus_grid_release(&run, &list, &released), ALGORITHM_OK);
    cr_assert_eq(released->transition_count, COUNT);
    for (uint32_t row = 0; row < COUNT; row++) {
        const float *s = released->states + 4 * released->state_row[row];
        for (size_t d = 0; d < 4; d++)
            cr_assert_eq(s[d], (float)states[4 * row + d]);
        /* Votes differ by 80 to 90 experts, noise by 2 of deviation 2. */
        cr_assert_eq(released->actions[row], row % 3 != 0);
    }
    dataset_free(released);
    noise_source_free(noise);
}

Test(consensus, lists_out_of_bounds_have_no_size)
{
    double states[] = {0, 1, 2, 3};
    struct consensus_grid list = {.dims = 2, .count = 2, .states = states};
    cr_expect_eq(consensus_grid_size(&list), 2);
    states[3] = NAN;
    cr_expect_eq(consensus_grid_size(&list), 0);
    states[3] = 1e39; /* above float32 */
    cr_expect_eq(consensus_grid_size(&list), 0);
    states[3] = 3;
    list.count = CONSENSUS_GRID_MAX_STATES + 1;
    cr_expect_eq(consensus_grid_size(&list), 0);
    list.count = 2, list.states = NULL;
    cr_expect_eq(consensus_grid_size(&list), 0);
}
