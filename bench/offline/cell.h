/* One cell of the reproduction: a world's population, an algorithm, a method, an epsilon and a
 * seed; trained as a job would be (the same registry, plans, stages and trainer), then judged. */
#ifndef TACET_BENCH_OFFLINE_CELL_H
#define TACET_BENCH_OFFLINE_CELL_H

#include "algos/algorithm.h"
#include "bench/offline/population.h"
#include "bench/offline/setting.h"

struct cell_method {
    const char *name;
    enum algorithm_mechanism mechanism;
    enum sparse_vector_accounting accounting; /* of stable prefixes */
};
/* none, dpsgd, selective, selective_paper (thresholds as published), consensus. */
extern const struct cell_method cell_methods[];
extern const unsigned cell_method_count;
const struct cell_method *cell_method_find(const char *name);

/* Settings: "stable_count", "stable_share" and "plain_share" are those of stable
 * prefixes; "labels", "label_length", "label_share", "label_plain_share", "explore", "rounds",
 * "skill_low", "skill_high", "skill_power" and "skill_episodes" those of consensus labels;
 * "candidates" and "candidate_episodes" those of the choice by play; "layers" is the number of
 * hidden layers, all as wide as the first; the others are the algorithm's parameters. */
#define CELL_SETTINGS 32

struct cell {
    const struct population *population;
    const struct algorithm *algorithm;
    const struct cell_method *method;
    double epsilon; /* 0 with method "none" */
    uint64_t seed;
    uint64_t steps;    /* 0: the algorithm's default */
    uint32_t episodes; /* that judge it */
    struct cell_setting settings[CELL_SETTINGS];
    unsigned setting_count;
};

struct cell_result {
    bool feasible;      /* false: the budget cannot pay it; only REASON says more */
    const char *reason; /* static */
    double epsilon;     /* certified, of everything, by the sharper accountant */
    uint64_t steps, noisy_steps;
    double noise_multiplier;
    double threshold; /* of stable prefixes, in experts; 0 without */
    struct policy_evaluation played;
    double cpu_seconds;
};

/* False after a line on standard error: bad settings, or no memory. */
bool cell_run(const struct cell *cell, struct cell_result *out);

#endif
