/* The scale of a dataset's numbers, in requests and plans. */
#include <math.h>
#include <stdlib.h>

#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/jobs/ask/job_parts.h"
#include "api/json/json_text.h"

enum problem job_features_fit(struct call *call, const struct dataset_row *dataset,
                              struct job_plan *plan)
{
    struct description *description;
    enum problem problem = dataset_describe(call, dataset->id, &description);
    if (problem == PROBLEM_NONE && description)
        plan->request.features = description->ranges;
    return problem;
}

/* True when the request says NAME itself, for all runs or for each try of a sweep. */
static bool is_given(const struct job_members *members, const char *name)
{
    return field_sent(members->parameters, name) || field_sent(members->sweep, name);
}

#define UNKNOWN_SCALE                                                                              \
    "is required: the dataset neither describes its features nor names an environment, so "        \
    "nothing "                                                                                     \
    "says how large its numbers are, and a budget would be spent on numbers that do not suit the " \
    "network. Make the dataset with a \"description\" (docs/own-data.md), or give "

enum problem job_features_check(struct call *call, const struct job_members *members,
                                const struct dataset_row *dataset, const struct job_plan *plan)
{
    bool free = plan->request.mechanism == MECHANISM_NONE && plan->shards == 0;
    if (free || plan->request.features || dataset->environment[0] != '\0')
        return PROBLEM_NONE;
    if (!plan->request.protects_rewards && !is_given(members, "input_scale"))
        return call_invalid(call, "/parameters/input_scale",
                            UNKNOWN_SCALE "input_scale, and input_center where it has one, from "
                                          "public knowledge");
    static const char *const bounds[] = {"low", "high"};
    for (size_t i = 0; i < 2 && plan->algorithm->kind == ALGORITHM_RELEASES_Q; i++)
        if (!is_given(members, bounds[i]))
            return call_invalid(call, i == 0 ? "/parameters/low" : "/parameters/high",
                                UNKNOWN_SCALE "low and high from public knowledge");
    return PROBLEM_NONE;
}

/* ---- plans */

json_t *job_features_json(const struct features *features)
{
    if (!features)
        return json_null();
    json_t *low = json_array(), *high = json_array();
    for (uint32_t d = 0; d < features->count; d++) {
        json_list_add(&low, json_number(features->range[d].low));
        json_list_add(&high, json_number(features->range[d].high));
    }
    return json_pack("{s:o, s:o}", "low", low, "high", high);
}

bool job_features_parse(const json_t *json, struct job_plan *out)
{
    if (!json || json_is_null(json)) /* earlier versions had none */
        return true;
    const json_t *low = json_object_get(json, "low"), *high = json_object_get(json, "high");
    uint32_t count = out->request.state_dim;
    if (json_array_size(low) != count || json_array_size(high) != count)
        return false;
    out->features = features_new(count);
    out->request.features = out->features;
    for (uint32_t d = 0; d < count; d++) {
        struct feature_range *range = &out->features->range[d];
        range->low = json_number_value(json_array_get(low, d));
        range->high = json_number_value(json_array_get(high, d));
        if (!(range->low < range->high))
            return false;
    }
    return true;
}
