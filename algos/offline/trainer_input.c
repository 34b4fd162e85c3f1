/* Scales inputs of a network, and folds that scaling into its weights at the end. */
#include "algos/offline/trainer_input.h"

static float center_of(const struct trainer_settings *settings, size_t coordinate)
{
    const struct parameter_value *center = &settings->input_center;
    return (float)center->number[center->count > 1 ? coordinate : 0];
}

void trainer_input_write(const struct trainer_settings *settings, size_t dim, const float *from,
                         float *to)
{
    const float scale = (float)settings->input_scale;
    for (size_t d = 0; d < dim; d++)
        to[d] = scale * (from[d] - center_of(settings, d));
}

void trainer_input_fold(const struct trainer_settings *settings, float *parameters)
{
    const struct mlp_shape *shape = &settings->rule.shape;
    const size_t dim = shape->input, units = shape->width[0];
    const float scale = (float)settings->input_scale;
    float *bias = parameters + mlp_bias_offset(shape, 0);
    for (size_t u = 0; u < units; u++) {
        float *weight = parameters + mlp_weight_offset(shape, 0) + u * dim;
        double moved = 0.0;
        for (size_t d = 0; d < dim; d++) {
            weight[d] *= scale;
            moved += (double)weight[d] * (double)center_of(settings, d);
        }
        bias[u] -= (float)moved;
    }
}
