/* Every local mechanism of the table: unbiased, with the error it predicts, clipped, and deaf to
 * what no honest agent sends. A missing clip and a clip of the wrong sign both fail here. */
#include "algos/privacy/local/local_mechanism.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/privacy/golden.h"

#define D 6

static struct local_scheme scheme_of(const struct local_mechanism *mechanism, uint32_t dimension,
                                     double epsilon, double clip)
{
    struct local_parameters parameters = {.dimension = dimension, .epsilon = epsilon, .clip = clip};
    struct local_scheme scheme;
    const char *problem = local_scheme_make(mechanism, &parameters, &scheme);
    cr_assert_null(problem, "%s", problem);
    cr_assert_leq(scheme.report_length, D + 1);
    return scheme;
}

/* A report's public seed. */
static void draw_seed(struct noise_source *noise, unsigned char seed[LOCAL_SEED_SIZE])
{
    for (int i = 0; i < LOCAL_SEED_SIZE; i++)
        seed[i] = (unsigned char)noise_below(noise, 256);
}

static void one_estimate(const struct local_scheme *scheme, const double *vector,
                         struct noise_source *noise, double *estimate)
{
    int64_t report[D + 1];
    unsigned char seed[LOCAL_SEED_SIZE];
    draw_seed(noise, seed);
    cr_assert_eq(scheme->mechanism->randomise(scheme, seed, vector, noise, report), LOCAL_OK);
    cr_assert_eq(scheme->mechanism->decode(scheme, seed, report, estimate), LOCAL_OK);
}

/* Mean and squared error of ROUNDS estimates of what VECTOR is clipped to. */
static void check_law(const struct local_scheme *scheme, const double *vector,
                      const double *clipped, unsigned number)
{
    enum { ROUNDS = 10000 };
    double sum[D + 1] = {0}, square[D + 1] = {0}, squared_norm = 0.0, estimate[D];
    struct noise_source *noise = golden_noise(number);
    for (int i = 0; i < ROUNDS; i++) {
        double error = 0.0;
        one_estimate(scheme, vector, noise, estimate);
        for (int j = 0; j < D; j++) {
            double off = estimate[j] - clipped[j];
            sum[j] += off;
            square[j] += off * off;
            error += off * off;
        }
        sum[D] += error;
        square[D] += error * error;
    }
    for (int j = 0; j < D; j++)
        squared_norm += clipped[j] * clipped[j];
    double predicted = scheme->mechanism->squared_error(scheme, squared_norm);
    for (int j = 0; j <= D; j++) {
        double mean = sum[j] / ROUNDS, spread = sqrt((square[j] / ROUNDS - mean * mean) / ROUNDS);
        double off = j < D ? mean : mean - predicted;
        /* Where every report has the same error, its prediction is exact but for the grid. */
        cr_expect(fabs(off) < Z_LIMIT * spread + 1e-4 * fabs(predicted), "%s, figure %d: %g +- %g",
                  scheme->mechanism->name, j, off, spread);
    }
    noise_source_free(noise);
}

static double norm_of(const struct local_mechanism *mechanism, const double *v)
{
    double one = 0.0, two = 0.0;
    for (int j = 0; j < D; j++) {
        one += fabs(v[j]);
        two += v[j] * v[j];
    }
    return strcmp(mechanism->norm, "l1") ? sqrt(two) : one;
}

static const double direction[D] = {0.4, -0.1, 0.0, 0.9, -0.6, 0.2};

Test(local_mechanism, unbiased_with_the_error_it_predicts)
{
    static const double sizes[] = {0.0, 0.3, 1.0};
    static const double epsilons[] = {1.0, 6.0};
    const struct local_mechanism *mechanism;
    for (size_t i = 0; (mechanism = local_mechanism_at(i)); i++)
        for (size_t e = 0; e < 2; e++) {
            struct local_scheme scheme = scheme_of(mechanism, D, epsilons[e], 2.5);
            cr_expect(scheme.unbiased);
            for (size_t s = 0; s < 3; s++) {
                double v[D], scale = 2.5 * sizes[s] / norm_of(mechanism, direction);
                for (int j = 0; j < D; j++)
                    v[j] = direction[j] * scale;
                check_law(&scheme, v, v, (unsigned)(430 + 6 * i + 3 * e + s));
            }
        }
}

Test(local_mechanism, long_vectors_are_clipped_and_keep_their_direction)
{
    const struct local_mechanism *mechanism;
    for (size_t i = 0; (mechanism = local_mechanism_at(i)); i++) {
        struct local_scheme scheme = scheme_of(mechanism, D, 6.0, 2.5);
        double v[D], clipped[D], scale = 2.5 / norm_of(mechanism, direction);
        for (int j = 0; j < D; j++) {
            v[j] = direction[j] * 1000.0;
            clipped[j] = direction[j] * scale;
        }
        check_law(&scheme, v, clipped, (unsigned)(460 + i));
    }
}

/* With the same randomness, what the clip makes equal gives equal reports. */
static void expect_same(const struct local_scheme *scheme, const double *a, const double *b,
                        const char *what)
{
    double x[D], y[D];
    struct noise_source *noise = golden_noise(470), *again = golden_noise(470);
    for (int i = 0; i < 50; i++) {
        one_estimate(scheme, a, noise, x);
        one_estimate(scheme, b, again, y);
        for (int j = 0; j < D; j++)
            cr_expect(fabs(x[j] - y[j]) < 1e-3, "%s: %s", scheme->mechanism->name, what);
    }
    noise_source_free(noise);
    noise_source_free(again);
}

Test(local_mechanism, only_the_direction_of_a_long_vector_counts)
{
    static const double scales[] = {3.0, 1e6, 1e150, 1.5e308};
    const struct local_mechanism *mechanism;
    for (size_t i = 0; (mechanism = local_mechanism_at(i)); i++) {
        struct local_scheme scheme = scheme_of(mechanism, D, 3.0, 1.0);
        double first[D], long_one[D];
        for (int j = 0; j < D; j++)
            first[j] = direction[j] / norm_of(mechanism, direction);
        for (size_t s = 0; s < 4; s++) {
            for (int j = 0; j < D; j++)
                long_one[j] = direction[j] * scales[s];
            expect_same(&scheme, first, long_one, "clip");
        }
    }
}

Test(local_mechanism, what_is_not_finite_counts_as_zero)
{
    static const double zero[D] = {0};
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    const struct local_mechanism *mechanism;
    for (size_t i = 0; (mechanism = local_mechanism_at(i)); i++) {
        struct local_scheme scheme = scheme_of(mechanism, D, 3.0, 1.0);
        for (size_t o = 0; o < 3; o++) {
            double v[D];
            memcpy(v, direction, sizeof v);
            v[o * 2] = odd[o];
            expect_same(&scheme, zero, v, "not finite");
        }
        double tiny[D] = {5e-324};
        expect_same(&scheme, zero, tiny, "denormal");
    }
}

/* Mean-squared errors per coordinate of a unit vector, d = 112. */
Test(local_mechanism, published_errors)
{
    json_t *root = golden_load("local_reports.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "mse"), i, one)
    {
        double epsilon = golden_number(one, "eps"), d = golden_number(one, "d");
        struct local_parameters parameters = {
            .dimension = (uint32_t)d, .epsilon = epsilon, .clip = sqrt(d)};
        struct local_scheme laplace, sign, unit;
        cr_assert_null(local_scheme_make(&local_laplace, &parameters, &laplace));
        cr_assert_null(local_scheme_make(&local_projected_sign, &parameters, &sign));
        double want = golden_number(one, "laplace_var_coord_C_2sqrtd");
        cr_expect(fabs(local_laplace.squared_error(&laplace, 1.0) / d / want - 1.0) < 1e-8,
                  "%.15g for %.15g", local_laplace.squared_error(&laplace, 1.0) / d, want);
        /* The oracle's C is 1, ours sqrt(3 d): only the first term of the error grows with it. */
        want =
            (golden_number(one, "prs_mse_coord_C1_noclip") * d * fmax(1.0, floor(epsilon / 2.5)) +
             1.0) *
                3.0 * d -
            1.0;
        double got =
            local_projected_sign.squared_error(&sign, 1.0) * fmax(1.0, floor(epsilon / 2.5));
        cr_expect(fabs(got / want - 1.0) < 1e-9, "%g for %g", got, want);
        parameters.clip = 1.0;
        cr_assert_null(local_scheme_make(&local_privunit, &parameters, &unit));
        double least = local_privunit.squared_error(&unit, 1.0) / d;
        cr_expect(least * 95.0 < golden_number(one, "laplace_var_coord_C_2sqrtd"), "%g", least);
        cr_expect_lt(least, golden_number(one, "gauss_var_coord_delta1e5"));
    }
    cr_assert_eq(i, 4);
    json_decref(root);
}

Test(local_mechanism, refuses_reports_that_nobody_honest_sends)
{
    const struct local_mechanism *mechanism;
    struct noise_source *noise = golden_noise(480);
    for (size_t i = 0; (mechanism = local_mechanism_at(i)); i++) {
        struct local_scheme scheme = scheme_of(mechanism, D, 3.0, 1.0);
        double estimate[D] = {42.0};
        int64_t report[D + 1];
        static const unsigned char seed[LOCAL_SEED_SIZE] = {1};
        static const int64_t odd[] = {INT64_MAX, INT64_MIN, (int64_t)1 << 62, 1000000000000000};
        for (size_t o = 0; o < sizeof odd / sizeof odd[0]; o++) {
            cr_assert_eq(mechanism->randomise(&scheme, seed, direction, noise, report), LOCAL_OK);
            cr_expect_eq(mechanism->decode(&scheme, NULL, report, NULL), LOCAL_OK);
            report[o % scheme.report_length] = odd[o];
            cr_expect_eq(mechanism->decode(&scheme, seed, report, estimate), LOCAL_BAD_REPORT, "%s",
                         mechanism->name);
            cr_expect_eq(estimate[0], 42.0, "touched on failure");
            cr_expect_eq(mechanism->decode(&scheme, NULL, report, NULL), LOCAL_BAD_REPORT);
        }
    }
    /* Points off the sphere. */
    struct local_scheme scheme = scheme_of(&local_privunit, D, 3.0, 1.0);
    double estimate[D];
    int64_t zero[D + 1] = {0}, far[D + 1] = {65536, 3000}, on[D + 1] = {0, -65536};
    cr_expect_eq(local_privunit.decode(&scheme, NULL, zero, estimate), LOCAL_BAD_REPORT);
    cr_expect_eq(local_privunit.decode(&scheme, NULL, far, estimate), LOCAL_BAD_REPORT);
    cr_expect_eq(local_privunit.decode(&scheme, NULL, on, estimate), LOCAL_OK);
    noise_source_free(noise);
}

Test(local_mechanism, table_and_parameters)
{
    cr_expect_eq(local_mechanism_find("privunit"), &local_privunit);
    cr_expect_eq(local_mechanism_find("laplace"), &local_laplace);
    cr_expect_eq(local_mechanism_at(0), &local_privunit, "the default comes first");
    cr_expect_null(local_mechanism_find("gaussian"));
    static const struct local_parameters bad[] = {
        {.dimension = 0, .epsilon = 1, .clip = 1},
        {.dimension = LOCAL_MAX_DIMENSION + 1, .epsilon = 1, .clip = 1},
        {.dimension = 3, .epsilon = 0, .clip = 1},
        {.dimension = 3, .epsilon = -1, .clip = 1},
        {.dimension = 3, .epsilon = NAN, .clip = 1},
        {.dimension = 3, .epsilon = INFINITY, .clip = 1},
        {.dimension = 3, .epsilon = 1, .clip = 0},
        {.dimension = 3, .epsilon = 1, .clip = -1},
        {.dimension = 3, .epsilon = 1, .clip = NAN},
        {.dimension = 3, .epsilon = 1, .clip = INFINITY},
        {.dimension = 3, .epsilon = 1, .clip = 1, .projection_clip = NAN},
        {.dimension = 3, .epsilon = 1, .clip = 1, .projection_clip = -1},
        {.dimension = 3, .epsilon = 1, .clip = 1, .projection_clip = 2},
        {.dimension = 3, .epsilon = 1, .clip = 1, .projection_clip = 1e-9},
    };
    const struct local_mechanism *mechanism;
    for (size_t m = 0; (mechanism = local_mechanism_at(m)); m++)
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            struct local_scheme scheme = {.report_length = 77};
            cr_expect_not_null(local_scheme_make(mechanism, &bad[i], &scheme), "%s, case %zu",
                               mechanism->name, i);
            cr_expect_eq(scheme.report_length, 77, "touched on failure");
        }
}

/* The published C = 1 shrinks one-hot vectors more than dense ones: private, but biased, and said.
 */
Test(local_mechanism, a_clamped_projection_is_marked_as_biased)
{
    struct local_parameters parameters = {
        .dimension = D, .epsilon = 5.0, .clip = 2.0, .projection_clip = 1.0};
    struct local_scheme scheme;
    cr_assert_null(local_scheme_make(&local_projected_sign, &parameters, &scheme));
    cr_expect(!scheme.unbiased);
    cr_expect(isnan(local_projected_sign.squared_error(&scheme, 1.0)));
}

/* Largest and smallest parameters that are allowed give finite reports. */
Test(local_mechanism, extremes)
{
    static const double epsilons[] = {LOCAL_MIN_EPSILON, LOCAL_MAX_EPSILON};
    static const double clips[] = {1e-100, 1e100};
    const struct local_mechanism *mechanism;
    struct noise_source *noise = golden_noise(481);
    for (size_t i = 0; (mechanism = local_mechanism_at(i)); i++)
        for (int e = 0; e < 2; e++)
            for (int c = 0; c < 2; c++)
                for (uint32_t d = 1; d <= D; d += D - 1) {
                    struct local_scheme scheme = scheme_of(mechanism, d, epsilons[e], clips[c]);
                    double estimate[D];
                    one_estimate(&scheme, direction, noise, estimate);
                    for (uint32_t j = 0; j < d; j++)
                        cr_expect(isfinite(estimate[j]), "%s", mechanism->name);
                }
    noise_source_free(noise);
}
