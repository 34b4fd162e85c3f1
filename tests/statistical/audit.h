/* The empirical audit: what an attacker who sees a mechanism's output can prove about its epsilon.
 *
 * Two worlds: with the unit and without it, everything else the attacker's choice. A statistic of
 * one output is drawn many times in each. Half of the draws choose an event {statistic >= t} or
 * {statistic < t} and the world in which it is to be likely; the other half, which the choice has
 * not seen, count it. With p below its probability in one world and q above that in the other
 * (Clopper and Pearson 1934), an (epsilon, delta)-private mechanism has p <= e^epsilon q + delta,
 * so ln((p - delta)/q) is a lower bound of epsilon. Who claims mu-Gaussian-DP claims something
 * about all epsilons at once, so mu >= quantile(p) - quantile(q) for every event, and the bound is
 * what that mu costs at delta (Nasr et al. 2023, "Tight auditing of differentially private machine
 * learning"); likewise who claims the whole curve of a subsampled Gaussian (profile.h).
 *
 * Each audit has a false-alarm probability of AUDIT_FALSE_ALARM / AUDIT_COUNT, half for p and half
 * for q: all claims being true, no bound of the whole program exceeds its claim but with
 * probability AUDIT_FALSE_ALARM. Noise is injected under fixed keys, so runs repeat. */
#ifndef TACET_TESTS_STATISTICAL_AUDIT_H
#define TACET_TESTS_STATISTICAL_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/laws/mechanism.h"
#include "algos/privacy/noise/noise.h"

#define AUDIT_FALSE_ALARM 1e-6

/* One for each claim that audit_holds is asked about. */
enum audit_name {
    AUDIT_GAUSSIAN,
    AUDIT_ROUNDED_GAUSSIAN,
    AUDIT_LATTICE_GAUSSIAN,
    AUDIT_DISCRETE_LAPLACE,
    AUDIT_RESPONSE,
    AUDIT_DP_SGD,
    AUDIT_DP_SGD_ONCE,
    AUDIT_TRAINER,
    AUDIT_PRIVUNIT,
    AUDIT_HALF_SPHERE,
    AUDIT_LOCAL_LAPLACE,
    AUDIT_PROJECTED_SIGN,
    AUDIT_SPARSE_VECTOR,
    AUDIT_SPARSE_VECTOR_RUN,
    AUDIT_DIRICHLET,
    AUDIT_GAUSSIAN_SIMPLEX,
    AUDIT_GAUSSIAN_PATH,
    AUDIT_GAUSSIAN_FEATURES,
    AUDIT_TRAINER_BCQ,
    AUDIT_TRAINER_CLONING,
    AUDIT_ENSEMBLE,
    AUDIT_CONSENSUS,
    AUDIT_STABLE_PREFIXES,
    AUDIT_HELD_OUT,
    AUDIT_ONE_RUN, /* one_run_test.c, play_test.c */
    AUDIT_EVENTS,  /* events_test.c */
    AUDIT_RANGES,  /* ranges_test.c */
    AUDIT_FILTER,
    AUDIT_FILTER_SHARED,
    AUDIT_COUNT
};

/* Of each p-value of AUDIT_ONE_RUN, which has 64 of them at most. */
#define AUDIT_ONE_RUN_LEVEL (AUDIT_FALSE_ALARM / AUDIT_COUNT / 64)

/* The statistic of one output of MECHANISM in the world WITH the unit or without it: what tells
 * the worlds apart, the log-likelihood ratio where it is known. Never NaN. */
typedef double audit_statistic(const void *mechanism, bool with, struct noise_source *noise);

/* What is claimed. */
enum audit_claim {
    AUDIT_PAIR,        /* (epsilon, delta) */
    AUDIT_GAUSSIAN_DP, /* Gaussian DP, of which epsilon at delta is one figure */
    AUDIT_PROFILE,     /* TIMES runs of the subsampled Gaussian RUN, epsilon at delta one figure */
};

struct audit {
    enum audit_name name;
    const char *title;
    double epsilon, delta; /* claimed; delta may be 0 */
    enum audit_claim claim;
    struct mechanism run; /* of AUDIT_PROFILE */
    uint64_t times;
    uint32_t samples; /* in each world, to choose the event and once more to count it */
    audit_statistic *statistic;
};

/* Whether sanitizers watch this program, so that it is slow. */
bool audit_is_sanitized(void);

/* The lower confidence bound of MECHANISM's epsilon at audit->delta; 0 when nothing is shown. */
double audit_lower_bound(const struct audit *audit, const void *mechanism);

/* The test fails when the bound of MECHANISM exceeds the claim. */
void audit_holds(const struct audit *audit, const void *mechanism);

/* The test fails when the bound of MUTANT, which breaks the claim by WHAT, does not exceed it:
 * shows that this audit would find it out. Left out under sanitizers, where audits have an eighth
 * of their samples: there the point is that nothing is reported. */
void audit_exceeds(const struct audit *audit, const void *mutant, const char *what);

#endif
