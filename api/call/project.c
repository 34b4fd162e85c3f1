/* Projects of a call. */
#include "api/call/project.h"

#include <stdio.h>
#include <string.h>

#include "api/json/text.h"

struct memberships {
    struct call *call;
    struct call_project **end;
};

static bool keep_membership(void *context, const struct project_membership_row *row)
{
    struct memberships *memberships = context;
    struct arena *arena = &memberships->call->arena;
    if (row->role > PROJECT_VIEWER)
        return true;
    struct call_project *project = arena_alloc(arena, sizeof *project);
    *project = (struct call_project){
        .id = arena_copy(arena, row->project.id, strlen(row->project.id)),
        .name = arena_copy(arena, row->project.name, strlen(row->project.name)),
        .views = row->role == PROJECT_VIEWER};
    *memberships->end = project;
    memberships->end = &project->next;
    return true;
}

enum problem project_read_all(struct call *call)
{
    struct memberships memberships = {call, &call->projects};
    call->projects = NULL;
    if (!call_is(call, ROLE_STEWARD) || call->pass)
        return PROBLEM_NONE;
    return call_db(call,
                   projects_memberships(call->db, call->caller.id, keep_membership, &memberships));
}

enum problem project_judge(struct call *call, enum problem problem)
{
    if (problem != PROBLEM_NOT_FOUND && problem != PROBLEM_VALIDATION)
        return problem;
    for (const struct call_project *project = call->projects; project; project = project->next) {
        if (!project->refused)
            continue;
        call_reset(call);
        return call_problem(call, PROBLEM_FORBIDDEN,
                            "You are a viewer of the project %s: viewers change and spend nothing.",
                            project->id);
    }
    return problem;
}

const char *project_list(struct call *call, const char *wanted)
{
    size_t size = 2;
    for (const struct call_project *project = call->projects; project; project = project->next)
        size += ID_SIZE;
    char *list = arena_array(&call->arena, size, 1);
    for (const struct call_project *project = call->projects; project; project = project->next)
        if (!wanted || strcmp(wanted, project->id) == 0)
            text_list_add(list, size, " ", project->id);
    return list[0] != '\0' ? list : "-";
}

enum problem project_of_new(struct call *call, const char *named, char out[ID_SIZE])
{
    const char *id = named ? named : call->caller.id;
    snprintf(out, ID_SIZE, "%s", id);
    if (call_owns(call, id))
        return PROBLEM_NONE;
    if (named)
        return call_invalid(call, "/project", "is not a project of yours");
    return call_problem(call, PROBLEM_CONFLICT,
                        "Your own project was handed to another steward: name a project.");
}

/* ---- what others find */

enum db_status project_shows(struct call *call, enum db_status found, const char *owner)
{
    bool admits = false;
    if (found != DB_OK && found != DB_NONE)
        return found;
    if (call_is(call, ROLE_AUDITOR))
        return found;
    if (call_is(call, ROLE_STEWARD))
        return found == DB_OK && call_owns(call, owner) ? DB_OK : DB_NONE;
    if (found == DB_OK && projects_always_open(owner))
        return DB_OK;
    enum db_status status =
        projects_admit(call->db, found == DB_OK ? owner : "", call->caller.id, &admits);
    if (status != DB_OK)
        return status;
    return admits ? DB_OK : DB_NONE;
}

enum db_status project_publishes(struct call *call, enum db_status found, const char *owner)
{
    if (found == DB_OK && projects_always_open(owner))
        return DB_OK;
    return project_shows(call, found, owner);
}

/* ---- as JSON */

json_t *project_add(struct call *call, json_t *json, const char *owner)
{
    const struct call_project *project = call->projects;
    while (project && strcmp(project->id, owner) != 0)
        project = project->next;
    struct project_row row;
    enum db_status status = project ? DB_OK : projects_find(call->db, owner, &row);
    if (status != DB_OK) {
        json_decref(json);
        return NULL;
    }
    const char *name = project ? project->name : row.name;
    json_object_set_new(json, "project", json_pack("{s:s, s:s}", "id", owner, "name", name));
    return json;
}
