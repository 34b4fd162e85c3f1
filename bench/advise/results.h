/* The file of measured outcomes (bench/plot/lines.h): one line a run. */
#ifndef TACET_BENCH_ADVISE_RESULTS_H
#define TACET_BENCH_ADVISE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outcome {
    char world[24], method[24], algorithm[32]; /* method "none": without privacy */
    uint32_t experts, size;                    /* size 0: the usual network, or number of labels */
    double epsilon;                            /* 0 without privacy */
    uint64_t seed;
    double signal; /* algos/advice/advice.h; 0 without privacy, or where no plan was feasible */
    double mean_return, random_return; /* mean_return is NAN where no plan was feasible */
    double cpu_seconds;
};

struct outcomes {
    struct outcome *all; /* owned */
    size_t count;
    const struct outcomes *beside; /* whose runs without privacy count for the scale, too; or NULL */
};

/* What PATH holds so far; nothing when there is no such file. False after a line on standard error.
 */
bool outcomes_load(const char *path, struct outcomes *out);
/* Frees the list. */
void outcomes_free(struct outcomes *outcomes);

/* True when a run of the same world, sizes, method, algorithm, epsilon and seed is among them. */
bool outcomes_have(const struct outcomes *outcomes, const struct outcome *run);

/* Appends one line in one write. */
bool outcomes_append(const char *path, const struct outcome *run);

/* The best mean return without privacy in WORLD, here and beside: the mean over seeds, the best over
 * algorithms and numbers of experts. NAN: there is none. */
double outcomes_best(const struct outcomes *outcomes, const char *world);

/* 0 for random play (what its world says of that), 1 for the best run without privacy; NAN where
 * either is unknown. */
double outcomes_quality(const struct outcomes *outcomes, const struct outcome *run);

#endif
