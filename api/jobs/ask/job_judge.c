/* Checks who is to judge a policy: a public dataset, or held-out experts. */
#include "api/jobs/ask/job_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/offline/judge/held_out.h"
#include "algos/offline/offline.h"
#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/ask/plan_members.h"

#define RETURN_MOST   1e12
#define SHARE_DEFAULT 0.2

/* ---- reading */

/* Finds faults in what held-out experts are to be. */
static void judge_check_terms(struct call *call, const json_t *object, const struct job_plan *plan)
{
    const struct judge_terms *terms = &plan->request.judge;
    if (!field_sent(object, "return_low"))
        call_invalid(call, "/judge/return_low",
                     "is required beside held_out: the lowest discounted return, from public "
                     "knowledge");
    if (!field_sent(object, "return_high"))
        call_invalid(call, "/judge/return_high",
                     "is required beside held_out: the highest discounted return, from public "
                     "knowledge");
    else if (field_sent(object, "return_low") && !(terms->low < terms->high))
        call_invalid(call, "/judge/return_high", "must be above return_low");
    if (!(terms->held_out > 0.0))
        call_invalid(call, "/judge/held_out", "must be above 0");
    if (!(terms->share > 0.0 && terms->share < 1.0))
        call_invalid(call, "/judge/share", "must be above 0 and below 1");
}

void job_judge_read(struct call *call, const json_t *object, const char **out,
                    struct job_plan *plan)
{
    struct judge_terms *terms = &plan->request.judge;
    bool held_out = field_sent(object, "held_out");
    const struct field fields[] = {
        field_optional(field_text("dataset", out, 1, ID_SIZE - 1)),
        field_optional(field_number("held_out", &terms->held_out, 0, HELD_OUT_MOST)),
        field_optional(field_number("return_low", &terms->low, -RETURN_MOST, RETURN_MOST)),
        field_optional(field_number("return_high", &terms->high, -RETURN_MOST, RETURN_MOST)),
        field_optional(field_number("share", &terms->share, 0, 1)),
    };
    terms->share = SHARE_DEFAULT;
    bool good = fields_read(call, object, "/judge", fields, sizeof fields / sizeof fields[0]);
    if (held_out && field_sent(object, "dataset"))
        call_invalid(call, "/judge/held_out", "must not stand beside dataset: one of them judges");
    else if (good && held_out)
        judge_check_terms(call, object, plan);
    else if (good && !*out)
        call_invalid(call, "/judge/dataset", "is required, or held_out");
    else if (good && (field_sent(object, "return_low") || field_sent(object, "return_high") ||
                      field_sent(object, "share")))
        call_invalid(call, "/judge", "has return_low, return_high and share with held_out alone");
    if (!held_out)
        *terms = (struct judge_terms){0};
}

/* ---- checking */

/* Checks that experts of PLAN's dataset may judge, and takes them from those who are learnt from.
 * Every number here is public. */
static enum problem judge_fit_held_out(struct call *call, struct job_plan *plan)
{
    struct algorithm_request *request = &plan->request;
    double judges = floor(request->judge.held_out * request->nominal_experts);
    if (plan->dataset_public)
        return call_invalid(call, "/judge/held_out",
                            "has no meaning with public data: name a public dataset instead");
    if (request->mechanism != MECHANISM_DPSGD)
        return call_invalid(call, "/judge/held_out",
                            "needs mechanism dpsgd: others have no price for it");
    if (field_sent(call->body, "sweep"))
        return call_invalid(call, "/judge/held_out",
                            "has no meaning beside a sweep, which has no price for it");
    if (judges < HELD_OUT_EXPERTS)
        return call_invalid(call, "/judge/held_out",
                            "leaves %.0f of %u nominal experts to judge; %d are needed", judges,
                            request->nominal_experts, HELD_OUT_EXPERTS);
    request->nominal_experts -= (uint32_t)judges;
    plan->judge_discount = request->discount;
    return PROBLEM_NONE;
}

enum problem job_judge_fit(struct call *call, const char *id, const struct dataset_row *dataset,
                           struct job_plan *plan)
{
    struct dataset_row row;
    if (!id)
        return judge_fit_held_out(call, plan);
    enum problem problem = dataset_of_owner(call, id, &row);
    if (problem != PROBLEM_NONE) {
        if (problem == PROBLEM_NOT_FOUND)
            call_invalid(call, "/judge/dataset", "is not known");
        return problem;
    }
    if (!row.is_public) {
        return call_invalid(
            call, "/judge/dataset",
            "must be public: an estimate from private data would reveal something about them");
    }
    if (row.state != DATASET_SEALED || row.transitions == 0)
        return call_invalid(call, "/judge/dataset", "must be sealed and hold trajectories");
    problem = dataset_same_meaning(call, "/judge/dataset", &row, dataset);
    if (problem != PROBLEM_NONE)
        return problem;
    if (row.state_dim != plan->request.state_dim ||
        row.action_count != plan->request.action_count) {
        return call_invalid(call, "/judge/dataset",
                            "has states of %u numbers and %u actions; what is learned has %u and "
                            "%u",
                            row.state_dim, row.action_count, plan->request.state_dim,
                            plan->request.action_count);
    }
    if (!job_plan_releases(plan)) {
        return call_invalid(call, "/judge",
                            "is not possible here: the policy is not released, and its value would "
                            "depend on the data");
    }
    memcpy(plan->judge, row.id, sizeof plan->judge);
    plan->judge_discount = row.discount;
    return PROBLEM_NONE;
}

/* ---- the plan */

/* The number of judges is uncertain by so many noise multipliers (JUDGE_CONFIDENCE of a Gaussian
 * whose deviation is the norm 2), and should be several times that. */
#define UNCERTAINTY 3.3
#define SEVERAL     3.0

bool job_judge_unclear(const struct job_plan *plan, char out[JOB_JUDGE_WARNING_SIZE])
{
    const struct algorithm_request *request = &plan->request;
    double share = request->judge.held_out, noise = plan->plan.judge_noise;
    double judges = round(request->nominal_experts * share / (1.0 - share));
    if (!(share > 0.0) || judges >= SEVERAL * UNCERTAINTY * noise)
        return false;
    snprintf(out, JOB_JUDGE_WARNING_SIZE,
             "The judge's verdict would say next to nothing: about %.0f experts would judge, and "
             "even their number is uncertain by %.0f (3.3 times plan.judge.noise_multiplier), of "
             "which it should be several times. A larger held_out, judge.share or epsilon, or more "
             "experts, would help; a public dataset judges at no cost.",
             judges, UNCERTAINTY * noise);
    return true;
}

static const struct plan_member judge_members[] = {
    PLAN_MEMBER("held_out", request.judge.held_out),   PLAN_MEMBER("return_low", request.judge.low),
    PLAN_MEMBER("return_high", request.judge.high),    PLAN_MEMBER("share", request.judge.share),
    PLAN_MEMBER("noise_multiplier", plan.judge_noise), {.name = NULL},
};

json_t *job_judge_json(const struct job_plan *plan)
{
    json_t *json = json_object();
    if (plan->request.judge.held_out > 0.0)
        plan_members_write(judge_members, plan, json);
    return json;
}

bool job_judge_parse(const json_t *json, struct job_plan *out)
{
    const struct judge_terms *terms = &out->request.judge;
    if (!json || json_object_size(json) == 0)
        return true;
    plan_members_read(judge_members, json, out);
    if (!(terms->held_out > 0.0 && terms->held_out <= HELD_OUT_MOST && terms->low < terms->high &&
          out->plan.judge_noise > 0.0 && out->plan.judge_noise <= HELD_OUT_MAX_NOISE))
        return false;
    out->plan.privacy.before = offline_judge_price(out->plan.judge_noise);
    return !mechanism_problem(&out->plan.privacy.before.mechanism);
}
