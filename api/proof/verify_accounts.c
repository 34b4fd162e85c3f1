/* One account after the other: its entries are added up and hashed again, and compared with what
 * its line says. */
#include <stdlib.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/proof/verify_state.h"
#include "storage/ledger/ledger_chain.h"
#include "storage/ledger/ledger_fold.h"

#define ENTRIES_MOST   INT64_C(1000000000000) /* of an account: sums of them do not overflow */
#define DECLARED_SLACK 1e-6 /* of a declared epsilon: a conversion is computed again */

/* ---- one entry */

static bool moves_nothing(int64_t units, int64_t delta_units)
{
    return units == 0 && delta_units == 0;
}

/* Whether the effects of ENTRY are those that its kind has. */
static bool effects_fit(const struct ledger_entry *e)
{
    bool limit = !moves_nothing(e->limit_units, e->limit_delta);
    bool spent = !moves_nothing(e->spent_units, e->spent_delta);
    bool held = !moves_nothing(e->held_units, e->held_delta);
    bool spends = e->spent_units >= 0 && e->spent_delta >= 0;
    switch (e->kind) {
    case LEDGER_ENTRY_OPEN:
    case LEDGER_ENTRY_LIMIT: return !spent && !held;
    case LEDGER_ENTRY_DEBIT:
    case LEDGER_ENTRY_RESTORED:
    case LEDGER_ENTRY_FOLDED: return !limit && !held && spends;
    case LEDGER_ENTRY_HOLD: return !limit && !spent && e->held_units >= 0 && e->held_delta >= 0;
    case LEDGER_ENTRY_SETTLE:
        return !limit && spends && e->spent_units <= -e->held_units &&
               e->spent_delta <= -e->held_delta;
    case LEDGER_ENTRY_HANDOVER: return !limit && !spent && !held;
    }
    return false;
}

static struct open_hold *find_hold(struct verify *verify, const char *name)
{
    struct open_hold *holds = verify->holds.items;
    for (size_t i = 0; i < verify->holds.count; i++)
        if (strcmp(holds[i].name, name) == 0)
            return &holds[i];
    return NULL;
}

/* Notes that the account in hand had the hold NAME. */
static void add_hold_name(struct verify *verify, const char *name)
{
    struct purpose *held = verify_list_add(&verify->hold_names, sizeof *held);
    const char *account = verify->claimed.id;
    crypto_generichash(held->hash, sizeof held->hash, (const unsigned char *)name, strlen(name),
                       (const unsigned char *)account, strlen(account));
}

/* Begins or ends a hold. False: it is not one that could. */
static bool move_hold(struct verify *verify, const struct ledger_entry *entry)
{
    struct open_hold *hold = find_hold(verify, entry->resource);
    if (entry->kind == LEDGER_ENTRY_HOLD) {
        size_t size = strlen(entry->resource);
        if (hold || size >= ID_SIZE)
            return false;
        hold = verify_list_add(&verify->holds, sizeof *hold);
        memcpy(hold->name, entry->resource, size);
        hold->units = entry->held_units;
        hold->delta_units = entry->held_delta;
        return true;
    }
    if (!hold || hold->units != -entry->held_units || hold->delta_units != -entry->held_delta)
        return false;
    add_hold_name(verify, hold->name);
    *hold = ((struct open_hold *)verify->holds.items)[--verify->holds.count];
    return true;
}

/* Whether ENTRY may be for a teacher's answers, which a dataset that adds epsilons, or a share of
 * its account, pays by their divergence at the teacher's order, with one delta for all: such
 * entries have none, and do not say the order. */
static bool is_for_answers(const struct verify *verify, const struct ledger_entry *entry)
{
    enum ledger_kind kind = verify->claimed.kind;
    return entry->kind == LEDGER_ENTRY_DEBIT && (kind == LEDGER_DATASET || kind == LEDGER_SHARE);
}

static void check_price(struct verify *verify, const struct ledger_entry *entry)
{
    if (entry->kind != LEDGER_ENTRY_DEBIT && entry->kind != LEDGER_ENTRY_SETTLE)
        return;
    enum price_verdict verdict = verify_price(verify->prices, verify->claimed.renyi_order,
                                              entry->event, entry->spent_units, entry->spent_delta);
    if (verdict == PRICE_NEVER && is_for_answers(verify, entry))
        verdict = PRICE_UNKNOWN;
    verify->report->prices += verdict != PRICE_UNKNOWN;
    verify->report->unknown += verdict == PRICE_UNKNOWN;
    if (verdict == PRICE_LOW)
        verify_fault(verify, verify->claimed.id, entry->sequence,
                     "its event costs more than was paid");
    if (verdict == PRICE_NEVER)
        verify_fault(verify, verify->claimed.id, entry->sequence,
                     "no epsilon is enough for its event at the delta that was paid");
    if (verdict == PRICE_NONE)
        verify_fault(verify, verify->claimed.id, entry->sequence, "its event has no price");
}

/* The limit must not be above the budget that was declared with it. A share's is in the units of
 * the account that it is a part of. */
static void check_declared(struct verify *verify, const struct ledger_entry *entry)
{
    struct ledger_account *sums = &verify->sums;
    if (entry->kind != LEDGER_ENTRY_OPEN && entry->kind != LEDGER_ENTRY_LIMIT)
        return;
    sums->epsilon = entry->epsilon;
    sums->delta = entry->delta;
    if (sums->kind == LEDGER_SHARE || sums->limit_units == 0)
        return;
    if (budget_epsilon(sums, sums->limit_units) > sums->epsilon * (1 + DECLARED_SLACK) ||
        ledger_delta_value(sums->limit_delta) > sums->delta * (1 + DECLARED_SLACK))
        verify_fault(verify, sums->id, entry->sequence, "the limit is above the declared budget");
}

/* Whether ENTRY stands behind the one before it. FIRST is the first that it counts. */
static void check_chain(struct verify *verify, struct ledger_entry *entry,
                        const struct ledger_fold *fold)
{
    const struct ledger_account *sums = &verify->sums;
    bool folds = entry->kind == LEDGER_ENTRY_FOLDED;
    unsigned char hash[LEDGER_HASH_SIZE];
    if (strcmp(entry->account, sums->id) != 0)
        verify_fault(verify, sums->id, entry->sequence, "the entry is another account's");
    if ((entry->kind == LEDGER_ENTRY_OPEN) != (entry->sequence == 1))
        verify_fault(verify, sums->id, entry->sequence, "opening stands in the wrong place");
    if (!verify->chained)
        return;
    memcpy(entry->previous_hash, sums->head, LEDGER_HASH_SIZE);
    ledger_entry_hash(entry, hash);
    verify->chained = fold->first == sums->entries + 1 &&
                      (folds ? memcmp(fold->previous_hash, sums->head, LEDGER_HASH_SIZE) == 0
                             : memcmp(hash, entry->hash, LEDGER_HASH_SIZE) == 0);
    if (fold->first != sums->entries + 1)
        verify_fault(verify, sums->id, entry->sequence,
                     "an entry before this one is missing, or is there twice");
    else if (!verify->chained)
        verify_fault(verify, sums->id, entry->sequence,
                     "it was changed after it was written, or does not follow the entry before it");
}

void verify_next_entry(struct verify *verify, struct ledger_entry *entry)
{
    struct ledger_account *sums = &verify->sums;
    struct ledger_fold fold = {.first = entry->sequence};
    if (entry->sequence < 1 || entry->sequence > ENTRIES_MOST) {
        verify_fault(verify, sums->id, entry->sequence, "no account has so many entries");
        return;
    }
    verify_keep_entry(verify);
    bool folds = entry->kind == LEDGER_ENTRY_FOLDED;
    if (folds && !verify_may_fold(sums))
        verify_fault(verify, sums->id, entry->sequence,
                     "entries of a dataset and of a share are never folded");
    if (folds && !ledger_fold_read(entry, &fold)) {
        verify_fault(verify, sums->id, entry->sequence, "the fold cannot be read");
        fold.first = entry->sequence;
    }
    int64_t count = entry->sequence - fold.first + 1;
    check_chain(verify, entry, &fold);
    if (!effects_fit(entry))
        verify_fault(verify, sums->id, entry->sequence, "its amounts are not those of its kind");
    if (!ledger_apply(sums, entry))
        verify_fault(verify, sums->id, entry->sequence, "breaks 0 <= spent + held <= limit");
    if ((entry->kind == LEDGER_ENTRY_HOLD || entry->kind == LEDGER_ENTRY_SETTLE) &&
        !move_hold(verify, entry))
        verify_fault(verify, sums->id, entry->sequence, "it begins or ends a hold that it cannot");
    if (entry->kind == LEDGER_ENTRY_SETTLE)
        verify_share_aside(verify, entry->resource, entry->spent_units, entry->spent_delta);
    verify_converted(verify, entry);
    verify_job_paid(verify, entry);
    verify_restored(verify, entry);
    check_declared(verify, entry);
    check_price(verify, entry);
    verify_stated_entry(verify, entry);
    verify_anchors_meet(verify, entry);
    verify->debit = folds || entry->kind == LEDGER_ENTRY_DEBIT;
    verify->fold_first = fold.first;
    sums->entries = entry->sequence;
    memcpy(sums->head, entry->hash, LEDGER_HASH_SIZE);
    verify->report->entries += count;
    verify->report->folded += folds ? count : 0;
    int64_t unproven = entry->sequence - verify->proven_to;
    if (folds && unproven > 0)
        verify->report->unproven += unproven < count ? unproven : count;
}

/* ---- accounts */

static void add_purpose(struct verify *verify, const struct ledger_account *row)
{
    struct purpose *purpose = verify_list_add(&verify->purposes, sizeof *purpose);
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof purpose->hash);
    crypto_generichash_update(&state, (const unsigned char *)&row->kind, sizeof row->kind);
    crypto_generichash_update(&state, (const unsigned char *)row->resource,
                              strlen(row->resource) + 1);
    crypto_generichash_update(&state, (const unsigned char *)row->client, strlen(row->client) + 1);
    crypto_generichash_final(&state, purpose->hash, sizeof purpose->hash);
}

void verify_account(struct verify *verify, const struct ledger_account *row)
{
    if (!verify->in_account)
        verify_anchors_sort(verify);
    if (row->created_ms < verify->last_created_ms ||
        (row->created_ms == verify->last_created_ms && strcmp(row->id, verify->last_id) <= 0))
        verify_fault(verify, row->id, 0, "the accounts are not in the order of their opening");
    bool of_client = row->kind == LEDGER_CLIENT || row->kind == LEDGER_SHARE;
    if ((row->client[0] != '\0') != of_client)
        verify_fault(verify, row->id, 0, "accounts of its kind are of a client, or of none");
    verify->last_created_ms = row->created_ms;
    memcpy(verify->last_id, row->id, ID_SIZE);
    verify->in_account = verify->chained = true;
    verify->parted = NULL;
    verify->reborn = verify->debit = false;
    verify->holds.count = 0;
    verify->last_leaf = verify->first_leaf.sequence = 0;
    verify->claimed = *row;
    verify->sums = (struct ledger_account){.kind = row->kind, .renyi_order = row->renyi_order};
    memcpy(verify->sums.id, row->id, ID_SIZE);
    ledger_genesis(row, verify->sums.head);
    verify->report->accounts++;
    add_purpose(verify, row);
    verify_anchors_find(verify);
    verify_stated_account(verify);
}

void verify_account_end(struct verify *verify)
{
    const struct ledger_account *account = &verify->claimed, *sums = &verify->sums;
    if (!verify->in_account)
        return;
    if (account->spent_units != sums->spent_units || account->spent_delta != sums->spent_delta)
        verify_fault(verify, account->id, 0, "what is spent is not the sum of the entries");
    if (account->held_units != sums->held_units || account->held_delta != sums->held_delta)
        verify_fault(verify, account->id, 0, "what is held is not the sum of the entries");
    if (account->limit_units != sums->limit_units || account->limit_delta != sums->limit_delta ||
        account->epsilon != sums->epsilon || account->delta != sums->delta)
        verify_fault(verify, account->id, 0, "the limit is not what the entries say");
    if (account->entries != sums->entries ||
        memcmp(account->head, sums->head, LEDGER_HASH_SIZE) != 0)
        verify_fault(verify, account->id, 0, "the last entry is not the one that it should be");
    if (verify->last_leaf != sums->entries)
        verify_fault(verify, account->id, sums->entries, "the last entry is not in the log");
    verify_anchors_miss(verify);
    verify_stated_end(verify);
    verify->report->open_holds += (int64_t)verify->holds.count;
    const struct open_hold *holds = verify->holds.items;
    for (size_t i = 0; i < verify->holds.count; i++) {
        verify_share_aside(verify, holds[i].name, holds[i].units, holds[i].delta_units);
        add_hold_name(verify, holds[i].name);
    }
    if (account->kind == LEDGER_SHARE) {
        struct share_amount *share = verify_list_add(&verify->shares, sizeof *share);
        *share =
            (struct share_amount){.units = sums->spent_units, .delta_units = sums->spent_delta};
        memcpy(share->id, account->id, ID_SIZE);
    }
    verify_keep_head(verify);
}

static int compare_purposes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct purpose));
}

/* WHAT is a fault for each that is twice in LIST. */
static void check_repeats(struct verify *verify, const struct verify_list *list, const char *what)
{
    const struct purpose *items = list->items;
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *items, compare_purposes);
    for (size_t i = 1; i < list->count; i++)
        if (compare_purposes(&items[i - 1], &items[i]) == 0)
            verify_fault(verify, "", 0, what);
}

void verify_accounts_end(struct verify *verify)
{
    verify_anchors_end(verify);
    check_repeats(verify, &verify->purposes, "two accounts are for the same resource and client");
    check_repeats(verify, &verify->hold_names, "a hold of an account has begun twice");
}
