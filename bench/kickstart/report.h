/* Tables and plots from the file of results. */
#ifndef TACET_BENCH_KICKSTART_REPORT_H
#define TACET_BENCH_KICKSTART_REPORT_H

#include <stdbool.h>

/* Writes DIRECTORY/kickstart-tables.md and, for each world with results, SVGs of learning curves
 * (median and quartiles over seeds). False after a line on standard error. */
bool report_write(const char *results, const char *directory);

#endif
