/* Counts and sums over all tenants, for those who watch the service: how many jobs are in which
 * state, and how much of the budgets is spent. They come from what the ledger and the table of jobs
 * say, which are the same for neighbouring datasets. */
#ifndef TACET_STORAGE_CENSUS_H
#define TACET_STORAGE_CENSUS_H

#include "storage/db/db.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger.h"

#define CENSUS_KINDS 4 /* of enum ledger_kind */

struct census_accounts {
    int64_t count;
    int64_t low; /* with less than a tenth of the limit left */
    /* Sums of epsilon. Each account has the epsilon that it was declared with, and of it the part
     * that is spent or held in its own units. */
    double limit, spent, held;
};

struct census {
    int64_t jobs[JOB_STATES];
    struct census_accounts accounts[CENSUS_KINDS];
    int64_t requests; /* for more budget, which wait for an answer */
};

/* Reads all jobs and accounts once. */
enum db_status census_take(struct db *db, struct census *out);

/* Reads when something was stored last: an answer, a row of the audit trail, an expert's data; 0:
 * nothing was. Goes through all experts. */
enum db_status census_newest(struct db *db, int64_t *out_ms);

#endif
