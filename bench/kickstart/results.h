/* The file of finished runs, a line each (bench/plot/lines.h). */
#ifndef TACET_BENCH_KICKSTART_RESULTS_H
#define TACET_BENCH_KICKSTART_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/kickstart/advisor.h"

#define RESULT_POINTS 40 /* of a curve, at equal distances */

struct result {
    char world[24], variant[32];
    uint64_t seed, transitions;
    struct advisor_account account;
    uint64_t alone_since; /* transitions when the teacher fell silent; 0: it did not */
    double teacher_return, random_return, level;
    uint64_t reached; /* transitions when 20 episodes of the policy first earned LEVEL; 0: never */
    double final_return; /* of the student's policy at the end, 100 episodes */
    double cpu_seconds;
    double curve[RESULT_POINTS]; /* mean return of 20 episodes of the policy */
};

struct results {
    struct result *all; /* owned */
    size_t count;
};

/* What PATH holds so far; false after a line on standard error. */
bool results_load(const char *path, struct results *out);
void results_free(struct results *results);

const struct result *results_find(const struct results *results, const char *world,
                                  const char *variant, uint64_t seed, uint64_t transitions);
bool results_append(const char *path, const struct result *result);

#endif
