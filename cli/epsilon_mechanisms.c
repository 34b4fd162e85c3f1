/* Flags to plans. A new mechanism is a function and a row. */
#include "cli/epsilon_mechanisms.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/answers/gaussian_simplex.h"
#include "algos/privacy/training/sparse_vector.h"

/* Adds MECHANISM, --steps times. */
static int plan_runs_of(const struct epsilon_options *options, const struct mechanism *mechanism,
                        struct composition *out)
{
    const char *problem = mechanism_problem(mechanism);
    if (problem)
        return epsilon_complain_of(problem);
    if (composition_add(out, mechanism, (uint64_t)options->value[FLAG_STEPS]) != COMPOSITION_OK)
        return cli_complain(&epsilon_flags, CLI_FAILED, "the plan cannot be composed");
    return 0;
}

static int plan_subsampled_gaussian(const struct epsilon_options *options, struct composition *out)
{
    const double *v = options->value;
    struct mechanism m = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                          .gaussian = {v[FLAG_SAMPLING_RATE], v[FLAG_NOISE_MULTIPLIER]}};
    return plan_runs_of(options, &m, out);
}

/* Noise over sensitivity, rounded down, so that the bound holds for the actual noise. */
static double noise_over(double noise, double sensitivity)
{
    double quotient = noise / sensitivity;
    return fma(quotient, sensitivity, -noise) > 0.0 ? nextafter(quotient, 0.0) : quotient;
}

static int plan_gaussian(const struct epsilon_options *options, struct composition *out)
{
    double multiplier = noise_over(options->value[FLAG_SIGMA], options->value[FLAG_SENSITIVITY]);
    struct mechanism m = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, multiplier}};
    return plan_runs_of(options, &m, out);
}

static int plan_laplace(const struct epsilon_options *options, struct composition *out)
{
    double multiplier = noise_over(options->value[FLAG_SCALE], options->value[FLAG_SENSITIVITY]);
    struct mechanism m = {.kind = MECHANISM_LAPLACE, .laplace = {multiplier}};
    return plan_runs_of(options, &m, out);
}

static int plan_dirichlet(const struct epsilon_options *options, struct composition *out)
{
    const double *v = options->value;
    struct mechanism m = {.kind = MECHANISM_DIRICHLET,
                          .dirichlet = {v[FLAG_CONCENTRATION], v[FLAG_MIN_PROBABILITY],
                                        v[FLAG_SENSITIVITY], (uint32_t)v[FLAG_ACTIONS]}};
    return plan_runs_of(options, &m, out);
}

static int plan_gaussian_simplex(const struct epsilon_options *options, struct composition *out)
{
    bool told = options->given & FLAG_BIT(FLAG_ACTIONS);
    struct gaussian_simplex simplex = {.actions = told ? (uint32_t)options->value[FLAG_ACTIONS] : 2,
                                       .sigma = options->value[FLAG_SIGMA],
                                       .sensitivity = options->value[FLAG_SENSITIVITY]};
    const char *problem = gaussian_simplex_problem(&simplex);
    if (problem)
        return epsilon_complain_of(problem);
    double multiplier = nextafter(1.0 / gaussian_simplex_mu(&simplex), 0.0);
    struct mechanism m = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, multiplier}};
    return plan_runs_of(options, &m, out);
}

/* The bound of another accountant, for comparison. */
static double epsilon_by(const struct accountant *accountant, const struct composition *pairs,
                         double delta)
{
    struct privacy_interval figure;
    return accountant_epsilon(accountant, pairs, delta, &figure) == ACCOUNTANT_OK ? figure.upper
                                                                                  : (double)NAN;
}

static int answer_optimal_composition(const struct epsilon_options *options,
                                      struct epsilon_lines *out)
{
    const double *v = options->value;
    struct mechanism m = {.kind = MECHANISM_EPSILON_DELTA,
                          .pair = {v[FLAG_EACH_EPSILON], v[FLAG_EACH_DELTA]}};
    struct composition pairs = {0};
    struct privacy_interval figure;
    int exit_code = plan_runs_of(options, &m, &pairs);
    if (exit_code != 0)
        goto cleanup;
    enum accountant_status status =
        accountant_epsilon(&accountant_optimal_composition, &pairs, v[FLAG_DELTA], &figure);
    if (status != ACCOUNTANT_OK) {
        exit_code = cli_complain(&epsilon_flags, CLI_FAILED,
                                 "no finite epsilon: --delta is less than the deltas of all "
                                 "runs together, or there are too many runs");
        goto cleanup;
    }
    epsilon_lines_number(out, EPSILON_UPPER, "epsilon", figure.upper,
                         "of all runs together, certified");
    epsilon_lines_number(out, EPSILON_LOWER, "epsilon_lower", figure.lower,
                         "some such mechanisms do cost this");
    epsilon_lines_number(out, EPSILON_EXACT, "delta", v[FLAG_DELTA], "at which epsilon is stated");
    epsilon_lines_text(out, "accountant", accountant_optimal_composition.name,
                       "Kairouz, Oh, Viswanath 2015, Theorem 3.3");
    epsilon_lines_number(out, EPSILON_EXACT, "epsilon_advanced",
                         epsilon_by(&accountant_advanced, &pairs, v[FLAG_DELTA]),
                         "by advanced composition, for comparison");
    epsilon_lines_number(out, EPSILON_EXACT, "epsilon_basic",
                         epsilon_by(&accountant_basic, &pairs, v[FLAG_DELTA]),
                         "by adding up, for comparison");
cleanup:
    composition_clear(&pairs);
    return exit_code;
}

static int answer_sparse_vector(const struct epsilon_options *options, struct epsilon_lines *out)
{
    const double *v = options->value;
    struct sparse_vector_request request = {.experts = (uint32_t)v[FLAG_EXPERTS],
                                            .epsilon = v[FLAG_EPSILON],
                                            .delta = v[FLAG_DELTA],
                                            .trajectories = (uint32_t)v[FLAG_TRAJECTORIES],
                                            .max_length = (uint32_t)v[FLAG_MAX_LENGTH],
                                            .min_probability = v[FLAG_MIN_PROBABILITY],
                                            .accounting = SPARSE_VECTOR_SHARP};
    struct sparse_vector_plan sharp, paper;
    const char *problem = sparse_vector_problem(&request);
    if (problem)
        return epsilon_complain_of(problem);
    if (sparse_vector_plan_make(&request, &sharp) != SPARSE_VECTOR_OK)
        return cli_complain(&epsilon_flags, CLI_FAILED, "no threshold below 2^28 experts will do");
    request.accounting = SPARSE_VECTOR_PAPER;
    bool published = sparse_vector_plan_make(&request, &paper) == SPARSE_VECTOR_OK;
    epsilon_lines_number(out, EPSILON_UPPER, "threshold", sharp.threshold,
                         "experts on average that must agree, as charged");
    epsilon_lines_number(out, EPSILON_EXACT, "threshold_paper",
                         published ? paper.threshold : (double)NAN,
                         "by the published constants, which are no guarantee");
    epsilon_lines_number(out, EPSILON_UPPER, "epsilon", sharp.composed_epsilon,
                         "of all trajectories, certified");
    epsilon_lines_number(out, EPSILON_EXACT, "epsilon_lower", 0.0, "none is known");
    epsilon_lines_number(out, EPSILON_EXACT, "delta", request.delta, "at which epsilon is stated");
    epsilon_lines_text(out, "accountant", accountant_optimal_composition.name,
                       "over the trajectories");
    epsilon_lines_number(out, EPSILON_EXACT, "threshold_scale", sharp.threshold_scale,
                         "of the threshold's Laplace noise, in experts");
    epsilon_lines_number(out, EPSILON_EXACT, "query_scale", sharp.query_scale,
                         "of each count's Laplace noise, in experts");
    return 0;
}

#define BIT FLAG_BIT

static const struct epsilon_mechanism MECHANISMS[] = {
    {"subsampled-gaussian", "DP-SGD: Gaussian noise on a Poisson sample",
     BIT(FLAG_SAMPLING_RATE) | BIT(FLAG_NOISE_MULTIPLIER) | BIT(FLAG_STEPS), 0,
     FLAG_NOISE_MULTIPLIER, plan_subsampled_gaussian, NULL},
    {"gaussian", "Gaussian noise", BIT(FLAG_SENSITIVITY) | BIT(FLAG_SIGMA) | BIT(FLAG_STEPS), 0,
     FLAG_SIGMA, plan_gaussian, NULL},
    {"laplace", "Laplace noise", BIT(FLAG_SENSITIVITY) | BIT(FLAG_SCALE) | BIT(FLAG_STEPS), 0,
     FLAG_SCALE, plan_laplace, NULL},
    {"dirichlet", "answers of a Dirichlet teacher",
     BIT(FLAG_ACTIONS) | BIT(FLAG_CONCENTRATION) | BIT(FLAG_MIN_PROBABILITY) |
         BIT(FLAG_SENSITIVITY) | BIT(FLAG_STEPS),
     0, EPSILON_FLAGS, plan_dirichlet, NULL},
    {"gaussian-simplex", "answers of a Gaussian teacher (of --actions, 2 if not given)",
     BIT(FLAG_SENSITIVITY) | BIT(FLAG_SIGMA) | BIT(FLAG_STEPS), BIT(FLAG_ACTIONS), EPSILON_FLAGS,
     plan_gaussian_simplex, NULL},
    {"optimal-composition", "anything known only by its (epsilon, delta)",
     BIT(FLAG_EACH_EPSILON) | BIT(FLAG_EACH_DELTA) | BIT(FLAG_STEPS) | BIT(FLAG_DELTA), 0,
     EPSILON_FLAGS, NULL, answer_optimal_composition},
    {"sparse-vector", "stable prefixes: how many experts must agree",
     BIT(FLAG_EXPERTS) | BIT(FLAG_EPSILON) | BIT(FLAG_DELTA) | BIT(FLAG_TRAJECTORIES) |
         BIT(FLAG_MAX_LENGTH) | BIT(FLAG_MIN_PROBABILITY),
     0, EPSILON_FLAGS, NULL, answer_sparse_vector},
};

#define MECHANISM_COUNT (sizeof MECHANISMS / sizeof MECHANISMS[0])

const struct epsilon_mechanism *epsilon_mechanism_find(const char *name)
{
    for (unsigned i = 0; i < MECHANISM_COUNT; i++)
        if (strcmp(MECHANISMS[i].name, name) == 0)
            return &MECHANISMS[i];
    return NULL;
}

void epsilon_mechanisms_help(FILE *out)
{
    for (unsigned i = 0; i < MECHANISM_COUNT; i++) {
        const struct epsilon_mechanism *mechanism = &MECHANISMS[i];
        fprintf(out, "  %s: %s\n     ", mechanism->name, mechanism->summary);
        for (unsigned flag = 0; flag < EPSILON_FLAGS; flag++)
            if (mechanism->needs & FLAG_BIT(flag))
                fprintf(out, " --%s", epsilon_flag_name((enum epsilon_flag)flag));
        fputc('\n', out);
    }
    fputc('\n', out);
}
