/* The settings of a plan as JSON and back. */
#include <string.h>

#include "api/jobs/ask/job_plan.h"
#include "api/json/json_text.h"

json_t *job_parameter_json(const struct parameter_spec *spec, const struct parameter_value *value)
{
    if (parameters_is_choice(spec))
        return json_string(parameters_choice(spec, (unsigned)value->number[0]));
    bool single = value->count == 1 && spec->type == PARAMETER_REAL_EACH;
    if (single || parameters_most(spec->type) == 1)
        return json_number(value->number[0]);
    json_t *list = json_array();
    for (unsigned i = 0; i < value->count; i++)
        json_array_append_new(list, json_number(value->number[i]));
    return list;
}

json_t *job_plan_parameters(const struct job_plan *plan)
{
    const struct algorithm *algorithm = plan->algorithm;
    json_t *all = json_object();
    for (unsigned i = 0; i < algorithm->parameter_count; i++) {
        const struct parameter_spec *spec = &algorithm->parameters[i];
        json_object_set_new(all, spec->name,
                            job_parameter_json(spec, &plan->request.parameters.value[i]));
    }
    return all;
}

static bool parameter_value_read(const struct parameter_spec *spec, const json_t *json,
                                 struct parameter_value *out)
{
    *out = (struct parameter_value){.count = 1};
    if (!json)
        return false;
    if (parameters_is_choice(spec)) {
        const char *name = json_string_value(json);
        for (unsigned i = 0; name && parameters_choice(spec, i); i++) {
            if (strcmp(parameters_choice(spec, i), name) == 0) {
                out->number[0] = i;
                return true;
            }
        }
        return false;
    }
    if (!json_is_number(json) && !json_is_array(json))
        return false;
    if (parameters_most(spec->type) > 1 && json_is_array(json)) {
        size_t count = json_array_size(json);
        for (size_t i = 0; i < count && count <= parameters_most(spec->type); i++)
            out->number[i] = json_number_value(json_array_get(json, i));
        out->count = (unsigned)count;
    } else {
        out->number[0] = json_number_value(json);
    }
    return parameters_check(spec, out) == PARAMETER_FITS;
}

const char *job_plan_parameters_read(const struct algorithm *algorithm, const json_t *json,
                                     struct parameter_values *out)
{
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < algorithm->parameter_count; i++) {
        const struct parameter_spec *spec = &algorithm->parameters[i];
        const json_t *value = json_object_get(json, spec->name);
        const struct parameter_value *before = algorithm_before(algorithm, i);
        if (!value && before)
            out->value[i] = *before;
        else if (!parameter_value_read(spec, value, &out->value[i]))
            return spec->name;
    }
    return NULL;
}
