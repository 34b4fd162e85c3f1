/* A world's own table says what its parameters are. */
#include "api/data/environment_choice.h"

#include <stdio.h>

#include "api/call/app.h"
#include "api/call/call.h"
#include "api/call/fields.h"
#include "api/worlds/worlds.h"

static const struct env *environment_find(struct call *call, const char *pointer, const char *name)
{
    const struct worlds *worlds = call->app->settings.worlds;
    const struct env *env = worlds_find(worlds, name);
    char why[WORLDS_UNKNOWN_SIZE];
    if (!env)
        call_invalid(call, pointer, "%s", worlds_unknown(worlds, name, why));
    return env;
}

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
                             struct environment_choice *out)
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
    out->env = environment_find(call, at, name);
    if (!out->env)
        return false;
    env_defaults(out->env, out->parameters);
    snprintf(at, sizeof at, "%s/parameters", pointer);
    if (parameters && !environment_read_parameters(call, at, parameters, out)) {
        out->env = NULL;
        return false;
    }
    return true;
}
