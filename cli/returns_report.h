/* The distribution of the returns of a population of experts, in numbers.
 *
 * An expert's return is the mean, over its trajectories, of the undiscounted sum of rewards in the
 * usual world; the report is over experts. After Figure 2 of Sharma et al. 2025 (arXiv 2411.13598),
 * which shows that distribution as a histogram. */
#ifndef TACET_CLI_RETURNS_REPORT_H
#define TACET_CLI_RETURNS_REPORT_H

#include <stddef.h>
#include <stdio.h>

#define RETURNS_QUANTILES 7
#define RETURNS_DECILES   10

struct returns_report {
    const char *world;  /* "cartpole"; borrowed */
    unsigned max_steps; /* of an episode */
    size_t count;       /* experts, at least 1 */
    double mean;
    double deviation;                   /* sample standard deviation; 0 for one expert */
    double quantile[RETURNS_QUANTILES]; /* from the minimum to the maximum */
    size_t decile[RETURNS_DECILES];     /* experts in each tenth of minimum .. maximum */
    double random;                      /* mean return of uniform actions */
    double near_best;                   /* random + 0.9 (best - random), best being the maximum */
    size_t below_random;                /* experts whose return is below it */
    size_t above_near_best;             /* experts whose return is above near_best */
};

/* LOW .. HIGH is divided into PARTS equal parts. Returns the index of the part that contains X. The
 * last part includes HIGH. When LOW equals HIGH the index is 0. */
size_t returns_part(double x, double low, double high, size_t parts);

/* Sorts returns[count] (finite, count at least 1) and fills *out. RANDOM is the mean return of
 * uniform actions. */
void returns_report_make(double *returns, size_t count, double random, struct returns_report *out);

/* Writes the report for people. Failure shows in ferror(OUT). */
void returns_report_text(const struct returns_report *report, FILE *out);

/* Writes one JSON object, members as in the struct. Failure shows in ferror(OUT). */
void returns_report_json(const struct returns_report *report, FILE *out);

#endif
