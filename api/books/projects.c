/* Projects, their members, and handing one over.
 *
 * DESIGN. An admin may hand a project to another steward, and sees its name and members for that;
 * nothing here shows what belongs to it. Jobs go on, because they belong to the project. */
#include "api/books/projects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/fields.h"
#include "api/call/names.h"
#include "api/call/page.h"
#include "api/call/pass.h"
#include "api/json/json_text.h"
#include "storage/clients.h"
#include "storage/ledger/ledger.h"
#include "storage/projects.h"

#define REASON_MAX 500

/* What the caller is to a project. */
struct standing {
    struct project_row project;
    enum project_role role;
    bool member;
};

/* ---- as JSON */

static json_t *project_standing_json(const struct standing *standing)
{
    const struct project_row *project = &standing->project;
    const char *role = standing->member ? project_role_names[standing->role] : NULL;
    return json_pack("{s:s, s:s, s:b, s:o, s:o}", "id", project->id, "name", project->name,
                     "invited_only", (int)project->invited_only, "role", json_text_or_null(role),
                     "created_at", json_time(project->created_ms));
}

struct member_list {
    struct call *call;
    json_t *json;
    enum db_status status;
};

static bool projects_add_member(void *context, const struct project_member_row *member)
{
    struct member_list *list = context;
    char name[NAME_SIZE] = ""; /* of a damaged client */
    list->status = db_optional(clients_name(list->call->db, member->client, name));
    if (list->status != DB_OK)
        return false;
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:o}", "client", member->client, "name", name,
                             "role", project_role_names[member->role], "added_by", member->added_by,
                             "added_at", json_time(member->added_ms));
    list->status = names_add(list->call->db, json, "added_by_name", member->added_by);
    json_array_append_new(list->json, json);
    return list->status == DB_OK;
}

/* Answers with the project; its members are shown to its stewards, admins and auditors. */
static enum problem reply_project(struct call *call, int http_status,
                                  const struct standing *standing)
{
    struct member_list list = {call, call_own(call, json_array()), DB_OK};
    json_t *json = project_standing_json(standing);
    if (!standing->member || standing->role <= PROJECT_VIEWER) {
        enum db_status status =
            projects_members(call->db, standing->project.id, projects_add_member, &list);
        if (status == DB_OK)
            status = list.status;
        if (status != DB_OK) {
            json_decref(json);
            return call_db(call, status);
        }
        json_object_set(json, "members", list.json);
    }
    return call_reply_json(call, http_status, json);
}

/* ---- finding */

/* Finds the project {id} if the caller is a member, an admin or an auditor. */
static enum problem standing_of_call(struct call *call, struct standing *out)
{
    struct project_member_row member;
    const char *id = call_parameter(call, "id");
    enum db_status found = projects_find(call->db, id, &out->project);
    enum db_status status = projects_member_find(call->db, id, call->caller.id, &member);
    if (db_optional(found) != DB_OK)
        return call_db(call, found);
    if (db_optional(status) != DB_OK)
        return call_db(call, status);
    out->member = status == DB_OK;
    if (out->member)
        out->role = member.role;
    if (found == DB_OK && (out->member || call_is(call, ROLE_ADMIN | ROLE_AUDITOR)))
        return PROBLEM_NONE;
    return call_problem(call, PROBLEM_NOT_FOUND, "There is no such project.");
}

/* The same for what only an owner may do, or an admin where the route admits one. */
static enum problem standing_of_owner(struct call *call, struct standing *out)
{
    enum problem problem = standing_of_call(call, out);
    if (problem != PROBLEM_NONE || call_is(call, ROLE_ADMIN) || out->role == PROJECT_OWNER)
        return problem;
    return call_problem(call, PROBLEM_FORBIDDEN, "Only an owner of the project may do that.");
}

static enum db_status projects_put_role(struct call *call, const char *project, const char *client,
                                        enum project_role role)
{
    struct project_member_row member = {.role = role, .added_ms = call->now_ms};
    snprintf(member.project, sizeof member.project, "%s", project);
    snprintf(member.client, sizeof member.client, "%s", client);
    memcpy(member.added_by, call->caller.id, sizeof member.added_by);
    pass_end_all(call->app);
    return projects_member_put(call->db, &member);
}

static bool count_membership(void *context, const struct project_membership_row *row)
{
    (void)row;
    ++*(unsigned *)context;
    return true;
}

/* PROBLEM_NONE while CLIENT may become a member of one more project. */
static enum problem check_room(struct call *call, const char *client)
{
    unsigned count = 0;
    enum db_status status = projects_memberships(call->db, client, count_membership, &count);
    if (status == DB_OK && count >= PROJECT_MEMBERSHIPS_MAX)
        return call_problem(call, PROBLEM_CONFLICT,
                            "A client can be a member of at most %d projects.",
                            PROJECT_MEMBERSHIPS_MAX);
    return call_db(call, status);
}

/* ---- making and showing */

enum problem api_projects_create(struct call *call)
{
    const char *name = NULL;
    struct standing made = {.role = PROJECT_OWNER, .member = true};
    const struct field fields[] = {field_text("name", &name, 1, NAME_SIZE - 1)};
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields))
        return PROBLEM_VALIDATION;
    enum problem problem = check_room(call, call->caller.id);
    if (problem != PROBLEM_NONE)
        return problem;
    struct project_row *project = &made.project;
    project->invited_only = true;
    project->created_ms = call->now_ms;
    id_new("prj_", project->id);
    snprintf(project->name, sizeof project->name, "%s", name);
    enum db_status status = projects_insert(call->db, project);
    if (status == DB_OK)
        status = projects_put_role(call, project->id, call->caller.id, PROJECT_OWNER);
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/projects/%s", project->id);
    return reply_project(call, 201, &made);
}

static bool list_project(void *context, const struct project_row *project)
{
    struct page *page = context;
    struct project_member_row member;
    struct standing standing = {.project = *project};
    page->fault = projects_member_find(page->call->db, project->id, page->call->caller.id, &member);
    standing.member = page->fault == DB_OK;
    page->fault = db_optional(page->fault);
    if (standing.member)
        standing.role = member.role;
    else if (page->fault == DB_OK && !call_is(page->call, ROLE_ADMIN | ROLE_AUDITOR))
        page->fault = DB_FAILED; /* the row that names the caller is damaged */
    return page->fault == DB_OK &&
           page_add(page, project_standing_json(&standing), project->created_ms, project->id);
}

enum problem api_projects_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    const char *member = call_is(call, ROLE_ADMIN | ROLE_AUDITOR) ? NULL : call->caller.id;
    return page_end(&page, projects_list(call->db, member, &page.rows, list_project, &page));
}

enum problem api_projects_get(struct call *call)
{
    struct standing standing;
    enum problem problem = standing_of_call(call, &standing);
    return problem == PROBLEM_NONE ? reply_project(call, 200, &standing) : problem;
}

enum problem api_projects_change(struct call *call)
{
    struct standing standing;
    enum problem problem = standing_of_owner(call, &standing);
    if (problem != PROBLEM_NONE)
        return problem;
    struct project_row *project = &standing.project;
    const char *name = project->name;
    const struct field fields[] = {
        field_optional(field_text("name", &name, 1, NAME_SIZE - 1)),
        field_optional(field_bool("invited_only", &project->invited_only)),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields))
        return PROBLEM_VALIDATION;
    if (project->invited_only && projects_always_open(project->id))
        return call_problem(call, PROBLEM_CONFLICT,
                            "A steward's own project is always open: make another one.");
    if (name != project->name)
        snprintf(project->name, sizeof project->name, "%s", name);
    pass_end_all(call->app);
    enum db_status status = projects_update(call->db, project);
    if (status != DB_OK)
        return call_db(call, db_owed(status));
    return reply_project(call, 200, &standing);
}

/* ---- members */

/* The roles in a project that a client of ROLE may have: from *FIRST to the returned one. */
static enum project_role most_role(enum role role, enum project_role *first)
{
    if (role == ROLE_STEWARD) {
        *first = PROJECT_OWNER;
        return PROJECT_VIEWER;
    }
    *first = PROJECT_STUDENT;
    if (role == ROLE_CONTRIBUTOR)
        *first = PROJECT_CONTRIBUTOR;
    return *first;
}

static enum problem check_role(struct call *call, const struct client_row *client,
                               enum project_role wanted)
{
    enum project_role first, last;
    enum role role = role_find(client->role);
    if (role & (ROLE_ADMIN | ROLE_AUDITOR | ROLE_MONITOR))
        return call_problem(call, PROBLEM_CONFLICT,
                            "A client of the role %s is no member of projects.", client->role);
    last = most_role(role, &first);
    if (wanted >= first && wanted <= last)
        return PROBLEM_NONE;
    return call_invalid(call, "/role", "cannot be %s for a client of the role %s",
                        project_role_names[wanted], client->role);
}

/* Refuses what would leave the project without an owner. */
static enum problem check_last_owner(struct call *call, const struct project_member_row *member)
{
    int64_t owners = 0;
    enum db_status status = projects_owners(call->db, member->project, &owners);
    if (status != DB_OK)
        return call_db(call, status);
    if (member->role == PROJECT_OWNER && owners == 1)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The project would have no owner: make another member its owner, or "
                            "transfer the project.");
    return PROBLEM_NONE;
}

enum problem api_projects_put_member(struct call *call)
{
    struct standing standing;
    struct client_row client;
    struct project_member_row member;
    int role = 0;
    const struct field fields[] = {field_choice("role", &role, project_role_names)};
    enum problem problem = standing_of_owner(call, &standing);
    if (problem != PROBLEM_NONE)
        return problem;
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields))
        return PROBLEM_VALIDATION;
    enum db_status found = clients_find(call->db, call_parameter(call, "client"), &client);
    if (found == DB_NONE || (found == DB_OK && client.revoked_ms != 0))
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such client.");
    if (found != DB_OK)
        return call_db(call, found);
    problem = check_role(call, &client, (enum project_role)role);
    if (problem != PROBLEM_NONE)
        return problem;
    found = projects_member_find(call->db, standing.project.id, client.id, &member);
    if (found == DB_NONE)
        problem = check_room(call, client.id);
    else if (found == DB_OK && role != PROJECT_OWNER)
        problem = check_last_owner(call, &member);
    if (problem == PROBLEM_NONE)
        problem = call_db(call, db_optional(found));
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status =
        projects_put_role(call, standing.project.id, client.id, (enum project_role)role);
    if (status != DB_OK)
        return call_db(call, status);
    if (strcmp(client.id, call->caller.id) == 0)
        standing.role = (enum project_role)role;
    return reply_project(call, found == DB_NONE ? 201 : 200, &standing);
}

enum problem api_projects_remove_member(struct call *call)
{
    struct standing standing;
    struct project_member_row member;
    const char *client = call_parameter(call, "client");
    bool leaves = strcmp(client, call->caller.id) == 0; /* nobody has to stay */
    enum problem problem =
        leaves ? standing_of_call(call, &standing) : standing_of_owner(call, &standing);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = projects_member_find(call->db, standing.project.id, client, &member);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    problem = status == DB_OK ? check_last_owner(call, &member) : PROBLEM_NONE;
    if (problem != PROBLEM_NONE)
        return problem;
    status = projects_member_remove(call->db, standing.project.id, client); /* or a damaged one */
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "The project has no such member.");
    pass_end_all(call->app);
    return call_reply_done(call, status);
}

/* ---- handing over */

static bool add_old_owner(void *context, const struct project_member_row *member)
{
    if (member->role == PROJECT_OWNER)
        json_array_append_new(context, json_string(member->client));
    return true;
}

/* What the ledger keeps of a handover: {"type","project","from","to","reason"}, in the arena. */
static enum db_status handover_event(struct call *call, const char *project, const char *to,
                                     const char *reason, const char **out)
{
    size_t size;
    json_t *from = json_array();
    enum db_status status = projects_members(call->db, project, add_old_owner, from);
    json_t *json = json_pack("{s:s, s:s, s:o, s:s, s:s}", "type", "NoOpDpEvent", "project", project,
                             "from", from, "to", to, "reason", reason);
    char *text = json_text_write(json, false, &size);
    *out = arena_copy(&call->arena, text, size);
    json_decref(json);
    free(text);
    return status;
}

static enum db_status hand_over(struct call *call, const char *project, const char *to,
                                const char *reason, bool keeps_members)
{
    const char *event;
    enum db_status status = handover_event(call, project, to, reason, &event);
    if (status == DB_OK && !keeps_members)
        status = projects_stewards_remove(call->db, project);
    if (status == DB_OK)
        status = projects_put_role(call, project, to, PROJECT_OWNER);
    if (status == DB_OK)
        status = ledger_hand_over(call->db, project, call->caller.id, event, call->now_ms);
    return status;
}

enum problem api_projects_transfer(struct call *call)
{
    struct standing standing;
    struct project_member_row member;
    struct client_row to;
    const char *id = NULL, *reason = NULL;
    bool keeps_members = false;
    const struct field fields[] = {
        field_text("to", &id, 1, ID_SIZE - 1),
        field_text("reason", &reason, 1, REASON_MAX),
        field_optional(field_bool("keep_members", &keeps_members)),
    };
    enum problem problem = standing_of_owner(call, &standing);
    if (problem != PROBLEM_NONE)
        return problem;
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields))
        return PROBLEM_VALIDATION;
    if (strcmp(id, call->caller.id) == 0)
        return call_problem(call, PROBLEM_CONFLICT, "The project is yours already.");
    enum db_status status = clients_find(call->db, id, &to);
    if (db_optional(status) != DB_OK)
        return call_db(call, status);
    if (status == DB_NONE || to.revoked_ms != 0 || role_find(to.role) != ROLE_STEWARD)
        return call_invalid(call, "/to", "is not a steward of this server");
    status = projects_member_find(call->db, standing.project.id, to.id, &member);
    problem = status == DB_NONE ? check_room(call, to.id) : call_db(call, status);
    if (problem != PROBLEM_NONE)
        return problem;
    status = hand_over(call, standing.project.id, to.id, reason, keeps_members);
    if (status != DB_OK)
        return call_db(call, status);
    standing.member = standing.member && keeps_members;
    call->subject = id;
    return call_reply_json(call, 200, project_standing_json(&standing));
}
