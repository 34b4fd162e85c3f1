/* Rows of jobs as structs, for the files of jobs alone. */
#ifndef TACET_STORAGE_JOBS_ROW_H
#define TACET_STORAGE_JOBS_ROW_H

#include "storage/jobs.h"

#define JOB_COLUMNS                                                                                \
    "id, owner, algorithm, mechanism, dataset, environment, request, plan, state, step, "          \
    "total_steps, account, hold_units, hold_delta, lease_owner, lease_until_ms, "                  \
    "cancel_requested, policy, has_evaluation, mean_return, std_return, episodes, problem_slug, "  \
    "problem_detail, epsilon_spent, created_ms, started_ms, finished_ms, attempts, "               \
    "shown_return, findings, q_release"

/* Request and plan of *OUT are borrowed from the row; false when it is not a row of ours. */
bool job_read(const struct db_row *row, struct job_row *out);

/* A row function: CONTEXT is a struct job_row, whose request and plan are malloc'ed. */
enum db_status job_see(void *context, const struct db_row *row);

#endif
