/* POST /v1/jobs:advise: what to ask for, what it is likely to be worth, and what would be enough.
 * It plans and forecasts; it spends nothing and reads no data. */
#include <math.h>
#include <string.h>

#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/data/environment_choice.h"
#include "api/jobs/ask/job_advice.h"
#include "api/jobs/job_rehearsed.h"
#include "api/jobs/jobs.h"
#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "api/json/text.h"

#define MOST_EXPERTS  1000000000
#define MOST_SIZE     65535
#define MOST_EPISODE  1000000000
#define USUAL_EPISODE 200

struct advise_wish {
    struct advice_facts facts;
    const char *dataset; /* NULL: facts were sent */
    struct dataset_row row;
    struct advice_ranked *ranked;
    unsigned count;
    json_t *rehearsed[ADVICE_RANKED_MAX];
    bool scales; /* bounds were sent, and nothing else says how large numbers are */
};

/* ---- reading */

struct advise_members {
    const char *dataset;
    json_t *environment, *privacy, *bounds;
    int want; /* of enum advice_want */
    int64_t experts, state_dim, action_count, max_episode_steps;
    double discount;
};

static const char *const fact_members[] = {"experts",           "state_dim", "action_count",
                                           "max_episode_steps", "discount",  "environment"};

static const char *const wants[] = {"policy", "teacher", "q_release", NULL};

static bool advise_read_members(struct call *call, struct advise_members *out)
{
    *out = (struct advise_members){.discount = 0.99};
    const struct field fields[] = {
        field_optional(field_text("dataset", &out->dataset, 1, ID_SIZE - 1)),
        field_object("privacy", &out->privacy),
        field_optional(field_object("bounds", &out->bounds)),
        field_optional(field_choice("want", &out->want, wants)),
        field_optional(field_integer("experts", &out->experts, 2, MOST_EXPERTS)),
        field_optional(field_integer("state_dim", &out->state_dim, 1, MOST_SIZE)),
        field_optional(field_integer("action_count", &out->action_count, 2, MOST_SIZE)),
        field_optional(
            field_integer("max_episode_steps", &out->max_episode_steps, 1, MOST_EPISODE)),
        field_optional(field_number("discount", &out->discount, 0, 1)),
        field_optional(field_any("environment", &out->environment)),
    };
    return fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]);
}

static void advise_read_privacy(struct call *call, const json_t *privacy, struct advice_facts *out)
{
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, JOB_EPSILON_MAX),
        field_positive("delta", &out->delta, 0.5),
    };
    if (privacy)
        (void)fields_read(call, privacy, "/privacy", fields, sizeof fields / sizeof fields[0]);
}

/* Dimensions that were sent beside a world must be its own. */
static int64_t advise_agree(struct call *call, const char *pointer, int64_t sent, uint32_t world)
{
    if (sent != 0 && sent != world)
        call_invalid(call, pointer, "must be %u, as in the environment, or be left out", world);
    return world;
}

static void advise_read_facts(struct call *call, struct advise_members *members,
                              struct advice_facts *out)
{
    struct environment_choice choice = {.env = NULL};
    if (members->experts == 0 && !field_sent(call->body, "experts"))
        call_invalid(call, "/experts", "is required without a dataset");
    if (members->environment) {
        if (!environment_choice_read(call, "/environment", members->environment, false, &choice))
            return;
        const struct env *env = choice.env;
        members->state_dim = advise_agree(call, "/state_dim", members->state_dim, env->state_dim);
        members->action_count =
            advise_agree(call, "/action_count", members->action_count, env->action_count);
        if (members->max_episode_steps == 0)
            members->max_episode_steps = env->max_episode_steps;
    } else {
        for (int i = 1; i < 3; i++) /* state_dim, action_count */
            if (!field_sent(call->body, fact_members[i]))
                call_invalid(call, arena_format(&call->arena, "/%s", fact_members[i]),
                             "is required without a dataset and an environment");
    }
    out->experts = (uint32_t)members->experts;
    out->state_dim = (uint32_t)members->state_dim;
    out->action_count = (uint32_t)members->action_count;
    out->max_episode_steps = USUAL_EPISODE;
    if (members->max_episode_steps > 0)
        out->max_episode_steps = (uint32_t)members->max_episode_steps;
    out->discount = members->discount;
    if (choice.env && env_find(choice.env->name) == choice.env)
        out->world = choice.env;
}

/* Public bounds of a state's numbers, which a grid of declared states needs. */
static void advise_read_bounds(struct call *call, json_t *bounds, struct advice_facts *out)
{
    json_t *low = NULL, *high = NULL;
    const struct field fields[] = {
        field_array("low", &low, 1, MOST_SIZE),
        field_array("high", &high, 1, MOST_SIZE),
    };
    if (!bounds || !fields_read(call, bounds, "/bounds", fields, 2))
        return;
    double *numbers = arena_array(&call->arena, 2 * (size_t)out->state_dim, sizeof *numbers);
    double *above = numbers + out->state_dim;
    if (fields_numbers(call, low, "/bounds/low", numbers, out->state_dim, true) < 0 ||
        fields_numbers(call, high, "/bounds/high", above, out->state_dim, true) < 0)
        return;
    for (uint32_t d = 0; d < out->state_dim; d++) {
        if (!(above[d] > numbers[d]))
            call_invalid(call, arena_format(&call->arena, "/bounds/high/%u", d),
                         "must be above the number of low");
    }
    out->low = numbers;
    out->high = above;
}

static enum problem advise_read(struct call *call, struct advise_wish *out)
{
    struct advise_members members;
    struct advice_facts privacy = {0};
    (void)advise_read_members(call, &members);
    advise_read_privacy(call, members.privacy, &privacy);
    for (size_t i = 0; members.dataset && i < sizeof fact_members / sizeof fact_members[0]; i++)
        if (field_sent(call->body, fact_members[i]))
            call_invalid(call, arena_format(&call->arena, "/%s", fact_members[i]),
                         "has no meaning beside a dataset, which says it");
    out->dataset = members.dataset;
    if (!members.dataset)
        advise_read_facts(call, &members, &out->facts);
    if (call_error_count(call) > 0)
        return PROBLEM_VALIDATION;
    if (members.dataset) {
        enum problem problem = dataset_of_owner(call, members.dataset, &out->row);
        if (problem == PROBLEM_NOT_FOUND)
            call_invalid(call, "/dataset", "is not known");
        if (problem == PROBLEM_NONE)
            problem = job_facts_of_dataset(call, &out->row, &out->facts);
        if (problem != PROBLEM_NONE)
            return problem;
    }
    out->facts.want = (enum advice_want)members.want;
    out->facts.epsilon = privacy.epsilon;
    out->facts.delta = privacy.delta;
    bool described = out->facts.low || out->facts.world || out->row.environment[0] != '\0';
    advise_read_bounds(call, members.bounds, &out->facts);
    out->scales = !described && out->facts.low && out->facts.state_dim <= PARAMETER_REALS_MAX;
    if (members.dataset && !described && !field_sent(call->body, "bounds"))
        call_invalid(call, "/bounds",
                     "is required: the dataset neither describes its features nor names an "
                     "environment, so nothing says how large its numbers are");
    if (out->facts.want == ADVICE_WANT_RELEASE && !out->facts.low &&
        !field_sent(call->body, "bounds"))
        call_invalid(call, "/bounds", "is required for a q_release: it has declared bounds");
    return call_checked(call);
}

enum problem api_jobs_advise_prepare(struct call *call)
{
    struct advise_wish *wish = arena_array(&call->arena, 1, sizeof *wish);
    call->plan = wish;
    enum problem problem = advise_read(call, wish);
    if (problem != PROBLEM_NONE)
        return problem;
    wish->ranked = arena_array(&call->arena, ADVICE_RANKED_MAX, sizeof *wish->ranked);
    wish->facts.work = arena_array(&call->arena, 1, sizeof *wish->facts.work);
    wish->facts.work->work.left = JOB_ADVICE_STEPS;
    wish->count = advice_rank(&wish->facts, NULL, -1, wish->ranked);
    return job_rehearsed_find(call, wish->ranked, wish->count, wish->rehearsed);
}

/* ---- answering */

/* The smaller of two numbers of which 0 is none. */
static double advise_least(double a, double b)
{
    if (a > 0 && b > 0)
        return fmin(a, b);
    return fmax(a, b);
}

static void advise_take_least(struct advice_enough *all, const struct advice_enough *one)
{
    all->experts = (uint32_t)advise_least(all->experts, one->experts);
    all->epsilon = advise_least(all->epsilon, one->epsilon);
}

/* True when no candidate before number I is of its method: what would be enough is told of the best
 * of each. */
static bool advise_first(const struct advise_wish *wish, unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (wish->ranked[k].candidate.method == wish->ranked[i].candidate.method)
            return false;
    return true;
}

static json_t *advise_one(const struct advise_wish *wish, unsigned i, struct job_enough *all)
{
    const struct advice_ranked *ranked = &wish->ranked[i];
    const struct advice_facts *facts = &wish->facts;
    const struct job_advice advice = {.algorithm = ranked->candidate.algorithm,
                                      .request = &ranked->request,
                                      .world = facts->world ? facts->world->name : "",
                                      .signal = ranked->signal,
                                      .outlook = ranked->outlook};
    const struct job_enough *told = NULL;
    struct job_enough enough;
    if (facts->want == ADVICE_WANT_POLICY && advise_first(wish, i)) {
        job_advice_enough(&advice, &enough);
        advise_take_least(&all->weak, &enough.weak);
        advise_take_least(&all->good, &enough.good);
        told = &enough;
    }
    json_t *json = job_advice_json(&advice, told);
    json_t *job = job_candidate_body(ranked, text_or_empty(wish->dataset));
    if (wish->scales && ranked->candidate.method != ADVICE_RELEASE)
        job_candidate_scale(job, facts);
    json_object_set_new(json, "job", job);
    json_object_set_new(json, "rehearsal", json_or_null(json_incref(wish->rehearsed[i])));
    return json;
}

static json_t *advise_facts(const struct advise_wish *wish)
{
    const struct advice_facts *facts = &wish->facts;
    return json_pack("{s:s, s:o, s:I, s:I, s:I, s:o, s:b, s:o, s:o}", "want", wants[facts->want],
                     "dataset", json_text_or_null(wish->dataset), "experts",
                     (json_int_t)facts->experts, "state_dim", (json_int_t)facts->state_dim,
                     "action_count", (json_int_t)facts->action_count, "environment",
                     json_text_or_null(facts->world ? facts->world->name : NULL), "bounds",
                     (int)(facts->low != NULL), "epsilon", json_number(facts->epsilon), "delta",
                     json_number(facts->delta));
}

enum problem api_jobs_advise(struct call *call)
{
    const struct advise_wish *wish = call->plan;
    struct job_enough enough = {0};
    json_t *candidates = json_array();
    for (unsigned i = 0; i < wish->count; i++)
        json_list_add(&candidates, advise_one(wish, i, &enough));
    if (wish->facts.work->work.left <= 0) { /* candidates may be missing, or what would be enough */
        json_decref(candidates);
        return job_advice_too_much(call);
    }
    return call_reply_json(call, 200,
                           json_pack("{s:o, s:o, s:o}", "facts", advise_facts(wish), "candidates",
                                     candidates, "enough", job_enough_json(&enough)));
}
