/* Means and deviations by their definitions, and networks that read plain numbers again. */
#include "algos/online/normalizer.h"

#include <criterion/criterion.h>
#include <math.h>

#include "algos/online/orthogonal.h"

enum { ROWS = 200, DIM = 3 };

/* Numbers of very different size and spread; the last hardly varies. */
static void draw(float rows[ROWS * DIM])
{
    struct rng rng;
    rng_seed(&rng, 1, 0);
    for (int i = 0; i < ROWS; i++) {
        rows[i * DIM] = (float)(1000.0 + 3.0 * rng_normal(&rng));
        rows[i * DIM + 1] = (float)(-0.5 + 0.2 * rng_normal(&rng));
        rows[i * DIM + 2] = i == 7 ? 1.0F : 0.9999F;
    }
}

Test(normalizer, sees_means_and_deviations_in_any_portions)
{
    float rows[ROWS * DIM];
    struct normalizer whole = {0}, parts = {0};
    draw(rows);
    normalizer_see(&whole, DIM, rows, ROWS);
    for (int i = 0; i < ROWS; i += 50)
        normalizer_see(&parts, DIM, rows + (size_t)i * DIM, 50);
    for (int k = 0; k < DIM; k++) {
        double mean = 0.0, squares = 0.0;
        for (int i = 0; i < ROWS; i++)
            mean += (double)rows[i * DIM + k] / ROWS;
        for (int i = 0; i < ROWS; i++)
            squares += pow((double)rows[i * DIM + k] - mean, 2) / ROWS;
        cr_assert_float_eq(whole.mean[k], mean, 1e-9 * fabs(mean));
        double expected = fmax(sqrt(squares), NORMALIZER_LEAST_DEVIATION);
        cr_assert_float_eq(normalizer_deviation(&whole, (uint32_t)k), expected, 1e-9 * expected);
        cr_assert_eq(whole.mean[k], parts.mean[k]);
        cr_assert_eq(whole.squares[k], parts.squares[k]);
    }
    cr_assert_eq(normalizer_deviation(&whole, 2), NORMALIZER_LEAST_DEVIATION);
}

Test(normalizer, changes_nothing_before_it_has_seen_two_rows)
{
    const float row[DIM] = {5.0F, -3.0F, 0.5F};
    float out[DIM];
    struct normalizer fresh = {0};
    for (int seen = 0; seen < 2; seen++) {
        normalizer_apply(&fresh, DIM, row, 1, out);
        for (int k = 0; k < DIM; k++)
            cr_assert_eq(out[k], row[k]);
        normalizer_see(&fresh, DIM, row, 1);
    }
}

Test(normalizer, gives_mean_zero_and_deviation_one)
{
    float rows[ROWS * DIM], out[ROWS * DIM];
    struct normalizer seen = {0}, after = {0};
    draw(rows);
    normalizer_see(&seen, DIM, rows, ROWS);
    normalizer_apply(&seen, DIM, rows, ROWS, out);
    normalizer_see(&after, DIM, out, ROWS);
    for (int k = 0; k < 2; k++) {
        cr_assert_float_eq(after.mean[k], 0.0, 1e-4);
        cr_assert_float_eq(normalizer_deviation(&after, (uint32_t)k), 1.0, 1e-4);
    }
}

Test(normalizer, folds_into_the_first_layer)
{
    const struct mlp_shape shape = {
        .input = DIM, .layer_count = 2, .width = {8, 2}, .activation = MLP_TANH};
    float rows[ROWS * DIM], plain[8 * DIM + 8 + 16 + 2], normal[8 * DIM + 8 + 16 + 2];
    struct normalizer seen = {0};
    struct rng rng;
    rng_seed(&rng, 2, 0);
    draw(rows);
    normalizer_see(&seen, DIM, rows, ROWS);
    orthogonal_initialize(&shape, &rng, 1.0, 1.0, normal);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        plain[i] = normal[i];
    normalizer_fold(&seen, &shape, plain);
    for (int i = 0; i < ROWS; i++) {
        float read[DIM], a[2], b[2], scratch[16];
        normalizer_apply(&seen, DIM, rows + (size_t)i * DIM, 1, read);
        mlp_forward_one(&shape, normal, read, a, scratch);
        mlp_forward_one(&shape, plain, rows + (size_t)i * DIM, b, scratch);
        /* 1000 / 3 in float: the fold loses about 1e-4 there. */
        cr_assert_float_eq(a[0], b[0], 1e-3);
        cr_assert_float_eq(a[1], b[1], 1e-3);
    }
}
