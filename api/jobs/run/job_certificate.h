/* The guarantees for a job's result, as JSON that is signed. Everything in it is public: of private
 * data it holds commitments (api/call/commitment.h), no plain hash and no count. */
#ifndef TACET_API_JOBS_RUN_JOB_CERTIFICATE_H
#define TACET_API_JOBS_RUN_JOB_CERTIFICATE_H

#include "api/jobs/ask/job_plan.h"
#include "storage/datasets.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger.h"

struct app;

struct job_certificate {
    const char *id;                    /* crt_ */
    const char *subject;               /* "policy" or "q_release" */
    const char *subject_id;            /* its id */
    const struct dataset_row *dataset; /* that it comes from, a student's teacher's; NULL: none */
    bool injected_noise;               /* the first warning says that it protects nobody */
    int64_t now_ms;
    json_t *binds;                        /* job_binds; borrowed */
    json_t *described;                    /* dataset_certified_description; borrowed */
    json_t *audited;                      /* job_audit_find; borrowed; NULL: none was named */
    const struct ledger_account *account; /* that holds the price, as it is now; NULL: none */
    json_t *proof;                        /* certificate_proof of ACCOUNT; borrowed; NULL: none */
    const struct exposure *exposure;      /* of the dataset that ACCOUNT is of; NULL: none */
};

/* The certificate of the result that JOB trained by PLAN under a mechanism, signed with the newest
 * key that DB has. The caller frees it. NULL: the key cannot be read. */
char *job_certificate(const struct app *app, struct db *db, const struct job_row *job,
                      const struct job_plan *plan, const struct job_certificate *certificate);

#endif
