/* The distribution of returns as a histogram in SVG. It suits light and dark pages and has neither
 * a script nor a font of its own. */
#ifndef TACET_CLI_RETURNS_PLOT_H
#define TACET_CLI_RETURNS_PLOT_H

#include <stddef.h>
#include <stdio.h>

#include "cli/returns_report.h"

/* Writes the picture of sorted[count], whose report is REPORT (returns_report_make). Failure shows
 * in ferror(OUT). */
void returns_plot(const struct returns_report *report, const double *sorted, FILE *out);

/* A round step (1, 2 or 5 times a power of ten) that divides SPAN > 0 into at most MOST >= 2 parts.
 */
double returns_plot_step(double span, unsigned most);

#endif
