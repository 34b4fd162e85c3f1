/* The catalogue of simulated worlds. */
#include "api/data/environments.h"

#include "api/call/app.h"
#include "api/call/page.h"
#include "api/call/project.h"
#include "api/json/json_text.h"
#include "api/worlds/registered.h"

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

static json_t *environment_json(const struct env *env, const char *name)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:o, s:o}", "name", name, "state_dim",
                     (int)env->state_dim, "action_count", (int)env->action_count,
                     "max_episode_steps", (int)env->max_episode_steps, "random_return",
                     json_number(env->random_return), "parameters",
                     environment_parameters_json(env));
}

/* A world whose stored description this version of the service refuses. */
static json_t *environment_refused_json(const char *name)
{
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:[], s:s}", "name", name, "state_dim",
                     "action_count", "max_episode_steps", "random_return", "parameters", "refused",
                     "This version of the service refuses what is stored of this world, so it "
                     "cannot be played. DELETE it, and register its program again.");
}

json_t *environment_row_json(struct call *call, const struct environment_row *row)
{
    const struct registered_text text = {row->id, row->runner, "", NULL};
    const struct env *env = registered_open(NULL, &text, row->description);
    json_t *json = env ? environment_json(env, row->name) : environment_refused_json(row->name);
    registered_close(env);
    json_t *more =
        json_pack("{s:s, s:s, s:s, s:o}", "id", row->id, "runner", row->runner, "source_sha256",
                  row->source_sha256, "created_at", json_time(row->created_ms));
    json_object_update_new(json, more);
    return project_add(call, json, row->owner);
}

static bool list_registered(void *context, const struct environment_row *row)
{
    struct page *page = context;
    return page_add(page, environment_row_json(page->call, row), 0, "");
}

enum problem api_environments_list(struct call *call)
{
    struct page page;
    const struct env *env = NULL;
    enum db_status status = DB_OK;
    page_whole(call, &page);
    for (unsigned i = 0; (env = worlds_at(call->app->settings.worlds, i)); i++)
        page_add(&page, environment_json(env, env->name), 0, "");
    if (call_is(call, ROLE_STEWARD))
        status = environments_list(call->db, project_list(call, NULL), list_registered, &page);
    return page_end(&page, status);
}
