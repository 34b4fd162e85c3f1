/* The first stage of a job between JSON and structs. Numbers are written so that they read back as
 * the same double: what was accounted is what runs. */
#include "api/job_stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/offline/expert_clones.h"
#include "api/app.h"
#include "api/fields.h"
#include "api/job_skill.h"
#include "api/job_stage_grid.h"
#include "api/json_text.h"
#include "api/world_program.h"

#define JOB_EPSILON_MAX 1000
#define STAGE_STEPS_MAX 10000
#define STAGE_RUNS      25
#define STAGE_LABELS    2000
#define STAGE_ROUNDS    1

static const char *const sources[] = {"rollouts", "logged", NULL};
static const char *const accountings[] = {"sharp", "paper", NULL};

/* ---- what is asked for */

static void read_stable(struct call *call, const json_t *object, struct stage_request *out)
{
    int source = STABLE_ROLLOUTS, accounting = SPARSE_VECTOR_SHARP;
    int64_t count = STAGE_RUNS, max_length = 0;
    const char *understood = NULL;
    const struct field fields[] = {
        field_optional(field_choice("source", &source, sources)),
        field_optional(field_integer("count", &count, 1, SPARSE_VECTOR_MAX_TRAJECTORIES)),
        field_optional(field_integer("max_length", &max_length, 1, STAGE_STEPS_MAX)),
        field_optional(field_choice("accounting", &accounting, accountings)),
        field_optional(field_text("i_understand", &understood, 1, 31)),
    };
    if (object == NULL ||
        fields_read(call, object, "/privacy/stable", fields, sizeof fields / sizeof fields[0])) {
        out->source = (enum stable_source)source;
        out->accounting = (enum sparse_vector_accounting)accounting;
        out->runs = (uint32_t)count;
        out->max_length = (uint32_t)max_length;
    }
    bool policies_only = understood != NULL && strcmp(understood, "policies_only") == 0;
    if (source == STABLE_LOGGED && !policies_only) {
        call_invalid(call, "/privacy/stable/i_understand",
                     "must be \"policies_only\" with source \"logged\": beginnings of uploaded "
                     "trajectories are released as they are, which protects the experts' policies "
                     "and not a trajectory that somebody knows");
    } else if (source != STABLE_LOGGED && understood != NULL) {
        call_invalid(call, "/privacy/stable/i_understand",
                     "has no meaning with source \"rollouts\"");
    }
}

static void read_selective(struct call *call, const json_t *privacy, struct algorithm_request *out)
{
    struct stage_request *stage = &out->stage;
    double share = NAN, delta_share = NAN;
    json_t *stable = NULL;
    *stage = (struct stage_request){.kind = STAGE_STABLE};
    out->plain_share = 0.2;
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, JOB_EPSILON_MAX),
        field_positive("delta", &out->delta, 1),
        field_optional(field_positive("stable_share", &share, 1)),
        field_optional(field_positive("stable_delta_share", &delta_share, 1)),
        field_optional(field_number("plain_share", &out->plain_share, 0, 1)),
        field_optional(field_object("stable", &stable)),
    };
    (void)fields_read(call, privacy, "/privacy", fields, sizeof fields / sizeof fields[0]);
    bool alone = out->plain_share >= 1; /* no noisy step would need a share */
    stage->epsilon_share = isnan(share) ? (alone ? 1 : 0.75) : share;
    stage->delta_share = isnan(delta_share) ? (alone ? 1 : 0.9) : delta_share;
    if (out->plain_share <= 0) {
        call_invalid(call, "/privacy/plain_share",
                     "must be above 0: without a step on what is stable there is nothing to pay "
                     "for it; mechanism \"dpsgd\" has all steps noisy");
    }
    read_stable(call, stable, stage);
}

static void read_consensus(struct call *call, const json_t *privacy, struct algorithm_request *out)
{
    int64_t labels = STAGE_LABELS, max_length = 0, rounds = STAGE_ROUNDS;
    json_t *consensus = NULL, *skill = NULL, *grid = NULL;
    struct stage_request stage = {
        .kind = STAGE_CONSENSUS, .epsilon_share = 1, .delta_share = 1, .explore = 0.1};
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, JOB_EPSILON_MAX),
        field_positive("delta", &out->delta, 0.5),
        field_optional(field_object("consensus", &consensus)),
    };
    const struct field inner[] = {
        field_optional(field_integer("labels", &labels, 1, CONSENSUS_MAX_LABELS)),
        field_optional(field_integer("max_length", &max_length, 1, STAGE_STEPS_MAX)),
        field_optional(field_number("explore", &stage.explore, 0, 0.9)),
        field_optional(field_integer("rounds", &rounds, 1, 1000)),
        field_optional(field_object("skill", &skill)),
        field_optional(field_object("grid", &grid)),
    };
    (void)fields_read(call, privacy, "/privacy", fields, 3);
    if (consensus != NULL) {
        (void)fields_read(call, consensus, "/privacy/consensus", inner,
                          sizeof inner / sizeof inner[0]);
    }
    if (skill != NULL) {
        job_skill_read(call, skill, &stage.skill);
    }
    stage.labels = (uint32_t)labels;
    stage.rounds = (uint32_t)rounds;
    stage.max_length = (uint32_t)max_length;
    if (grid != NULL) {
        job_stage_grid_read(call, consensus, &stage);
    }
    out->plain_share = 1;
    out->stage = stage;
}

void job_stage_read(struct call *call, const json_t *privacy, struct algorithm_request *out)
{
    if (out->mechanism == MECHANISM_SELECTIVE) {
        read_selective(call, privacy, out);
    } else if (out->mechanism == MECHANISM_CONSENSUS) {
        read_consensus(call, privacy, out);
    } else {
        /* Reports are of pure epsilon: a delta buys nothing. */
        bool pure = out->mechanism == MECHANISM_LOCAL_REPORTS;
        const struct field fields[] = {
            field_positive("epsilon", &out->epsilon, JOB_EPSILON_MAX),
            field_positive("delta", &out->delta, 1),
        };
        (void)fields_read(call, privacy, "/privacy", fields, pure ? 1 : 2);
    }
}

/* ---- the dataset */

static bool without_policy(void *context, const struct expert_row *row)
{
    bool *found = context;
    *found = !row->has_policy;
    return !*found;
}

/* Whoever's trajectories are released must be known by its own policy, not by a guess at it. */
static enum problem fit_logged(struct call *call, const struct dataset_row *dataset,
                               const struct stage_request *stage)
{
    if (stage->max_length < dataset->max_episode_steps) {
        return call_invalid(call, "/privacy/stable/max_length",
                            "must be at least %u: the dataset allows trajectories of that length",
                            dataset->max_episode_steps);
    }
    bool found = false;
    enum db_status status = datasets_experts(call->db, dataset->id, 0, (unsigned)dataset->experts,
                                             without_policy, &found);
    if (status != DB_OK && status != DB_NONE) {
        return call_db(call, status);
    }
    if (found) {
        return call_invalid(call, "/privacy/stable/source",
                            "must be \"rollouts\": with \"logged\" every expert needs an uploaded "
                            "policy, because a clone is not what its trajectories were drawn from");
    }
    return PROBLEM_NONE;
}

static enum problem fit_world(struct call *call, const struct dataset_row *dataset,
                              const struct job_plan *plan)
{
    bool stable = plan->request.stage.kind == STAGE_STABLE;
    const struct env *world = worlds_find(call->app->settings.worlds, dataset->environment);
    if (dataset->environment[0] == '\0' || world == NULL) {
        return call_invalid(call, stable ? "/privacy/stable/source" : "/mechanism",
                            "needs a dataset of a world that this server can play: \"environment\" "
                            "when the dataset was made");
    }
    /* What is played there is not yet what may be seen: steps of single experts that nothing will
     * release, and labels that a crash would draw anew. A program would see them. */
    if (worlds_program(call->app->settings.worlds, world) != NULL) {
        return call_invalid(call, stable ? "/privacy/stable/source" : "/mechanism",
                            "needs a dataset of a world that is built in: a program would see what "
                            "experts do before it is released");
    }
    if (world->action_count < 2) {
        return call_invalid(call, "/mechanism", "needs a world with two actions at least");
    }
    return PROBLEM_NONE;
}

/* A job whose networks do not fit into memory would find out when it has to be paid for. */
static enum problem fit_networks(struct call *call, const struct dataset_row *dataset)
{
    int64_t count = 0, bytes = 0;
    enum db_status status = datasets_policies_size(call->db, dataset->id, &count, &bytes);
    if (status != DB_OK) {
        return call_db(call, status == DB_NONE ? DB_FAILED : status);
    }
    const struct clone_settings clones = clone_defaults();
    int64_t cloned = dataset->experts > count ? dataset->experts - count : 0;
    int64_t all, each = (int64_t)clone_bytes(&clones, dataset->state_dim, dataset->action_count);
    if (__builtin_mul_overflow(cloned, each, &all) || __builtin_add_overflow(all, bytes, &all) ||
        !job_networks_fit(count, all)) {
        return call_invalid(call, "/dataset",
                            "has experts whose policies, uploaded or cloned, take over %zu MiB",
                            JOB_NETWORKS_MAX_BYTES >> 20);
    }
    return PROBLEM_NONE;
}

enum problem job_stage_fit(struct call *call, const struct dataset_row *dataset,
                           struct job_plan *plan)
{
    struct stage_request *stage = &plan->request.stage;
    if (stage->kind == STAGE_NONE) {
        return PROBLEM_NONE;
    }
    bool stable = stage->kind == STAGE_STABLE;
    bool played = !stable || stage->source == STABLE_ROLLOUTS;
    if (plan->request.nominal_experts < 2) {
        return call_invalid(call, "/dataset",
                            "has one expert: what experts have in common cannot be shown of one "
                            "alone");
    }
    if (stage->max_length == 0) {
        stage->max_length = dataset->max_episode_steps < STAGE_STEPS_MAX
                                ? dataset->max_episode_steps
                                : STAGE_STEPS_MAX;
    }
    stage->min_probability = dataset->min_action_probability;
    if (stable && !(stage->min_probability > 0 && stage->min_probability <= 0.5 &&
                    stage->min_probability * dataset->action_count <= 1)) {
        return call_invalid(call, "/dataset",
                            "has a min_action_probability of %g: stable prefixes need one above 0 "
                            "and at most 1 / action_count",
                            stage->min_probability);
    }
    enum problem problem = fit_networks(call, dataset);
    if (problem != PROBLEM_NONE) {
        return problem;
    }
    if (stage->grid.dims > 0) {
        return job_stage_grid_fit(call, dataset, plan);
    }
    return played ? fit_world(call, dataset, plan) : fit_logged(call, dataset, stage);
}

/* ---- the plan as JSON */

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
        json_number(p->request.min_probability), "accounting", accountings[p->request.accounting],
        "epsilon", json_number(p->request.epsilon), "delta", json_number(p->request.delta),
        "epsilon_prime", json_number(p->epsilon_prime), "delta_prime", json_number(p->delta_prime),
        "min_count", json_number(p->min_count), "safe_count", json_number(p->safe_count),
        "threshold", json_number(p->threshold), "threshold_scale", json_number(p->threshold_scale),
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
    return json_pack("{s:I, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o*}", "labels",
                     (json_int_t)p->labels, "grid", job_stage_grid_json(&request->grid), "rounds",
                     (json_int_t)request->rounds, "max_length", (json_int_t)request->max_length,
                     "explore", json_number(request->explore), "sensitivity",
                     json_number(p->sensitivity), "noise_multiplier",
                     json_number(p->noise_multiplier), "noise", json_number(p->noise),
                     "lattice_scale", (json_int_t)p->lattice_scale, "epsilon_share",
                     json_number(request->epsilon_share), "delta_share",
                     json_number(request->delta_share), "skill", job_skill_json(&request->skill));
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

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static int64_t integer_of(const json_t *object, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(object, name));
}

static bool parse_stable(const json_t *json, struct job_plan *out)
{
    struct stage_request *request = &out->request.stage;
    const char *source = json_string_value(json_object_get(json, "source"));
    const char *accounting = json_string_value(json_object_get(json, "accounting"));
    if (source == NULL || accounting == NULL) {
        return false;
    }
    *request = (struct stage_request){
        .kind = STAGE_STABLE,
        .source = strcmp(source, sources[STABLE_LOGGED]) == 0 ? STABLE_LOGGED : STABLE_ROLLOUTS,
        .accounting = strcmp(accounting, "paper") == 0 ? SPARSE_VECTOR_PAPER : SPARSE_VECTOR_SHARP,
        .runs = (uint32_t)integer_of(json, "count"),
        .max_length = (uint32_t)integer_of(json, "max_length"),
        .min_probability = number_of(json, "min_action_probability"),
        .epsilon_share = number_of(json, "epsilon_share"),
        .delta_share = number_of(json, "delta_share")};
    struct sparse_vector_plan plan = {
        .request = {.experts = out->request.nominal_experts,
                    .epsilon = number_of(json, "epsilon"),
                    .delta = number_of(json, "delta"),
                    .trajectories = request->runs,
                    .max_length = request->max_length,
                    .min_probability = request->min_probability,
                    .accounting = request->accounting},
        .epsilon_prime = number_of(json, "epsilon_prime"),
        .delta_prime = number_of(json, "delta_prime"),
        .min_count = number_of(json, "min_count"),
        .safe_count = number_of(json, "safe_count"),
        .threshold = number_of(json, "threshold"),
        .threshold_scale = number_of(json, "threshold_scale"),
        .query_scale = number_of(json, "query_scale"),
        .run_epsilon = number_of(json, "run_epsilon"),
        .run_delta = number_of(json, "run_delta"),
        .composed_epsilon = number_of(json, "composed_epsilon"),
        .lattice = {.threshold = integer_of(json, "lattice_threshold"),
                    .threshold_scale = (uint64_t)integer_of(json, "lattice_threshold_scale"),
                    .query_scale = (uint64_t)integer_of(json, "lattice_query_scale")}};
    out->plan.stage.stable = plan;
    return sparse_vector_problem(&plan.request) == NULL && plan.lattice.threshold > 0 &&
           plan.lattice.threshold_scale > 0 && plan.lattice.query_scale > 0;
}

static bool parse_consensus(const json_t *json, struct job_plan *out)
{
    out->request.stage =
        (struct stage_request){.kind = STAGE_CONSENSUS,
                               .labels = (uint32_t)integer_of(json, "labels"),
                               .max_length = (uint32_t)integer_of(json, "max_length"),
                               .explore = number_of(json, "explore"),
                               .rounds = (uint32_t)integer_of(json, "rounds"),
                               .epsilon_share = number_of(json, "epsilon_share"),
                               .delta_share = number_of(json, "delta_share"),
                               .skill = job_skill_parse(json_object_get(json, "skill"))};
    const struct consensus_plan plan = {.labels = out->request.stage.labels,
                                        .action_count = out->request.action_count,
                                        .sensitivity = number_of(json, "sensitivity"),
                                        .noise_multiplier = number_of(json, "noise_multiplier"),
                                        .noise = number_of(json, "noise"),
                                        .lattice_scale =
                                            (uint64_t)integer_of(json, "lattice_scale")};
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
    if (out->request.mechanism == MECHANISM_SELECTIVE) {
        good = parse_stable(stable, out);
    } else if (out->request.mechanism == MECHANISM_CONSENSUS) {
        good = parse_consensus(consensus, out);
    } else {
        return true;
    }
    out->plan.privacy.before = stage_price(&out->request.stage, &out->plan.stage);
    return good && mechanism_problem(&out->plan.privacy.before.mechanism) == NULL;
}
