/* Grids of states: bounds first, then the product, so that nobody asks for more labels than there
 * can be. */
#include "api/jobs/ask/job_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/data/description.h"
#include "api/json/json_text.h"
#include "memory/memory.h"

#define GRID_MOST 1e9  /* size of a number of a state */
#define EVEN      1e-6 /* of a step: how far evenly spaced values may be off */
#define AT        "/privacy/consensus/grid"

static void fault_at(struct call *call, const char *name, uint32_t i, const char *detail)
{
    char pointer[96];
    snprintf(pointer, sizeof pointer, AT "/%s/%u", name, i);
    call_invalid(call, pointer, "%s", detail);
}

/* Whether the points of coordinate D, as they are asked (consensus_grid_state), are different
 * numbers. */
static bool points_differ(const struct consensus_grid *grid, uint32_t d)
{
    float before = (float)grid->low[d];
    for (uint32_t i = 1; i < grid->points[d]; i++) {
        double part = (double)i / (grid->points[d] - 1);
        float point = (float)(grid->low[d] + part * (grid->high[d] - grid->low[d]));
        if (!(point > before))
            return false;
        before = point;
    }
    return true;
}

static void read_axes(struct call *call, json_t *const axes[3], struct consensus_grid *out)
{
    double points[ENV_MAX_STATE_DIM];
    long dims = fields_numbers(call, axes[0], AT "/low", out->low, ENV_MAX_STATE_DIM, false);
    if (dims < 1 || fields_numbers(call, axes[1], AT "/high", out->high, (size_t)dims, true) < 0 ||
        fields_numbers(call, axes[2], AT "/points", points, (size_t)dims, true) < 0)
        return;
    out->dims = (uint32_t)dims;
    for (uint32_t d = 0; d < out->dims; d++) {
        if (fabs(out->low[d]) > GRID_MOST)
            fault_at(call, "low", d, "must be from -1e9 to 1e9");
        else if (!(out->high[d] >= out->low[d] && out->high[d] <= GRID_MOST))
            fault_at(call, "high", d, "must be at least the number of low, and at most 1e9");
        if (points[d] < 1 || points[d] > CONSENSUS_GRID_MAX_POINTS || points[d] != floor(points[d]))
            fault_at(call, "points", d, "must be a whole number from 1 to 1000");
        else
            out->points[d] = (uint32_t)points[d];
        if (call_error_count(call) == 0 && !points_differ(out, d))
            fault_at(call, "points", d,
                     "must be fewer: there are not as many numbers from low to high, and a state "
                     "that is asked twice is paid for twice");
    }
}

/* Reads one row of the list of states into OUT[dims]. */
static void read_state(struct call *call, const json_t *row, size_t number, uint32_t dims,
                       double *out)
{
    char name[32], pointer[96];
    snprintf(name, sizeof name, "states/%zu", number);
    snprintf(pointer, sizeof pointer, AT "/%s", name);
    if (fields_numbers(call, row, pointer, out, dims, true) < 0)
        return;
    for (uint32_t d = 0; d < dims; d++)
        if (!(fabs(out[d]) <= GRID_MOST))
            fault_at(call, name, d, "must be from -1e9 to 1e9");
}

/* Reads the list of states. The first state sets the dimension of all. */
static void read_states(struct call *call, const json_t *states, struct consensus_grid *out)
{
    size_t count = json_array_size(states), dims = json_array_size(json_array_get(states, 0));
    if (dims < 1 || dims > ENV_MAX_STATE_DIM) {
        call_invalid(call, AT "/states/0", "must be an array of 1 to %d numbers",
                     ENV_MAX_STATE_DIM);
        return;
    }
    out->dims = (uint32_t)dims;
    out->count = (uint32_t)count;
    out->states = arena_array(&call->arena, count * dims, sizeof *out->states);
    for (size_t i = 0; i < count; i++)
        read_state(call, json_array_get(states, i), i, out->dims, out->states + i * dims);
}

static void grid_refuse(struct call *call, const json_t *object, const char *pointer,
                        const char *const *names, size_t count, const char *why)
{
    for (size_t i = 0; i < count; i++) {
        if (field_sent(object, names[i])) {
            char at[64];
            snprintf(at, sizeof at, "%s/%s", pointer, names[i]);
            call_invalid(call, at, "%s", why);
        }
    }
}

static void read_grid(struct call *call, const json_t *object, struct consensus_grid *out)
{
    static const char *const axes[] = {"low", "high", "points"};
    json_t *axis[3] = {NULL}, *states = NULL;
    const struct field grid[] = {
        field_array(axes[0], &axis[0], 1, ENV_MAX_STATE_DIM),
        field_array(axes[1], &axis[1], 1, ENV_MAX_STATE_DIM),
        field_array(axes[2], &axis[2], 1, ENV_MAX_STATE_DIM),
    };
    const struct field list[] = {
        field_array("states", &states, 1, CONSENSUS_GRID_MAX_STATES),
        field_optional(field_any(axes[0], &axis[0])),
        field_optional(field_any(axes[1], &axis[1])),
        field_optional(field_any(axes[2], &axis[2])),
    };
    if (!field_sent(object, "states")) {
        if (fields_read(call, object, AT, grid, sizeof grid / sizeof grid[0]))
            read_axes(call, axis, out);
        return;
    }
    grid_refuse(call, object, AT, axes, 3,
                "has no meaning together with states, which list every state");
    if (fields_read(call, object, AT, list, sizeof list / sizeof list[0]))
        read_states(call, states, out);
}

void job_stage_grid_read(struct call *call, const json_t *consensus, struct stage_request *out)
{
    static const char *const played[] = {"labels", "max_length", "explore", "rounds", "skill"};
    grid_refuse(call, consensus, "/privacy/consensus", played, sizeof played / sizeof played[0],
                "has no meaning beside a grid, whose every state gets one label");
    read_grid(call, json_object_get(consensus, "grid"), &out->grid);
    out->labels = consensus_grid_size(&out->grid);
    out->max_length = 1;
    out->explore = 0;
    out->rounds = 1;
    if (out->labels == 0 && call_error_count(call) == 0)
        call_invalid(call, AT "/points", "must give at most %u states", CONSENSUS_MAX_LABELS);
}

enum problem job_stage_grid_fit(struct call *call, const struct dataset_row *dataset,
                                const struct job_plan *plan)
{
    const struct consensus_grid *grid = &plan->request.stage.grid;
    if (plan->algorithm->target != TARGET_ACTIONS) {
        return call_invalid(
            call, AT,
            "gives states and actions only, which are enough for behaviour_cloning; %s also reads "
            "rewards and next states, so its labels must come from play",
            plan->algorithm->name);
    }
    if (grid->dims != dataset->state_dim) {
        const char *where = "low, high and points";
        if (grid->count > 0)
            where = "each of states";
        return call_invalid(call, AT, "must have one number for each of a state's %u in %s",
                            dataset->state_dim, where);
    }
    if (dataset->action_count < 2 || dataset->action_count > ENV_MAX_ACTIONS)
        return call_invalid(call, "/mechanism", "needs 2 to %u actions", ENV_MAX_ACTIONS);
    return PROBLEM_NONE;
}

/* ---- in the units of the description */

/* The different values of a coordinate. */
struct axis {
    uint32_t points;
    double low, high;
    bool even; /* evenly spaced */
};

static struct axis axis_of(struct call *call, const struct consensus_grid *grid, uint32_t d)
{
    if (grid->count == 0)
        return (struct axis){grid->points[d], grid->low[d], grid->high[d], true};
    double *values = arena_array(&call->arena, grid->count, sizeof *values);
    uint32_t points = consensus_list_values(grid, d, values);
    struct axis axis = {points, values[0], values[points - 1], true};
    double step = (axis.high - axis.low) / fmax(points - 1.0, 1);
    for (uint32_t i = 1; i < points; i++)
        axis.even = axis.even && fabs(values[i] - values[i - 1] - step) < EVEN * step;
    return axis;
}

static const char *axis_text(struct call *call, const struct description_feature *feature,
                             const struct axis *axis)
{
    double low = axis->low, high = axis->high;
    double step = axis->points > 1 ? (high - low) / (axis->points - 1) : 0;
    const char *space = feature->unit[0] != '\0' ? " " : "";
    if (axis->points == 1)
        low = 0.5 * (low + high); /* where consensus_grid_state() puts it */
    if (feature->logarithmic) {
        low = pow(10, low);
        high = pow(10, high);
    }
    if (axis->points == 1)
        return arena_format(&call->arena, "%s: at %.4g%s%s alone", feature->name, low, space,
                            feature->unit);
    if (!axis->even)
        return arena_format(&call->arena, "%s: %u values, from %.4g to %.4g%s%s", feature->name,
                            axis->points, low, high, space, feature->unit);
    if (feature->logarithmic)
        return arena_format(&call->arena, "%s: by factors of %.3g, from %.4g to %.4g%s%s",
                            feature->name, pow(10, step), low, high, space, feature->unit);
    return arena_format(&call->arena, "%s: every %.4g%s%s, from %.4g to %.4g", feature->name, step,
                        space, feature->unit, low, high);
}

json_t *job_stage_grid_spacing(struct call *call, const struct consensus_grid *grid,
                               const struct description *description)
{
    if (!description || grid->dims != description->dim)
        return json_null();
    json_t *list = json_array();
    for (unsigned f = 0; f < description->feature_count; f++) {
        const struct description_feature *feature = &description->features[f];
        if (feature->category_count > 0)
            continue;
        const struct axis axis = axis_of(call, grid, feature->coordinate);
        json_list_add(&list, json_string(axis_text(call, feature, &axis)));
    }
    return list;
}

static void list_warnings(const struct consensus_grid *grid, const struct description *description,
                          json_t *warnings)
{
    for (uint32_t i = 0; i < grid->count; i++) {
        float state[ENV_MAX_STATE_DIM];
        char pointer[96];
        consensus_grid_state(grid, i, state);
        snprintf(pointer, sizeof pointer, AT "/states/%u", i);
        for (unsigned f = 0; f < description->feature_count; f++)
            (void)dataset_feature_warns(description, f, state, pointer, warnings);
    }
}

/* All states of a regular grid lie between its first and its last. */
static void axes_warnings(const struct consensus_grid *grid, const struct description *description,
                          json_t *warnings)
{
    float first[ENV_MAX_STATE_DIM], last[ENV_MAX_STATE_DIM];
    consensus_grid_state(grid, 0, first);
    consensus_grid_state(grid, consensus_grid_size(grid) - 1, last);
    for (unsigned f = 0; f < description->feature_count; f++) {
        const struct description_feature *feature = &description->features[f];
        bool warned = dataset_feature_warns(description, f, first, AT "/low", warnings);
        bool one =
            warned && (feature->category_count > 0 || grid->points[feature->coordinate] == 1);
        if (!one)
            (void)dataset_feature_warns(description, f, last, AT "/high", warnings);
    }
}

json_t *job_stage_grid_warnings(const struct consensus_grid *grid,
                                const struct description *description)
{
    json_t *warnings = json_array();
    if (!description || grid->dims != description->dim)
        return warnings;
    if (grid->count > 0)
        list_warnings(grid, description, warnings);
    else
        axes_warnings(grid, description, warnings);
    return warnings;
}

/* ---- as it is stored */

static json_t *numbers_json(const double *values, uint32_t count)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, json_number(values[i]));
    return array;
}

static json_t *list_json(const struct consensus_grid *grid)
{
    json_t *states = json_array();
    for (uint32_t i = 0; i < grid->count; i++) {
        const double *state = grid->states + (size_t)i * grid->dims;
        json_array_append_new(states, numbers_json(state, grid->dims));
    }
    return json_pack("{s:o}", "states", states);
}

json_t *job_stage_grid_json(const struct consensus_grid *grid)
{
    if (grid->dims == 0)
        return json_null();
    if (grid->count > 0)
        return list_json(grid);
    json_t *points = json_array();
    for (uint32_t d = 0; d < grid->dims; d++)
        json_array_append_new(points, json_integer(grid->points[d]));
    return json_pack("{s:o, s:o, s:o}", "low", numbers_json(grid->low, grid->dims), "high",
                     numbers_json(grid->high, grid->dims), "points", points);
}

static bool parse_list(const json_t *states, struct consensus_grid *out)
{
    size_t count = json_array_size(states), dims = json_array_size(json_array_get(states, 0));
    if (dims < 1 || dims > ENV_MAX_STATE_DIM || count > CONSENSUS_GRID_MAX_STATES)
        return false;
    out->dims = (uint32_t)dims;
    out->count = (uint32_t)count;
    out->states = memory_new(count * dims, sizeof *out->states);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(states, i);
        if (json_array_size(row) != dims)
            return false;
        for (size_t d = 0; d < dims; d++)
            out->states[i * dims + d] = json_number_value(json_array_get(row, d));
    }
    return consensus_grid_size(out) > 0;
}

bool job_stage_grid_parse(const json_t *json, struct consensus_grid *out)
{
    const json_t *low = json_object_get(json, "low"), *high = json_object_get(json, "high");
    const json_t *points = json_object_get(json, "points");
    const json_t *states = json_object_get(json, "states");
    *out = (struct consensus_grid){0};
    if (!json || json_is_null(json))
        return true;
    if (json_array_size(states) > 0)
        return parse_list(states, out);
    if (json_array_size(low) > ENV_MAX_STATE_DIM)
        return false;
    out->dims = (uint32_t)json_array_size(low);
    for (uint32_t d = 0; d < out->dims; d++) {
        out->low[d] = json_number_value(json_array_get(low, d));
        out->high[d] = json_number_value(json_array_get(high, d));
        out->points[d] = (uint32_t)json_integer_value(json_array_get(points, d));
    }
    return consensus_grid_size(out) > 0;
}

void job_stage_grid_clear(struct consensus_grid *grid)
{
    free(grid->states);
    *grid = (struct consensus_grid){0};
}
