/* Kickstarting as a row of the table of algorithms: a student learns by PPO in a world, and asks a
 * teacher in its roll-outs what the teacher would do, until nobody pays for answers. See ppo.h. */
#ifndef TACET_ALGOS_ONLINE_KICKSTART_ALGORITHM_H
#define TACET_ALGOS_ONLINE_KICKSTART_ALGORITHM_H

#include "algos/algorithm.h"

/* PPO's parameters, then those of the student; hidden layers (32, 32). With MECHANISM_NONE nobody
 * is asked. A step of its plan is one update. Findings: "states_answered", "epsilon_spent" and
 * "delta_spent" (what its own answers added to the payer's account), "account_epsilon" and
 * "account_delta" (that account, as of the last answer), "alone_since_step" (update in which the
 * teacher fell silent) once it has. */
extern const struct algorithm kickstart_algorithm;

/* Names of findings that other files read. */
#define KICKSTART_ANSWERED_STATES "states_answered"
#define KICKSTART_EPSILON         "epsilon_spent"
#define KICKSTART_DELTA           "delta_spent"
#define KICKSTART_ACCOUNT_EPSILON "account_epsilon"
#define KICKSTART_ACCOUNT_DELTA   "account_delta"

/* The number of states in the question of each roll-out. */
uint32_t kickstart_questions(const struct algorithm_request *request);

/* The largest number of roll-outs that ask. */
uint64_t kickstart_rollouts(const struct algorithm_request *request,
                            const struct algorithm_plan *plan);

/* The concentration that the student asks for in roll-out I: the smaller of its own and the
 * teacher's, times vanishing^(I + 1); 0 where the student has no wish. False: the wish is below the
 * teacher's least concentration, and the student asks no more. */
bool kickstart_wish(const struct algorithm_request *request, uint64_t rollout, double *out);

#endif
