/* Functional Q-learning of unit reward: the law of its noise, what neighbouring rewards move, the
 * price, and that it learns where the noise is little. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/release/gp_q_learning.h"
#include "algos/release/reward_q.h"
#include "envs/rng.h"
#include "tests/unit/privacy/kernel_norm.h"

enum { BITS = 4, KNOTS = (1 << BITS) + 1, ACTIONS = 2, BATCH = 8 };

static struct reward_q_settings line(void)
{
    return (struct reward_q_settings){.state_dim = 1,
                                      .actions = ACTIONS,
                                      .low = {0},
                                      .high = {1},
                                      .knot_bits = BITS,
                                      .beta = 3,
                                      .batch = BATCH,
                                      .rate = 0.5,
                                      .error_limit = 100,
                                      .discount = 0.9,
                                      .reward_scale = 1,
                                      .value_limit = 1000};
}

static struct reward_q_settings cube(void)
{
    struct reward_q_settings s = line();
    s.state_dim = 3;
    s.high[1] = s.high[2] = 1;
    s.features = 12;
    s.seed = 5;
    return s;
}

static struct noise_source *noise_of(uint8_t seed)
{
    const uint8_t key[32] = {seed, 31};
    return noise_source_new_injected(key);
}

struct walk {
    float state[3], next[3];
    uint32_t action;
    bool terminated;
};

static void draw_walk(struct rng *rng, struct walk *w)
{
    for (int i = 0; i < 3; i++) {
        w->state[i] = (float)rng_uniform(rng);
        w->next[i] = (float)rng_uniform(rng);
    }
    w->action = rng_below(rng, ACTIONS);
    w->terminated = rng_below(rng, 4) == 0;
}

/* ---- the law */

/* An update of errors 0 at one state leaves a path of deviation SIGMA / BATCH there and that
 * covariance; chi-square of 20000 paths at 5 knots of both actions. */
Test(reward_q, noise_has_the_kernel_and_falls_with_what_the_states_allow)
{
    enum { PATHS = 20000 };
    static const int at[] = {0, 3, 4, 9, 16};
    double moment[10][10] = {{0}};
    struct noise_source *noise = noise_of(1);
    struct reward_q_settings s = line();
    struct reward_q *q = reward_q_new(&s);
    size_t count;
    float *f = reward_q_numbers(q, &count);
    cr_assert_eq(count, KNOTS * ACTIONS);
    const float state = 0.5F;
    for (int p = 0; p < PATHS; p++) {
        memset(f, 0, count * sizeof *f);
        reward_q_add(q, &state, 0, 0, &state, true);
        reward_q_update(q, noise, 10.0);
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < 10; j++)
                moment[i][j] += (double)f[at[i % 5] * ACTIONS + i / 5] *
                                (double)f[at[j % 5] * ACTIONS + j / 5] / PATHS;
    }
    double variance = pow(10.0 / BATCH, 2); /* one visit of a batch of eight */
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
            double distance = abs(at[i % 5] - at[j % 5]) / 16.0;
            double kernel = i / 5 == j / 5 ? exp(-3 * distance) : 0.0;
            /* 100 entries at 5.5 deviations: 4e-6 */
            cr_expect_float_eq(moment[i][j] / variance, kernel,
                               5.5 * sqrt((1 + kernel * kernel) / PATHS), "%d %d", i, j);
        }
    reward_q_free(q);
    noise_source_free(noise);
}

/* ---- the sensitivity */

/* The kernel's norm of the difference of two functions on the knots, or the 2-norm. */
static double distance(const struct reward_q_settings *s, const float *a, const float *b)
{
    double sum = 0, x[KNOTS], f[KNOTS];
    if (s->features > 0) {
        for (size_t i = 0; i < (size_t)s->features * ACTIONS; i++)
            sum += pow((double)a[i] - (double)b[i], 2);
        return sqrt(sum);
    }
    for (int action = 0; action < ACTIONS; action++) {
        for (int i = 0; i < KNOTS; i++) {
            x[i] = i / (KNOTS - 1.0);
            f[i] = (double)a[i * ACTIONS + action] - (double)b[i * ACTIONS + action];
        }
        sum += gaussian_process_norm_squared(s->beta, x, f, KNOTS);
    }
    return sqrt(sum);
}

/* Two worlds whose rewards differ by at most 1, under the same next to no noise: one update moves
 * them apart by no more than the bound, and by all of it where every error changes by 1 at one
 * state. SIGN: -1, 1: all rewards by that; 0: each by its own. */
static double moved(const struct reward_q_settings *s, struct rng *rng, int sign, bool one_state,
                    double error_limit)
{
    struct reward_q_settings settings = *s;
    settings.error_limit = error_limit;
    struct reward_q *q[2];
    float *f[2];
    size_t count;
    double spread = 4.0 * rng_uniform(rng);
    for (int world = 0; world < 2; world++) {
        q[world] = reward_q_new(&settings);
        f[world] = reward_q_numbers(q[world], &count);
    }
    for (size_t i = 0; i < count; i++)
        f[0][i] = f[1][i] = (float)(spread * rng_normal(rng));
    struct walk w;
    for (int t = 0; t < BATCH; t++) {
        if (t == 0 || !one_state)
            draw_walk(rng, &w);
        double reward = 3.0 * rng_normal(rng);
        double change = sign == 0 ? 2.0 * rng_uniform(rng) - 1.0 : sign;
        reward_q_add(q[0], w.state, w.action, reward, w.next, w.terminated);
        reward_q_add(q[1], w.state, w.action, reward + change, w.next, w.terminated);
    }
    double sigma = 1e-7, apart;
    for (int world = 0; world < 2; world++) {
        struct noise_source *noise = noise_of(2);
        reward_q_update(q[world], noise, sigma);
        noise_source_free(noise);
    }
    apart = distance(&settings, f[0], f[1]);
    reward_q_free(q[0]);
    reward_q_free(q[1]);
    return apart;
}

Test(reward_q, neighbours_move_an_update_by_no_more_than_the_bound)
{
    const struct reward_q_settings kinds[] = {line(), cube()};
    struct rng rng;
    rng_seed(&rng, 4, 0);
    for (int k = 0; k < 2; k++) {
        const struct reward_q_settings *s = &kinds[k];
        double bound = reward_q_step_sensitivity(s), most = 0;
        cr_expect_geq(bound, s->rate);
        cr_expect_leq(bound, s->rate * (1 + 1e-6));
        for (int round = 0; round < 300; round++) {
            double apart = moved(s, &rng, round % 3 - 1, round % 2, 100);
            most = fmax(most, apart);
            cr_expect_leq(apart, bound * (1 + 1e-4), "%d", round); /* f is kept in floats */
        }
        if (k == 0) /* features are of norm below 1, so there the bound is not met */
            cr_expect_geq(most, bound * (1 - 1e-4));
        struct reward_q_settings clipped = *s;
        clipped.error_limit = 0.1;
        bound = reward_q_step_sensitivity(&clipped);
        cr_expect_leq(bound, 0.2 * s->rate * (1 + 1e-5));
        for (int round = 0; round < 100; round++)
            cr_expect_leq(moved(s, &rng, round % 3 - 1, round % 2, 0.1), bound * (1 + 1e-4));
    }
}

/* The path that is put together from differences has the kernel's covariance. Bounds at 5
 * deviations. */
Test(reward_q, noise_of_an_update_is_a_path_of_the_kernel)
{
    enum { RUNS = 20000 };
    struct reward_q_settings s = line();
    s.batch = 1;
    double sigma = 0.8, square[2] = {0}, product[2] = {0};
    struct noise_source *noise = noise_of(7);
    for (int i = 0; i < RUNS; i++) {
        struct reward_q *q = reward_q_new(&s);
        const float state = 0.3F;
        size_t count;
        reward_q_add(q, &state, 1, 0.0, &state, true); /* an error of 0: noise alone */
        reward_q_update(q, noise, sigma);
        const float *f = reward_q_numbers(q, &count);
        double first = f[0] / sigma, next = f[ACTIONS] / sigma, last = f[count - ACTIONS] / sigma;
        square[0] += first * first / RUNS;
        square[1] += last * last / RUNS;
        product[0] += first * next / RUNS;
        product[1] += first * last / RUNS;
        reward_q_free(q);
    }
    double slack = 5.0 * sqrt(2.0 / RUNS);
    cr_expect_float_eq(square[0], 1.0, slack);
    cr_expect_float_eq(square[1], 1.0, slack);
    cr_expect_float_eq(product[0], exp(-s.beta / (KNOTS - 1)), slack);
    cr_expect_float_eq(product[1], exp(-s.beta), slack);
    noise_source_free(noise);
}

/* What is no number, or endless, moves an update like any other reward. */
Test(reward_q, wild_rewards_and_states_are_held)
{
    const struct reward_q_settings s = line();
    static const double wild[] = {NAN, INFINITY, -INFINITY, 1e300};
    struct noise_source *noise = noise_of(3);
    struct reward_q *q = reward_q_new(&s);
    size_t count;
    float *f = reward_q_numbers(q, &count), odd[] = {NAN, INFINITY, -INFINITY, -5.0F, 7.0F};
    double values[ACTIONS];
    for (int i = 0; i < 4; i++) {
        reward_q_add(q, &odd[i], 0, wild[i], &odd[i + 1], false);
        reward_q_update(q, noise, 1.0);
        for (size_t k = 0; k < count; k++)
            cr_assert(isfinite(f[k]) && fabsf(f[k]) <= 1000);
        reward_q_values(q, &odd[i], values);
        cr_assert(isfinite(values[0]) && isfinite(values[1]));
    }
    reward_q_free(q);
    noise_source_free(noise);
}

/* ---- the mechanism is as good as its price: what one state tells is mu, and not more. Four
 * bounds at 5 deviations. */
Test(reward_q, one_update_at_one_state_is_exactly_its_price)
{
    enum { RUNS = 20000 };
    struct reward_q_settings s = line();
    s.batch = 1;
    double sigma = 0.8, mu = reward_q_step_sensitivity(&s) / sigma, mean[2] = {0}, square[2] = {0};
    struct noise_source *noise = noise_of(6);
    for (int world = 0; world < 2; world++)
        for (int i = 0; i < RUNS; i++) {
            struct reward_q *q = reward_q_new(&s);
            const float state = 0.3F;
            double values[ACTIONS];
            reward_q_add(q, &state, 1, world, &state, true);
            reward_q_update(q, noise, sigma);
            reward_q_values(q, &state, values);
            mean[world] += values[1] / RUNS;
            square[world] += values[1] * values[1] / RUNS;
            reward_q_free(q);
        }
    double deviation = sqrt(square[0] - mean[0] * mean[0]);
    cr_expect_float_eq(deviation, sigma, 5 * sigma / sqrt(2.0 * RUNS));
    cr_expect_float_eq((mean[1] - mean[0]) / deviation, mu, 10.0 / sqrt(RUNS));
    noise_source_free(noise);
}

/* ---- as an algorithm */

static struct algorithm_request request_of(uint32_t dim)
{
    struct algorithm_request request = {.mechanism = MECHANISM_GAUSSIAN_PROCESS,
                                        .protects_rewards = true,
                                        .epsilon = 1,
                                        .delta = 1e-5,
                                        .discount = 0.9,
                                        .state_dim = dim,
                                        .action_count = ACTIONS,
                                        .seed = 12};
    parameters_defaults(gp_q_parameters, GP_Q_COUNT, &request.parameters);
    request.parameters.value[GP_Q_KNOT_BITS].number[0] = 6;
    request.parameters.value[GP_Q_FEATURES].number[0] = 12;
    request.parameters.value[GP_Q_REWARD_SCALE].number[0] = 1;
    return request;
}

static void set(struct algorithm_request *request, enum gp_q_parameter which, double value)
{
    request->parameters.value[which].number[0] = value;
}

/* 400 steps on [0, 1]: action 0 up, 1 down by up to 1/4; reward 1/2 - |s' - 1/2|. */
static struct dataset *hit_or_stand(double scale)
{
    enum { LENGTH = 400 };
    struct dataset_builder *builder = dataset_builder_new(1, ACTIONS, 1);
    struct rng rng;
    rng_seed(&rng, 9, 9);
    float states[LENGTH + 1] = {0.5F}, rewards[LENGTH];
    uint16_t actions[LENGTH];
    for (int t = 0; t < LENGTH; t++) {
        actions[t] = (uint16_t)rng_below(&rng, 2);
        double move = 0.25 * rng_uniform(&rng) * (actions[t] == 0 ? 1 : -1);
        states[t + 1] = (float)fmin(fmax((double)states[t] + move, 0.0), 1.0);
        rewards[t] = (float)(scale * (0.5 - fabs((double)states[t + 1] - 0.5)));
    }
    const struct trajectory one = {.length = LENGTH,
                                   .truncated = true,
                                   .states = states,
                                   .actions = actions,
                                   .rewards = rewards};
    cr_assert(dataset_builder_add(builder, &one));
    return dataset_builder_finish(builder);
}

struct taking {
    struct q_release *release;
    unsigned char *saved;
    size_t size;
    uint64_t stop_at;
};

static void give(void *context, struct q_release *release, bool injected)
{
    struct taking *taking = context;
    cr_assert(injected && taking->release == NULL);
    taking->release = release;
}

static enum algorithm_pulse pulse(void *context, uint64_t steps)
{
    const struct taking *taking = context;
    return taking->stop_at > 0 && steps == taking->stop_at ? PULSE_SAVE_AND_PAUSE : PULSE_CONTINUE;
}

static bool save(void *context, uint64_t steps, const unsigned char *bytes, size_t size)
{
    struct taking *taking = context;
    (void)steps;
    taking->saved = malloc(size);
    memcpy(taking->saved, bytes, size);
    taking->size = size;
    return true;
}

static enum algorithm_status train(const struct algorithm_request *request,
                                   const struct dataset *data, struct taking *taking)
{
    struct algorithm_plan plan;
    const char *message = NULL;
    struct policy *policy = NULL;
    struct noise_source *noise = noise_of(8);
    cr_assert_eq(gp_q_learning_algorithm.plan(request, &plan, &message), ALGORITHM_OK, "%s",
                 message);
    const struct algorithm_run run = {
        .request = request,
        .plan = &plan,
        .data = data,
        .checkpoint = taking->saved,
        .checkpoint_size = taking->size,
        .hooks = {.context = taking, .give_release = give, .pulse = pulse, .save = save},
        .noise = noise};
    enum algorithm_status status = gp_q_learning_algorithm.train(&run, &policy, &message);
    cr_assert_null(policy);
    noise_source_free(noise);
    return status;
}

Test(reward_q, the_price_is_that_of_all_updates_together)
{
    for (uint32_t dim = 1; dim <= 3; dim += 2)
        for (int updates = 1; updates <= 100; updates *= 10) {
            struct algorithm_request request = request_of(dim);
            set(&request, GP_Q_UPDATES, updates);
            set(&request, GP_Q_RATE, 0.25);
            struct algorithm_plan plan;
            const char *message;
            cr_assert_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
            const struct q_terms *t = &plan.release;
            double mu = t->sensitivity * sqrt(updates) / t->sigma;
            cr_expect_float_eq(t->sensitivity, 0.25, 1e-6);
            cr_expect_float_eq(t->mu, mu, 1e-9);
            cr_expect_leq(gaussian_dp_epsilon(mu, 1e-5), 1 + 1e-9);
            cr_expect_geq(gaussian_dp_epsilon(mu, 1e-5), 0.999);
            cr_expect_leq(plan.privacy.epsilon, 1);
            cr_expect_eq(plan.privacy.steps, (uint64_t)updates);
            cr_expect_eq(plan.privacy.sampling_rate, 1);
            cr_expect_leq(plan.privacy.noise_multiplier * t->sensitivity, t->sigma);
            cr_expect_eq(t->unit, Q_UNIT_REWARD);
            cr_expect_eq(t->form, dim == 1 ? Q_FORM_GRID : Q_FORM_FEATURES);
        }
}

/* Rewards that are many times what neighbours may differ by: the release knows where to go. */
Test(reward_q, learns_from_logged_transitions)
{
    struct dataset *data = hit_or_stand(2000);
    struct algorithm_request request = request_of(1);
    set(&request, GP_Q_UPDATES, 200);
    set(&request, GP_Q_RATE, 4);
    set(&request, GP_Q_ERROR_LIMIT, 1e5);
    set(&request, GP_Q_VALUE_LIMIT, 1e5);
    struct taking taking = {0};
    cr_assert_eq(train(&request, data, &taking), ALGORITHM_OK);
    double right = 0;
    for (int i = 0; i <= 40; i++) {
        double x = i / 40.0, values[ACTIONS];
        cr_assert_eq(q_release_values(taking.release, &x, values, NULL), Q_ANSWERED);
        if (fabs(x - 0.5) > 0.15)
            right += (values[0] > values[1]) == (x < 0.5);
    }
    cr_expect_geq(right, 27); /* of 28 */
    q_release_free(taking.release);
    dataset_free(data);
}

Test(reward_q, goes_on_from_a_checkpoint_and_refuses_another_run)
{
    struct dataset *data = hit_or_stand(1);
    for (uint32_t form = 1; form <= 2; form++) {
        struct algorithm_request request = request_of(1);
        set(&request, GP_Q_FORM, form);
        struct taking taking = {.stop_at = 10};
        cr_assert_eq(train(&request, data, &taking), ALGORITHM_PAUSED);
        cr_assert_not_null(taking.saved);
        taking.stop_at = 0;
        cr_assert_eq(train(&request, data, &taking), ALGORITHM_OK);
        cr_assert_eq((q_release_network(taking.release) != NULL), form == 2);
        q_release_free(taking.release);
        taking.release = NULL;
        request.seed++;
        cr_expect_eq(train(&request, data, &taking), ALGORITHM_BAD_CHECKPOINT);
        request.seed--;
        taking.saved[taking.size / 2] ^= 1;
        cr_expect_eq(train(&request, data, &taking), ALGORITHM_BAD_CHECKPOINT);
        free(taking.saved);
    }
    dataset_free(data);
}

Test(reward_q, plays_in_a_world)
{
    struct algorithm_request request = request_of(4);
    request.world = env_find("cartpole");
    env_defaults(request.world, request.world_parameters);
    algorithm_defaults(&gp_q_learning_algorithm, "cartpole", &request.parameters);
    struct taking taking = {0};
    cr_assert_eq(train(&request, NULL, &taking), ALGORITHM_OK);
    cr_assert_not_null(q_release_network(taking.release));
    q_release_free(taking.release);
}

Test(reward_q, settings_that_do_not_fit_are_named)
{
    static const struct {
        enum gp_q_parameter which;
        double value;
        uint32_t dim;
        const char *word;
    } bad[] = {{GP_Q_FORM, 1, 2, "features"},
               {GP_Q_FORM, 3, 2, "features"},
               {GP_Q_LOW, 1, 1, "low"},
               {GP_Q_FEATURES, 2, 3, "features"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct algorithm_request request = request_of(bad[i].dim);
        set(&request, bad[i].which, bad[i].value);
        struct algorithm_plan plan;
        const char *message = NULL;
        cr_expect_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
        cr_expect(message != NULL && strstr(message, bad[i].word) != NULL, "%s", message);
    }
    struct algorithm_request request = request_of(1);
    request.epsilon = 0;
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_expect_eq(gp_q_learning_algorithm.plan(&request, &plan, &message), ALGORITHM_BAD_INPUT);
}
