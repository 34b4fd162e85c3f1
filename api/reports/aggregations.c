/* Aggregations as a steward makes, shows and closes them. */
#include "api/reports/aggregations.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/call/fields.h"
#include "api/call/page.h"
#include "api/call/project.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger.h"

#define BUFFER_MAX       100000
#define WORK_MAX         20000000 /* what one update decodes: numbers, or those of projections */
#define SUBMISSIONS_MAX  1000
#define SETTING_MAX      1e6
#define EXPLORATION_MANY 0.5

/* ---- the scheme beside the row */

static void aggregation_scheme_write(const struct local_scheme *scheme,
                                     double out[AGGREGATION_SCHEME_NUMBERS])
{
    out[0] = (double)scheme->report_length;
    out[1] = scheme->epsilon;
    out[2] = scheme->unbiased;
    memcpy(out + 3, scheme->constant, sizeof scheme->constant);
}

static bool aggregation_scheme_read(const struct aggregation_row *row,
                                    const double numbers[AGGREGATION_SCHEME_NUMBERS],
                                    struct local_scheme *out)
{
    const struct actor_critic net = {row->state_dim, row->hidden, row->action_count};
    *out = (struct local_scheme){
        .mechanism = local_mechanism_find(row->mechanism),
        .parameters = {.dimension = (uint32_t)actor_critic_count(&net),
                       .epsilon = ledger_units_value(row->price_units),
                       .clip = row->clip,
                       .projection_clip = row->projection_clip},
        .report_length = (size_t)numbers[0],
        .epsilon = numbers[1],
        .unbiased = numbers[2] != 0,
    };
    memcpy(out->constant, numbers + 3, sizeof out->constant);
    return out->mechanism && out->report_length > 0 &&
           out->report_length <= (size_t)out->parameters.dimension + 1;
}

/* ---- as JSON */

static const char *const STALE[] = {"accept", "refuse", NULL};

const char *aggregation_state(const struct aggregation *a)
{
    if (a->row.open)
        return "open";
    return "closed";
}

static json_t *mechanism_json(const struct aggregation *a)
{
    const struct local_scheme *scheme = &a->scheme;
    json_t *json =
        json_pack("{s:s, s:o, s:s, s:o, s:I, s:b}", "name", scheme->mechanism->name, "clip",
                  json_number(a->row.clip), "norm", scheme->mechanism->norm, "epsilon_per_report",
                  json_number(ledger_units_value(a->row.price_units)), "report_length",
                  (json_int_t)scheme->report_length, "unbiased", (int)scheme->unbiased);
    if (scheme->mechanism == &local_projected_sign)
        json_object_set_new(json, "projection_clip", json_number(a->row.projection_clip));
    return json;
}

static json_t *aggregation_json(struct call *call, const struct aggregation *a)
{
    const struct aggregation_row *row = &a->row;
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:o, s:s, s:o, s:I}", "id", row->id,
                  "name", row->name, "state", aggregation_state(a), "environment",
                  json_text_or_null(row->environment), "state_dim", (json_int_t)row->state_dim,
                  "action_count", (json_int_t)row->action_count, "hidden", (json_int_t)row->hidden,
                  "dimension", (json_int_t)actor_critic_count(&a->net), "epsilon",
                  json_number(row->epsilon), "unit", "agent", "mechanism", mechanism_json(a),
                  "submissions_per_agent", (json_int_t)row->submissions_per_agent);
    json_t *rest = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:o}", "buffer",
        (json_int_t)row->buffer, "learning_rate", json_number(row->learning_rate), "discount",
        json_number(row->discount), "value_weight", json_number(row->value_weight),
        "entropy_weight", json_number(row->entropy_weight), "exploration",
        json_number(row->exploration), "exploration_decay", json_number(row->exploration_decay),
        "stale", STALE[row->refuses_stale], "version", (json_int_t)row->version, "reports",
        (json_int_t)row->reports, "waiting", (json_int_t)(row->reports - row->applied),
        "created_at", json_time(row->created_ms));
    json_object_update_new(json, rest);
    return project_add(call, json, row->owner);
}

/* ---- who may see what */

static bool open_row(struct aggregation *a, const double *numbers)
{
    a->net = (struct actor_critic){a->row.state_dim, a->row.hidden, a->row.action_count};
    return aggregation_scheme_read(&a->row, numbers, &a->scheme);
}

enum problem aggregation_of_call(struct call *call, struct aggregation *out)
{
    double numbers[AGGREGATION_SCHEME_NUMBERS];
    enum db_status status =
        aggregations_find(call->db, call_parameter(call, "id"), &out->row, numbers, sizeof numbers);
    status = project_shows(call, status, out->row.owner);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such aggregation.");
    if (status == DB_OK && !open_row(out, numbers))
        status = DB_FAILED;
    return call_db(call, status);
}

/* ---- creating */

struct aggregation_wish {
    const char *name, *environment, *mechanism, *project;
    int64_t state_dim, action_count, hidden, submissions, buffer, seed;
    double epsilon, clip, projection_clip, learning_rate;
    double discount, value_weight, entropy_weight, exploration, exploration_decay;
    int stale; /* an index of STALE */
    struct aggregation made;
};

static bool aggregation_read(struct call *call, struct aggregation_wish *wish)
{
    *wish = (struct aggregation_wish){.name = "",
                                      .mechanism = "privunit",
                                      .hidden = 16,
                                      .submissions = 1,
                                      .buffer = 100,
                                      .seed = -1,
                                      .clip = 1,
                                      .learning_rate = 0.5,
                                      .discount = 0.99,
                                      .value_weight = 0.5,
                                      .entropy_weight = 0.01,
                                      .exploration = EXPLORATION_MANY,
                                      .exploration_decay = 1.0 / 1800};
    const struct field fields[] = {
        field_optional(field_text("name", &wish->name, 0, 200)),
        field_optional(field_text("environment", &wish->environment, 1, 31)),
        field_optional(field_integer("state_dim", &wish->state_dim, 1, ENV_MAX_STATE_DIM)),
        field_optional(field_integer("action_count", &wish->action_count, 2, ENV_MAX_ACTIONS)),
        field_optional(field_integer("hidden", &wish->hidden, 1, ACTOR_CRITIC_MAX_HIDDEN)),
        field_optional(field_text("mechanism", &wish->mechanism, 1, AGGREGATION_WORD_SIZE - 1)),
        field_number("epsilon", &wish->epsilon, LOCAL_MIN_EPSILON,
                     LOCAL_MAX_EPSILON * SUBMISSIONS_MAX),
        field_optional(field_positive("clip", &wish->clip, SETTING_MAX)),
        field_optional(field_positive("projection_clip", &wish->projection_clip, SETTING_MAX)),
        field_optional(
            field_integer("submissions_per_agent", &wish->submissions, 1, SUBMISSIONS_MAX)),
        field_optional(field_integer("buffer", &wish->buffer, 1, BUFFER_MAX)),
        field_optional(field_positive("learning_rate", &wish->learning_rate, SETTING_MAX)),
        field_optional(field_positive("discount", &wish->discount, 1)),
        field_optional(field_number("value_weight", &wish->value_weight, 0, SETTING_MAX)),
        field_optional(field_number("entropy_weight", &wish->entropy_weight, 0, SETTING_MAX)),
        field_optional(field_number("exploration", &wish->exploration, 0, 1)),
        field_optional(field_number("exploration_decay", &wish->exploration_decay, 0, 1)),
        field_optional(field_choice("stale", &wish->stale, STALE)),
        field_optional(field_integer("seed", &wish->seed, 0, INT64_C(1) << 53)),
        PROJECT_FIELD(&wish->project),
    };
    return fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]);
}

static void aggregation_check_dimensions(struct call *call, struct aggregation_wish *wish)
{
    if (!wish->environment) {
        if (wish->state_dim == 0)
            call_invalid(call, "/state_dim", "is required when no environment is named");
        if (wish->action_count == 0)
            call_invalid(call, "/action_count", "is required when no environment is named");
        return;
    }
    if (wish->state_dim != 0)
        call_invalid(call, "/state_dim", "comes with the environment: leave it out");
    if (wish->action_count != 0)
        call_invalid(call, "/action_count", "comes with the environment: leave it out");
    const struct env *env = env_find(wish->environment);
    if (!env) {
        call_invalid(call, "/environment", "is not known: see GET /v1/environments");
        return;
    }
    wish->state_dim = env->state_dim;
    wish->action_count = env->action_count;
}

/* Shares epsilon among an agent's reports and prepares their scheme. */
static void aggregation_make_scheme(struct call *call, struct aggregation_wish *wish)
{
    struct aggregation *a = &wish->made;
    size_t dimension = actor_critic_count(&a->net);
    const struct local_mechanism *mechanism = local_mechanism_find(wish->mechanism);
    if (!mechanism) {
        call_invalid(call, "/mechanism",
                     "must be one of privunit, half_sphere, laplace, projected_random_sign");
        return;
    }
    int64_t units = 0;
    if (!ledger_units_down(wish->epsilon, &units)) {
        call_invalid(call, "/epsilon", "is out of range");
        return;
    }
    a->row.price_units = units / wish->submissions;
    const struct local_parameters parameters = {.dimension = (uint32_t)dimension,
                                                .epsilon = ledger_units_value(a->row.price_units),
                                                .clip = wish->clip,
                                                .projection_clip = wish->projection_clip};
    const char *problem = local_scheme_make(mechanism, &parameters, &a->scheme);
    if (problem) {
        call_invalid(call, "", "%s (epsilon is that of one report: %g)", problem,
                     parameters.epsilon);
        return;
    }
    size_t of_one = dimension;
    if (mechanism == &local_projected_sign) /* each bit has a row */
        of_one *= a->scheme.report_length;
    if (of_one > WORK_MAX / (size_t)wish->buffer)
        call_invalid(call, "/hidden",
                     "makes a network of %zu parameters and reports of %zu numbers, for which "
                     "buffer must be at most %zu",
                     dimension, a->scheme.report_length, WORK_MAX / of_one);
}

enum problem api_aggregations_prepare(struct call *call)
{
    struct aggregation_wish *wish = arena_array(&call->arena, 1, sizeof *wish);
    call->plan = wish;
    if (aggregation_read(call, wish))
        aggregation_check_dimensions(call, wish);
    if (call_error_count(call) == 0) {
        wish->made.net = (struct actor_critic){(uint32_t)wish->state_dim, (uint32_t)wish->hidden,
                                               (uint32_t)wish->action_count};
        aggregation_make_scheme(call, wish);
    }
    if (call_error_count(call) > 0)
        return PROBLEM_VALIDATION;
    return PROBLEM_NONE;
}

static void fill_row(struct call *call, struct aggregation_wish *wish)
{
    struct aggregation_row *row = &wish->made.row;
    id_new("agg_", row->id);
    snprintf(row->name, sizeof row->name, "%s", wish->name);
    if (wish->environment)
        snprintf(row->environment, sizeof row->environment, "%s", wish->environment);
    snprintf(row->mechanism, sizeof row->mechanism, "%s", wish->made.scheme.mechanism->name);
    row->state_dim = (uint32_t)wish->state_dim;
    row->action_count = (uint32_t)wish->action_count;
    row->hidden = (uint32_t)wish->hidden;
    row->epsilon = wish->epsilon;
    row->clip = wish->clip;
    row->projection_clip = wish->projection_clip;
    row->submissions_per_agent = wish->submissions;
    row->buffer = wish->buffer;
    row->learning_rate = wish->learning_rate;
    row->discount = wish->discount;
    row->value_weight = wish->value_weight;
    row->entropy_weight = wish->entropy_weight;
    row->exploration = wish->exploration;
    row->exploration_decay = wish->exploration_decay;
    row->refuses_stale = wish->stale == 1;
    row->open = true;
    row->version = 1;
    row->reports = row->applied = 0;
    row->created_ms = call->now_ms;
}

enum problem api_aggregations_create(struct call *call)
{
    struct aggregation_wish *wish = call->plan;
    struct aggregation *a = &wish->made;
    size_t count = actor_critic_count(&a->net);
    float *parameters = arena_array(&call->arena, count, sizeof *parameters);
    uint64_t seed = (uint64_t)wish->seed;
    if (wish->seed < 0)
        randombytes_buf(&seed, sizeof seed);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    actor_critic_initialize(&a->net, &rng, parameters);
    fill_row(call, wish);
    enum problem problem = project_of_new(call, wish->project, a->row.owner);
    if (problem != PROBLEM_NONE)
        return problem;
    double numbers[AGGREGATION_SCHEME_NUMBERS];
    aggregation_scheme_write(&a->scheme, numbers);
    enum db_status status = aggregations_insert(call->db, &a->row, numbers, sizeof numbers,
                                                parameters, count * sizeof *parameters);
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/aggregations/%s", a->row.id);
    return call_reply_json(call, 201, aggregation_json(call, a));
}

/* ---- showing and closing */

static bool aggregation_list_one(void *context, const struct aggregation_row *row)
{
    struct page *page = context;
    struct aggregation a = {0};
    double numbers[AGGREGATION_SCHEME_NUMBERS];
    page->fault =
        db_owed(aggregations_find(page->call->db, row->id, &a.row, numbers, sizeof numbers));
    if (page->fault == DB_OK && !open_row(&a, numbers))
        page->fault = DB_FAILED;
    if (page->fault != DB_OK)
        return false;
    return page_add(page, aggregation_json(page->call, &a), row->created_ms, row->id);
}

enum problem api_aggregations_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    return page_end(&page, aggregations_list(call->db, page_owner(&page), call_guest(call),
                                             &page.rows, aggregation_list_one, &page));
}

enum problem api_aggregations_get(struct call *call)
{
    struct aggregation a;
    enum problem problem = aggregation_of_call(call, &a);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(call, 200, aggregation_json(call, &a));
}

enum problem api_aggregations_close(struct call *call)
{
    struct aggregation a;
    enum problem problem = aggregation_of_call(call, &a);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = aggregations_close(call->db, a.row.id);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_AGGREGATION_CLOSED, "It was closed before.");
    a.row.open = false;
    if (status != DB_OK)
        return call_db(call, status);
    return call_reply_json(call, 200, aggregation_json(call, &a));
}
