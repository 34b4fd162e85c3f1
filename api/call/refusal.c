/* Refusals that help. */
#include "api/call/refusal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/call/call.h"
#include "api/call/names.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger_spenders.h"

#define SPENDERS_SHOWN 20

static bool is_teachers(const struct ledger_account *account)
{
    return strncmp(account->resource, "tch_", 4) == 0;
}

/* ---- one account */

struct spenders {
    struct db *db;
    const struct ledger_account *account;
    json_t *list;
    enum db_status status;
};

static bool add_spender(void *context, const struct ledger_spender *spender)
{
    struct spenders *spenders = context;
    struct ledger_account part = *spenders->account;
    part.spent_units = spender->spent_units;
    part.spent_delta = spender->spent_delta;
    json_t *json = json_pack("{s:s, s:o}", "client", spender->client, "spent", budget_spent(&part));
    spenders->status = names_add(spenders->db, json, "client_name", spender->client);
    json_array_append_new(spenders->list, json);
    return spenders->status == DB_OK;
}

/* Sets *OUT to the list of who spent from ACCOUNT: null for a client that does not own it, and
 * where there are too many entries. */
static enum db_status spent_by(struct call *call, const struct ledger_account *account,
                               json_t **out)
{
    struct spenders spenders = {.db = call->db, .account = account, .list = json_array()};
    enum db_status status = DB_NONE;
    if (strcmp(account->client, call->caller.id) == 0) {
        struct ledger_spender self = {.spent_units = account->spent_units,
                                      .spent_delta = account->spent_delta};
        memcpy(self.client, account->client, sizeof self.client);
        status = DB_OK;
        (void)add_spender(&spenders, &self);
    } else if (call_owns(call, account->owner)) {
        status = ledger_spenders(call->db, account, SPENDERS_SHOWN, add_spender, &spenders);
    }
    if (status == DB_OK)
        status = spenders.status;
    *out = spenders.list;
    if (status == DB_OK)
        return DB_OK;
    json_decref(spenders.list);
    *out = json_null();
    return db_optional(status);
}

static json_t *missing_json(struct budget_sum needed, struct budget_sum left)
{
    return budget_amount(fmax(0, needed.epsilon - left.epsilon),
                         fmax(0, needed.delta - left.delta));
}

/* Adds PART to the member "accounts" of OUT. A student sees no dataset, whose account pays for a
 * teacher of shards, but the teacher that it asked. */
static enum db_status add_short_account(struct call *call, const struct ledger_part *part,
                                        json_t *out)
{
    const struct ledger_account *account = &part->account;
    struct budget_sum needed =
                          budget_added_sum(account, part->requested_units, part->requested_delta),
                      left = budget_remaining_sum(account);
    bool owner = call_owns(call, account->owner);
    bool shown = owner || strcmp(account->client, call->caller.id) == 0 || is_teachers(account);
    char resource[ID_SIZE] = "";
    json_t *by = NULL;
    enum db_status status = DB_OK;
    if (shown)
        status = names_resource(call->db, account, resource);
    if (status == DB_OK)
        status = spent_by(call, account, &by);
    if (status != DB_OK)
        return status;
    json_t *json =
        json_pack("{s:s, s:s, s:o, s:n, s:o, s:o, s:o, s:o, s:o}", "id", account->id, "kind",
                  ledger_kind_name(account->kind), "resource", json_text_or_null(resource), "name",
                  "needed", budget_amount(needed.epsilon, needed.delta), "available",
                  budget_amount(left.epsilon, left.delta), "held", budget_reserved(account),
                  "missing", missing_json(needed, left), "spent_by", by);
    json_array_append_new(out, json);
    return names_show(call->db, json, "name", resource, owner);
}

/* ---- what would be paid */

/* How often EACH fits into LEFT beside FIXED. */
static int64_t fits_into(int64_t left, int64_t fixed, int64_t each, int64_t most)
{
    if (each <= 0)
        return left >= fixed ? most : 0;
    int64_t count = left >= fixed ? (left - fixed) / each : 0;
    return count < most ? count : most;
}

int64_t refusal_largest(const struct ledger_outcome *outcome, const struct refusal_pieces *pieces)
{
    int64_t most = pieces->count;
    for (unsigned i = 0; i < outcome->count; i++) {
        const struct ledger_part *part = &outcome->parts[i];
        const struct ledger_account *a = &part->account;
        const struct refusal_piece *piece = &pieces->on[i];
        int64_t units = piece->units * pieces->count, delta = piece->delta_units * pieces->count;
        most = fits_into(a->limit_units - a->spent_units - a->held_units,
                         part->requested_units - units, piece->units, most);
        most = fits_into(a->limit_delta - a->spent_delta - a->held_delta,
                         part->requested_delta - delta, piece->delta_units, most);
    }
    return most;
}

/* The largest request: a number of pieces, the least that remains of any account, or of an account
 * that counts Renyi divergence what remains of that. */
static json_t *largest_json(const struct ledger_outcome *outcome,
                            const struct refusal_pieces *pieces)
{
    if (pieces)
        return json_pack("{s:I}", pieces->name, (json_int_t)refusal_largest(outcome, pieces));
    struct budget_sum least = {INFINITY, INFINITY};
    for (unsigned i = 0; i < outcome->count; i++) {
        const struct ledger_account *a = &outcome->parts[i].account;
        if (a->renyi_order > 1)
            return json_pack(
                "{s:o, s:o, s:o}", "divergence",
                json_number(ledger_units_value(a->limit_units - a->spent_units - a->held_units)),
                "order", json_number(a->renyi_order), "delta",
                json_number(ledger_delta_value(a->limit_delta - a->spent_delta - a->held_delta)));
        struct budget_sum left = budget_remaining_sum(&outcome->parts[i].account);
        least.epsilon = fmin(least.epsilon, left.epsilon);
        least.delta = fmin(least.delta, left.delta);
    }
    return budget_amount(least.epsilon, least.delta);
}

/* ---- asking for more */

static const char raise_needs[] =
    "A \"reason\" in the body, and If-Match with the ETag of a GET of href. A higher limit is a "
    "weaker promise to everybody whose data it covers.";

/* The request that a student sends so that PART can be paid; the owner sets the limit. */
static json_t *ask_json(const struct call *call, const struct ledger_part *part)
{
    struct budget_sum limit =
        budget_limit_for(&part->account, part->requested_units, part->requested_delta);
    const char *teacher = part->account.resource;
    if (part->account.kind != LEDGER_CLIENT)
        return json_pack("{s:s, s:o, s:{s:o}, s:s}", "method", "PATCH", "href",
                         json_sprintf("/v1/ledger/accounts/%s", part->account.id), "body", "limit",
                         budget_amount(limit.epsilon, limit.delta), "needs", raise_needs);
    if (call_owns(call, part->account.owner))
        return json_pack("{s:s, s:o, s:o}", "method", "PUT", "href",
                         json_sprintf("/v1/teachers/%s/budgets/%s", teacher, part->account.client),
                         "body", budget_amount(limit.epsilon, limit.delta));
    json_t *body = budget_amount(limit.epsilon, limit.delta);
    json_object_set_new(body, "teacher", json_string(teacher));
    return json_pack("{s:s, s:s, s:o, s:s}", "method", "POST", "href", "/v1/budget-requests",
                     "body", body, "needs", "A \"reason\" in the body.");
}

/* True when the caller can have PART's limit raised: it is a client's, at a teacher, or the
 * caller's own dataset's or teacher's. */
static bool can_be_raised(const struct call *call, const struct ledger_part *part)
{
    const struct ledger_account *account = &part->account;
    if (account->kind == LEDGER_CLIENT)
        return is_teachers(account);
    return account->kind != LEDGER_SHARE && call_owns(call, account->owner);
}

/* Sets *OUT_FIRST to the first account that cannot pay. True when more can be asked for: that
 * account can be raised, and no other one is in the way. */
static bool find_raisable(const struct call *call, const struct ledger_outcome *outcome,
                          const struct ledger_part **out_first)
{
    bool raisable = true;
    *out_first = NULL;
    for (unsigned i = 0; i < outcome->count; i++) {
        const struct ledger_part *part = &outcome->parts[i];
        if (!part->violated)
            continue;
        if (!*out_first)
            *out_first = part;
        raisable = raisable && can_be_raised(call, part);
    }
    return *out_first && raisable;
}

/* ---- the problem */

static void add_violation(struct call *call, const struct ledger_part *part)
{
    const struct ledger_account *account = &part->account;
    struct budget_sum more =
        budget_added_sum(account, part->requested_units, part->requested_delta);
    call_violated(call, json_pack("{s:s, s:o, s:o, s:o, s:o}", "account", account->id, "limit",
                                  budget_amount(account->epsilon, account->delta), "spent",
                                  budget_spent(account), "reserved", budget_reserved(account),
                                  "requested", budget_amount(more.epsilon, more.delta)));
}

/* The end of the sentence: what would be paid, and how to get more. */
static const char *what_helps(struct call *call, const struct ledger_outcome *outcome,
                              const struct refusal_pieces *pieces, bool raisable)
{
    const char *more = "Only the owner of an account can raise its limit, and an agent's stays.";
    if (raisable)
        more = "A higher limit can be asked for.";
    if (!pieces)
        return more;
    return arena_format(&call->arena, "Now %lld %s would be paid. %s",
                        (long long)refusal_largest(outcome, pieces), pieces->name, more);
}

/* One sentence about FIRST, the first account that cannot pay, and one about what helps. */
static enum problem say_refusal(struct call *call, const struct ledger_outcome *outcome,
                                const struct ledger_part *first, const char *helps)
{
    if (outcome->verdict == LEDGER_RESERVED) {
        return call_problem(
            call, PROBLEM_BUDGET_RESERVED,
            "Jobs, or shares of clients, hold the budget that the accounts listed in "
            "violated would need. "
            "Nothing was charged. %s",
            helps);
    }
    if (!first)
        return call_problem(call, PROBLEM_BUDGET_EXHAUSTED,
                            "The budget cannot pay. Nothing was charged.");
    struct budget_sum left = budget_remaining_sum(&first->account),
                      needed = budget_added_sum(&first->account, first->requested_units,
                                                first->requested_delta);
    return call_problem(call, PROBLEM_BUDGET_EXHAUSTED,
                        "The account %s has epsilon %.6g and delta %.6g left; this would cost "
                        "epsilon %.6g and delta %.6g. Nothing was charged. %s",
                        first->account.id, left.epsilon, left.delta, needed.epsilon, needed.delta,
                        helps);
}

static enum problem refuse_unpaid(struct call *call, const struct ledger_outcome *outcome,
                                  const struct refusal_pieces *pieces)
{
    const struct ledger_part *first = NULL;
    bool raisable = find_raisable(call, outcome, &first);
    json_t *accounts = call_own(call, json_array()), *ask = json_null();
    for (unsigned i = 0; i < outcome->count; i++) {
        if (!outcome->parts[i].violated)
            continue;
        enum db_status status = add_short_account(call, &outcome->parts[i], accounts);
        if (status != DB_OK)
            return call_db(call, status);
        add_violation(call, &outcome->parts[i]);
    }
    if (raisable)
        ask = ask_json(call, first);
    call_problem_member(call, "accounts", json_incref(accounts));
    call_problem_member(call, "largest", largest_json(outcome, pieces));
    call_problem_member(call, "ask", ask);
    return say_refusal(call, outcome, first, what_helps(call, outcome, pieces, raisable));
}

enum problem refusal_make(struct call *call, const struct ledger_outcome *outcome,
                          const struct refusal_pieces *pieces)
{
    switch (outcome->verdict) {
    case LEDGER_EXHAUSTED:
    case LEDGER_RESERVED: return refuse_unpaid(call, outcome, pieces);
    case LEDGER_NO_ACCOUNT:
        return call_problem(call, PROBLEM_NO_BUDGET, "There is no account that could pay.");
    case LEDGER_TOO_LOW:
        return call_problem(call, PROBLEM_CONFLICT,
                            "The limit cannot be below what is spent and reserved.");
    case LEDGER_STALE:
        return call_problem(call, PROBLEM_PRECONDITION_FAILED, "The limit has changed since.");
    case LEDGER_NO_HOLD:
    case LEDGER_HOLD_TAKEN:
    case LEDGER_OVER_HOLD:
        return call_problem(call, PROBLEM_CONFLICT, "What was reserved has been settled already.");
    case LEDGER_OK: break;
    }
    return call_problem(call, PROBLEM_INTERNAL_ERROR, "The ledger gave no verdict.");
}

enum problem refusal_no_account(struct call *call, const char *teacher)
{
    json_t *href = json_sprintf("/v1/teachers/%s/budgets/%s", teacher, call->caller.id);
    call_problem_member(call, "accounts", json_array());
    call_problem_member(call, "largest", json_pack("{s:i}", "states", 0));
    call_problem_member(call, "ask", json_pack("{s:s, s:o}", "method", "PUT", "href", href));
    return call_problem(call, PROBLEM_NO_BUDGET,
                        "This teacher answers only clients that were granted a budget.");
}

void refusal_least(struct call *call, double epsilon, double delta)
{
    json_t *least = json_pack("{s:o}", "epsilon", json_number(epsilon));
    if (delta > 0)
        json_object_set_new(least, "delta", json_number(delta));
    call_problem_member(call, "least", least);
}
