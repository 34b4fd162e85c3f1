/* Spending at once: every account of a charge pays, or none.
 *
 * DESIGN. All accounts are read and weighed first, inside the caller's writing transaction, so that
 * a refusal has changed nothing and needs no roll-back; then each gets its entry. The change of the
 * balances is conditional all the same (ledger_post). */
#include <assert.h>
#include <string.h>

#include "storage/ledger/ledger_post.h"

static void assert_valid(const struct ledger_charge *charge)
{
    assert(charge->count <= LEDGER_CHARGE_MAX);
    for (unsigned i = 0; i < charge->count; i++) {
        const struct ledger_price *p = &charge->prices[i];
        assert(p->units >= 0 && p->units <= LEDGER_UNITS_MAX);
        assert(p->delta_units >= 0 && p->delta_units <= LEDGER_UNITS_MAX);
        for (unsigned j = 0; j < i; j++)
            assert(strcmp(charge->prices[j].account, p->account) != 0);
    }
}

/* No sum overflows: each of the three is at most LEDGER_UNITS_MAX, and spent + held the limit. */
static enum ledger_verdict weigh_part(const struct ledger_part *part)
{
    const struct ledger_account *a = &part->account;
    if (a->spent_units + part->requested_units > a->limit_units ||
        a->spent_delta + part->requested_delta > a->limit_delta)
        return LEDGER_EXHAUSTED;
    if (a->spent_units + a->held_units + part->requested_units > a->limit_units ||
        a->spent_delta + a->held_delta + part->requested_delta > a->limit_delta)
        return LEDGER_RESERVED;
    return LEDGER_OK;
}

enum db_status ledger_weigh(struct db *db, const struct ledger_charge *charge,
                            struct ledger_outcome *out)
{
    assert_valid(charge);
    out->verdict = LEDGER_OK;
    out->count = 0;
    for (unsigned i = 0; i < charge->count; i++) {
        struct ledger_part *part = &out->parts[i];
        enum db_status status = ledger_find(db, charge->prices[i].account, &part->account);
        if (status != DB_OK) {
            out->verdict = LEDGER_NO_ACCOUNT;
            return db_optional(status);
        }
        part->requested_units = charge->prices[i].units;
        part->requested_delta = charge->prices[i].delta_units;
        enum ledger_verdict verdict = weigh_part(part);
        part->violated = verdict != LEDGER_OK;
        if (verdict == LEDGER_EXHAUSTED || out->verdict == LEDGER_OK)
            out->verdict = verdict;
    }
    out->count = charge->count;
    return DB_OK;
}

enum db_status ledger_debit(struct db *db, const struct ledger_charge *charge,
                            struct ledger_outcome *out)
{
    assert(db_in_transaction(db));
    enum db_status status = ledger_weigh(db, charge, out);
    for (unsigned i = 0; status == DB_OK && out->verdict == LEDGER_OK && i < out->count; i++) {
        struct ledger_part *part = &out->parts[i];
        struct ledger_entry entry = {.time_ms = charge->now_ms,
                                     .kind = LEDGER_ENTRY_DEBIT,
                                     .spent_units = part->requested_units,
                                     .spent_delta = part->requested_delta,
                                     .client = charge->client,
                                     .resource = charge->resource,
                                     .event = charge->event};
        status = ledger_post(db, &part->account, &entry);
    }
    return status;
}
