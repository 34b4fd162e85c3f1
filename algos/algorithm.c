/* What every algorithm's row is asked. */
#include "algos/algorithm.h"

#include <string.h>

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
