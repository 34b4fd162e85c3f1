/* How many of the jobs of a mix, in their order, an account pays for before it first refuses. */
#ifndef TACET_BENCH_BUDGETS_PAID_H
#define TACET_BENCH_BUDGETS_PAID_H

#include "bench/budgets/mixes.h"

#define PAID_SHARE                                                                                 \
    0.05 /* of delta, set aside for releases with a delta of their own; the default */

struct paid {
    uint64_t adding; /* by basic composition */
    uint64_t renyi;  /* by an account with accounting "renyi" and default settings */
    uint64_t fixed;  /* if the whole plan had been fixed in advance, which no account can pass */
    double seconds;  /* CPU time of the slowest Renyi price */
};

/* The three numbers; each is at most MIX_JOBS. */
struct paid paid_of(const struct mix *mix);

#endif
