/* The runs of one cell over its seeds, and their fraction of the runs without privacy. */
#ifndef TACET_BENCH_OFFLINE_ESTIMATE_H
#define TACET_BENCH_OFFLINE_ESTIMATE_H

#include <stdio.h>

#include "bench/offline/results.h"

struct estimate {
    unsigned count; /* seeds */
    unsigned infeasible;
    double mean, deviation, median; /* of returns over seeds */
    double random, certified, cpu_seconds;
};

/* The cells of ALL with these settings; OPTIONS as struct result has them. */
struct estimate estimate_of(const struct results *all, uint32_t experts, const char *world,
                            const char *algorithm, const char *method, double epsilon,
                            const char *options);

/* The cells with the settings of tuned.c alone, whose options are "-". */
struct estimate estimate_usual(const struct results *all, uint32_t experts, const char *world,
                               const char *algorithm, const char *method, double epsilon);

/* The quotient of two means above random play, and half its 95 % interval, by the delta method;
 * that is NaN with one seed. Both are NaN where the run without privacy is no better than random
 * play. */
double estimate_fraction(const struct estimate *e, const struct estimate *plain, double *half);

/* "0.87 ± 0.10", or "0.87, 1 seed" where HALF is NaN. */
void estimate_print(FILE *out, double fraction, double half);

#endif
