/* The first stage in a job's request: its members, and its conditions on the dataset. */
#include "api/jobs/ask/job_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/offline/expert_clones.h"
#include "api/call/app.h"
#include "api/call/fields.h"
#include "api/worlds/world_program.h"

#define STAGE_STEPS_MAX 10000
#define STAGE_RUNS      25
#define STAGE_LABELS    2000
#define STAGE_ROUNDS    1
#define SKILL_POWER     8
#define SKILL_EPISODES  16
#define SKILL_RETURN    1e15 /* largest of either sign */

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
    if (!object ||
        fields_read(call, object, "/privacy/stable", fields, sizeof fields / sizeof fields[0])) {
        out->source = (enum stable_source)source;
        out->accounting = (enum sparse_vector_accounting)accounting;
        out->runs = (uint32_t)count;
        out->max_length = (uint32_t)max_length;
    }
    bool policies_only = understood && strcmp(understood, "policies_only") == 0;
    if (source == STABLE_LOGGED && !policies_only) {
        call_invalid(call, "/privacy/stable/i_understand",
                     "must be \"policies_only\" with source \"logged\": beginnings of uploaded "
                     "trajectories are released unchanged; this protects the experts' policies, "
                     "but not a trajectory that somebody already knows");
    } else if (source != STABLE_LOGGED && understood) {
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
    /* Steps on prefixes alone narrow what is learned: in CartPole cql earned 902 with 0.02 and 404
     * with 0.1 (docs/results/offline-settings.md). */
    out->plain_share = 0.02;
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, JOB_EPSILON_MAX),
        field_positive("delta", &out->delta, 1),
        field_optional(field_positive("stable_share", &share, 1)),
        field_optional(field_positive("stable_delta_share", &delta_share, 1)),
        field_optional(field_number("plain_share", &out->plain_share, 0, 1)),
        field_optional(field_object("stable", &stable)),
        field_optional(field_bool("force", &out->force)),
    };
    (void)fields_read(call, privacy, "/privacy", fields, sizeof fields / sizeof fields[0]);
    bool alone = out->plain_share >= 1; /* no noisy step would need a share */
    stage->epsilon_share = 0.75;
    stage->delta_share = 0.9;
    if (alone)
        stage->epsilon_share = stage->delta_share = 1;
    if (!isnan(share))
        stage->epsilon_share = share;
    if (!isnan(delta_share))
        stage->delta_share = delta_share;
    if (out->plain_share <= 0) {
        call_invalid(call, "/privacy/plain_share",
                     "must be above 0: without a plain step the stable prefixes would be paid for "
                     "and never used; mechanism \"dpsgd\" makes noisy steps only");
    }
    read_stable(call, stable, stage);
}

static void read_skill(struct call *call, const json_t *object, struct skill_scale *out)
{
    int64_t episodes = SKILL_EPISODES;
    out->power = SKILL_POWER;
    const struct field fields[] = {
        field_number("low", &out->low, -SKILL_RETURN, SKILL_RETURN),
        field_number("high", &out->high, -SKILL_RETURN, SKILL_RETURN),
        field_optional(field_positive("power", &out->power, 100)),
        field_optional(field_integer("episodes", &episodes, 1, SKILL_MAX_EPISODES)),
    };
    bool read = fields_read(call, object, "/privacy/consensus/skill", fields,
                            sizeof fields / sizeof fields[0]);
    out->episodes = (uint32_t)episodes;
    if (read && out->high <= out->low)
        call_invalid(call, "/privacy/consensus/skill/high", "must be above low");
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
        field_optional(field_bool("force", &out->force)),
    };
    const struct field inner[] = {
        field_optional(field_integer("labels", &labels, 1, CONSENSUS_MAX_LABELS)),
        field_optional(field_integer("max_length", &max_length, 1, STAGE_STEPS_MAX)),
        field_optional(field_number("explore", &stage.explore, 0, 0.9)),
        field_optional(field_integer("rounds", &rounds, 1, 1000)),
        field_optional(field_object("skill", &skill)),
        field_optional(field_object("grid", &grid)),
    };
    (void)fields_read(call, privacy, "/privacy", fields, sizeof fields / sizeof fields[0]);
    if (consensus) {
        (void)fields_read(call, consensus, "/privacy/consensus", inner,
                          sizeof inner / sizeof inner[0]);
    }
    if (skill)
        read_skill(call, skill, &stage.skill);
    stage.labels = (uint32_t)labels;
    stage.rounds = (uint32_t)rounds;
    stage.max_length = (uint32_t)max_length;
    if (grid)
        job_stage_grid_read(call, consensus, &stage);
    out->plain_share = 1;
    out->stage = stage;
}

static void read_stage_release(struct call *call, const json_t *privacy, bool logged,
                               struct algorithm_request *out)
{
    static const char *const units[] = {"expert", "reward", NULL};
    const char *understood = NULL;
    int unit = 0;
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, 1000),
        field_positive("delta", &out->delta, 0.5),
        field_optional(field_bool("force", &out->force)),
        field_optional(field_choice("unit", &unit, units)),
        field_optional(field_text("i_understand", &understood, 1, 31)),
    };
    if (!fields_read(call, privacy, "/privacy", fields, sizeof fields / sizeof fields[0]))
        return;
    out->protects_rewards = unit == 1;
    if (understood && (!out->protects_rewards || !logged)) {
        call_invalid(call, "/privacy/i_understand",
                     "has a meaning only with unit \"reward\" and a dataset");
    } else if (out->protects_rewards && logged &&
               (!understood || strcmp(understood, "states_are_public") != 0)) {
        call_invalid(call, "/privacy/i_understand",
                     "must be \"states_are_public\": unit reward protects the rewards of the "
                     "dataset, but not its states, its actions or its experts");
    }
}

void job_privacy_read(struct call *call, const json_t *privacy, bool logged,
                      struct algorithm_request *out)
{
    if (out->mechanism == MECHANISM_GAUSSIAN_PROCESS) {
        read_stage_release(call, privacy, logged, out);
    } else if (out->mechanism == MECHANISM_SELECTIVE) {
        read_selective(call, privacy, out);
    } else if (out->mechanism == MECHANISM_CONSENSUS) {
        read_consensus(call, privacy, out);
    } else {
        /* Local reports satisfy pure epsilon-DP, so they take no delta. */
        size_t count = 2;
        if (out->mechanism == MECHANISM_LOCAL_REPORTS)
            count = 1;
        else if (out->mechanism == MECHANISM_DPSGD)
            count = 3;
        const struct field fields[] = {
            field_positive("epsilon", &out->epsilon, JOB_EPSILON_MAX),
            field_positive("delta", &out->delta, 1),
            field_optional(field_bool("force", &out->force)),
        };
        (void)fields_read(call, privacy, "/privacy", fields, count);
    }
}

/* ---- the dataset */

static bool without_policy(void *context, const struct expert_row *row)
{
    bool *found = context;
    *found = !row->has_policy;
    return !*found;
}

/* Checks a job that releases logged trajectories: every expert must have uploaded its own policy.
 */
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
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (found) {
        return call_invalid(call, "/privacy/stable/source",
                            "must be \"rollouts\": with \"logged\" every expert needs an uploaded "
                            "policy, because its trajectories were not drawn from a clone");
    }
    return PROBLEM_NONE;
}

static enum problem fit_world(struct call *call, const struct dataset_row *dataset,
                              const struct job_plan *plan)
{
    const char *pointer = "/mechanism";
    if (plan->request.stage.kind == STAGE_STABLE)
        pointer = "/privacy/stable/source";
    const struct env *world = worlds_find(call->app->settings.worlds, dataset->environment);
    if (dataset->environment[0] == '\0' || !world) {
        return call_invalid(call, pointer,
                            "needs a dataset of a world that this server can play: \"environment\" "
                            "when the dataset was made");
    }
    /* A world that is a program would see steps of single experts that are never released, and
     * labels that are drawn again after a crash. */
    if (worlds_program(world)) {
        return call_invalid(call, pointer,
                            "needs a dataset of a world that is built in: a program would see what "
                            "experts do before it is released");
    }
    if (world->action_count < 2)
        return call_invalid(call, "/mechanism", "needs a world with two actions at least");
    return PROBLEM_NONE;
}

bool job_networks_fit(int64_t count, int64_t bytes)
{
    const int64_t most = (int64_t)JOB_NETWORKS_MAX_BYTES, beside = (int64_t)sizeof(struct policy);
    return count <= most / beside && bytes <= most - count * beside;
}

/* Refuses a job whose networks do not fit into memory, before it has to pay. */
static enum problem fit_networks(struct call *call, const struct dataset_row *dataset)
{
    int64_t count = 0, bytes = 0;
    enum db_status status = datasets_policies_size(call->db, dataset->id, &count, &bytes);
    if (status != DB_OK)
        return call_db(call, status);
    const struct clone_settings clones = clone_defaults();
    int64_t cloned = 0;
    if (dataset->experts > count)
        cloned = dataset->experts - count;
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
    if (stage->kind == STAGE_NONE)
        return PROBLEM_NONE;
    bool stable = stage->kind == STAGE_STABLE;
    bool played = !stable || stage->source == STABLE_ROLLOUTS;
    if (plan->request.nominal_experts < 2) {
        return call_invalid(
            call, "/dataset",
            "has only one expert: this mechanism releases what several experts have in common");
    }
    if (stage->max_length == 0)
        stage->max_length = dataset->max_episode_steps;
    if (stage->max_length > STAGE_STEPS_MAX)
        stage->max_length = STAGE_STEPS_MAX;
    stage->min_probability = dataset->min_action_probability;
    if (stable && !(stage->min_probability > 0 && stage->min_probability <= 0.5 &&
                    stage->min_probability * dataset->action_count <= 1)) {
        return call_invalid(call, "/dataset",
                            "has a min_action_probability of %g: stable prefixes need one above 0 "
                            "and at most 1 / action_count",
                            stage->min_probability);
    }
    enum problem problem = fit_networks(call, dataset);
    if (problem != PROBLEM_NONE)
        return problem;
    if (stage->grid.dims > 0)
        return job_stage_grid_fit(call, dataset, plan);
    if (played)
        return fit_world(call, dataset, plan);
    return fit_logged(call, dataset, stage);
}
