/* The rest of a dataset's budget in jobs and labels. */
#include "api/books/buys.h"

#include <stdlib.h>

#include "api/call/budget_price.h"
#include "api/jobs/ask/job_plan.h"
#include "api/teachers/teachers.h"
#include "storage/jobs.h"

/* The labels of JOB; 0: it asked for none. */
static uint32_t job_labels(const struct job_row *job)
{
    struct job_plan plan;
    uint32_t labels = 0;
    if (!job_plan_read(job->plan, &plan))
        return 0;
    if (plan.try_count == 0 && plan.request.stage.kind == STAGE_CONSENSUS)
        labels = plan.plan.stage.consensus.labels;
    job_plan_clear(&plan);
    return labels;
}

/* Sets *OUT to what a job like JOB costs ACCOUNT, in its unit. */
static bool job_price(const struct ledger_account *account, const struct job_row *job,
                      struct filter_price *out)
{
    struct job_plan plan;
    struct ledger_price price;
    *out = (struct filter_price){job->hold_units, job->hold_delta};
    if (account->renyi_order == 0)
        return true;
    if (!job_plan_read(job->plan, &plan))
        return false;
    char *event = job_plan_event(&plan, plan.plan.privacy.steps, true);
    bool counted = budget_plan_price(account, &(struct budget_plan){.event = event}, &price);
    free(event);
    job_plan_clear(&plan);
    if (counted)
        *out = (struct filter_price){price.units, price.delta_units};
    return counted;
}

/* Sets *OUT_JOBS and *OUT_LABELS where there was a job; DB_NONE: there was none. */
static enum db_status buys_jobs(struct call *call, const struct ledger_account *account,
                                int64_t *out_jobs, int64_t *out_labels)
{
    struct job_row job;
    enum db_status status = jobs_find_newest(call->db, account->id, &job);
    if (status != DB_OK)
        return status;
    struct filter_price each;
    const struct filter_price left = teacher_account_left(account);
    int64_t labels = job_labels(&job);
    if (job_price(account, &job, &each) && (each.units > 0 || each.delta_units > 0))
        *out_jobs = price_fits(&left, &each);
    if (labels > 0 && *out_jobs >= 0 && !ledger_units_times(*out_jobs, labels, out_labels))
        *out_labels = LEDGER_UNITS_MAX;
    job_done(&job);
    return DB_OK;
}

enum db_status buys_add(struct call *call, const struct ledger_account *account, json_t *budget)
{
    int64_t jobs = -1, answers = -1, labels = -1;
    enum db_status status = db_optional(teacher_buys(call->db, account, &answers));
    if (status == DB_OK && account->kind == LEDGER_DATASET)
        status = db_optional(buys_jobs(call, account, &jobs, &labels));
    if (status == DB_OK)
        json_object_set_new(budget, "buys", buys_json(jobs, answers, labels));
    return status;
}
