/* A registered world is made from its row each time it is needed (api/worlds/registered.h). */
#include "api/policies/environment_find.h"

#include <string.h>

#include "api/call/app.h"
#include "api/worlds/registered.h"
#include "storage/environments.h"

static bool environment_is_id(const char *name)
{
    return strncmp(name, ENVIRONMENT_PREFIX, strlen(ENVIRONMENT_PREFIX)) == 0;
}

/* The registered world ID if SHOWS lets its owner's project see it. */
static enum db_status environment_make(const struct app *app, struct db *db, const char *id,
                                       bool (*shows)(void *context, const char *owner),
                                       void *context, const struct env **out)
{
    struct environment_row row = {.source = NULL};
    enum db_status status = environments_find(db, id, &row);
    if (status == DB_OK && shows && !shows(context, row.owner))
        status = DB_NONE;
    if (status == DB_OK) {
        const struct registered_text text = {row.id, row.runner, row.source, NULL};
        *out = registered_open(app->settings.worlds, &text, row.description);
        status = *out ? DB_OK : DB_FAILED;
    }
    environments_done(&row);
    return status;
}

/* ---- for a caller */

static bool environment_shows(void *context, const char *owner)
{
    const struct call *call = context;
    return call_is(call, ROLE_STEWARD) && call_owns(call, owner);
}

static void environment_drop(void *env)
{
    registered_close(env);
}

enum problem environment_find(struct call *call, const char *pointer, const char *name,
                              const struct env **out)
{
    char why[WORLDS_UNKNOWN_SIZE];
    const struct worlds *worlds = call->app->settings.worlds;
    *out = worlds_find(worlds, name);
    if (*out)
        return PROBLEM_NONE;
    if (!environment_is_id(name))
        return call_invalid(call, pointer, "%s", worlds_unknown(worlds, name, why));
    enum db_status status =
        environment_make(call->app, call->db, name, environment_shows, call, out);
    if (status == DB_NONE)
        return call_invalid(call, pointer, "is not known: see GET /v1/environments");
    if (status != DB_OK)
        return call_db(call, status);
    call_defer(call, environment_drop, (void *)(uintptr_t)*out);
    return PROBLEM_NONE;
}

/* ---- for a worker */

enum db_status environment_take(const struct app *app, struct db *db, const char *name,
                                const struct env **out)
{
    *out = worlds_find(app->settings.worlds, name);
    if (*out)
        return DB_OK;
    return environment_is_id(name) ? environment_make(app, db, name, NULL, NULL, out) : DB_NONE;
}

void environment_release(const struct env *env)
{
    if (env && registered_is(env))
        registered_close(env);
}
