/* Request, plan, training and judgement of one cell. */
#include "bench/offline/cell.h"

#include <stdio.h>
#include <string.h>

#include "algos/offline/offline.h"
#include "algos/offline/stage.h"
#include "bench/cpu_clock.h"
#include "bench/offline/tuned.h"

/* As a job has them unless asked otherwise (openapi.yaml, privacy) or tuned.c says. */
#define STABLE_COUNT       25
#define STABLE_SHARE       0.75
#define DELTA_SHARE        0.9
#define PLAIN_SHARE        0.2
#define LABELS             2000
#define EXPLORE            0.1
#define ROUNDS             1
#define CANDIDATE_EPISODES 20
#define SKILL_EPISODES     16

const struct cell_method cell_methods[] = {
    {"none", MECHANISM_NONE, SPARSE_VECTOR_SHARP},
    {"dpsgd", MECHANISM_DPSGD, SPARSE_VECTOR_SHARP},
    {"selective", MECHANISM_SELECTIVE, SPARSE_VECTOR_SHARP},
    {"selective_paper", MECHANISM_SELECTIVE, SPARSE_VECTOR_PAPER},
    {"consensus", MECHANISM_CONSENSUS, SPARSE_VECTOR_SHARP},
};
const unsigned cell_method_count = sizeof cell_methods / sizeof cell_methods[0];

const struct cell_method *cell_method_find(const char *name)
{
    for (unsigned i = 0; i < cell_method_count; i++)
        if (strcmp(cell_methods[i].name, name) == 0)
            return &cell_methods[i];
    return NULL;
}

/* ---- the request */

static void set_stage(const struct cell *cell, struct algorithm_request *out)
{
    struct stage_request stage = {.max_length = cell->population->episode_steps};
    if (out->mechanism == MECHANISM_SELECTIVE) {
        stage.kind = STAGE_STABLE;
        stage.source = STABLE_ROLLOUTS;
        stage.runs = STABLE_COUNT;
        stage.min_probability = POPULATION_FLOOR;
        stage.accounting = cell->method->accounting;
        stage.epsilon_share = STABLE_SHARE;
        stage.delta_share = DELTA_SHARE;
        out->plain_share = PLAIN_SHARE;
    } else if (out->mechanism == MECHANISM_CONSENSUS) {
        stage.kind = STAGE_CONSENSUS;
        stage.labels = LABELS;
        stage.explore = EXPLORE;
        stage.rounds = ROUNDS;
        stage.skill = (struct skill_scale){.episodes = SKILL_EPISODES};
        stage.epsilon_share = stage.delta_share = 1.0;
        out->plain_share = 1.0;
    } else {
        return;
    }
    out->stage = stage;
}

/* Settings of the first stage; each touches only the stage that has it. */
static bool set_stage_setting(const struct cell_setting *setting, struct algorithm_request *out)
{
    struct stage_request *stage = &out->stage;
    bool stable = stage->kind == STAGE_STABLE;
    const char *name = setting->name;
    const double value = setting->value.number[0];
    if (strcmp(name, "stable_count") == 0)
        stage->runs = (uint32_t)value;
    else if (strcmp(name, "stable_share") == 0)
        stage->epsilon_share = stable ? value : stage->epsilon_share;
    else if (strcmp(name, "plain_share") == 0)
        out->plain_share = stable ? value : out->plain_share;
    else if (strcmp(name, "label_share") == 0)
        stage->epsilon_share = stable ? stage->epsilon_share : value;
    else if (strcmp(name, "label_plain_share") == 0)
        out->plain_share = stable ? out->plain_share : value;
    else if (strcmp(name, "labels") == 0)
        stage->labels = (uint32_t)value;
    else if (strcmp(name, "label_length") == 0)
        stage->max_length = stable ? stage->max_length : (uint32_t)value;
    else if (strcmp(name, "explore") == 0)
        stage->explore = value;
    else if (strcmp(name, "skill_low") == 0)
        stage->skill.low = value;
    else if (strcmp(name, "skill_high") == 0)
        stage->skill.high = value;
    else if (strcmp(name, "skill_power") == 0)
        stage->skill.power = value;
    else if (strcmp(name, "skill_episodes") == 0)
        stage->skill.episodes = (uint32_t)value;
    else if (strcmp(name, "rounds") == 0)
        stage->rounds = (uint32_t)value;
    else if (strcmp(name, "candidates") == 0)
        out->choice.candidates = (uint32_t)value;
    else if (strcmp(name, "candidate_episodes") == 0)
        out->choice.episodes = (uint32_t)value;
    else
        return false;
    return true;
}

static bool set_one(const struct cell *cell, const struct cell_setting *setting,
                    struct algorithm_request *out)
{
    const struct algorithm *algorithm = cell->algorithm;
    if (set_stage_setting(setting, out))
        return true;
    if (strcmp(setting->name, "layers") == 0) { /* as many of the first one's width */
        struct parameter_value *hidden = &out->parameters.value[OFFLINE_HIDDEN];
        hidden->count = (uint32_t)setting->value.number[0];
        for (unsigned l = 1; l < hidden->count; l++)
            hidden->number[l] = hidden->number[0];
        return true;
    }
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, setting->name);
    if (index < 0) {
        fprintf(stderr, "%s: no such setting of %s\n", setting->name, algorithm->name);
        return false;
    }
    out->parameters.value[index] = setting->value;
    return true;
}

static bool make_request(const struct cell *cell, struct algorithm_request *out)
{
    const struct population *p = cell->population;
    *out = (struct algorithm_request){.mechanism = cell->method->mechanism,
                                      .epsilon = cell->epsilon,
                                      .delta = 1.0 / p->experts,
                                      .discount = 0.99,
                                      .state_dim = p->env->state_dim,
                                      .action_count = p->env->action_count,
                                      .nominal_experts = p->experts,
                                      .seed = cell->seed};
    algorithm_defaults(cell->algorithm, p->env->name, &out->parameters);
    set_stage(cell, out);
    out->choice = (struct choice){.episodes = CANDIDATE_EPISODES, .max_steps = p->evaluation_steps};
    struct cell_setting tuned[CELL_SETTINGS];
    unsigned tuned_count = tuned_settings(cell, tuned);
    for (unsigned i = 0; i < tuned_count; i++)
        if (!set_one(cell, &tuned[i], out))
            return false;
    if (cell->steps > 0) {
        const struct cell_setting steps = {"steps", PARAMETER_ONE((double)cell->steps)};
        if (!set_one(cell, &steps, out))
            return false;
    }
    for (unsigned i = 0; i < cell->setting_count; i++)
        if (!set_one(cell, &cell->settings[i], out))
            return false;
    return true;
}

/* ---- training */

static enum algorithm_status experts(void *context, struct expert_policies **out)
{
    *out = population_policies(context);
    return *out ? ALGORITHM_OK : ALGORITHM_NO_MEMORY;
}

/* A cell is small: one that was cut short is trained anew, and nothing of it was shown. */
static bool keep(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    (void)context, (void)steps_done, (void)bytes, (void)size;
    return true;
}

static enum algorithm_status train(const struct cell *cell, const struct algorithm_request *request,
                                   const struct algorithm_plan *plan, struct policy **out,
                                   const char **message)
{
    double physics[ENV_MAX_PARAMETERS];
    env_defaults(cell->population->env, physics);
    const struct algorithm_run run = {
        .request = request,
        .plan = plan,
        .data = cell->population->data,
        .choice = {.world = cell->population->env, .physics = physics},
        .hooks = {.context = (void *)cell->population, .experts = experts}};
    const struct stage_run stage = {
        .algorithm = cell->algorithm, .run = &run, .env = cell->population->env, .keep = keep};
    return stage_train(&stage, out, message);
}

bool cell_run(const struct cell *cell, struct cell_result *out)
{
    const struct population *p = cell->population;
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct policy *policy = NULL;
    const char *message = "";
    double physics[ENV_MAX_PARAMETERS], start = cpu_seconds();
    *out = (struct cell_result){.reason = ""};
    if (!make_request(cell, &request))
        return false;
    enum algorithm_status status = cell->algorithm->plan(&request, &plan, &message);
    if (status == ALGORITHM_INFEASIBLE) {
        out->reason = message;
        return true;
    }
    if (status == ALGORITHM_OK)
        status = train(cell, &request, &plan, &policy, &message);
    env_defaults(p->env, physics);
    if (status != ALGORITHM_OK ||
        !policy_evaluate(policy, p->env, physics, cell->episodes, p->evaluation_steps,
                         UINT64_C(1000) + cell->seed, &out->played)) {
        fprintf(stderr, "%s, %s, %s: %s\n", p->env->name, cell->algorithm->name, cell->method->name,
                message[0] ? message : "no memory, or a broken policy");
        policy_free(policy);
        return false;
    }
    policy_free(policy);
    out->feasible = true;
    out->epsilon = plan.privacy.epsilon;
    out->steps = plan.total_steps;
    out->noisy_steps = plan.privacy.steps;
    out->noise_multiplier = plan.privacy.noise_multiplier;
    out->threshold = plan.stage.stable.threshold;
    out->cpu_seconds = cpu_seconds() - start;
    return true;
}
