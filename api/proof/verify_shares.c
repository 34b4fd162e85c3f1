/* Shares are accounts whose spending their payer has set aside: the two sides are compared when all
 * accounts were read. */
#include <stdlib.h>
#include <string.h>

#include "api/proof/verify_state.h"

void verify_share_aside(struct verify *verify, const char *name, int64_t units, int64_t delta_units)
{
    enum ledger_kind payer = verify->claimed.kind;
    if (strncmp(name, "acc_", 4) != 0 || strlen(name) >= ID_SIZE)
        return;
    if (payer != LEDGER_DATASET && payer != LEDGER_TEACHER)
        verify_fault(verify, verify->claimed.id, 0, "it pays for a share, which it cannot");
    struct share_amount *aside = verify_list_add(&verify->aside, sizeof *aside);
    memcpy(aside->id, name, strlen(name));
    aside->units = units;
    aside->delta_units = delta_units;
}

static int compare_shares(const void *a, const void *b)
{
    const struct share_amount *x = a, *y = b;
    return strcmp(x->id, y->id);
}

void verify_shares_end(struct verify *verify)
{
    const struct share_amount *shares = verify->shares.items;
    if (verify->aside.count > 0)
        qsort(verify->aside.items, verify->aside.count, sizeof *shares, compare_shares);
    const struct share_amount *payments = verify->aside.items;
    for (size_t i = 1; i < verify->aside.count; i++)
        if (strcmp(payments[i - 1].id, payments[i].id) == 0)
            verify_fault(verify, payments[i].id, 0, "two accounts pay for the same share");
    for (size_t i = 0; i < verify->shares.count; i++) {
        const struct share_amount *aside = NULL;
        if (verify->aside.count > 0)
            aside = bsearch(&shares[i], verify->aside.items, verify->aside.count, sizeof *aside,
                            compare_shares);
        if (!aside)
            verify_fault(verify, shares[i].id, 0, "nobody pays for what this share spends");
        else if (shares[i].units > aside->units || shares[i].delta_units > aside->delta_units)
            verify_fault(verify, shares[i].id, 0,
                         "the share has spent more than its payer set aside or paid");
    }
}
