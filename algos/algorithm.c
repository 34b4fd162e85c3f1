/* What every algorithm's row is asked. */
#include "algos/algorithm.h"

#include <string.h>

static const char *const mechanism_names[MECHANISM_COUNT] = {
    [MECHANISM_NONE] = "none",
    [MECHANISM_DPSGD] = "dpsgd",
    [MECHANISM_SELECTIVE] = "selective_dpsgd",
    [MECHANISM_CONSENSUS] = "consensus",
    [MECHANISM_GAUSSIAN_PROCESS] = "gaussian_process",
    [MECHANISM_GAUSSIAN] = "gaussian",
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

/* The value of the parameter NAME of ALGORITHM within VALUES; NULL: it has none. */
static struct parameter_value *algorithm_value(const struct algorithm *algorithm, const char *name,
                                               struct parameter_values *values)
{
    int at = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    return at < 0 ? NULL : &values->value[at];
}

static void set_bounds(const struct features *features, struct parameter_value *low,
                       struct parameter_value *high)
{
    low->count = high->count = features->count;
    for (uint32_t d = 0; d < features->count; d++) {
        low->number[d] = features->range[d].low;
        high->number[d] = features->range[d].high;
    }
}

void algorithm_described_defaults(const struct algorithm *algorithm,
                                  const struct features *features, struct parameter_values *out)
{
    if (!features)
        return;
    struct parameter_value *scale = algorithm_value(algorithm, "input_scale", out);
    struct parameter_value *center = algorithm_value(algorithm, "input_center", out);
    struct parameter_value *low = algorithm_value(algorithm, "low", out);
    struct parameter_value *high = algorithm_value(algorithm, "high", out);
    if (scale)
        *scale = (struct parameter_value)PARAMETER_ONE(FEATURES_INPUT_SCALE);
    if (center)
        *center = (struct parameter_value)PARAMETER_ONE(0);
    if (low && high && features->count <= PARAMETER_REALS_MAX)
        set_bounds(features, low, high);
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
