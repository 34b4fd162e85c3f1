/* The price of the Dirichlet mechanism against independent values and against the divergences that
 * it has to bound. */
#include "algos/privacy/laws/dirichlet.h"

#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/answers/filter.h"
#include "algos/privacy/laws/contour.h"
#include "algos/privacy/laws/renyi.h"
#include "tests/unit/privacy/golden.h"

/* The divergence of ORDER of Dir(k p) from Dir(k q), of one pair of distributions over M actions:
 * exact but for floating point, a lower bound of the one above. INFINITY where it is not finite. */
static double dirichlet_divergence(uint32_t m, double k, const double *p, const double *q,
                                   double order)
{
    cr_assert(k > 0.0 && order > 1.0);
    long double sum = 0, l = order;
    for (uint32_t i = 0; i < m; i++) {
        long double a = (long double)k * p[i], b = (long double)k * q[i];
        long double mixed = l * a - (l - 1.0L) * b;
        if (mixed <= 0.0L)
            return INFINITY;
        int sign;
        sum += lgammal_r(mixed, &sign) - l * lgammal_r(a, &sign) + (l - 1.0L) * lgammal_r(b, &sign);
    }
    return fmax(0.0, (double)(sum / (l - 1.0L)));
}

static struct dirichlet from_json(const json_t *one)
{
    return (struct dirichlet){.actions = (uint32_t)golden_number(one, "m"),
                              .concentration = golden_number(one, "k"),
                              .min_probability = golden_number(one, "eta"),
                              .sensitivity = golden_number(one, "Delta")};
}

Test(dirichlet, bound_oracles)
{
    json_t *root = golden_load("dirichlet.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "certified_sup_bound"), i, one)
    {
        struct dirichlet mechanism = from_json(one);
        double order = golden_number(one, "order"), limit = golden_number(one, "order_max");
        double want = golden_number(one, "bound_refined");
        double got = dirichlet_renyi_bound(&mechanism, order);
        /* the refinement's grid is free within two percent; otherwise only what pays for rounding
         * separates both */
        cr_expect(got >= want * 0.98 && got <= want * (1.0 + 1e-4), "case %zu: %.12g for %.12g", i,
                  got, want);
        cr_expect_leq(got, golden_number(one, "bound_simple") * (1.0 + 1e-4));
        cr_expect_float_eq(dirichlet_order_limit(&mechanism) / limit, 1.0,
                           1e-12 + mechanism.actions * 0x1p-50 / mechanism.sensitivity);
        cr_expect(isinf(dirichlet_renyi_bound(&mechanism, limit * (1.0 + 1e-12))));
    }
    cr_assert_eq(i, 22);
    json_decref(root);
}

/* The printed infinity of a golden file, or its number. */
static double or_infinity(const json_t *one, const char *key)
{
    return json_is_string(json_object_get(one, key)) ? INFINITY : golden_number(one, key);
}

Test(dirichlet, divergences_of_pairs)
{
    json_t *root = golden_load("dirichlet.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "renyi"), i, one)
    {
        double p[8], q[8], k = golden_number(one, "k"), order = golden_number(one, "order");
        const json_t *pi = json_object_get(one, "pi"), *other = json_object_get(one, "pi_prime");
        uint32_t m = (uint32_t)json_array_size(pi);
        for (uint32_t a = 0; a < m; a++) {
            p[a] = json_number_value(json_array_get(pi, a));
            q[a] = json_number_value(json_array_get(other, a));
        }
        double there = or_infinity(one, "D"), back = or_infinity(one, "D_reverse");
        double got = dirichlet_divergence(m, k, p, q, order);
        if (isinf(there))
            cr_expect(isinf(got), "case %zu", i);
        else
            cr_expect_float_eq(got, there, 1e-11 * (1.0 + there), "case %zu: %.15g", i, got);
        got = dirichlet_divergence(m, k, q, p, order);
        cr_expect_float_eq(got, back, 1e-11 * (1.0 + back), "case %zu: %.15g", i, got);
    }
    cr_assert_eq(i, 11);
    json_decref(root);
}

/* A random pair in the restricted simplex at most DELTA apart. */
static void random_pair(struct noise_source *noise, uint32_t m, double eta, double delta, double *p,
                        double *q)
{
    double sum = 0, norm = 0, mean = 0, largest = 1.0;
    double room = 1.0 - m * eta;
    bool corner = noise_below(noise, 2);
    for (uint32_t i = 0; i < m; i++)
        sum += p[i] = corner ? pow(noise_uniform(noise), 8.0) : -log(noise_uniform(noise));
    for (uint32_t i = 0; i < m; i++)
        p[i] = eta + room * p[i] / sum;
    for (uint32_t i = 0; i < m; i++)
        mean += (q[i] = noise_normal(noise)) / m;
    for (uint32_t i = 0; i < m; i++)
        norm += (q[i] - mean) * (q[i] - mean);
    for (uint32_t i = 0; i < m; i++) {
        q[i] = delta * (q[i] - mean) / sqrt(norm);
        if (p[i] + q[i] < eta)
            largest = fmin(largest, (p[i] - eta) / -q[i]);
    }
    for (uint32_t i = 0; i < m; i++)
        q[i] = p[i] + largest * q[i];
}

Test(dirichlet, bound_holds_for_random_pairs)
{
    struct noise_source *noise = golden_noise(70);
    double p[8], q[8];
    for (int round = 0; round < 20000; round++) {
        uint32_t m = 2 + noise_below(noise, 7);
        struct dirichlet mechanism = {.actions = m,
                                      .concentration = exp(1.0 + 5.0 * noise_uniform(noise)),
                                      .min_probability = (0.02 + 0.9 * noise_uniform(noise)) / m,
                                      .sensitivity = exp(-6.0 * noise_uniform(noise))};
        double limit = dirichlet_order_limit(&mechanism);
        double order = 1.0 + (limit - 1.0) * (0.02 + 0.95 * noise_uniform(noise));
        random_pair(noise, m, mechanism.min_probability, mechanism.sensitivity, p, q);
        double bound = dirichlet_renyi_bound(&mechanism, order);
        double there = dirichlet_divergence(m, mechanism.concentration, p, q, order);
        double back = dirichlet_divergence(m, mechanism.concentration, q, p, order);
        double slack = 1e-12 * (1.0 + mechanism.concentration);
        cr_assert(there <= bound + slack && back <= bound + slack,
                  "m %u k %g order %g: %g and %g above %g", m, mechanism.concentration, order,
                  there, back, bound);
    }
    noise_source_free(noise);
}

Test(dirichlet, bound_is_attained_for_two_actions)
{
    struct noise_source *noise = golden_noise(71);
    for (int round = 0; round < 500; round++) {
        double eta = 0.05 + 0.3 * noise_uniform(noise);
        struct dirichlet mechanism = {.actions = 2,
                                      .concentration = 5.0 + 100.0 * noise_uniform(noise),
                                      .min_probability = eta,
                                      .sensitivity = 0.01 + 0.1 * noise_uniform(noise)};
        double shift = fmin(mechanism.sensitivity / M_SQRT2, 1.0 - 2.0 * eta);
        double limit = dirichlet_order_limit(&mechanism);
        double order = 1.0 + (limit - 1.0) * (0.05 + 0.9 * noise_uniform(noise));
        double p[2] = {eta, 1.0 - eta}, q[2] = {eta + shift, 1.0 - eta - shift};
        double worst = fmax(dirichlet_divergence(2, mechanism.concentration, p, q, order),
                            dirichlet_divergence(2, mechanism.concentration, q, p, order));
        double got = dirichlet_renyi_bound(&mechanism, order);
        cr_assert(got >= worst * (1.0 - 1e-12) && got <= worst * (1.0 + 1e-6), "%.12g %.12g", got,
                  worst);
    }
    noise_source_free(noise);
}

Test(dirichlet, price_of_a_tiny_change_keeps_its_digits)
{
    /* Halving a tiny change quarters the price: nothing is lost to cancellation. */
    struct dirichlet mechanism = {4, 50.0, 0.05, 1e-4};
    double whole = dirichlet_renyi_bound(&mechanism, 8.0);
    for (int i = 0; i < 12; i++) {
        mechanism.sensitivity /= 2.0;
        double half = dirichlet_renyi_bound(&mechanism, 8.0);
        cr_assert(half > 0.0 && fabs(whole / half - 4.0) < 0.05, "%g / %g", whole, half);
        whole = half;
    }
}

Test(dirichlet, price_grows_with_concentration_change_and_order)
{
    struct noise_source *noise = golden_noise(72);
    for (int round = 0; round < 300; round++) {
        struct dirichlet base = {2 + noise_below(noise, 6), 20.0 + 100.0 * noise_uniform(noise),
                                 0.06, 0.002 + 0.01 * noise_uniform(noise)};
        double price = dirichlet_renyi_bound(&base, 3.0);
        struct dirichlet more = base;
        more.concentration *= 1.2;
        cr_expect_geq(dirichlet_renyi_bound(&more, 3.0), price * (1.0 - 1e-9));
        more = base;
        more.sensitivity *= 1.2;
        cr_expect_geq(dirichlet_renyi_bound(&more, 3.0), price);
        cr_expect_geq(dirichlet_renyi_bound(&base, 3.3), price * (1.0 - 1e-9));
    }
    noise_source_free(noise);
}

/* The exact delta of a pair can never be better than what the price claims. */
Test(dirichlet, exact_deltas_respect_the_price)
{
    json_t *root = golden_load("dirichlet.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "hockey_stick"), i, one)
    {
        const json_t *p = json_object_get(one, "pi"), *q = json_object_get(one, "pi_prime");
        uint32_t m = (uint32_t)json_array_size(p);
        double square = 0, least = 1.0;
        for (uint32_t a = 0; a < m; a++) {
            double x = json_number_value(json_array_get(p, a));
            double y = json_number_value(json_array_get(q, a));
            square += (x - y) * (x - y);
            least = fmin(least, fmin(x, y));
        }
        struct dirichlet mechanism = {m, golden_number(one, "k"), least, sqrt(square)};
        double n = golden_number(one, "n"), delta = golden_number(one, "delta");
        double limit = dirichlet_order_limit(&mechanism);
        for (double u = 0.02; u < 1.0; u += 0.04) {
            double order = 1.0 + (limit - 1.0) * u;
            double claimed =
                renyi_to_epsilon(order, n * dirichlet_renyi_bound(&mechanism, order), delta);
            cr_expect_geq(claimed, golden_number(one, "eps") * (1.0 - 1e-9), "case %zu", i);
        }
    }
    cr_assert_eq(i, 13);
    json_decref(root);
}

/* The exact epsilon of worst pairs never exceeds the certified one of their neighbourhood, and for
 * many answers of two actions, where the price is exact, comes close to it. */
Test(dirichlet, exact_epsilons_respect_the_price)
{
    struct noise_source *noise = golden_noise(78);
    for (int round = 0; round < 60; round++) {
        uint32_t m = 2 + noise_below(noise, 5);
        double eta = (0.2 + 0.5 * noise_uniform(noise)) / m, k = 2.0 / eta, n = 100.0;
        double shift = 0.1 * eta * noise_uniform(noise) + 1e-3 * eta, a[8], b[8], square = 0;
        for (uint32_t i = 0; i < m; i++) { /* one goes up from eta, the others share the fall */
            double from = i ? (1.0 - eta) / (m - 1.0) : eta;
            double by = i ? -shift / (m - 1.0) : shift;
            a[i] = k * from;
            b[i] = k * (from + by);
            square += by * by;
        }
        double least = fmin(eta, (1.0 - eta - shift) / (m - 1.0));
        struct dirichlet mechanism = {m, k, least, sqrt(square) * (1.0 + 1e-12)};
        const struct filter_release release = filter_dirichlet(&mechanism);
        double claimed = filter_planned_epsilon(&release, n, 1e-5), exact = 0;
        for (int turn = 0; turn < 2; turn++) {
            struct contour_law law = {.kind = CONTOUR_DIRICHLET_PAIR, .times = n};
            law.dirichlet.a = turn ? b : a;
            law.dirichlet.b = turn ? a : b;
            law.dirichlet.count = m;
            double one;
            cr_assert_eq(contour_epsilon(&law, 1, 1e-5, &one), CONTOUR_OK);
            exact = fmax(exact, one);
        }
        cr_expect_leq(exact, claimed, "m %u: %g above %g", m, exact, claimed);
        if (m == 2)
            cr_expect_geq(exact, 0.75 * claimed, "%g of %g", exact, claimed);
    }
    noise_source_free(noise);
}

Test(dirichlet, epsilon_of_many_answers)
{
    json_t *root = golden_load("dirichlet.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "eps_rdp"), i, one)
    {
        struct dirichlet mechanism = from_json(one);
        const struct filter_release release = filter_dirichlet(&mechanism);
        double n = golden_number(one, "n"), delta = golden_number(one, "delta");
        double order = golden_number(one, "order"), price = golden_number(one, "D_per_query");
        double got = dirichlet_renyi_bound(&mechanism, order);
        cr_expect_float_eq(got / price, 1.0, 2e-2, "case %zu: %.12g", i, got);
        double here = golden_number(one, "eps_at_this_order");
        cr_expect_float_eq(renyi_to_epsilon(order, n * price, delta), here, 1e-9 * here);
        double best = golden_number(one, "eps_best_over_orders");
        got = filter_planned_epsilon(&release, n, delta);
        cr_expect_float_eq(got / best, 1.0, 1e-3, "case %zu: %.12g for %.12g", i, got, best);
    }
    cr_assert_eq(i, 10);
    json_decref(root);
}

Test(dirichlet, best_order)
{
    json_t *root = golden_load("dirichlet.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "eps_rdp"), i, one)
    {
        /* An account of just the epsilon that n answers need takes those n, and at one order. */
        struct dirichlet mechanism = from_json(one);
        const struct filter_release release = filter_dirichlet(&mechanism);
        double n = golden_number(one, "n"), delta = golden_number(one, "delta");
        double epsilon = golden_number(one, "eps_best_over_orders") * 1.002;
        int64_t queries;
        double order = filter_best_order(&release, epsilon, delta, &queries);
        cr_expect(order > 1.0 && order < dirichlet_order_limit(&mechanism));
        cr_expect_geq((double)queries, n, "case %zu", i);
        double total = (double)queries * dirichlet_renyi_bound(&mechanism, order);
        cr_expect_leq(renyi_to_epsilon(order, total, delta), epsilon * (1.0 + 1e-9));
        epsilon = golden_number(one, "eps_best_over_orders") * 0.95;
        filter_best_order(&release, epsilon, delta, &queries);
        cr_expect_lt((double)queries, n, "case %zu", i);
    }
    json_decref(root);
    struct dirichlet mechanism = {4, 20.0, 0.05, 0.5};
    const struct filter_release release = filter_dirichlet(&mechanism);
    int64_t queries = 99;
    filter_best_order(&release, 0.01, 1e-5, &queries);
    cr_assert_eq(queries, 0);
    filter_best_order(&release, 0.01, 1e-5, NULL);
}

Test(dirichlet, problems)
{
    const struct dirichlet good = {3, 20.0, 0.05, 0.1};
    cr_assert_null(dirichlet_problem(&good));
    struct dirichlet bad[] = {{1, 20.0, 0.05, 0.1}, {65, 100.0, 0.01, 0.1},   {3, 19.9, 0.05, 0.1},
                              {3, NAN, 0.05, 0.1},  {3, INFINITY, 0.05, 0.1}, {3, 20.0, 0.4, 0.1},
                              {3, 20.0, 0.0, 0.1},  {3, 20.0, NAN, 0.1},      {3, 20.0, 0.05, 0.0},
                              {3, 20.0, 0.05, NAN}, {3, 20.0, 0.05, INFINITY}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not_null(dirichlet_problem(&bad[i]), "case %zu", i);
}
