/* "auto": what the advisor ranks first takes its place in the body, before anything else is read.
 * From then on the job is one that could have been asked for by name. */
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/jobs/ask/job_advice.h"
#include "api/json/json_text.h"

static bool auto_named(const json_t *body, const char *member)
{
    const char *text = json_string_value(json_object_get(body, member));
    return text && strcmp(text, "auto") == 0;
}

/* Members that say how, which is what "auto" is asked to say. */
static void auto_refuse_others(struct call *call)
{
    static const char *const members[] = {"sweep", "shards", "environment", "teacher", "client"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (field_sent(call->body, members[i])) {
            call_invalid(call, arena_format(&call->arena, "/%s", members[i]),
                         "has no meaning beside \"auto\"");
        }
    }
}

static bool auto_read(struct call *call, const char **out_dataset, double *out_epsilon,
                      double *out_delta)
{
    json_t *privacy = json_object_get(call->body, "privacy");
    const json_t *dataset = json_object_get(call->body, "dataset");
    bool force = false;
    const struct field fields[] = {
        field_positive("epsilon", out_epsilon, JOB_EPSILON_MAX),
        field_positive("delta", out_delta, 0.5),
        field_optional(field_bool("force", &force)),
    };
    *out_dataset = json_string_value(dataset);
    if (!*out_dataset || strlen(*out_dataset) >= ID_SIZE)
        call_invalid(call, "/dataset", "is required with \"auto\"");
    if (!privacy || json_is_null(privacy))
        call_invalid(call, "/privacy", "is required with \"auto\"");
    else
        (void)fields_read(call, privacy, "/privacy", fields, sizeof fields / sizeof fields[0]);
    auto_refuse_others(call);
    return call_error_count(call) == 0;
}

/* What "auto" is to keep to. */
static bool auto_limits(struct call *call, const struct algorithm **out_algorithm,
                        int *out_mechanism)
{
    const char *algorithm = json_string_value(json_object_get(call->body, "algorithm"));
    const char *mechanism = json_string_value(json_object_get(call->body, "mechanism"));
    *out_algorithm = NULL;
    *out_mechanism = -1;
    if (algorithm && strcmp(algorithm, "auto") != 0) {
        *out_algorithm = algorithm_find(algorithm);
        if (!*out_algorithm)
            call_invalid(call, "/algorithm", "is not known; see GET /v1/algorithms");
    }
    if (mechanism && strcmp(mechanism, "auto") != 0)
        *out_mechanism = algorithm_mechanism_find(mechanism);
    if (*out_algorithm && (*out_algorithm)->kind != ALGORITHM_LEARNS_FROM_DATA) {
        call_invalid(
            call, "/mechanism",
            "must be named: \"auto\" chooses among the mechanisms of algorithms that learn "
            "a policy from a dataset");
    }
    if (mechanism && strcmp(mechanism, "auto") != 0 &&
        (*out_mechanism < 0 || *out_mechanism == MECHANISM_NONE)) {
        call_invalid(call, "/mechanism",
                     "must be \"auto\", or one with noise: \"dpsgd\", \"selective_dpsgd\" or "
                     "\"consensus\"");
    }
    return call_error_count(call) == 0;
}

/* The sent body with the members of RANKED; what was sent of parameters stays. */
static void auto_replace(struct call *call, const struct advice_ranked *ranked, const char *dataset)
{
    json_t *taken = json_copy(call->body);
    json_t *chosen = job_candidate_body(ranked, dataset);
    json_t *privacy = json_copy(json_object_get(taken, "privacy"));
    json_t *parameters = json_object_get(chosen, "parameters");
    const json_t *sent = json_object_get(taken, "parameters");
    json_object_update_missing(privacy, json_object_get(chosen, "privacy"));
    json_object_set_new(chosen, "privacy", privacy);
    if (parameters && json_is_object(sent))
        json_object_update(parameters, (json_t *)sent);
    if (sent && !json_is_object(sent)) /* its fault is told with all others */
        json_object_del(chosen, "parameters");
    json_object_update(taken, chosen);
    json_decref(chosen);
    (void)call_own(call, call->body); /* texts of it are borrowed */
    call->body = taken;
}

enum problem job_auto_take(struct call *call)
{
    if (!auto_named(call->body, "algorithm") && !auto_named(call->body, "mechanism"))
        return PROBLEM_NONE;
    struct advice_facts facts;
    struct dataset_row row;
    const struct algorithm *algorithm;
    const char *dataset;
    int mechanism;
    double epsilon = 0, delta = 0;
    bool good = auto_read(call, &dataset, &epsilon, &delta);
    if (!auto_limits(call, &algorithm, &mechanism) || !good)
        return PROBLEM_VALIDATION;
    enum problem problem = dataset_of_owner(call, dataset, &row);
    if (problem == PROBLEM_NOT_FOUND)
        call_invalid(call, "/dataset", "is not known");
    if (problem == PROBLEM_NONE)
        problem = job_facts_of_dataset(call, &row, &facts);
    if (problem != PROBLEM_NONE)
        return problem;
    facts.epsilon = epsilon;
    facts.delta = delta;
    struct advice_ranked *ranked = arena_array(&call->arena, ADVICE_RANKED_MAX, sizeof *ranked);
    facts.work = arena_array(&call->arena, 1, sizeof *facts.work);
    facts.work->work.left = JOB_ADVICE_STEPS;
    unsigned count = advice_rank(&facts, algorithm, mechanism, ranked);
    if (facts.work->work.left <= 0) /* candidates may be missing */
        return job_advice_too_much(call);
    if (count == 0) {
        return call_problem(call, PROBLEM_INFEASIBLE,
                            "Nothing that \"auto\" may take can be planned with this privacy.");
    }
    auto_replace(call, &ranked[0], dataset);
    return PROBLEM_NONE;
}
