/* The accountant's and the noise generator's time, one thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_pld.h"
#include "algos/privacy/accounting/accountant_search.h"
#include "algos/privacy/answers/filter.h"
#include "algos/privacy/answers/gaussian_simplex.h"
#include "algos/privacy/functions/gaussian_tree.h"
#include "algos/privacy/laws/dirichlet.h"
#include "algos/privacy/local/local_mechanism.h"
#include "algos/privacy/noise/noise.h"
#include "algos/privacy/training/dp_sgd_plan.h"
#include "algos/privacy/training/sparse_vector.h"
#include "bench/gp/gaussian_path_table.h"

#define NORMALS 67586 /* parameters of a 4-256-256-2 network */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* one thread; cores may be shared */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench_privacy: %s failed\n", what);
    exit(1);
}

/* The best of five, in milliseconds. */
static double best_of_five(void (*work)(void *context), void *context)
{
    double best = 1e300;
    for (int i = 0; i < 5; i++) {
        double start = now();
        work(context);
        double took = now() - start;
        best = took < best ? took : best;
    }
    return 1e3 * best;
}

static void account(void *context)
{
    need(dp_sgd_plan_account(context) == DP_SGD_PLAN_OK, "accounting");
}

static void find_noise(void *context)
{
    need(dp_sgd_plan_find_noise(context, 10.0) == DP_SGD_PLAN_OK, "the search");
}

struct normals {
    struct noise_source *source;
    float *v;
};

static void add_normals(void *context)
{
    struct normals *normals = context;
    noise_gaussian_add(normals->source, normals->v, NORMALS, 1.0F);
}

#define PATH_POINTS 10000

static void nothing_there(const void *context, uint32_t index, double *values)
{
    (void)context;
    (void)index;
    values[0] = 0.0;
}

static void ask_path(void *context)
{
    for (uint32_t i = 0; i < PATH_POINTS; i++) {
        uint32_t index = (i * UINT32_C(2654435761)) >> 8 | 1; /* odd: all 24 levels */
        double value = 0.0;
        gaussian_tree_release(context, 1, index, nothing_there, NULL, 1.0, &value);
        need(isfinite(value), "the path");
    }
}

static void fill_table(void *context)
{
    struct gaussian_path_table *table = gaussian_path_table_new(2.0, 1.0, PATH_POINTS);
    double value;
    need(table, "memory");
    for (int i = 0; i < PATH_POINTS; i++)
        need(gaussian_path_table_value(table, context, noise_uniform(context), &value) ==
                 GAUSSIAN_PATH_TABLE_OK,
             "the table");
    gaussian_path_table_free(table);
}

static void bench_paths(struct noise_source *source)
{
    struct gaussian_path_law law = {.beta = 2.0, .sigma = 1.0, .bits = 24, .dimensions = 1};
    uint8_t key[GAUSSIAN_PATH_KEY_BYTES];
    noise_bytes(source, key, sizeof key);
    const struct gaussian_lattice lattice = gaussian_tree_lattice(&law, 1, 0.1, 1.0);
    struct gaussian_tree *path = gaussian_tree_new(&law, &lattice, key);
    need(path, "memory");
    double ns = 1e6 * best_of_five(ask_path, path) / PATH_POINTS;
    printf(
        "Gaussian process at one point, from its key, 24 levels: %.0f ns (%.0f thousand a second)",
        ns, 1e6 / ns);
    printf("; from a table of up to %d points: %.0f ns\n", PATH_POINTS,
           1e6 * best_of_five(fill_table, source) / PATH_POINTS);
    gaussian_tree_free(path);
}

#define ANSWERS 10000

static const struct dirichlet dirichlet = {4, 20.0, 0.1, 0.01};
static const struct gaussian_simplex gaussian_simplex = {4, 0.05, 0.01};

static void answer_dirichlet(void *context)
{
    static const double policy[4] = {0.25, 0.25, 0.25, 0.25};
    double z[4];
    for (int i = 0; i < ANSWERS; i++)
        need(dirichlet_sample(&dirichlet, context, policy, z), "a Dirichlet answer");
}

static void answer_gaussian(void *context)
{
    static const double policy[4] = {0.25, 0.25, 0.25, 0.25};
    double z[4];
    for (int i = 0; i < ANSWERS; i++)
        need(gaussian_simplex_sample(&gaussian_simplex, context, policy, z), "a Gaussian answer");
}

static void choose_order(void *context)
{
    const struct filter_release release = filter_dirichlet(&dirichlet);
    int64_t *count = context;
    filter_best_order(&release, 8.0, 1e-5, count);
    need(*count > 0, "an order");
}

static void bench_answers(struct noise_source *source)
{
    int64_t count;
    printf("an answer of 4 actions: Dirichlet %.0f ns",
           1e6 * best_of_five(answer_dirichlet, source) / ANSWERS);
    printf(", Gaussian on the simplex, exact: %.0f ns",
           1e6 * best_of_five(answer_gaussian, source) / ANSWERS);
    printf("; the order of a Dirichlet account: %.2f ms\n", best_of_five(choose_order, &count));
}

#define REPORTS   1000
#define DIMENSION 112

static void make_reports(void *context)
{
    static const struct local_parameters parameters = {
        .dimension = DIMENSION, .epsilon = 2.0, .clip = 1.0};
    static const double vector[DIMENSION] = {0.5, -0.5};
    int64_t report[DIMENSION + 1];
    struct local_scheme scheme;
    need(!local_scheme_make(&local_privunit, &parameters, &scheme), "a local scheme");
    for (int i = 0; i < REPORTS; i++)
        need(local_privunit.randomise(&scheme, NULL, vector, context, report) == LOCAL_OK,
             "a report");
}

static void run_sparse_vector(void *context)
{
    static const struct sparse_vector_request request = {.experts = 3000,
                                                         .epsilon = 7.5,
                                                         .delta = 3e-4,
                                                         .trajectories = 25,
                                                         .max_length = 200,
                                                         .min_probability = 0.02};
    struct sparse_vector_plan plan;
    need(sparse_vector_plan_make(&request, &plan) == SPARSE_VECTOR_OK, "a plan");
    int64_t counts[200];
    for (int i = 0; i < 200; i++)
        counts[i] = (int64_t)1 << 60; /* every query passes: 201 draws a run */
    for (uint32_t i = 0; i < request.trajectories; i++) {
        struct sparse_vector_run run;
        sparse_vector_begin(&run, &plan.lattice, context);
        for (int k = 0; k < 200; k++)
            need(sparse_vector_query(&run, counts[k]), "a run");
    }
}

static struct composition training_plan(double noise_multiplier)
{
    struct composition plan = {0};
    struct mechanism step = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                             .gaussian = {128.0 / 3000.0, noise_multiplier}};
    need(composition_add(&plan, &step, 100000) == COMPOSITION_OK, "a plan");
    return plan;
}

struct certificate {
    struct composition plan;
    enum pld_figure figure;
    double at;
    struct pld_effort effort;
    struct privacy_interval interval;
};

static void certify(void *context)
{
    struct certificate *c = context;
    need(accountant_pld_figure(&c->plan, c->figure, c->at, &c->effort, &c->interval) ==
             ACCOUNTANT_OK,
         "a certificate");
}

static void print_certificate(const char *what, struct certificate *c)
{
    double took = best_of_five(certify, c), gap = c->interval.upper - c->interval.lower;
    printf("  %s, width %.0e asked: [%.9g, %.9g], width %.1e: %.1f ms\n", what,
           c->effort.relative_gap, c->interval.lower, c->interval.upper, gap / c->interval.upper,
           took);
}

static void bench_certified(void)
{
    struct certificate c = {.plan = training_plan(20.0),
                            .figure = PLD_EPSILON,
                            .at = 1e-5,
                            .effort = ACCOUNTANT_PLD_EFFORT};
    static const double gaps[] = {1e-3, 2e-4, 2e-5};
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        c.effort.relative_gap = gaps[i];
        print_certificate("epsilon", &c);
    }
    c.effort = ACCOUNTANT_PLD_EFFORT;
    c.figure = PLD_DELTA;
    c.at = 3.0;
    print_certificate("delta at epsilon 3", &c);
    struct mechanism vote = {.kind = MECHANISM_EPSILON_DELTA, .pair = {0.0894, 1.5e-6}};
    need(composition_add(&c.plan, &vote, 100) == COMPOSITION_OK, "a plan");
    c.figure = PLD_EPSILON;
    c.at = 1.0 / 3000.0;
    print_certificate("with 100 pairs (0.0894, 1.5e-6), epsilon at 1/3000", &c);
    composition_clear(&c.plan);
    printf("  measured apart: dp_accounting PLD 125 ms (upper only, +5.8e-4), PRV 190 ms (+-0.1) "
           "and 1850 ms (+-0.01)\n");
}

static void account_exactly(void *context)
{
    struct composition plan = training_plan(20.0);
    need(accountant_epsilon(&accountant_exact, &plan, 1e-5, context) == ACCOUNTANT_OK,
         "the exact accountant");
    composition_clear(&plan);
}

static enum composition_status at_noise(const void *context, double noise_multiplier,
                                        struct composition *out)
{
    (void)context;
    *out = training_plan(noise_multiplier);
    return COMPOSITION_OK;
}

static void find_noise_exactly(void *context)
{
    static const struct accountant_budget budget = {.epsilon = 2.0, .delta = 1e-5};
    need(accountant_least_noise(&accountant_exact, at_noise, NULL, &budget, 0.1, 1e4, context) ==
             ACCOUNTANT_SEARCH_OK,
         "the exact search");
}

static void bench_exact(void)
{
    struct privacy_interval exact;
    struct accountant_found found;
    double took = best_of_five(account_exactly, &exact);
    printf("  exact epsilon %.12f by contour integration, both directions: %.2f ms", exact.upper,
           took);
    took = best_of_five(find_noise_exactly, &found);
    printf("; noise multiplier %.2f for epsilon 2: %.1f ms\n", found.parameter, took);
}

int main(void)
{
    struct dp_sgd_plan plan = {.sampling_rate = 128.0 / 3000.0,
                               .noise_multiplier = 20.0,
                               .clip_norm = 1.0,
                               .batch_size = 128,
                               .nominal_experts = 3000,
                               .steps = 100000,
                               .delta = 1e-5};
    double took = best_of_five(account, &plan);
    printf("accountant, q = 128/3000, noise multiplier 20, 100000 steps, delta 1e-5: %.1f ms\n",
           took);
    printf("  certified epsilon in [%.9f, %.9f], Renyi %.4f\n", plan.epsilon_lower, plan.epsilon,
           plan.epsilon_renyi);
    bench_certified();
    bench_exact();
    took = best_of_five(find_noise, &plan);
    printf("noise multiplier for epsilon 10, q = 128/3000, 100000 steps: %.1f ms (%.3f); measured "
           "apart: dp_accounting 1200 ms\n",
           took, plan.noise_multiplier);
    struct dp_sgd_plan demo = {.sampling_rate = 128.0 / 300.0,
                               .clip_norm = 1.0,
                               .batch_size = 128,
                               .nominal_experts = 300,
                               .steps = 10000,
                               .delta = 1e-5};
    took = best_of_five(find_noise, &demo);
    printf("noise multiplier for epsilon 10, q = 128/300, 10000 steps: %.1f ms (%.3f)\n", took,
           demo.noise_multiplier);
    struct normals normals = {.source = noise_source_new("bench"),
                              .v = calloc(NORMALS, sizeof(float))};
    need(normals.source && normals.v, "memory");
    took = best_of_five(add_normals, &normals);
    printf("%d secure normals added: %.3f ms (%.0f million a second)\n", NORMALS, took,
           NORMALS / took / 1e3);
    bench_paths(normals.source);
    bench_answers(normals.source);
    printf("PrivUnit: a report of %d numbers: %.1f us\n", DIMENSION,
           1e3 * best_of_five(make_reports, normals.source) / REPORTS);
    printf("stable prefixes: plan and 25 runs of 200 queries: %.1f ms\n",
           best_of_five(run_sparse_vector, normals.source));
    noise_source_free(normals.source);
    free(normals.v);
    return 0;
}
