/* The ledger as callers see it. */
#include "api/books/accounts.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/books/buys.h"
#include "api/call/budget.h"
#include "api/call/names.h"
#include "api/call/page.h"
#include "api/call/project.h"
#include "api/call/revision.h"
#include "api/data/datasets.h"
#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "storage/endings.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger.h"
#include "storage/ledger/ledger_restore.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/limit_changes.h"

static json_t *hash_json(const unsigned char hash[LEDGER_HASH_SIZE])
{
    char hex[2 * LEDGER_HASH_SIZE + 1];
    sodium_bin2hex(hex, sizeof hex, hash, LEDGER_HASH_SIZE);
    return json_string(hex);
}

/* True when the caller may see what ACCOUNT pays for: its owner, and auditors. */
static bool sees_resource(const struct call *call, const struct ledger_account *account)
{
    return call_is(call, ROLE_AUDITOR) || call_owns(call, account->owner);
}

/* Adds what the ids of ACCOUNT are called, and when its teacher was closed. */
static enum db_status add_account_names(struct call *call, const struct ledger_account *account,
                                        json_t *json)
{
    char resource[ID_SIZE];
    struct ending ending = {.closed_ms = 0};
    bool owner = sees_resource(call, account);
    bool own = strcmp(account->client, call->caller.id) == 0;
    enum db_status status = names_resource(call->db, account, resource);
    if (status == DB_OK)
        status = names_show(call->db, json, "resource_name", resource, owner);
    if (status == DB_OK)
        status = names_show(call->db, json, "client_name", account->client, owner || own);
    if (status == DB_OK)
        status = db_optional(endings_find(call->db, resource, &ending));
    bool continues = strcmp(resource, account->resource) != 0;
    json_object_set_new(json, "resource", json_string(resource));
    json_object_set_new(json, "continues", json_text_or_null(continues ? account->resource : ""));
    json_object_set_new(json, "closed_at", json_time(ending.closed_ms));
    return status;
}

/* Adds to the account JSON what restores have burnt of it: a part of what is spent. */
static enum db_status add_burnt(struct call *call, const struct ledger_account *account,
                                json_t *json)
{
    int64_t units = 0, delta_units = 0;
    json_t *integers = json_object_get(json, "units");
    enum db_status status = ledger_burnt(call->db, account->id, &units, &delta_units);
    json_object_set_new(json, "burnt", budget_burnt(account, units, delta_units));
    if (integers) {
        json_object_set_new(integers, "burnt", json_integer(units));
        json_object_set_new(integers, "burnt_delta", json_integer(delta_units));
    }
    return status;
}

json_t *account_json(struct call *call, const struct ledger_account *account)
{
    json_t *units = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I}", "limit", (json_int_t)account->limit_units, "spent",
        (json_int_t)account->spent_units, "held", (json_int_t)account->held_units, "limit_delta",
        (json_int_t)account->limit_delta, "spent_delta", (json_int_t)account->spent_delta,
        "held_delta", (json_int_t)account->held_delta);
    json_t *more = json_pack(
        "{s:s, s:o, s:I, s:o, s:o, s:o}", "kind", ledger_kind_name(account->kind), "client",
        json_text_or_null(account->client), "entries", (json_int_t)account->entries, "head",
        hash_json(account->head), "units", units, "created_at", json_time(account->created_ms));
    json_t *whole = budget_json(account);
    json_object_update_new(whole, more);
    if (add_account_names(call, account, whole) == DB_OK &&
        add_burnt(call, account, whole) == DB_OK)
        return project_add(call, whole, account->owner);
    json_decref(whole);
    return NULL;
}

static bool add_account(void *context, const struct ledger_account *account)
{
    struct page *page = context;
    return page_add(page, account_json(page->call, account), account->created_ms, account->id);
}

enum problem api_accounts_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    const char *client = call_is(call, ROLE_STUDENT | ROLE_AGENT) ? call->caller.id : NULL;
    return page_end(
        &page, ledger_list(call->db, page_owner(&page), client, &page.rows, add_account, &page));
}

enum problem account_of_call(struct call *call, const char *id, struct ledger_account *out)
{
    enum db_status status = ledger_find(call->db, id, out);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    const char *me = call->caller.id;
    bool may = status == DB_OK && (call_is(call, ROLE_AUDITOR) || call_owns(call, out->owner) ||
                                   strcmp(out->client, me) == 0);
    if (may)
        return PROBLEM_NONE;
    return call_problem(call, PROBLEM_NOT_FOUND, "There is no such account.");
}

enum problem account_reply(struct call *call, const struct ledger_account *account, json_t *budget)
{
    struct ledger_limits limits;
    int64_t approvals = 1;
    if (!budget)
        return call_db(call, DB_FAILED);
    enum db_status status = buys_add(call, account, call_own(call, budget));
    if (status == DB_OK)
        status = db_owed(ledger_limits(call->db, account->id, &limits));
    if (status == DB_OK)
        status = limit_approvals(call->db, account->id, &approvals);
    if (status != DB_OK)
        return call_db(call, status);
    json_object_set_new(budget, "approvals", json_integer(approvals));
    revision_show(call, limits.revision);
    return call_reply_json(call, 200, json_incref(budget));
}

enum problem api_accounts_get(struct call *call)
{
    struct ledger_account account;
    enum problem problem = account_of_call(call, call_parameter(call, "id"), &account);
    if (problem != PROBLEM_NONE)
        return problem;
    return account_reply(call, &account, account_json(call, &account));
}

enum problem api_datasets_budget(struct call *call)
{
    struct dataset_row row;
    enum problem problem = dataset_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    if (row.account[0] == '\0') {
        return call_problem(call, PROBLEM_NOT_FOUND,
                            "This dataset is public and was made without a budget.");
    }
    struct ledger_account account;
    enum db_status status = ledger_find(call->db, row.account, &account);
    if (status != DB_OK)
        return call_db(call, status);
    json_t *budget = budget_json(&account);
    status = add_burnt(call, &account, budget);
    if (status == DB_OK)
        return account_reply(call, &account, budget);
    json_decref(budget);
    return call_db(call, status);
}

/* Takes the text NAME out of EVENT: why a limit was set, which request or proposal asked for it,
 * and who approved it, are stored in the event and shown as members of the entry. */
static json_t *take_event_text(json_t *event, const char *name)
{
    json_t *text = json_incref(json_object_get(event, name));
    if (!json_is_string(text)) {
        json_decref(text);
        return json_null();
    }
    json_object_del(event, name);
    return text;
}

static json_t *entry_json(const struct ledger_entry *entry)
{
    json_t *event = json_text_stored(entry->event);
    if (!event)
        event = json_text_or_null(entry->event);
    json_t *reason = take_event_text(event, "reason"), *request = take_event_text(event, "request");
    json_t *change = take_event_text(event, "change"),
           *approver = take_event_text(event, "approved_by");
    json_t *effects =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "limit", (json_int_t)entry->limit_units,
                  "spent", (json_int_t)entry->spent_units, "held", (json_int_t)entry->held_units,
                  "limit_delta", (json_int_t)entry->limit_delta, "spent_delta",
                  (json_int_t)entry->spent_delta, "held_delta", (json_int_t)entry->held_delta);
    return json_pack("{s:s, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "account", entry->account, "sequence", (json_int_t)entry->sequence, "time",
                     json_time(entry->time_ms), "kind", ledger_entry_kind_name(entry->kind),
                     "units", effects, "client", json_text_or_null(entry->client), "resource",
                     json_text_or_null(entry->resource), "reason", reason, "request", request,
                     "change", change, "approved_by", approver, "event", event, "previous_hash",
                     hash_json(entry->previous_hash), "hash", hash_json(entry->hash));
}

/* Adds the certificate of what the job of an entry has released; null where there is none. */
static enum db_status add_entry_certificate(struct call *call, const struct ledger_entry *entry,
                                            bool shown, json_t *json)
{
    char certificate[ID_SIZE] = "";
    enum db_status status = DB_NONE;
    if (shown && strncmp(entry->resource, "job_", strlen("job_")) == 0)
        status = jobs_certificate(call->db, entry->resource, certificate);
    json_object_set_new(json, "certificate", json_text_or_null(certificate));
    return db_optional(status);
}

static bool add_entry(void *context, const struct ledger_entry *entry)
{
    struct page *page = context;
    json_t *json = call_own(page->call, entry_json(entry));
    /* An account shows its entries to its client, its owner and auditors. */
    bool owner = !call_is(page->call, ROLE_STUDENT | ROLE_AGENT);
    bool shown = owner || strcmp(entry->client, page->call->caller.id) == 0;
    const char *approver = json_member_text(json, "approved_by");
    if (add_entry_certificate(page->call, entry, owner, json) != DB_OK ||
        names_show(page->call->db, json, "client_name", entry->client, shown) != DB_OK ||
        names_show(page->call->db, json, "approved_by_name", approver, shown) != DB_OK)
        return page_add(page, NULL, entry->sequence, "");
    return page_add(page, json_incref(json), entry->sequence, "");
}

enum problem api_accounts_entries(struct call *call)
{
    struct page page;
    struct ledger_account account;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    if ((problem = account_of_call(call, call_parameter(call, "id"), &account)) != PROBLEM_NONE)
        return problem;
    return page_end(&page, ledger_entries(call->db, account.id, page.rows.number, page.rows.limit,
                                          add_entry, &page));
}

static json_t *faults_json(const struct ledger_report *report)
{
    json_t *faults = json_array();
    for (unsigned i = 0; i < report->described; i++) {
        const struct ledger_fault *fault = &report->faults[i];
        json_t *one = json_pack("{s:s, s:I, s:s}", "account", fault->account, "sequence",
                                (json_int_t)fault->sequence, "what", fault->what);
        json_array_append_new(faults, one);
    }
    return faults;
}

enum problem api_ledger_verify(struct call *call)
{
    struct ledger_report report;
    enum db_status status = ledger_verify(call->db, &report);
    if (status != DB_OK)
        return call_db(call, status);
    return call_reply_json(
        call, 200,
        json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:{s:I, s:o}}", "ok",
                  report.fault_count == 0, "accounts", (json_int_t)report.accounts, "entries",
                  (json_int_t)report.entries, "folded", (json_int_t)report.folded, "open_holds",
                  (json_int_t)report.open_holds, "fault_count", (json_int_t)report.fault_count,
                  "faults", faults_json(&report), "head", hash_json(report.head), "log", "size",
                  (json_int_t)report.leaves, "root", hash_json(report.root)));
}
