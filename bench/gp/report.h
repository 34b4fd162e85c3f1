/* Tables and plots of a file of results. */
#ifndef TACET_BENCH_GP_REPORT_H
#define TACET_BENCH_GP_REPORT_H

#include <stdbool.h>

/* Writes FOLDER/gp-tables.md, gp-sigma.svg and gp-methods.svg from RESULTS; false: a file failed.
 */
bool report_write(const char *results, const char *folder);

#endif
