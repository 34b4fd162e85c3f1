/* Accounts that do not go on from an earlier export. After a restore from a backup they cannot: the
 * entry "restored" then tells this from a history that was changed, and what is spent tells whether
 * budget was given back. */
#include <stdlib.h>
#include <string.h>

#include "api/proof/verify_state.h"

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct known_hash));
}

void verify_restored(struct verify *verify, const struct ledger_entry *entry)
{
    const struct verify_list *before = &verify->restored_before;
    if (entry->kind != LEDGER_ENTRY_RESTORED)
        return;
    if (verify->restored.count == 0 && before->count > 0)
        qsort(before->items, before->count, sizeof(struct known_hash), compare_hashes);
    struct known_hash *known = verify_list_add(&verify->restored, sizeof *known);
    memcpy(known->hash, entry->hash, sizeof known->hash);
    if (before->count == 0 ||
        !bsearch(known, before->items, before->count, sizeof *known, compare_hashes))
        verify->reborn = true;
}

void verify_parted(struct verify *verify)
{
    const struct anchor *parted = verify->parted;
    const struct ledger_account *sums = &verify->sums;
    const char *what = "the earlier export has another entry: this is another history";
    if (!parted)
        return;
    if (parted->sequence > sums->entries)
        what = VERIFY_OLDER;
    if (verify->reborn)
        what = "the account was restored from a backup: it does not go on from the earlier export, "
               "and has spent at least what it had there";
    if (verify->reborn &&
        (sums->spent_units < parted->units || sums->spent_delta < parted->delta_units))
        what = "the account was restored from a backup: it does not go on from the earlier export, "
               "and has spent less than it had there: budget was given back";
    verify_fault(verify, parted->account, parted->sequence, what);
}
