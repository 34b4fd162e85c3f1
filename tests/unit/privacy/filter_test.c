/* Filters: whatever is spent in whatever order, the account's promise holds; prices never reward
 * less noise. */
#include "algos/privacy/answers/filter.h"

#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/laws/renyi.h"
#include "tests/unit/privacy/golden.h"

/* ---- a mechanism of the test's own: anything known to be (epsilon, delta)-private. With delta 0
 * an account by Renyi pays the divergence of the two-point law, the worst of its kind (Bun and
 * Steinke 2016, Prop. 3.3); with another delta it has none and such an account refuses it. */
struct filter_pair {
    double epsilon, delta;
};

/* ln cosh(x) without overflow, and without cancellation near 0. */
static double log_cosh(double x)
{
    double half = sinh(0.5 * x);
    return fabs(x) < 1.0 ? log1p(2.0 * half * half) : fabs(x) - M_LN2 + log1p(exp(-2.0 * fabs(x)));
}

/* Randomised response with e^epsilon against 1: ln[cosh((l - 1/2) epsilon) / cosh(epsilon / 2)] /
 * (l - 1). */
static double pair_renyi(const void *mechanism, double order)
{
    const struct filter_pair *pair = mechanism;
    if (pair->delta > 0.0)
        return INFINITY;
    double gap = log_cosh((order - 0.5) * pair->epsilon) - log_cosh(0.5 * pair->epsilon);
    double rounding = 1e-15 * order * pair->epsilon;
    return fmin(pair->epsilon, (gap + rounding) / (order - 1.0) * (1.0 + 1e-13));
}

static double pair_epsilon(const void *mechanism, double delta)
{
    const struct filter_pair *pair = mechanism;
    return delta >= pair->delta ? pair->epsilon : INFINITY;
}

static struct filter_release filter_epsilon_delta(const struct filter_pair *pair)
{
    cr_assert(pair->epsilon >= 0.0 && pair->delta >= 0.0 && pair->delta < 1.0);
    return (struct filter_release){.mechanism = pair,
                                   .renyi = pair_renyi,
                                   .epsilon = pair_epsilon,
                                   .order_limit = pair->delta > 0.0 ? 1.0 : INFINITY,
                                   .own_delta = pair->delta};
}

/* What a random spender may ask for next. */
struct offer {
    struct dirichlet dirichlet;
    struct gaussian_simplex gaussian;
    struct filter_pair pair;
    struct filter_release release;
};

static void random_offer(struct noise_source *noise, struct offer *out)
{
    double u = noise_uniform(noise);
    out->dirichlet = (struct dirichlet){2 + noise_below(noise, 5), 20.0 + 80.0 * u, 0.06,
                                        exp(-9.0 + 6.0 * noise_uniform(noise))};
    out->gaussian = (struct gaussian_simplex){2 + noise_below(noise, 5), 0.01 + u,
                                              exp(-9.0 + 6.0 * noise_uniform(noise))};
    out->pair = (struct filter_pair){0.1 * u, noise_below(noise, 2) ? 1e-9 * u : 0.0};
    switch (noise_below(noise, 3)) {
    case 0: out->release = filter_dirichlet(&out->dirichlet); return;
    case 1: out->release = filter_gaussian_simplex(&out->gaussian); return;
    default: out->release = filter_epsilon_delta(&out->pair);
    }
}

/* An adversary that sees what is left and asks for as much of it as it can, or little, as it likes:
 * the sum of the true divergences never exceeds what the account promised. */
/* Of numbers that no account has, such as those of a damaged row, nothing is known to be left. */
Test(filter, numbers_of_no_account_stand_for_infinity)
{
    static const double wrong[][2] = {{0.5, 1e-5}, {1, 1e-5}, {NAN, 1e-5},
                                      {2, 0},      {2, 1},    {2, NAN}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_expect(isinf(filter_epsilon(wrong[i][0], 5, wrong[i][1])), "%zu", i);
}

Test(filter, renyi_accounts_never_exceed_their_promise)
{
    struct noise_source *noise = golden_noise(90);
    int paid = 0;
    for (int round = 0; round < 300; round++) {
        double epsilon = exp(3.0 * noise_uniform(noise) - 1.0),
               delta = pow(10.0, -3.0 - 6.0 * noise_uniform(noise));
        double order = 1.5 + 40.0 * noise_uniform(noise);
        struct filter account;
        if (!filter_open(&account, order, epsilon, delta))
            continue;
        double total = 0;
        int refused = 0;
        while (refused < 40) {
            struct offer offer;
            random_offer(noise, &offer);
            int64_t count = 1 + noise_below(noise, 50),
                    left = account.limit_units - account.spent_units;
            struct filter_price price;
            if (!filter_price(order, 0, &offer.release, count, &price)) {
                refused++;
                continue;
            }
            if (price.units > left && left > 0 && noise_below(noise, 2)) { /* just what fits */
                count = left / (price.units / count);
                if (count < 1 || !filter_price(order, 0, &offer.release, count, &price))
                    count = 0;
            }
            struct filter before = account;
            if (count < 1 || !filter_spend(&account, &price)) {
                refused++;
                cr_assert_eq(account.spent_units, before.spent_units);
                cr_assert(count < 1 || price.units > left);
                continue;
            }
            paid++;
            total += (double)count * offer.release.renyi(offer.release.mechanism, order);
            cr_assert_eq(account.spent_units, before.spent_units + price.units);
            cr_assert_leq(total, (double)account.spent_units * 1e-9 * (1.0 + 1e-12));
            cr_assert_leq(renyi_to_epsilon(order, total, delta), epsilon * (1.0 + 1e-12));
            cr_assert_leq(filter_epsilon(order, account.spent_units, delta), epsilon);
        }
        cr_assert(account.spent_units <= account.limit_units && account.spent_delta == 0);
    }
    cr_assert_gt(paid, 2000, "%d", paid);
    noise_source_free(noise);
}

/* At orders close to 1 a small limit is the difference of great terms: their rounding must not let
 * it pass what the same formula gives with more digits. */
Test(filter, renyi_limits_never_pass_the_formula_with_more_digits)
{
    struct noise_source *noise = golden_noise(93);
    int opened = 0;
    for (int i = 0; i < 20000; i++) {
        double epsilon = exp(13.8 * noise_uniform(noise)),
               delta = pow(10.0, -2.0 - 10.0 * noise_uniform(noise)),
               order = 1.0 - log(delta) / epsilon * (1.001 + 0.1 * pow(noise_uniform(noise), 4.0));
        struct filter account;
        if (!filter_open(&account, order, epsilon, delta))
            continue;
        long double l = order, more = (logl((long double)delta) + logl(l)) / (l - 1.0L);
        cr_assert_leq((long double)account.limit_units, (epsilon - log1pl(-1.0L / l) + more) * 1e9L,
                      "order %.17g", order);
        opened++;
    }
    cr_assert_gt(opened, 15000);
    noise_source_free(noise);
}

Test(filter, basic_accounts_never_exceed_their_promise)
{
    struct noise_source *noise = golden_noise(91);
    for (int round = 0; round < 30; round++) {
        double epsilon = exp(3.0 * noise_uniform(noise) - 1.0), delta = 1e-5;
        struct filter account;
        cr_assert(filter_open(&account, 0.0, epsilon, delta));
        double epsilons = 0, deltas = 0;
        for (int i = 0; i < 100; i++) {
            struct offer offer;
            random_offer(noise, &offer);
            int64_t share = account.limit_delta / (1 + noise_below(noise, 1000));
            int64_t count = 1 + noise_below(noise, 3);
            struct filter_price price;
            if (!filter_price(0.0, share, &offer.release, count, &price) ||
                !filter_spend(&account, &price))
                continue;
            double own = offer.release.own_delta;
            double each = own >= 0.0 ? own : (double)share * 1e-18;
            deltas += (double)count * each;
            epsilons +=
                (double)count * offer.release.epsilon(offer.release.mechanism,
                                                      own >= 0.0 ? own : each * (1.0 + 1e-12));
            cr_assert_leq(epsilons, epsilon * (1.0 + 1e-12));
            cr_assert_leq(deltas, delta * (1.0 + 1e-12));
        }
        cr_assert(account.spent_units > 0);
    }
    noise_source_free(noise);
}

Test(filter, less_noise_never_costs_less)
{
    struct noise_source *noise = golden_noise(92);
    for (int round = 0; round < 200; round++) {
        struct offer offer;
        random_offer(noise, &offer);
        double order = 1.2 + 5.0 * noise_uniform(noise);
        struct dirichlet louder = offer.dirichlet; /* less concentration is more noise */
        louder.concentration = fmax(1.0 / 0.06, louder.concentration * noise_uniform(noise));
        struct gaussian_simplex noisier = offer.gaussian;
        noisier.sigma *= 1.0 + noise_uniform(noise);
        struct filter_pair weaker = offer.pair;
        weaker.epsilon *= noise_uniform(noise);
        struct filter_release less[] = {filter_dirichlet(&louder),
                                        filter_gaussian_simplex(&noisier),
                                        filter_epsilon_delta(&weaker)};
        struct filter_release more[] = {filter_dirichlet(&offer.dirichlet),
                                        filter_gaussian_simplex(&offer.gaussian),
                                        filter_epsilon_delta(&offer.pair)};
        for (int i = 0; i < 3; i++) {
            for (int basic = 0; basic < 2; basic++) {
                struct filter_price cheap, dear, twice;
                double at = basic ? 0.0 : order;
                if (!filter_price(at, 1000000000000, &more[i], 1, &dear))
                    continue;
                cr_assert(filter_price(at, 1000000000000, &less[i], 1, &cheap));
                cr_expect(cheap.units <= dear.units + (basic ? dear.units / 100000 : 0),
                          "kind %d basic %d: %lld above %lld", i, basic, (long long)cheap.units,
                          (long long)dear.units);
                cr_assert(filter_price(at, 1000000000000, &more[i], 2, &twice));
                cr_expect_eq(twice.units, 2 * dear.units);
            }
        }
    }
    noise_source_free(noise);
}

/* ln of the mean of (P/Q)^(order-1) under P, for randomised response. */
static double response_divergence(double epsilon, double order)
{
    double p = 1.0 / (1.0 + exp(-epsilon)), q = 1.0 - p;
    return log(p * pow(p / q, order - 1.0) + q * pow(q / p, order - 1.0)) / (order - 1.0);
}

Test(filter, pure_mechanisms_cost_the_worst_of_their_kind)
{
    for (double epsilon = 0.01; epsilon < 5.0; epsilon *= 1.7)
        for (double order = 1.1; order < 60.0; order *= 1.5) {
            struct filter_pair pair = {epsilon, 0.0};
            const struct filter_release release = filter_epsilon_delta(&pair);
            double got = release.renyi(&pair, order), want = response_divergence(epsilon, order);
            cr_expect(got >= want * (1.0 - 1e-9) && got <= want * (1.0 + 1e-9) + 1e-12, "%g for %g",
                      got, want);
            cr_expect_leq(got, epsilon);
        }
    struct filter_pair huge = {700.0, 0.0}, tiny = {1e-9, 0.0};
    cr_expect_eq(filter_epsilon_delta(&huge).renyi(&huge, 1e6), 700.0);
    cr_expect_float_eq(filter_epsilon_delta(&tiny).renyi(&tiny, 4.0) / 2e-18, 1.0, 1e-5);
}

Test(filter, refuses_what_has_no_price)
{
    struct dirichlet mechanism = {3, 20.0, 0.05, 0.1};
    const struct filter_release release = filter_dirichlet(&mechanism);
    struct filter_price price = {7, 7};
    double limit = dirichlet_order_limit(&mechanism);
    const double orders[] = {limit, 2.0 * limit, 1.0, 0.5, -1.0, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        cr_expect_not(filter_price(orders[i], 0, &release, 1, &price), "order %g", orders[i]);
    double order = 1.0 + 0.5 * (limit - 1.0);
    cr_expect_not(filter_price(order, 0, &release, 0, &price));
    cr_expect_not(filter_price(order, 0, &release, -1, &price));
    cr_expect_not(filter_price(order, 0, &release, INT64_MAX, &price));
    cr_expect_not(filter_price(0.0, 0, &release, 1, &price), "no share");
    cr_expect_not(filter_price(0.0, 1000000000000000000, &release, 1, &price), "a share of 1");
    cr_expect(price.units == 7 && price.delta_units == 7);
    struct filter_pair pair = {0.1, 1e-6};
    const struct filter_release approximate = filter_epsilon_delta(&pair);
    cr_expect_not(filter_price(order, 0, &approximate, 1, &price));
    cr_assert(filter_price(0.0, 5, &approximate, 3, &price));
    cr_expect(price.units >= 300000000 && price.units <= 300000003);
    cr_expect(price.delta_units >= 3000000000000 && price.delta_units <= 3000000000003);
}

Test(filter, opening)
{
    struct filter account;
    cr_assert(filter_open(&account, 0.0, 0.3, 1e-5));
    cr_expect(account.limit_units == 300000000 && account.limit_delta == 10000000000000);
    cr_assert(filter_open(&account, 12.0, 2.0, 1e-5));
    double rho = renyi_budget(12.0, 2.0, 1e-5);
    cr_expect((double)account.limit_units <= rho * 1e9 &&
              (double)account.limit_units >= rho * 1e9 - 1.01);
    cr_expect_eq(account.limit_delta, 0);
    cr_expect_not(filter_open(&account, 1.5, 0.01, 1e-9), "not even 0 fits");
    static const double bad[][3] = {{1.0, 1.0, 1e-5},      {-2.0, 1.0, 1e-5}, {NAN, 1.0, 1e-5},
                                    {INFINITY, 1.0, 1e-5}, {4.0, 0.0, 1e-5},  {4.0, -1.0, 1e-5},
                                    {4.0, NAN, 1e-5},      {4.0, 1.0, 0.0},   {4.0, 1.0, 1.0},
                                    {4.0, INFINITY, 1e-5}, {4.0, 1.0, NAN},   {0.0, 1e-12, 1e-5}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(filter_open(&account, bad[i][0], bad[i][1], bad[i][2]), "case %zu", i);
}

/* The order and the share that are found pay for no less than any other of a wide look around. */
Test(filter, finds_the_order_and_the_share_that_last)
{
    struct dirichlet dirichlet = {4, 20.0, 0.1, 0.002};
    struct gaussian_simplex gaussian = {4, 0.05, 0.002};
    const struct filter_release releases[] = {filter_dirichlet(&dirichlet),
                                              filter_gaussian_simplex(&gaussian)};
    for (int i = 0; i < 2; i++) {
        int64_t best, count = 0;
        double order = filter_best_order(&releases[i], 2.0, 1e-5, &best);
        struct filter account;
        struct filter_price price;
        for (double l = 1.0 + 0.2 * (order - 1.0); l < 5.0 * order; l *= 1.02)
            if (filter_open(&account, l, 2.0, 1e-5) && filter_price(l, 0, &releases[i], 1, &price))
                cr_expect_leq(account.limit_units / price.units, best + best / 1000);
        int64_t share = filter_best_share(&releases[i], 2.0, 1e-5);
        cr_assert(filter_open(&account, 0.0, 2.0, 1e-5));
        cr_assert(filter_price(0.0, share, &releases[i], 1, &price));
        while (filter_spend(&account, &price))
            count++;
        for (double part = 0.2; part < 5.0; part *= 1.1) {
            int64_t other = (int64_t)((double)share * part);
            cr_assert(filter_price(0.0, other, &releases[i], 1, &price));
            int64_t n = 2000000000 / price.units, by_delta = 10000000000000 / other;
            cr_expect_leq(n < by_delta ? n : by_delta, count + count / 500 + 1);
        }
        cr_expect_gt(best, count, "one order outlasts basic composition");
    }
    struct dirichlet dear = {4, 20.0, 0.1, 0.5};
    const struct filter_release release = filter_dirichlet(&dear);
    cr_expect_geq(filter_best_share(&release, 0.01, 1e-5), 1, "it pays for none");
}

/* ---- accounts that set a part of delta aside */

/* The conversion of what was spent and the deltas that were spent are together at most the budget.
 */
Test(filter, shared_accounts_never_exceed_their_promise)
{
    struct noise_source *noise = golden_noise(94);
    int opened = 0, full = 0;
    for (int i = 0; i < 20000; i++) {
        double epsilon = exp(5.0 * noise_uniform(noise) - 1.0),
               delta = pow(10.0, -2.0 - 10.0 * noise_uniform(noise)),
               share = 0.001 + 0.9 * noise_uniform(noise);
        double order = filter_plan_order(epsilon, delta * (1.0 - share));
        struct filter account;
        if (!filter_open_shared(&account, order, epsilon, delta, share))
            continue;
        opened++;
        double aside = (double)account.limit_delta * 1e-18;
        cr_assert(aside <= delta * share * (1.0 + 1e-15));
        cr_assert(aside > delta * share * (1.0 - 1e-15) - 2e-18);
        /* The delta at which all divergence converts to EPSILON (Canonne, Kamath and Steinke). */
        long double l = order, r = account.limit_units * 1e-9L;
        long double converted =
            expl((l - 1.0L) * (r - epsilon) + (l - 1.0L) * log1pl(-1.0L / l) - logl(l));
        cr_assert_leq(converted + aside, delta * (1.0L + 1e-15L), "%.17g %.17g", epsilon, delta);
        full += converted + aside > 0.999 * delta;
        struct filter_price all = {account.limit_units, account.limit_delta}, one = {0, 1};
        cr_assert(filter_spend(&account, &all));
        cr_assert_not(filter_spend(&account, &one));
    }
    cr_assert_gt(opened, 19000);
    cr_assert_gt(full, 15000, "the limit is not wastefully low: %d", full);
    static const double bad[][4] = {{0, 1, 1e-5, 0.1}, {2, 1, 1e-5, 0},   {2, 1, 1e-5, 1},
                                    {2, 1, 1, 0.1},    {2, 0, 1e-5, 0.1}, {2, 1, 1e-5, NAN}};
    struct filter account;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(filter_open_shared(&account, bad[i][0], bad[i][1], bad[i][2], bad[i][3]));
    noise_source_free(noise);
}

/* No order on a fine grid pays for more than a thousandth more of a small Gaussian. */
Test(filter, plan_order_pays_for_most_small_gaussians)
{
    static const double budgets[][2] = {{0.5, 1e-5}, {1, 1e-6}, {10, 1e-5}, {20, 1e-9}};
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        double epsilon = budgets[i][0], delta = budgets[i][1];
        double order = filter_plan_order(epsilon, delta);
        double paid = renyi_budget(order, epsilon, delta) / order;
        for (double l = 1.01; l < 1000; l *= 1.01)
            cr_assert_leq(renyi_budget(l, epsilon, delta) / l, paid * 1.001, "order %g", l);
    }
}
