/* Datasets as a steward makes, shows, seals and deletes them. */
#include "api/data/datasets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/fields.h"
#include "api/call/page.h"
#include "api/call/project.h"
#include "api/data/erasure.h"
#include "api/data/exposure.h"
#include "api/json/json_text.h"
#include "memory/shelf.h"
#include "storage/jobs.h"
#include "storage/uploads.h"

#define OUTSIDE_MAX 100 /* warnings of one call */

const char *const dataset_sensitivities[] = {"private", "public", NULL};

/* ---- as JSON */

const char dataset_uncovered_note[] =
    "A job was accepted on these private data that protects no expert (mechanism \"none\"), or "
    "something else (unit \"reward\", or policies with \"source\":\"logged\"): their budget does "
    "not cover what such jobs, and teachers over their policies, reveal.";

json_t *dataset_covered_json(const struct dataset_row *dataset)
{
    if (!dataset || dataset->is_public)
        return json_null();
    return json_boolean(!dataset->uncovered);
}

json_t *dataset_means_json(const struct dataset_row *dataset)
{
    if (!dataset)
        return json_null();
    return json_text_or_null(dataset->expert_means);
}

json_t *dataset_json(const struct dataset_row *row, bool with_counts)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:s, s:n, s:o, s:o}", "id", row->id, "name",
        row->name, "state", dataset_state_name(row->state), "environment",
        json_text_or_null(row->environment), "state_dim", (json_int_t)row->state_dim,
        "action_count", (json_int_t)row->action_count, "max_episode_steps",
        (json_int_t)row->max_episode_steps, "discount", json_number(row->discount),
        "min_action_probability", json_number(row->min_action_probability), "sensitivity",
        dataset_sensitivities[row->is_public], "nominal_experts", "account",
        json_text_or_null(row->account), "created_at", json_time(row->created_ms));
    const char *uncovered = NULL;
    if (row->uncovered)
        uncovered = dataset_uncovered_note;
    json_object_set_new(json, "covered", dataset_covered_json(row));
    json_object_set_new(json, "uncovered", json_text_or_null(uncovered));
    json_object_set_new(json, "expert_means", dataset_means_json(row));
    json_object_set_new(json, "retention_days", json_null());
    if (row->retention_days > 0)
        json_object_set_new(json, "retention_days", json_integer(row->retention_days));
    if (row->nominal_experts > 0)
        json_object_set_new(json, "nominal_experts", json_integer(row->nominal_experts));
    if (!with_counts)
        return json;
    json_object_set_new(json, "experts", json_integer(row->experts));
    json_object_set_new(json, "trajectories", json_integer(row->trajectories));
    json_object_set_new(json, "transitions", json_integer(row->transitions));
    return json;
}

/* ---- the description */

enum problem dataset_describe(struct call *call, const char *id, struct description **out)
{
    char *text = NULL;
    struct json_fault fault;
    *out = NULL;
    enum db_status status = datasets_description(call->db, id, &text);
    if (status != DB_OK)
        return call_db(call, db_optional(status));
    *out = description_own(call, description_parse(text, &fault));
    free(text);
    return *out ? PROBLEM_NONE : PROBLEM_INTERNAL_ERROR;
}

bool dataset_feature_warns(const struct description *description, unsigned feature, float *state,
                           const char *pointer, json_t *warnings)
{
    struct description strict = *description;
    char detail[DESCRIPTION_FAULT_SIZE];
    uint32_t at;
    strict.clips = false;
    if (description_fit(&strict, feature, state, &at, detail))
        return false;
    if (json_array_size(warnings) < OUTSIDE_MAX)
        json_array_append_new(warnings, json_pack("{s:o, s:s}", "pointer",
                                                  json_sprintf("%s/%" PRIu32, pointer, at),
                                                  "detail", detail));
    return true;
}

/* dataset_states_warnings, of one DESCRIPTION. */
static void add_outside(const struct description *description, float *states, uint32_t count,
                        json_t *warnings)
{
    for (uint32_t i = 0; i < count; i++) {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/states/%" PRIu32, i);
        for (unsigned f = 0; f < description->feature_count; f++)
            (void)dataset_feature_warns(description, f, states + (size_t)i * description->dim,
                                        pointer, warnings);
    }
}

enum problem dataset_states_warnings(struct call *call, const char *id, float *states,
                                     uint32_t count, json_t **out)
{
    struct description *description = NULL;
    enum problem problem = dataset_describe(call, id, &description);
    *out = problem == PROBLEM_NONE ? json_array() : NULL;
    if (description)
        add_outside(description, states, count, *out);
    return problem;
}

void dataset_json_describe(json_t *json, const struct description *description)
{
    if (description)
        json_object_set(json, "description", description->json);
    else
        json_object_set_new(json, "description", json_null());
}

enum db_status dataset_certified_description(struct db *db, const char *id, json_t **out)
{
    static const char *const members[] = {"row", "features", "outside", "actions"};
    char *text = NULL;
    enum db_status status = id[0] != '\0' ? datasets_description(db, id, &text) : DB_NONE;
    *out = status == DB_NONE ? json_null() : NULL;
    if (status != DB_OK)
        return db_optional(status);
    json_t *whole = json_text_stored(text);
    free(text);
    if (!whole)
        return db_fail(db, id, "its description is damaged");
    *out = json_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_get(whole, members[i]))
            json_object_set(*out, members[i], json_object_get(whole, members[i]));
    json_decref(whole);
    return DB_OK;
}

/* ---- who may see what */

static enum problem unknown_dataset(struct call *call)
{
    return call_problem(call, PROBLEM_NOT_FOUND, "There is no such dataset.");
}

enum problem dataset_refused(struct call *call, enum dataset_verdict verdict, const char *sealed)
{
    if (verdict == DATASET_NOT_OPEN)
        return call_problem(call, PROBLEM_DATASET_NOT_OPEN, "%s", sealed);
    return unknown_dataset(call);
}

enum problem dataset_of_owner(struct call *call, const char *id, struct dataset_row *out)
{
    enum db_status status = datasets_find(call->db, id, out);
    if (status == DB_OK && out->state == DATASET_DELETED)
        status = DB_NONE;
    status = project_shows(call, status, out->owner);
    if (status == DB_NONE)
        return unknown_dataset(call);
    return call_db(call, status);
}

enum problem dataset_of_call(struct call *call, struct dataset_row *out)
{
    return dataset_of_owner(call, call_parameter(call, "id"), out);
}

enum problem dataset_check_disk(struct call *call, size_t size)
{
    uint64_t most = call->app->settings.client_disk_bytes;
    int64_t used = 0;
    if (most == 0)
        return PROBLEM_NONE;
    enum db_status status = uploads_size(call->db, call->caller.id, &used);
    if (status != DB_OK)
        return call_db(call, status);
    if (size <= most && (uint64_t)used <= most - size)
        return PROBLEM_NONE;
    return call_problem(call, PROBLEM_CLIENT_DISK_FULL,
                        "You store %lld bytes of uploads and experts' policies on this server, and "
                        "may store %llu. This would be more. Nothing of it was stored.",
                        (long long)used, (unsigned long long)most);
}

/* ---- showing */

static bool dataset_list_one(void *context, const struct dataset_row *row)
{
    struct page *page = context;
    json_t *json = dataset_json(row, call_is(page->call, ROLE_STEWARD));
    return page_add(page, project_add(page->call, json, row->owner), row->created_ms, row->id);
}

enum problem api_datasets_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    return page_end(&page, datasets_list(call->db, page_owner(&page), call_guest(call), &page.rows,
                                         dataset_list_one, &page));
}

static enum problem dataset_find_exposure(struct call *call, const struct dataset_row *row,
                                          struct exposure *out)
{
    struct ledger_account account;
    enum db_status status = ledger_find(call->db, row->account, &account);
    if (status == DB_OK)
        status = exposure_of(call->db, &account, out);
    return call_db(call, status);
}

enum problem api_datasets_get(struct call *call)
{
    struct dataset_row row;
    enum problem problem = dataset_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    struct description *description = NULL;
    problem = dataset_describe(call, row.id, &description);
    if (problem != PROBLEM_NONE)
        return problem;
    struct exposure exposure;
    bool exposed = call_is(call, ROLE_STEWARD) && row.account[0] != '\0';
    if (exposed && (problem = dataset_find_exposure(call, &row, &exposure)) != PROBLEM_NONE)
        return problem;
    json_t *json = dataset_json(&row, call_is(call, ROLE_STEWARD));
    dataset_json_describe(json, description);
    if (exposed)
        json_object_set_new(json, "exposure", exposure_json(&exposure));
    return call_reply_json(call, 200, project_add(call, json, row.owner));
}

/* ---- how long data are kept */

enum problem api_datasets_change(struct call *call)
{
    struct dataset_row row;
    enum problem problem = dataset_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    row.retention_days = 0;
    const struct field fields[] = {DATASET_RETENTION_FIELD(&row.retention_days)};
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields))
        return PROBLEM_VALIDATION;
    if (!json_object_get(call->body, "retention_days"))
        return call_invalid(call, "/retention_days", "is required; null sets no limit");
    enum db_status status = datasets_set_retention(call->db, row.id, row.retention_days);
    if (status != DB_OK)
        return call_db(call, db_owed(status));
    return call_reply_json(call, 200, project_add(call, dataset_json(&row, true), row.owner));
}

/* ---- ending */

enum problem api_datasets_seal(struct call *call)
{
    struct dataset_row row;
    enum problem problem = dataset_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    if (row.state == DATASET_OPEN && row.trajectories == 0) {
        return call_problem(call, PROBLEM_DATASET_EMPTY,
                            "Nothing was uploaded, and an empty dataset could not be used.");
    }
    enum dataset_verdict verdict = DATASET_UNKNOWN;
    enum db_status status = datasets_seal(call->db, row.id, call->now_ms, &verdict);
    if (status != DB_OK)
        return call_db(call, status);
    if (verdict != DATASET_OK)
        return dataset_refused(call, verdict, "The dataset is sealed already.");
    row.state = DATASET_SEALED;
    return call_reply_json(call, 200, project_add(call, dataset_json(&row, true), row.owner));
}

struct dataset_silencing {
    struct shelf *teachers;
    char dataset[ID_SIZE];
};

static void silence_teachers(void *what)
{
    const struct dataset_silencing *silencing = what;
    shelf_drop(silencing->teachers, silencing->dataset);
}

/* Before the deletion is on disk, a concurrent question could put the networks back. */
void dataset_silence(struct call *call, const char *dataset)
{
    struct dataset_silencing *silencing = arena_array(&call->arena, 1, sizeof *silencing);
    silencing->teachers = call->app->teachers;
    snprintf(silencing->dataset, sizeof silencing->dataset, "%s", dataset);
    call_defer(call, silence_teachers, silencing);
}

enum problem api_datasets_delete(struct call *call)
{
    struct dataset_row row;
    enum problem problem = dataset_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    bool used = false, receipt = false;
    problem = erasure_wants_receipt(call, &receipt);
    if (problem != PROBLEM_NONE)
        return problem;
    enum dataset_verdict verdict = DATASET_UNKNOWN;
    enum db_status status = jobs_use_dataset(call->db, row.id, &used);
    if (status == DB_OK && used) {
        return call_problem(call, PROBLEM_CONFLICT,
                            "A job that learns from this dataset, or is judged by it, is queued or "
                            "running: cancel it first.");
    }
    if (status == DB_OK)
        status = erasure_dataset(call->app, call->db, row.id, &verdict);
    if (status != DB_OK)
        return call_db(call, status);
    if (verdict != DATASET_OK)
        return unknown_dataset(call);
    dataset_silence(call, row.id);
    if (!receipt)
        return call_reply_empty(call, 204);
    return erasure_reply(call, row.id, NULL, NULL, call->now_ms);
}
