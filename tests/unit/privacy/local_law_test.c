/* What a report can tell, computed and not sampled: probabilities and densities of reports under
 * any two vectors; and figures of an independent program. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/local/local_cap.h"
#include "algos/privacy/local/local_clip.h"
#include "algos/privacy/local/local_mechanism.h"
#include "algos/privacy/local/local_projected_sign.h"
#include "algos/privacy/math/sphere.h"
#include "tests/unit/privacy/golden.h"

static struct local_scheme scheme_of(const struct local_mechanism *mechanism, uint32_t dimension,
                                     double epsilon, double clip, double projection_clip)
{
    struct local_parameters parameters = {.dimension = dimension,
                                          .epsilon = epsilon,
                                          .clip = clip,
                                          .projection_clip = projection_clip};
    struct local_scheme scheme;
    const char *problem = local_scheme_make(mechanism, &parameters, &scheme);
    cr_assert_null(problem, "%s", problem);
    return scheme;
}

/* ---- projected sign ---- */

Test(local_law, coin_of_projected_sign)
{
    json_t *root = golden_load("local_reports.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "prs"), i, one)
    {
        double bound = golden_number(one, "C"), bits = golden_number(one, "dhat");
        double epsilon = golden_number(one, "eps");
        /* These use any number of bits; a dimension of BITS and epsilon / bits each is the same
         * coin.
         */
        struct local_scheme scheme =
            scheme_of(&local_projected_sign, 1, epsilon / bits, bound, bound);
        double p = ldexp((double)local_projected_sign_coin(&scheme, golden_number(one, "u")), -64);
        cr_expect(fabs(p / golden_number(one, "prob_plus") - 1.0) < 1e-12, "case %zu: %.15g", i, p);
        double factor = 1.0 / (bits * tanh(epsilon / bits / 2.0));
        cr_expect(fabs(factor / golden_number(one, "unbias_factor") - 1.0) < 1e-12);
    }
    cr_assert_eq(i, 10);
    json_decref(root);
}

Test(local_law, one_bit_of_projected_sign_costs_its_share)
{
    for (double epsilon = LOCAL_MIN_EPSILON; epsilon < LOCAL_MAX_EPSILON; epsilon *= 1.37)
        for (uint32_t dimension = 1; dimension < 40; dimension += 6) {
            struct local_scheme scheme = scheme_of(&local_projected_sign, dimension, epsilon, 2, 0);
            long double bits = local_projected_sign_bits(&scheme);
            long double least = (long double)local_projected_sign_coin(&scheme, -1e300);
            long double most = (long double)local_projected_sign_coin(&scheme, 1e300);
            cr_expect(least + most == 0x1p64L);
            long double cost = bits * logl(most / least);
            cr_expect(cost <= epsilon, "epsilon %g, dimension %u: %Lg", epsilon, dimension, cost);
            cr_expect(cost >= epsilon * 0.999L);
            cr_expect_eq(local_projected_sign_coin(&scheme, NAN), (uint64_t)least);
            uint64_t before = 0;
            for (int i = -60; i <= 60; i++) {
                uint64_t coin = local_projected_sign_coin(&scheme, 0.1 * i);
                cr_expect(coin >= before && coin >= (uint64_t)least && coin <= (uint64_t)most);
                before = coin;
            }
        }
}

#define SIGN_REPORTS 25 /* two coordinates of -2 .. 2 */

/* The law of the report of V[2], two bits, by all rows and signs. */
static void sign_law(const struct local_scheme *scheme, const double *v, double *law)
{
    static const double weight[] = {1.0 / 6, 4.0 / 6, 1.0 / 6};
    double one[9] = {0}; /* one bit: (x + 1) * 3 + y + 1 */
    for (int x = -1; x <= 1; x++)
        for (int y = -1; y <= 1; y++) {
            double u = sqrt(3.0) * (x * v[0] + y * v[1]), row = weight[x + 1] * weight[y + 1];
            double plus = ldexp((double)local_projected_sign_coin(scheme, u), -64);
            one[(x + 1) * 3 + y + 1] += row * plus;
            one[(1 - x) * 3 + 1 - y] += row * (1.0 - plus);
        }
    for (int i = 0; i < SIGN_REPORTS; i++)
        law[i] = 0.0;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
            law[(i / 3 + j / 3) * 5 + i % 3 + j % 3] += one[i] * one[j];
}

Test(local_law, report_of_projected_sign)
{
    enum { ROUNDS = 200000 };
    struct local_scheme scheme = scheme_of(&local_projected_sign, 2, 5.0, 1.0, 0.0);
    cr_assert_eq(local_projected_sign_bits(&scheme), 2);
    double p[SIGN_REPORTS], q[SIGN_REPORTS], worst = 0.0;
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++) { /* around the edge of the 1-norm ball */
            double v[] = {1.0 - fabs(a - 4.0) / 2.0, a < 4 ? fabs(a - 2.0) / 2.0 - 1.0 : 0.0};
            double w[] = {1.0 - fabs(b - 4.0) / 2.0, b < 4 ? 1.0 - fabs(b - 2.0) / 2.0 : 0.0};
            sign_law(&scheme, v, p);
            sign_law(&scheme, w, q);
            for (int i = 0; i < SIGN_REPORTS; i++)
                worst = fmax(worst, fabs(log(p[i] / q[i])));
        }
    cr_expect(worst <= 5.0 && worst > 1.0, "%g", worst);
    /* The program's own reports. */
    static const double v[] = {0.7, -0.2};
    double unit =
        3.0 / (2.0 * tanh(5.0 / 2.0 / 2.0)); /* what a bit adds along its row over sqrt 3 */
    double seen[SIGN_REPORTS] = {0};
    struct noise_source *noise = golden_noise(420);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t report[2];
        double sum[2];
        unsigned char seed[LOCAL_SEED_SIZE];
        for (int k = 0; k < LOCAL_SEED_SIZE; k++)
            seed[k] = (unsigned char)noise_below(noise, 256);
        cr_assert_eq(local_projected_sign.randomise(&scheme, seed, v, noise, report), LOCAL_OK);
        cr_assert_eq(local_projected_sign.decode(&scheme, seed, report, sum), LOCAL_OK);
        seen[(lround(sum[0] / unit) + 2) * 5 + lround(sum[1] / unit) + 2] += 1.0;
    }
    sign_law(&scheme, v, p);
    for (int i = 0; i < SIGN_REPORTS; i++)
        p[i] *= ROUNDS;
    double distance = golden_chi_square(seen, p, SIGN_REPORTS);
    cr_expect(fabs(distance) < CHI_LIMIT, "%g", distance);
    noise_source_free(noise);
}

/* ---- PrivUnit and the half sphere ---- */

Test(local_law, best_caps)
{
    json_t *root = golden_load("local_reports.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "privunit"), i, one)
    {
        uint32_t d = (uint32_t)golden_number(one, "d");
        double epsilon = golden_number(one, "eps"), scale = golden_number(one, "scale");
        struct local_scheme scheme = scheme_of(&local_privunit, d - 1, epsilon, 1.0, 0.0);
        const double *c = scheme.constant;
        /* The lattice takes a part of 1e-5 of the share away, and of this a part reaches epsilon.
         */
        cr_expect(fabs(c[LOCAL_CAP_MEAN] * scale - 1.0) < 1e-5, "case %zu: scale", i);
        cr_expect(fabs(c[LOCAL_CAP_EDGE] / golden_number(one, "gamma") - 1.0) < 1e-6, "%zu", i);
        cr_expect(fabs(c[LOCAL_CAP_SHARE] / golden_number(one, "cap_prob") - 1.0) < 1e-5, "%zu", i);
        double in_cap = 1.0 - c[LOCAL_CAP_WHOLE] * (1.0 - c[LOCAL_CAP_SHARE]);
        cr_expect_float_eq(in_cap, golden_number(one, "p"), 1e-5);
        cr_expect(fabs(c[LOCAL_CAP_EDGE] / c[LOCAL_CAP_MEAN] - 1.0) < 1e-5, "edge is not mean");
        double mean = c[LOCAL_CAP_MEAN], total = golden_number(one, "mse_total");
        cr_expect(fabs((1.0 / (mean * mean) - 1.0) / total - 1.0) < 2e-5, "case %zu: error", i);
        scheme = scheme_of(&local_half_sphere, d - 1, epsilon, 1.0, 0.0);
        double radius = golden_number(one, "duchi_l2_radius");
        cr_expect(fabs(scheme.constant[LOCAL_CAP_MEAN] * radius - 1.0) < 1e-5, "case %zu", i);
    }
    cr_assert_eq(i, 10);
    json_decref(root);
}

/* P(U1 >= t) by Simpson's rule on the angle: density sin^(n-2). */
static long double cap_by_quadrature(uint32_t n, long double t)
{
    enum { STEPS = 8000 };
    long double end = acosl(t), part = 0, all = 0;
    for (int i = 0; i <= STEPS; i++) {
        int weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        part += weight * powl(sinl(end * i / STEPS), n - 2.0L) * end;
        all += weight * powl(sinl(acosl(-1) * i / STEPS), n - 2.0L) * acosl(-1);
    }
    return part / all;
}

/* What the coin that is flipped costs with a cap of that share. The lattice takes 1e-5 of epsilon,
 * and 1e-3 where the cap is a hundredth of a radian. */
static void check_cap(const struct local_mechanism *mechanism, uint32_t dimension, double epsilon)
{
    struct local_scheme scheme = scheme_of(mechanism, dimension, epsilon, 1.0, 0.0);
    long double coin = (long double)local_cap_coin(&scheme);
    long double share = cap_by_quadrature(dimension + 1, scheme.constant[LOCAL_CAP_EDGE]);
    long double cost = log1pl((0x1p64L - coin) / coin / share);
    long double lost = scheme.constant[LOCAL_CAP_EDGE] > 0.99 ? 1e-3L : 2e-5L;
    cr_expect(cost <= epsilon && cost > epsilon - lost, "%s, %u, %g: %.12Lg", mechanism->name,
              dimension, epsilon, cost);
}

Test(local_law, density_of_caps)
{
    static const double epsilons[] = {0.001, 1, 5, 20};
    static const uint32_t dimensions[] = {2, 3, 10, 112, 1000};
    for (size_t i = 0; i < sizeof epsilons / sizeof epsilons[0]; i++)
        for (size_t j = 0; j < sizeof dimensions / sizeof dimensions[0]; j++) {
            check_cap(&local_privunit, dimensions[j], epsilons[i]);
            check_cap(&local_half_sphere, dimensions[j], epsilons[i]);
        }
}

static struct local_scheme height_scheme;

static double height_cdf(double t)
{
    const double *c = height_scheme.constant;
    double above = sphere_tail(height_scheme.parameters.dimension + 1, fmin(1.0, fmax(-1.0, t)));
    double q = c[LOCAL_CAP_WHOLE];
    return q * (1.0 - above) + (1.0 - q) * fmax(0.0, 1.0 - above / c[LOCAL_CAP_SHARE]);
}

/* Heights of 20000 reports over the vector. */
Test(local_law, heights_of_caps)
{
    enum { ROUNDS = 20000, D = 7 };
    static const double v[D] = {0.3, -0.2, 0.1, 0.4, 0, -0.3, 0.2};
    double lifted[D + 1], *sample = malloc(ROUNDS * sizeof *sample);
    local_clip_lift(v, D, 1.0, lifted);
    for (int which = 0; which < 2; which++) {
        const struct local_mechanism *mechanism = which ? &local_half_sphere : &local_privunit;
        height_scheme = scheme_of(mechanism, D, 2.5, 1.0, 0.0);
        struct noise_source *noise = golden_noise(421 + (unsigned)which);
        for (int i = 0; i < ROUNDS; i++) {
            int64_t report[D + 1];
            cr_assert_eq(mechanism->randomise(&height_scheme, NULL, v, noise, report), LOCAL_OK);
            sample[i] = 0.0;
            for (int j = 0; j <= D; j++)
                sample[i] += (double)report[j] / 65536.0 * lifted[j];
        }
        double distance = golden_ks(sample, ROUNDS, height_cdf);
        cr_expect_lt(distance, KS_LIMIT, "%s: %g", mechanism->name, distance);
        noise_source_free(noise);
    }
    free(sample);
}

/* ---- Laplace ---- */

/* log P(report | a)/P(report | b) is at most |a - b|_1 / scale, whatever the report. */
Test(local_law, laplace_ratio)
{
    enum { D = 5 };
    struct noise_source *noise = golden_noise(423);
    for (int i = 0; i < 2000; i++) {
        double epsilon = exp(8.0 * noise_uniform(noise) - 5.0), a[D], b[D];
        struct local_scheme scheme = scheme_of(&local_laplace, D, epsilon, 3.0, 0.0);
        int64_t x[D], y[D], distance = 0, size = 0;
        for (int j = 0; j < D; j++) {
            a[j] = exp(20.0 * noise_uniform(noise) - 15.0) * (noise_below(noise, 2) ? 1 : -1);
            b[j] = i % 3 ? -a[j] : noise_normal(noise);
        }
        local_clip_l1_units(a, D, 3.0, x);
        local_clip_l1_units(b, D, 3.0, y);
        for (int j = 0; j < D; j++) {
            distance += llabs(x[j] - y[j]);
            size += llabs(x[j]);
        }
        cr_expect_leq(size, LOCAL_CLIP_UNITS);
        long double cost = (long double)distance / scheme.constant[0];
        cr_expect(cost <= scheme.epsilon && scheme.epsilon <= epsilon, "%Lg of %g", cost, epsilon);
        cr_expect_geq(scheme.epsilon, epsilon * (1.0 - 1e-6));
    }
    noise_source_free(noise);
}
