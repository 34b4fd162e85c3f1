/* Evaluation as a row of the table of algorithms: trains nothing and plays a policy or
 * Q-release. */
#ifndef TACET_ALGOS_ONLINE_EVALUATE_ALGORITHM_H
#define TACET_ALGOS_ONLINE_EVALUATE_ALGORITHM_H

#include "algos/algorithm.h"

/* Takes mechanism "none" only. The return is post-processing, because only what may leave is
 * played. A step of its plan is one of request.episodes. It has no train: the caller plays the
 * policy (policy_evaluate, q_release_evaluate) in the requested world. */
extern const struct algorithm evaluate_algorithm;

#endif
