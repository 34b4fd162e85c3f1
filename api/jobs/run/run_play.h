/* Playing what is there already (api/jobs/ask/job_play.h). */
#ifndef TACET_API_JOBS_RUN_RUN_PLAY_H
#define TACET_API_JOBS_RUN_RUN_PLAY_H

#include "api/jobs/run/job_run.h"

/* Plays it and fills ENDING: it succeeded with an evaluation, or failed. False: to be stopped
 * without an end (lost, stopping, cancelled, storage_failed or waiting says why). */
bool job_play(struct job_run *run, struct job_ending *ending);

#endif
