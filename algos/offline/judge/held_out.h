/* A judge by held-out experts of private data. A public coin for each expert says whether training
 * reads it or the judge does, and never both. Once the policy is there, the judge releases four
 * noisy sums over its experts and nothing else; all figures are computed from these.
 *
 * With x an expert's mean discounted return, clipped to the public range and moved to [-1, 1], and
 * a in [0, 1] the mean probability that the policy gives to what the expert did (a trajectory's
 * mean over steps, and x and a as means over trajectories), an expert adds, each rounded to a
 * multiple of 1 / HELD_OUT_UNITS,
 *
 *   1, x, a, and the mean over trajectories of a x,
 *
 * which lie in [-1, 1]: a vector of norm 2 at most. The noise is Gaussian on that lattice
 * (noise_lattice.h), of a deviation of NOISE_MULTIPLIER times that norm. docs/proofs/judge.md has
 * the proof. No second model is needed, so no second training has to be paid for; and therefore
 * agreement is measured, not value: the verdict is never VERDICT_SUPPORTED. */
#ifndef TACET_ALGOS_OFFLINE_JUDGE_HELD_OUT_H
#define TACET_ALGOS_OFFLINE_JUDGE_HELD_OUT_H

#include "algos/judge_terms.h"
#include "algos/offline/judge/verdict.h"

struct noise_source;

#define HELD_OUT_UNITS   4096
#define HELD_OUT_NORM    (2 * HELD_OUT_UNITS) /* of what one expert adds, in steps */
#define HELD_OUT_MOST    0.5                  /* share of the experts */
#define HELD_OUT_EXPERTS 20                   /* nominal number of held-out experts, at least */

enum { HELD_OUT_COUNT, HELD_OUT_VALUE, HELD_OUT_AGREEMENT, HELD_OUT_PRODUCT, HELD_OUT_SUMS };

/* True for an expert of the judge: a function of its own KEY (dataset.expert_keys) and public
 * things, so that one expert more or less moves nobody else. */
bool held_out_judges(uint64_t key, double share);

/* The experts of the judge, or those of the training where JUDGES is false, in the slots that they
 * have in DATA, which has expert_keys; the other slots are empty. It may hold no transition. The
 * caller frees it. NULL: no memory. */
struct dataset *held_out_part(const struct dataset *data, double share, bool judges);

/* Adds up what the experts of PART add for POLICY, in steps of the lattice. Where the policy gives
 * no number its probability counts as 0. False: PULSE, asked after every few experts, said so. */
bool held_out_sum(const struct dataset *part, const struct policy *policy,
                  const struct judge_terms *terms, double discount, const struct judge_pulse *pulse,
                  int64_t sums[HELD_OUT_SUMS]);

/* The deviation of the noise as noise_lattice.h takes it, rounded up. */
uint64_t held_out_scale(double noise_multiplier);

/* Adds the noise. NOISE_MULTIPLIER is positive and at most HELD_OUT_MAX_NOISE. */
void held_out_noise(struct noise_source *noise, double noise_multiplier,
                    int64_t sums[HELD_OUT_SUMS]);

/* What the noisy sums say. Intervals are JUDGE_CONFIDENCE of a normal law whose variance is that of
 * the noise and the most that the range allows to experts (Bhatia and Davis 2000). Figures are NAN
 * where the noise leaves nothing. */
struct held_out_figures {
    struct judge_interval experts;   /* how many there are */
    struct judge_interval behaviour; /* mean discounted return */
    struct judge_interval agreement; /* mean probability of what they did */
    struct judge_interval agreeing;  /* mean return, weighed by agreement */
    enum verdict verdict;            /* not supported, or weak */
    const char *reason[VERDICT_REASONS];
    unsigned reason_count;
};

/* Post-processing of the noisy SUMS and of public numbers.
 *
 * NOT_SUPPORTED in three cases: there may be fewer than VERDICT_UNITS experts; the agreement's
 * interval lies below one half; the return of experts who act like the policy lies below the
 * experts' mean return (the two intervals do not meet). Otherwise WEAK. */
struct held_out_figures held_out_conclude(const int64_t sums[HELD_OUT_SUMS],
                                          const struct judge_terms *terms, double noise_multiplier);

#endif
