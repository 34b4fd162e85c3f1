/* A plan's world. Its numbers are in the order of the world's table, to which parameters are only
 * ever appended. */
#include "api/jobs/ask/job_plan.h"

#include <stdio.h>
#include <string.h>

#include "api/json/json_text.h"

void job_world_set(struct job_world *world, const struct environment_choice *choice)
{
    snprintf(world->name, sizeof world->name, "%s", choice->env->name);
    world->count = choice->env->parameter_count;
    memcpy(world->physics, choice->parameters, sizeof world->physics);
}

bool job_world_physics(const struct job_world *world, const struct env *env, double *parameters)
{
    env_defaults(env, parameters);
    if (world->count > env->parameter_count)
        return false;
    memcpy(parameters, world->physics, world->count * sizeof *parameters);
    return true;
}

void job_world_write(const struct job_world *world, json_t *object)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < world->count; i++)
        json_array_append_new(list, json_number(world->physics[i]));
    json_object_set_new(object, "environment", json_string(world->name));
    json_object_set_new(object, "physics", list);
}

bool job_world_read(const json_t *object, struct job_world *out)
{
    const char *name = json_string_value(json_object_get(object, "environment"));
    const json_t *list = json_object_get(object, "physics");
    *out = (struct job_world){.count = (unsigned)json_array_size(list)};
    if (!name)
        return !json_object_get(object, "environment");
    if (strlen(name) >= sizeof out->name || out->count > ENV_MAX_PARAMETERS)
        return false;
    memcpy(out->name, name, strlen(name) + 1);
    for (unsigned i = 0; i < out->count; i++)
        out->physics[i] = json_number_value(json_array_get(list, i));
    return true;
}
