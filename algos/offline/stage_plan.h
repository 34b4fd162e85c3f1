/* Runs in two stages: first something is released of the experts (stable prefixes, or consensus
 * labels), then the algorithm trains, by plain steps on that and noisy ones on the data. This is
 * what the first stage is asked to be and what it will do and cost; the second is the
 * dp_sgd_plan's, which has the first one's price in `before`. */
#ifndef TACET_ALGOS_OFFLINE_STAGE_PLAN_H
#define TACET_ALGOS_OFFLINE_STAGE_PLAN_H

#include "algos/algorithm.h"
#include "algos/offline/consensus_plan.h"
#include "algos/privacy/laws/mechanism.h"

/* "rollouts", "logged". */
const char *stable_source_name(enum stable_source source);

/* The share of the budget of a first stage that has all of it. It is below 1, because the figure of
 * the composition of all stages may exceed that of the first stage by rounding. */
#define STAGE_MOST_SHARE 0.999

/* Plans REQUEST for a budget of EPSILON and DELTA over both stages. *OUT_BEFORE is its price, for
 * dp_sgd_plan.before (times 0 for STAGE_NONE). ALGORITHM_OK, or _BAD_INPUT or _INFEASIBLE with a
 * static *MESSAGE, or _NO_MEMORY. */
enum algorithm_status stage_plan_make(const struct stage_request *request, double epsilon,
                                      double delta, uint32_t nominal_experts, uint32_t action_count,
                                      struct stage_plan *out, struct composition_part *out_before,
                                      const char **message);

/* The price of a plan, as stage_plan_make gave it. */
struct composition_part stage_price(const struct stage_request *request,
                                    const struct stage_plan *plan);

#endif
