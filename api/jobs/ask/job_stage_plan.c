/* The plan of the first stage as JSON and back. Numbers are written so that they read back as the
 * same double: what was accounted is what runs. */
#include <string.h>

#include "api/jobs/ask/job_parts.h"
#include "api/json/json_text.h"

static json_t *stable_json(const struct job_plan *plan)
{
    const struct stage_request *request = &plan->request.stage;
    const struct sparse_vector_plan *p = &plan->plan.stage.stable;
    uint32_t actions = plan->request.action_count;
    return json_pack(
        "{s:s, s:I, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:I, s:I, s:I, s:I, s:o, s:o}",
        "source", stable_source_name(request->source), "count", (json_int_t)p->request.trajectories,
        "max_length", (json_int_t)p->request.max_length, "min_action_probability",
        json_number(p->request.min_probability), "accounting",
        sparse_vector_accounting_name(p->request.accounting), "epsilon",
        json_number(p->request.epsilon), "delta", json_number(p->request.delta), "epsilon_prime",
        json_number(p->epsilon_prime), "delta_prime", json_number(p->delta_prime), "min_count",
        json_number(p->min_count), "safe_count", json_number(p->safe_count), "threshold",
        json_number(p->threshold), "threshold_scale", json_number(p->threshold_scale),
        "query_scale", json_number(p->query_scale), "run_epsilon", json_number(p->run_epsilon),
        "run_delta", json_number(p->run_delta), "composed_epsilon",
        json_number(p->composed_epsilon), "lattice_threshold", (json_int_t)p->lattice.threshold,
        "lattice_threshold_scale", (json_int_t)p->lattice.threshold_scale, "lattice_query_scale",
        (json_int_t)p->lattice.query_scale, "unanimous_length",
        (json_int_t)sparse_vector_unanimous_length(p, actions), "epsilon_share",
        json_number(request->epsilon_share), "delta_share", json_number(request->delta_share));
}

static json_t *consensus_json(const struct job_plan *plan)
{
    const struct stage_request *request = &plan->request.stage;
    const struct consensus_plan *p = &plan->plan.stage.consensus;
    json_t *json = json_pack(
        "{s:I, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "labels", (json_int_t)p->labels,
        "grid", job_stage_grid_json(&request->grid), "rounds", (json_int_t)request->rounds,
        "max_length", (json_int_t)request->max_length, "explore", json_number(request->explore),
        "sensitivity", json_number(p->sensitivity), "noise_multiplier",
        json_number(p->noise_multiplier), "noise", json_number(p->noise), "lattice_scale",
        (json_int_t)p->lattice_scale, "epsilon_share", json_number(request->epsilon_share),
        "delta_share", json_number(request->delta_share));
    if (request->skill.power > 0)
        json_member_add(&json, "skill", job_skill_json(&request->skill));
    return json;
}

json_t *job_stage_json(const struct job_plan *plan)
{
    switch (plan->request.stage.kind) {
    case STAGE_STABLE:
        return json_pack("{s:o, s:o}", "plain_share", json_number(plan->request.plain_share),
                         "stable", stable_json(plan));
    case STAGE_CONSENSUS:
        return json_pack("{s:o, s:o}", "plain_share", json_number(plan->request.plain_share),
                         "consensus", consensus_json(plan));
    case STAGE_NONE:
        break;
    }
    return json_object();
}

static double stage_number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static int64_t stage_integer(const json_t *object, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(object, name));
}

static bool parse_stable(const json_t *json, struct job_plan *out)
{
    struct stage_request *request = &out->request.stage;
    const char *source = json_string_value(json_object_get(json, "source"));
    const char *accounting = json_string_value(json_object_get(json, "accounting"));
    if (!source || !accounting)
        return false;
    *request =
        (struct stage_request){.kind = STAGE_STABLE,
                               .source = STABLE_ROLLOUTS,
                               .accounting = SPARSE_VECTOR_SHARP,
                               .runs = (uint32_t)stage_integer(json, "count"),
                               .max_length = (uint32_t)stage_integer(json, "max_length"),
                               .min_probability = stage_number(json, "min_action_probability"),
                               .epsilon_share = stage_number(json, "epsilon_share"),
                               .delta_share = stage_number(json, "delta_share")};
    if (strcmp(source, stable_source_name(STABLE_LOGGED)) == 0)
        request->source = STABLE_LOGGED;
    if (strcmp(accounting, sparse_vector_accounting_name(SPARSE_VECTOR_PAPER)) == 0)
        request->accounting = SPARSE_VECTOR_PAPER;
    struct sparse_vector_plan plan = {
        .request = {.experts = out->request.nominal_experts,
                    .epsilon = stage_number(json, "epsilon"),
                    .delta = stage_number(json, "delta"),
                    .trajectories = request->runs,
                    .max_length = request->max_length,
                    .min_probability = request->min_probability,
                    .accounting = request->accounting},
        .epsilon_prime = stage_number(json, "epsilon_prime"),
        .delta_prime = stage_number(json, "delta_prime"),
        .min_count = stage_number(json, "min_count"),
        .safe_count = stage_number(json, "safe_count"),
        .threshold = stage_number(json, "threshold"),
        .threshold_scale = stage_number(json, "threshold_scale"),
        .query_scale = stage_number(json, "query_scale"),
        .run_epsilon = stage_number(json, "run_epsilon"),
        .run_delta = stage_number(json, "run_delta"),
        .composed_epsilon = stage_number(json, "composed_epsilon"),
        .lattice = {.threshold = stage_integer(json, "lattice_threshold"),
                    .threshold_scale = (uint64_t)stage_integer(json, "lattice_threshold_scale"),
                    .query_scale = (uint64_t)stage_integer(json, "lattice_query_scale")}};
    out->plan.stage.stable = plan;
    return !sparse_vector_problem(&plan.request) && plan.lattice.threshold > 0 &&
           plan.lattice.threshold_scale > 0 && plan.lattice.query_scale > 0;
}

static bool parse_consensus(const json_t *json, struct job_plan *out)
{
    out->request.stage =
        (struct stage_request){.kind = STAGE_CONSENSUS,
                               .labels = (uint32_t)stage_integer(json, "labels"),
                               .max_length = (uint32_t)stage_integer(json, "max_length"),
                               .explore = stage_number(json, "explore"),
                               .rounds = (uint32_t)stage_integer(json, "rounds"),
                               .epsilon_share = stage_number(json, "epsilon_share"),
                               .delta_share = stage_number(json, "delta_share"),
                               .skill = job_skill_parse(json_object_get(json, "skill"))};
    const struct consensus_plan plan = {.labels = out->request.stage.labels,
                                        .action_count = out->request.action_count,
                                        .sensitivity = stage_number(json, "sensitivity"),
                                        .noise_multiplier = stage_number(json, "noise_multiplier"),
                                        .noise = stage_number(json, "noise"),
                                        .lattice_scale =
                                            (uint64_t)stage_integer(json, "lattice_scale")};
    out->plan.stage.consensus = plan;
    return job_stage_grid_parse(json_object_get(json, "grid"), &out->request.stage.grid) &&
           plan.labels > 0 && plan.lattice_scale > 0 && plan.noise_multiplier > 0 &&
           out->request.stage.max_length > 0 && out->request.stage.rounds > 0;
}

bool job_stage_parse(const json_t *json, struct job_plan *out)
{
    const json_t *stable = json_object_get(json, "stable");
    const json_t *consensus = json_object_get(json, "consensus");
    bool good = true;
    if (out->request.mechanism == MECHANISM_SELECTIVE)
        good = parse_stable(stable, out);
    else if (out->request.mechanism == MECHANISM_CONSENSUS)
        good = parse_consensus(consensus, out);
    else
        return true;
    out->plan.privacy.before = stage_price(&out->request.stage, &out->plan.stage);
    return good && !mechanism_problem(&out->plan.privacy.before.mechanism);
}
