/* Public ranges of coordinates. */
#include "algos/data/features.h"

#include "memory/memory.h"

struct features *features_new(uint32_t count)
{
    struct features *features = memory_new(1, sizeof *features + count * sizeof features->range[0]);
    features->count = count;
    return features;
}

double feature_center(const struct feature_range *range)
{
    return range->low + 0.5 * (range->high - range->low);
}

double feature_scale(const struct feature_range *range)
{
    return 2.0 / (range->high - range->low);
}

double features_normal(const struct features *features, uint32_t d, double x)
{
    return (x - feature_center(&features->range[d])) * feature_scale(&features->range[d]);
}
