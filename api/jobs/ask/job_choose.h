/* "choose": the result of an offline job is the best of its own weights by play (algos/offline/
 * choice.h). A plan keeps it as
 *   {"environment","physics","candidates","episodes","max_episode_steps"}, and {} where it is not
 * asked for. */
#ifndef TACET_API_JOBS_ASK_JOB_CHOOSE_H
#define TACET_API_JOBS_ASK_JOB_CHOOSE_H

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"

/* Reads OBJECT, or nothing when it is NULL, into OUT, whose algorithm is known, and gathers faults:
 * of a world that is a program among them. */
void job_choose_read(struct call *call, const json_t *object, struct job_plan *out);

/* PROBLEM_NONE, or a fault: the world's sizes are not the dataset's. */
enum problem job_choose_fit(struct call *call, const struct job_plan *plan);

/* The plan's, as above. New reference. */
json_t *job_choose_json(const struct job_plan *plan);

/* Reads what job_choose_json gave; false when it did not. */
bool job_choose_parse(const json_t *json, struct job_plan *out);

/* The world to play in, with PHYSICS[ENV_MAX_PARAMETERS] filled; all zero where nothing is chosen.
 * False: this server does not have the world any more. */
bool job_choose_place(const struct app *app, const struct job_plan *plan, double *physics,
                      struct choice_place *out);

#endif
