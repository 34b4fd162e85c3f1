/* Weights in a ball: projected, averaged, released. */
#include "algos/privacy/functions/gaussian_process_features.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/functions/gaussian_grid.h"
#include "tests/unit/privacy/golden.h"

static long double norm_of(const double *w, size_t count)
{
    long double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (long double)w[i] * w[i];
    return sqrtl(sum);
}

Test(gaussian_process_features, projection_ends_inside_the_ball)
{
    static const double scales[] = {1e-200, 1e-3, 1.0, 1e200};
    struct noise_source *noise = golden_noise(660);
    for (int round = 0; round < 400; round++) {
        double w[50], before[50], scale = scales[round % 4],
                                  radius = scale * exp(noise_normal(noise));
        size_t count = 1 + noise_below(noise, 50);
        for (size_t i = 0; i < count; i++)
            before[i] = w[i] = scale * noise_normal(noise);
        gaussian_features_project(w, count, radius);
        long double was = norm_of(before, count), is = norm_of(w, count);
        cr_assert_leq(is, (long double)radius, "by %Lg", is / radius - 1.0L);
        if (was > radius)
            cr_assert_geq(is, radius * (1.0L - 1e-13L));
        else if (was < radius * (1.0L - 1e-13L))
            cr_assert_arr_eq(w, before, count * sizeof *w);
    }
    noise_source_free(noise);
    double zero[2] = {0, 0}, none[3] = {1, NAN, 2}, huge[2] = {1.0, -INFINITY};
    gaussian_features_project(zero, 2, 1.0);
    gaussian_features_project(none, 3, 1.0);
    gaussian_features_project(huge, 2, 1.0);
    cr_assert(zero[0] == 0.0 && none[0] == 0.0 && none[1] == 0.0 && huge[0] == 0.0);
}

Test(gaussian_process_features, one_shard_moves_the_mean_by_no_more_than_the_sensitivity)
{
    enum { SHARDS = 7, COUNT = 20 };
    double worst = 0, bound = gaussian_features_sensitivity(2.0, SHARDS);
    cr_assert(bound >= 4.0 / 7.0 && bound < 4.0 / 7.0 * (1.0 + 1e-13), "%.17g", bound);
    struct noise_source *noise = golden_noise(661);
    for (int round = 0; round < 200; round++) {
        double w[SHARDS + 1][COUNT], mean[2][COUNT];
        for (int s = 0; s <= SHARDS; s++) {
            for (int i = 0; i < COUNT; i++) /* the last is the first turned round: the worst case */
                w[s][i] = s == SHARDS ? -w[0][i] : 10.0 * noise_normal(noise);
            gaussian_features_project(w[s], COUNT, 2.0);
        }
        long double apart = 0;
        for (int i = 0; i < COUNT; i++) {
            mean[0][i] = w[0][i];
            mean[1][i] = w[SHARDS][i];
            for (int s = 1; s < SHARDS; s++) {
                mean[0][i] += w[s][i];
                mean[1][i] += w[s][i];
            }
            long double change = mean[0][i] / SHARDS - mean[1][i] / SHARDS;
            apart += change * change;
        }
        worst = fmax(worst, (double)sqrtl(apart));
    }
    cr_assert(worst <= bound && worst > 0.999 * bound, "%.17g against %.17g", worst, bound);
    noise_source_free(noise);
}

Test(gaussian_process_features, release_is_normal_and_on_the_grid)
{
    enum { N = 50000 };
    struct noise_source *noise = golden_noise(662);
    double *v = malloc(N * sizeof *v), sigma = 0.3;
    for (int i = 0; i < N; i++)
        v[i] = 0.7;
    gaussian_features_release(noise, v, N, 1.0, 0.1, sigma, v);
    for (int i = 0; i < N; i++) {
        double step = sigma * GAUSSIAN_GRID_STEP;
        cr_assert_float_eq(v[i] / step, rint(v[i] / step), 1e-10);
        v[i] = (v[i] - 0.7) / sigma;
    }
    /* the grid moves the law by 2^-13 / sqrt(2 pi) at most: 0.02 in the scale of KS_LIMIT */
    cr_assert_lt(golden_ks(v, N, golden_normal_cdf), KS_LIMIT);
    free(v);
    noise_source_free(noise);
}
