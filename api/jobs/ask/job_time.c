/* Running times by counting what is computed.
 *
 * DESIGN. The cost of a network is a sum of terms per row, per unit (activation) and per parameter
 * (product), counted once forward and twice backward. A step adds a term per parameter (optimiser,
 * noise). The figures were measured on the machine of docs/performance.md while its cores were busy
 * with other work, and were compared with real jobs there. */
#include "api/jobs/ask/job_request.h"

#include <math.h>

#include "algos/offline/expert_clones.h"
#include "algos/offline/judge/fitted_q.h"
#include "api/call/app.h"
#include "api/jobs/ask/job_kind.h"
#include "api/worlds/world_program.h"
#include "storage/datasets.h"

#define START_SECONDS      0.06
#define TRANSITION_SECONDS 1.5e-7 /* to read one that is stored */

/* The time of one row's forward pass is a sum: a constant, a part for each unit of the network and
 * a part for each parameter. A backward pass takes twice as long. */
#define ROW_SECONDS       4e-8
#define UNIT_SECONDS      2.2e-10
#define PARAMETER_SECONDS 2.2e-11

/* A step beside its rows: for itself, and for a parameter without and with noise. */
#define STEP_SECONDS  1e-6
#define ADAM_SECONDS  1.4e-9
#define NOISE_SECONDS 1.6e-9
#define EXACT_TIMES   1.3 /* a noisy step in exact arithmetic beside one in float */

#define CLONE_SECONDS 0.045 /* steps of a fixed number and size: a world's sizes matter little */
#define ASKING_WORK   8e9   /* multiply-adds a second when all experts are asked at states */
#define WORLD_WORK    2.8e9 /* multiply-adds a second of env.step_work */
#define WORLD_SECONDS 1e-7  /* one step of a small built-in world, whose state is a few numbers */

/* A prefix that all agree on ends there, and a block later it is seen. */
#define PREFIX_BLOCK 16.0

struct estimate {
    const struct dataset_row *dataset;
    double experts, transitions, length; /* of the dataset; length: of a trajectory, mean */
    double networks;                     /* parameters of all experts together, clones with them */
    double clones;                       /* how many are to be made */
};

static double row_seconds(const struct mlp_shape *shape)
{
    double units = 0;
    for (uint32_t l = 0; l < shape->layer_count; l++)
        units += shape->width[l];
    return ROW_SECONDS + UNIT_SECONDS * units +
           PARAMETER_SECONDS * (double)mlp_parameter_count(shape);
}

/* ---- steps */

static double batch_rows(const struct job_plan *plan)
{
    int batch = parameters_index(plan->algorithm->parameters, plan->algorithm->parameter_count,
                                 "batch_size");
    if (batch >= 0 && plan->request.parameters.value[batch].number[0] > 0)
        return plan->request.parameters.value[batch].number[0];
    if (plan->plan.privacy.batch_size > 0)
        return plan->plan.privacy.batch_size;
    return 128;
}

/* Counts forward passes; a backward pass counts as two. Learning values also evaluates the next
 * state, once by the network itself (unless next_action is another choice than "online") and once
 * by its target network. Where the target does not move, its answers are computed once and kept. */
static double training_passes(const struct job_plan *plan)
{
    if (plan->algorithm->target == TARGET_ACTIONS)
        return 3;
    int next = parameters_index(plan->algorithm->parameters, plan->algorithm->parameter_count,
                                "next_action");
    if (next >= 0 && plan->request.parameters.value[next].number[0] > 0)
        return 4;
    return 5;
}

/* Rows of a noisy step for one of a plain one. */
static double rows_each(const struct job_plan *plan)
{
    int each = parameters_index(plan->algorithm->parameters, plan->algorithm->parameter_count,
                                "transitions_per_expert");
    return each >= 0 ? plan->request.parameters.value[each].number[0] : 1;
}

static double training_seconds(const struct job_plan *plan)
{
    const struct algorithm_plan *p = &plan->plan;
    double passes = training_passes(plan);
    double rows = batch_rows(plan) * passes * row_seconds(&p->shape);
    double parameters = (double)p->parameter_count;
    double steps = (double)p->total_steps, noisy = (double)p->privacy.steps;
    double plain = STEP_SECONDS + rows + ADAM_SECONDS * parameters;
    double noise = NOISE_SECONDS * parameters;
    double noisy_step = plain + noise + (rows_each(plan) - 1) * rows;
    if (p->privacy.rounded_draws > 0)
        noisy_step *= EXACT_TIMES;
    noisy = fmin(noisy, steps);
    return (steps - noisy) * plain + noisy * noisy_step;
}

/* ---- the first stage */

/* Estimated steps of an episode where up to MOST are allowed: as many as in the data, scaled from
 * the limit of the data. */
static double episode_steps(const struct estimate *e, double most)
{
    double limit = e->dataset->max_episode_steps, share = 1;
    if (limit > 0 && e->length > 0)
        share = fmin(1, e->length / limit);
    return fmax(1, share * most);
}

static double world_seconds(const struct env *world)
{
    return WORLD_SECONDS + world->step_work / WORLD_WORK;
}

/* Seconds in which every expert plays a few episodes, each to its full length. */
static double skill_seconds(const struct estimate *e, const struct stage_request *stage,
                            const struct env *world)
{
    if (!(stage->skill.power > 0) || !world)
        return 0;
    double steps = (double)stage->skill.episodes * stage->max_length;
    return steps * (e->networks / ASKING_WORK + e->experts * world_seconds(world));
}

static double stage_seconds(const struct estimate *e, const struct job_plan *plan,
                            const struct env *world)
{
    const struct stage_request *stage = &plan->request.stage;
    double cloning = e->clones * CLONE_SECONDS, states = 0;
    switch (stage->kind) {
    case STAGE_NONE: return 0;
    case STAGE_CONSENSUS:
        states = stage->labels;
        cloning += (stage->rounds - 1) * CLONE_SECONDS; /* the student */
        break;
    case STAGE_STABLE: {
        uint32_t length =
            sparse_vector_unanimous_length(&plan->plan.stage.stable, plan->request.action_count);
        states = stage->runs * fmin(stage->max_length, length + PREFIX_BLOCK);
        break;
    }
    }
    return cloning + states * e->networks / ASKING_WORK + skill_seconds(e, stage, world);
}

/* ---- after the training */

static double evaluation_seconds(const struct estimate *e, const struct job_plan *plan,
                                 const struct env *world)
{
    if (!world)
        return 0;
    double steps = plan->episodes * episode_steps(e, plan->max_episode_steps);
    return steps * (row_seconds(&plan->plan.shape) + world_seconds(world));
}

/* Seconds to choose a candidate by play. Their episodes are taken to be as long as those of the
 * data. */
static double choice_seconds(const struct estimate *e, const struct job_plan *plan)
{
    const struct choice *choice = &plan->request.choice;
    const struct env *world = env_find(plan->choose.name);
    if (choice->candidates == 0 || !world)
        return 0;
    double steps =
        (double)choice->candidates * choice->episodes * episode_steps(e, choice->max_steps);
    return steps * (row_seconds(&plan->plan.shape) + world_seconds(world));
}

/* A judge's model of all experts beside a clone of one, and multiply-adds a second of its
 * regressions. */
#define JUDGE_CLONE 2.0
#define JUDGE_WORK  3e9

/* Seconds of a judgement on data of so many transitions in trajectories of that mean LENGTH: each
 * fold makes a model of who made the data, and solves a regression for each further step. */
static double judge_seconds(const struct job_plan *plan, double transitions, double length)
{
    const struct fitted_q_settings settings = fitted_q_defaults();
    double dim = plan->request.state_dim, features = 1 + dim + settings.units;
    double fitted = fmin(transitions, settings.transitions);
    double each = 2 * settings.units * dim + features * features / 2 +
                  fmin(2 * length, settings.iterations) * 2 * FITTED_HEADS * features;
    return LOGGED_FOLDS * (CLONE_SECONDS * JUDGE_CLONE + fitted * each / JUDGE_WORK) +
           transitions * (TRANSITION_SECONDS + row_seconds(&plan->plan.shape));
}

/* ---- all of it */

static enum db_status dataset_measure(struct call *call, const struct job_wish *wish,
                                      struct estimate *out)
{
    const struct dataset_row *dataset = &wish->dataset;
    const struct clone_settings clones = clone_defaults();
    int64_t count = 0, bytes = 0;
    *out = (struct estimate){.dataset = dataset,
                             .experts = (double)dataset->experts,
                             .transitions = (double)dataset->transitions};
    if (dataset->trajectories > 0)
        out->length = (double)dataset->transitions / (double)dataset->trajectories;
    if (wish->plan.request.stage.kind == STAGE_NONE)
        return DB_OK;
    enum db_status status = datasets_policies_size(call->db, dataset->id, &count, &bytes);
    if (status == DB_OK) {
        double each = (double)clone_bytes(&clones, dataset->state_dim, dataset->action_count);
        out->clones = fmax(0, (double)(dataset->experts - count));
        out->networks = ((double)bytes + out->clones * each) / sizeof(float);
    }
    return status;
}

static const char *why_unknown(const struct job_wish *wish, const struct env *evaluates)
{
    if (!wish->feasible)
        return "there is no plan to estimate it from";
    const char *unknown = job_kind_time_unknown(&wish->plan);
    if (unknown)
        return unknown;
    bool registered = !evaluates && wish->plan.evaluate.name[0] != '\0';
    if (registered || (evaluates && worlds_program(evaluates)))
        return "it is evaluated in a world that is a program, whose speed is not known";
    return NULL;
}

static double plan_seconds(const struct estimate *e, const struct job_plan *plan,
                           const struct env *stage_world, const struct env *evaluates)
{
    return stage_seconds(e, plan, stage_world) + training_seconds(plan) + choice_seconds(e, plan) +
           evaluation_seconds(e, plan, evaluates);
}

enum db_status job_time_estimate(struct call *call, const struct job_wish *wish,
                                 struct job_time *out)
{
    const struct job_plan *plan = &wish->plan;
    const struct worlds *worlds = call->app->settings.worlds;
    const struct env *evaluates = worlds_find(worlds, plan->evaluate.name);
    struct estimate e;
    struct dataset_row judge = {.transitions = 0};
    *out = (struct job_time){.seconds = NAN, .unknown = why_unknown(wish, evaluates)};
    if (out->unknown)
        return DB_OK;
    enum db_status status = dataset_measure(call, wish, &e);
    if (status == DB_OK && plan->judge[0] != '\0')
        status = datasets_find(call->db, plan->judge, &judge);
    if (status != DB_OK)
        return status;
    const struct env *home = worlds_find(worlds, wish->dataset.environment);
    double seconds = START_SECONDS + TRANSITION_SECONDS * e.transitions;
    for (uint32_t t = 0; t < plan->try_count; t++)
        seconds += plan_seconds(&e, &plan->tries[t], home, evaluates);
    if (plan->try_count == 0)
        seconds += plan_seconds(&e, plan, home, evaluates);
    if (plan->request.judge.held_out > 0) /* the data are read and split again */
        seconds += e.transitions * (4 * TRANSITION_SECONDS +
                                    plan->request.judge.held_out * row_seconds(&plan->plan.shape));
    if (plan->judge[0] != '\0')
        seconds += judge_seconds(plan, (double)judge.transitions,
                                 (double)judge.transitions / fmax(1, (double)judge.trajectories));
    out->seconds = seconds;
    return DB_OK;
}
