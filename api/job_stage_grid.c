/* Grids of states: bounds first, then the product, so that nobody asks for more labels than there
 * can be. */
#include "api/job_stage_grid.h"

#include <math.h>
#include <stdio.h>

#include "api/fields.h"
#include "api/json_text.h"

#define GRID_MOST 1e9 /* size of a number of a state */
#define AT        "/privacy/consensus/grid"

static void fault_at(struct call *call, const char *name, uint32_t i, const char *detail)
{
    char pointer[64];
    snprintf(pointer, sizeof pointer, AT "/%s/%u", name, i);
    call_invalid(call, pointer, "%s", detail);
}

static void read_axes(struct call *call, json_t *const axes[3], struct consensus_grid *out)
{
    double points[ENV_MAX_STATE_DIM];
    long dims = fields_numbers(call, axes[0], AT "/low", out->low, ENV_MAX_STATE_DIM, false);
    if (dims < 1 || fields_numbers(call, axes[1], AT "/high", out->high, (size_t)dims, true) < 0 ||
        fields_numbers(call, axes[2], AT "/points", points, (size_t)dims, true) < 0) {
        return;
    }
    out->dims = (uint32_t)dims;
    for (uint32_t d = 0; d < out->dims; d++) {
        if (fabs(out->low[d]) > GRID_MOST) {
            fault_at(call, "low", d, "must be from -1e9 to 1e9");
        } else if (!(out->high[d] >= out->low[d] && out->high[d] <= GRID_MOST)) {
            fault_at(call, "high", d, "must be at least the number of low, and at most 1e9");
        }
        if (points[d] < 1 || points[d] > CONSENSUS_GRID_MAX_POINTS ||
            points[d] != floor(points[d])) {
            fault_at(call, "points", d, "must be a whole number from 1 to 1000");
        } else {
            out->points[d] = (uint32_t)points[d];
        }
    }
}

void job_stage_grid_read(struct call *call, const json_t *consensus, struct stage_request *out)
{
    static const char *const played[] = {"labels", "max_length", "explore", "rounds", "skill"};
    json_t *low = NULL, *high = NULL, *points = NULL;
    const struct field fields[] = {
        field_array("low", &low, 1, ENV_MAX_STATE_DIM),
        field_array("high", &high, 1, ENV_MAX_STATE_DIM),
        field_array("points", &points, 1, ENV_MAX_STATE_DIM),
    };
    for (size_t i = 0; i < sizeof played / sizeof played[0]; i++) {
        if (json_object_get(consensus, played[i]) != NULL) {
            char pointer[64];
            snprintf(pointer, sizeof pointer, "/privacy/consensus/%s", played[i]);
            call_invalid(call, pointer,
                         "has no meaning beside a grid, whose every state gets one label");
        }
    }
    if (!fields_read(call, json_object_get(consensus, "grid"), AT, fields, 3)) {
        return;
    }
    read_axes(call, (json_t *const[3]){low, high, points}, &out->grid);
    out->labels = consensus_grid_size(&out->grid);
    out->max_length = 1;
    out->explore = 0;
    out->rounds = 1;
    if (out->labels == 0 && call_error_count(call) == 0) {
        call_invalid(call, AT "/points", "must give at most %u states", CONSENSUS_MAX_LABELS);
    }
}

enum problem job_stage_grid_fit(struct call *call, const struct dataset_row *dataset,
                                const struct job_plan *plan)
{
    if (plan->algorithm->reads_transitions) {
        return call_invalid(call, AT,
                            "gives states and actions alone, of which behaviour_cloning learns; %s "
                            "reads what followed, and needs labels that are played",
                            plan->algorithm->name);
    }
    if (plan->request.stage.grid.dims != dataset->state_dim) {
        return call_invalid(call, AT,
                            "must have one number for each of a state's %u in low, high and points",
                            dataset->state_dim);
    }
    return dataset->action_count < 2 || dataset->action_count > ENV_MAX_ACTIONS
               ? call_invalid(call, "/mechanism", "needs 2 to %u actions", ENV_MAX_ACTIONS)
               : PROBLEM_NONE;
}

json_t *job_stage_grid_json(const struct consensus_grid *grid)
{
    if (grid->dims == 0) {
        return json_null();
    }
    json_t *low = json_array(), *high = json_array(), *points = json_array();
    for (uint32_t d = 0; d < grid->dims; d++) {
        json_array_append_new(low, json_number(grid->low[d]));
        json_array_append_new(high, json_number(grid->high[d]));
        json_array_append_new(points, json_integer((json_int_t)grid->points[d]));
    }
    return json_pack("{s:o, s:o, s:o}", "low", low, "high", high, "points", points);
}

bool job_stage_grid_parse(const json_t *json, struct consensus_grid *out)
{
    const json_t *low = json_object_get(json, "low"), *high = json_object_get(json, "high");
    const json_t *points = json_object_get(json, "points");
    *out = (struct consensus_grid){0};
    if (json == NULL || json_is_null(json)) {
        return true;
    }
    if (json_array_size(low) > ENV_MAX_STATE_DIM) {
        return false;
    }
    out->dims = (uint32_t)json_array_size(low);
    for (uint32_t d = 0; d < out->dims; d++) {
        out->low[d] = json_number_value(json_array_get(low, d));
        out->high[d] = json_number_value(json_array_get(high, d));
        out->points[d] = (uint32_t)json_integer_value(json_array_get(points, d));
    }
    return consensus_grid_size(out) > 0;
}
