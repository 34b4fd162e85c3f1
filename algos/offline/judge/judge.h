/* How good a policy is, from logged trajectories alone: three estimators that fail in different
 * ways, what they rest on, and a verdict that does not flatter (verdict.h). Every figure comes from
 * models that have not seen the trajectories it is taken on (cross-fitting in LOGGED_FOLDS parts).
 *
 * PRIVACY. The result is a function of the data: they must be public, or have been released. */
#ifndef TACET_ALGOS_OFFLINE_JUDGE_JUDGE_H
#define TACET_ALGOS_OFFLINE_JUDGE_JUDGE_H

#include "algos/offline/judge/fitted_q.h"
#include "algos/offline/judge/importance.h"

#define JUDGE_CONFIDENCE 0.9
/* An action is tried in a state where who made the data takes it with this probability, by the
 * model. */
#define JUDGE_TRIED 0.02

struct judge_figures {
    uint32_t units, horizon;
    bool by_expert;
    uint64_t trajectories, transitions;
    double lowest, highest;          /* of the logged discounted returns */
    struct judge_interval behaviour; /* their mean */
    /* Fitted Q: mean value of first states. Its interval is that of a jackknife over the folds
     * (Miller 1974), Student's t with LOGGED_FOLDS - 1 degrees of freedom: other data, and other
     * first weights, would give another fit. */
    struct judge_interval fitted;
    double fitted_error;          /* of that mean over first states alone */
    double fitted_residual;       /* root mean square of Q - target, held out */
    double bound_low, bound_high; /* the two bounds of fitted_q.h */
    struct judge_interval sampling, robust;
    double effective; /* sample size, in trajectories */
    double tried;     /* share of logged states in which the policy's action was tried */
};

/* Judges POLICY. ALGORITHM_OK; _BAD_INPUT with a static *MESSAGE (sizes that do not fit, fewer than
 * LOGGED_FOLDS units, numbers that are not finite, a fit that diverged); _CANCELLED (GOES_ON, asked
 * every second or so, said so; NULL: nobody is asked) or _NO_MEMORY. A function of its arguments to
 * the bit on one machine. */
enum algorithm_status judge_measure(const struct fitted_q_settings *settings,
                                    const struct policy *policy, const struct dataset *data,
                                    double discount, uint64_t seed, const struct judge_pulse *pulse,
                                    struct judge_figures *out, const char **message);

#endif
