/* Tables and plots from the file of results. */
#ifndef TACET_BENCH_LOCAL_REPORT_H
#define TACET_BENCH_LOCAL_REPORT_H

#include <stdbool.h>

/* Writes collection-tables.md, online-tables.md and their SVGs into DIRECTORY from the file
 * RESULTS. False after a line on standard error. */
bool report_write(const char *results, const char *directory);

#endif
