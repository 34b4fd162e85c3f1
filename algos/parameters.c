/* One table of settings is read here in every way it is needed. */
#include "algos/parameters.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void parameters_defaults(const struct parameter_spec *specs, unsigned count,
                         struct parameter_values *out)
{
    assert(count <= PARAMETERS_MAX);
    *out = (struct parameter_values){0};
    for (unsigned i = 0; i < count; i++)
        out->value[i] = specs[i].value;
}

void parameters_override(const struct parameter_override *overrides, unsigned count,
                         const char *world, struct parameter_values *values)
{
    for (unsigned i = 0; world && i < count; i++) {
        assert(overrides[i].index < PARAMETERS_MAX);
        if (strcmp(overrides[i].world, world) == 0)
            values->value[overrides[i].index] = overrides[i].value;
    }
}

int parameters_index(const struct parameter_spec *specs, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(specs[i].name, name) == 0)
            return (int)i;
    return -1;
}

bool parameters_is_choice(const struct parameter_spec *spec)
{
    return spec->type == PARAMETER_CHOICE || spec->type == PARAMETER_Q_LEARNER;
}

const char *parameters_choice(const struct parameter_spec *spec, unsigned i)
{
    assert(parameters_is_choice(spec));
    return spec->choices[i];
}

static unsigned choice_count(const struct parameter_spec *spec)
{
    unsigned count = 0;
    while (parameters_choice(spec, count))
        count++;
    return count;
}

static enum parameter_problem check_number(const struct parameter_spec *spec, double number)
{
    if (!isfinite(number))
        return PARAMETER_NOT_FINITE;
    bool whole = spec->type == PARAMETER_INTEGER || spec->type == PARAMETER_INTEGER_LIST;
    if ((whole || parameters_is_choice(spec)) && number != floor(number))
        return PARAMETER_NOT_INTEGER;
    if (parameters_is_choice(spec)) {
        bool known = number >= 0 && number < choice_count(spec);
        return known ? PARAMETER_FITS : PARAMETER_OUT_OF_RANGE;
    }
    bool inside = number >= spec->min && number <= spec->max;
    return inside ? PARAMETER_FITS : PARAMETER_OUT_OF_RANGE;
}

unsigned parameters_least(enum parameter_type type)
{
    return type == PARAMETER_INTEGER_LIST ? 0 : 1;
}

unsigned parameters_most(enum parameter_type type)
{
    if (type == PARAMETER_INTEGER_LIST)
        return PARAMETER_LIST_MAX;
    bool reals = type == PARAMETER_REAL_LIST || type == PARAMETER_REAL_EACH;
    return reals ? PARAMETER_REALS_MAX : 1;
}

enum parameter_problem parameters_check(const struct parameter_spec *spec,
                                        const struct parameter_value *value)
{
    if (value->count < parameters_least(spec->type) || value->count > parameters_most(spec->type))
        return PARAMETER_BAD_COUNT;
    for (unsigned i = 0; i < value->count; i++) {
        enum parameter_problem problem = check_number(spec, value->number[i]);
        if (problem != PARAMETER_FITS)
            return problem;
    }
    return PARAMETER_FITS;
}

const char *parameters_problem(const struct parameter_spec *specs, unsigned count,
                               const struct parameter_values *values)
{
    for (unsigned i = 0; i < count; i++)
        if (parameters_check(&specs[i], &values->value[i]) != PARAMETER_FITS)
            return "a parameter is out of its bounds";
    return NULL;
}
