/* A job's request: members, the algorithm's parameters, the dataset, then the plan. Every fault of
 * the form is gathered before anything is looked up. */
#include "api/jobs/ask/job_request.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/offline/shards.h"
#include "algos/release/ensemble.h"
#include "api/call/app.h"
#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/data/environment_choice.h"
#include "api/jobs/ask/job_choose.h"
#include "api/jobs/ask/job_judge.h"
#include "api/jobs/ask/job_parameters.h"
#include "api/jobs/ask/job_play.h"
#include "api/jobs/ask/job_release.h"
#include "api/jobs/ask/job_shards.h"
#include "api/jobs/ask/job_stage.h"
#include "api/jobs/ask/job_sweep.h"
#include "api/jobs/ask/job_teacher.h"

#define EPISODES_MAX  1000
#define EPISODES      100
#define EPISODE_STEPS 10000

struct members {
    const char *algorithm, *mechanism, *dataset, *teacher, *client;
    json_t *environment, *privacy, *parameters, *evaluate, *choose, *sweep, *judge;
    const char *judge_dataset;
    int64_t shards; /* 0: not sent */
    struct job_play_members play;
};

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
    if (out->mechanism == MECHANISM_GAUSSIAN_PROCESS)
        job_release_read(call, object, logged, out);
    else
        job_stage_read(call, object, out);
    if (out->delta >= 1)
        call_invalid(call, "/privacy/delta", "must be below 1");
}

static void read_evaluate(struct call *call, const json_t *object, struct job_plan *out)
{
    if (!object)
        return;
    json_t *environment = NULL;
    struct environment_choice choice;
    int64_t episodes = EPISODES, steps = 0;
    const struct field fields[] = {
        field_any("environment", &environment),
        field_optional(field_integer("episodes", &episodes, 1, EPISODES_MAX)),
        field_optional(field_integer("max_episode_steps", &steps, 1, EPISODE_STEPS)),
    };
    if (!fields_read(call, object, "/evaluate", fields, 3))
        return;
    if (!environment_choice_read(call, "/evaluate/environment", environment, &choice))
        return;
    const struct env *world = choice.env;
    job_world_set(&out->evaluate, &choice);
    out->episodes = (uint32_t)episodes;
    if (steps == 0)
        steps = world->max_episode_steps < EPISODE_STEPS ? world->max_episode_steps : EPISODE_STEPS;
    out->max_episode_steps = (uint32_t)steps;
}

/* False when the mechanism is not known: what it would ask for is not known either. */
static bool read_mechanism(struct call *call, const char *name, struct job_plan *out)
{
    const struct algorithm *algorithm = out->algorithm;
    int usual = algorithm->mechanisms[MECHANISM_DPSGD]           ? MECHANISM_DPSGD
                : algorithm->mechanisms[MECHANISM_LOCAL_REPORTS] ? MECHANISM_LOCAL_REPORTS
                : algorithm->gives_q_release                     ? MECHANISM_GAUSSIAN_PROCESS
                : algorithm->asks_teacher                        ? MECHANISM_TEACHER_ANSWERS
                                                                 : MECHANISM_NONE;
    int index = name ? algorithm_mechanism_find(name) : usual;
    if (index < 0 || !algorithm->mechanisms[index]) {
        char list[96] = "";
        size_t size = 0;
        for (int m = 0; m < MECHANISM_COUNT; m++) {
            if (algorithm->mechanisms[m]) {
                size += (size_t)snprintf(list + size, sizeof list - size, "%s\"%s\"",
                                         size > 0 ? ", " : "",
                                         algorithm_mechanism_name((enum algorithm_mechanism)m));
            }
        }
        call_invalid(call, "/mechanism", "must be one of %s for %s", list, algorithm->name);
        return false;
    }
    out->request.mechanism = (enum algorithm_mechanism)index;
    return true;
}

static void unknown_algorithm(struct call *call)
{
    char list[256] = "";
    size_t size = 0;
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < count && size < sizeof list; i++) {
        int more =
            snprintf(list + size, sizeof list - size, "%s\"%s\"", i > 0 ? ", " : "", all[i]->name);
        size += more > 0 ? (size_t)more : 0;
    }
    call_invalid(call, "/algorithm", "is not known: there is %s; see GET /v1/algorithms", list);
}

/* What it learns from: a dataset, or a world to play in. */
static void read_source(struct call *call, const struct members *members, struct job_plan *out)
{
    const struct algorithm *algorithm = out->algorithm;
    struct algorithm_request *request = &out->request;
    struct environment_choice choice;
    bool named = members->environment && !json_is_null(members->environment);
    bool either = algorithm->may_play && request->protects_rewards;
    bool plays = algorithm->needs_world || (either && named);
    if (either && named && members->dataset) {
        call_invalid(call, "/environment", "has no meaning beside a dataset");
        return;
    }
    if (algorithm->needs_dataset && !field_sent(call->body, "dataset") && !plays) {
        call_invalid(call, "/dataset", "%s",
                     either ? "is required with privacy/unit \"reward\", or environment: a world "
                              "to play in"
                            : "is required by this algorithm");
    }
    if (!algorithm->needs_dataset && members->dataset) {
        call_invalid(call, "/dataset",
                     "has no meaning with this algorithm, which takes no dataset");
    }
    if (!plays && named) {
        call_invalid(call, "/environment",
                     algorithm->may_play
                         ? "has a meaning with privacy/unit \"reward\" alone"
                         : "has no meaning with this algorithm, which plays nowhere");
    }
    if (algorithm->gives_findings && members->evaluate)
        call_invalid(call, "/evaluate", "has no meaning with this algorithm: it gives no policy");
    if (algorithm->needs_world && !named)
        call_invalid(call, "/environment", "is required by this algorithm");
    if (plays && named &&
        environment_choice_read(call, "/environment", members->environment, &choice)) {
        job_world_set(&out->learn, &choice);
        request->world = choice.env;
        request->state_dim = choice.env->state_dim;
        request->action_count = choice.env->action_count;
        memcpy(request->world_parameters, choice.parameters, sizeof request->world_parameters);
    }
}

static bool read_members(struct call *call, struct members *members, struct job_plan *out,
                         struct job_sweep *out_sweep)
{
    *members = (struct members){0};
    const struct field fields[] = {
        field_text("algorithm", &members->algorithm, 1, 31),
        field_optional(field_text("mechanism", &members->mechanism, 1, 31)),
        field_optional(field_text("dataset", &members->dataset, 1, ID_SIZE - 1)),
        field_optional(field_any("environment", &members->environment)),
        field_optional(field_text("policy", &members->play.policy, 1, ID_SIZE - 1)),
        field_optional(field_text("q_release", &members->play.q_release, 1, ID_SIZE - 1)),
        field_optional(field_text("teacher", &members->teacher, 1, ID_SIZE - 1)),
        field_optional(field_text("client", &members->client, 1, ID_SIZE - 1)),
        field_optional(field_object("privacy", &members->privacy)),
        field_optional(field_object("parameters", &members->parameters)),
        field_optional(field_object("evaluate", &members->evaluate)),
        field_optional(field_object("choose", &members->choose)),
        field_optional(field_object("sweep", &members->sweep)),
        field_optional(field_object("judge", &members->judge)),
        field_optional(field_integer("shards", &members->shards, ENSEMBLE_SHARDS_MIN, SHARDS_MAX)),
    };
    bool good = fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]);
    if (!members->algorithm)
        return false;
    out->algorithm = algorithm_find(members->algorithm);
    if (!out->algorithm) {
        unknown_algorithm(call);
        return false;
    }
    const char *mechanism =
        !members->mechanism && field_sent(call->body, "shards") ? "none" : members->mechanism;
    bool known = read_mechanism(call, mechanism, out);
    if (known)
        read_privacy(call, members->privacy, members->dataset, &out->request);
    read_source(call, members, out);
    members->play.evaluates = members->evaluate != NULL;
    members->play.judges = members->judge != NULL;
    job_play_check(call, &members->play, out);
    const struct env *world = out->request.world;
    job_parameters_read(call, "/parameters", out->algorithm, !world ? NULL : world->name,
                        members->parameters, &out->request.parameters);
    read_evaluate(call, members->evaluate, out);
    job_choose_read(call, members->choose, out);
    if (members->judge)
        job_judge_read(call, members->judge, &members->judge_dataset);
    if (known)
        job_shards_read(call, call->body, members->shards, out);
    if (members->sweep && known && out->request.mechanism == MECHANISM_TEACHER_ANSWERS) {
        call_invalid(call, "/sweep",
                     "has no meaning where a teacher is asked: every try would have to pay for its "
                     "own answers, as jobs of their own do");
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
    plan->request.nominal_experts =
        (uint32_t)(plan->experts_declared ? dataset->nominal_experts : dataset->experts);
    return PROBLEM_NONE;
}

/* What is learned must be able to play where it is to be evaluated. */
static enum problem check_evaluation(struct call *call, const struct job_plan *plan)
{
    const struct env *env = worlds_find(call->app->settings.worlds, plan->evaluate.name);
    const struct algorithm_request *request = &plan->request;
    if (!env ||
        (env->state_dim == request->state_dim && env->action_count == request->action_count))
        return PROBLEM_NONE;
    return call_invalid(call, "/evaluate/environment",
                        "has states of %u numbers and %u actions; the %s has %u and %u",
                        env->state_dim, env->action_count,
                        plan->algorithm->plays_given ? "policy"
                        : !request->world            ? "dataset"
                                                     : "environment",
                        request->state_dim, request->action_count);
}

/* A plan's message about one parameter begins with that parameter's name and a verb. */
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

enum problem job_wish_read(struct call *call, struct job_wish *out)
{
    struct members members;
    struct job_sweep sweep = {0};
    *out = (struct job_wish){0};
    struct job_plan *plan = &out->plan;
    if (!read_members(call, &members, plan, &sweep))
        return PROBLEM_VALIDATION;
    if (members.dataset) {
        enum problem problem = read_dataset(call, members.dataset, out);
        if (problem != PROBLEM_NONE)
            return problem;
        problem = job_stage_fit(call, &out->dataset, plan);
        if (problem != PROBLEM_NONE)
            return problem;
        /* Faultless by now; the world, which the dataset names, may have defaults of its own. */
        job_parameters_read(call, "/parameters", plan->algorithm, out->dataset.environment,
                            members.parameters, &plan->request.parameters);
    }
    enum problem unfit =
        plan->algorithm->plays_given ? job_play_fit(call, &members.play, plan) : PROBLEM_NONE;
    if (unfit == PROBLEM_NONE)
        unfit = job_teacher_fit(call, members.teacher, members.client, plan);
    if (unfit == PROBLEM_NONE)
        unfit = check_evaluation(call, plan);
    if (unfit == PROBLEM_NONE)
        unfit = job_choose_fit(call, plan);
    if (unfit == PROBLEM_NONE && members.judge_dataset)
        unfit = job_judge_fit(call, members.judge_dataset, plan);
    if (unfit != PROBLEM_NONE)
        return unfit;
    /* A public coin; JSON's integers are exact to 2^53. */
    randombytes_buf(&plan->request.seed, sizeof plan->request.seed);
    plan->request.seed >>= 11;
    const char *message = NULL;
    switch (sweep.axis_count > 0 ? job_sweep_plan(call, &sweep, plan, &message)
                                 : plan->algorithm->plan(&plan->request, &plan->plan, &message)) {
    case ALGORITHM_OK:
        out->feasible = true;
        return job_shards_fit(call, plan);
    case ALGORITHM_INFEASIBLE:
        out->why_not = !message ? "no plan fits" : message;
        return PROBLEM_NONE;
    case ALGORITHM_BAD_INPUT:
        return refuse_parameters(call, plan, !message ? "do not fit" : message);
    default:
        return PROBLEM_INTERNAL_ERROR;
    }
}
