/* SGD and Adam over flat vectors. */
#include "algos/nn/optimizer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

bool optimizer_init(struct optimizer *out, const struct optimizer_settings *settings, size_t count)
{
    assert(count > 0);
    *out = (struct optimizer){.settings = *settings, .count = count};
    out->first = calloc(count, sizeof *out->first);
    if (!out->first)
        return false;
    if (settings->kind == OPTIMIZER_ADAM) {
        out->second = calloc(count, sizeof *out->second);
        if (!out->second) {
            optimizer_clear(out);
            return false;
        }
    }
    return true;
}

void optimizer_clear(struct optimizer *optimizer)
{
    free(optimizer->first);
    free(optimizer->second);
    *optimizer = (struct optimizer){0};
}

static void sgd_part(const struct optimizer *o, struct optimizer_part part,
                     float *restrict parameters, const float *restrict gradient, float rate)
{
    float *restrict velocity = o->first + part.first;
    const float momentum = (float)o->settings.momentum;
    for (size_t i = 0; i < part.count; i++) {
        velocity[i] = momentum * velocity[i] + gradient[i];
        parameters[i] -= rate * velocity[i];
    }
}

static void adam_part(const struct optimizer *o, struct optimizer_part part,
                      float *restrict parameters, const float *restrict gradient,
                      double learning_rate)
{
    float *restrict first = o->first + part.first, *restrict second = o->second + part.first;
    const float beta1 = (float)o->settings.momentum, beta2 = (float)o->settings.beta2;
    const float rest1 = (float)(1.0 - o->settings.momentum);
    const float rest2 = (float)(1.0 - o->settings.beta2);
    const float epsilon = (float)o->settings.epsilon;
    const double t = (double)o->step;
    const float rate = (float)(learning_rate / (1.0 - pow(o->settings.momentum, t)));
    const float root = (float)(1.0 / sqrt(1.0 - pow(o->settings.beta2, t)));
    for (size_t i = 0; i < part.count; i++) {
        float g = gradient[i];
        first[i] = beta1 * first[i] + rest1 * g;
        second[i] = beta2 * second[i] + rest2 * g * g;
        parameters[i] -= rate * first[i] / (sqrtf(second[i]) * root + epsilon);
    }
}

void optimizer_begin(struct optimizer *optimizer)
{
    assert(optimizer->first);
    optimizer->step++;
}

void optimizer_move(const struct optimizer *optimizer, struct optimizer_part part,
                    float *parameters, const float *gradient, double learning_rate)
{
    assert(optimizer->step > 0 && part.first <= optimizer->count &&
           part.count <= optimizer->count - part.first);
    parameters += part.first;
    gradient += part.first;
    if (optimizer->settings.kind == OPTIMIZER_ADAM)
        adam_part(optimizer, part, parameters, gradient, learning_rate);
    else
        sgd_part(optimizer, part, parameters, gradient, (float)learning_rate);
}

void optimizer_step(struct optimizer *optimizer, float *parameters, const float *gradient,
                    double learning_rate)
{
    const struct optimizer_part all = {0, optimizer->count};
    optimizer_begin(optimizer);
    optimizer_move(optimizer, all, parameters, gradient, learning_rate);
}
