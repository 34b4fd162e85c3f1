/* Sums by group and step, from which each bootstrap sample is a weighted sum. */
#include "algos/offline/judge/importance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

#define GROUPS     200 /* at most; unit u is in group u modulo their number */
#define SAMPLES    400 /* of the bootstrap */
#define MOST_RATIO 1e100

/* Sums over a group's trajectories at one step. */
struct step_sums {
    double weight;  /* rho_t */
    double reward;  /* rho_t r_t */
    double taken;   /* rho_t Q(s_t, a_t) */
    double value;   /* rho_t-1 V(s_t) */
    double squares; /* rho_t^2 */
};

struct importance {
    const struct importance_input *input;
    uint32_t groups, horizon;
    struct step_sums *sums; /* groups x horizon; owned, as are the rest */
    double *returns;        /* groups: sum of returns */
    double *size;           /* groups: trajectories */
};

static void importance_gather(struct importance *m)
{
    const struct logged *l = m->input->logged;
    const struct dataset *data = l->data;
    for (uint32_t i = 0; i < l->trajectory_count; i++) {
        const struct logged_trajectory *one = &l->trajectory[i];
        uint32_t group = one->unit % m->groups;
        struct step_sums *sums = m->sums + (size_t)group * m->horizon;
        double rho = 1.0;
        m->returns[group] += one->value;
        m->size[group] += 1.0;
        for (uint32_t t = 0; t < m->horizon; t++) {
            if (t < one->length) {
                uint64_t at = one->first + t;
                float target =
                    l->target[data->state_row[at] * data->action_count + data->actions[at]];
                sums[t].value += rho * m->input->value[at];
                rho = fmin(rho * (double)target / (double)m->input->behaviour[at], MOST_RATIO);
                sums[t].reward += rho * (double)data->rewards[at];
                sums[t].taken += rho * m->input->taken[at];
            }
            sums[t].weight += rho;
            sums[t].squares += rho * rho;
        }
    }
}

struct estimates {
    double behaviour, sampling, robust;
};

/* Estimates where group g counts TIMES[g]. */
static struct estimates importance_sum(const struct importance *m, const uint32_t *times)
{
    struct estimates out = {0};
    double before = 0.0, returns = 0.0, factor = 1.0;
    for (uint32_t g = 0; g < m->groups; g++) {
        before += times[g] * m->size[g];
        returns += times[g] * m->returns[g];
    }
    out.behaviour = returns / before;
    for (uint32_t t = 0; t < m->horizon; t++) {
        struct step_sums all = {0};
        for (uint32_t g = 0; g < m->groups; g++) {
            const struct step_sums *one = &m->sums[(size_t)g * m->horizon + t];
            all.weight += times[g] * one->weight;
            all.reward += times[g] * one->reward;
            all.taken += times[g] * one->taken;
            all.value += times[g] * one->value;
        }
        /* Where no trajectory is left that the policy could have made, nothing more is known. */
        double sampled = all.weight > 0.0 ? all.reward / all.weight : 0.0;
        double taken = all.weight > 0.0 ? all.taken / all.weight : 0.0;
        double value = before > 0.0 ? all.value / before : 0.0;
        out.sampling += factor * sampled;
        out.robust += factor * (sampled - taken + value);
        factor *= m->input->logged->discount;
        before = all.weight;
    }
    return out;
}

static double importance_effective(const struct importance *m)
{
    double sum = 0.0, factors = 0.0, factor = 1.0;
    for (uint32_t t = 0; t < m->horizon; t++) {
        double weight = 0.0, squares = 0.0;
        for (uint32_t g = 0; g < m->groups; g++) {
            weight += m->sums[(size_t)g * m->horizon + t].weight;
            squares += m->sums[(size_t)g * m->horizon + t].squares;
        }
        sum += squares > 0.0 ? factor * weight * weight / squares : 0.0;
        factors += factor;
        factor *= m->input->logged->discount;
    }
    return sum / factors;
}

static int importance_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Percentiles of SAMPLE[SAMPLES], which is sorted. The interval holds VALUE. */
static struct judge_interval importance_interval(double value, double *sample, double tail)
{
    qsort(sample, SAMPLES, sizeof *sample, importance_order);
    uint32_t cut = (uint32_t)(tail * SAMPLES);
    return (struct judge_interval){.value = value,
                                   .low = fmin(value, sample[cut]),
                                   .high = fmax(value, sample[SAMPLES - 1 - cut])};
}

static void importance_bootstrap(const struct importance *m, struct importance_result *out)
{
    double behaviour[SAMPLES], sampling[SAMPLES], robust[SAMPLES], tail = m->input->tail;
    uint32_t times[GROUPS];
    struct rng rng;
    rng_seed(&rng, m->input->seed, 1);
    for (uint32_t b = 0; b < SAMPLES; b++) {
        memset(times, 0, sizeof times);
        for (uint32_t g = 0; g < m->groups; g++)
            times[rng_below(&rng, m->groups)]++;
        struct estimates one = importance_sum(m, times);
        behaviour[b] = one.behaviour;
        sampling[b] = one.sampling;
        robust[b] = one.robust;
    }
    for (uint32_t g = 0; g < m->groups; g++)
        times[g] = 1;
    struct estimates all = importance_sum(m, times);
    out->behaviour = importance_interval(all.behaviour, behaviour, tail);
    out->sampling = importance_interval(all.sampling, sampling, tail);
    out->robust = importance_interval(all.robust, robust, tail);
}

void importance_estimate(const struct importance_input *input, struct importance_result *out)
{
    uint32_t units = input->logged->unit_count;
    struct importance m = {.input = input,
                           .groups = units < GROUPS ? units : GROUPS,
                           .horizon = input->logged->horizon};
    m.sums = memory_new((size_t)m.groups * m.horizon, sizeof *m.sums);
    m.returns = memory_new(m.groups, sizeof *m.returns);
    m.size = memory_new(m.groups, sizeof *m.size);
    importance_gather(&m);
    out->effective = importance_effective(&m);
    importance_bootstrap(&m, out);
    free(m.sums);
    free(m.returns);
    free(m.size);
}
