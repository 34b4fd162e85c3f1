/* The audit that a job's request names: checks that it attacked a training like this one, and shows
 * its result in the certificate. */
#include "api/jobs/ask/job_parts.h"

#include <math.h>
#include <string.h>

#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "storage/jobs.h"

#define SAME_NOISE 0.01 /* relative, so that a rounded noise multiplier will do */

static const char meaning[] =
    "This audit attacked trainings on made-up data with the settings stated here, and not the "
    "training of this certificate. An audit finds mistakes; it proves no guarantee. The guarantee "
    "is the member privacy.";

/* The parameters of the audit JOB, new; NULL: this version cannot read them. */
static json_t *attack_of(const struct job_row *job)
{
    struct job_plan plan;
    if (!job_plan_read(job->plan, &plan))
        return NULL;
    json_t *attack = job_plan_parameters(&plan);
    job_plan_clear(&plan);
    return attack;
}

static double member_number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static json_t *audited_json(const struct job_row *job, const json_t *attack, const json_t *found)
{
    double canaries = 1, trainings = 2 * member_number(attack, "runs");
    double rate = 1 / member_number(attack, "experts");
    if (strcmp(json_member_text(attack, "method"), "one_run") == 0) {
        canaries = member_number(attack, "canaries");
        trainings = member_number(attack, "trainings");
        rate = member_number(attack, "batch_size") / canaries;
    }
    return json_pack(
        "{s:s, s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:O?, s:O?, s:O?, s:o, s:s}", "job",
        job->id, "finished_at", json_time(job->finished_ms), "algorithm",
        json_member_text(attack, "audited"), "method", json_member_text(attack, "method"),
        "arithmetic", json_member_text(attack, "arithmetic"), "noise_multiplier",
        json_number(member_number(attack, "noise_multiplier")), "steps",
        json_number(member_number(attack, "steps")), "sampling_rate", json_number(rate), "canaries",
        json_number(canaries), "trainings", json_number(trainings), "epsilon_shown",
        json_object_get(found, "epsilon_shown"), "epsilon_certified",
        json_object_get(found, "epsilon_certified"), "delta", json_object_get(found, "delta"),
        "confidence", json_number(1 - member_number(found, "false_alarm")), "meaning", meaning);
}

/* Why the audit JOB says nothing about a training by PLAN: a sentence; NULL: it does. */
static const char *refusal_of(const struct job_plan *plan, const struct job_row *job,
                              const json_t *attack, const json_t *found)
{
    const struct dp_sgd_plan *noisy = &plan->plan.privacy;
    if (plan->request.mechanism != MECHANISM_DPSGD || plan->try_count > 0 ||
        noisy->rounded_draws == 0) {
        return "needs mechanism \"dpsgd\", arithmetic \"exact\" and no sweep: audits attack no "
               "other training";
    }
    if (strcmp(job->algorithm, "audit") != 0)
        return "must be a job of algorithm audit";
    if (job->state != JOB_SUCCEEDED)
        return "must have succeeded: wait for its end, or run another";
    if (!attack)
        return "was made by another version of the service: run another";
    if (strcmp(json_member_text(attack, "broken"), "nothing") != 0)
        return "broke the trainer on purpose: run one with broken \"nothing\"";
    if (strcmp(json_member_text(attack, "audited"), plan->algorithm->name) != 0)
        return "attacked another algorithm: run one whose audited is this job's algorithm";
    if (strcmp(json_member_text(attack, "arithmetic"), "exact") != 0)
        return "attacked trainings in float: run one with arithmetic \"exact\"";
    if (fabs(member_number(attack, "noise_multiplier") / noisy->noise_multiplier - 1) > SAME_NOISE)
        return "attacked another noise: run one with the noise_multiplier of this job's estimate";
    const json_t *certified = json_object_get(found, "epsilon_certified");
    if (!json_is_null(certified) &&
        member_number(found, "epsilon_shown") > json_number_value(certified))
        return "shows more epsilon than is certified, which is a fault of the service: do not "
               "train, and tell its operator";
    return NULL;
}

enum problem job_audit_fit(struct call *call, const char *id, struct job_plan *plan)
{
    struct job_row job = {.plan = NULL};
    enum db_status status = jobs_find(call->db, id, &job);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (status == DB_NONE || !call_owns(call, job.owner)) {
        job_done(&job);
        call_invalid(call, "/audit", "is not known");
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such job.");
    }
    json_t *attack = attack_of(&job), *found = json_text_stored(job.findings);
    const char *refusal = refusal_of(plan, &job, attack, found);
    memcpy(plan->audit, job.id, sizeof plan->audit);
    json_decref(attack);
    json_decref(found);
    job_done(&job);
    if (refusal)
        return call_invalid(call, "/audit", "%s", refusal);
    return PROBLEM_NONE;
}

bool job_audit_find(struct db *db, const struct job_plan *plan, json_t **out)
{
    struct job_row job = {.plan = NULL};
    *out = NULL;
    if (plan->audit[0] == '\0')
        return true;
    if (jobs_find(db, plan->audit, &job) != DB_OK)
        return false;
    json_t *attack = attack_of(&job), *found = json_text_stored(job.findings);
    *out = json_null();
    if (attack)
        *out = audited_json(&job, attack, found);
    json_decref(attack);
    json_decref(found);
    job_done(&job);
    return true;
}
