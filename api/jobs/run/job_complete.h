/* What follows when a job's training is over: its policy is rounded, kept, and evaluated. Shared by
 * the parts of api_job_turn. */
#ifndef TACET_API_JOBS_RUN_JOB_COMPLETE_H
#define TACET_API_JOBS_RUN_JOB_COMPLETE_H

#include "api/jobs/run/job_evaluate.h"
#include "api/jobs/run/job_run.h"

/* Rounds the weights onto the public grid of what is released. */
void job_complete_round(struct policy *policy);

/* How playing went. */
enum job_score {
    JOB_SCORE_FOUND,
    JOB_SCORE_UNKNOWN,
    JOB_SCORE_STOPPED,
};

/* Plays PLAYER, which is on disk, as PLAN has it evaluated. UNKNOWN: it cannot be played, and *WHY
 * is a clause. STOPPED: lost, stopping, cancelled, storage_failed or waiting says why. */
enum job_score job_complete_score(struct job_run *run, const struct job_plan *plan,
                                  const struct job_player *player, struct policy_evaluation *out,
                                  char why[JOB_DETAIL_SIZE]);

/* Fills ENDING with POLICY (NULL where run->release took its place), which stays the caller's, and
 * its evaluation. The job has failed, with its policy, when the evaluation that was asked for
 * cannot be had. False: to be stopped without an end (lost, stopping, cancelled, storage_failed or
 * waiting says why). */
bool job_complete(struct job_run *run, struct policy *policy, struct job_ending *ending);

/* The rounded policy that an earlier worker kept before it evaluated, for policy_free; NULL: there
 * is none, unless storage_failed or waiting says that it could not be looked for. */
struct policy *job_complete_kept(struct job_run *run);

/* Ends with POLICY and without an evaluation, because of the reason WHY, a clause. */
void job_complete_unevaluated(struct job_run *run, struct policy *policy, const char *why,
                              struct job_ending *ending);

#endif
