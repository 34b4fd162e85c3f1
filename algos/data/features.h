/* What is public about the states of a dataset: the lowest and the highest plausible value of each
 * coordinate. Scales and bounds of everything that learns from the dataset follow from these
 * numbers, which nobody's data have made, or which were released at a price. */
#ifndef TACET_ALGOS_DATA_FEATURES_H
#define TACET_ALGOS_DATA_FEATURES_H

#include <stddef.h>
#include <stdint.h>

/* What the usual network's inputs are multiplied with once they lie within -1..1, unless a request
 * says otherwise: the least coordinate differences that matter must move the first layer. */
#define FEATURES_INPUT_SCALE 2.0

struct feature_range {
    double low, high; /* low < high */
};

struct features {
    uint32_t count; /* coordinates of a state */
    struct feature_range range[];
};

/* Ranges for COUNT coordinates, all zero. Running out of memory ends the process; the caller frees
 * them. */
struct features *features_new(uint32_t count);

/* The middle of RANGE. */
double feature_center(const struct feature_range *range);

/* The factor that brings RANGE, moved to its middle, to -1..1. */
double feature_scale(const struct feature_range *range);

/* X of coordinate D as a number in -1..1 where it is within its range. */
double features_normal(const struct features *features, uint32_t d, double x);

#endif
