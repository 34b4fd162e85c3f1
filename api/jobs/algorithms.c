/* The catalogue of learning algorithms: the tables that validate a job, written out. */
#include "api/jobs/jobs.h"

#include "algos/catalogue/algorithms.h"
#include "api/jobs/ask/job_kind.h"
#include "api/json/json_text.h"

/* ---- one parameter */

static const char *type_name(enum parameter_type type)
{
    switch (type) {
    case PARAMETER_REAL:
    case PARAMETER_REAL_EACH: return "number";
    case PARAMETER_INTEGER: return "integer";
    case PARAMETER_INTEGER_LIST: return "integers";
    case PARAMETER_REAL_LIST: return "numbers";
    case PARAMETER_CHOICE:
    case PARAMETER_Q_LEARNER: break;
    }
    return "choice";
}

/* The defaults of worlds that have their own: {"hiv": ...}. */
static json_t *overrides_json(const struct algorithm *algorithm, unsigned index)
{
    json_t *worlds = json_object();
    for (unsigned i = 0; i < algorithm->override_count; i++) {
        const struct parameter_override *one = &algorithm->overrides[i];
        if (one->index == index) {
            json_object_set_new(worlds, one->world,
                                job_parameter_json(&algorithm->parameters[index], &one->value));
        }
    }
    return worlds;
}

static json_t *choices_json(const struct parameter_spec *spec)
{
    json_t *choices = json_array();
    for (unsigned i = 0; parameters_choice(spec, i); i++)
        json_array_append_new(choices, json_string(parameters_choice(spec, i)));
    return choices;
}

/* A choice has choices, any other parameter has bounds (of a list: of each element). */
static json_t *parameter_json(const struct algorithm *algorithm, unsigned index)
{
    const struct parameter_spec *spec = &algorithm->parameters[index];
    json_t *one = json_pack(
        "{s:s, s:s, s:o, s:o, s:s, s:s}", "name", spec->name, "type", type_name(spec->type),
        "default", job_parameter_json(spec, &spec->value), "environment_defaults",
        overrides_json(algorithm, index), "unit", spec->unit, "meaning", spec->meaning);
    if (spec->type == PARAMETER_REAL_EACH)
        json_object_set_new(one, "coordinates", json_true());
    if (parameters_is_choice(spec)) {
        json_object_set_new(one, "choices", choices_json(spec));
        return one;
    }
    json_object_set_new(one, "minimum", json_number(spec->min));
    json_object_set_new(one, "maximum", json_number(spec->max));
    return one;
}

/* ---- one algorithm */

static json_t *mechanisms_json(const struct algorithm *algorithm)
{
    json_t *names = json_array();
    for (int m = 0; m < MECHANISM_COUNT; m++) {
        if (algorithm->mechanisms[m]) {
            const char *name = algorithm_mechanism_name((enum algorithm_mechanism)m);
            json_array_append_new(names, json_string(name));
        }
    }
    return names;
}

static json_t *algorithm_json(const struct algorithm *algorithm)
{
    json_t *parameters = json_array();
    enum job_source source = job_kind(algorithm)->source;
    for (unsigned i = 0; i < algorithm->parameter_count; i++)
        json_array_append_new(parameters, parameter_json(algorithm, i));
    return json_pack("{s:s, s:s, s:o, s:o, s:b, s:b, s:b, s:o}", "name", algorithm->name, "summary",
                     algorithm->summary, "mechanisms", mechanisms_json(algorithm), "privacy_unit",
                     json_text_or_null(algorithm->privacy_unit), "needs_dataset",
                     (int)(source == JOB_SOURCE_DATASET), "needs_environment",
                     (int)(source == JOB_SOURCE_WORLD), "needs_policy",
                     (int)(source == JOB_SOURCE_POLICY), "parameters", parameters);
}

enum problem api_algorithms_list(struct call *call)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    json_t *items = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(items, algorithm_json(all[i]));
    return call_reply_json(call, 200, json_pack("{s:o, s:n}", "items", items, "next_page_token"));
}
