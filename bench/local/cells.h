/* The finished runs of one cell of a table. */
#ifndef TACET_BENCH_LOCAL_CELLS_H
#define TACET_BENCH_LOCAL_CELLS_H

#include "bench/local/results.h"

#define CELLS_SETTINGS 16
#define CELLS_SEEDS    200

/* What runs of one cell came to. */
struct cell {
    size_t count, succeeded;
    double time[CELLS_SEEDS], score[CELLS_SEEDS]; /* time infinite: no success */
    double epsilon, length, cpu_seconds;
};

/* The runs of METHOD in EXPERIMENT at SETTING. */
void cells_find(const struct results *all, const char *experiment, const char *method,
                double setting, struct cell *out);

/* The settings of METHOD in EXPERIMENT that are in the file, growing; gives how many. */
unsigned cells_settings(const struct results *all, const char *experiment, const char *method,
                        double out[CELLS_SETTINGS]);

#endif
