/* Settings of each world and method that differ from a job's defaults, as
 * docs/results/offline-settings.md lists them. */
#ifndef TACET_BENCH_OFFLINE_TUNED_H
#define TACET_BENCH_OFFLINE_TUNED_H

#include "bench/offline/cell.h"

/* Fills OUT[CELL_SETTINGS] with those of CELL's world, algorithm and method, in the order in which
 * they are to be applied; gives how many. */
unsigned tuned_settings(const struct cell *cell, struct cell_setting out[CELL_SETTINGS]);

#endif
