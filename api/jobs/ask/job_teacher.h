/* A job's teacher, when the job is asked for and as its plan keeps it; asking is run_teacher.h. */
#ifndef TACET_API_JOBS_ASK_JOB_TEACHER_H
#define TACET_API_JOBS_ASK_JOB_TEACHER_H

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"

/* Reads "teacher" and "client" (NULL: not sent) of a request whose algorithm and mechanism are
 * known and whose world is chosen, and looks them up. PROBLEM_NONE, or a fault with its pointer. */
enum problem job_teacher_fit(struct call *call, const char *teacher, const char *client,
                             struct job_plan *plan);

/* {"id","client","unit",...}, or null where nobody is asked: for views, certificates and stored
 * plans. New reference. */
json_t *job_teacher_json(const struct job_plan *plan);

/* Reads what job_teacher_json gave; false: it is not that. */
bool job_teacher_parse(const json_t *json, struct job_plan *out);

/* What all its roll-outs would cost and how many of them the accounts can pay for as they are now:
 * {"rollouts","rollouts_paid","states_paid"}, with the cost of those in *OUT_COST (a new reference)
 * and the payer's and the teacher's account added to ACCOUNTS. */
enum problem job_teacher_estimate(struct call *call, const struct job_plan *plan, json_t *accounts,
                                  json_t **out_cost, json_t **out_asking);

#endif
