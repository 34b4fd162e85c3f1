/* The loss of conservative Q-learning against its definition, and what its plan refuses. */
#include "algos/offline/cql.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "envs/rng.h"
#include "tests/unit/algos/offline_kit.h"

static double loss_by_definition(const double *q, uint32_t n, uint32_t action, double y,
                                 double alpha)
{
    double sum = 0.0;
    for (uint32_t b = 0; b < n; b++)
        sum += exp(q[b]);
    double d = q[action] - y;
    double huber = fabs(d) <= 1.0 ? 0.5 * d * d : fabs(d) - 0.5;
    return alpha * (log(sum) - q[action]) + huber;
}

Test(cql, loss_and_gradient_are_those_of_the_definition)
{
    struct rng rng;
    rng_seed(&rng, 2, 2);
    for (int trial = 0; trial < 500; trial++) {
        uint32_t n = 2 + rng_below(&rng, 5), action = rng_below(&rng, n);
        float q[6], gradient[6];
        double exact[6];
        for (uint32_t b = 0; b < n; b++)
            exact[b] = q[b] = (float)(2.0 * rng_normal(&rng));
        float y = (float)(2.0 * rng_normal(&rng)), alpha = (float)rng_between(&rng, 0.0, 4.0);
        const struct cql_loss settings = {n, alpha, 1.0F};
        float loss = cql_loss(&settings, q, action, y, gradient);
        cr_assert_float_eq(loss, loss_by_definition(exact, n, action, y, alpha), 1e-4);
        for (uint32_t b = 0; b < n; b++) {
            double kept = exact[b];
            exact[b] = kept + 1e-5;
            double above = loss_by_definition(exact, n, action, y, alpha);
            exact[b] = kept - 1e-5;
            double below = loss_by_definition(exact, n, action, y, alpha);
            exact[b] = kept;
            cr_assert_float_eq(gradient[b], (above - below) / 2e-5, 1e-4);
        }
    }
}

Test(cql, loss_of_huge_values_is_finite)
{
    const float q[2] = {1e30F, -1e30F};
    const struct cql_loss settings = {2, 1.0F, 1.0F};
    float gradient[2];
    cr_assert(isfinite(cql_loss(&settings, q, 1, 0.0F, gradient)));
    cr_assert_eq(gradient[0], 1.0F);
    cr_assert_eq(gradient[1], -2.0F);
    const float broken[2] = {NAN, 0.0F};
    (void)cql_loss(&settings, broken, 1, 0.0F, gradient);
    cr_assert(isnan(gradient[0]) || isnan(gradient[1]), "a broken row must show");
}

static struct algorithm_request request(void)
{
    struct algorithm_request r = {.mechanism = MECHANISM_DPSGD,
                                  .epsilon = 10,
                                  .delta = 1e-5,
                                  .discount = 0.99,
                                  .state_dim = 4,
                                  .action_count = 2,
                                  .nominal_experts = 300,
                                  .seed = 1};
    parameters_defaults(cql_algorithm.parameters, cql_algorithm.parameter_count, &r.parameters);
    return r;
}

static void set(struct algorithm_request *r, const char *name, double value)
{
    int index = parameters_index(cql_algorithm.parameters, cql_algorithm.parameter_count, name);
    cr_assert_geq(index, 0);
    r->parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
}

Test(cql, plan_describes_the_private_run)
{
    struct algorithm_request r = request();
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_OK);
    cr_assert_eq(plan.total_steps, plan.privacy.steps);
    cr_assert_eq(plan.privacy.batch_size, 128);
    cr_assert_float_eq(plan.privacy.sampling_rate, 128.0 / 300.0, 1e-12);
    cr_assert_leq(plan.privacy.epsilon, 10.0);
    cr_assert_gt(plan.privacy.epsilon, 9.5);
    cr_assert_eq(plan.parameter_count, mlp_parameter_count(&plan.shape));
    cr_assert_eq(plan.shape.input, 4);
    cr_assert_eq(plan.shape.width[plan.shape.layer_count - 1], 2);
    double found = plan.privacy.noise_multiplier;
    set(&r, "noise_multiplier", 2.0 * found);
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_OK);
    cr_assert_eq(plan.privacy.noise_multiplier, 2.0 * found);
    cr_assert_leq(plan.privacy.epsilon, 10.0);
    set(&r, "noise_multiplier", 0.5 * found);
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_OK);
    cr_assert_lt(plan.total_steps, 10000);
    cr_assert_leq(plan.privacy.epsilon, 10.0);
}

Test(cql, plan_without_privacy_costs_nothing)
{
    struct algorithm_request r = request();
    struct algorithm_plan plan;
    const struct dp_sgd_plan nothing = {0};
    const char *message = NULL;
    r.mechanism = MECHANISM_NONE;
    r.nominal_experts = 0;
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_OK);
    cr_assert_eq(memcmp(&plan.privacy, &nothing, sizeof nothing), 0);
    cr_assert_gt(plan.total_steps, 0);
}

Test(cql, plan_refuses_what_cannot_be)
{
    struct algorithm_plan plan;
    const char *message = NULL;
    struct algorithm_request r = request();
    set(&r, "batch_size", 301);
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_BAD_INPUT);
    cr_assert_not_null(strstr(message, "batch_size"));
    r = request();
    r.nominal_experts = 0;
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_BAD_INPUT);
    r = request();
    r.epsilon = -1;
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_BAD_INPUT);
    r = request();
    r.discount = 1.5;
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_BAD_INPUT);
    r = request();
    set(&r, "learning_rate", -1);
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_BAD_INPUT);
    r = request();
    set(&r, "noise_multiplier", 0.5);
    r.epsilon = 0.01;
    cr_assert_eq(cql_algorithm.plan(&r, &plan, &message), ALGORITHM_INFEASIBLE);
}

Test(cql, trusts_long_episodes_only_where_they_are_good)
{
    const struct {
        const char *world;
        double power;
    } cases[] = {{"cartpole", 3}, {"acrobot", 0}, {"lunar_lander", 0}, {NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct parameter_values values;
        algorithm_defaults(&cql_algorithm, cases[i].world, &values);
        cr_expect_eq(kit_number(&cql_algorithm, &values, "weight_power"), cases[i].power);
    }
}
