/* Fitted Q evaluation: one factorisation for each action, and then a solution for each step. */
#include "algos/offline/judge/fitted_q.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/cholesky.h"
#include "memory/memory.h"

#define MOST_NUMBERS 8000000 /* in all theta_k together: 32 MB */
#define MOST_LINEAR  128     /* of more numbers in a state only random units are features */
#define ASK_BETWEEN  1024    /* transitions between two pulses */

struct fitted_q {
    const struct logged *logged;
    struct fitted_q_part part;
    uint32_t units, linear, features, actions, iterations;
    double bound[FITTED_HEADS]; /* what an untried action is worth, in units of the spread */
    double scale;               /* of rewards */
    float *weights;             /* units x (state_dim + 1): of the random features; owned, as are
                                 * all below */
    float *theta;               /* iterations x heads x actions x features */
};

/* What only the fit needs. */
struct fit {
    struct fitted_q *q;
    double ridge;
    uint64_t *drawn; /* transitions; owned, as are all below */
    uint64_t count;
    float *now, *next; /* count x features: phi(s) and phi(s') */
    double *factor;    /* actions x features x features: Cholesky's, lower */
    double *y;         /* count x heads */
    double *right;     /* heads x actions x features */
};

struct fitted_q_settings fitted_q_defaults(void)
{
    return (struct fitted_q_settings){
        .units = 96, .iterations = 240, .transitions = 50000, .ridge = 1.0};
}

void fitted_q_free(struct fitted_q *q)
{
    if (!q)
        return;
    free(q->weights);
    free(q->theta);
    free(q);
}

static void fit_clear(struct fit *f)
{
    free(f->drawn);
    free(f->now);
    free(f->next);
    free(f->factor);
    free(f->y);
    free(f->right);
}

/* phi = (1, the numbers of the state, random units of them). */
static void features_of(const struct fitted_q *q, uint64_t row, float *phi)
{
    const uint32_t dim = q->logged->data->state_dim;
    float state[MLP_MAX_WIDTH];
    logged_input(q->logged, row, state);
    phi[0] = 1.0F;
    memcpy(phi + 1, state, q->linear * sizeof *phi);
    for (uint32_t u = 0; u < q->units; u++) {
        const float *w = q->weights + (size_t)u * (dim + 1);
        float sum = w[dim];
        for (uint32_t d = 0; d < dim; d++)
            sum += w[d] * state[d];
        phi[1 + q->linear + u] = fmaxf(sum, 0.0F);
    }
}

static struct fitted_q *fitted_q_new(const struct fitted_q_settings *settings,
                                     const struct logged *logged, const struct fitted_q_part *part)
{
    const uint32_t dim = logged->data->state_dim, actions = logged->data->action_count;
    const uint32_t linear = dim <= MOST_LINEAR ? dim : 0;
    struct fitted_q *q = memory_new(1, sizeof *q);
    struct rng rng;
    *q = (struct fitted_q){.logged = logged,
                           .part = *part,
                           .units = settings->units,
                           .linear = linear,
                           .features = 1 + linear + settings->units,
                           .actions = actions,
                           .scale = logged->spread > 0.0 ? 1.0 / logged->spread : 1.0};
    size_t each = (size_t)FITTED_HEADS * actions * q->features;
    size_t most = each < MOST_NUMBERS ? MOST_NUMBERS / each : 1;
    q->iterations = settings->iterations < logged->horizon ? settings->iterations : logged->horizon;
    q->iterations = q->iterations < most ? q->iterations : (uint32_t)most;
    q->bound[FITTED_LOW] = q->scale * logged->least;
    q->bound[FITTED_HIGH] = q->scale * logged->most;
    q->weights = memory_new((size_t)q->units * (dim + 1), sizeof *q->weights);
    q->theta = memory_new(q->iterations * each, sizeof *q->theta);
    rng_seed(&rng, part->seed, 2);
    for (size_t i = 0; i < (size_t)q->units * (dim + 1); i++)
        q->weights[i] = (float)(rng_normal(&rng) / (i % (dim + 1) < dim ? sqrt(dim) : 1.0));
    return q;
}

/* Picks the transitions of the fit. */
static void fit_draw(struct fit *f, uint32_t most)
{
    const struct logged *l = f->q->logged;
    uint64_t all = 0, seen = 0;
    for (uint64_t t = 0; t < l->data->transition_count; t++)
        all += l->fold[t] != f->q->part.fold && l->fold[t] < LOGGED_FOLDS;
    uint64_t every = (all + most - 1) / most;
    f->drawn = memory_new(all / every + 1, sizeof *f->drawn);
    for (uint64_t t = 0; t < l->data->transition_count; t++)
        if (l->fold[t] != f->q->part.fold && l->fold[t] < LOGGED_FOLDS && seen++ % every == 0)
            f->drawn[f->count++] = t;
}

/* Makes features of all transitions, and the factor of each action's normal equations. */
static enum algorithm_status fit_init(struct fit *f, const struct fitted_q_settings *settings,
                                      const struct judge_pulse *pulse)
{
    const struct dataset *data = f->q->logged->data;
    const uint32_t n = f->q->features, actions = f->q->actions;
    fit_draw(f, settings->transitions);
    f->ridge = settings->ridge;
    if (!memory_fits(2 * f->count * n * sizeof(float) +
                     (size_t)actions * n * (n + FITTED_HEADS) * sizeof(double)))
        return ALGORITHM_NO_MEMORY;
    f->now = memory_new(f->count * n, sizeof *f->now);
    f->next = memory_new(f->count * n, sizeof *f->next);
    f->factor = memory_new((size_t)actions * n * n, sizeof *f->factor);
    f->y = memory_new(f->count * FITTED_HEADS, sizeof *f->y);
    f->right = memory_new((size_t)FITTED_HEADS * actions * n, sizeof *f->right);
    for (uint64_t i = 0; i < f->count; i++) {
        if (i % ASK_BETWEEN == ASK_BETWEEN - 1 && !judge_goes_on(pulse))
            return ALGORITHM_CANCELLED;
        uint64_t row = data->state_row[f->drawn[i]];
        float *phi = f->now + i * n;
        features_of(f->q, row, phi);
        features_of(f->q, row + 1, f->next + i * n);
        double *a = f->factor + (size_t)data->actions[f->drawn[i]] * n * n;
        for (uint32_t j = 0; j < n; j++)
            for (uint32_t k = 0; k <= j; k++)
                a[j * n + k] += (double)phi[j] * (double)phi[k];
    }
    for (uint32_t b = 0; b < actions; b++) {
        double *a = f->factor + (size_t)b * n * n;
        for (uint32_t j = 0; j < n; j++)
            a[j * n + j] += f->ridge;
        cholesky_factor(a, n);
    }
    return ALGORITHM_OK;
}

/* theta_k of HEAD and ACTION, by which K steps are worth something. */
static float *theta_of(const struct fitted_q *q, uint32_t k, uint32_t head, uint32_t action)
{
    uint32_t at = (k < q->iterations ? k : q->iterations) - 1;
    return q->theta + (((size_t)at * FITTED_HEADS + head) * q->actions + action) * q->features;
}

static double theta_times(const float *theta, const float *phi, uint32_t n)
{
    float sum = 0.0F;
    for (uint32_t i = 0; i < n; i++)
        sum += theta[i] * phi[i];
    return (double)sum;
}

/* What K steps of the policy are worth at ROW by each head, in units of the spread. */
static void values_of(const struct fitted_q *q, uint32_t k, uint64_t row, const float *phi,
                      double value[FITTED_HEADS])
{
    const float *target = q->logged->target + row * q->actions;
    const float *tried = q->part.tried + row * q->actions;
    const double least = q->bound[FITTED_LOW], most = q->bound[FITTED_HIGH], width = most - least;
    double mass = 0.0;
    memset(value, 0, FITTED_HEADS * sizeof *value);
    for (uint32_t a = 0; a < q->actions; a++) {
        if (!(target[a] > 0.0F))
            continue;
        mass += (double)tried[a];
        for (uint32_t h = 0; h < FITTED_HEADS; h++) {
            double p = (double)(h == FITTED_Q ? target[a] : tried[a]);
            if (p > 0.0)
                value[h] += p * theta_times(theta_of(q, k, h, a), phi, q->features);
        }
    }
    value[FITTED_Q] = fmin(fmax(value[FITTED_Q], least - width), most + width);
    for (uint32_t h = FITTED_LOW; h < FITTED_HEADS; h++)
        value[h] = fmin(fmax(value[h] + fmax(0.0, 1.0 - mass) * q->bound[h], least), most);
}

/* Y = r + discount [s' goes on] sum_b pi(b|s') Q_k-1(s', b); MEAN of each head. */
static void fit_targets(struct fit *f, uint32_t k, double mean[FITTED_HEADS])
{
    const struct fitted_q *q = f->q;
    const struct dataset *data = q->logged->data;
    memset(mean, 0, FITTED_HEADS * sizeof *mean);
    for (uint64_t i = 0; i < f->count; i++) {
        uint64_t t = f->drawn[i];
        double value[FITTED_HEADS] = {0};
        if (k > 1 && !q->logged->over[t])
            values_of(q, k - 1, data->state_row[t] + 1, f->next + i * q->features, value);
        for (uint32_t h = 0; h < FITTED_HEADS; h++) {
            double y = q->scale * (double)data->rewards[t] + q->logged->discount * value[h];
            f->y[i * FITTED_HEADS + h] = y;
            mean[h] += y / (double)f->count;
        }
    }
}

/* Q_k from Q_k-1. */
static void fit_step(struct fit *f, uint32_t k)
{
    struct fitted_q *q = f->q;
    const uint32_t n = q->features, actions = q->actions;
    double mean[FITTED_HEADS];
    fit_targets(f, k, mean);
    memset(f->right, 0, (size_t)FITTED_HEADS * actions * n * sizeof *f->right);
    for (uint64_t i = 0; i < f->count; i++) {
        const float *phi = f->now + i * n;
        for (uint32_t h = 0; h < FITTED_HEADS; h++) {
            double y = f->y[i * FITTED_HEADS + h] - mean[h];
            double *right =
                f->right + ((size_t)h * actions + q->logged->data->actions[f->drawn[i]]) * n;
            for (uint32_t j = 0; j < n; j++)
                right[j] += y * (double)phi[j];
        }
    }
    for (uint32_t h = 0; h < FITTED_HEADS; h++)
        for (uint32_t a = 0; a < actions; a++) {
            double *right = f->right + ((size_t)h * actions + a) * n;
            float *theta = theta_of(q, k, h, a);
            cholesky_solve(f->factor + (size_t)a * n * n, n, right);
            for (uint32_t j = 0; j < n; j++)
                theta[j] = (float)(right[j] + (j == 0 ? mean[h] : 0.0));
        }
}

enum algorithm_status fitted_q_fit(const struct fitted_q_settings *settings,
                                   const struct logged *logged, const struct fitted_q_part *part,
                                   const struct judge_pulse *pulse, struct fitted_q **out)
{
    struct fit f = {.q = fitted_q_new(settings, logged, part)};
    enum algorithm_status status = fit_init(&f, settings, pulse);
    for (uint32_t k = 1; status == ALGORITHM_OK && k <= f.q->iterations; k++) {
        fit_step(&f, k);
        if (!judge_goes_on(pulse))
            status = ALGORITHM_CANCELLED;
    }
    if (status == ALGORITHM_OK)
        *out = f.q;
    else
        fitted_q_free(f.q);
    fit_clear(&f);
    return status;
}

double fitted_q_values(const struct fitted_q *q, uint32_t left, uint64_t transition,
                       double value[FITTED_HEADS])
{
    const struct dataset *data = q->logged->data;
    const uint64_t row = data->state_row[transition];
    float *phi = memory_new(q->features, sizeof *phi);
    features_of(q, row, phi);
    values_of(q, left, row, phi, value);
    for (uint32_t h = 0; h < FITTED_HEADS; h++)
        value[h] /= q->scale;
    double taken =
        theta_times(theta_of(q, left, FITTED_Q, data->actions[transition]), phi, q->features);
    free(phi);
    return taken / q->scale;
}
