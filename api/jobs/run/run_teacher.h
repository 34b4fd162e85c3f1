/* Jobs that ask a teacher while they learn (kickstart): who is asked, who pays, and the asking. An
 * answer comes by the very request that a student would send over HTTP (POST
 * /v1/teachers/{id}/queries under an Idempotency-Key), made as the client that pays: it is debited
 * before it is drawn, from all accounts or from none, and stored under its key. The key is the
 * job's id and the roll-out's number, so an answer that was paid for is heard again and never drawn
 * again, whatever broke off in between.
 *
 * A steward may let a job ask a teacher of its own, at its own standing there or at that of a
 * client whose budget it grants and may take away anyway. */
#ifndef TACET_API_JOBS_RUN_RUN_TEACHER_H
#define TACET_API_JOBS_RUN_RUN_TEACHER_H

#include "api/jobs/run/job_run.h"

/* algorithm_hooks.ask_teacher with CONTEXT a struct job_run. */
enum algorithm_status job_teacher_ask(void *context, const struct teacher_question *question,
                                      double *out_probabilities, struct teacher_told *out);

/* The findings of RUN at its end as JSON text (malloc'ed; NULL: the database failed):
 * what this worker saw, or an earlier one had stored, and answers that were paid for and that
 * neither lived to write down. */
char *job_teacher_all_findings(const struct job_run *run);

/* Writes them down for views of the running job. A row that is not written is no loss. */
void job_teacher_show(struct job_run *run);

/* What a job's own answers have cost, and all that the payer's account has spent. */
struct job_teacher_spent {
    double epsilon, delta, account_epsilon, account_delta;
};

/* What such findings say was spent. */
struct job_teacher_spent job_teacher_spent_of(const char *findings);

#endif
