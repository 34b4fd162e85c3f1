/* The catalogue of simulated worlds. */
#include "api/call/app.h"
#include "api/data/datasets.h"
#include "api/json/json_text.h"
#include "api/worlds/worlds.h"

static json_t *environment_parameters_json(const struct env *env)
{
    json_t *parameters = json_array();
    for (unsigned i = 0; i < env->parameter_count; i++) {
        const struct env_parameter *p = &env->parameters[i];
        json_t *one = json_pack("{s:s, s:o, s:o, s:o, s:s, s:s}", "name", p->name, "default",
                                json_number(p->value), "minimum", json_number(p->min), "maximum",
                                json_number(p->max), "unit", p->unit, "meaning", p->meaning);
        json_array_append_new(parameters, one);
    }
    return parameters;
}

enum problem api_environments_list(struct call *call)
{
    const struct env *env = NULL;
    json_t *items = json_array();
    for (unsigned i = 0; (env = worlds_at(call->app->settings.worlds, i)); i++) {
        json_t *one = json_pack("{s:s, s:i, s:i, s:i, s:o, s:o}", "name", env->name, "state_dim",
                                (int)env->state_dim, "action_count", (int)env->action_count,
                                "max_episode_steps", (int)env->max_episode_steps, "random_return",
                                json_number(env->random_return), "parameters",
                                environment_parameters_json(env));
        json_array_append_new(items, one);
    }
    return call_reply_json(call, 200, json_pack("{s:o, s:n}", "items", items, "next_page_token"));
}
