/* The table of learning algorithms: one line each. */
#include "algos/algorithm.h"

#include <string.h>

#include "algos/offline/audit_algorithm.h"
#include "algos/offline/bcq.h"
#include "algos/offline/behaviour_cloning.h"
#include "algos/offline/cql.h"
#include "algos/online/dqn.h"
#include "algos/online/evaluate_algorithm.h"
#include "algos/online/kickstart_algorithm.h"
#include "algos/online/pgc_a3c.h"
#include "algos/online/ppo_algorithm.h"
#include "algos/online/reinforce.h"
#include "algos/release/gp_q_learning.h"

static const struct algorithm *const table[] = {
    &cql_algorithm,      &bcq_algorithm,       &behaviour_cloning_algorithm,
    &ppo_algorithm,      &audit_algorithm,     &reinforce_algorithm,
    &dqn_algorithm,      &pgc_a3c_algorithm,   &gp_q_learning_algorithm,
    &evaluate_algorithm, &kickstart_algorithm,
};

static const char *const mechanism_names[MECHANISM_COUNT] = {
    [MECHANISM_NONE] = "none",
    [MECHANISM_DPSGD] = "dpsgd",
    [MECHANISM_SELECTIVE] = "selective_dpsgd",
    [MECHANISM_CONSENSUS] = "consensus",
    [MECHANISM_GAUSSIAN_PROCESS] = "gaussian_process",
    [MECHANISM_LDP_OBSERVATIONS] = "ldp_observations",
    [MECHANISM_LOCAL_REPORTS] = "local_reports",
    [MECHANISM_TEACHER_ANSWERS] = "teacher_answers",
};

const char *algorithm_mechanism_name(enum algorithm_mechanism mechanism)
{
    return mechanism_names[mechanism];
}

int algorithm_mechanism_find(const char *name)
{
    for (int i = 0; i < MECHANISM_COUNT; i++)
        if (strcmp(mechanism_names[i], name) == 0)
            return i;
    return -1;
}

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
    if (!algorithm->needs_dataset)
        return "learns from no dataset";
    if (algorithm->learns_q && algorithm->mechanisms[MECHANISM_NONE])
        return NULL;
    return algorithm->gives_q_release ? "trains others on shards and learns nothing by itself"
                                      : "learns which actions to take and no Q-function, so there "
                                        "are no values to release";
}

const struct algorithm *algorithm_q_learner(unsigned i)
{
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
        if (!algorithm_lacks_q(table[k]) && i-- == 0)
            return table[k];
    return NULL;
}

void algorithm_defaults(const struct algorithm *algorithm, const char *world,
                        struct parameter_values *out)
{
    parameters_defaults(algorithm->parameters, algorithm->parameter_count, out);
    parameters_override(algorithm->overrides, algorithm->override_count, world, out);
}

const struct parameter_value *algorithm_before(const struct algorithm *algorithm, unsigned index)
{
    for (unsigned i = 0; i < algorithm->later_count; i++)
        if (algorithm->later[i].index == index)
            return &algorithm->later[i].before;
    return NULL;
}

double algorithm_number(const struct algorithm_request *request, unsigned index)
{
    return request->parameters.value[index].number[0];
}
