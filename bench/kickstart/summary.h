/* Runs of one world and variant, over seeds. */
#ifndef TACET_BENCH_KICKSTART_SUMMARY_H
#define TACET_BENCH_KICKSTART_SUMMARY_H

#include "bench/kickstart/results.h"
#include "bench/plot/sample.h"

#define SUMMARY_SEEDS 100

struct summary {
    size_t count;                    /* seeds */
    const struct result *one;        /* any of them */
    struct sample_quartiles reached; /* transitions to the level; infinite: never */
    struct sample_quartiles last;    /* return in the end */
    struct sample_quartiles curve[RESULT_POINTS];
    double area;    /* mean of the median curve */
    double answers; /* medians */
    double epsilon, paper, cpu_seconds;
};

/* False: there is no run. Of two lines of one seed the first counts. */
bool summary_of(const struct results *results, const char *world, const char *variant,
                struct summary *out);

#endif
