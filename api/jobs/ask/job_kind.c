/* The table of kinds. */
#include "api/jobs/ask/job_kind.h"

#include <string.h>

#include "api/call/fields.h"
#include "api/data/environment_choice.h"
#include "api/jobs/ask/job_parts.h"

/* ---- members that are required or refused */

#define DATA     (1u << ALGORITHM_LEARNS_FROM_DATA)
#define PLAY     (1u << ALGORITHM_LEARNS_BY_PLAY)
#define RELEASE  (1u << ALGORITHM_RELEASES_Q)
#define MEASURE  (1u << ALGORITHM_MEASURES)
#define AUDIT    (1u << ALGORITHM_AUDITS)
#define EVALUATE (1u << ALGORITHM_EVALUATES)
#define REQUIRED "is required by this algorithm"

const struct job_member_rule job_member_rules[] = {
    {"/environment", PLAY, true, REQUIRED},
    {"/dataset", DATA | MEASURE, true, REQUIRED},
    {"/dataset", PLAY | AUDIT | EVALUATE, false,
     "has no meaning with this algorithm, which takes no dataset"},
    {"/environment", DATA | MEASURE | AUDIT | EVALUATE, false,
     "has no meaning with this algorithm, which plays in no world"},
    {"/evaluate", MEASURE | AUDIT, false, "has no meaning with this algorithm: it gives no policy"},
    {"/evaluate", EVALUATE, true, REQUIRED},
    {"/judge", PLAY | EVALUATE, false,
     "has no meaning with this algorithm, which learns from no dataset"},
    {"/policy", DATA | PLAY | RELEASE | AUDIT, false,
     "has no meaning with this algorithm, which makes its own"},
    {"/policy", MEASURE, false, "has no meaning with this algorithm"},
    {"/q_release", DATA | PLAY | RELEASE | MEASURE | AUDIT, false,
     "has no meaning with this algorithm"},
    {"/choose", PLAY | RELEASE | MEASURE | AUDIT | EVALUATE, false,
     "has no meaning with this algorithm"},
    {"/shards", PLAY | RELEASE | MEASURE | AUDIT | EVALUATE, false,
     "has no meaning with this algorithm, which does not learn a policy from a dataset without "
     "noise"},
    {"/judge", RELEASE | MEASURE | AUDIT, false,
     "has no meaning with this algorithm: it gives no policy"},
    {"/audit", PLAY | RELEASE | MEASURE | AUDIT | EVALUATE, false,
     "has no meaning with this algorithm, which no audit attacks"},
    {"/features", PLAY | MEASURE | AUDIT | EVALUATE, false,
     "has no meaning with this algorithm, which does not learn from a dataset"},
    {.pointer = NULL},
};

/* ---- what several kinds share */

static void kind_read_world(struct call *call, const struct job_members *members,
                            struct job_plan *out)
{
    struct environment_choice choice;
    struct algorithm_request *request = &out->request;
    if (!members->environment ||
        !environment_choice_read(call, "/environment", members->environment, false, &choice))
        return;
    job_world_set(&out->learn, &choice);
    request->world = choice.env;
    request->state_dim = choice.env->state_dim;
    request->action_count = choice.env->action_count;
    memcpy(request->world_parameters, choice.parameters, sizeof request->world_parameters);
}

static const char played_time[] = "the job plays episodes, whose length is not known in advance";

/* ---- learning a policy by playing */

static const char *play_note(const struct job_plan *plan)
{
    if (plan->teacher[0] != '\0') {
        return "Each answer of the teacher is paid for when it is given, by the client's, the "
               "teacher's and perhaps a dataset's account; when they cannot pay the student goes "
               "on alone. Its policy and its returns reveal no more than the answers did.";
    }
    if (plan->request.mechanism != MECHANISM_NONE) {
        return "Its episodes were simulated here and no account is debited: epsilon is what such "
               "a run costs people whose episodes they stand for.";
    }
    return "Learned in a simulator, from nobody's data: what is learned has no "
           "guarantee and needs none.";
}

/* ---- releasing a Q-function */

/* Reads the privacy of a Q-release. With unit reward a world may take the place of a dataset. */
static void release_read(struct call *call, const struct job_members *members, struct job_plan *out)
{
    bool named = field_sent(call->body, "environment");
    bool either = out->request.protects_rewards;
    if (named && !either) {
        call_invalid(call, "/environment", "has a meaning only with privacy/unit \"reward\"");
    } else if (named && members->dataset) {
        call_invalid(call, "/environment", "has no meaning beside a dataset");
        return;
    }
    if (named && either)
        kind_read_world(call, members, out);
    else if (!field_sent(call->body, "dataset") && either)
        call_invalid(call, "/dataset",
                     "is required with privacy/unit \"reward\", unless environment names a world "
                     "to play in");
    else if (!field_sent(call->body, "dataset"))
        call_invalid(call, "/dataset", "is required by this algorithm");
}

/* ---- ranges of features */

static const char *measure_note(const struct job_plan *plan)
{
    (void)plan;
    return "Its findings are released and paid for: a later job on the same dataset takes its "
           "scales "
           "from them by \"features\".";
}

/* ---- findings from made-up data */

static const char *audit_note(const struct job_plan *plan)
{
    (void)plan;
    return "From made-up data: nobody's take part.";
}

/* ---- playing what is there */

static void evaluate_read(struct call *call, const struct job_members *members,
                          struct job_plan *out)
{
    (void)out;
    if (!field_sent(call->body, "policy") && !field_sent(call->body, "q_release"))
        call_invalid(call, "/policy", "is required by this algorithm, unless q_release is given");
    if (members->policy && members->q_release)
        call_invalid(call, "/q_release",
                     "must not be given together with policy: a job plays only one of them");
}

static const char *evaluate_note(const struct job_plan *plan)
{
    (void)plan;
    return "Played a policy or Q-function that may already leave the service: nothing is charged.";
}

/* ---- the table */

static const struct job_kind kinds[ALGORITHM_KINDS] = {
    [ALGORITHM_LEARNS_FROM_DATA] = {.source = JOB_SOURCE_DATASET},
    [ALGORITHM_LEARNS_BY_PLAY] = {.source = JOB_SOURCE_WORLD,
                                  .read = kind_read_world,
                                  .note = play_note},
    [ALGORITHM_RELEASES_Q] = {.source = JOB_SOURCE_DATASET,
                              .seals_checkpoints = true,
                              .read = release_read},
    [ALGORITHM_MEASURES] = {.source = JOB_SOURCE_DATASET,
                            .note = measure_note,
                            .time_unknown = "it reads the data twice and trains nothing, which "
                                            "takes seconds"},
    [ALGORITHM_AUDITS] = {.source = JOB_SOURCE_NOTHING,
                          .note = audit_note,
                          .time_unknown =
                              "the job trains on made-up data, for which no times are known"},
    [ALGORITHM_EVALUATES] = {.source = JOB_SOURCE_POLICY,
                             .read = evaluate_read,
                             .fit = job_play_fit,
                             .note = evaluate_note,
                             .time_unknown = played_time},
};

const struct job_kind *job_kind(const struct algorithm *algorithm)
{
    return &kinds[algorithm->kind];
}

void job_kind_read(struct call *call, const struct job_members *members, struct job_plan *out)
{
    const struct job_kind *kind = job_kind(out->algorithm);
    for (const struct job_member_rule *rule = job_member_rules; rule->pointer; rule++)
        if ((rule->kinds >> out->algorithm->kind & 1) != 0 &&
            field_sent(call->body, rule->pointer + 1) != rule->required)
            call_invalid(call, rule->pointer, "%s", rule->detail);
    if (kind->read)
        kind->read(call, members, out);
}

const char *job_kind_time_unknown(const struct job_plan *plan)
{
    if (plan->rehearsal.runs > 0)
        return "the job trains on made-up data, for which no times are known";
    if (plan->learn.name[0] != '\0')
        return played_time;
    return job_kind(plan->algorithm)->time_unknown;
}

bool job_plan_is_public(const struct job_plan *plan)
{
    return plan->rehearsal.runs > 0 || job_kind(plan->algorithm)->source != JOB_SOURCE_DATASET;
}

const struct job_world *job_plan_world(const struct job_plan *plan)
{
    if (job_kind(plan->algorithm)->source == JOB_SOURCE_POLICY)
        return &plan->evaluate;
    return &plan->learn;
}

bool job_plan_releases(const struct job_plan *plan)
{
    return plan->shards == 0 &&
           (plan->dataset_public || plan->request.mechanism != MECHANISM_NONE ||
            job_plan_is_public(plan));
}

bool job_plan_is_unprotected(const struct job_plan *plan)
{
    return plan->algorithm && plan->shards == 0 && !job_plan_releases(plan);
}

bool job_plan_seals_checkpoints(const struct job_plan *plan)
{
    return plan->shards > 0 || job_plan_is_unprotected(plan) ||
           job_kind(plan->algorithm)->seals_checkpoints;
}

bool job_plan_drowns(const struct job_plan *plan)
{
    return !plan->request.force && plan->plan.release.noise_to_range > 1;
}
