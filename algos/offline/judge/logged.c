/* Trajectories, units, folds and returns of logged data. */
#include "algos/offline/judge/logged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

/* States between two pulses, because the policy may be large. */
#define ASK_BETWEEN 1024

bool judge_goes_on(const struct judge_pulse *pulse)
{
    return !pulse->goes_on || pulse->goes_on(pulse->context);
}

void logged_clear(struct logged *logged)
{
    free(logged->trajectory);
    free(logged->fold);
    free(logged->over);
    free(logged->target);
    free(logged->center);
    *logged = (struct logged){0};
}

void logged_input(const struct logged *logged, uint64_t row, float *input)
{
    const uint32_t dim = logged->data->state_dim;
    const float *state = logged->data->states + row * dim;
    for (uint32_t d = 0; d < dim; d++)
        input[d] = (state[d] - logged->center[d]) * logged->factor[d];
}

/* Number of experts with a transition. */
static uint32_t logged_experts(const struct dataset *data)
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < data->expert_count; e++)
        count += data->expert_transitions[e + 1] > data->expert_transitions[e];
    return count;
}

/* Fills the trajectories with their units, and the horizon. */
static void logged_gather(struct logged *l)
{
    const struct dataset *data = l->data;
    uint32_t expert = 0, length = 0;
    l->by_expert = logged_experts(data) >= LOGGED_MIN_EXPERTS;
    for (uint64_t t = 0; t < data->transition_count; t++) {
        bool other = false;
        for (; t >= data->expert_transitions[expert + 1]; expert++)
            other = true;
        if (dataset_starts_trajectory(data, t) || other) {
            l->unit_count += !l->by_expert || other || t == 0;
            l->trajectory[l->trajectory_count++] =
                (struct logged_trajectory){.first = t, .unit = l->unit_count - 1};
            length = 0;
        }
        if (++length > LOGGED_MAX_HORIZON)
            continue;
        l->trajectory[l->trajectory_count - 1].length = length;
        l->horizon = length > l->horizon ? length : l->horizon;
    }
}

/* Computes returns from every step on, their range and spread, and marks what is read. */
static void logged_measure(struct logged *l)
{
    double sum = 0.0, squares = 0.0, count = 0.0;
    l->lowest = l->least = INFINITY;
    l->highest = l->most = -INFINITY;
    memset(l->fold, LOGGED_FOLDS, l->data->transition_count);
    for (uint32_t i = 0; i < l->trajectory_count; i++) {
        struct logged_trajectory *one = &l->trajectory[i];
        for (uint64_t t = one->first + one->length; t-- > one->first;) {
            one->value = (double)l->data->rewards[t] + l->discount * one->value;
            l->fold[t] = (uint8_t)(one->unit % LOGGED_FOLDS);
            l->over[t] = l->data->terminated[t];
            l->least = fmin(l->least, one->value);
            l->most = fmax(l->most, one->value);
            count += 1.0;
            double before = sum;
            sum += (one->value - sum) / count;
            squares += (one->value - before) * (one->value - sum);
        }
        if (one->length < l->horizon)
            l->over[one->first + one->length - 1] = 1;
        l->lowest = fmin(l->lowest, one->value);
        l->highest = fmax(l->highest, one->value);
    }
    l->spread = sqrt(squares / count);
}

/* Computes mean and deviation of each number of the states. */
static void logged_scale(struct logged *l)
{
    const uint32_t dim = l->data->state_dim;
    for (uint32_t d = 0; d < dim; d++) {
        double mean = 0.0, squares = 0.0;
        for (uint64_t r = 0; r < l->row_count; r++) {
            double x = (double)l->data->states[r * dim + d], before = mean;
            mean += (x - mean) / (double)(r + 1);
            squares += (x - before) * (x - mean);
        }
        double deviation = sqrt(squares / (double)l->row_count);
        l->center[d] = (float)mean;
        l->factor[d] = deviation > 1e-6 * fabs(mean) ? (float)(1.0 / deviation) : 0.0F;
    }
}

/* Writes the policy's action probabilities at one STATE. */
static bool logged_ask(const struct policy *policy, const float *state, uint32_t actions,
                       float *out)
{
    double p[MLP_MAX_WIDTH];
    float values[MLP_MAX_WIDTH];
    if (policy->output == POLICY_SOFTMAX) {
        if (!policy_probabilities(policy, state, 1.0, p))
            return false;
        for (uint32_t a = 0; a < actions; a++)
            out[a] = (float)p[a];
        return true;
    }
    int played = policy_decide(policy, state, values);
    for (uint32_t a = 0; a < actions; a++)
        out[a] = (int)a == played ? 1.0F : 0.0F;
    return played >= 0;
}

static enum algorithm_status logged_ask_all(struct logged *l, const struct policy *policy,
                                            const struct judge_pulse *pulse, const char **message)
{
    const uint32_t dim = l->data->state_dim, actions = l->data->action_count;
    for (uint64_t r = 0; r < l->row_count; r++) {
        if (r % ASK_BETWEEN == ASK_BETWEEN - 1 && !judge_goes_on(pulse))
            return ALGORITHM_CANCELLED;
        if (!logged_ask(policy, l->data->states + r * dim, actions, l->target + r * actions)) {
            *message = "the policy's outputs are not finite at a state of the data";
            return ALGORITHM_BAD_INPUT;
        }
    }
    return ALGORITHM_OK;
}

enum algorithm_status logged_read(const struct dataset *data, double discount,
                                  const struct policy *policy, const struct judge_pulse *pulse,
                                  struct logged *out, const char **message)
{
    struct logged l = {.data = data,
                       .discount = discount,
                       .row_count = data->transition_count + data->trajectory_count};
    *message = "";
    if (policy->shape.input != data->state_dim ||
        policy_action_count(policy) != data->action_count || !(discount >= 0 && discount <= 1)) {
        *message = "the policy does not fit the data";
        return ALGORITHM_BAD_INPUT;
    }
    size_t bytes = l.row_count * data->action_count * sizeof(float) + 2 * data->transition_count +
                   data->trajectory_count * sizeof *l.trajectory;
    if (!memory_fits(bytes))
        return ALGORITHM_NO_MEMORY;
    l.trajectory = memory_new(data->trajectory_count + 1, sizeof *l.trajectory);
    l.fold = memory_new(data->transition_count + 1, 1);
    l.over = memory_new(data->transition_count + 1, 1);
    l.target = memory_new(l.row_count * data->action_count + 1, sizeof *l.target);
    l.center = memory_new(2 * (size_t)data->state_dim, sizeof *l.center);
    l.factor = l.center + data->state_dim;
    logged_gather(&l);
    enum algorithm_status status = ALGORITHM_OK;
    if (l.unit_count < LOGGED_FOLDS) {
        *message = "there are too few trajectories to keep some of them from the fit";
        status = ALGORITHM_BAD_INPUT;
    } else {
        logged_measure(&l);
        logged_scale(&l);
        status = logged_ask_all(&l, policy, pulse, message);
    }
    if (status == ALGORITHM_OK && !isfinite(l.spread)) {
        *message = "the data's returns are not finite";
        status = ALGORITHM_BAD_INPUT;
    }
    if (status != ALGORITHM_OK) {
        logged_clear(&l);
        return status;
    }
    *out = l;
    return ALGORITHM_OK;
}
