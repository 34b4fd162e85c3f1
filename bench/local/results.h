/* The file of finished trials and runs (bench/plot/lines.h). */
#ifndef TACET_BENCH_LOCAL_RESULTS_H
#define TACET_BENCH_LOCAL_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct result {
    char experiment[16]; /* "collection", "central" or "local" */
    char method[24];     /* of bench/local/methods.h, or an algorithm */
    double setting; /* epsilon asked for, or with "central" the noise multiplier; 0: no noise */
    uint64_t seed;
    double epsilon;  /* certified */
    double time;     /* submissions or episodes or updates until success; 0: none */
    double score;    /* area under the curve, or mean return of the policy at the end */
    uint64_t length; /* submissions, episodes or updates that were run */
    double cpu_seconds;
};

struct results {
    struct result *all; /* owned */
    size_t count;
};

/* What the runs of one method at one setting came to. */
#define RESULT_SEEDS 200 /* at most; further ones are left out */
struct result_cell {
    size_t count, succeeded;
    double time[RESULT_SEEDS], score[RESULT_SEEDS]; /* time infinite: no success */
    double epsilon, length;                         /* of the last */
    double cpu_seconds;                             /* of all */
};

/* What PATH holds so far. False after a line on standard error. */
bool results_load(const char *path, struct results *out);
void results_free(struct results *results);

/* Gathers the runs of METHOD in EXPERIMENT at SETTING. */
void results_cell(const struct results *results, const char *experiment, const char *method,
                  double setting, struct result_cell *out);

/* The settings of METHOD in EXPERIMENT that are in the file, growing; gives how many. */
#define RESULT_SETTINGS 16 /* at most */
unsigned results_settings(const struct results *results, const char *experiment, const char *method,
                          double out[RESULT_SETTINGS]);

/* True when the same one (all columns up to seed) is in the file; also, after a line on standard
 * error, when it cannot be read. */
bool results_have(const char *path, const struct result *cell);

/* Appends one line in one write. False after a line on standard error. */
bool results_append(const char *path, const struct result *result);

#endif
