/* What every learner of the table owes to those it protects where numbers are not finite: the run
 * goes on and gives finite weights, because its failure would tell of their data. (First stages and
 * Q-releases: tests/unit/noninterference, with extreme data.) */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/catalogue/algorithms.h"
#include "tests/unit/algos/offline_kit.h"
#include "tests/unit/algos/online_kit.h"

static const float odd[] = {3e38F, INFINITY, NAN};
enum { ODD = sizeof odd / sizeof odd[0], EXPERTS = 8 };

static void expect_finite(const char *algorithm, int mechanism, enum algorithm_status status,
                          const struct policy *policy, const char *message)
{
    const char *name = algorithm_mechanism_name((enum algorithm_mechanism)mechanism);
    cr_assert_eq(status, ALGORITHM_OK, "%s with %s: %s", algorithm, name, message);
    for (size_t i = 0; i < mlp_parameter_count(&policy->shape); i++)
        cr_assert(isfinite(policy->parameters[i]), "%s with %s", algorithm, name);
}

/* ---- learners that play: a world whose numbers are ODD in half of the states */

/* The number is the world's first parameter; the second is not 0 where rewards are it, too. */
static bool odd_reset(void *state, const double *physics, struct rng *rng, double *out)
{
    (void)state;
    double size = rng_below(rng, 2) ? physics[0] : 0.1;
    for (int i = 0; i < 4; i++)
        out[i] = i % 2 ? size : -size;
    return true;
}

static struct env_outcome odd_step(void *state, const double *physics, unsigned action,
                                   struct rng *rng, double *out)
{
    odd_reset(state, physics, rng, out);
    return (struct env_outcome){.reward = action && physics[1] != 0.0 ? out[1] : 1.0,
                                .terminated = rng_below(rng, 8) == 0};
}

static void set_small(struct online_kit *kit)
{
    static const struct {
        const char *name;
        double value;
    } small[] = {{"hidden", 8},        {"activation", MLP_RELU},
                 {"episodes", 30},     {"episodes_per_update", 3},
                 {"buffer", 40},       {"agents", 120},
                 {"batch_size", 8},    {"steps", 60},
                 {"gravity_spread", 0}};
    const struct algorithm *algorithm = kit->algorithm;
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        if (parameters_index(algorithm->parameters, algorithm->parameter_count, small[i].name) >= 0)
            online_kit_set(kit, small[i].name, small[i].value);
}

static void play_odd(const struct algorithm *algorithm, int mechanism, float number)
{
    struct env world = *env_find("cartpole");
    world.reset = odd_reset;
    world.step = odd_step;
    world.step_lanes = NULL;
    struct online_kit kit;
    struct policy *policy;
    const char *message;
    online_kit_init(&kit, algorithm->name, (enum algorithm_mechanism)mechanism, "cartpole", 1);
    set_small(&kit);
    kit.request.world = &world;
    kit.request.world_parameters[0] = number;
    kit.request.world_parameters[1] = mechanism != MECHANISM_LDP_OBSERVATIONS; /* else public */
    cr_assert_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
    enum algorithm_status status = online_kit_run(&kit, NULL, 0, &policy, &message);
    expect_finite(algorithm->name, mechanism, status, policy, message);
    policy_free(policy);
    online_kit_clear(&kit);
}

/* An answer of a teacher is about a public world; there, as without a mechanism, nobody's data take
 * part. */
static bool protects_play(const struct algorithm *algorithm, int mechanism)
{
    return algorithm->kind == ALGORITHM_LEARNS_BY_PLAY && algorithm->mechanisms[mechanism] &&
           mechanism != MECHANISM_NONE && mechanism != MECHANISM_TEACHER_ANSWERS;
}

Test(learners, go_on_in_a_world_whose_numbers_are_not_finite)
{
    unsigned count, played = 0;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned a = 0; a < count; a++)
        for (int m = 0; m < MECHANISM_COUNT; m++)
            for (int i = 0; i < ODD && protects_play(all[a], m); i++, played++)
                play_odd(all[a], m, odd[i]);
    cr_expect_gt(played, 0);
}

/* ---- learners from data: half of the experts are odd */

static struct dataset *odd_data(float number)
{
    struct dataset *data = kit_data(EXPERTS, 5);
    for (uint64_t i = 0; i < data->transition_count / 2; i++) {
        data->states[data->state_row[i] * KIT_DIM] = i % 2 ? number : -number;
        data->rewards[i] = number;
    }
    return data;
}

static void learn_odd(const struct algorithm *algorithm, int mechanism, int arithmetic,
                      float number)
{
    struct kit kit;
    kit_init(&kit, algorithm->name, (enum algorithm_mechanism)mechanism, EXPERTS);
    kit_set(&kit, "steps", 60);
    kit_set(&kit, "arithmetic", arithmetic);
    kit_plan(&kit);
    struct dataset *data = odd_data(number);
    const struct algorithm_run run = {
        .request = &kit.request, .plan = &kit.plan, .data = data, .hides_divergence = true};
    struct policy *policy = NULL;
    const char *message = NULL;
    enum algorithm_status status = algorithm->train(&run, &policy, &message);
    expect_finite(algorithm->name, mechanism, status, policy, message);
    policy_free(policy);
    dataset_free(data);
}

Test(learners, go_on_with_data_that_are_not_finite)
{
    static const int mechanisms[] = {MECHANISM_NONE, MECHANISM_DPSGD};
    unsigned count, learned = 0;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned a = 0; a < count; a++)
        for (int k = 0; k < 4 * ODD && all[a]->kind == ALGORITHM_LEARNS_FROM_DATA; k++, learned++)
            learn_odd(all[a], mechanisms[k % 2], k / 2 % 2, odd[k / 4]);
    cr_expect_gt(learned, 0);
}
