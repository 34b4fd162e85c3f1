/* Candidates as requests: what is public of a dataset, and the body of a job. */
#include "algos/data/features.h"
#include "algos/offline/offline.h"
#include "algos/release/gp_q_learning.h"
#include "api/call/app.h"
#include "api/data/datasets.h"
#include "api/jobs/ask/job_advice.h"
#include "api/jobs/ask/job_parts.h"
#include "api/json/json_text.h"
#include "api/worlds/world_program.h"

/* No expert was ever in a state of no category, or of two. */
static void facts_grid(struct call *call, const struct description *description,
                       struct advice_facts *out)
{
    uint32_t width[DESCRIPTION_DIM_MAX];
    bool categories = false;
    for (unsigned f = 0; f < description->feature_count; f++) {
        const struct description_feature *feature = &description->features[f];
        width[feature->coordinate] = description_width(feature);
        categories = categories || feature->category_count > 0;
    }
    if (!categories || description->dim > ENV_MAX_STATE_DIM)
        return;
    size_t numbers = (size_t)ADVICE_GRID_STATES * description->dim;
    struct consensus_grid *grid = arena_array(&call->arena, 1, sizeof *grid);
    double *states = arena_array(&call->arena, numbers, sizeof *states);
    if (advice_grid_list(out, width, states, grid))
        out->grid = grid;
}

/* Bounds from the dataset's description, where it has one. */
static enum problem facts_bounds(struct call *call, const char *dataset, struct advice_facts *out)
{
    struct description *description;
    enum problem problem = dataset_describe(call, dataset, &description);
    if (problem != PROBLEM_NONE || !description)
        return problem;
    const struct features *ranges = description->ranges;
    double *low = arena_array(&call->arena, 2 * (size_t)ranges->count, sizeof *low);
    double *high = low + ranges->count;
    for (uint32_t d = 0; d < ranges->count; d++) {
        low[d] = ranges->range[d].low;
        high[d] = ranges->range[d].high;
    }
    out->low = low;
    out->high = high;
    facts_grid(call, description, out);
    return PROBLEM_NONE;
}

enum problem job_facts_of_dataset(struct call *call, const struct dataset_row *row,
                                  struct advice_facts *out)
{
    const struct worlds *worlds = call->app->settings.worlds;
    const struct env *world = NULL;
    if (row->environment[0] != '\0')
        world = worlds_find(worlds, row->environment);
    if (world && worlds_program(world))
        world = NULL;
    int64_t experts = row->experts;
    if (row->nominal_experts > 0)
        experts = row->nominal_experts;
    *out = (struct advice_facts){.experts = (uint32_t)experts,
                                 .state_dim = row->state_dim,
                                 .action_count = row->action_count,
                                 .max_episode_steps = row->max_episode_steps,
                                 .discount = row->discount,
                                 .min_action_probability = row->min_action_probability,
                                 .world = world};
    if (experts == 0) {
        return call_problem(call, PROBLEM_DATASET_EMPTY,
                            "The dataset holds no trajectory and declares no nominal_experts.");
    }
    if (experts == 1) {
        return call_invalid(call, "/dataset",
                            "has one expert: what experts have in common cannot be learned of one "
                            "alone, and everything else of it has to stay hidden");
    }
    if (row->action_count < 2)
        return call_invalid(call, "/dataset", "has one action, so there is nothing to choose");
    return facts_bounds(call, row->id, out);
}

/* ---- the body */

static json_t *candidate_consensus_json(const struct advice_ranked *ranked)
{
    const struct stage_request *stage = &ranked->request.stage;
    json_t *consensus = json_object();
    if (stage->grid.dims > 0) {
        json_object_set_new(consensus, "grid", job_stage_grid_json(&stage->grid));
        return consensus;
    }
    json_object_set_new(consensus, "labels", json_integer(stage->labels));
    if (stage->skill.power > 0) {
        json_object_set_new(consensus, "skill",
                            json_pack("{s:o, s:o, s:o, s:i}", "low", json_number(stage->skill.low),
                                      "high", json_number(stage->skill.high), "power",
                                      json_number(stage->skill.power), "episodes",
                                      (int)stage->skill.episodes));
    }
    return consensus;
}

static json_t *candidate_numbers_json(const struct parameter_value *value)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < value->count; i++)
        json_list_add(&list, json_number(value->number[i]));
    return list;
}

static json_t *candidate_shards(const struct advice_ranked *ranked)
{
    const struct parameter_value *values = ranked->request.parameters.value;
    return json_pack("{s:s, s:i, s:{s:[i], s:i, s:i}}", "algorithm",
                     ranked->candidate.algorithm->name, "shards", (int)ranked->candidate.size,
                     "parameters", "hidden", (int)values[OFFLINE_HIDDEN].number[0], "batch_size",
                     (int)values[OFFLINE_BATCH_SIZE].number[0], "steps",
                     (int)values[OFFLINE_STEPS].number[0]);
}

static json_t *candidate_parameters(const struct advice_ranked *ranked)
{
    const struct parameter_value *values = ranked->request.parameters.value;
    if (ranked->candidate.method == ADVICE_RELEASE)
        return json_pack("{s:o, s:o, s:s, s:i}", "low", candidate_numbers_json(&values[GP_Q_LOW]),
                         "high", candidate_numbers_json(&values[GP_Q_HIGH]), "outside", "clamp",
                         "shards", (int)ranked->candidate.size);
    if (ranked->candidate.method != ADVICE_DPSGD && ranked->candidate.method != ADVICE_LINEAR)
        return NULL;
    return json_pack("{s:o, s:i}", "hidden", candidate_numbers_json(&values[OFFLINE_HIDDEN]),
                     "transitions_per_expert", (int)values[OFFLINE_PER_EXPERT].number[0]);
}

static json_t *candidate_private(const struct advice_ranked *ranked)
{
    const struct algorithm_request *request = &ranked->request;
    json_t *body =
        json_pack("{s:s, s:s, s:{s:o, s:o}}", "algorithm", ranked->candidate.algorithm->name,
                  "mechanism", algorithm_mechanism_name(request->mechanism), "privacy", "epsilon",
                  json_number(request->epsilon), "delta", json_number(request->delta));
    if (request->mechanism == MECHANISM_CONSENSUS)
        json_object_set_new(json_object_get(body, "privacy"), "consensus",
                            candidate_consensus_json(ranked));
    json_t *parameters = candidate_parameters(ranked);
    if (parameters)
        json_object_set_new(body, "parameters", parameters);
    return body;
}

void job_candidate_scale(json_t *body, const struct advice_facts *facts)
{
    json_t *center = json_array(), *scale = json_array();
    for (uint32_t d = 0; d < facts->state_dim; d++) {
        json_list_add(&center, json_number(0.5 * (facts->low[d] + facts->high[d])));
        json_list_add(&scale,
                      json_number(FEATURES_INPUT_SCALE * 2 / (facts->high[d] - facts->low[d])));
    }
    json_t *parameters = json_object_get(body, "parameters");
    if (!parameters) {
        parameters = json_object();
        json_object_set_new(body, "parameters", parameters);
    }
    json_object_set_new(parameters, "input_center", center);
    json_object_set_new(parameters, "input_scale", scale);
}

json_t *job_candidate_body(const struct advice_ranked *ranked, const char *dataset)
{
    json_t *body;
    if (ranked->candidate.method == ADVICE_SHARDS)
        body = candidate_shards(ranked);
    else
        body = candidate_private(ranked);
    if (dataset[0] != '\0')
        json_object_set_new(body, "dataset", json_string(dataset));
    return body;
}
