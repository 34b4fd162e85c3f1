/* Plans between structs and JSON. Numbers are written in the shortest form that reads back as the
 * same double, so that what was accounted is what runs. */
#include "api/jobs/ask/job_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/ask/plan_members.h"
#include "api/json/json_text.h"
#include "api/wire/q_terms_json.h"
#include "memory/memory.h"

bool job_plan_statement(const struct job_plan *plan, struct statement *out)
{
    *out = (struct statement){0};
    if (!plan->algorithm->describe || plan->request.mechanism == MECHANISM_NONE)
        return false;
    plan->algorithm->describe(&plan->request, &plan->plan, plan->learn.name, out);
    return true;
}

const char *job_plan_unit(const struct job_plan *plan)
{
    struct statement statement;
    if (job_plan_statement(plan, &statement))
        return statement.unit;
    if (plan->request.protects_rewards)
        return "reward";
    const struct stage_request *stage = &plan->request.stage;
    if (stage->kind == STAGE_STABLE && stage->source == STABLE_LOGGED)
        return "policy of an expert";
    return plan->algorithm->privacy_unit;
}

bool job_plan_uncovers(const struct job_plan *plan)
{
    bool charged = !plan->dataset_public && !job_plan_is_public(plan) &&
                   plan->request.mechanism != MECHANISM_NONE;
    return job_plan_is_unprotected(plan) || (charged && strcmp(job_plan_unit(plan), "expert") != 0);
}

/* ---- the noisy steps, and what was before them */

static const struct plan_member steps_members[] = {
    PLAN_MEMBER("steps", plan.privacy.steps),
    PLAN_FIGURE("noise_multiplier", plan.privacy.noise_multiplier),
    PLAN_FIGURE("sampling_rate", plan.privacy.sampling_rate),
    PLAN_FIGURE("clip_norm", plan.privacy.clip_norm),
    PLAN_MEMBER("batch_size", plan.privacy.batch_size),
    PLAN_MEMBER("nominal_experts", plan.privacy.nominal_experts),
    PLAN_MEMBER("rounded_draws", plan.privacy.rounded_draws),
    PLAN_FIGURE("delta", plan.privacy.delta),
    PLAN_FIGURE("epsilon", plan.privacy.epsilon),
    PLAN_FIGURE("epsilon_lower", plan.privacy.epsilon_lower),
    PLAN_FIGURE("epsilon_renyi", plan.privacy.epsilon_renyi),
    {.name = NULL},
};

static json_t *figure_json(const struct statement_figure *figure)
{
    if (figure->count == 0)
        return json_number(figure->value[0]);
    json_t *list = json_array();
    for (unsigned i = 0; i < figure->count; i++)
        json_list_add(&list, json_number(figure->value[i]));
    return list;
}

static json_t *figures_json(const struct job_plan *plan)
{
    struct statement statement;
    json_t *json = json_object();
    (void)job_plan_statement(plan, &statement);
    for (unsigned i = 0; i < statement.figure_count; i++) {
        const struct statement_figure *figure = &statement.figures[i];
        json_member_add(&json, figure->name, figure_json(figure));
    }
    return json;
}

static json_t *tries_privacy(const struct job_plan *plan)
{
    const struct dp_sgd_plan *p = &plan->plan.privacy;
    json_t *tries = json_array();
    for (uint32_t t = 0; t < plan->try_count; t++)
        json_list_add(&tries, job_plan_privacy(&plan->tries[t]));
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "steps", (json_int_t)p->steps, "delta",
                     json_number(p->delta), "epsilon", json_number(p->epsilon), "epsilon_lower",
                     json_number(p->epsilon_lower), "epsilon_renyi", json_number(p->epsilon_renyi),
                     "tries", tries);
}

json_t *job_plan_privacy(const struct job_plan *plan)
{
    if (plan->try_count > 0)
        return tries_privacy(plan);
    json_t *json = json_object();
    plan_members_write(steps_members, plan, json);
    json_t *stage = job_stage_json(plan), *figures = figures_json(plan);
    json_object_update(json, stage);
    json_object_update(json, figures);
    json_decref(stage);
    json_decref(figures);
    if (plan->request.judge.held_out > 0.0)
        json_object_set_new(json, "judge", job_judge_json(plan));
    if (plan->request.mechanism == MECHANISM_GAUSSIAN_PROCESS)
        json_object_set_new(json, "release", q_terms_json(&plan->plan.release));
    return json;
}

/* ---- all of it */

static json_t *shape_json(const struct mlp_shape *shape)
{
    json_t *widths = json_array();
    for (uint32_t l = 0; l < shape->layer_count; l++)
        json_list_add(&widths, json_integer(shape->width[l]));
    return json_pack("{s:I, s:o, s:i}", "input", (json_int_t)shape->input, "widths", widths,
                     "activation", (int)shape->activation);
}

static bool shape_read(const json_t *json, struct mlp_shape *out)
{
    const json_t *widths = json_object_get(json, "widths");
    *out = (struct mlp_shape){.input = (uint32_t)json_integer_value(json_object_get(json, "input")),
                              .layer_count = (uint32_t)json_array_size(widths)};
    out->activation = MLP_RELU;
    if (json_integer_value(json_object_get(json, "activation")) == MLP_TANH)
        out->activation = MLP_TANH;
    for (uint32_t l = 0; l < out->layer_count && l < MLP_MAX_LAYERS; l++) {
        json_int_t width = json_integer_value(json_array_get(widths, l));
        if (width > 0 && width <= MLP_MAX_WIDTH)
            out->width[l] = (uint32_t)width;
    }
    return mlp_shape_valid(out);
}

static const struct plan_member request_members[] = {
    PLAN_FIGURE("epsilon", request.epsilon),
    PLAN_FIGURE("delta", request.delta),
    PLAN_FIGURE("discount", request.discount),
    PLAN_MEMBER("state_dim", request.state_dim),
    PLAN_MEMBER("action_count", request.action_count),
    PLAN_MEMBER("nominal_experts", request.nominal_experts),
    PLAN_MEMBER("plain_share", request.plain_share),
    PLAN_MEMBER("seed", request.seed),
    PLAN_MEMBER("force", request.force),
    PLAN_MEMBER("protects_rewards", request.protects_rewards),
    {.name = NULL},
};

static const struct plan_member evaluate_members[] = {
    PLAN_MEMBER("episodes", episodes),
    PLAN_MEMBER("max_episode_steps", max_episode_steps),
    {.name = NULL},
};

static const struct plan_member plan_members[] = {
    PLAN_MEMBER("total_steps", plan.total_steps),
    PLAN_MEMBER("public", dataset_public),
    PLAN_MEMBER("experts_declared", experts_declared),
    PLAN_MEMBER("judge", judge),
    PLAN_MEMBER("judge_discount", judge_discount),
    PLAN_MEMBER("audit", audit),
    PLAN_MEMBER("features_job", features_job),
    PLAN_MEMBER("shards", shards),
    PLAN_MEMBER("rehearsal_runs", rehearsal.runs),
    PLAN_MEMBER("rehearsal_steps", rehearsal.max_episode_steps),
    PLAN_MEMBER("rehearsal_floor", rehearsal.min_action_probability),
    PLAN_MEMBER("policy", policy),
    PLAN_MEMBER("q_release", q_release),
    {.name = NULL},
};

static json_t *world_json(const struct job_world *world)
{
    json_t *json = json_object();
    if (world->name[0] != '\0')
        job_world_write(world, json);
    return json;
}

static json_t *evaluate_json(const struct job_plan *plan)
{
    json_t *json = world_json(&plan->evaluate);
    if (plan->evaluate.name[0] != '\0')
        plan_members_write(evaluate_members, plan, json);
    return json;
}

static json_t *plan_json(const struct job_plan *plan)
{
    json_t *tries = json_array(), *request = json_object();
    for (uint32_t t = 0; t < plan->try_count; t++)
        json_list_add(&tries, plan_json(&plan->tries[t]));
    plan_members_write(request_members, plan, request);
    json_t *json = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "algorithm",
        plan->algorithm->name, "mechanism", algorithm_mechanism_name(plan->request.mechanism),
        "request", request, "parameters", job_plan_parameters(plan), "privacy",
        job_plan_privacy(plan), "shape", shape_json(&plan->plan.shape), "evaluate",
        evaluate_json(plan), "learn", world_json(&plan->learn), "tries", tries, "teacher",
        job_teacher_json(plan), "choose", job_choose_json(plan));
    plan_members_write(plan_members, plan, json);
    return json;
}

char *job_plan_write(const struct job_plan *plan)
{
    json_t *json = plan_json(plan);
    json_object_set_new(json, "features", job_features_json(plan->request.features));
    size_t size;
    char *text = json_text_write(json, false, &size);
    json_decref(json);
    return text;
}

static bool plan_parse(const json_t *json, struct job_plan *out)
{
    const char *algorithm = json_string_value(json_object_get(json, "algorithm"));
    const char *mechanism = json_string_value(json_object_get(json, "mechanism"));
    *out = (struct job_plan){0};
    if (!algorithm || !mechanism)
        return false;
    out->algorithm = algorithm_find(algorithm);
    int index = algorithm_mechanism_find(mechanism);
    if (!out->algorithm || index < 0)
        return false;
    out->request.mechanism = (enum algorithm_mechanism)index;
    const json_t *privacy = json_object_get(json, "privacy");
    const json_t *evaluate = json_object_get(json, "evaluate");
    plan_members_read(plan_members, json, out);
    plan_members_read(request_members, json_object_get(json, "request"), out);
    plan_members_read(steps_members, privacy, out);
    plan_members_read(evaluate_members, evaluate, out);
    if (out->rehearsal.runs > 0 && !rehearsal_fits(out->algorithm, &out->request, &out->rehearsal))
        return false;
    if (!job_stage_parse(privacy, out) ||
        !job_judge_parse(json_object_get(privacy, "judge"), out) ||
        !job_teacher_parse(json_object_get(json, "teacher"), out) ||
        !job_world_read(evaluate, &out->evaluate) ||
        !job_world_read(json_object_get(json, "learn"), &out->learn) ||
        !job_choose_parse(json_object_get(json, "choose"), out))
        return false;
    if (out->request.mechanism == MECHANISM_GAUSSIAN_PROCESS &&
        !q_terms_read(json_object_get(privacy, "release"), &out->plan.release))
        return false;
    if (!shape_read(json_object_get(json, "shape"), &out->plan.shape))
        return false;
    out->plan.parameter_count = mlp_parameter_count(&out->plan.shape);
    out->unfit = job_plan_parameters_read(out->algorithm, json_object_get(json, "parameters"),
                                          &out->request.parameters);
    return !out->unfit;
}

/* The tries of a sweep are plans without tries. */
static bool read_tries(const json_t *array, struct job_plan *out)
{
    size_t count = json_array_size(array);
    if (count == 0)
        return true;
    if (count > JOB_SWEEP_MAX)
        return false;
    out->try_count = (uint32_t)count;
    out->tries = memory_new(count, sizeof *out->tries);
    bool good = true;
    for (size_t t = 0; good && t < count; t++) {
        good = plan_parse(json_array_get(array, t), &out->tries[t]);
        out->tries[t].request.features = out->features;
        out->unfit = out->tries[t].unfit;
    }
    return good;
}

void job_plan_clear(struct job_plan *plan)
{
    for (uint32_t t = 0; t < plan->try_count; t++)
        job_stage_grid_clear(&plan->tries[t].request.stage.grid);
    job_stage_grid_clear(&plan->request.stage.grid);
    free(plan->tries);
    free(plan->features);
    plan->request.features = plan->features = NULL;
    plan->tries = NULL;
    plan->try_count = 0;
}

bool job_plan_read(const char *text, struct job_plan *out)
{
    json_t *json = json_text_stored(text);
    bool good = plan_parse(json, out) &&
                job_features_parse(json_object_get(json, "features"), out) &&
                read_tries(json_object_get(json, "tries"), out);
    if (!good)
        job_plan_clear(out);
    json_decref(json);
    return good;
}
