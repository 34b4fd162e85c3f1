/* What a judgement allows to say, by a rule that is declared here and measured in
 * docs/results/judge.md.
 *
 * The range is that of the logged discounted returns; the combined interval is
 *
 *   the hull of the intervals of fitted Q and of the doubly robust estimate, and of importance
 *   sampling too where its effective sample size is VERDICT_SAMPLES or more,
 *   where the policy's actions were tried in VERDICT_TRIED of the states or more;
 *   otherwise that hull and the two bounds,
 *
 * cut to the range. The verdict is NOT_SUPPORTED when there are fewer than VERDICT_UNITS units, all
 * logged returns are alike, the policy's actions were tried in less than VERDICT_LEAST_TRIED of the
 * states, an estimate lies outside of the range, the intervals of fitted Q and of the doubly robust
 * estimate are further apart than VERDICT_GAP of the range, the combined interval takes more than
 * VERDICT_WIDE of the range, or it lies below the mean of the logged returns.
 * Otherwise it is SUPPORTED when the policy's actions were tried in VERDICT_TRIED of the states and
 * the combined interval lies above that mean, and WEAK when not. */
#ifndef TACET_ALGOS_OFFLINE_JUDGE_VERDICT_H
#define TACET_ALGOS_OFFLINE_JUDGE_VERDICT_H

#include "algos/offline/judge/judge.h"

#define VERDICT_UNITS       10
#define VERDICT_SAMPLES     50.0
#define VERDICT_TRIED       0.95
#define VERDICT_LEAST_TRIED 0.8
#define VERDICT_GAP         0.05
#define VERDICT_WIDE        0.5
#define VERDICT_REASONS     8

enum verdict { VERDICT_NOT_SUPPORTED, VERDICT_WEAK, VERDICT_SUPPORTED };

struct judge_verdict {
    enum verdict verdict;
    double low, high;                    /* the combined interval */
    bool outside;                        /* an estimate lies outside of the logged range */
    const char *reason[VERDICT_REASONS]; /* static sentences; at least one */
    unsigned reason_count;
};

/* Applies the rule to FIGURES. */
struct judge_verdict judge_decide(const struct judge_figures *figures);

/* "not_supported", "weak", "supported". */
const char *judge_verdict_name(enum verdict verdict);

#endif
