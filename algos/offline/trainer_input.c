/* Scales inputs of a network, and folds that scaling into its weights at the end. */
#include "algos/offline/trainer_input.h"

/* Of one number for all coordinates, or one for each. */
static float number_of(const struct parameter_value *each, size_t coordinate)
{
    return (float)each->number[each->count > 1 ? coordinate : 0];
}

/* What a coordinate is multiplied with after its CENTER was taken from it. */
static double input_scale_of(const struct trainer_settings *settings, size_t coordinate,
                             double *out_center)
{
    double scale = (double)number_of(&settings->input_scale, coordinate);
    double center = (double)number_of(&settings->input_center, coordinate);
    *out_center = center;
    if (!settings->features)
        return scale;
    const struct feature_range *range = &settings->features->range[coordinate];
    *out_center = feature_center(range) + center / feature_scale(range);
    return scale * feature_scale(range);
}

void trainer_input_write(const struct trainer_settings *settings, size_t dim, const float *from,
                         float *to)
{
    if (!settings->features) {
        for (size_t d = 0; d < dim; d++)
            to[d] = number_of(&settings->input_scale, d) *
                    (from[d] - number_of(&settings->input_center, d));
        return;
    }
    for (size_t d = 0; d < dim; d++) {
        double center, scale = input_scale_of(settings, d, &center);
        to[d] = (float)(scale * ((double)from[d] - center));
    }
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
            double center, scale = input_scale_of(settings, d, &center);
            weight[d] = (float)((double)weight[d] * scale);
            moved += (double)weight[d] * center;
        }
        bias[u] -= (float)moved;
    }
}
