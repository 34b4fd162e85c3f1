/* From measured outcomes to what ships, and how well that predicts. */
#ifndef TACET_BENCH_ADVISE_TABLE_H
#define TACET_BENCH_ADVISE_TABLE_H

#include "bench/advise/results.h"

/* Writes the table of algos/advice/advice.h as C to PATH. False after a line on standard error. */
bool table_write(const struct outcomes *outcomes, const char *path);

/* Writes to PATH how well the table that this program was built with predicts the runs of JUDGED,
 * which are of other experts. False after a line on standard error. */
bool held_out_write(const struct outcomes *judged, const char *path);

/* Writes to PATH a table in Markdown of OUTCOMES: for each number of experts what they themselves
 * earned, the runs without privacy, and each candidate that needs no simulator, with the share of
 * the best mean without privacy on the same data (0 is random play), and which candidate the
 * advisor ranks first in a world of which its table has no run. False after a line on standard
 * error. */
bool compare_write(const struct outcomes *outcomes, const char *path);

#endif
