/* Evaluation as a row of the table of algorithms: trains nothing, plays what is there. */
#ifndef TACET_ALGOS_ONLINE_EVALUATE_ALGORITHM_H
#define TACET_ALGOS_ONLINE_EVALUATE_ALGORITHM_H

#include "algos/algorithm.h"

/* Mechanism "none" alone: only what may leave is played, so the return is post-processing. A step
 * of its plan is one of request.episodes. It has no train: who runs an ALGORITHM_EVALUATES plays
 * the policy himself (policy_evaluate, q_release_evaluate), in the world that is asked for. */
extern const struct algorithm evaluate_algorithm;

#endif
