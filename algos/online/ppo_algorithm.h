/* PPO as a row of the table of algorithms: trains a public policy in a world. See ppo.h. */
#ifndef TACET_ALGOS_ONLINE_PPO_ALGORITHM_H
#define TACET_ALGOS_ONLINE_PPO_ALGORITHM_H

#include "algos/algorithm.h"
#include "algos/online/ppo.h"

/* Mechanism "none" alone: nothing private goes in, so what comes out is public. A step of its plan
 * is one update (a roll-out and its epochs). The result is a POLICY_SOFTMAX that reads plain
 * observations. Continued from a checkpoint it begins new episodes: the states of worlds are not
 * kept, so the result differs from that of a run that was not interrupted. */
extern const struct algorithm ppo_algorithm;

/* The settings that a request with ppo_algorithm's parameters asks for. */
struct ppo_settings ppo_settings_of(const struct algorithm_request *request);

/* The learning rate of update STEP of TOTAL. */
double ppo_learning_rate(const struct algorithm_request *request, uint64_t step, uint64_t total);

/* The plan of a request whose table of COUNT parameters has PPO's first (ppo_parameters.h): checks
 * all of them. As algorithm.plan. */
enum algorithm_status ppo_plan_of(const struct algorithm_request *request,
                                  const struct parameter_spec *table, unsigned count,
                                  struct algorithm_plan *out, const char **message);

#endif
