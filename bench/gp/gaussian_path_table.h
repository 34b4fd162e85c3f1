/* The stored path of a Gaussian process: every visited point is kept, in order, and a new one is
 * drawn given its nearest neighbours on either side, which by the Markov property is its law given
 * all of them. For training, where a path lives as long as one update, and as the oracle of the
 * stateless form's law. A release uses gaussian_path.h. */
#ifndef TACET_BENCH_GP_GAUSSIAN_PATH_TABLE_H
#define TACET_BENCH_GP_GAUSSIAN_PATH_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "algos/privacy/noise/noise.h"
#include "bench/gp/gaussian_bridge.h"

#define GAUSSIAN_PATH_TABLE_MAX_POINTS 10000000 /* 32 bytes each */

struct gaussian_path_table;

enum gaussian_path_table_status {
    GAUSSIAN_PATH_TABLE_OK,
    GAUSSIAN_PATH_TABLE_BAD_POINT, /* NaN, or outside [0, 1]: clamp before */
    GAUSSIAN_PATH_TABLE_FULL,      /* MAX_POINTS are stored and this one is new */
    GAUSSIAN_PATH_TABLE_NO_MEMORY,
};

/* An empty path of kernel sigma^2 exp(-beta |x - y|) with room for at most MAX_POINTS (1 ..
 * GAUSSIAN_PATH_TABLE_MAX_POINTS). NULL when memory is short. One table per action; beta, sigma >
 * 0 and finite. */
struct gaussian_path_table *gaussian_path_table_new(double beta, double sigma, size_t max_points);
/* Wipes and frees. Takes NULL. */
void gaussian_path_table_free(struct gaussian_path_table *table);

/* The value at X: the stored one if X was visited, else drawn from NOISE and stored. O(log n)
 * expected. *VALUE is untouched on failure. */
enum gaussian_path_table_status gaussian_path_table_value(struct gaussian_path_table *table,
                                                          struct noise_source *noise, double x,
                                                          double *value);

size_t gaussian_path_table_count(const struct gaussian_path_table *table);

/* The stored points nearest to X: the greatest at most X and the least at least X, the same when X
 * is stored; false for a side where there is none. Gives how many points were looked at. */
size_t gaussian_path_table_neighbours(const struct gaussian_path_table *table, double x,
                                      struct gaussian_bridge_point *left, bool *has_left,
                                      struct gaussian_bridge_point *right, bool *has_right);

#endif
