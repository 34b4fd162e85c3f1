/* A Renyi account's divergence converts to an epsilon that is far too large for a few jobs; then
 * their own epsilons and deltas, added up, say more. Both are valid, and the smaller is shown. */
#include "api/data/exposure.h"

#include <math.h>
#include <string.h>

#include "storage/jobs.h"

static struct budget_sum sum_of(struct budget_sum a, struct budget_sum b)
{
    return (struct budget_sum){a.epsilon + b.epsilon, a.delta + b.delta};
}

/* What ACCOUNT has paid and holds. */
static struct budget_sum paid_and_held(const struct ledger_account *account)
{
    struct ledger_account all = *account;
    all.spent_units += all.held_units;
    all.spent_delta += all.held_delta;
    return budget_spent_sum(&all);
}

/* Sets OUT to the sum over jobs where nothing but jobs has paid from ACCOUNT and this is less. */
static enum db_status less_by_adding(struct db *db, const struct ledger_account *account,
                                     struct budget_sum *out)
{
    bool others = false;
    struct budget_sum jobs;
    enum db_status status = ledger_has_debits(db, account->id, &others);
    if (status != DB_OK || others)
        return status;
    status = jobs_cost_on(db, account->id, &jobs.epsilon, &jobs.delta);
    if (status == DB_OK && jobs.epsilon < out->epsilon && jobs.delta <= account->delta)
        *out = jobs;
    return status;
}

enum db_status exposure_of(struct db *db, const struct ledger_account *account,
                           struct exposure *out)
{
    struct ledger_limits limits;
    enum db_status status = db_owed(ledger_limits(db, account->id, &limits));
    if (status != DB_OK)
        return status;
    *out = (struct exposure){{account->epsilon, account->delta},
                             {limits.greatest_epsilon, limits.greatest_delta},
                             paid_and_held(account)};
    if (account->renyi_order == 0)
        return DB_OK;
    status = less_by_adding(db, account, &out->released);
    if (status != DB_OK || strncmp(account->resource, "acc_", 4) != 0)
        return status;
    struct ledger_account old;
    struct ledger_limits earlier;
    status = ledger_find(db, account->resource, &old);
    if (status == DB_OK)
        status = ledger_limits(db, old.id, &earlier);
    if (status != DB_OK)
        return db_owed(status);
    /* The old account paid what it had left for this one, whose limit began with that. */
    const struct budget_sum before = {old.epsilon - limits.first_epsilon,
                                      old.delta - limits.first_delta};
    out->limit = sum_of(out->limit, before);
    out->greatest = sum_of(out->greatest, before);
    /* The old account's limit may have been lowered before it was converted. */
    out->greatest.epsilon = fmax(out->greatest.epsilon, earlier.greatest_epsilon);
    out->greatest.delta = fmax(out->greatest.delta, earlier.greatest_delta);
    out->released = sum_of(out->released, before);
    return DB_OK;
}

json_t *exposure_json(const struct exposure *exposure)
{
    return json_pack(
        "{s:o, s:o, s:o}", "limit", budget_amount(exposure->limit.epsilon, exposure->limit.delta),
        "greatest_limit", budget_amount(exposure->greatest.epsilon, exposure->greatest.delta),
        "released", budget_amount(exposure->released.epsilon, exposure->released.delta));
}
