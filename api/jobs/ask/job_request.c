/* A job's request: members, the algorithm's parameters, the dataset, then the plan. Every fault of
 * the form is gathered before anything is looked up. */
#include "api/jobs/ask/job_request.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/offline/shards.h"
#include "algos/release/ensemble.h"
#include "api/call/fields.h"
#include "api/call/project.h"
#include "api/data/datasets.h"
#include "api/data/environment_choice.h"
#include "api/jobs/ask/job_advice.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/ask/job_sweep.h"
#include "api/json/near_name.h"
#include "memory/buffer.h"

#define EPISODES 100

/* ---- the other members */

static void read_privacy(struct call *call, const json_t *object, bool logged,
                         struct algorithm_request *out)
{
    if (out->mechanism == MECHANISM_NONE) {
        if (object) {
            call_invalid(call, "/privacy",
                         "has no meaning with mechanism \"none\", which guarantees nothing");
        }
        return;
    }
    if (out->mechanism == MECHANISM_TEACHER_ANSWERS) {
        if (object) {
            call_invalid(call, "/privacy",
                         "has no meaning with this mechanism: the teacher's budgets pay");
        }
        return;
    }
    if (!object) {
        if (!field_sent(call->body, "privacy"))
            call_invalid(call, "/privacy", "is required with this mechanism");
        return;
    }
    job_privacy_read(call, object, logged, out);
    if (out->delta >= 1)
        call_invalid(call, "/privacy/delta", "must be below 1");
}

static void read_evaluate(struct call *call, const json_t *object, struct job_plan *out)
{
    struct environment_choice place;
    struct choice playing = {.episodes = EPISODES};
    if (!object || !job_playing_read(call, "/evaluate", object, &place, &playing))
        return;
    job_world_set(&out->evaluate, &place);
    out->episodes = playing.episodes;
    out->max_episode_steps = playing.max_steps;
}

#define LIST_MAX             4096
#define ALGORITHMS_NEAR_MOST 64

static void list_name(struct buffer *list, const char *name)
{
    if (list->size > 0)
        buffer_add_text(list, ", ");
    buffer_add_format(list, "\"%s\"", name);
}

/* The default mechanism: the strongest that ALGORITHM has. */
static int usual_mechanism(const struct algorithm *algorithm)
{
    static const int order[] = {MECHANISM_DPSGD, MECHANISM_LOCAL_REPORTS,
                                MECHANISM_GAUSSIAN_PROCESS, MECHANISM_GAUSSIAN,
                                MECHANISM_TEACHER_ANSWERS};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (algorithm->mechanisms[order[i]])
            return order[i];
    return MECHANISM_NONE;
}

/* Reads the mechanism. False: it is unknown, so that the members it requires are unknown, too. */
static bool read_mechanism(struct call *call, const char *name, struct job_plan *out)
{
    const struct algorithm *algorithm = out->algorithm;
    int index = usual_mechanism(algorithm);
    if (name)
        index = algorithm_mechanism_find(name);
    if (index < 0 || !algorithm->mechanisms[index]) {
        struct buffer list = {.lid = LIST_MAX};
        const char *names[MECHANISM_COUNT];
        unsigned count = 0;
        char hint[NEAR_HINT_SIZE] = "";
        for (int m = 0; m < MECHANISM_COUNT; m++) {
            if (!algorithm->mechanisms[m])
                continue;
            names[count] = algorithm_mechanism_name((enum algorithm_mechanism)m);
            list_name(&list, names[count++]);
        }
        if (name)
            near_hint(name, names, count, hint);
        call_invalid(call, "/mechanism", "must be one of %s for %s%s", list.bytes, algorithm->name,
                     hint);
        buffer_clear(&list);
        return false;
    }
    out->request.mechanism = (enum algorithm_mechanism)index;
    return true;
}

static void refuse_algorithm(struct call *call, const char *name)
{
    struct buffer list = {.lid = LIST_MAX};
    const char *names[ALGORITHMS_NEAR_MOST];
    unsigned count;
    char hint[NEAR_HINT_SIZE];
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < count; i++) {
        list_name(&list, all[i]->name);
        if (i < ALGORITHMS_NEAR_MOST)
            names[i] = all[i]->name;
    }
    near_hint(name, names, count < ALGORITHMS_NEAR_MOST ? count : ALGORITHMS_NEAR_MOST, hint);
    call_invalid(call, "/algorithm", "is not known: there is %s; see GET /v1/algorithms%s",
                 list.bytes, hint);
    buffer_clear(&list);
}

static bool read_members(struct call *call, struct job_members *members, struct job_plan *out,
                         struct job_sweep *out_sweep)
{
    *members = (struct job_members){0};
    const struct field fields[] = {
        field_text("algorithm", &members->algorithm, 1, 31),
        field_optional(field_text("mechanism", &members->mechanism, 1, 31)),
        field_optional(field_text("dataset", &members->dataset, 1, ID_SIZE - 1)),
        field_optional(field_any("environment", &members->environment)),
        field_optional(field_text("policy", &members->policy, 1, ID_SIZE - 1)),
        field_optional(field_text("q_release", &members->q_release, 1, ID_SIZE - 1)),
        field_optional(field_text("teacher", &members->teacher, 1, ID_SIZE - 1)),
        field_optional(field_text("client", &members->client, 1, ID_SIZE - 1)),
        field_optional(field_text("audit", &members->audit, 1, ID_SIZE - 1)),
        PROJECT_FIELD(&members->project),
        field_optional(field_text("features", &members->features, 1, ID_SIZE - 1)),
        field_optional(field_text("i_understand", &members->understood, 1, 31)),
        field_optional(field_object("privacy", &members->privacy)),
        field_optional(field_object("parameters", &members->parameters)),
        field_optional(field_object("evaluate", &members->evaluate)),
        field_optional(field_object("choose", &members->choose)),
        field_optional(field_object("sweep", &members->sweep)),
        field_optional(field_object("judge", &members->judge)),
        field_optional(field_bool("rehearse", &members->rehearse)),
        field_optional(field_integer("shards", &members->shards, ENSEMBLE_SHARDS_MIN, SHARDS_MAX)),
    };
    bool good = fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]);
    if (!members->algorithm)
        return false;
    out->algorithm = algorithm_find(members->algorithm);
    if (!out->algorithm) {
        refuse_algorithm(call, members->algorithm);
        return false;
    }
    const char *mechanism = members->mechanism;
    if (!mechanism && field_sent(call->body, "shards"))
        mechanism = "none";
    bool known = read_mechanism(call, mechanism, out);
    if (known)
        read_privacy(call, members->privacy, members->dataset, &out->request);
    job_kind_read(call, members, out);
    job_parameters_read(call, "/parameters", out->algorithm,
                        (struct job_defaults){.world = out->learn.name}, members->parameters,
                        &out->request.parameters);
    read_evaluate(call, members->evaluate, out);
    job_choose_read(call, members->choose, out);
    if (members->judge)
        job_judge_read(call, members->judge, &members->judge_dataset, out);
    if (known)
        job_shards_read(call, call->body, members->shards, out);
    if (known)
        job_rehearsal_read(call, members->rehearse, out);
    if (members->sweep && known && out->request.mechanism == MECHANISM_TEACHER_ANSWERS) {
        call_invalid(call, "/sweep",
                     "is not possible where a teacher is asked: every try would pay for its own "
                     "answers, so submit a job for each try");
    } else if (members->sweep && known && members->shards == 0) {
        job_sweep_read(call, members->sweep, members->parameters, out, out_sweep);
    }
    return good && call_error_count(call) == 0;
}

/* ---- the dataset */

static enum problem read_dataset(struct call *call, const char *id, struct job_wish *out)
{
    enum problem problem = dataset_of_owner(call, id, &out->dataset);
    if (problem != PROBLEM_NONE) {
        if (problem == PROBLEM_NOT_FOUND)
            call_invalid(call, "/dataset", "is not known");
        return problem;
    }
    const struct dataset_row *dataset = &out->dataset;
    struct job_plan *plan = &out->plan;
    if (dataset->experts == 0 || dataset->transitions == 0)
        return call_problem(call, PROBLEM_DATASET_EMPTY, "The dataset holds no trajectory.");
    plan->dataset_public = dataset->is_public;
    plan->experts_declared = dataset->nominal_experts > 0;
    plan->request.discount = dataset->discount;
    plan->request.state_dim = dataset->state_dim;
    plan->request.action_count = dataset->action_count;
    plan->request.nominal_experts = (uint32_t)dataset->experts;
    if (plan->experts_declared)
        plan->request.nominal_experts = (uint32_t)dataset->nominal_experts;
    return PROBLEM_NONE;
}

/* Checks that the trained policy fits the world in which it is to be evaluated. */
static enum problem check_evaluation(struct call *call, const struct job_plan *plan)
{
    static const char *const sources[] = {[JOB_SOURCE_DATASET] = "dataset",
                                          [JOB_SOURCE_WORLD] = "environment",
                                          [JOB_SOURCE_POLICY] = "policy",
                                          [JOB_SOURCE_NOTHING] = "job"};
    const char *source = sources[job_kind(plan->algorithm)->source];
    if (plan->request.world)
        source = sources[JOB_SOURCE_WORLD];
    return job_playing_fit(call, "/evaluate/environment", &plan->evaluate, source, plan);
}

/* Turns a plan's message into a fault. A message about one parameter begins with that parameter's
 * name and a verb. */
static enum problem refuse_parameters(struct call *call, const struct job_plan *plan,
                                      const char *message)
{
    char name[64];
    size_t length = strcspn(message, " ");
    snprintf(name, sizeof name, "%.*s", (int)length, message);
    const struct algorithm *algorithm = plan->algorithm;
    const char *rest = message + length + (message[length] == ' ');
    bool of_one = strncmp(rest, "must ", 5) == 0 || strncmp(rest, "is ", 3) == 0 ||
                  strncmp(rest, "are ", 4) == 0;
    if (plan->try_count > 0 || !of_one ||
        parameters_index(algorithm->parameters, algorithm->parameter_count, name) < 0)
        return call_invalid(call, "/parameters", "%s", message);
    char pointer[96];
    snprintf(pointer, sizeof pointer, "/parameters/%s", name);
    return call_invalid(call, pointer, "%s", rest);
}

/* Reads the dataset that MEMBERS names, and what follows from it. */
static enum problem read_source(struct call *call, const struct job_members *members,
                                struct job_wish *out)
{
    struct job_plan *plan = &out->plan;
    enum problem problem = read_dataset(call, members->dataset, out);
    if (problem == PROBLEM_NONE)
        problem = job_stage_fit(call, &out->dataset, plan);
    if (problem == PROBLEM_NONE)
        problem = job_features_fit(call, members, &out->dataset, plan);
    if (problem != PROBLEM_NONE)
        return problem;
    /* Read again, now without faults: the dataset may have defaults of its own. */
    job_parameters_read(call, "/parameters", plan->algorithm,
                        (struct job_defaults){out->dataset.environment, plan->request.features},
                        members->parameters, &plan->request.parameters);
    return PROBLEM_NONE;
}

/* A job belongs to the project of what it uses. NAMED: the project that the request names. */
static enum problem job_project_fit(struct call *call, const char *named, struct job_wish *wish)
{
    struct job_plan *plan = &wish->plan;
    if (wish->dataset.id[0] != '\0')
        memcpy(plan->project, wish->dataset.owner, ID_SIZE);
    if (plan->project[0] == '\0')
        return project_of_new(call, named, plan->project);
    if (named && strcmp(named, plan->project) != 0)
        return call_invalid(call, "/project", "must be %s, that of what the job uses, or left out",
                            plan->project);
    return PROBLEM_NONE;
}

enum problem job_wish_read(struct call *call, struct job_wish *out)
{
    struct job_members members;
    struct job_sweep sweep = {0};
    *out = (struct job_wish){0};
    struct job_plan *plan = &out->plan;
    enum problem taken = job_delta_take(call);
    if (taken == PROBLEM_NONE)
        taken = job_auto_take(call);
    if (taken != PROBLEM_NONE)
        return taken;
    if (!read_members(call, &members, plan, &sweep))
        return PROBLEM_VALIDATION;
    if (members.dataset)
        taken = read_source(call, &members, out);
    if (taken != PROBLEM_NONE)
        return taken;
    const struct job_kind *kind = job_kind(plan->algorithm);
    enum problem unfit = job_unprotected_fit(call, members.understood, plan);
    if (unfit == PROBLEM_NONE)
        unfit = job_rehearsal_fit(call, &out->dataset, plan);
    if (unfit == PROBLEM_NONE && kind->fit)
        unfit = kind->fit(call, &members, plan);
    if (unfit == PROBLEM_NONE)
        unfit = job_teacher_fit(call, members.teacher, members.client, plan);
    if (unfit == PROBLEM_NONE)
        unfit = job_project_fit(call, members.project, out);
    if (unfit == PROBLEM_NONE)
        unfit = check_evaluation(call, plan);
    if (unfit == PROBLEM_NONE)
        unfit = job_playing_fit(call, "/choose/environment", &plan->choose, "dataset", plan);
    if (unfit == PROBLEM_NONE && members.judge)
        unfit = job_judge_fit(call, members.judge_dataset, &out->dataset, plan);
    if (unfit != PROBLEM_NONE)
        return unfit;
    /* The seed is public. JSON's integers are exact to 2^53. */
    randombytes_buf(&plan->request.seed, sizeof plan->request.seed);
    plan->request.seed >>= 11;
    const char *message = NULL;
    enum algorithm_status status;
    struct dp_sgd_work *work = arena_array(&call->arena, 1, sizeof *work);
    work->work.left = JOB_PLAN_STEPS;
    plan->request.work = work;
    if (plan->algorithm->settle)
        plan->algorithm->settle(&plan->request);
    if (sweep.axis_count > 0)
        status = job_sweep_plan(call, &sweep, plan, &message);
    else
        status = plan->algorithm->plan(&plan->request, &plan->plan, &message);
    switch (status) {
    case ALGORITHM_OK:
        out->feasible = true;
        if (members.audit)
            unfit = job_audit_fit(call, members.audit, plan);
        if (unfit == PROBLEM_NONE)
            unfit = job_shards_fit(call, plan);
        return unfit;
    case ALGORITHM_INFEASIBLE:
        out->why_not = "no plan fits";
        if (message)
            out->why_not = message;
        return PROBLEM_NONE;
    case ALGORITHM_BAD_INPUT:
        if (!message)
            message = "do not fit";
        return refuse_parameters(call, plan, message);
    case ALGORITHM_NO_MEMORY: return call_no_memory(call);
    default: return PROBLEM_INTERNAL_ERROR;
    }
}
