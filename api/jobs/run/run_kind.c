/* The table of kinds at work. */
#include "api/jobs/run/job_run.h"

#include "api/jobs/run/run_release.h"

static struct policy *nothing_kept(struct job_run *run)
{
    (void)run;
    return NULL;
}

/* Finds a kept release, which goes to run->release. */
static struct policy *release_kept(struct job_run *run)
{
    (void)job_release_kept(run);
    return NULL;
}

/* Completes a job whose findings were all shown already. */
static bool findings_complete(struct job_run *run, struct policy *policy, struct job_ending *ending)
{
    (void)policy;
    run->step = run->plan.plan.total_steps;
    ending->state = JOB_SUCCEEDED;
    return true;
}

static const struct run_kind kinds[ALGORITHM_KINDS] = {
    [ALGORITHM_LEARNS_FROM_DATA] = {job_complete_kept, job_train, job_complete,
                                    PROBLEM_TRAINING_FAILED, true},
    [ALGORITHM_LEARNS_BY_PLAY] = {job_complete_kept, job_train, job_complete,
                                  PROBLEM_TRAINING_FAILED, true},
    [ALGORITHM_RELEASES_Q] = {release_kept, job_train, job_complete, PROBLEM_TRAINING_FAILED, true},
    [ALGORITHM_MEASURES] = {nothing_kept, job_train, findings_complete, PROBLEM_TRAINING_FAILED,
                            true},
    [ALGORITHM_AUDITS] = {nothing_kept, job_train, findings_complete, PROBLEM_TRAINING_FAILED,
                          false},
    [ALGORITHM_EVALUATES] = {nothing_kept, job_play, NULL, PROBLEM_EVALUATION_FAILED, false},
};

static const struct run_kind rehearsal = {nothing_kept, job_train, findings_complete,
                                          PROBLEM_TRAINING_FAILED, false};

const struct run_kind *run_kind(const struct job_plan *plan)
{
    if (plan->rehearsal.runs > 0)
        return &rehearsal;
    return &kinds[plan->algorithm->kind];
}
