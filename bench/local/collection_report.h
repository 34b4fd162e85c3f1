/* Tables and plots of gradient collection beside those of Ono and Takahashi 2020 (arXiv
 * 2001.11718): their tables 1 to 3 and figures 2 and 3. */
#ifndef TACET_BENCH_LOCAL_COLLECTION_REPORT_H
#define TACET_BENCH_LOCAL_COLLECTION_REPORT_H

#include <stdio.h>

#include "bench/local/results.h"

void collection_report_tables(FILE *out, const struct results *all);

/* Writes collection-medians.svg and collection-success.svg into DIRECTORY. False: one cannot be
 * written.
 */
bool collection_report_plots(const struct results *all, const char *directory);

/* Writes a number of submissions, episodes or updates, or the sign of infinity. */
void collection_report_time(FILE *out, double time);

#endif
