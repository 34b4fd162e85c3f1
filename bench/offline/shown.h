/* What tables and plots show: methods, budgets, and the published figures beside them. */
#ifndef TACET_BENCH_OFFLINE_SHOWN_H
#define TACET_BENCH_OFFLINE_SHOWN_H

#include <stddef.h>

#define SHOWN_METHODS  5
#define SHOWN_EPSILONS 4

/* The run without privacy first. */
extern const char *const shown_methods[SHOWN_METHODS], *const shown_labels[SHOWN_METHODS];
extern const double shown_epsilons[SHOWN_EPSILONS];

/* Sharma et al. 2025: best private figure and plain DP-SGD, as fractions of the non-private run,
 * under their own accounting; 0: not stated as a number. */
struct shown_published {
    const char *world, *algorithm;
    double epsilon, best, dpsgd;
};
#define SHOWN_PUBLISHED         7
#define SHOWN_PUBLISHED_EXPERTS 3000
extern const struct shown_published shown_published[SHOWN_PUBLISHED];

/* The one of these, or NULL. */
const struct shown_published *shown_find(const char *world, const char *algorithm, double epsilon);

#endif
