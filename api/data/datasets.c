/* Datasets as a steward makes, shows, seals and deletes them. */
#include "api/data/datasets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/data/trajectory.h"
#include "api/call/app.h"
#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/call/page.h"
#include "api/json/json_text.h"
#include "api/worlds/worlds.h"
#include "memory/shelf.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger.h"
#include "storage/policies.h"

#define STATE_DIM_MAX     1024
#define ACTIONS_MAX       1024
#define EPISODE_STEPS_MAX 1000000
#define RECORD_SIZE_MAX   (8U << 20) /* of the longest trajectory that a dataset may declare */
#define EPSILON_MAX       1e6

static const char *const sensitivities[] = {"private", "public", NULL};

/* ---- as JSON */

const char dataset_uncovered_note[] =
    "A job with mechanism \"none\" was accepted on these private data: their budget does not cover "
    "what such jobs, and teachers over their policies, reveal.";

json_t *dataset_covered_json(const struct dataset_row *dataset)
{
    if (!dataset || dataset->is_public)
        return json_null();
    return json_boolean(!dataset->uncovered);
}

static json_t *dataset_json(const struct dataset_row *row, bool with_counts)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:s, s:n, s:o, s:o}", "id", row->id, "name",
        row->name, "state", dataset_state_name(row->state), "environment",
        json_text_or_null(row->environment), "state_dim", (json_int_t)row->state_dim,
        "action_count", (json_int_t)row->action_count, "max_episode_steps",
        (json_int_t)row->max_episode_steps, "discount", json_number(row->discount),
        "min_action_probability", json_number(row->min_action_probability), "sensitivity",
        sensitivities[row->is_public], "nominal_experts", "account",
        json_text_or_null(row->account), "created_at", json_time(row->created_ms));
    const char *uncovered = NULL;
    if (row->uncovered)
        uncovered = dataset_uncovered_note;
    json_object_set_new(json, "covered", dataset_covered_json(row));
    json_object_set_new(json, "uncovered", json_text_or_null(uncovered));
    if (row->nominal_experts > 0)
        json_object_set_new(json, "nominal_experts", json_integer(row->nominal_experts));
    if (!with_counts)
        return json;
    json_object_set_new(json, "experts", json_integer(row->experts));
    json_object_set_new(json, "trajectories", json_integer(row->trajectories));
    json_object_set_new(json, "transitions", json_integer(row->transitions));
    return json;
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

static enum problem dataset_find(struct call *call, const char *id, struct dataset_row *out)
{
    enum db_status status = datasets_find(call->db, id, out);
    if (status == DB_NONE || (status == DB_OK && out->state == DATASET_DELETED))
        return unknown_dataset(call);
    return call_db(call, status);
}

enum problem dataset_of_owner(struct call *call, const char *id, struct dataset_row *out)
{
    enum problem problem = dataset_find(call, id, out);
    if (problem == PROBLEM_NONE && strcmp(out->owner, call->caller.id) != 0)
        return unknown_dataset(call);
    return problem;
}

enum problem dataset_of_call(struct call *call, struct dataset_row *out)
{
    const char *id = call_parameter(call, "id");
    if (call_is(call, ROLE_STEWARD))
        return dataset_of_owner(call, id, out);
    return dataset_find(call, id, out);
}

/* ---- creating */

struct dataset_wish {
    const char *name, *environment;
    int64_t state_dim, action_count, max_episode_steps, nominal_experts;
    double discount, min_action_probability;
    json_t *budget;
    int sensitivity;
    double epsilon, delta;
};

/* Dimensions come from a world or from the caller, never from both. */
static void dataset_check_dimensions(struct call *call, struct dataset_wish *wish)
{
    if (!wish->environment) {
        const int64_t given[] = {wish->state_dim, wish->action_count, wish->max_episode_steps};
        const char *const pointers[] = {"/state_dim", "/action_count", "/max_episode_steps"};
        for (size_t i = 0; i < 3; i++)
            if (given[i] == 0)
                call_invalid(call, pointers[i], "is required when no environment is named");
        if (wish->discount < 0)
            call_invalid(call, "/discount", "is required when no environment is named");
        return;
    }
    if (wish->state_dim != 0)
        call_invalid(call, "/state_dim", "comes with the environment: leave it out");
    if (wish->action_count != 0)
        call_invalid(call, "/action_count", "comes with the environment: leave it out");
    const struct env *env = worlds_find(call->app->settings.worlds, wish->environment);
    if (!env) {
        call_invalid(call, "/environment", "is not known: see GET /v1/environments");
        return;
    }
    wish->state_dim = env->state_dim;
    wish->action_count = env->action_count;
    if (wish->max_episode_steps == 0)
        wish->max_episode_steps = env->max_episode_steps;
    if (wish->discount < 0)
        wish->discount = 0.99;
}

static void dataset_check_sizes(struct call *call, const struct dataset_wish *wish)
{
    if (wish->state_dim == 0 || wish->max_episode_steps == 0 || wish->action_count == 0)
        return;
    size_t size =
        trajectory_record_size((uint32_t)wish->max_episode_steps, (uint32_t)wish->state_dim);
    if (size == 0 || size > RECORD_SIZE_MAX) {
        call_invalid(call, "/max_episode_steps",
                     "times state_dim is too large: the longest trajectory would need %zu bytes of "
                     "at most %u",
                     size, RECORD_SIZE_MAX);
    }
    if (wish->min_action_probability * (double)wish->action_count > 1)
        call_invalid(call, "/min_action_probability", "must be at most 1 / action_count");
}

static void check_budget(struct call *call, struct dataset_wish *wish)
{
    if (!wish->budget) {
        if (wish->sensitivity == 0)
            call_invalid(call, "/budget", "is required unless sensitivity is \"public\"");
        return;
    }
    const struct field fields[] = {
        field_positive("epsilon", &wish->epsilon, EPSILON_MAX),
        field_positive("delta", &wish->delta, 1),
    };
    if (!fields_read(call, wish->budget, "/budget", fields, 2))
        return;
    int64_t units = 0, delta_units = 0;
    if (!ledger_units_down(wish->epsilon, &units) || units < 1)
        call_invalid(call, "/budget/epsilon", "is below 1e-9, the least that is counted");
    if (wish->delta >= 1 || !ledger_delta_down(wish->delta, &delta_units) || delta_units < 1)
        call_invalid(call, "/budget/delta", "must be below 1 and at least 1e-18");
}

static bool dataset_read_wish(struct call *call, struct dataset_wish *wish)
{
    *wish = (struct dataset_wish){.discount = -1, .min_action_probability = 0.02};
    const struct field fields[] = {
        field_text("name", &wish->name, 1, 200),
        field_optional(field_text("environment", &wish->environment, 1, 31)),
        field_optional(field_integer("state_dim", &wish->state_dim, 1, STATE_DIM_MAX)),
        field_optional(field_integer("action_count", &wish->action_count, 2, ACTIONS_MAX)),
        field_optional(
            field_integer("max_episode_steps", &wish->max_episode_steps, 1, EPISODE_STEPS_MAX)),
        field_optional(field_positive("discount", &wish->discount, 1)),
        field_optional(field_positive("min_action_probability", &wish->min_action_probability, 1)),
        field_optional(field_choice("sensitivity", &wish->sensitivity, sensitivities)),
        field_optional(field_integer("nominal_experts", &wish->nominal_experts, 1, 1000000000)),
        field_optional(field_object("budget", &wish->budget)),
    };
    if (fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0])) {
        dataset_check_dimensions(call, wish);
        dataset_check_sizes(call, wish);
        check_budget(call, wish);
    }
    return call_error_count(call) == 0;
}

/* Opens the account of a new dataset that has a budget. */
static enum problem dataset_open_account(struct call *call, struct dataset_row *row,
                                         const struct dataset_wish *wish)
{
    struct ledger_opening opening = {.kind = LEDGER_DATASET,
                                     .resource = row->id,
                                     .owner = row->owner,
                                     .unit = "expert",
                                     .epsilon = wish->epsilon,
                                     .delta = wish->delta,
                                     .event = "{\"type\":\"NoOpDpEvent\"}",
                                     .now_ms = call->now_ms};
    struct ledger_account account;
    enum db_status status = DB_FAILED;
    if (ledger_units_down(wish->epsilon, &opening.limit_units) &&
        ledger_delta_down(wish->delta, &opening.limit_delta))
        status = ledger_open_account(call->db, &opening, &account);
    if (status != DB_OK)
        return call_db(call, status);
    memcpy(row->account, account.id, ID_SIZE);
    return PROBLEM_NONE;
}

enum problem api_datasets_create(struct call *call)
{
    struct dataset_wish wish;
    if (!dataset_read_wish(call, &wish))
        return PROBLEM_VALIDATION;
    struct dataset_row row = {.state_dim = (uint32_t)wish.state_dim,
                              .action_count = (uint32_t)wish.action_count,
                              .max_episode_steps = (uint32_t)wish.max_episode_steps,
                              .discount = wish.discount,
                              .min_action_probability = wish.min_action_probability,
                              .nominal_experts = wish.nominal_experts,
                              .is_public = wish.sensitivity == 1,
                              .state = DATASET_OPEN,
                              .created_ms = call->now_ms};
    id_new("ds_", row.id);
    memcpy(row.owner, call->caller.id, ID_SIZE);
    snprintf(row.name, sizeof row.name, "%s", wish.name);
    if (wish.environment)
        snprintf(row.environment, sizeof row.environment, "%s", wish.environment);
    enum problem problem = PROBLEM_NONE;
    if (wish.budget)
        problem = dataset_open_account(call, &row, &wish);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = datasets_insert(call->db, &row);
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/datasets/%s", row.id);
    return call_reply_json(call, 201, dataset_json(&row, true));
}

/* ---- showing */

static bool dataset_list_one(void *context, const struct dataset_row *row)
{
    struct page *page = context;
    return page_add(page, dataset_json(row, call_is(page->call, ROLE_STEWARD)), row->id);
}

enum problem api_datasets_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    return page_end(&page, datasets_list(call->db, page_owner(&page), page.after, page.limit,
                                         dataset_list_one, &page));
}

enum problem api_datasets_get(struct call *call)
{
    struct dataset_row row;
    enum problem problem = dataset_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(call, 200, dataset_json(&row, call_is(call, ROLE_STEWARD)));
}

enum problem api_datasets_budget(struct call *call)
{
    struct dataset_row row;
    enum problem problem = dataset_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    if (row.account[0] == '\0') {
        return call_problem(call, PROBLEM_NOT_FOUND,
                            "This dataset is public and was made without a budget.");
    }
    struct ledger_account account;
    enum db_status status = ledger_find(call->db, row.account, &account);
    if (status != DB_OK)
        return call_db(call, status);
    return call_reply_json(call, 200, budget_json(&account));
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
    enum db_status status = datasets_seal(call->db, row.id, &verdict);
    if (status != DB_OK)
        return call_db(call, status);
    if (verdict != DATASET_OK)
        return dataset_refused(call, verdict, "The dataset is sealed already.");
    row.state = DATASET_SEALED;
    return call_reply_json(call, 200, dataset_json(&row, true));
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

/* Wipes the teachers' secret networks of DATASET once the deletion is on disk. Before that, a
 * concurrent question could put the networks back on the shelf. */
static void silence_at_the_end(struct call *call, const char *dataset)
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
    bool used = false;
    enum dataset_verdict verdict = DATASET_UNKNOWN;
    enum db_status status = jobs_use_dataset(call->db, row.id, &used);
    if (status == DB_OK && used) {
        return call_problem(call, PROBLEM_CONFLICT,
                            "A job on this dataset is queued or running: cancel it first.");
    }
    if (status == DB_OK)
        status = datasets_delete(call->db, row.id, &verdict);
    if (status == DB_OK && verdict == DATASET_OK)
        status = policies_erase_secrets(call->db, row.id);
    if (status != DB_OK)
        return call_db(call, status);
    if (verdict != DATASET_OK)
        return unknown_dataset(call);
    silence_at_the_end(call, row.id);
    return call_reply_empty(call, 204);
}
