/* Plays a released Q-function in a world and measures its return. */
#ifndef TACET_ALGOS_RELEASE_Q_PLAY_H
#define TACET_ALGOS_RELEASE_Q_PLAY_H

#include "algos/release/q_release.h"

/* Measures the return as policy_evaluate does. Plays the action with the greatest released value;
 * of equals, the lower number. A state outside of the declared bounds is moved to them, even where
 * a caller's state would be refused. The result is post-processing of the release. */
bool q_release_evaluate(const struct q_release *release, const struct env *env,
                        const double *parameters, uint32_t episodes, uint32_t max_steps,
                        uint64_t seed, struct policy_evaluation *out);

#endif
