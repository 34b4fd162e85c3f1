/* Fitted Q evaluation (Le, Voloshin and Yue 2019, "Batch policy learning under constraints",
 * algorithm 3), step by step: for transitions (s, a, r, s') of whoever played them,
 *
 *   Q_0 = 0,  Q_k = argmin sum (Q(s, a) - r - [s' goes on] discount sum_b pi(b|s') Q_k-1(s', b))^2
 *
 * so that Q_k is worth k further steps. Q_k(s, a) = theta_k,a . phi(s) is linear in features that
 * are the same for all k: the numbers of the state and random ReLU units of them (Rahimi and Recht
 * 2008). Each regression is solved exactly, with a small ridge towards the mean target (Duan, Jia
 * and Wang 2020 analyse this form).
 *
 * Beside it the same regressions fit two bounds: what pi would be worth if an action that the data
 * hardly hold led to the LEAST, or to the MOST, that was ever logged from any step on. Where pi
 * keeps to actions that were tried all three agree; where it does not, Q extrapolates and the
 * bounds part. Values of the bounds are kept within that range, and those of Q within three times
 * its width about its middle: a fit cannot run away, but an estimate that no logged return bears
 * out is seen.
 *
 * PRIVACY. The result is a function of the data: they must be public, or have been released. */
#ifndef TACET_ALGOS_OFFLINE_JUDGE_FITTED_Q_H
#define TACET_ALGOS_OFFLINE_JUDGE_FITTED_Q_H

#include "algos/offline/judge/logged.h"

enum { FITTED_Q, FITTED_LOW, FITTED_HIGH, FITTED_HEADS };

struct fitted_q_settings {
    uint32_t units;       /* random features */
    uint32_t iterations;  /* K at most; Q_K serves for more steps */
    uint32_t transitions; /* at most, evenly picked */
    double ridge;         /* > 0: counts as so many transitions with the mean target */
};

/* 96 units, as many iterations as the horizon but 240 at most, 50000 transitions, ridge 1. */
struct fitted_q_settings fitted_q_defaults(void);

/* What a fit reads beside the logged data. */
struct fitted_q_part {
    uint8_t fold;       /* is kept out of the fit */
    const float *tried; /* state x action: the policy's probability where the action was tried, and
                         * 0 where the data hardly hold it */
    uint64_t seed;      /* of the random features */
};

struct fitted_q;

/* Fits Q_1 .. Q_K; *OUT is for fitted_q_free. ALGORITHM_OK, _CANCELLED (PULSE, asked after every
 * iteration, said so) or _NO_MEMORY. A function of its arguments to the bit on one machine. */
enum algorithm_status fitted_q_fit(const struct fitted_q_settings *settings,
                                   const struct logged *logged, const struct fitted_q_part *part,
                                   const struct judge_pulse *pulse, struct fitted_q **out);

/* Frees Q; takes NULL. */
void fitted_q_free(struct fitted_q *q);

/* What LEFT more steps (at least 1) are worth in the state before a TRANSITION: VALUE[FITTED_HEADS]
 * of the policy, and the result of the action that was logged there by the first head. In units of
 * the rewards. */
double fitted_q_values(const struct fitted_q *q, uint32_t left, uint64_t transition,
                       double value[FITTED_HEADS]);

#endif
