/* Two further questions to the results: how much of epsilon should pay for stable prefixes, and
 * how many experts does it take? */
#ifndef TACET_BENCH_OFFLINE_SWEEPS_H
#define TACET_BENCH_OFFLINE_SWEEPS_H

#include <stdio.h>

#include "bench/offline/results.h"

/* Writes a table for each question to OUT, and plots to DIRECTORY (offline-shares-WORLD.svg and
 * offline-experts-WORLD.svg), of the cells that ALL has. False after a line on standard error. */
bool sweeps_write(FILE *out, const struct results *all, const char *directory);

#endif
