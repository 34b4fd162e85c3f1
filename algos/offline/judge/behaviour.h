/* Who made the data, as a model: for each fold, a softmax perceptron fitted to the actions of the
 * other folds (expert_clones.h). */
#ifndef TACET_ALGOS_OFFLINE_JUDGE_BEHAVIOUR_H
#define TACET_ALGOS_OFFLINE_JUDGE_BEHAVIOUR_H

#include "algos/offline/judge/logged.h"

/* The least probability of an action under the model: no importance ratio exceeds one over it. */
#define BEHAVIOUR_FLOOR 0.005

/* Probability of each action in each of the logged states by the model that has not seen FOLD:
 * OUT[state x action]. ALGORITHM_OK, _BAD_INPUT with a static *MESSAGE, _CANCELLED or _NO_MEMORY.
 */
enum algorithm_status behaviour_model(const struct logged *logged, uint8_t fold, uint64_t seed,
                                      const struct judge_pulse *pulse, float *out,
                                      const char **message);

#endif
