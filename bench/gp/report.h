/* Tables and plots of a file of results. */
#ifndef TACET_BENCH_GP_REPORT_H
#define TACET_BENCH_GP_REPORT_H

#include <stdbool.h>

/* Writes FOLDER/gp-tables.md, gp-sigma.svg and gp-methods.svg from RESULTS; false: a file failed.
 */
bool report_write(const char *results, const char *folder);

/* The two plots, to PATH; false: it could not be written. Learning curves of Algorithm 1, and the
 * returns of all methods that have one true epsilon. */
bool report_sigmas(const char *results, const char *path);
bool report_methods(const char *results, const char *path);

#endif
