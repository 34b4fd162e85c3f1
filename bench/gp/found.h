/* What a file of results holds of a cell, and which cells compare methods at one true epsilon. */
#ifndef TACET_BENCH_GP_FOUND_H
#define TACET_BENCH_GP_FOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/gp/methods.h"

#define FOUND_SEEDS 64 /* of a cell, at most */

struct found {
    size_t count;
    double final[FOUND_SEEDS], curve[METHODS_BLOCKS][FOUND_SEEDS];
    double low, high, seconds;
    bool has_curve;
};

/* The runs of CELL in the file RESULTS; none: count 0. */
void found_cell(const char *results, const char *cell, struct found *out);

/* A method. A cell's name is its KEY and the rest that a value gives. */
struct found_row {
    const char *says, *key;
    const char *plain; /* the cell without noise, or NULL */
};

enum { FOUND_ROWS = 5, FOUND_VALUES = 4 };

extern const struct found_row found_rewards[FOUND_ROWS]; /* unit reward */
extern const struct found_row found_experts[FOUND_ROWS]; /* unit expert; the last one's epsilon is
                                                          * claimed, all others' are true */
extern const double found_distances[FOUND_VALUES];       /* that neighbours' rewards are apart */
extern const double found_epsilons[FOUND_VALUES];        /* of unit expert */

/* The runs of ROW at VALUE, FORM (for printf, of one double) being the rest of the cell's name. */
struct found found_at(const char *results, const struct found_row *row, const char *form,
                      double value);

#endif
