/* The sparse vector technique for stable prefixes: which beginnings of a trajectory so many experts
 * would have taken that showing them protects each.
 *
 * One run draws an expert (uniformly, with replacement) and a fresh trajectory of its policy, then
 * asks of each prefix whether its count, the sum over all experts of the probability of the
 * prefix's actions, is above a noisy threshold. The longest prefix before the first "below" is
 * released. Unit: one expert; neighbours: add or remove one. Proof: docs/proofs/stable_prefixes.md.
 * Source: Dwork and Roth 2014, Algorithm 1 (AboveThreshold); Lyu, Su and Li 2017 (monotone
 * queries); Kairouz, Oh and Viswanath 2015 (composition of the runs). */
#ifndef TACET_ALGOS_PRIVACY_TRAINING_SPARSE_VECTOR_H
#define TACET_ALGOS_PRIVACY_TRAINING_SPARSE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/noise/noise.h"

#define SPARSE_VECTOR_MAX_EXPERTS      (1u << 28) /* counts stay below 2^60 units */
#define SPARSE_VECTOR_MAX_TRAJECTORIES 10000u
#define SPARSE_VECTOR_MIN_DELTA        1e-100             /* its shares stay normal numbers */
#define SPARSE_VECTOR_UNIT             (INT64_C(1) << 32) /* lattice units that are one expert */

/* ---- the plan ---- */

enum sparse_vector_accounting {
    SPARSE_VECTOR_SHARP, /* charged: optimal composition, exact tail of the noise, monotone counts
                          */
    SPARSE_VECTOR_PAPER, /* the published constants: for comparison, their claim is never charged */
};

/* "sharp" or "paper". */
const char *sparse_vector_accounting_name(enum sparse_vector_accounting accounting); /* "sharp" */

/* Declared in public, never computed from the data. */
struct sparse_vector_request {
    uint32_t experts;       /* nominal number; thresholds do not depend on it */
    double epsilon, delta;  /* for all runs together; in (0, 1000] and in [1e-100, 1) */
    uint32_t trajectories;  /* runs, T */
    uint32_t max_length;    /* steps of the longest trajectory, L */
    double min_probability; /* every expert gives every action at least this; in (0, 1/2] */
    enum sparse_vector_accounting accounting;
};

/* Integers that a run works with. One expert moves a count by at most UNIT = 2^32 of them. */
struct sparse_vector_lattice {
    int64_t threshold;        /* mean threshold, rounded up */
    uint64_t threshold_scale; /* of the discrete Laplace noise on the threshold, rounded up */
    uint64_t query_scale;     /* of the noise on each count, rounded up */
};

struct sparse_vector_plan {
    struct sparse_vector_request request;
    double epsilon_prime;   /* eps': the draw of the expert costs eps', the sparse vector eps' */
    double delta_prime;     /* a count that is too small passes one query with at most this */
    double min_count;       /* c_min = 1/(1 - e^-eps'): from here the draw costs at most eps' */
    double safe_count;      /* theta = c_min / min_probability: all one-step longer prefixes have
                               c_min */
    double threshold;       /* mean threshold in experts: theta plus the quantile of the noise */
    double threshold_scale; /* Laplace scales in experts */
    double query_scale;
    double run_epsilon;      /* one run is (2 eps', delta_run)-private */
    double run_delta;        /* (L + 1) delta' */
    double composed_epsilon; /* certified, of all runs at request.delta, by optimal composition;
                                SHARP: at most request.epsilon */
    struct sparse_vector_lattice lattice;
};

enum sparse_vector_status {
    SPARSE_VECTOR_OK,
    SPARSE_VECTOR_BAD,          /* sparse_vector_problem says what */
    SPARSE_VECTOR_OUT_OF_REACH, /* a noise scale above 2^23 experts or a threshold above 2^28 */
};

/* NULL when every parameter is in range, else a sentence naming the one that is not. */
const char *sparse_vector_problem(const struct sparse_vector_request *request);

/* *out is touched on success only. */
enum sparse_vector_status sparse_vector_plan_make(const struct sparse_vector_request *request,
                                                  struct sparse_vector_plan *out);

/* The longest prefix whose count reaches the mean threshold when all nominal experts agree on the
 * likeliest of ACTIONS >= 2 actions at every step; 0: not even one step. */
uint32_t sparse_vector_unanimous_length(const struct sparse_vector_plan *plan, uint32_t actions);

/* The largest epsilon of a run such that T runs of (epsilon, run_delta) are (request epsilon,
 * request delta)-private, rounded down; 0 when there is none. */
enum sparse_vector_status sparse_vector_run_epsilon(double epsilon, double delta,
                                                    uint32_t trajectories, double run_delta,
                                                    double *out);

/* P(X - Y > t), t >= 0, for independent Laplace X and Y of these scales > 0; and the least t at
 * which it is at most DELTA in (0, 1/2), rounded up. */
double sparse_vector_tail(double scale_x, double scale_y, double t);

/* The least t at which sparse_vector_tail is at most DELTA in (0, 1/2), rounded up. */
double sparse_vector_offset(double scale_x, double scale_y, double delta);

/* 1/(1 - e^-epsilon): the least count at which one expert changes the chance of drawing a
 * trajectory by at most a factor e^epsilon. */
double sparse_vector_min_count(double epsilon);

/* ---- counts ---- */

/* One expert's probability of a prefix, in lattice units, rounded down: 0 .. 2^32; NaN and negative
 * are 0. */
uint64_t sparse_vector_units(double probability);

/* ---- the run ---- */

struct sparse_vector_run {
    struct noise_source *noise; /* borrowed */
    int64_t threshold, threshold_noise;
    uint64_t query_scale;
    bool stopped;
};

/* Draws the threshold's noise. NOISE must outlive the run. */
void sparse_vector_begin(struct sparse_vector_run *run, const struct sparse_vector_lattice *lattice,
                         struct noise_source *noise);

/* Whether COUNT (lattice units, 0 .. 2^60) with fresh noise is at or above the noisy threshold. The
 * first false ends the run; asking again is a bug. The time taken varies with the draw (the sampler
 * rejects): call from a background job, never before an answer that somebody times. */
bool sparse_vector_query(struct sparse_vector_run *run, int64_t count);

#endif
