/* Plots of the learners against noise and epsilon: returns, success ratios and convergence times,
 * as figures 9, 13 and 14 of Doulazmi and Odonnat 2023 have them. */
#ifndef TACET_BENCH_LOCAL_FIGURES_H
#define TACET_BENCH_LOCAL_FIGURES_H

#include "bench/local/results.h"

/* Writes DIRECTORY/online-central.svg and online-local.svg, a panel for each of the three against
 * epsilon, and the same against the noise, online-central-noise.svg and online-local-noise.svg. */
bool figures_write(const struct results *all, const char *directory);

#endif
