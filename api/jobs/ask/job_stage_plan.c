/* The plan of the first stage as JSON and back. A number is read back as the same double, so that
 * the plan that runs is the plan that was accounted. */
#include <string.h>

#include "api/jobs/ask/job_parts.h"
#include "api/jobs/ask/plan_members.h"
#include "api/json/json_text.h"

static const struct plan_member stable_members[] = {
    PLAN_MEMBER("count", plan.stage.stable.request.trajectories),
    PLAN_MEMBER("max_length", plan.stage.stable.request.max_length),
    PLAN_MEMBER("min_action_probability", plan.stage.stable.request.min_probability),
    PLAN_MEMBER("epsilon", plan.stage.stable.request.epsilon),
    PLAN_MEMBER("delta", plan.stage.stable.request.delta),
    PLAN_MEMBER("epsilon_prime", plan.stage.stable.epsilon_prime),
    PLAN_MEMBER("delta_prime", plan.stage.stable.delta_prime),
    PLAN_MEMBER("min_count", plan.stage.stable.min_count),
    PLAN_MEMBER("safe_count", plan.stage.stable.safe_count),
    PLAN_MEMBER("threshold", plan.stage.stable.threshold),
    PLAN_MEMBER("threshold_scale", plan.stage.stable.threshold_scale),
    PLAN_MEMBER("query_scale", plan.stage.stable.query_scale),
    PLAN_MEMBER("run_epsilon", plan.stage.stable.run_epsilon),
    PLAN_MEMBER("run_delta", plan.stage.stable.run_delta),
    PLAN_MEMBER("composed_epsilon", plan.stage.stable.composed_epsilon),
    PLAN_MEMBER("lattice_threshold", plan.stage.stable.lattice.threshold),
    PLAN_MEMBER("lattice_threshold_scale", plan.stage.stable.lattice.threshold_scale),
    PLAN_MEMBER("lattice_query_scale", plan.stage.stable.lattice.query_scale),
    PLAN_MEMBER("epsilon_share", request.stage.epsilon_share),
    PLAN_MEMBER("delta_share", request.stage.delta_share),
    {.name = NULL},
};

static const struct plan_member consensus_members[] = {
    PLAN_MEMBER("labels", plan.stage.consensus.labels),
    PLAN_MEMBER("rounds", request.stage.rounds),
    PLAN_MEMBER("max_length", request.stage.max_length),
    PLAN_MEMBER("explore", request.stage.explore),
    PLAN_MEMBER("sensitivity", plan.stage.consensus.sensitivity),
    PLAN_MEMBER("noise_multiplier", plan.stage.consensus.noise_multiplier),
    PLAN_MEMBER("noise", plan.stage.consensus.noise),
    PLAN_MEMBER("lattice_scale", plan.stage.consensus.lattice_scale),
    PLAN_MEMBER("epsilon_share", request.stage.epsilon_share),
    PLAN_MEMBER("delta_share", request.stage.delta_share),
    {.name = NULL},
};

static const struct plan_member skill_members[] = {
    PLAN_MEMBER("low", request.stage.skill.low),
    PLAN_MEMBER("high", request.stage.skill.high),
    PLAN_MEMBER("power", request.stage.skill.power),
    PLAN_MEMBER("episodes", request.stage.skill.episodes),
    {.name = NULL},
};

static json_t *stable_json(const struct job_plan *plan)
{
    const struct sparse_vector_plan *p = &plan->plan.stage.stable;
    uint32_t length = sparse_vector_unanimous_length(p, plan->request.action_count);
    json_t *json =
        json_pack("{s:s, s:s, s:I}", "source", stable_source_name(plan->request.stage.source),
                  "accounting", sparse_vector_accounting_name(p->request.accounting),
                  "unanimous_length", (json_int_t)length);
    plan_members_write(stable_members, plan, json);
    return json;
}

static json_t *consensus_json(const struct job_plan *plan)
{
    const struct stage_request *request = &plan->request.stage;
    json_t *json = json_pack("{s:o}", "grid", job_stage_grid_json(&request->grid));
    plan_members_write(consensus_members, plan, json);
    if (request->skill.power > 0) {
        json_t *skill = json_object();
        plan_members_write(skill_members, plan, skill);
        json_member_add(&json, "skill", skill);
    }
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
    case STAGE_NONE: break;
    }
    return json_object();
}

static bool parse_stable(const json_t *json, struct job_plan *out)
{
    struct stage_request *request = &out->request.stage;
    struct sparse_vector_plan *plan = &out->plan.stage.stable;
    const char *source = json_string_value(json_object_get(json, "source"));
    const char *accounting = json_string_value(json_object_get(json, "accounting"));
    if (!source || !accounting)
        return false;
    plan_members_read(stable_members, json, out);
    plan->request.experts = out->request.nominal_experts;
    plan->request.accounting = SPARSE_VECTOR_SHARP;
    if (strcmp(accounting, sparse_vector_accounting_name(SPARSE_VECTOR_PAPER)) == 0)
        plan->request.accounting = SPARSE_VECTOR_PAPER;
    request->kind = STAGE_STABLE;
    request->source = STABLE_ROLLOUTS;
    if (strcmp(source, stable_source_name(STABLE_LOGGED)) == 0)
        request->source = STABLE_LOGGED;
    request->accounting = plan->request.accounting;
    request->runs = plan->request.trajectories;
    request->max_length = plan->request.max_length;
    request->min_probability = plan->request.min_probability;
    return out->request.action_count >= 2 && !sparse_vector_problem(&plan->request) &&
           plan->lattice.threshold > 0 && plan->lattice.threshold_scale > 0 &&
           plan->lattice.query_scale > 0;
}

static bool parse_consensus(const json_t *json, struct job_plan *out)
{
    struct stage_request *request = &out->request.stage;
    struct consensus_plan *plan = &out->plan.stage.consensus;
    plan_members_read(consensus_members, json, out);
    plan_members_read(skill_members, json_object_get(json, "skill"), out);
    plan->action_count = out->request.action_count;
    request->kind = STAGE_CONSENSUS;
    request->labels = plan->labels;
    return job_stage_grid_parse(json_object_get(json, "grid"), &request->grid) &&
           plan->labels > 0 && plan->lattice_scale > 0 && plan->noise_multiplier > 0 &&
           request->max_length > 0 && request->rounds > 0;
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
