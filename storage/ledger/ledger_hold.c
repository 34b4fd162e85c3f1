/* Holds: what a job may cost is set aside when it is admitted, and at most that is spent when it
 * ends.
 *
 * DESIGN. A hold is one row per account under the job's id. Rows stay when the hold ends, marked,
 * so that neither a second settlement nor a second hold of the same name is possible. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/listing.h"
#include "storage/ledger/ledger_post.h"

struct held {
    char hold[ID_SIZE];
    char account[ID_SIZE];
    int64_t units, delta_units;
    char client[ID_SIZE]; /* who caused it */
};

static const struct column held_columns[] = {
    COLUMN(held, hold, TEXT),           COLUMN(held, account, TEXT), COLUMN(held, units, INTEGER),
    COLUMN(held, delta_units, INTEGER), COLUMN(held, client, TEXT),
};

const struct table ledger_holds_table =
    TABLE_DIGESTED("ledger_holds", held, held_columns, TABLE_ALL(held_columns), "digest", 2, 0);

struct held_list {
    unsigned count;
    struct held held[LEDGER_CHARGE_MAX];
};

static enum db_status hold_exists(struct db *db, const char *hold, bool *out_exists)
{
    struct db_value values[] = {db_text(hold)};
    enum db_status status = db_one(db, "SELECT 1 FROM ledger_holds WHERE hold = $1 LIMIT 1", values,
                                   1, listing_ignore, NULL);
    *out_exists = status == DB_OK;
    return db_optional(status);
}

static enum db_status hold_part(struct db *db, const struct ledger_charge *charge,
                                struct ledger_part *part)
{
    struct ledger_entry entry = {.time_ms = charge->now_ms,
                                 .kind = LEDGER_ENTRY_HOLD,
                                 .held_units = part->requested_units,
                                 .held_delta = part->requested_delta,
                                 .client = charge->client,
                                 .resource = charge->resource,
                                 .event = charge->event};
    enum db_status status = ledger_post(db, &part->account, &entry);
    if (status != DB_OK)
        return status;
    struct held held = {.units = part->requested_units, .delta_units = part->requested_delta};
    assert(strlen(charge->resource) < sizeof held.hold);
    memcpy(held.account, part->account.id, ID_SIZE);
    snprintf(held.client, sizeof held.client, "%s", charge->client);
    snprintf(held.hold, sizeof held.hold, "%s", charge->resource);
    return db_owed(table_insert(db, &ledger_holds_table, &held, NULL, 0));
}

enum db_status ledger_hold(struct db *db, const struct ledger_charge *charge,
                           struct ledger_outcome *out)
{
    assert(db_in_transaction(db) && charge->count > 0);
    bool exists = false;
    enum db_status status = hold_exists(db, charge->resource, &exists);
    if (status == DB_OK)
        status = ledger_weigh(db, charge, out);
    if (status == DB_OK && exists)
        out->verdict = LEDGER_HOLD_TAKEN;
    for (unsigned i = 0; status == DB_OK && out->verdict == LEDGER_OK && i < out->count; i++)
        status = hold_part(db, charge, &out->parts[i]);
    return status;
}

/* ---- the amounts of a hold */

static bool keep_held(void *context, const void *row)
{
    struct held_list *list = context;
    assert(list->count < LEDGER_CHARGE_MAX);
    list->held[list->count++] = *(const struct held *)row;
    return true;
}

static enum db_status read_hold(struct db *db, const char *hold, struct held_list *out)
{
    struct db_value values[] = {db_text(hold)};
    out->count = 0;
    return table_list(db, &ledger_holds_table, "WHERE hold = $1 AND ended = 0 ORDER BY account",
                      values, 1, keep_held, out);
}

enum db_status ledger_held(struct db *db, const char *hold, const char *account,
                           struct ledger_price *out)
{
    struct db_value values[] = {db_text(hold), db_text(account)};
    struct held held;
    *out = (struct ledger_price){.account = account};
    enum db_status status =
        table_find(db, &ledger_holds_table, "WHERE hold = $1 AND account = $2 AND ended = 0",
                   values, 2, &held);
    if (status == DB_OK) {
        out->units = held.units;
        out->delta_units = held.delta_units;
    }
    return status;
}

/* ---- settling */

/* Finds the price of each held account. The verdict says whether the holds cover the prices. */
static enum ledger_verdict match_prices(const struct ledger_charge *charge,
                                        const struct held_list *list, struct ledger_outcome *out)
{
    if (list->count == 0)
        return LEDGER_NO_HOLD;
    unsigned matched = 0;
    enum ledger_verdict verdict = LEDGER_OK;
    for (unsigned i = 0; i < list->count; i++) {
        struct ledger_part *part = &out->parts[i];
        *part = (struct ledger_part){.requested_units = 0};
        for (unsigned j = 0; j < charge->count; j++) {
            const struct ledger_price *price = &charge->prices[j];
            if (strcmp(price->account, list->held[i].account) == 0) {
                part->requested_units = price->units;
                part->requested_delta = price->delta_units;
                matched++;
            }
        }
        part->violated = part->requested_units > list->held[i].units ||
                         part->requested_delta > list->held[i].delta_units;
        if (part->violated)
            verdict = LEDGER_OVER_HOLD;
    }
    return matched == charge->count ? verdict : LEDGER_NO_ACCOUNT;
}

static enum db_status settle_part(struct db *db, const struct ledger_charge *charge,
                                  const struct held *held, struct ledger_part *part)
{
    struct ledger_entry entry = {.time_ms = charge->now_ms,
                                 .kind = LEDGER_ENTRY_SETTLE,
                                 .spent_units = part->requested_units,
                                 .spent_delta = part->requested_delta,
                                 .held_units = -held->units,
                                 .held_delta = -held->delta_units,
                                 .client = charge->client ? charge->client : held->client,
                                 .resource = charge->resource,
                                 .event = charge->event};
    enum db_status status = ledger_post(db, &part->account, &entry);
    if (status != DB_OK)
        return status;
    struct db_value values[] = {db_text(charge->resource), db_text(held->account)};
    status = db_change(db,
                       "UPDATE ledger_holds SET ended = 1 WHERE hold = $1 AND account = $2 "
                       "AND ended = 0",
                       values, 2);
    return status == DB_NONE ? DB_RETRY : status;
}

enum db_status ledger_settle(struct db *db, const struct ledger_charge *charge,
                             struct ledger_outcome *out)
{
    assert(db_in_transaction(db) && charge->count <= LEDGER_CHARGE_MAX);
    struct held_list list;
    enum db_status status = read_hold(db, charge->resource, &list);
    if (status != DB_OK)
        return status;
    out->verdict = match_prices(charge, &list, out);
    out->count = out->verdict == LEDGER_NO_ACCOUNT ? 0 : list.count;
    for (unsigned i = 0; status == DB_OK && i < out->count; i++)
        status = ledger_find(db, list.held[i].account, &out->parts[i].account);
    for (unsigned i = 0; status == DB_OK && out->verdict == LEDGER_OK && i < out->count; i++)
        status = settle_part(db, charge, &list.held[i], &out->parts[i]);
    return db_owed(status);
}

static enum db_status copy_event(void *context, const struct db_row *row)
{
    *(char **)context = memory_copy_text(db_row_text(row, 0));
    return DB_OK;
}

enum db_status ledger_settle_whole(struct db *db, const char *hold, int64_t now_ms)
{
    struct held_list list;
    struct ledger_outcome outcome;
    char *event = NULL;
    enum db_status status = read_hold(db, hold, &list);
    if (status != DB_OK || list.count == 0)
        return status;
    struct ledger_charge charge = {.count = list.count, .resource = hold, .now_ms = now_ms};
    for (unsigned i = 0; i < list.count; i++)
        charge.prices[i] = (struct ledger_price){list.held[i].account, list.held[i].units,
                                                 list.held[i].delta_units};
    status = db_owed(
        db_one(db,
               "SELECT event FROM ledger_entries WHERE account = $1 AND kind = 'hold' AND "
               "resource = $2",
               DB_VALUES(db_text(list.held[0].account), db_text(hold)), copy_event, &event));
    charge.event = event;
    if (status == DB_OK)
        status = ledger_settle(db, &charge, &outcome);
    free(event);
    return status;
}
