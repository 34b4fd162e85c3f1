/* Names of policies: versions that stay and aliases that move; a name in the place of an id. */
#include <stdio.h>
#include <string.h>

#include "api/call/names.h"
#include "api/call/page.h"
#include "api/call/project.h"
#include "api/call/revision.h"
#include "api/json/json_text.h"
#include "api/policies/policies.h"
#include "storage/endings.h"
#include "storage/policy_names.h"

/* ---- a name in the place of an id */

/* What a name names to its owners, as far as the caller may read it. One's own names come before
 * those of others. */
struct name_search {
    struct call *call;
    struct policy_row *row;
    json_t *own, *granted; /* ids of policies */
    enum db_status status;
};

/* Sets *OUT to whether the caller may read the policy ROW. */
static enum db_status may_read(struct call *call, const struct policy_row *row, bool *out)
{
    bool deleted = false, granted = false;
    enum db_status status = endings_deleted(call->db, row->id, &deleted);
    if (status == DB_OK)
        status = policy_grants_allow(call->db, row->id, call->caller.id, &granted);
    *out = status == DB_OK && !deleted && (granted || call_owns(call, row->owner));
    return status;
}

static bool see_named(void *context, const struct policy_name_row *name)
{
    struct name_search *search = context;
    struct policy_row row;
    bool may = false;
    search->status = policies_find(search->call->db, name->policy, &row);
    if (search->status == DB_OK)
        search->status = may_read(search->call, &row, &may);
    if (search->status != DB_OK || !may)
        return search->status == DB_OK;
    bool own = call_owns(search->call, name->owner);
    json_t *found = own ? search->own : search->granted;
    if (json_array_size(search->own) == 0 && (own || json_array_size(found) == 0))
        *search->row = row;
    json_array_append_new(found, json_string(row.id));
    return true;
}

static enum problem find_named(struct call *call, const char *name, struct policy_row *out)
{
    struct name_search search = {.call = call,
                                 .row = out,
                                 .own = call_own(call, json_array()),
                                 .granted = call_own(call, json_array())};
    enum db_status status = policy_names_readable(call->db, project_list(call, NULL),
                                                  call->caller.id, name, see_named, &search);
    bool own = json_array_size(search.own) > 0;
    json_t *found = own ? search.own : search.granted;
    if (status == DB_OK)
        status = search.status;
    bool one = status == DB_OK && json_array_size(found) == 1;
    for (struct call_project *viewed = call->projects; one && viewed; viewed = viewed->next)
        viewed->refused = false; /* it has the name, but it was not what the caller meant */
    if (status == DB_OK && json_array_size(found) == 0)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such policy.");
    if (status == DB_OK && json_array_size(found) > 1) {
        call_problem_member(call, "policies", json_incref(found));
        return call_problem(call, PROBLEM_CONFLICT,
                            own ? "Policies of several of your projects have this name: give an id."
                                : "You were granted several policies of this name: give an id.");
    }
    return call_db(call, status);
}

/* Says which policy a name stood for: the path of this call with the id in its place. */
static void show_place(struct call *call, const char *id)
{
    static const char base[] = "/v1/policies/{id}";
    const char *pattern = call->route->pattern;
    if (strcmp(call->route->method, "GET") == 0 && strncmp(pattern, base, sizeof base - 1) == 0)
        call_header(call, "Content-Location", "/v1/policies/%s%s", id, pattern + sizeof base - 1);
}

enum problem policy_of_reader(struct call *call, const char *id, struct policy_row *out)
{
    bool may = false;
    if (strchr(id, '@')) {
        enum problem problem = find_named(call, id, out);
        if (problem == PROBLEM_NONE)
            show_place(call, out->id);
        return problem;
    }
    enum db_status status = policies_find(call->db, id, out);
    if (status == DB_NONE) { /* what is missing takes the same way as what is another's */
        *out = (struct policy_row){.released = false};
        status = DB_OK;
    }
    if (status == DB_OK)
        status = may_read(call, out, &may);
    if (status == DB_OK && !may)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such policy.");
    return call_db(call, status);
}

enum problem policy_of_owner(struct call *call, const char *id, struct policy_row *out)
{
    enum problem problem = policy_of_reader(call, id, out);
    if (problem == PROBLEM_NONE && !call_owns(call, out->owner))
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such policy.");
    return problem;
}

/* ---- as JSON */

/* NULL: the database failed. */
static json_t *name_json(struct call *call, const struct policy_name_row *row)
{
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:I, s:o, s:s}", "name", row->name, "policy", row->policy,
                  "project", row->owner, "revision", (json_int_t)row->revision, "moved_at",
                  json_time(row->moved_ms), "moved_by", row->client);
    if (names_add(call->db, json, "moved_by_name", row->client) == DB_OK)
        return json;
    json_decref(json);
    return NULL;
}

static bool list_name_only(void *context, const struct policy_name_row *row)
{
    json_array_append_new(context, json_string(row->name));
    return true;
}

enum db_status policy_names_json(struct db *db, const char *policy, json_t **out)
{
    *out = json_array();
    return policy_names_of(db, policy, list_name_only, *out);
}

struct moves {
    struct db *db;
    json_t *list;
    char from[ID_SIZE];
    enum db_status status;
};

static bool add_move(void *context, const struct policy_name_row *row)
{
    struct moves *moves = context;
    json_t *json =
        json_pack("{s:o, s:s, s:o, s:s}", "at", json_time(row->moved_ms), "by", row->client, "from",
                  json_text_or_null(moves->from), "to", row->policy);
    moves->status = names_add(moves->db, json, "by_name", row->client);
    json_array_append_new(moves->list, json);
    memcpy(moves->from, row->policy, ID_SIZE);
    return moves->status == DB_OK;
}

/* ---- giving names */

static enum problem refuse_form(struct call *call)
{
    return call_problem(call, PROBLEM_NOT_FOUND,
                        "A name is like treatment@2 or treatment@current: lower-case letters, "
                        "digits and \"._-\".");
}

/* Refuses to change what NOW says, but for an alias whose revision the caller has read, and which
 * has room for one more: every reader of a name goes through its revisions. */
static enum problem check_move(struct call *call, const struct policy_name_row *now)
{
    if (policy_name_stays(now))
        return call_problem(call, PROBLEM_CONFLICT,
                            "%s names the policy %s for ever: a version is never moved, and an "
                            "alias has at most %d revisions.",
                            now->name, now->policy, POLICY_NAME_REVISIONS);
    return revision_check(call, "alias", now->revision);
}

static enum problem reply_name(struct call *call, int status, const struct policy_name_row *row)
{
    json_t *json = name_json(call, row);
    if (!json)
        return call_db(call, DB_FAILED);
    revision_show(call, row->revision);
    return call_reply_json(call, status, json);
}

enum problem api_policies_name(struct call *call)
{
    const char *name = call_parameter(call, "name");
    struct policy_row policy;
    struct policy_name_row now;
    enum problem problem = policy_of_owner(call, call_parameter(call, "id"), &policy);
    if (problem != PROBLEM_NONE)
        return problem;
    if (!policy_name_valid(name))
        return refuse_form(call);
    now.revision = 0;
    enum db_status status = policy_names_find(call->db, policy.owner, name, &now);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (now.revision > 0 && strcmp(now.policy, policy.id) == 0)
        return reply_name(call, 200, &now);
    if (now.revision > 0 && (problem = check_move(call, &now)) != PROBLEM_NONE)
        return problem;
    struct policy_name_row next = {.revision = now.revision + 1, .moved_ms = call->now_ms};
    memcpy(next.owner, policy.owner, ID_SIZE);
    memcpy(next.policy, policy.id, ID_SIZE);
    memcpy(next.client, call->caller.id, ID_SIZE);
    snprintf(next.name, sizeof next.name, "%s", name);
    status = policy_names_move(call->db, &next);
    if (status != DB_OK) /* this transaction has looked for the revision before */
        return call_db(call, db_owed(status));
    return reply_name(call, next.revision == 1 ? 201 : 200, &next);
}

/* ---- showing names */

static bool name_list_one(void *context, const struct policy_name_row *row)
{
    struct page *page = context;
    char cursor[POLICY_NAME_SIZE + ID_SIZE];
    snprintf(cursor, sizeof cursor, "%s %s", row->name, row->owner);
    return page_add(page, name_json(page->call, row), 0, cursor);
}

enum problem api_policy_names_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    return page_end(&page, policy_names_list(call->db, page_owner(&page), page.rows.after,
                                             page.rows.limit, name_list_one, &page));
}

struct name_work {
    const char *projects, *name;
    struct policy_name_row row;
    json_t *owners; /* ids of projects that have it */
    struct moves moves;
};

static bool keep_name(void *context, const struct policy_name_row *row)
{
    struct name_work *work = context;
    work->row = *row;
    json_array_append_new(work->owners, json_string(row->owner));
    return true;
}

/* In one view, so that the last move is what the name names. */
static enum db_status read_own_name(struct db *db, void *context)
{
    struct name_work *work = context;
    enum db_status status = policy_names_owned(db, work->projects, work->name, keep_name, work);
    if (status != DB_OK || json_array_size(work->owners) != 1)
        return status;
    status = policy_names_moves(db, work->row.owner, work->name, add_move, &work->moves);
    return status == DB_OK ? work->moves.status : status;
}

enum problem api_policy_names_get(struct call *call)
{
    struct name_work work = {.projects = project_list(call, call_query(call, "project")),
                             .name = call_parameter(call, "name"),
                             .owners = call_own(call, json_array()),
                             .moves = {.db = call->db, .list = call_own(call, json_array())}};
    if (!policy_name_valid(work.name))
        return refuse_form(call);
    enum db_status status = db_view(call->db, read_own_name, &work);
    if (status != DB_OK)
        return call_db(call, status);
    if (json_array_size(work.owners) == 0)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such name.");
    if (json_array_size(work.owners) > 1) {
        call_problem_member(call, "projects", json_incref(work.owners));
        return call_problem(call, PROBLEM_CONFLICT,
                            "Several of your projects have this name: give ?project=.");
    }
    json_t *json = name_json(call, &work.row);
    if (!json)
        return call_db(call, DB_FAILED);
    json_object_set(json, "moves", work.moves.list);
    revision_show(call, work.row.revision);
    return call_reply_json(call, 200, json);
}
