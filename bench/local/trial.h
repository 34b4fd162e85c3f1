/* One trial of locally private gradient collection, as Ono and Takahashi 2020 (arXiv 2001.11718,
 * section 6) measure it: agents report one after the other, each from one episode of at most 200
 * steps, until the mean of ten scores in a row reaches 195. */
#ifndef TACET_BENCH_LOCAL_TRIAL_H
#define TACET_BENCH_LOCAL_TRIAL_H

#include "algos/algorithm.h"

#define TRIAL_RECENT  10
#define TRIAL_SUCCESS 195.0
#define TRIAL_CAP     200.0
/* The area under the curve of scores is taken over this many submissions. */
#define TRIAL_HORIZON 20000
/* A trial without success ends here. */
#define TRIAL_MOST 90000

struct trial_result {
    uint64_t first_success; /* submissions until then; 0: not within MOST */
    uint64_t submissions;   /* that were simulated: MOST, or fewer where all is known before */
    double area;            /* mean score of the first TRIAL_HORIZON submissions, over the cap */
    double cpu_seconds;
};

/* REQUEST is of the algorithm pgc_a3c, its buffer divides TRIAL_HORIZON and MOST. False after a
 * line on standard error. */
bool trial_run(const struct algorithm_request *request, uint64_t most, struct trial_result *out);

#endif
