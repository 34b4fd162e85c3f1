/* A world's own table says what its parameters are. */
#include "api/data/environment_choice.h"

#include <stdio.h>

#include "api/call/call.h"
#include "api/call/fields.h"
#include "api/policies/environment_find.h"
#include "api/worlds/registered.h"

static bool environment_read_parameters(struct call *call, const char *pointer,
                                        const json_t *object, struct environment_choice *out)
{
    struct field fields[ENV_MAX_PARAMETERS];
    for (unsigned i = 0; i < out->env->parameter_count; i++) {
        const struct env_parameter *p = &out->env->parameters[i];
        fields[i] = field_optional(field_number(p->name, &out->parameters[i], p->min, p->max));
    }
    return fields_read(call, object, pointer, fields, out->env->parameter_count);
}

bool environment_choice_read(struct call *call, const char *pointer, const json_t *value,
                             bool registered, struct environment_choice *out)
{
    *out = (struct environment_choice){0};
    const char *name = json_string_value(value);
    json_t *parameters = NULL;
    char at[96];
    if (json_is_object(value)) {
        const struct field fields[] = {
            field_text("name", &name, 1, 63),
            field_optional(field_object("parameters", &parameters)),
        };
        if (!fields_read(call, value, pointer, fields, 2))
            return false;
        snprintf(at, sizeof at, "%s/name", pointer);
    } else {
        snprintf(at, sizeof at, "%s", pointer);
    }
    if (!name) {
        call_invalid(call, pointer,
                     "must be the name of an environment, or an object of name and parameters");
        return false;
    }
    if (environment_find(call, at, name, &out->env) != PROBLEM_NONE)
        return false;
    if (!registered && registered_is(out->env)) {
        call_invalid(call, at,
                     "must be built in or the operator's: a client's program serves the evaluation "
                     "of policies alone");
        out->env = NULL;
        return false;
    }
    env_defaults(out->env, out->parameters);
    snprintf(at, sizeof at, "%s/parameters", pointer);
    if (parameters && !environment_read_parameters(call, at, parameters, out)) {
        out->env = NULL;
        return false;
    }
    return true;
}
