/* Where a panel's reference lines have their labels: where they hide least of what is drawn. */
#ifndef TACET_BENCH_PLOT_PLACE_H
#define TACET_BENCH_PLOT_PLACE_H

#include "bench/plot/plot.h"

/* At which place along its line, from the left end (0) to the right one, and on which side. */
struct place {
    unsigned at;
    bool above;
};

#define PLACES 3

/* Finds a place for the label of each of PLOT's references, one after the other, in OUT: outside
 * lines, bands, whiskers, other references and earlier labels as far as possible, below the right
 * end if there is a choice. PLOT has PLOT_REFERENCES of them at most. */
void place_labels(const struct plot *plot, struct place out[PLOT_REFERENCES]);

#endif
