/* How much becomes stable: transitions that the release of stable prefixes gives, with the
 * published thresholds and with the sharp ones, at equal claims. */
#ifndef TACET_BENCH_OFFLINE_ABLATION_H
#define TACET_BENCH_OFFLINE_ABLATION_H

#include "bench/offline/population.h"

/* Releases at epsilon 5, 7.5 and 10, three quarters of it for this stage, delta 0.9 / experts, with
 * both thresholds and some numbers of trajectories, ABLATION_DRAWS times each; appends a line each
 * to PATH. False after a line on standard error. */
#define ABLATION_DRAWS 5
bool ablation_run(const struct population *population, const char *path);

#endif
