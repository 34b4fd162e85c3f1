/* Reads the request for a new dataset, and makes it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/trajectory.h"
#include "api/call/fields.h"
#include "api/call/project.h"
#include "api/data/dataset_budget.h"
#include "api/data/datasets.h"
#include "api/data/description.h"
#include "api/policies/environment_find.h"
#include "storage/limit_changes.h"

#define STATE_DIM_MAX     DESCRIPTION_DIM_MAX
#define ACTIONS_MAX       DESCRIPTION_ACTIONS_MAX
#define EPISODE_STEPS_MAX 1000000
#define RECORD_SIZE_MAX   (8U << 20) /* of the longest trajectory that a dataset may declare */

struct dataset_wish {
    const char *name, *environment, *project;
    int64_t state_dim, action_count, max_episode_steps, nominal_experts, approvals, retention_days;
    double discount, min_action_probability;
    json_t *budget, *described;
    const struct description *description; /* NULL: not described, or not readable */
    int sensitivity;
    bool unique_name; /* refused where the project has a dataset of this name */
    struct dataset_budget account;
};

/* A dimension that a description has, too. */
static void dataset_agree(struct call *call, const char *pointer, int64_t *given,
                          uint32_t described, const char *what)
{
    if (*given == 0)
        *given = described;
    else if (*given != described)
        call_invalid(call, pointer, "must be %u, %s, or left out", described, what);
}

/* Checks a description against the world in which the data were made. */
static void dataset_check_world(struct call *call, const struct description *description,
                                const struct env *env)
{
    if (description->dim != env->state_dim)
        call_invalid(call, "/description/features",
                     "make %u coordinates of a state (a category is one), and %s has %u",
                     description->dim, env->name, env->state_dim);
    if (description->action_count != env->action_count)
        call_invalid(call, "/description/actions", "are %u, and %s has %u",
                     description->action_count, env->name, env->action_count);
}

/* Dimensions come from a world, from the description or from the caller. */
static void dataset_check_dimensions(struct call *call, struct dataset_wish *wish)
{
    if (wish->description && !wish->environment) {
        dataset_agree(call, "/state_dim", &wish->state_dim, wish->description->dim,
                      "the coordinates that the description's features make");
        dataset_agree(call, "/action_count", &wish->action_count, wish->description->action_count,
                      "the description's actions");
    }
    if (!wish->environment) {
        const int64_t given[] = {wish->state_dim, wish->action_count, wish->max_episode_steps};
        const char *const pointers[] = {"/state_dim", "/action_count", "/max_episode_steps"};
        for (size_t i = wish->described ? 2 : 0; i < 3; i++)
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
    const struct env *env = NULL;
    if (environment_find(call, "/environment", wish->environment, &env) != PROBLEM_NONE)
        return;
    if (wish->description)
        dataset_check_world(call, wish->description, env);
    wish->state_dim = env->state_dim;
    wish->action_count = env->action_count;
    if (wish->max_episode_steps == 0)
        wish->max_episode_steps = env->max_episode_steps;
    if (wish->discount < 0)
        wish->discount = 0.99;
}

static void dataset_check_sizes(struct call *call, struct dataset_wish *wish)
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
    /* Half of every expert's policy, or more, is the expert's own. */
    double actions = (double)wish->action_count;
    if (wish->min_action_probability == 0)
        wish->min_action_probability = fmin(0.02, 0.5 / actions);
    if (wish->min_action_probability * actions > 1)
        call_invalid(call, "/min_action_probability", "must be at most 1 / action_count");
}

static bool dataset_read_wish(struct call *call, struct dataset_wish *wish)
{
    *wish = (struct dataset_wish){.discount = -1};
    const struct field fields[] = {
        field_text("name", &wish->name, 1, 200),
        field_optional(field_bool("unique_name", &wish->unique_name)),
        field_optional(field_text("environment", &wish->environment, 1, 31)),
        field_optional(field_integer("state_dim", &wish->state_dim, 1, STATE_DIM_MAX)),
        field_optional(field_integer("action_count", &wish->action_count, 2, ACTIONS_MAX)),
        field_optional(
            field_integer("max_episode_steps", &wish->max_episode_steps, 1, EPISODE_STEPS_MAX)),
        field_optional(field_positive("discount", &wish->discount, 1)),
        field_optional(field_positive("min_action_probability", &wish->min_action_probability, 1)),
        field_optional(field_choice("sensitivity", &wish->sensitivity, dataset_sensitivities)),
        field_optional(field_integer("nominal_experts", &wish->nominal_experts, 1, 1000000000)),
        field_optional(field_object("budget", &wish->budget)),
        field_optional(field_integer("approvals", &wish->approvals, 1, LIMIT_APPROVALS_MAX)),
        DATASET_RETENTION_FIELD(&wish->retention_days),
        PROJECT_FIELD(&wish->project),
        field_optional(field_object("description", &wish->described)),
    };
    bool good = fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]);
    if (wish->described)
        wish->description =
            description_own(call, description_read(call, wish->described, "/description"));
    if (wish->description)
        description_table_check(call, wish->description, "/description/table");
    if (good) {
        dataset_check_dimensions(call, wish);
        dataset_check_sizes(call, wish);
        if (wish->budget)
            dataset_budget_read(call, wish->budget, &wish->account);
        else if (wish->sensitivity == 0)
            call_invalid(call, "/budget", "is required unless sensitivity is \"public\"");
        if (wish->approvals > 0 && !wish->budget)
            call_invalid(call, "/approvals", "has a meaning only with a budget");
    }
    return call_error_count(call) == 0;
}

static enum db_status dataset_insert(struct call *call, const struct dataset_row *row,
                                     const struct description *description)
{
    size_t size;
    char *text = NULL;
    if (description)
        text = json_text_write(description->json, false, &size);
    enum db_status status = datasets_insert(call->db, row, text);
    free(text);
    return status;
}

/* Refuses a name that another dataset of OWNER has, or had when something of its budget was spent:
 * the same people would have a second budget. */
static enum problem dataset_check_name(struct call *call, const char *owner, const char *name)
{
    char id[ID_SIZE];
    struct dataset_row other;
    enum db_status status = datasets_find_name(call->db, owner, name, id);
    if (status == DB_OK)
        status = db_owed(datasets_find(call->db, id, &other));
    if (status != DB_OK)
        return call_db(call, db_optional(status));
    if (other.state == DATASET_DELETED)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The project had a dataset of this name, %s, and something of its "
                            "budget was spent before it was deleted. The same people in another "
                            "dataset have another budget, and what is spent of both adds up for "
                            "them.",
                            id);
    call_problem_member(call, "dataset", json_string(id));
    return call_problem(call, PROBLEM_CONFLICT,
                        "The project already has a dataset of this name, %s.", id);
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
                              .retention_days = wish.retention_days,
                              .created_ms = call->now_ms};
    id_new("ds_", row.id);
    snprintf(row.name, sizeof row.name, "%s", wish.name);
    if (wish.environment)
        snprintf(row.environment, sizeof row.environment, "%s", wish.environment);
    if (wish.description)
        snprintf(row.expert_means, sizeof row.expert_means, "%s", wish.description->expert);
    enum problem problem = project_of_new(call, wish.project, row.owner);
    if (problem == PROBLEM_NONE && wish.unique_name)
        problem = dataset_check_name(call, row.owner, wish.name);
    if (problem == PROBLEM_NONE && wish.budget)
        problem = dataset_budget_open(call, &wish.account, row.id, &row);
    if (problem == PROBLEM_NONE && wish.approvals > 1)
        problem = call_db(call, limit_approvals_set(call->db, row.account, wish.approvals));
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = dataset_insert(call, &row, wish.description);
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/datasets/%s", row.id);
    json_t *json = dataset_json(&row, true);
    dataset_json_describe(json, wish.description);
    return call_reply_json(call, 201, project_add(call, json, row.owner));
}
