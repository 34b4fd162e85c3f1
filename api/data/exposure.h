/* How much the experts of a dataset may be exposed, and how much they have been so far. */
#ifndef TACET_API_DATA_EXPOSURE_H
#define TACET_API_DATA_EXPOSURE_H

#include <jansson.h>

#include "api/call/budget.h"
#include "storage/db/db.h"

struct exposure {
    struct budget_sum limit;    /* never passed as long as it is not raised */
    struct budget_sum greatest; /* limit that ever stood: what an expert was promised */
    struct budget_sum released; /* by everything that was paid or is held so far: the epsilon and
                                   delta of these releases as a plan fixed in advance */
};

/* Fills OUT for a dataset whose account is ACCOUNT. Of an account that continues another, both
 * count what the other one had paid. */
enum db_status exposure_of(struct db *db, const struct ledger_account *account,
                           struct exposure *out);

/* {"limit","greatest_limit","released"}, each {"epsilon","delta"}. New reference. */
json_t *exposure_json(const struct exposure *exposure);

#endif
