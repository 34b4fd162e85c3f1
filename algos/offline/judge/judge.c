/* Fold by fold: a model of who made the data, a fit, and what both say of the trajectories that
 * they have not seen. */
#include "algos/offline/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/judge/behaviour.h"
#include "memory/memory.h"

#define ASK_BETWEEN  16       /* trajectories between two pulses */
#define STUDENT_4_95 2.131847 /* 95 % point of Student's t with 4 degrees of freedom */

struct judge {
    const struct fitted_q_settings *settings;
    const struct judge_pulse *pulse;
    struct logged logged;
    float *model;     /* state x action: mu of the present fold; owned, as are all below */
    float *tried;     /* state x action: the policy's probability where MODEL tried it */
    float *behaviour; /* transition: mu of the logged action, held out, as are the next two */
    double *value, *taken;
    double *firsts; /* LOGGED_FOLDS x LOGGED_FOLDS: sums over first states of fold g by fit f */
    double first_count[LOGGED_FOLDS];
    double first_sum, first_squares, residual, tried_sum;
    double bound[FITTED_HEADS];
};

static void judge_clear(struct judge *j)
{
    logged_clear(&j->logged);
    free(j->model);
    free(j->tried);
    free(j->behaviour);
    free(j->value);
    free(j->taken);
    free(j->firsts);
}

static enum algorithm_status judge_init(struct judge *j)
{
    const struct logged *l = &j->logged;
    size_t states = l->row_count * l->data->action_count, count = l->data->transition_count;
    if (!memory_fits(2 * states * sizeof(float) + count * (sizeof(float) + 2 * sizeof(double))))
        return ALGORITHM_NO_MEMORY;
    j->model = memory_new(states, sizeof *j->model);
    j->tried = memory_new(states, sizeof *j->tried);
    j->behaviour = memory_new(count, sizeof *j->behaviour);
    j->value = memory_new(count, sizeof *j->value);
    j->taken = memory_new(count, sizeof *j->taken);
    j->firsts = memory_new((size_t)LOGGED_FOLDS * LOGGED_FOLDS, sizeof *j->firsts);
    return ALGORITHM_OK;
}

/* Reads off the model which of the policy's actions were tried, and held out mu. */
static void judge_overlap(struct judge *j, uint8_t fold)
{
    const struct logged *l = &j->logged;
    const uint32_t actions = l->data->action_count;
    const float least = (float)fmin(JUDGE_TRIED, 0.5 / actions);
    for (uint64_t i = 0; i < l->row_count * actions; i++)
        j->tried[i] = j->model[i] >= least ? l->target[i] : 0.0F;
    for (uint64_t t = 0; t < l->data->transition_count; t++) {
        if (l->fold[t] != fold)
            continue;
        uint64_t at = l->data->state_row[t] * actions;
        j->behaviour[t] = j->model[at + l->data->actions[t]];
        for (uint32_t a = 0; a < actions; a++)
            j->tried_sum += (double)j->tried[at + a];
    }
}

/* Values of the fold's trajectories, and of all first states for the jackknife. */
static enum algorithm_status judge_values(struct judge *j, const struct fitted_q *q, uint8_t fold)
{
    const struct logged *l = &j->logged;
    double value[FITTED_HEADS];
    for (uint32_t i = 0; i < l->trajectory_count; i++) {
        const struct logged_trajectory *one = &l->trajectory[i];
        uint32_t of = one->unit % LOGGED_FOLDS, length = of == fold ? one->length : 1;
        if (i % ASK_BETWEEN == ASK_BETWEEN - 1 && !judge_goes_on(j->pulse))
            return ALGORITHM_CANCELLED;
        for (uint32_t t = 0; t < length; t++) {
            uint64_t at = one->first + t;
            double taken = fitted_q_values(q, l->horizon - t, at, value);
            if (t == 0)
                j->firsts[fold * LOGGED_FOLDS + of] += value[FITTED_Q];
            if (of != fold)
                continue;
            j->value[at] = value[FITTED_Q];
            j->taken[at] = taken;
            for (uint32_t h = FITTED_LOW; t == 0 && h < FITTED_HEADS; h++)
                j->bound[h] += value[h];
        }
    }
    return ALGORITHM_OK;
}

static enum algorithm_status judge_fold(struct judge *j, uint8_t fold, uint64_t seed,
                                        const char **message)
{
    struct fitted_q *q;
    enum algorithm_status status =
        behaviour_model(&j->logged, fold, seed + fold, j->pulse, j->model, message);
    if (status != ALGORITHM_OK)
        return status;
    judge_overlap(j, fold);
    const struct fitted_q_part part = {.fold = fold, .tried = j->tried, .seed = seed + fold};
    status = fitted_q_fit(j->settings, &j->logged, &part, j->pulse, &q);
    if (status != ALGORITHM_OK)
        return status;
    status = judge_values(j, q, fold);
    fitted_q_free(q);
    return status;
}

/* Sums over first states, and the residuals of Q - r - discount V(s'). */
static void judge_residuals(struct judge *j)
{
    const struct logged *l = &j->logged;
    for (uint32_t i = 0; i < l->trajectory_count; i++) {
        const struct logged_trajectory *one = &l->trajectory[i];
        double before = i > 0 ? j->first_sum / i : 0.0, value = j->value[one->first];
        j->first_sum += value;
        j->first_squares += (value - before) * (value - j->first_sum / (i + 1));
        j->first_count[one->unit % LOGGED_FOLDS] += 1.0;
        for (uint32_t t = 0; t < one->length; t++) {
            uint64_t at = one->first + t;
            double next = t + 1 < one->length ? l->discount * j->value[at + 1] : 0.0;
            double off = j->taken[at] - (double)l->data->rewards[at] - next;
            j->residual += off * off;
        }
    }
}

/* A jackknife that leaves out one fold at a time, its first states too. */
static struct judge_interval judge_jackknife(const struct judge *j, double value)
{
    double each[LOGGED_FOLDS], mean = 0.0, squares = 0.0;
    for (uint32_t f = 0; f < LOGGED_FOLDS; f++) {
        double sum = 0.0, count = 0.0;
        for (uint32_t g = 0; g < LOGGED_FOLDS; g++) {
            sum += g != f ? j->firsts[f * LOGGED_FOLDS + g] : 0.0;
            count += g != f ? j->first_count[g] : 0.0;
        }
        each[f] = sum / count;
        mean += each[f] / LOGGED_FOLDS;
    }
    for (uint32_t f = 0; f < LOGGED_FOLDS; f++)
        squares += (each[f] - mean) * (each[f] - mean);
    double half = STUDENT_4_95 * sqrt((LOGGED_FOLDS - 1.0) / LOGGED_FOLDS * squares);
    return (struct judge_interval){.value = value, .low = value - half, .high = value + half};
}

static void judge_report(struct judge *j, uint64_t seed, struct judge_figures *out)
{
    const struct logged *l = &j->logged;
    const struct importance_input input = {.logged = l,
                                           .behaviour = j->behaviour,
                                           .value = j->value,
                                           .taken = j->taken,
                                           .tail = (1.0 - JUDGE_CONFIDENCE) / 2.0,
                                           .seed = seed};
    struct importance_result found;
    double n = l->trajectory_count;
    *out = (struct judge_figures){.units = l->unit_count,
                                  .horizon = l->horizon,
                                  .by_expert = l->by_expert,
                                  .trajectories = l->trajectory_count,
                                  .lowest = l->lowest,
                                  .highest = l->highest};
    for (uint32_t i = 0; i < l->trajectory_count; i++)
        out->transitions += l->trajectory[i].length;
    importance_estimate(&input, &found);
    judge_residuals(j);
    out->behaviour = found.behaviour;
    out->sampling = found.sampling;
    out->robust = found.robust;
    out->effective = found.effective;
    out->fitted = judge_jackknife(j, j->first_sum / n);
    out->fitted_error = sqrt(j->first_squares / (n - 1.0) / n);
    out->fitted_residual = sqrt(j->residual / (double)out->transitions);
    out->bound_low = j->bound[FITTED_LOW] / n;
    out->bound_high = j->bound[FITTED_HIGH] / n;
    out->tried = j->tried_sum / (double)out->transitions;
}

enum algorithm_status judge_measure(const struct fitted_q_settings *settings,
                                    const struct policy *policy, const struct dataset *data,
                                    double discount, uint64_t seed, const struct judge_pulse *pulse,
                                    struct judge_figures *out, const char **message)
{
    struct judge j = {.settings = settings, .pulse = pulse};
    struct judge_figures figures;
    enum algorithm_status status = logged_read(data, discount, policy, pulse, &j.logged, message);
    if (status != ALGORITHM_OK)
        return status;
    status = judge_init(&j);
    for (uint8_t f = 0; status == ALGORITHM_OK && f < LOGGED_FOLDS; f++)
        status = judge_fold(&j, f, seed, message);
    if (status == ALGORITHM_OK) {
        judge_report(&j, seed, &figures);
        if (!isfinite(figures.fitted.high) || !isfinite(figures.robust.value)) {
            *message = "the fit diverged";
            status = ALGORITHM_BAD_INPUT;
        }
    }
    if (status == ALGORITHM_OK)
        *out = figures;
    judge_clear(&j);
    return status;
}
