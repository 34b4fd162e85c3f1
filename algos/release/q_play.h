/* A released Q-function at play: what its answers are worth in a world. */
#ifndef TACET_ALGOS_RELEASE_Q_PLAY_H
#define TACET_ALGOS_RELEASE_Q_PLAY_H

#include "algos/release/q_release.h"

/* As policy_evaluate: the action of the greatest released value is played, ties go to the lower
 * number. States outside of the declared bounds are moved to them, also where a caller's would be
 * refused. Post-processing of the release. */
bool q_release_evaluate(const struct q_release *release, const struct env *env,
                        const double *parameters, uint32_t episodes, uint32_t max_steps,
                        uint64_t seed, struct policy_evaluation *out);

#endif
