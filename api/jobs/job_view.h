/* A job as its steward sees it. Nothing in it depends on private data unless it was released. */
#ifndef TACET_API_JOBS_JOB_VIEW_H
#define TACET_API_JOBS_JOB_VIEW_H

#include <jansson.h>
#include <stdint.h>

#include "storage/jobs.h"

/* QUEUE_PLACE: from 1, or 0 when it is not queued. New reference. */
json_t *job_json(const struct job_row *job, int64_t queue_place, int64_t now_ms);

/* True when the job is over. */
bool job_is_over(const struct job_row *job);

#endif
