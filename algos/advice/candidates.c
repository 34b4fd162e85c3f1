/* The candidates: what is worth asking for, and with which settings. The bench that measures
 * outcomes makes its requests here too, so that what was measured is what is advised. */
#include <math.h>
#include <string.h>

#include "algos/advice/advice.h"
#include "algos/catalogue/algorithms.h"
#include "algos/offline/consensus_plan.h"
#include "algos/offline/offline.h"
#include "algos/release/ensemble.h"
#include "algos/release/gp_q_learning.h"

/* As a job has them unless asked otherwise. */
#define LABELS       2000
#define EXPLORE      0.1
#define MOST_STEPS   10000
#define SMALL_WIDTH  32
#define FEW_LABELS   500
#define STABLE_RUNS  25
#define STABLE_SHARE 0.75
#define STABLE_DELTA 0.9
#define PLAIN_SHARE  0.02
#define SHARDS_MOST  1000u
/* A small model of few experts averages several transitions of each before the clip: the mean
 * quality with 60 and 200 experts rose from 0.39 to 0.57 (behaviour_cloning, 32 units) and from
 * 0.28 to 0.38 (cql, linear). */
#define FEW_EXPERTS 1000u
#define FEW_GROUP   8
/* A shard has few transitions, and all of its networks are asked for each answer. */
#define SHARD_WIDTH 32
#define SHARD_BATCH 64
#define SHARD_STEPS 300

static const char *const method_names[ADVICE_METHODS] = {[ADVICE_DPSGD] = "dpsgd",
                                                         [ADVICE_LINEAR] = "linear",
                                                         [ADVICE_SELECTIVE] = "selective_dpsgd",
                                                         [ADVICE_CONSENSUS] = "consensus",
                                                         [ADVICE_GRID] = "grid",
                                                         [ADVICE_SHARDS] = "shards",
                                                         [ADVICE_RELEASE] = "q_release"};

const char *advice_method_name(enum advice_method method)
{
    return method_names[method];
}

int advice_method_find(const char *name)
{
    for (int m = 0; m < ADVICE_METHODS; m++)
        if (strcmp(method_names[m], name) == 0)
            return m;
    return -1;
}

/* Noise grows with the number of weights, and with that of labels: the small network and the few
 * labels stand beside the usual ones. */
static const struct {
    enum advice_method method;
    const char *algorithm;
    uint32_t size;
} rows[] = {
    {ADVICE_CONSENSUS, "behaviour_cloning", 0},
    {ADVICE_CONSENSUS, "behaviour_cloning", FEW_LABELS},
    {ADVICE_CONSENSUS, "cql", 0},
    {ADVICE_CONSENSUS, "cql", FEW_LABELS},
    {ADVICE_GRID, "behaviour_cloning", 0},
    {ADVICE_DPSGD, "behaviour_cloning", 0},
    {ADVICE_DPSGD, "behaviour_cloning", SMALL_WIDTH},
    {ADVICE_DPSGD, "cql", 0},
    {ADVICE_DPSGD, "cql", SMALL_WIDTH},
    {ADVICE_DPSGD, "bcq", 0},
    {ADVICE_DPSGD, "bcq", SMALL_WIDTH},
    {ADVICE_LINEAR, "behaviour_cloning", 0},
    {ADVICE_LINEAR, "cql", 0},
    {ADVICE_LINEAR, "bcq", 0},
    {ADVICE_SELECTIVE, "behaviour_cloning", 0},
    {ADVICE_SELECTIVE, "cql", 0},
    {ADVICE_SHARDS, "behaviour_cloning", 5}, /* experts in a shard, here and below */
    {ADVICE_SHARDS, "behaviour_cloning", 2},
    {ADVICE_RELEASE, "gp_q_learning", 5},
    {ADVICE_RELEASE, "gp_q_learning", 2},
};

static enum advice_want method_want(enum advice_method method)
{
    if (method == ADVICE_SHARDS)
        return ADVICE_WANT_TEACHER;
    return method == ADVICE_RELEASE ? ADVICE_WANT_RELEASE : ADVICE_WANT_POLICY;
}

static bool candidate_suits(const struct advice_facts *facts, enum advice_method method)
{
    if (method_want(method) != facts->want)
        return false;
    switch (method) {
    case ADVICE_SHARDS: return facts->action_count <= ENSEMBLE_ACTIONS_MAX;
    case ADVICE_RELEASE: return facts->low && facts->state_dim <= ENV_MAX_STATE_DIM;
    case ADVICE_SELECTIVE:
        return facts->world && facts->min_action_probability > 0 &&
               facts->min_action_probability * facts->action_count <= 1;
    case ADVICE_CONSENSUS: return facts->world && facts->action_count <= ENV_MAX_ACTIONS;
    case ADVICE_GRID:
        return facts->low && facts->high && facts->action_count <= ENV_MAX_ACTIONS &&
               (facts->grid || pow(2.0, facts->state_dim) <= ADVICE_GRID_STATES);
    default: return true;
    }
}

bool advice_candidate(const struct advice_facts *facts, unsigned i, struct advice_candidate *out)
{
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        uint32_t size = rows[r].size;
        bool sharded = method_want(rows[r].method) != ADVICE_WANT_POLICY;
        if (sharded)
            size = facts->experts / size < SHARDS_MOST ? facts->experts / size : SHARDS_MOST;
        if (!candidate_suits(facts, rows[r].method) || (sharded && size < ENSEMBLE_SHARDS_MIN))
            continue;
        if (i-- == 0) {
            *out = (struct advice_candidate){.method = rows[r].method,
                                             .algorithm = algorithm_find(rows[r].algorithm),
                                             .size = size};
            return true;
        }
    }
    return false;
}

/* ---- the request */

/* The public return scale by which experts' voices count in WORLD; false: none is known. */
static bool world_skill(const struct env *world, struct skill_scale *out)
{
    static const struct {
        const char *world;
        struct skill_scale scale;
    } known[] = {
        {"cartpole", {0, 200, 8, 16}}, {"acrobot", {-200, -75, 8, 16}},
        {"hiv", {0, 1e9, 1, 4}},       {"lunar_lander", {-200, 300, 4, 16}},
        {"ward", {-5, 10, 4, 16}},     {"fund", {-8, 12, 4, 16}},
        {"factory", {10, 75, 4, 16}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].world, world->name) == 0) {
            *out = known[i].scale;
            return true;
        }
    }
    return false;
}

/* As many points of each of NUMBERS as give at most ADVICE_GRID_STATES states, of which there are
 * FACTOR for each combination of them. */
static uint32_t grid_points(uint32_t numbers, double factor)
{
    return (uint32_t)floor(pow(ADVICE_GRID_STATES / factor, 1.0 / numbers) + 1e-9);
}

static void candidate_grid(const struct advice_facts *facts, struct consensus_grid *out)
{
    if (facts->grid) {
        *out = *facts->grid;
        return;
    }
    uint32_t points = grid_points(facts->state_dim, 1);
    *out = (struct consensus_grid){.dims = facts->state_dim};
    for (uint32_t d = 0; d < out->dims; d++) {
        out->low[d] = facts->low[d];
        out->high[d] = facts->high[d];
        out->points[d] = points;
    }
}

/* State number INDEX of a list, with POINTS of each number. */
static void list_state(const struct advice_facts *facts, const uint32_t *width, uint32_t points,
                       uint32_t index, double *state)
{
    for (uint32_t d = 0; d < facts->state_dim; d += width[d]) {
        uint32_t ways = width[d] > 1 ? width[d] : points, way = index % ways;
        index /= ways;
        if (width[d] == 1)
            state[d] = facts->low[d] + (facts->high[d] - facts->low[d]) * way / (points - 1);
        for (uint32_t c = 0; width[d] > 1 && c < width[d]; c++)
            state[d + c] = c == way;
    }
}

bool advice_grid_list(const struct advice_facts *facts, const uint32_t *width, double *states,
                      struct consensus_grid *out)
{
    uint32_t numbers = 0, points = 2;
    double categories = 1;
    if (facts->state_dim > ENV_MAX_STATE_DIM)
        return false;
    for (uint32_t d = 0; d < facts->state_dim; d += width[d]) {
        numbers += width[d] == 1;
        categories *= width[d];
    }
    if (numbers > 0)
        points = grid_points(numbers, categories);
    double count = categories * pow(points, numbers);
    if (points < 2 || count > ADVICE_GRID_STATES)
        return false;
    *out = (struct consensus_grid){
        .dims = facts->state_dim, .count = (uint32_t)count, .states = states};
    for (uint32_t i = 0; i < out->count; i++)
        list_state(facts, width, points, i, states + (size_t)i * out->dims);
    return true;
}

static void candidate_consensus(const struct advice_facts *facts,
                                const struct advice_candidate *candidate, struct stage_request *out)
{
    out->kind = STAGE_CONSENSUS;
    out->epsilon_share = out->delta_share = 1;
    out->rounds = 1;
    if (candidate->method == ADVICE_GRID) {
        candidate_grid(facts, &out->grid);
        out->labels = consensus_grid_size(&out->grid);
        out->max_length = 1;
        return;
    }
    out->labels = candidate->size > 0 ? candidate->size : LABELS;
    out->explore = EXPLORE;
    (void)world_skill(facts->world, &out->skill);
}

static void candidate_stable(struct stage_request *out)
{
    out->kind = STAGE_STABLE;
    out->source = STABLE_ROLLOUTS;
    out->accounting = SPARSE_VECTOR_SHARP;
    out->runs = STABLE_RUNS;
    out->epsilon_share = STABLE_SHARE;
    out->delta_share = STABLE_DELTA;
}

/* The first stage. */
static void candidate_stage(const struct advice_facts *facts,
                            const struct advice_candidate *candidate, struct algorithm_request *out)
{
    struct stage_request *stage = &out->stage;
    stage->min_probability = facts->min_action_probability;
    stage->max_length = facts->max_episode_steps;
    if (stage->max_length > MOST_STEPS)
        stage->max_length = MOST_STEPS;
    if (candidate->method == ADVICE_SELECTIVE) {
        out->mechanism = MECHANISM_SELECTIVE;
        out->plain_share = PLAIN_SHARE;
        candidate_stable(stage);
        return;
    }
    out->mechanism = MECHANISM_CONSENSUS;
    out->plain_share = 1;
    candidate_consensus(facts, candidate, stage);
}

static void candidate_release(const struct advice_facts *facts,
                              const struct advice_candidate *candidate,
                              struct algorithm_request *out)
{
    struct parameter_value *values = out->parameters.value;
    out->mechanism = MECHANISM_GAUSSIAN_PROCESS;
    values[GP_Q_LOW].count = values[GP_Q_HIGH].count = facts->state_dim;
    for (uint32_t d = 0; d < facts->state_dim; d++) {
        values[GP_Q_LOW].number[d] = facts->low[d];
        values[GP_Q_HIGH].number[d] = facts->high[d];
    }
    values[GP_Q_SHARDS].number[0] = candidate->size;
    values[GP_Q_OUTSIDE].number[0] = 1; /* clamp */
}

void advice_request(const struct advice_facts *facts, const struct advice_candidate *candidate,
                    struct algorithm_request *out)
{
    const char *world = NULL;
    bool small = candidate->method == ADVICE_LINEAR ||
                 (candidate->method == ADVICE_DPSGD && candidate->size > 0);
    if (facts->world)
        world = facts->world->name;
    *out = (struct algorithm_request){.mechanism = MECHANISM_DPSGD,
                                      .epsilon = facts->epsilon,
                                      .delta = facts->delta,
                                      .discount = facts->discount,
                                      .state_dim = facts->state_dim,
                                      .action_count = facts->action_count,
                                      .nominal_experts = facts->experts,
                                      .work = facts->work};
    algorithm_defaults(candidate->algorithm, world, &out->parameters);
    if (small && facts->experts <= FEW_EXPERTS)
        out->parameters.value[OFFLINE_PER_EXPERT].number[0] = FEW_GROUP;
    switch (candidate->method) {
    case ADVICE_SHARDS:
        out->mechanism = MECHANISM_NONE;
        out->parameters.value[OFFLINE_HIDDEN] = (struct parameter_value)PARAMETER_ONE(SHARD_WIDTH);
        out->parameters.value[OFFLINE_BATCH_SIZE].number[0] = SHARD_BATCH;
        out->parameters.value[OFFLINE_STEPS].number[0] = SHARD_STEPS;
        break;
    case ADVICE_RELEASE: candidate_release(facts, candidate, out); break;
    case ADVICE_LINEAR: out->parameters.value[OFFLINE_HIDDEN].count = 0; break;
    case ADVICE_DPSGD:
        if (candidate->size > 0)
            out->parameters.value[OFFLINE_HIDDEN] =
                (struct parameter_value){.number = {candidate->size}, .count = 1};
        break;
    default: candidate_stage(facts, candidate, out);
    }
}
