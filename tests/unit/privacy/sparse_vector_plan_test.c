/* Thresholds of stable prefixes against an independent program, every variant of them. */
#include "algos/privacy/training/sparse_vector.h"

#include <criterion/criterion.h>
#include <math.h>

#include "tests/unit/privacy/golden.h"

static struct sparse_vector_request request_of(const json_t *root, const json_t *row,
                                               enum sparse_vector_accounting accounting)
{
    return (struct sparse_vector_request){.experts = (uint32_t)golden_number(root, "m"),
                                          .epsilon = golden_number(row, "eps1"),
                                          .delta = golden_number(row, "delta1"),
                                          .trajectories = (uint32_t)golden_number(row, "T"),
                                          .max_length = (uint32_t)golden_number(row, "L"),
                                          .min_probability = golden_number(root, "pmin"),
                                          .accounting = accounting};
}

static const json_t *variant(const json_t *row, const char *name)
{
    const json_t *one = json_object_get(json_object_get(row, "variants"), name);
    cr_assert_not_null(one, "%s", name);
    return one;
}

static void near(double got, double want, double tolerance, const char *what)
{
    cr_expect(fabs(got / want - 1.0) <= tolerance, "%s: %.15g for %.15g", what, got, want);
}

static void check_paper(const json_t *root, const json_t *row)
{
    struct sparse_vector_request request = request_of(root, row, SPARSE_VECTOR_PAPER);
    struct sparse_vector_plan plan;
    const json_t *want = variant(row, "paper");
    cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
    near(plan.epsilon_prime, golden_number(want, "eps_event"), 1e-12, "eps'");
    near(plan.delta_prime, golden_number(want, "delta_prime"), 1e-12, "delta'");
    near(plan.min_count, golden_number(want, "c_min"), 1e-12, "c_min");
    near(plan.safe_count, golden_number(want, "theta"), 1e-12, "theta");
    near(plan.threshold_scale, golden_number(want, "threshold_noise_scale"), 1e-12, "scale");
    near(plan.query_scale, golden_number(want, "query_noise_scale"), 1e-12, "scale");
    near(plan.threshold, golden_number(want, "mean_threshold"), 1e-10, "paper");
    /* The oracle counts L queries of a run, the repaired lemma L + 1. */
    double kov = golden_number(want, "true_eps1_of_paper_parameters_by_kov");
    cr_expect(plan.composed_epsilon >= kov && plan.composed_epsilon <= kov * 1.006, "%g for %g",
              plan.composed_epsilon, kov);
    double without = sparse_vector_min_count(plan.epsilon_prime) / request.min_probability +
                     4.0 / plan.epsilon_prime * log(2.0 * request.trajectories / request.delta);
    near(without, golden_number(variant(row, "iv_b_paper_without_L_only"), "mean_threshold"), 1e-10,
         "iv b");
    double length = golden_number(want, "unanimous_prefix_length");
    cr_expect_eq(sparse_vector_unanimous_length(&plan, (uint32_t)golden_number(row, "actions")),
                 (uint32_t)fmax(length, 0.0));
}

/* Mean threshold when one run may cost what DELTA_RUN leaves, EVENT of it for the draw. */
static double split_threshold(const json_t *root, const struct sparse_vector_plan *plan,
                              double delta_run, double event)
{
    double run;
    cr_assert_eq(sparse_vector_run_epsilon(plan->request.epsilon, plan->request.delta,
                                           plan->request.trajectories, delta_run, &run),
                 SPARSE_VECTOR_OK);
    double scale = 2.0 / (run - event);
    return sparse_vector_min_count(event) / golden_number(root, "pmin") +
           sparse_vector_offset(scale, scale, delta_run);
}

/* The best splits, not charged: the oracle's value, and that its neighbours are no better. */
static void check_split(const json_t *root, const json_t *row,
                        const struct sparse_vector_plan *plan)
{
    const json_t *split = variant(row, "v_iv_with_optimal_splits");
    double delta_run = golden_number(split, "delta_run"), event = golden_number(split, "eps_event");
    double best = split_threshold(root, plan, delta_run, event);
    near(best, golden_number(split, "mean_threshold"), 1e-7, "v");
    for (int i = -1; i <= 1; i += 2) {
        cr_expect_gt(split_threshold(root, plan, delta_run * (1.0 + 0.05 * i), event), best);
        cr_expect_gt(split_threshold(root, plan, delta_run, event * (1.0 + 0.05 * i)), best);
    }
}

/* The steps from the published threshold to the sharp one, each from the functions the plan uses.
 */
static void check_steps(const json_t *root, const json_t *row,
                        const struct sparse_vector_plan *plan)
{
    double e = plan->epsilon_prime, t = plan->request.trajectories;
    double with_l = plan->request.delta / (2.0 * t * plan->request.max_length);
    double without_l = plan->request.delta / (2.0 * t);
    near(plan->safe_count + 4.0 / e * log(1.0 / with_l),
         golden_number(variant(row, "i_kov"), "mean_threshold"), 1e-9, "i");
    near(plan->safe_count + sparse_vector_offset(4.0 / e, 2.0 / e, with_l),
         golden_number(variant(row, "ii_kov_quantile"), "mean_threshold"), 1e-9, "ii");
    near(plan->safe_count + sparse_vector_offset(2.0 / e, 2.0 / e, with_l),
         golden_number(variant(row, "iii_kov_quantile_monotone"), "mean_threshold"), 1e-9, "iii");
    near(plan->safe_count + sparse_vector_offset(2.0 / e, 2.0 / e, without_l),
         golden_number(variant(row, "iv_iii_without_L"), "mean_threshold"), 1e-9, "iv");
    check_split(root, row, plan);
}

static void check_sharp(const json_t *root, const json_t *row)
{
    struct sparse_vector_request request = request_of(root, row, SPARSE_VECTOR_SHARP);
    struct sparse_vector_plan plan;
    const json_t *want = variant(row, "iii_kov_quantile_monotone");
    cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
    near(plan.epsilon_prime, golden_number(want, "eps_event"), 1e-8, "eps'");
    cr_expect_leq(plan.epsilon_prime, golden_number(want, "eps_event") * (1.0 + 1e-12));
    /* The charged plan also pays for the empty output: a little above variant iii. */
    double iii = golden_number(want, "mean_threshold");
    cr_expect(plan.threshold > iii && plan.threshold < iii * 1.0015, "%g for %g", plan.threshold,
              iii);
    cr_expect(plan.composed_epsilon <= request.epsilon * (1.0 + 1e-9) &&
                  plan.composed_epsilon > request.epsilon * (1.0 - 1e-6),
              "%.12g", plan.composed_epsilon);
    near(plan.run_delta * 2.0 * request.trajectories, request.delta, 1e-12, "delta of a run");
    cr_expect_leq(plan.delta_prime * (request.max_length + 1.0), plan.run_delta * (1.0 + 1e-15));
    double length = golden_number(want, "unanimous_prefix_length");
    cr_expect_eq(sparse_vector_unanimous_length(&plan, (uint32_t)golden_number(row, "actions")),
                 (uint32_t)fmax(length, 0.0));
    check_steps(root, row, &plan);
}

Test(sparse_vector_plan, every_row_and_variant)
{
    json_t *root = golden_load("svt_thresholds.json"), *row;
    size_t i;
    json_array_foreach(json_object_get(root, "rows"), i, row)
    {
        check_paper(root, row);
        check_sharp(root, row);
    }
    cr_assert_eq(i, 11);
    json_decref(root);
}

static const struct sparse_vector_request cart_pole = {
    .experts = 3000,
    .epsilon = 7.5,
    .delta = 3e-4,
    .trajectories = 25,
    .max_length = 200,
    .min_probability = 0.02,
};

Test(sparse_vector_plan, published_figures)
{
    struct sparse_vector_request request = cart_pole;
    struct sparse_vector_plan plan;
    cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
    cr_expect_eq(lround(plan.threshold), 488);
    request.accounting = SPARSE_VECTOR_PAPER;
    cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
    cr_expect_eq(lround(plan.threshold), 1360);
    request.trajectories = 100;
    request.max_length = 1000;
    cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
    cr_expect_eq(lround(plan.threshold), 2963);
    request.accounting = SPARSE_VECTOR_SHARP;
    cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
    cr_expect_eq(lround(plan.threshold), 1067);
}

/* The lattice may only add: more noise, a higher threshold. */
Test(sparse_vector_plan, lattice_rounds_to_the_safe_side)
{
    struct sparse_vector_plan plan;
    cr_assert_eq(sparse_vector_plan_make(&cart_pole, &plan), SPARSE_VECTOR_OK);
    long double unit = 4294967296.0L;
    cr_expect((long double)plan.lattice.threshold_scale >= 2.0L / plan.epsilon_prime * unit);
    cr_expect((long double)plan.lattice.query_scale >= 2.0L / plan.epsilon_prime * unit);
    cr_expect((long double)plan.lattice.threshold >= plan.threshold * unit + 2.0L);
    cr_expect((long double)plan.lattice.threshold <= plan.threshold * unit * (1.0L + 1e-11L));
}

/* P(X - Y > t) by quadrature of the convolution. */
static double tail_by_quadrature(double a, double b, double t)
{
    long double sum = 0, step = b / 400.0L;
    for (long double y = -40.0L * b + step / 2; y < 40.0L * b; y += step) {
        long double x = t + y;
        long double above = x > 0 ? expl(-x / a) / 2 : 1 - expl(x / a) / 2;
        sum += above * expl(-fabsl(y) / b) / (2 * b) * step;
    }
    return (double)sum;
}

Test(sparse_vector_plan, tail_and_quantile_of_the_noise)
{
    static const double cases[][3] = {{1, 1, 0.5}, {1, 1, 12}, {2, 1, 3},         {1, 2, 3},
                                      {4, 2, 40},  {3, 1, 0},  {1, 1.0000001, 5}, {1, 1.001, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double a = cases[i][0], b = cases[i][1], t = cases[i][2];
        double tail = sparse_vector_tail(a, b, t), want = tail_by_quadrature(a, b, t);
        cr_expect(fabs(tail / want - 1.0) < 1e-5, "case %zu: %.10g for %.10g", i, tail, want);
    }
    static const double deltas[] = {0.49, 0.1, 1e-3, 1e-8, 1e-30};
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++) {
        double t = sparse_vector_offset(20.0, 10.0, deltas[i]);
        cr_expect_leq(sparse_vector_tail(20.0, 10.0, t), deltas[i]);
        cr_expect_geq(sparse_vector_tail(20.0, 10.0, t * (1.0 - 1e-9)), deltas[i]);
    }
}

/* Random requests: less budget or more runs never lower the threshold, and what is composed is
 * never above what was asked. */
Test(sparse_vector_plan, monotone)
{
    struct noise_source *noise = golden_noise(400);
    for (int i = 0; i < 100; i++) {
        struct sparse_vector_request request = {
            .experts = 1 + noise_below(noise, 100000),
            .epsilon = exp(6.0 * noise_uniform(noise) - 3.0),
            .delta = exp(-30.0 * noise_uniform(noise) - 1.0),
            .trajectories = 1 + noise_below(noise, 200),
            .max_length = 1 + noise_below(noise, 2000),
            .min_probability = 0.5 * noise_uniform(noise),
        };
        struct sparse_vector_plan plan, other;
        cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
        cr_expect_leq(plan.composed_epsilon, request.epsilon);
        struct sparse_vector_request harder[] = {request, request, request, request};
        harder[0].epsilon *= 0.9;
        harder[1].delta *= 0.5;
        harder[2].trajectories += 5;
        harder[3].max_length *= 2;
        for (int j = 0; j < 4; j++) {
            cr_assert_eq(sparse_vector_plan_make(&harder[j], &other), SPARSE_VECTOR_OK);
            cr_expect(other.threshold >= plan.threshold, "request %d, change %d", i, j);
        }
        harder[0] = request;
        harder[0].experts = 7; /* the threshold must not depend on the number of experts */
        cr_assert_eq(sparse_vector_plan_make(&harder[0], &other), SPARSE_VECTOR_OK);
        cr_expect_eq(other.lattice.threshold, plan.lattice.threshold);
    }
    noise_source_free(noise);
}

/* Where allowances for rounding are as large as epsilon, or delta tells next to nothing. */
Test(sparse_vector_plan, no_figure_exceeds_what_was_asked_at_the_edges)
{
    static const double epsilons[] = {1e-20, 1e-9, 1.0, 100.0, 1000.0};
    static const double deltas[] = {SPARSE_VECTOR_MIN_DELTA, 1e-30, 0.3, 1.0 - 0x1p-53};
    int made = 0;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 4; j++) {
            struct sparse_vector_request request = cart_pole;
            struct sparse_vector_plan plan;
            request.epsilon = epsilons[i];
            request.delta = deltas[j];
            request.trajectories = 2;
            request.max_length = UINT32_MAX;
            enum sparse_vector_status status = sparse_vector_plan_make(&request, &plan);
            cr_assert(status == SPARSE_VECTOR_OK || status == SPARSE_VECTOR_OUT_OF_REACH);
            if (status != SPARSE_VECTOR_OK)
                continue;
            made++;
            cr_expect_leq(plan.composed_epsilon, request.epsilon, "%g, %g: %.17g", epsilons[i],
                          deltas[j], plan.composed_epsilon);
        }
    cr_expect_geq(made, 10);
}

static void refused(struct sparse_vector_request request)
{
    struct sparse_vector_plan plan = {.threshold = 42.0};
    cr_expect_not_null(sparse_vector_problem(&request));
    cr_expect_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_BAD);
    cr_expect_eq(plan.threshold, 42.0, "touched on failure");
}

#define WITH(field, value)                                                                         \
    do {                                                                                           \
        struct sparse_vector_request bad = cart_pole;                                              \
        bad.field = (value);                                                                       \
        refused(bad);                                                                              \
    } while (0)

Test(sparse_vector_plan, bad_parameters)
{
    WITH(experts, 0);
    WITH(experts, SPARSE_VECTOR_MAX_EXPERTS + 1);
    WITH(epsilon, 0.0);
    WITH(epsilon, -1.0);
    WITH(epsilon, NAN);
    WITH(epsilon, INFINITY);
    WITH(delta, 0.0);
    WITH(delta, 1.0);
    WITH(delta, 5e-324); /* a share of it would be 0 */
    WITH(delta, 1e-101);
    WITH(delta, NAN);
    WITH(trajectories, 0);
    WITH(trajectories, SPARSE_VECTOR_MAX_TRAJECTORIES + 1);
    WITH(max_length, 0);
    WITH(min_probability, 0.0);
    WITH(min_probability, 0.51);
    WITH(min_probability, NAN);
    WITH(accounting, (enum sparse_vector_accounting)7);
    cr_expect_null(sparse_vector_problem(&cart_pole));
    struct sparse_vector_request far = cart_pole;
    struct sparse_vector_plan plan;
    far.epsilon = 1e-7;
    far.delta = 1e-12;
    cr_expect_eq(sparse_vector_plan_make(&far, &plan), SPARSE_VECTOR_OUT_OF_REACH);
    far = cart_pole;
    far.min_probability = 1e-300;
    cr_expect_eq(sparse_vector_plan_make(&far, &plan), SPARSE_VECTOR_OUT_OF_REACH);
}
