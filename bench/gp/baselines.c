/* Data of random play, an estimate of few numbers, noise, and the greedy policy. */
#include "bench/gp/baselines.h"

#include <math.h>
#include <string.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/noise/noise.h"
#include "bench/gp/smooth_gaussian.h"

#define DISCOUNT 0.5
#define MOST     0.5 /* of a reward */
#define RIDGE    1e5
/* The least with which the smooth bounds are those at k = 0, with some 2000 visits to a place. */
#define LSW_SMOOTHNESS 0.004
#define LSL_SMOOTHNESS 0.0005
#define PLAYED         40
#define STATE_VARIANCE 0.125 /* of the state in random play, nearly */

enum { DIMENSION = BASELINE_NUMBERS };

/* Values at a state: of action a, number[2 a] + number[2 a + 1] (state - 1/2). */
struct values {
    double number[DIMENSION];
};

static double cell_middle(uint32_t cell)
{
    return (cell + 0.5) / BASELINE_CELLS - 0.5;
}

/* The 2-norms of the columns: of the constant and of the slope. */
static void column_norms(double norm[2])
{
    double squares = 0.0;
    for (uint32_t c = 0; c < BASELINE_CELLS; c++)
        squares += cell_middle(c) * cell_middle(c);
    norm[0] = sqrt((double)BASELINE_CELLS);
    norm[1] = sqrt(squares);
}

void baseline_returns(struct private_returns *out)
{
    double norm[2];
    column_norms(norm);
    *out = (struct private_returns){.places = 2 * BASELINE_CELLS,
                                    .dimension = DIMENSION,
                                    .bound = MOST / (1.0 - DISCOUNT),
                                    .discount = DISCOUNT};
    for (uint32_t c = 0; c < BASELINE_CELLS; c++)
        for (uint32_t a = 0; a < 2; a++) {
            out->feature[2 * c + a][2 * a] = 1.0 / norm[0];
            out->feature[2 * c + a][2 * a + 1] = cell_middle(c) / norm[1];
        }
}

static struct values values_of(const double *coefficient)
{
    struct values v;
    double norm[2];
    column_norms(norm);
    for (uint32_t i = 0; i < DIMENSION; i++)
        v.number[i] = coefficient[i] / norm[i % 2];
    return v;
}

static uint32_t greedy_action(const void *context, double state)
{
    const double *v = ((const struct values *)context)->number;
    return v[2] + v[3] * (state - 0.5) > v[0] + v[1] * (state - 0.5);
}

/* ---- what the estimates are made of */

struct gathering {
    struct private_returns *returns;
    struct noise_source *noise;
    double sigma; /* on each reward, after the clip */
};

static double clipped_reward(float reward)
{
    return fmin(fmax((double)reward, 0.0), MOST);
}

static bool add_trajectory(void *context, const struct trajectory *t)
{
    const struct gathering *g = context;
    uint32_t place[LINE_STEPS];
    double reward[LINE_STEPS];
    for (uint32_t i = 0; i < t->length; i++) {
        uint32_t cell = (uint32_t)((double)t->states[i] * BASELINE_CELLS);
        cell = cell < BASELINE_CELLS ? cell : BASELINE_CELLS - 1;
        place[i] = 2 * cell + t->actions[i];
        reward[i] = clipped_reward(t->rewards[i]);
        if (g->sigma > 0.0)
            reward[i] += g->sigma * noise_normal(g->noise);
    }
    private_returns_add(g->returns, t->length, place, reward);
    return true;
}

/* One step of each expert as three numbers in [-1/2, 1/2], each with noise, and the means of their
 * products: the better action is up where first + second (state - 1/2) is positive. */
struct local_sums {
    struct noise_source *noise;
    struct rng rng; /* which step, a public coin */
    double sigma, first, second;
};

static bool add_local(void *context, const struct trajectory *t)
{
    struct local_sums *l = context;
    uint32_t i = rng_below(&l->rng, t->length);
    double state = (double)t->states[i] - 0.5, action = t->actions[i] == 0 ? 0.5 : -0.5;
    double reward = clipped_reward(t->rewards[i]) / MOST - 0.5;
    if (l->sigma > 0.0) {
        state += l->sigma * noise_normal(l->noise);
        action += l->sigma * noise_normal(l->noise);
        reward += l->sigma * noise_normal(l->noise);
    }
    l->first += action * reward;
    l->second += action * reward * state / STATE_VARIANCE;
    return true;
}

/* ---- one run */

static bool protects_expert(enum baseline baseline)
{
    return baseline == BASELINE_LSW || baseline == BASELINE_LSW_PUBLISHED ||
           baseline == BASELINE_LSL || baseline == BASELINE_LOCAL;
}

double baseline_published_epsilon(double epsilon)
{
    const struct smooth_gaussian g = smooth_gaussian_published(epsilon, METHODS_DELTA, DIMENSION);
    return smooth_gaussian_epsilon(&g, METHODS_DELTA);
}

/* How far neighbours' rewards can be apart: those in [0, 1/2] by no more than that. */
static double distance_of(const struct baseline_run *run)
{
    return fmin(run->distance, MOST);
}

/* The deviation of the noise on the numbers of the baseline before it sees a return. */
static double input_sigma(const struct baseline_run *run)
{
    if (isinf(run->epsilon))
        return 0.0;
    if (run->baseline == BASELINE_LOCAL)
        return gaussian_dp_sigma(sqrt(3.0), run->epsilon, METHODS_DELTA);
    if (run->baseline == BASELINE_INPUT_LSW || run->baseline == BASELINE_INPUT_NETWORK)
        return distance_of(run) * method_true_sigma(METHOD_INPUT, run->epsilon);
    return 0.0;
}

/* The deviation of the noise on each coefficient. */
static double output_sigma(const struct baseline_run *run, const struct private_returns *r)
{
    bool regularised = run->baseline == BASELINE_LSL;
    struct smooth_gaussian g = {.smoothness = regularised ? LSL_SMOOTHNESS : LSW_SMOOTHNESS,
                                .dimension = DIMENSION};
    if (isinf(run->epsilon) || run->baseline == BASELINE_INPUT_LSW)
        return 0.0;
    if (run->baseline == BASELINE_REWARD_LSW)
        return gaussian_dp_sigma(distance_of(run) / (1.0 - DISCOUNT) *
                                     private_returns_reward_bound(r),
                                 run->epsilon, METHODS_DELTA);
    if (run->baseline == BASELINE_LSW_PUBLISHED)
        g = smooth_gaussian_published(run->epsilon, METHODS_DELTA, DIMENSION);
    else
        g.mu = smooth_gaussian_mu_for(g.smoothness, DIMENSION, run->epsilon, METHODS_DELTA);
    if (regularised)
        return private_returns_lsl_bound(r, RIDGE, BASELINE_EXPERTS, g.smoothness) / g.mu;
    return private_returns_lsw_bound(r, g.smoothness) / g.mu;
}

static struct values returns_values(const struct baseline_run *run, const struct dataset *data,
                                    struct noise_source *noise, struct baseline_result *out)
{
    struct private_returns returns;
    struct gathering gathering = {.returns = &returns, .noise = noise, .sigma = input_sigma(run)};
    baseline_returns(&returns);
    dataset_each_trajectory(data, add_trajectory, &gathering);
    if (run->baseline == BASELINE_LSL)
        private_returns_lsl(&returns, RIDGE, out->number);
    else
        private_returns_lsw(&returns, out->number);
    double sigma = output_sigma(run, &returns);
    for (uint32_t i = 0; i < DIMENSION; i++)
        out->number[i] += sigma > 0.0 ? sigma * noise_normal(noise) : 0.0;
    out->sigma = sigma > 0.0 ? sigma : gathering.sigma;
    return values_of(out->number);
}

static struct values local_values(const struct baseline_run *run, const struct dataset *data,
                                  struct noise_source *noise, struct baseline_result *out)
{
    struct local_sums sums = {.noise = noise, .sigma = input_sigma(run)};
    rng_seed(&sums.rng, run->seed, 3);
    dataset_each_trajectory(data, add_local, &sums);
    out->sigma = sums.sigma;
    out->number[0] = sums.first / BASELINE_EXPERTS;
    out->number[1] = sums.second / BASELINE_EXPERTS;
    return (struct values){.number = {out->number[0], out->number[1]}};
}

static bool run_network(const struct baseline_run *run, struct baseline_result *out)
{
    struct method_result result;
    struct method_run of = {.method = METHOD_INPUT, .per_path = 1, .seed = 1000 + run->seed};
    of.sigma = input_sigma(run);
    if (run->baseline == BASELINE_DPSGD) {
        of.method = METHOD_DPSGD;
        of.sigma = method_true_sigma(METHOD_DPSGD, run->epsilon);
    }
    if (!method_run_one(&of, &result))
        return false;
    out->final = result.final;
    out->sigma = of.sigma;
    return true;
}

/* The same noise for the same run, other noise for another one. */
static struct noise_source *noise_of(const struct baseline_run *run)
{
    uint8_t key[32] = {(uint8_t)run->baseline};
    memcpy(key + 8, &run->seed, sizeof run->seed);
    memcpy(key + 16, &run->epsilon, sizeof run->epsilon);
    memcpy(key + 24, &run->distance, sizeof run->distance);
    return noise_source_new_injected(key);
}

bool baseline_run_one(const struct baseline_run *run, struct baseline_result *out)
{
    struct rng play;
    *out = (struct baseline_result){.final = NAN, .epsilon = run->epsilon};
    if (run->baseline == BASELINE_LSW_PUBLISHED && isfinite(run->epsilon))
        out->epsilon = baseline_published_epsilon(run->epsilon);
    if (run->baseline == BASELINE_INPUT_NETWORK || run->baseline == BASELINE_DPSGD)
        return run_network(run, out);
    uint32_t experts = protects_expert(run->baseline) ? BASELINE_EXPERTS : BASELINE_EPISODES;
    struct dataset *data = line_experts(experts, 0.0, run->seed);
    struct noise_source *noise = noise_of(run);
    if (data && noise) {
        struct values values = run->baseline == BASELINE_LOCAL
                                   ? local_values(run, data, noise, out)
                                   : returns_values(run, data, noise, out);
        rng_seed(&play, run->seed, 4);
        out->final = line_return(PLAYED, greedy_action, &values, &play);
    }
    noise_source_free(noise);
    dataset_free(data);
    return !isnan(out->final);
}
