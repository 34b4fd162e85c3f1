/* Requests for ensembles, and estimates of what their teachers can do. */
#include "api/jobs/ask/job_parts.h"

#include <math.h>

#include "algos/release/ensemble.h"
#include "api/call/fields.h"
#include "api/json/json_text.h"
#include "api/teachers/answer_estimate.h"

const char job_shards_note[] =
    "Policies of shards, trained without noise: they stay inside the service, sealed, and answer "
    "as a teacher of adjacency \"expert\" alone, where each answer is paid for.";

#define CHOICE_TELLS                                                                               \
    "has no meaning beside shards: a choice among policies that were trained without noise would " \
    "tell of the data"

static const struct {
    const char *pointer, *why;
} refused[] = {
    {"/evaluate",
     "is not possible with shards: the return of policies that were trained without noise would "
     "reveal something about the data; ask a teacher, whose answers are paid for"},
    {"/judge", "is not possible with shards: the value of policies that were trained without noise "
               "would reveal something about the data"},
    {"/choose", CHOICE_TELLS},
    {"/sweep", CHOICE_TELLS},
};

void job_shards_read(struct call *call, const json_t *body, int64_t shards, struct job_plan *out)
{
    if (shards == 0)
        return;
    if (out->request.mechanism != MECHANISM_NONE) {
        call_invalid(call, "/mechanism",
                     "must be \"none\" with shards: the noise is added to a teacher's answers");
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (field_sent(body, refused[i].pointer + 1))
            call_invalid(call, refused[i].pointer, "%s", refused[i].why);
    out->shards = (uint32_t)shards;
}

enum problem job_shards_fit(struct call *call, struct job_plan *plan)
{
    if (plan->shards == 0)
        return PROBLEM_NONE;
    if (plan->request.action_count > ENSEMBLE_ACTIONS_MAX) {
        return call_invalid(call, "/shards", "needs a dataset of at most %d actions, to teach",
                            ENSEMBLE_ACTIONS_MAX);
    }
    if (!ensemble_fits(&plan->plan.shape, plan->shards)) {
        return call_invalid(call, "/shards",
                            "times the %llu parameters of a network must be at most %d, because "
                            "each answer evaluates all networks",
                            (unsigned long long)plan->plan.parameter_count,
                            ENSEMBLE_PARAMETERS_MAX);
    }
    plan->plan.total_steps *= plan->shards;
    return PROBLEM_NONE;
}

/* ---- estimating */

json_t *job_shards_estimate(const struct job_plan *plan, double epsilon, double delta)
{
    uint32_t actions = plan->request.action_count;
    json_t *teaching = json_array();
    struct answer_purpose purpose = {.actions = actions,
                                     .change = ensemble_change(plan->shards),
                                     .min_probability = fmin(0.1, 0.5 / actions),
                                     .epsilon = epsilon,
                                     .delta = delta};
    for (purpose.answers = 100; epsilon > 0 && delta > 0 && purpose.answers <= 10000;
         purpose.answers *= 10)
        json_list_add(&teaching, answer_estimate_json(&purpose));
    return json_pack("{s:I, s:o, s:o}", "shards", (json_int_t)plan->shards, "change",
                     json_number(purpose.change), "teaching", teaching);
}
