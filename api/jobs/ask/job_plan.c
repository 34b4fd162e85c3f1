/* Plans between structs and JSON. Numbers are written in the shortest form that reads back as the
 * same double, so that what was accounted is what runs. */
#include "api/jobs/ask/job_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "api/jobs/ask/job_parts.h"
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

/* ---- the noisy steps, and what was before them */

static json_t *steps_json(const struct dp_sgd_plan *p)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "steps",
                     (json_int_t)p->steps, "noise_multiplier", json_number(p->noise_multiplier),
                     "sampling_rate", json_number(p->sampling_rate), "clip_norm",
                     json_number(p->clip_norm), "batch_size", (json_int_t)p->batch_size,
                     "nominal_experts", (json_int_t)p->nominal_experts, "rounded_draws",
                     (json_int_t)p->rounded_draws, "delta", json_number(p->delta), "epsilon",
                     json_number(p->epsilon), "epsilon_lower", json_number(p->epsilon_lower),
                     "epsilon_renyi", json_number(p->epsilon_renyi));
}

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
    json_t *json = steps_json(&plan->plan.privacy);
    json_t *stage = job_stage_json(plan), *figures = figures_json(plan);
    json_object_update(json, stage);
    json_object_update(json, figures);
    json_decref(stage);
    json_decref(figures);
    if (plan->request.mechanism == MECHANISM_GAUSSIAN_PROCESS)
        json_object_set_new(json, "release", q_terms_json(&plan->plan.release));
    return json;
}

/* What is infinite was written as null. */
static double number_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_number(value))
        return (double)INFINITY;
    return json_number_value(value);
}

static uint64_t plan_count(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));
    if (value < 0)
        return 0;
    return (uint64_t)value;
}

static uint32_t size_of(const json_t *object, const char *name)
{
    uint64_t value = plan_count(object, name);
    if (value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

static void privacy_read(const json_t *json, struct dp_sgd_plan *out)
{
    *out = (struct dp_sgd_plan){.sampling_rate = number_of(json, "sampling_rate"),
                                .noise_multiplier = number_of(json, "noise_multiplier"),
                                .clip_norm = number_of(json, "clip_norm"),
                                .batch_size = size_of(json, "batch_size"),
                                .nominal_experts = size_of(json, "nominal_experts"),
                                .steps = plan_count(json, "steps"),
                                .rounded_draws = plan_count(json, "rounded_draws"),
                                .delta = number_of(json, "delta"),
                                .epsilon = number_of(json, "epsilon"),
                                .epsilon_lower = number_of(json, "epsilon_lower"),
                                .epsilon_renyi = number_of(json, "epsilon_renyi")};
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
    *out = (struct mlp_shape){.input = size_of(json, "input"),
                              .layer_count = (uint32_t)json_array_size(widths)};
    out->activation = MLP_RELU;
    if (size_of(json, "activation") == MLP_TANH)
        out->activation = MLP_TANH;
    for (uint32_t l = 0; l < out->layer_count && l < MLP_MAX_LAYERS; l++) {
        json_int_t width = json_integer_value(json_array_get(widths, l));
        if (width > 0 && width <= MLP_MAX_WIDTH)
            out->width[l] = (uint32_t)width;
    }
    return mlp_shape_valid(out);
}

static json_t *request_json(const struct algorithm_request *r)
{
    return json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:I, s:b, s:b}", "epsilon", json_number(r->epsilon),
        "delta", json_number(r->delta), "discount", json_number(r->discount), "state_dim",
        (json_int_t)r->state_dim, "action_count", (json_int_t)r->action_count, "nominal_experts",
        (json_int_t)r->nominal_experts, "plain_share", json_number(r->plain_share), "seed",
        (json_int_t)r->seed, "force", (int)r->force, "protects_rewards", (int)r->protects_rewards);
}

static void request_read(const json_t *json, struct algorithm_request *out)
{
    out->epsilon = number_of(json, "epsilon");
    out->delta = number_of(json, "delta");
    out->discount = number_of(json, "discount");
    out->state_dim = size_of(json, "state_dim");
    out->action_count = size_of(json, "action_count");
    out->nominal_experts = size_of(json, "nominal_experts");
    out->plain_share = json_number_value(json_object_get(json, "plain_share"));
    out->seed = plan_count(json, "seed");
    out->force = json_is_true(json_object_get(json, "force"));
    out->protects_rewards = json_is_true(json_object_get(json, "protects_rewards"));
}

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
    if (plan->evaluate.name[0] != '\0') {
        json_member_add(&json, "episodes", json_integer(plan->episodes));
        json_member_add(&json, "max_episode_steps", json_integer(plan->max_episode_steps));
    }
    return json;
}

static json_t *plan_json(const struct job_plan *plan)
{
    json_t *tries = json_array();
    for (uint32_t t = 0; t < plan->try_count; t++)
        json_list_add(&tries, plan_json(&plan->tries[t]));
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:b, s:b, s:o, s:o, s:o, s:s, s:o, s:I, s:s, s:s, "
        "s:o, s:o}",
        "algorithm", plan->algorithm->name, "mechanism",
        algorithm_mechanism_name(plan->request.mechanism), "request", request_json(&plan->request),
        "parameters", job_plan_parameters(plan), "privacy", job_plan_privacy(plan), "shape",
        shape_json(&plan->plan.shape), "total_steps", (json_int_t)plan->plan.total_steps, "public",
        (int)plan->dataset_public, "experts_declared", (int)plan->experts_declared, "evaluate",
        evaluate_json(plan), "learn", world_json(&plan->learn), "tries", tries, "judge",
        plan->judge, "judge_discount", json_number(plan->judge_discount), "shards",
        (json_int_t)plan->shards, "policy", plan->policy, "q_release", plan->q_release, "teacher",
        job_teacher_json(plan), "choose", job_choose_json(plan));
}

char *job_plan_write(const struct job_plan *plan)
{
    json_t *json = plan_json(plan);
    size_t size;
    char *text = json_text_write(json, false, &size);
    json_decref(json);
    return text;
}

static void id_read(const json_t *json, const char *name, char out[ID_SIZE])
{
    const char *id = json_string_value(json_object_get(json, name));
    if (id)
        snprintf(out, ID_SIZE, "%s", id);
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
    request_read(json_object_get(json, "request"), &out->request);
    privacy_read(json_object_get(json, "privacy"), &out->plan.privacy);
    if (!job_stage_parse(json_object_get(json, "privacy"), out))
        return false;
    const json_t *release = json_object_get(json_object_get(json, "privacy"), "release");
    if (out->request.mechanism == MECHANISM_GAUSSIAN_PROCESS &&
        !q_terms_read(release, &out->plan.release))
        return false;
    if (!job_teacher_parse(json_object_get(json, "teacher"), out))
        return false;
    out->plan.total_steps = plan_count(json, "total_steps");
    out->dataset_public = json_is_true(json_object_get(json, "public"));
    out->experts_declared = json_is_true(json_object_get(json, "experts_declared"));
    const json_t *evaluate = json_object_get(json, "evaluate");
    out->episodes = size_of(evaluate, "episodes");
    out->max_episode_steps = size_of(evaluate, "max_episode_steps");
    id_read(json, "judge", out->judge);
    id_read(json, "policy", out->policy);
    id_read(json, "q_release", out->q_release);
    out->shards = size_of(json, "shards");
    out->judge_discount = json_number_value(json_object_get(json, "judge_discount"));
    if (!job_world_read(evaluate, &out->evaluate) ||
        !job_world_read(json_object_get(json, "learn"), &out->learn) ||
        !job_choose_parse(json_object_get(json, "choose"), out))
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
    plan->tries = NULL;
    plan->try_count = 0;
}

bool job_plan_read(const char *text, struct job_plan *out)
{
    json_t *json = json_text_stored(text);
    bool good = plan_parse(json, out) && read_tries(json_object_get(json, "tries"), out);
    if (!good)
        job_plan_clear(out);
    json_decref(json);
    return good;
}
