/* The table of local mechanisms, and what they all refuse. */
#include "algos/privacy/local/local_mechanism.h"

#include <assert.h>
#include <string.h>

static const struct local_mechanism *const mechanisms[] = {
    &local_privunit,
    &local_half_sphere,
    &local_laplace,
    &local_projected_sign,
};

const struct local_mechanism *local_mechanism_at(size_t i)
{
    return i < sizeof mechanisms / sizeof mechanisms[0] ? mechanisms[i] : NULL;
}

const struct local_mechanism *local_mechanism_find(const char *name)
{
    const struct local_mechanism *mechanism;
    for (size_t i = 0; (mechanism = local_mechanism_at(i)); i++)
        if (!strcmp(mechanism->name, name))
            return mechanism;
    return NULL;
}

static const char *common_problem(const struct local_parameters *parameters)
{
    if (!parameters->dimension || parameters->dimension > LOCAL_MAX_DIMENSION)
        return "dimension must be from 1 to 2^20";
    if (!(parameters->epsilon >= LOCAL_MIN_EPSILON && parameters->epsilon <= LOCAL_MAX_EPSILON))
        return "epsilon must be from 0.001 to 40";
    if (!(parameters->clip >= 1e-100 && parameters->clip <= 1e100))
        return "clip must be from 1e-100 to 1e100";
    return NULL;
}

const char *local_scheme_make(const struct local_mechanism *mechanism,
                              const struct local_parameters *parameters, struct local_scheme *out)
{
    const char *problem = common_problem(parameters);
    if (!problem && mechanism->problem)
        problem = mechanism->problem(parameters);
    else if (!problem && parameters->projection_clip != 0.0)
        problem = "projection_clip belongs to projected_random_sign";
    if (problem)
        return problem;
    struct local_scheme scheme = {.mechanism = mechanism, .parameters = *parameters};
    mechanism->prepare(&scheme);
    assert(scheme.report_length > 0 && scheme.epsilon > 0.0 &&
           scheme.epsilon <= parameters->epsilon);
    *out = scheme;
    return NULL;
}
