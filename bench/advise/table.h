/* From measured outcomes to what ships, and how well that predicts. */
#ifndef TACET_BENCH_ADVISE_TABLE_H
#define TACET_BENCH_ADVISE_TABLE_H

#include "bench/advise/results.h"

/* Writes the table of algos/advice/advice.h as C to PATH. False after a line on standard error. */
bool table_write(const struct outcomes *outcomes, const char *path);

/* Writes to PATH how well the table that this program was built with predicts the runs of JUDGED,
 * which are of other experts. False after a line on standard error. */
bool held_out_write(const struct outcomes *judged, const char *path);

#endif
