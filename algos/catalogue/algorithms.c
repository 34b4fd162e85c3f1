/* The table of learning algorithms: one line each. */
#include "algos/catalogue/algorithms.h"

#include <string.h>

#include "algos/offline/bcq.h"
#include "algos/offline/behaviour_cloning.h"
#include "algos/offline/cql.h"
#include "algos/offline/membership_audit.h"
#include "algos/online/dqn_buffer.h"
#include "algos/online/evaluate_algorithm.h"
#include "algos/online/kickstart_algorithm.h"
#include "algos/online/pgc_a3c.h"
#include "algos/online/ppo_algorithm.h"
#include "algos/online/reinforce.h"
#include "algos/release/feature_ranges.h"
#include "algos/release/gp_q_learning.h"

static const struct algorithm *const table[] = {
    &cql_algorithm,      &bcq_algorithm,       &behaviour_cloning_algorithm,
    &ppo_algorithm,      &audit_algorithm,     &reinforce_algorithm,
    &dqn_algorithm,      &pgc_a3c_algorithm,   &gp_q_learning_algorithm,
    &evaluate_algorithm, &kickstart_algorithm, &feature_ranges_algorithm,
};

const struct algorithm *const *algorithm_all(unsigned *count)
{
    *count = sizeof table / sizeof table[0];
    return table;
}

const struct algorithm *algorithm_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

const char *algorithm_lacks_q(const struct algorithm *algorithm)
{
    if (algorithm->kind == ALGORITHM_RELEASES_Q)
        return "trains others on shards and learns nothing by itself";
    if (algorithm->kind == ALGORITHM_MEASURES)
        return "measures the states and learns nothing";
    if (algorithm->kind != ALGORITHM_LEARNS_FROM_DATA)
        return "learns from no dataset";
    if (algorithm->target == TARGET_VALUES && algorithm->mechanisms[MECHANISM_NONE])
        return NULL;
    return "learns which actions to take and no Q-function, so there are no values to release";
}
