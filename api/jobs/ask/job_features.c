/* The scale of a dataset's numbers, in requests and plans. */
#include <stdlib.h>
#include <string.h>

#include "algos/release/feature_ranges.h"
#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/jobs/ask/job_parts.h"
#include "api/json/json_text.h"
#include "storage/jobs.h"

/* True when the request says NAME itself, for all runs or for each try of a sweep. */
static bool is_given(const struct job_members *members, const char *name)
{
    return field_sent(members->parameters, name) || field_sent(members->sweep, name);
}

#define UNKNOWN_SCALE                                                                              \
    "is required: the dataset neither describes its features nor names an environment, so "        \
    "nothing "                                                                                     \
    "says how large its numbers are, and a budget would be spent on numbers that do not suit the " \
    "network. Make the dataset with a \"description\" (docs/own-data.md), name a job of "          \
    "feature_ranges in \"features\", or give "

/* Whether anything says how large the numbers are. */
static enum problem features_check(struct call *call, const struct job_members *members,
                                   const struct dataset_row *dataset, const struct job_plan *plan)
{
    bool free = plan->request.mechanism == MECHANISM_NONE && plan->shards == 0;
    bool measures = plan->algorithm->kind == ALGORITHM_MEASURES;
    if (free || measures || plan->request.features || dataset->environment[0] != '\0')
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

/* ---- features that an earlier job has released */

/* Why JOB says nothing about DATASET: a sentence; NULL: it does. */
static const char *features_refusal(const struct job_row *job, const struct dataset_row *dataset)
{
    if (strcmp(job->algorithm, feature_ranges_algorithm.name) != 0)
        return "must be a job of algorithm feature_ranges";
    if (strcmp(job->dataset, dataset->id) != 0)
        return "measured another dataset: run one on this dataset";
    if (job->state != JOB_SUCCEEDED)
        return "must have succeeded: wait for its end, or run another";
    return NULL;
}

static void drop_features(void *features)
{
    free(features);
}

/* Takes the ranges out of what a job has found. */
static enum problem features_take(struct call *call, const struct job_row *job,
                                  struct job_plan *plan)
{
    json_t *found = json_text_stored(job->findings);
    bool clear = job_features_parse(json_object_get(found, "ranges"), plan) && plan->features;
    json_decref(found);
    call_defer(call, drop_features, plan->features);
    plan->request.features = plan->features;
    plan->features = NULL; /* the call's */
    memcpy(plan->features_job, job->id, sizeof plan->features_job);
    if (clear)
        return PROBLEM_NONE;
    return call_invalid(call, "/features",
                        "found no range for some coordinates, whose values were hidden by the "
                        "noise: run another with more epsilon, or give input_scale and "
                        "input_center");
}

static enum problem features_find(struct call *call, const char *id,
                                  const struct dataset_row *dataset, struct job_plan *plan)
{
    struct job_row job = {.plan = NULL};
    enum db_status status = jobs_find(call->db, id, &job);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    enum problem problem;
    if (status == DB_NONE || !call_owns(call, job.owner)) {
        call_invalid(call, "/features", "is not known");
        problem = call_problem(call, PROBLEM_NOT_FOUND, "There is no such job.");
    } else {
        const char *refusal = features_refusal(&job, dataset);
        if (refusal)
            problem = call_invalid(call, "/features", "%s", refusal);
        else
            problem = features_take(call, &job, plan);
    }
    job_done(&job);
    return problem;
}

enum problem job_features_fit(struct call *call, const struct job_members *members,
                              const struct dataset_row *dataset, struct job_plan *plan)
{
    struct description *description;
    enum problem problem = dataset_describe(call, dataset->id, &description);
    if (problem != PROBLEM_NONE)
        return problem;
    if (description)
        plan->request.features = description->ranges;
    if (members->features && description)
        return call_invalid(call, "/features",
                            "has no meaning here: the dataset describes its features");
    if (members->features)
        problem = features_find(call, members->features, dataset, plan);
    if (problem != PROBLEM_NONE)
        return problem;
    return features_check(call, members, dataset, plan);
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
        if (!(range->low < range->high)) /* both 0 where they are null */
            return false;
    }
    return true;
}
