/* Teachers of both mechanisms: their sensitivity holds, their prices are integers that cover the
 * bound. */
#include "algos/release/teacher.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/answers/filter.h"
#include "envs/rng.h"
#include "tests/unit/teacher_answer.h"

static const uint8_t KEY[32] = {7};

/* A policy with small random weights: 4 inputs, 3 actions. */
static struct policy *random_policy(enum policy_output output, float scale)
{
    struct mlp_shape shape = {.input = 4, .layer_count = 2, .width = {16, 3}};
    struct policy *policy = policy_new(&shape, output);
    cr_assert_not_null(policy);
    struct rng rng;
    rng_seed(&rng, 5, 0);
    for (size_t i = 0; i < mlp_parameter_count(&shape); i++)
        policy->parameters[i] = scale * (float)rng_normal(&rng);
    return policy;
}

static struct teacher plain_teacher(void)
{
    return (struct teacher){.mechanism = &teacher_dirichlet,
                            .dirichlet = {.concentration = 50.0, .min_probability = 0.05},
                            .actions = 3,
                            .temperature = 2.0,
                            .radius = 0.02};
}

static struct teacher gaussian_teacher(void)
{
    return (struct teacher){.mechanism = &teacher_gaussian_simplex,
                            .gaussian = {.sigma = 0.05},
                            .actions = 3,
                            .temperature = 2.0,
                            .radius = 0.02};
}

Test(teacher, nothing_is_computed_from_secret_weights)
{
    struct policy *policy = random_policy(POLICY_Q, 0.5F);
    size_t count = mlp_parameter_count(&policy->shape);
    struct teacher first = plain_teacher(), gaussian = gaussian_teacher();
    first.secret = gaussian.secret = true;
    cr_assert_null(teacher_prepare(&first, policy));
    cr_assert_null(teacher_prepare(&gaussian, policy));
    cr_expect_float_eq(gaussian.sensitivity, sqrt(2), 1e-9, "of any two distributions");
    cr_expect_geq(gaussian.sensitivity, sqrt(2));
    for (int i = 0; i < 3; i++) {
        static const float weights[] = {0.0F, 1e-9F, INFINITY};
        struct teacher other = plain_teacher();
        other.secret = true;
        for (size_t w = 0; w < count; w++)
            policy->parameters[w] = weights[i];
        cr_assert_null(teacher_prepare(&other, policy));
        cr_expect_eq(other.sensitivity, first.sensitivity);
        cr_expect_eq(other.lipschitz, first.lipschitz);
    }
    policy_free(policy);
}

Test(teacher, sensitivity_holds_for_random_neighbours)
{
    struct policy *policy = random_policy(POLICY_Q, 0.5F);
    struct teacher teacher = plain_teacher();
    teacher.radius = 0.3;
    cr_assert_null(teacher_prepare(&teacher, policy));
    struct teacher gaussian = gaussian_teacher();
    gaussian.radius = 0.3;
    cr_assert_null(teacher_prepare(&gaussian, policy));
    cr_assert(teacher.lipschitz > 0.0 && teacher.sensitivity > 0.0);
    cr_assert_float_eq(teacher.sensitivity, 0.85 * gaussian.sensitivity, 1e-9);
    struct rng rng;
    rng_seed(&rng, 6, 0);
    double farthest = 0;
    for (int round = 0; round < 5000; round++) {
        float a[4], b[4], step[4];
        double p[3], q[3], norm = 0, moved = 0, before = 0;
        for (int i = 0; i < 4; i++) {
            a[i] = (float)rng_normal(&rng);
            step[i] = (float)rng_normal(&rng);
            norm += (double)step[i] * step[i];
        }
        for (int i = 0; i < 4; i++)
            b[i] = a[i] + (float)(0.299 * step[i] / sqrt(norm));
        cr_assert(policy_probabilities(policy, a, teacher.temperature, p));
        cr_assert(policy_probabilities(policy, b, teacher.temperature, q));
        for (int i = 0; i < 3; i++)
            before += (p[i] - q[i]) * (p[i] - q[i]);
        cr_assert_leq(sqrt(before), gaussian.sensitivity);
        dirichlet_mix(&teacher.dirichlet, p);
        dirichlet_mix(&teacher.dirichlet, q);
        for (int i = 0; i < 3; i++)
            moved += (p[i] - q[i]) * (p[i] - q[i]);
        farthest = fmax(farthest, sqrt(moved));
    }
    cr_assert(farthest > 0.0 && farthest <= teacher.sensitivity, "%g above %g", farthest,
              teacher.sensitivity);
    policy_free(policy);
}

Test(teacher, sensitivity_never_exceeds_the_simplex)
{
    struct policy *policy = random_policy(POLICY_SOFTMAX, 50.0F);
    struct teacher teacher = plain_teacher();
    cr_assert_null(teacher_prepare(&teacher, policy));
    cr_assert_leq(teacher.sensitivity, sqrt(2.0) * 0.85 * (1.0 + 1e-9));
    teacher = gaussian_teacher();
    cr_assert_null(teacher_prepare(&teacher, policy));
    cr_assert_leq(teacher.sensitivity, sqrt(2.0) * (1.0 + 1e-9));
    policy_free(policy);
}

/* Units of one answer; -1 when it has no price. */
static int64_t price(const struct teacher *teacher, double concentration, double order)
{
    struct filter_price out;
    return teacher_price(teacher, concentration, order, 0, &out) ? out.units : -1;
}

/* The bound is exact: a neighbour of the last float up to it differs, none of the next float does.
 */
Test(teacher, knows_where_floats_are_farther_apart_than_the_radius)
{
    static const double radii[] = {1e-6, 0x1p-20, 0x1.fffffp-20, 1e-3,  0.5,
                                   1,    3,       1e9,           1e-30, 1e-44};
    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++) {
        double most = teacher_resolved_up_to(radii[i]);
        float last = (float)most, next = nextafterf(last, INFINITY);
        cr_expect_eq(last, most);
        cr_expect_leq((double)last - nextafterf(last, 0), radii[i], "radius %g", radii[i]);
        cr_expect_gt((double)next - last, radii[i], "radius %g", radii[i]);
        cr_expect_gt((double)nextafterf(next, INFINITY) - next, radii[i], "radius %g", radii[i]);
    }
    cr_expect_eq(teacher_resolved_up_to(1e-6), 16);
    cr_expect_eq(teacher_resolved_up_to(1e-300), 0);
}

Test(teacher, prices)
{
    struct policy *policy = random_policy(POLICY_SOFTMAX, 0.3F);
    struct teacher teacher = plain_teacher();
    cr_assert_null(teacher_prepare(&teacher, policy));
    const struct filter_release release = filter_dirichlet(&teacher.dirichlet);
    double order = filter_best_order(&release, 10.0, 1e-5, NULL);
    int64_t full = price(&teacher, 50.0, order);
    double bound = 1e9 * dirichlet_renyi_bound(&teacher.dirichlet, order);
    cr_assert((double)full >= bound && (double)full <= bound + 1.5);
    cr_assert(price(&teacher, 30.0, order) <= full && price(&teacher, 30.0, order) > 0);
    double limit = dirichlet_order_limit(&teacher.dirichlet);
    cr_assert_eq(price(&teacher, 50.0, limit), -1);
    cr_assert_eq(price(&teacher, 50.0, 2.0 * limit), -1);
    cr_assert_eq(price(&teacher, 50.0, 1.0), -1);
    cr_assert_eq(price(&teacher, 50.0, NAN), -1);
    cr_assert_eq(price(&teacher, 50.0, INFINITY), -1);
    cr_assert_eq(price(&teacher, 51.0, order), -1);
    cr_assert_eq(price(&teacher, 19.0, order), -1); /* below 1 / min_probability */
    cr_assert_eq(price(&teacher, 0.0, order), -1);
    cr_assert_eq(price(&teacher, NAN, order), -1);
    /* a policy that never changes its mind still costs a unit */
    memset(policy->parameters, 0, mlp_parameter_count(&policy->shape) * sizeof(float));
    cr_assert_null(teacher_prepare(&teacher, policy));
    cr_assert_geq(price(&teacher, 50.0, 2.0), 1);
    policy_free(policy);
}

Test(teacher, prices_of_gaussian_noise)
{
    struct policy *policy = random_policy(POLICY_SOFTMAX, 0.3F);
    struct teacher teacher = gaussian_teacher();
    cr_assert_null(teacher_prepare(&teacher, policy));
    double mu = gaussian_simplex_mu(&teacher.gaussian);
    cr_assert_float_eq(mu, (teacher.sensitivity + sqrt(3.0) * 0x1p-20) / 0.05, 1e-9 * mu);
    double units = (double)price(&teacher, 0.0, 8.0), bound = 1e9 * 4.0 * mu * mu;
    cr_assert(units >= bound && units <= bound * (1.0 + 1e-12) + 1.0);
    cr_assert_eq(price(&teacher, 20.0, 8.0), -1, "it has no concentration");
    cr_assert_eq(price(&teacher, NAN, 8.0), -1);
    cr_assert_eq(price(&teacher, 0.0, INFINITY), -1);
    struct filter_price basic;
    cr_assert(teacher_price(&teacher, 0.0, 0.0, 1000000000000, &basic));
    cr_assert(basic.units > 0 && basic.delta_units == 1000000000000);
    cr_assert_not(teacher_price(&teacher, 0.0, 0.0, 0, &basic));
    teacher.gaussian.sigma = 0.1;
    cr_assert_lt((double)price(&teacher, 0.0, 8.0), units);
    policy_free(policy);
}

Test(teacher, answers)
{
    struct policy *policy = random_policy(POLICY_Q, 0.5F);
    struct teacher teacher = plain_teacher();
    struct noise_source *noise = noise_source_new_injected(KEY);
    float state[4] = {0.1F, -0.2F, 0.3F, 0.0F}, broken[4] = {NAN, 0, 0, 0};
    double z[3], p[3], mean[3] = {0};
    cr_assert_null(teacher_prepare(&teacher, policy));
    cr_assert(policy_probabilities(policy, state, teacher.temperature, p));
    dirichlet_mix(&teacher.dirichlet, p);
    enum { N = 20000 };
    for (int i = 0; i < N; i++) {
        cr_assert(teacher_answer_at(&teacher, policy, NULL, 50.0, noise, state, z));
        cr_assert_eq(z[0] + z[1] + z[2], 1.0);
        for (int a = 0; a < 3; a++)
            mean[a] += z[a] / N;
    }
    for (int a = 0; a < 3; a++) /* five standard errors */
        cr_expect_lt(fabs(mean[a] - p[a]), 5.0 * sqrt(p[a] * (1.0 - p[a]) / 51.0 / N));
    cr_expect_not(teacher_answer_at(&teacher, policy, NULL, 60.0, noise, state, z));
    cr_expect_not(teacher_answer_at(&teacher, policy, NULL, 10.0, noise, state, z));
    cr_expect_not(teacher_answer_at(&teacher, policy, NULL, NAN, noise, state, z));
    cr_expect_not(teacher_answer_at(&teacher, policy, NULL, 50.0, noise, broken, z));
    noise_source_free(noise);
    policy_free(policy);
}

Test(teacher, answers_with_gaussian_noise)
{
    struct policy *policy = random_policy(POLICY_Q, 0.2F);
    struct teacher teacher = gaussian_teacher();
    struct noise_source *noise = noise_source_new_injected(KEY);
    float state[4] = {0.1F, -0.2F, 0.3F, 0.0F}, broken[4] = {NAN, 0, 0, 0};
    double z[3], p[3], mean[3] = {0};
    teacher.gaussian.sigma = 0.03; /* far from the simplex's edge: nothing is cut off */
    cr_assert_null(teacher_prepare(&teacher, policy));
    cr_assert(policy_probabilities(policy, state, teacher.temperature, p));
    enum { N = 20000 };
    int outside = 0;
    double radius = teacher_error_radius(&teacher, 0.0, 0.05);
    for (int i = 0; i < N; i++) {
        double square = 0;
        cr_assert(teacher_answer_at(&teacher, policy, NULL, 0.0, noise, state, z));
        cr_assert_eq(z[0] + z[1] + z[2], 1.0);
        for (int a = 0; a < 3; a++) {
            mean[a] += z[a] / N;
            square += (z[a] - p[a]) * (z[a] - p[a]);
        }
        outside += sqrt(square) > radius;
    }
    for (int a = 0; a < 3; a++) /* five standard errors */
        cr_expect_lt(fabs(mean[a] - p[a]), 5.0 * 0.03 * sqrt(2.0 / 3.0 / N));
    cr_expect_lt(abs(outside - N / 20), 6 * 31, "%d", outside);
    cr_expect_not(teacher_answer_at(&teacher, policy, NULL, 20.0, noise, state, z));
    cr_expect_not(teacher_answer_at(&teacher, policy, NULL, 0.0, noise, broken, z));
    noise_source_free(noise);
    policy_free(policy);
}

/* Eight layers whose product nearly fills a double: finite bound, outputs that overflow. */
static struct policy *enormous_policy(void)
{
    struct mlp_shape shape = {.input = 4, .layer_count = 8, .width = {1, 1, 1, 1, 1, 1, 1, 3}};
    struct policy *policy = policy_new(&shape, POLICY_Q);
    cr_assert_not_null(policy);
    memset(policy->parameters, 0, mlp_parameter_count(&shape) * sizeof(float));
    for (uint32_t l = 0; l < 8; l++)
        for (uint32_t i = 0; i < shape.width[l] * mlp_layer_input(&shape, l); i++)
            policy->parameters[mlp_weight_offset(&shape, l) + i] = 3e37F;
    return policy;
}

/* Whether a state has an answer must not tell how large the weights are. */
Test(teacher, every_finite_state_is_answered)
{
    struct policy *policy = enormous_policy();
    struct teacher teachers[] = {plain_teacher(), gaussian_teacher()};
    struct noise_source *noise = noise_source_new_injected(KEY);
    float state[4] = {3e38F, 3e38F, 3e38F, 3e38F};
    double z[3], p[3];
    cr_assert_not(policy_probabilities(policy, state, 2.0, p), "outputs of this net overflow");
    for (int t = 0; t < 2; t++) {
        double concentration = t == 0 ? 50.0 : 0.0, mean[3] = {0};
        cr_assert_null(teacher_prepare(&teachers[t], policy));
        enum { N = 4000 };
        for (int i = 0; i < N; i++) {
            cr_assert(
                teacher_answer_at(&teachers[t], policy, NULL, concentration, noise, state, z));
            for (int a = 0; a < 3; a++)
                mean[a] += z[a] / N;
        }
        for (int a = 0; a < 3; a++) /* six standard errors: below 1e-7 for all six means */
            cr_expect_float_eq(mean[a], 1.0 / 3, 6.0 * 0.067 / sqrt(N));
    }
    noise_source_free(noise);
    policy_free(policy);
}

Test(teacher, mechanisms_have_names)
{
    cr_expect_eq(teacher_mechanism_find("dirichlet"), &teacher_dirichlet);
    cr_expect_eq(teacher_mechanism_find("gaussian_simplex"), &teacher_gaussian_simplex);
    cr_expect_null(teacher_mechanism_find("gaussian"));
    cr_expect_null(teacher_mechanism_find(""));
}

Test(teacher, unusable_settings_say_why)
{
    struct policy *policy = random_policy(POLICY_Q, 0.5F),
                  *argmax = random_policy(POLICY_ARGMAX, 1);
    struct teacher bad[10];
    for (size_t i = 0; i < 10; i++)
        bad[i] = i < 7 ? plain_teacher() : gaussian_teacher();
    bad[0].actions = 4;
    bad[1].temperature = 0.0;
    bad[2].temperature = NAN;
    bad[3].radius = 0.0;
    bad[4].radius = INFINITY;
    bad[5].dirichlet.concentration = 5.0;
    bad[6].dirichlet.min_probability = 0.4;
    bad[7].gaussian.sigma = 0.0;
    bad[8].gaussian.sigma = NAN;
    bad[9].gaussian.sigma = 1e9;
    for (size_t i = 0; i < 10; i++)
        cr_expect_not_null(teacher_prepare(&bad[i], policy), "case %zu", i);
    struct teacher teacher = plain_teacher();
    cr_expect_not_null(teacher_prepare(&teacher, argmax));
    argmax->output = POLICY_BCQ;
    const char *why = teacher_prepare(&teacher, argmax);
    cr_expect(why && strstr(why, "bcq"), "the set of allowed actions jumps");
    policy->parameters[0] = NAN;
    cr_expect_not_null(teacher_prepare(&teacher, policy));
    policy_free(policy);
    policy_free(argmax);
}

/* Two close states have answers as close as the bound says. Small weights
 * beside large biases: in single precision the rounding of the sum alone would be many times that.
 */
Test(teacher, answers_are_as_smooth_as_their_bound)
{
    struct mlp_shape shape = {.input = 4, .layer_count = 1, .width = {3}};
    struct policy *policy = policy_new(&shape, POLICY_Q);
    cr_assert_not_null(policy);
    for (size_t i = 0; i < 12; i++)
        policy->parameters[i] = 0.001F * (float)(1 + (i * 7) % 5);
    for (size_t i = 12; i < 15; i++)
        policy->parameters[i] = 1000.0F;
    struct teacher teacher = plain_teacher();
    teacher.radius = 2e-7;
    cr_assert_null(teacher_prepare(&teacher, policy));
    double p[3], q[3];
    for (int i = 0; i < 2000; i++) {
        float state[4] = {1.0F + 0.0004F * (float)i, -0.3F, 2.0F, 0.7F}, close[4];
        memcpy(close, state, sizeof state);
        close[0] += 0.001F;
        double apart = (double)close[0] - (double)state[0], square = 0;
        cr_assert(policy_probabilities(policy, state, teacher.temperature, p));
        cr_assert(policy_probabilities(policy, close, teacher.temperature, q));
        for (int a = 0; a < 3; a++)
            square += (p[a] - q[a]) * (p[a] - q[a]);
        cr_expect_leq(sqrt(square), teacher.lipschitz * apart * 1.01, "state %d", i);
    }
    policy_free(policy);
}
