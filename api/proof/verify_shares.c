/* Shares are accounts whose spending their payer has set aside, and an account that goes on from
 * another one is opened with what that one paid: the two sides are compared when all accounts were
 * read. */
#include <stdlib.h>
#include <string.h>

#include "api/proof/verify_state.h"

#define ROUNDED 1e-12

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

void verify_converted(struct verify *verify, const struct ledger_entry *entry)
{
    const struct ledger_account *row = &verify->claimed;
    struct share_amount amount = {.converted = true, .units = INT64_MAX, .delta_units = INT64_MAX};
    struct verify_list *list = NULL;
    if (row->kind == LEDGER_DATASET && entry->kind == LEDGER_ENTRY_DEBIT &&
        strcmp(entry->resource, row->resource) == 0) {
        list = &verify->aside;
        memcpy(amount.id, row->id, ID_SIZE);
        amount.units = entry->spent_units;
        amount.delta_units = entry->spent_delta;
    }
    if (row->kind == LEDGER_DATASET && entry->kind == LEDGER_ENTRY_OPEN &&
        strncmp(row->resource, "acc_", 4) == 0) {
        list = &verify->shares; /* it declares what was paid, as the nearest double */
        memcpy(amount.id, row->resource, ID_SIZE);
        (void)ledger_units_down(entry->epsilon * (1 - ROUNDED), &amount.units);
        (void)ledger_delta_down(entry->delta * (1 - ROUNDED), &amount.delta_units);
    }
    if (list)
        *(struct share_amount *)verify_list_add(list, sizeof amount) = amount;
}

static int compare_shares(const void *a, const void *b)
{
    const struct share_amount *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order != 0 ? order : x->converted - y->converted;
}

void verify_shares_end(struct verify *verify)
{
    const struct share_amount *shares = verify->shares.items;
    if (verify->aside.count > 0)
        qsort(verify->aside.items, verify->aside.count, sizeof *shares, compare_shares);
    const struct share_amount *payments = verify->aside.items;
    for (size_t i = 1; i < verify->aside.count; i++)
        if (compare_shares(&payments[i - 1], &payments[i]) == 0)
            verify_fault(verify, payments[i].id, 0,
                         payments[i].converted ? "it was converted twice"
                                               : "two accounts pay for the same share");
    for (size_t i = 0; i < verify->shares.count; i++) {
        const struct share_amount *aside = NULL;
        if (verify->aside.count > 0)
            aside = bsearch(&shares[i], verify->aside.items, verify->aside.count, sizeof *aside,
                            compare_shares);
        bool less =
            aside && (shares[i].units > aside->units || shares[i].delta_units > aside->delta_units);
        if (shares[i].converted && (!aside || less))
            verify_fault(verify, shares[i].id, 0,
                         "the account that goes on from it has more than it paid");
        else if (!aside)
            verify_fault(verify, shares[i].id, 0, "nobody pays for what this share spends");
        else if (less)
            verify_fault(verify, shares[i].id, 0,
                         "the share has spent more than its payer set aside or paid");
    }
}
