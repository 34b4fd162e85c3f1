#include "bench/plot/sample.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double level)
{
    double at = level * (double)(count - 1);
    size_t below = (size_t)at;
    double share = at - (double)below;
    if (share == 0.0 || below + 1 == count)
        return sorted[below];
    if (isinf(sorted[below + 1]))
        return sorted[below + 1];
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

struct sample_quartiles sample_quartiles_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return (struct sample_quartiles){quantile(values, count, 0.25), quantile(values, count, 0.5),
                                     quantile(values, count, 0.75)};
}

double sample_student(size_t freedom)
{
    static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                               2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
                               2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
                               2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    size_t most = sizeof t / sizeof t[0] - 1;
    return t[freedom < most ? freedom : most]; /* beyond: a little wider than it need be */
}

struct sample_mean sample_mean_of(const double *values, size_t count)
{
    struct sample_mean s = {0};
    double squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        double before = s.mean;
        s.mean += (values[i] - before) / (double)(i + 1);
        squares += (values[i] - before) * (values[i] - s.mean);
    }
    s.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0.0;
    s.half = count > 1 ? sample_student(count - 1) * s.deviation / sqrt((double)count) : NAN;
    return s;
}
