/* The ledger as callers see it. */
#include "api/accounts.h"

#include <sodium.h>
#include <string.h>

#include "api/budget.h"
#include "api/cursor.h"
#include "api/json_text.h"
#include "api/page.h"
#include "storage/ledger.h"

static json_t *hash_json(const unsigned char hash[LEDGER_HASH_SIZE])
{
    char hex[2 * LEDGER_HASH_SIZE + 1];
    sodium_bin2hex(hex, sizeof hex, hash, LEDGER_HASH_SIZE);
    return json_string(hex);
}

static json_t *account_json(const struct ledger_account *account)
{
    json_t *units = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I}", "limit", (json_int_t)account->limit_units, "spent",
        (json_int_t)account->spent_units, "held", (json_int_t)account->held_units, "limit_delta",
        (json_int_t)account->limit_delta, "spent_delta", (json_int_t)account->spent_delta,
        "held_delta", (json_int_t)account->held_delta);
    json_t *more =
        json_pack("{s:s, s:s, s:o, s:I, s:o, s:o, s:o}", "kind", account->kind, "resource",
                  account->resource, "client", json_text_or_null(account->client), "entries",
                  (json_int_t)account->entries, "head", hash_json(account->head), "units", units,
                  "created_at", json_time(account->created_ms));
    json_t *whole = budget_json(account);
    if (more == NULL || whole == NULL || json_object_update(whole, more) != 0) {
        json_decref(whole);
        whole = NULL;
    }
    json_decref(more);
    return whole;
}

/* Accounts that the caller may see: both NULL is all. */
static void visible(const struct call *call, const char **owner, const char **client)
{
    *owner = call_is(call, ROLE_STEWARD) ? call->caller.id : NULL;
    *client = call_is(call, ROLE_STEWARD | ROLE_STUDENT) ? call->caller.id : NULL;
}

enum problem api_accounts_list(struct call *call)
{
    struct page page;
    const char *owner, *client;
    unsigned count = 0;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE) {
        return problem;
    }
    visible(call, &owner, &client);
    struct ledger_account *accounts = arena_array(&call->arena, page.size + 1, sizeof *accounts);
    if (accounts == NULL) {
        return PROBLEM_INTERNAL_ERROR;
    }
    enum db_status status =
        ledger_list(call->db, owner, client, page.after == NULL ? "" : page.after, page.size + 1,
                    accounts, &count);
    if (status != DB_OK && status != DB_NONE) {
        return call_db(call, status);
    }
    json_t *items = call_own(call, json_array());
    unsigned shown = count > page.size ? page.size : count;
    for (unsigned i = 0; i < shown; i++) {
        if (json_array_append_new(items, account_json(&accounts[i])) != 0) {
            return PROBLEM_INTERNAL_ERROR;
        }
    }
    return page_reply(call, json_incref(items), count > page.size ? accounts[shown - 1].id : NULL);
}

/* Finds the account {id} if the caller may know of it. */
static enum problem find_account(struct call *call, struct ledger_account *out)
{
    const char *owner, *client;
    enum db_status status = ledger_find(call->db, call_parameter(call, "id"), out);
    if (status != DB_OK && status != DB_NONE) {
        return call_db(call, status);
    }
    visible(call, &owner, &client);
    bool all = owner == NULL && client == NULL;
    bool may = status == DB_OK && (all || (owner != NULL && strcmp(out->owner, owner) == 0) ||
                                   (client != NULL && strcmp(out->client, client) == 0));
    return may ? PROBLEM_NONE : call_problem(call, PROBLEM_NOT_FOUND, "There is no such account.");
}

enum problem api_accounts_get(struct call *call)
{
    struct ledger_account account;
    enum problem problem = find_account(call, &account);
    return problem != PROBLEM_NONE ? problem : call_reply_json(call, 200, account_json(&account));
}

static json_t *entry_json(const struct ledger_entry *entry)
{
    json_t *event = json_loads(entry->event, JSON_DECODE_ANY, NULL);
    if (event == NULL) {
        event = json_text_or_null(entry->event);
    }
    return json_pack(
        "{s:s, s:I, s:o, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "account",
        entry->account, "sequence", (json_int_t)entry->sequence, "time", json_time(entry->time_ms),
        "kind", entry->kind, "units", (json_int_t)entry->units, "delta_units",
        (json_int_t)entry->delta_units, "held_units", (json_int_t)entry->held_units,
        "held_delta_units", (json_int_t)entry->held_delta, "client",
        json_text_or_null(entry->client), "resource", json_text_or_null(entry->resource), "event",
        event, "previous_hash", hash_json(entry->previous_hash), "hash", hash_json(entry->hash));
}

enum problem api_accounts_entries(struct call *call)
{
    struct page page;
    struct ledger_account account;
    int64_t after;
    unsigned count = 0;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE) {
        return problem;
    }
    if (!cursor_read_number(call, &page, &after)) {
        return PROBLEM_VALIDATION;
    }
    if ((problem = find_account(call, &account)) != PROBLEM_NONE) {
        return problem;
    }
    struct ledger_entry *entries = arena_array(&call->arena, page.size + 1, sizeof *entries);
    if (entries == NULL) {
        return PROBLEM_INTERNAL_ERROR;
    }
    enum db_status status =
        ledger_entries(call->db, account.id, after, page.size + 1, entries, &count);
    if (status != DB_OK && status != DB_NONE) {
        return call_db(call, status);
    }
    json_t *items = call_own(call, json_array());
    unsigned shown = count > page.size ? page.size : count;
    for (unsigned i = 0; i < shown; i++) {
        if (json_array_append_new(items, entry_json(&entries[i])) != 0) {
            return PROBLEM_INTERNAL_ERROR;
        }
    }
    bool more = count > page.size;
    return page_reply(call, json_incref(items),
                      more ? cursor_write_number(call, entries[shown - 1].sequence) : NULL);
}

enum problem api_ledger_verify(struct call *call)
{
    struct ledger_report report;
    enum db_status status = ledger_verify(call->db, &report);
    if (status != DB_OK) {
        return call_db(call, status == DB_NONE ? DB_FAILED : status);
    }
    return call_reply_json(
        call, 200,
        json_pack("{s:b, s:I, s:I, s:I, s:o}", "ok", report.faults == 0, "accounts",
                  (json_int_t)report.accounts, "entries", (json_int_t)report.entries, "faults",
                  (json_int_t)report.faults, "first_fault",
                  report.faults == 0 ? json_null() : json_string(report.first_fault)));
}
