/* Anchors: what certificates and an earlier export say of entries. An account that an earlier
 * export has must go on from there; after a restore from a backup it cannot, and the entry
 * "restored" then tells this from a history that was changed.
 *
 * No hash covers the sums of a fold, nor what stands before it. So a fold is compared with what is
 * known of the entries that it counts: they are debits, and the balances behind each lie between
 * those before the fold and those behind it. */
#include <stdlib.h>
#include <string.h>

#include "api/proof/verify_state.h"

#define OLDER "an entry that was there is missing: this is an older history"
#define RESTORED                                                                                   \
    "the account was restored from a backup: it does not go on from the earlier export, "

/* ---- what is kept for a later export */

/* What is spent stands first. */
static void copy_balances(const struct ledger_account *account, int64_t out[VERIFY_BALANCES])
{
    const int64_t balances[VERIFY_BALANCES] = {account->spent_units, account->spent_delta,
                                               account->held_units,  account->held_delta,
                                               account->limit_units, account->limit_delta};
    memcpy(out, balances, sizeof balances);
}

void verify_keep_head(struct verify *verify)
{
    const struct ledger_account *sums = &verify->sums;
    struct anchor *head = verify_list_add(&verify->heads, sizeof *head);
    memcpy(head->account, sums->id, ID_SIZE);
    memcpy(head->hash, sums->head, LEDGER_HASH_SIZE);
    head->sequence = sums->entries;
    head->debit = verify->debit;
    copy_balances(sums, head->balances);
}

bool verify_may_fold(const struct ledger_account *account)
{
    return account->kind == LEDGER_TEACHER || account->kind == LEDGER_CLIENT;
}

void verify_keep_entry(struct verify *verify)
{
    const struct ledger_account *sums = &verify->sums;
    if (sums->entries == 1 || (sums->entries > 1 && !verify->debit && verify_may_fold(sums)))
        verify_keep_head(verify);
    copy_balances(sums, verify->before);
}

/* ---- finding anchors */

static int compare_anchors(const void *a, const void *b)
{
    const struct anchor *x = a, *y = b;
    int order = strcmp(x->account, y->account);
    if (order != 0)
        return order;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static struct anchor *anchor_at(struct verify *verify, size_t i)
{
    return (struct anchor *)verify->anchors.items + i;
}

/* The anchor that the account's entries reach next, or NULL. */
static struct anchor *next_anchor(struct verify *verify)
{
    if (verify->next_anchor == verify->anchors.count)
        return NULL;
    struct anchor *anchor = anchor_at(verify, verify->next_anchor);
    return strcmp(anchor->account, verify->claimed.id) == 0 ? anchor : NULL;
}

void verify_anchors_sort(struct verify *verify)
{
    if (verify->anchors.count > 0)
        qsort(verify->anchors.items, verify->anchors.count, sizeof(struct anchor), compare_anchors);
}

void verify_anchors_find(struct verify *verify)
{
    size_t low = 0, high = verify->anchors.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(anchor_at(verify, middle)->account, verify->claimed.id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    verify->next_anchor = low;
    verify->proven_to = 0;
    for (; low < verify->anchors.count; low++) {
        const struct anchor *anchor = anchor_at(verify, low);
        if (strcmp(anchor->account, verify->claimed.id) != 0)
            break;
        if (anchor->from[0] == '\0')
            verify->proven_to = anchor->sequence;
    }
}

/* ---- comparing */

static const char OTHER_FOLD[] = "a fold stands for an entry that it cannot have";

/* Why ENTRY, which ends at ANCHOR or counts it, is not what ANCHOR says; NULL: it may be. */
static const char *anchor_fault(const struct verify *verify, const struct anchor *anchor,
                                const struct ledger_entry *entry)
{
    bool known = anchor->from[0] == '\0', ends = anchor->sequence == entry->sequence;
    int64_t after[VERIFY_BALANCES];
    copy_balances(&verify->sums, after);
    if (ends && memcmp(anchor->hash, entry->hash, LEDGER_HASH_SIZE) != 0)
        return known ? "the earlier export has another entry: this is another history"
                     : "the certificate names another entry: this is another history";
    if (entry->kind == LEDGER_ENTRY_FOLDED && !anchor->debit)
        return OTHER_FOLD;
    if (ends && known && memcmp(anchor->balances, after, sizeof after) != 0)
        return "the entries up to here do not add up to what the earlier export has";
    for (int i = 0; i < VERIFY_BALANCES && known && !ends; i++)
        if (anchor->balances[i] < verify->before[i] || anchor->balances[i] > after[i])
            return "the fold does not add up to what the earlier export has";
    return NULL;
}

void verify_anchors_meet(struct verify *verify, const struct ledger_entry *entry)
{
    struct anchor *anchor;
    for (; (anchor = next_anchor(verify)) && anchor->sequence <= entry->sequence;
         verify->next_anchor++) {
        const char *why = anchor_fault(verify, anchor, entry);
        anchor->met = true;
        if (why && anchor->from[0] == '\0') {
            verify->parted = anchor;
            verify->parted_why = why;
        } else if (why) {
            verify_fault(verify, anchor->from, entry->sequence, why);
        } else if (anchor->sequence < entry->sequence) {
            verify->report->lost++;
        } else {
            verify->report->heads++;
        }
    }
}

/* ---- restores */

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

/* ---- ends */

void verify_anchors_miss(struct verify *verify)
{
    struct anchor *anchor;
    for (; (anchor = next_anchor(verify)); verify->next_anchor++) {
        anchor->met = true;
        if (anchor->from[0] == '\0') {
            verify->parted = anchor;
            verify->parted_why = OLDER;
        } else {
            verify_fault(verify, anchor->from, anchor->sequence, OLDER);
        }
    }
    const struct anchor *parted = verify->parted;
    if (!parted)
        return;
    const struct ledger_account *sums = &verify->sums;
    bool less = sums->spent_units < parted->balances[0] || sums->spent_delta < parted->balances[1];
    const char *what = verify->parted_why;
    if (verify->reborn)
        what = RESTORED "and has spent at least what it had there";
    if (verify->reborn && less)
        what = RESTORED "and has spent less than it had there: budget was given back";
    verify_fault(verify, parted->account, parted->sequence, what);
}

void verify_anchors_end(struct verify *verify)
{
    for (size_t i = 0; i < verify->anchors.count; i++) {
        const struct anchor *anchor = anchor_at(verify, i);
        bool known = anchor->from[0] == '\0';
        bool said =
            known && i > 0 && strcmp(anchor->account, anchor_at(verify, i - 1)->account) == 0;
        if (!anchor->met && !said)
            verify_fault(verify, known ? anchor->account : anchor->from, 0,
                         known ? "the earlier export has this account, and it is missing here"
                               : "the account that this certificate names is missing");
    }
}
