/* See job_rehearsed.h. Rehearsals are stored as jobs are, so that nothing is kept twice. */
#include "api/jobs/job_rehearsed.h"

#include <math.h>
#include <string.h>

#include "algos/offline/offline.h"
#include "api/call/project.h"
#include "api/jobs/ask/job_plan.h"
#include "api/json/json_text.h"
#include "storage/jobs.h"

#define NEWEST  200  /* jobs that are looked at */
#define SIGNALS 1e-9 /* relative difference of two computations of the same signal */

struct rehearsed_search {
    struct call *call;
    const struct advice_ranked *ranked;
    unsigned count;
    json_t **out;
};

static bool rehearsed_same_settings(const struct algorithm *algorithm,
                                    const struct parameter_values *a,
                                    const struct parameter_values *b)
{
    for (unsigned p = 0; p < algorithm->parameter_count; p++) {
        const struct parameter_value *x = &a->value[p], *y = &b->value[p];
        if (p == OFFLINE_INPUT_SCALE || p == OFFLINE_INPUT_CENTER)
            continue;
        if (x->count != y->count || memcmp(x->number, y->number, x->count * sizeof *x->number) != 0)
            return false;
    }
    return true;
}

static bool rehearsed_is_of(const struct job_plan *plan, const struct advice_ranked *ranked)
{
    const struct algorithm_request *a = &plan->request, *b = &ranked->request;
    enum advice_method method = ADVICE_METHODS;
    double signal = advice_signal(a, &plan->plan, &method);
    return plan->algorithm == ranked->candidate.algorithm && method == ranked->candidate.method &&
           a->state_dim == b->state_dim && a->action_count == b->action_count &&
           a->nominal_experts == b->nominal_experts && a->epsilon == b->epsilon &&
           a->delta == b->delta && a->discount == b->discount && a->choice.candidates == 0 &&
           fabs(signal - ranked->signal) <= SIGNALS * ranked->signal &&
           rehearsed_same_settings(plan->algorithm, &a->parameters, &b->parameters);
}

static void rehearsed_take(const struct rehearsed_search *search, const struct job_row *job,
                           const json_t *found)
{
    struct job_plan plan;
    if (!job_plan_read(job->plan, &plan)) /* of another version */
        return;
    for (unsigned i = 0; i < search->count; i++) {
        if (search->out[i] || !rehearsed_is_of(&plan, &search->ranked[i]))
            continue;
        search->out[i] =
            call_own(search->call, json_pack("{s:s, s:O, s:O}", "job", job->id, "quality",
                                             json_object_get(found, "quality"), "sentence",
                                             json_object_get(found, "sentence")));
    }
    job_plan_clear(&plan);
}

static bool rehearsed_look(void *context, const struct job_row *job)
{
    if (!strstr(job->findings, "\"rehearsal\""))
        return true;
    json_t *findings = json_text_stored(job->findings);
    const json_t *found = json_object_get(findings, "rehearsal");
    if (found)
        rehearsed_take(context, job, found);
    json_decref(findings);
    return true;
}

enum problem job_rehearsed_find(struct call *call, const struct advice_ranked *ranked,
                                unsigned count, json_t *out[ADVICE_RANKED_MAX])
{
    const enum job_state over = JOB_SUCCEEDED;
    const struct job_filter filter = {.owner = project_list(call, NULL), .state = &over};
    struct rehearsed_search search = {call, ranked, count, out};
    memset(out, 0, ADVICE_RANKED_MAX * sizeof *out);
    enum db_status status = jobs_list(call->db, &filter, &(struct listing_page){.limit = NEWEST},
                                      rehearsed_look, &search);
    return call_db(call, db_optional(status));
}
