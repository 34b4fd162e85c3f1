/* Optimisers against steps worked out by hand. */
#include "algos/nn/optimizer.h"

#include <criterion/criterion.h>
#include <math.h>

Test(optimizer, sgd_with_momentum_by_hand)
{
    const struct optimizer_settings settings = {.kind = OPTIMIZER_SGD, .momentum = 0.5};
    struct optimizer o;
    cr_assert(optimizer_init(&o, &settings, 2));
    float p[2] = {1.0F, -2.0F};
    const float g[2] = {2.0F, -4.0F};
    optimizer_step(&o, p, g, 0.25); /* v = g */
    cr_assert_eq(p[0], 0.5F);
    cr_assert_eq(p[1], -1.0F);
    optimizer_step(&o, p, g, 0.25); /* v = 1.5 g */
    cr_assert_eq(p[0], -0.25F);
    cr_assert_eq(p[1], 0.5F);
    cr_assert_eq(o.step, 2);
    cr_assert_null(o.second);
    optimizer_clear(&o);
}

/* First step: both corrected moments are g and g^2, so the move is the rate times g / (|g| + eps).
 * Second step with gradient 0: m = 0.9 * 0.1 g / (1 - 0.81), v = 0.999 * 0.001 g^2 / (1 -
 * 0.998001).
 */
Test(optimizer, adam_by_hand)
{
    const struct optimizer_settings settings = {
        .kind = OPTIMIZER_ADAM, .momentum = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    struct optimizer o;
    cr_assert(optimizer_init(&o, &settings, 2));
    float p[2] = {1.0F, 1.0F};
    const float g[2] = {0.5F, -3.0F}, zero[2] = {0.0F, 0.0F};
    optimizer_step(&o, p, g, 0.1);
    cr_assert_float_eq(p[0], 0.9, 1e-6);
    cr_assert_float_eq(p[1], 1.1, 1e-6);
    optimizer_step(&o, p, zero, 0.1);
    double move = 0.1 * (0.9 * 0.1 / (1.0 - 0.81)) / sqrt(0.999 * 0.001 / (1.0 - 0.998001));
    cr_assert_float_eq(p[0], 0.9 - move, 2e-6);
    cr_assert_float_eq(p[1], 1.1 + move, 2e-6);
    optimizer_clear(&o);
}

Test(optimizer, adam_epsilon_bounds_the_move_of_tiny_gradients)
{
    const struct optimizer_settings settings = {
        .kind = OPTIMIZER_ADAM, .momentum = 0.9, .beta2 = 0.999, .epsilon = 1.0};
    struct optimizer o;
    cr_assert(optimizer_init(&o, &settings, 1));
    float p = 0.0F;
    const float g = 1.0F;
    optimizer_step(&o, &p, &g, 0.1);
    cr_assert_float_eq(p, -0.05, 1e-6);
    optimizer_clear(&o);
}
