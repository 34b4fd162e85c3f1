/* Scales inputs of a network, and folds that scaling into its weights at the end. */
#include "algos/offline/trainer_input.h"

/* Of one number for all coordinates, or one for each. */
static float number_of(const struct parameter_value *each, size_t coordinate)
{
    return (float)each->number[each->count > 1 ? coordinate : 0];
}

void trainer_input_write(const struct trainer_settings *settings, size_t dim, const float *from,
                         float *to)
{
    for (size_t d = 0; d < dim; d++)
        to[d] = number_of(&settings->input_scale, d) *
                (from[d] - number_of(&settings->input_center, d));
}

void trainer_input_fold(const struct trainer_settings *settings, float *parameters)
{
    const struct mlp_shape *shape = &settings->rule.shape;
    const size_t dim = shape->input, units = shape->width[0];
    float *bias = parameters + mlp_bias_offset(shape, 0);
    for (size_t u = 0; u < units; u++) {
        float *weight = parameters + mlp_weight_offset(shape, 0) + u * dim;
        double moved = 0.0;
        for (size_t d = 0; d < dim; d++) {
            weight[d] *= number_of(&settings->input_scale, d);
            moved += (double)weight[d] * (double)number_of(&settings->input_center, d);
        }
        bias[u] -= (float)moved;
    }
}
