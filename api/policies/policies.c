/* Policies. Whether something may leave is decided in one place: policy_may_leave. */
#include "api/policies/policies.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/certificates.h"
#include "api/call/fields.h"
#include "api/call/names.h"
#include "api/call/page.h"
#include "api/call/project.h"
#include "api/call/sealed.h"
#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "api/policies/environment_find.h"
#include "api/policies/network_export.h"
#include "api/policies/network_json.h"
#include "storage/endings.h"
#include "storage/jobs.h"
#include "storage/policy_names.h"

static const char imported[] = "imported";

/* ---- reading */

bool policy_is_secret(const struct policy_row *row)
{
    return !row->released && strcmp(row->mechanism, imported) != 0;
}

/* A secret policy is sealed. Those of earlier versions are in clear. NULL: it cannot be read, and
 * errno is ENOMEM if memory is short, ESTALE if its key was erased. */
static struct policy *decode_policy(const struct app *app, const struct policy_row *row,
                                    const void *bytes, size_t size)
{
    size_t length = 0;
    unsigned char *secret = NULL;
    if (policy_is_secret(row))
        secret = sealed_open(app, row->dataset, row->id, bytes, size, &length);
    if (!secret && (errno == ENOMEM || errno == ESTALE))
        return NULL;
    errno = 0;
    if (!secret)
        return policy_from_bytes(bytes, size);
    struct policy *policy = policy_from_bytes(secret, length);
    sodium_free(secret);
    return policy;
}

enum db_status policy_load(const struct app *app, struct db *db, const struct policy_row *row,
                           struct policy **out)
{
    void *bytes = NULL;
    size_t size = 0;
    *out = NULL;
    enum db_status status = policies_bytes(db, row->id, &bytes, &size);
    bool erased = size == 0 && policy_is_secret(row); /* no other is */
    if (status == DB_OK && !erased) {
        errno = 0;
        *out = decode_policy(app, row, bytes, size);
        if (!*out && errno != ESTALE) /* erased since this view began */
            status = db_undecoded();
        else if (*out && ((*out)->shape.input != row->state_dim ||
                          policy_action_count(*out) != row->action_count))
            status = DB_FAILED;
    }
    free(bytes);
    if (status == DB_OK)
        return DB_OK;
    policy_free(*out);
    *out = NULL;
    return status;
}

enum problem policy_may_leave(struct call *call, const struct policy_row *row)
{
    if (row->shards > 0) {
        return call_problem(call, PROBLEM_NOT_RELEASED,
                            "Policies of shards were trained without noise: they answer as a "
                            "teacher of adjacency \"expert\", and do not leave the service.");
    }
    if (!policy_is_secret(row))
        return PROBLEM_NONE;
    return call_problem(call, PROBLEM_NOT_RELEASED,
                        "The policy was trained without privacy on private data. It can answer as "
                        "a teacher; its weights and actions do not leave the service.");
}

static void free_policy(void *policy)
{
    policy_free(policy);
}

enum problem policy_open(struct call *call, struct policy_row *row, struct policy **out)
{
    enum problem problem = policy_of_reader(call, call_parameter(call, "id"), row);
    if (problem != PROBLEM_NONE || (problem = policy_may_leave(call, row)) != PROBLEM_NONE)
        return problem;
    enum db_status status = policy_load(call->app, call->db, row, out);
    if (status != DB_OK)
        return call_db(call, status);
    call_defer(call, free_policy, *out);
    return PROBLEM_NONE;
}

/* ---- as JSON */

static json_t *policy_json(struct call *call, const struct policy_row *row, bool owned)
{
    const char *dataset = owned ? row->dataset : "", *job = owned ? row->job : "";
    json_t *json = json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:n}", "id", row->id, "name",
        row->name, "environment", json_text_or_null(row->environment), "state_dim",
        (json_int_t)row->state_dim, "action_count", (json_int_t)row->action_count, "mechanism",
        json_text_or_null(row->mechanism), "released", (int)row->released, "owned", (int)owned,
        "dataset", json_text_or_null(dataset), "job", json_text_or_null(job), "certificate",
        json_text_or_null(row->certificate), "created_at", json_time(row->created_ms), "shards");
    if (row->shards > 0)
        json_object_set_new(json, "shards", json_integer(row->shards));
    return owned ? project_add(call, json, row->owner) : json;
}

/* "owner", "granted" or "public": who may read it. */
struct readers {
    const char *visibility;
};

static bool see_reader(void *context, const struct policy_grant *grant)
{
    struct readers *readers = context;
    bool everybody = strcmp(grant->client, POLICY_PUBLIC) == 0;
    readers->visibility = everybody ? "public" : "granted";
    return !everybody;
}

json_t *policy_warnings(struct call *call, const struct policy_row *policy)
{
    struct job_row job = {.findings = ""};
    if (policy->job[0] == '\0' || (policy_is_secret(policy) && !call_owns(call, policy->owner)))
        return json_array();
    enum db_status status = jobs_find(call->db, policy->job, &job);
    if (status == DB_NONE)
        return json_array();
    if (call_db(call, status) != PROBLEM_NONE)
        return NULL;
    json_t *warnings = json_array(), *findings = json_text_stored(job.findings);
    const json_t *judge = json_object_get(findings, "judge");
    if (strcmp(json_member_text(judge, "verdict"), "not_supported") == 0)
        json_array_append_new(
            warnings, json_string("The judge of this policy found that its data give no reason to "
                                  "use the policy: its verdict is \"not_supported\"."));
    json_decref(findings);
    job_done(&job);
    return warnings;
}

/* The policy with its names and readers; NULL: they cannot be read. */
static json_t *policy_whole_json(struct call *call, const struct policy_row *row)
{
    struct readers readers = {"owner"};
    json_t *names = NULL;
    enum db_status status = policy_names_json(call->db, row->id, &names);
    call_own(call, names);
    if (status == DB_OK)
        status = policy_grants_list(call->db, row->id, see_reader, &readers);
    if (status != DB_OK)
        return NULL;
    bool owner = call_owns(call, row->owner);
    json_t *json = policy_json(call, row, owner);
    if (!json)
        return NULL;
    json_object_set(json, "names", names);
    if (names_show(call->db, json, "dataset_name", row->dataset, owner) != DB_OK) {
        json_decref(json);
        return NULL;
    }
    json_object_set_new(json, "visibility", json_string(readers.visibility));
    json_t *warnings = policy_warnings(call, row);
    json_object_set_new(json, "warnings", warnings);
    if (!warnings) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* ---- importing */

static enum problem store_import(struct call *call, const struct policy_row *row,
                                 const struct policy *policy)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (!policy_to_bytes(policy, &bytes, &size))
        return call_no_memory(call);
    enum db_status status = policies_insert(call->db, row, bytes, size, NULL);
    free(bytes);
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/policies/%s", row->id);
    return call_reply_json(call, 201, policy_whole_json(call, row));
}

enum problem api_policies_import(struct call *call)
{
    const char *name = NULL, *environment = NULL, *project = NULL;
    json_t *network = NULL;
    const struct field fields[] = {
        field_text("name", &name, 1, 200),
        field_text("environment", &environment, 1, 31),
        field_object("network", &network),
        PROJECT_FIELD(&project),
    };
    struct policy_row row = {.created_ms = call->now_ms};
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields))
        return PROBLEM_VALIDATION;
    enum problem problem = project_of_new(call, project, row.owner);
    if (problem != PROBLEM_NONE)
        return problem;
    const struct env *env = NULL;
    problem = environment_find(call, "/environment", environment, &env);
    if (problem != PROBLEM_NONE)
        return problem;
    struct policy *policy =
        network_read(call, network, "/network", env->state_dim, env->action_count);
    if (!policy)
        return PROBLEM_VALIDATION;
    row.state_dim = env->state_dim;
    row.action_count = env->action_count;
    id_new("pol_", row.id);
    snprintf(row.name, sizeof row.name, "%s", name);
    snprintf(row.environment, sizeof row.environment, "%s", env->name);
    snprintf(row.mechanism, sizeof row.mechanism, "%s", imported);
    problem = store_import(call, &row, policy);
    policy_free(policy);
    return problem;
}

/* ---- showing */

/* The rows of grants and endings that the list was made by are checked here: SQL checks no digest.
 */
static bool policy_list_one(void *context, const struct policy_row *row)
{
    struct page *page = context;
    bool deleted = false;
    page->fault = endings_deleted(page->call->db, row->id, &deleted);
    return page->fault == DB_OK &&
           page_add(page, policy_whole_json(page->call, row), row->created_ms, row->id);
}

enum problem api_policies_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    const char *project = call_query(call, "project");
    if (project) /* whose the policies of others are is not told */
        project = project_list(call, project);
    return page_end(&page, policies_list(call->db, project_list(call, NULL), call->caller.id,
                                         project, &page.rows, policy_list_one, &page));
}

enum problem api_policies_get(struct call *call)
{
    struct policy_row row;
    enum problem problem = policy_of_reader(call, call_parameter(call, "id"), &row);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(call, 200, policy_whole_json(call, &row));
}

/* ---- what may leave */

enum problem api_policies_weights(struct call *call)
{
    struct policy_row row;
    struct policy *policy = NULL;
    enum problem problem = policy_open(call, &row, &policy);
    if (problem != PROBLEM_NONE)
        return problem;
    struct certificate_row certificate = {.text = NULL};
    enum db_status status = db_optional(certificates_find(call->db, row.id, &certificate));
    problem = call_db(call, status);
    if (problem == PROBLEM_NONE)
        problem = network_reply(call, policy, row.id, certificate.text);
    free(certificate.text);
    return problem;
}

/* Finds {id} for its certificate, which stays when the policy is deleted, and which auditors see.
 */
static enum problem find_certified(struct call *call, struct policy_row *row)
{
    const char *id = call_parameter(call, "id");
    if (strchr(id, '@'))
        return policy_of_reader(call, id, row);
    bool granted = false;
    enum db_status found = policies_find(call->db, id, row);
    enum db_status status = found;
    if (found == DB_OK || found == DB_NONE) /* what is missing takes as long as what is another's */
        status = policy_grants_allow(call->db, id, call->caller.id, &granted);
    if (status != DB_OK)
        return call_db(call, status);
    if (found == DB_NONE ||
        !(granted || call_is(call, ROLE_AUDITOR) || call_owns(call, row->owner)))
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such policy.");
    return PROBLEM_NONE;
}

enum problem api_policies_certificate(struct call *call)
{
    struct policy_row row;
    enum problem problem = find_certified(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    struct certificate_row certificate = {.text = NULL};
    enum db_status status = certificates_find(call->db, row.id, &certificate);
    if (status == DB_NONE) {
        return call_problem(call, PROBLEM_NOT_FOUND,
                            "The policy has no certificate: nothing is guaranteed about it.");
    }
    if (status != DB_OK)
        return call_db(call, status);
    return certificate_reply(call, certificate.id, certificate.text);
}
