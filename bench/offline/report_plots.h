/* Plots of the offline reproduction: fractions of the non-private return over epsilon. */
#ifndef TACET_BENCH_OFFLINE_REPORT_PLOTS_H
#define TACET_BENCH_OFFLINE_REPORT_PLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/offline/results.h"

/* Writes DIRECTORY/offline-WORLD-EXPERTS.svg, a panel for each algorithm, and to OUT the line that
 * shows it; nothing where ALL has no private run of it. False after a line on standard error. */
bool report_plots_world(FILE *out, const struct results *all, uint32_t experts, const char *world,
                        const char *directory);

#endif
