/* Jobs that train nothing: they play a policy, or a released Q-function, that is there already, and
 * give its evaluation. Only what may leave is played: a return of anything else would be a number
 * that depends on private data. */
#ifndef TACET_API_JOBS_ASK_JOB_PLAY_H
#define TACET_API_JOBS_ASK_JOB_PLAY_H

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"

struct job_members;

/* Finds what is to be played, which is the caller's and may leave, and takes its sizes into the
 * plan. */
enum problem job_play_fit(struct call *call, const struct job_members *members,
                          struct job_plan *plan);

#endif
