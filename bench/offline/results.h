/* The file of finished cells (bench/plot/lines.h). */
#ifndef TACET_BENCH_OFFLINE_RESULTS_H
#define TACET_BENCH_OFFLINE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESULT_WORD 400

struct result {
    char world[24], algorithm[32], method[24];
    double epsilon; /* 0: without privacy */
    uint64_t seed;
    uint32_t experts, trajectories;
    char options[RESULT_WORD]; /* "steps=N,NAME=VALUE,..." or "-" */
    int feasible;
    double certified_epsilon;
    uint64_t steps, noisy_steps;
    double noise_multiplier, threshold;
    double mean_return, std_return, random_return;
    double cpu_seconds;
};

struct results {
    struct result *all; /* owned */
    size_t count;
};

/* What PATH holds so far (nothing when there is no such file). False: unreadable or a line is no
 * result; *LINE says which (0: none). A last line without its end is left out. */
bool results_load(const char *path, struct results *out, unsigned *line);
void results_free(struct results *results);

/* True when the same cell (all columns up to options) is among them. */
bool results_have(const struct results *results, const struct result *cell);

/* Appends one line in one write. */
bool results_append(const char *path, const struct result *result);

#endif
