/* Expected errors, and the choice between mechanisms. */
#include "algos/privacy/answers/answer_error.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/answers/filter.h"
#include "algos/privacy/laws/renyi.h"
#include "algos/privacy/math/normal_quantile.h"
#include "algos/privacy/math/special.h"

#define COORDINATES       32768
#define CONCENTRATION_MAX 1e6

/* E|z - f| for z ~ Beta(a, b), from P(z < f) = I_f(a, b) and E[z; z < f] = a / (a + b) I_f(a + 1,
 * b). */
static double mean_distance(double a, double b, double f)
{
    double mean = a / (a + b);
    return 2.0 * (f * incomplete_beta(a, b, f) - mean * incomplete_beta(a + 1.0, b, f)) + mean - f;
}

struct answer_error answer_error_dirichlet(const struct dirichlet *mechanism, const double *policy)
{
    struct answer_error error = {0};
    double k = mechanism->concentration, square = 0, mixed[DIRICHLET_MAX_ACTIONS];
    for (uint32_t i = 0; i < mechanism->actions; i++)
        mixed[i] = policy[i];
    dirichlet_mix(mechanism, mixed);
    for (uint32_t i = 0; i < mechanism->actions; i++) {
        double p = mixed[i], bias = p - policy[i];
        square += p * (1.0 - p) / (k + 1.0) + bias * bias;
        error.l1 += mean_distance(k * p, k * (1.0 - p), policy[i]);
    }
    error.l2 = sqrt(square);
    return error;
}

/* Evenly spread words, the same on every call: they choose evaluation points and are not randomness
 * (SplitMix64, Steele, Lea and Flood 2014). */
static uint64_t word_at(uint64_t place)
{
    uint64_t x = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

struct answer_error answer_error_gaussian(const struct gaussian_simplex *mechanism,
                                          const double *policy)
{
    const double grid = (double)GAUSSIAN_SIMPLEX_GRID;
    struct answer_error error = {0};
    double square = 0;
    uint32_t m = mechanism->actions;
    uint64_t points = COORDINATES / m;
    int64_t y[GAUSSIAN_SIMPLEX_MAX_ACTIONS], z[GAUSSIAN_SIMPLEX_MAX_ACTIONS];
    for (uint64_t point = 0; point < points; point++) {
        for (uint32_t i = 0; i < m; i++) {
            double normal = normal_from_word_roughly(word_at(point * m + i));
            y[i] = llrint((policy[i] + mechanism->sigma * normal) * grid);
        }
        gaussian_simplex_project(m, y, z);
        for (uint32_t i = 0; i < m; i++) {
            double off = (double)z[i] / grid - policy[i];
            error.l1 += fabs(off);
            square += off * off;
        }
    }
    error.l1 /= (double)points;
    error.l2 = sqrt(square / (double)points);
    return error;
}

void answer_error_uniform(uint32_t actions, double *policy)
{
    for (uint32_t i = 0; i < actions; i++)
        policy[i] = 1.0 / actions;
}

void answer_error_peaked(uint32_t actions, double *policy)
{
    for (uint32_t i = 0; i < actions; i++)
        policy[i] = i ? 0.0 : 1.0;
}

/* ---- the choice */

struct wish {
    double queries, epsilon, delta;
};

static bool answers_suffice(const struct dirichlet *mechanism, const struct wish *wish)
{
    const struct filter_release release = filter_dirichlet(mechanism);
    int64_t count;
    filter_best_order(&release, wish->epsilon, wish->delta, &count);
    return (double)count >= wish->queries;
}

/* The price grows with the concentration, so bisection of its logarithm finds it to about a
 * thousandth. */
static void choose_dirichlet(struct dirichlet *mechanism, const struct wish *wish,
                             struct answer_choice *out)
{
    double low = log(1.0 / mechanism->min_probability) + 1e-12, high = log(CONCENTRATION_MAX);
    mechanism->concentration = exp(low);
    *out = (struct answer_choice){.possible = answers_suffice(mechanism, wish)};
    if (!out->possible)
        return;
    for (int i = 0; i < 14; i++) {
        double middle = 0.5 * (low + high);
        mechanism->concentration = exp(middle);
        if (answers_suffice(mechanism, wish))
            low = middle;
        else
            high = middle;
    }
    mechanism->concentration = out->setting = exp(low);
    double policy[DIRICHLET_MAX_ACTIONS];
    answer_error_uniform(mechanism->actions, policy);
    out->uniform = answer_error_dirichlet(mechanism, policy);
    answer_error_peaked(mechanism->actions, policy);
    out->peaked = answer_error_dirichlet(mechanism, policy);
}

/* n l mu^2 / 2 = budget(l): the best order is the same for every sigma. */
static void choose_gaussian(struct gaussian_simplex *mechanism, const struct wish *wish,
                            struct answer_choice *out)
{
    double about = 10.0 * mechanism->sensitivity; /* a price of many units */
    mechanism->sigma = fmin(fmax(about, GAUSSIAN_SIMPLEX_SIGMA_MIN), GAUSSIAN_SIMPLEX_SIGMA_MAX);
    const struct filter_release release = filter_gaussian_simplex(mechanism);
    double order = filter_best_order(&release, wish->epsilon, wish->delta, NULL);
    double mu = sqrt(fmax(0.0, 2.0 * renyi_budget(order, wish->epsilon, wish->delta) / order));
    double sigma =
        gaussian_simplex_sigma(mechanism->actions, mechanism->sensitivity, wish->queries, mu);
    sigma = fmax(sigma * (1.0 + 1e-6), GAUSSIAN_SIMPLEX_SIGMA_MIN); /* prices are rounded up */
    *out =
        (struct answer_choice){.possible = sigma <= GAUSSIAN_SIMPLEX_SIGMA_MAX, .setting = sigma};
    if (!out->possible)
        return;
    mechanism->sigma = sigma;
    double policy[GAUSSIAN_SIMPLEX_MAX_ACTIONS];
    answer_error_uniform(mechanism->actions, policy);
    out->uniform = answer_error_gaussian(mechanism, policy);
    answer_error_peaked(mechanism->actions, policy);
    out->peaked = answer_error_gaussian(mechanism, policy);
}

void answer_choices(uint32_t actions, double change, double min_probability, double queries,
                    double epsilon, double delta, struct answer_choice *out_dirichlet,
                    struct answer_choice *out_gaussian)
{
    assert(actions >= 2 && change > 0.0 && queries >= 1.0);
    const struct wish wish = {queries, epsilon, delta};
    double mixing = 1.0 - actions * min_probability;
    struct dirichlet dirichlet = {
        .actions = actions, .min_probability = min_probability, .sensitivity = mixing * change};
    struct gaussian_simplex gaussian = {.actions = actions, .sensitivity = change};
    choose_dirichlet(&dirichlet, &wish, out_dirichlet);
    choose_gaussian(&gaussian, &wish, out_gaussian);
}
