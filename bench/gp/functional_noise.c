/* Algorithm 1 as printed: plain gradient steps on errors that are read from Q + g. */
#include "bench/gp/functional_noise.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/batch.h"
#include "algos/nn/per_example.h"
#include "bench/gp/gaussian_path_table.h"
#include "envs/env.h"

#define MAX_POINTS ((size_t)1 << 20)

struct functional_noise {
    struct functional_noise_settings settings;
    uint32_t actions;
    size_t count;
    float *parameters, *gradient, *scratch, *factor;
    double *norm; /* squared, of each row's gradient */
    struct batch *batch;
    struct gaussian_path_table *path[ENV_MAX_ACTIONS];
    struct noise_source *noise;
    uint64_t updates;
};

double functional_noise_claimed_sigma(double epsilon, double delta, double rate, uint32_t batch,
                                      uint64_t updates, double lipschitz, double k, bool *out_holds)
{
    double v = 4.0 * rate * (k + 1.0) / batch;
    double c = (v * v + v) * lipschitz * lipschitz;
    double sigma = sqrt(2.0 * (double)updates * c * log(M_E + epsilon / delta)) / epsilon;
    if (out_holds)
        *out_holds = 2.0 * k > 8.68 * sigma / sqrt(v);
    return sigma;
}

static void forget_paths(struct functional_noise *f)
{
    for (uint32_t a = 0; a < f->actions; a++) {
        gaussian_path_table_free(f->path[a]);
        f->path[a] = NULL;
    }
}

void functional_noise_free(struct functional_noise *f)
{
    if (!f)
        return;
    forget_paths(f);
    batch_free(f->batch);
    free(f->parameters);
    free(f->gradient);
    free(f->scratch);
    free(f->factor);
    free(f->norm);
    free(f);
}

struct functional_noise *functional_noise_new(const struct functional_noise_settings *settings,
                                              const float *parameters, struct noise_source *noise)
{
    const struct mlp_shape *shape = &settings->shape;
    assert(mlp_shape_valid(shape) && shape->input == 1 && settings->batch > 0 &&
           settings->updates_per_path > 0);
    struct functional_noise *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->settings = *settings;
    f->noise = noise;
    f->actions = shape->width[shape->layer_count - 1];
    assert(f->actions <= ENV_MAX_ACTIONS);
    f->count = mlp_parameter_count(shape);
    f->parameters = calloc(f->count, sizeof *f->parameters);
    f->gradient = calloc(f->count, sizeof *f->gradient);
    f->scratch = calloc(mlp_scratch_count(shape) + 1, sizeof *f->scratch);
    f->batch = batch_new(shape, settings->batch);
    f->factor = calloc(settings->batch, sizeof *f->factor);
    f->norm = calloc(settings->batch, sizeof *f->norm);
    if (!f->factor || !f->norm || !f->parameters || !f->gradient || !f->scratch || !f->batch) {
        functional_noise_free(f);
        return NULL;
    }
    memcpy(f->parameters, parameters, f->count * sizeof *parameters);
    return f;
}

/* Adds the path to VALUES. */
static bool add_path(struct functional_noise *f, double state, double *values)
{
    const struct functional_noise_settings *s = &f->settings;
    for (uint32_t a = 0; s->sigma > 0.0 && a < f->actions; a++) {
        double g = 0.0;
        if (!f->path[a])
            f->path[a] = gaussian_path_table_new(s->beta, s->sigma, MAX_POINTS);
        if (!f->path[a] ||
            gaussian_path_table_value(f->path[a], f->noise, state, &g) != GAUSSIAN_PATH_TABLE_OK)
            return false;
        values[a] += g;
    }
    return true;
}

bool functional_noise_values(struct functional_noise *f, double state, double *out)
{
    float input = (float)state, output[ENV_MAX_ACTIONS];
    mlp_forward_one(&f->settings.shape, f->parameters, &input, output, f->scratch);
    for (uint32_t a = 0; a < f->actions; a++)
        out[a] = (double)output[a];
    return add_path(f, state, out);
}

/* delta = Q + g - r - discount max (Q + g); QS is Q at the state, without noise. */
static bool noisy_error_of(struct functional_noise *f, const struct functional_noise_step *step,
                           const float *qs, double *out)
{
    double here[ENV_MAX_ACTIONS] = {0}, there[ENV_MAX_ACTIONS] = {0};
    for (uint32_t a = 0; a < f->actions; a++)
        here[a] = (double)qs[a];
    if (!add_path(f, step->state, here))
        return false;
    *out = here[step->action] - step->reward;
    if (step->terminated)
        return true;
    if (!functional_noise_values(f, step->next, there))
        return false;
    double most = there[0];
    for (uint32_t a = 1; a < f->actions; a++)
        most = fmax(most, there[a]);
    *out -= f->settings.discount * most;
    return true;
}

static void clip_batch(struct functional_noise *f)
{
    uint32_t rows = f->settings.batch;
    memset(f->norm, 0, rows * sizeof *f->norm);
    per_example_squared_norm_add(f->batch, rows, f->norm);
    per_example_factors(f->norm, rows, f->settings.clip_norm, f->factor);
    per_example_scale(f->batch, rows, f->factor);
}

bool functional_noise_update(struct functional_noise *f, const struct functional_noise_step *steps)
{
    const struct functional_noise_settings *s = &f->settings;
    if (f->updates++ % s->updates_per_path == 0)
        forget_paths(f);
    for (uint32_t i = 0; i < s->batch; i++)
        batch_input(f->batch)[i] = (float)steps[i].state;
    const float *q = batch_forward(f->batch, f->parameters, s->batch);
    float *error = batch_output_error(f->batch);
    for (uint32_t i = 0; i < s->batch; i++) {
        double delta = 0.0;
        if (!noisy_error_of(f, &steps[i], q + (size_t)i * f->actions, &delta))
            return false;
        for (uint32_t a = 0; a < f->actions; a++)
            error[i * f->actions + a] = a == steps[i].action ? (float)delta : 0.0F;
    }
    memset(f->gradient, 0, f->count * sizeof *f->gradient);
    batch_backward(f->batch, f->parameters, s->batch);
    if (s->clip_norm > 0.0)
        clip_batch(f);
    batch_gradient_add(f->batch, s->batch, f->gradient);
    if (s->clip_norm > 0.0)
        noise_gaussian_add(f->noise, f->gradient, f->count,
                           (float)(s->clip_norm * s->gradient_sigma));
    for (size_t k = 0; k < f->count; k++)
        f->parameters[k] -= (float)(s->rate / s->batch) * f->gradient[k];
    return true;
}

const float *functional_noise_parameters(const struct functional_noise *f)
{
    return f->parameters;
}
