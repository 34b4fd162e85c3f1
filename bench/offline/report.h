/* Tables and plots from the file of results. */
#ifndef TACET_BENCH_OFFLINE_REPORT_H
#define TACET_BENCH_OFFLINE_REPORT_H

#include <stdbool.h>

/* Writes DIRECTORY/offline-tables.md and an SVG for each world, algorithm and number of
 * experts that the file RESULTS has cells of with all settings at their defaults. A cell is the
 * mean over seeds of the return above random play, as a fraction of the mean non-private run's,
 * with a 95 % interval of Student's t over seeds, in which the non-private runs' own spread counts
 * too. False after a line on standard error. */
bool report_write(const char *results, const char *directory);

#endif
