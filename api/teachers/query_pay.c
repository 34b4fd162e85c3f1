/* Who pays for a question, and how much.
 *
 * DESIGN. The client's account always pays. Beside it the teacher's account pays, and the
 * dataset's: out of what they set aside for this client, if that pays for the whole question, else
 * out of what they have left for all (docs/proofs/budgets.md). So the same number of accounts pays
 * with a share as without. */
#include "api/teachers/query_pay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/call/refusal.h"
#include "api/json/json_text.h"
#include "api/teachers/teachers.h"

bool query_has_new_payer(const struct query *query)
{
    return strcmp(query->dataset_account, query->teacher->row.dataset_account) != 0;
}

enum problem query_check_cost(struct query *query)
{
    struct call *call = query->call;
    struct ledger_account account;
    if (query->max_epsilon <= 0)
        return PROBLEM_NONE;
    enum db_status status = teachers_client_account(call->db, &query->standing, &account);
    if (status != DB_OK)
        return call_db(call, status);
    double cost =
        budget_epsilon_added(&account, account.spent_units, query->cost.of[PAYER_CLIENT].units);
    if (cost > query->max_epsilon) {
        call_problem_member(call, "least", json_pack("{s:o}", "max_epsilon", json_number(cost)));
        return call_problem(call, PROBLEM_COST_ABOVE_MAXIMUM,
                            "It would cost epsilon %g; max_epsilon is %g. Nothing was charged.",
                            cost, query->max_epsilon);
    }
    return PROBLEM_NONE;
}

static struct ledger_price payer_price(const char *account, const struct filter_price *price)
{
    return (struct ledger_price){account, price->units, price->delta_units};
}

/* What the dataset's account pays: the price of the query. With the teacher's first answer it also
 * pays for the conversion of Renyi divergence to epsilon (docs/proofs/shards.md).
 */
static enum db_status dataset_price(const struct query *query, struct ledger_price *out)
{
    struct filter_price first;
    *out = payer_price(query->dataset_account, &query->cost.of[PAYER_DATASET]);
    if (query_has_new_payer(query))
        return DB_OK;
    enum db_status status = teacher_first_price(query->call->db, &query->teacher->row, &first);
    if (status == DB_OK) {
        /* Each is at most LEDGER_UNITS_MAX, which no account can pay. */
        out->units += first.units;
        if (out->units > LEDGER_UNITS_MAX)
            out->units = LEDGER_UNITS_MAX;
        out->delta_units += first.delta_units;
        if (out->delta_units > LEDGER_UNITS_MAX)
            out->delta_units = LEDGER_UNITS_MAX;
    }
    return status;
}

#define NUMBER    32
#define LEAF_SIZE 240

/* Writes into OUT the ledger event for one answer of a Gaussian teacher. The noise multiplier is
 * rounded down, so the recorded cost is never too low. */
static void write_gaussian(const struct shelved_teacher *teacher, char out[LEAF_SIZE])
{
    char multiplier[NUMBER];
    json_text_number(nextafter(1 / gaussian_simplex_mu(&teacher->teacher.gaussian), 0), multiplier);
    snprintf(out, LEAF_SIZE, "{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":%s}", multiplier);
}

static void write_dirichlet(const struct shelved_teacher *teacher, double concentration,
                            char out[LEAF_SIZE])
{
    const struct dirichlet *d = &teacher->teacher.dirichlet;
    char number[3][NUMBER];
    json_text_number(concentration, number[0]);
    json_text_number(d->min_probability, number[1]);
    json_text_number(d->sensitivity, number[2]);
    snprintf(out, LEAF_SIZE,
             "{\"type\":\"DirichletDpEvent\",\"actions\":%u,\"concentration\":%s,"
             "\"min_probability\":%s,\"sensitivity\":%s}",
             d->actions, number[0], number[1], number[2]);
}

/* The event of QUERY for its ledger entry (event_json.h), as POST /v1/accounting:compose reads it.
 * The text is written without a tree of JSON. */
static const char *query_event(const struct query *query)
{
    struct arena *arena = &query->call->arena;
    char leaf[LEAF_SIZE];
    if (query->teacher->row.sigma > 0)
        write_gaussian(query->teacher, leaf);
    else
        write_dirichlet(query->teacher, query->concentration, leaf);
    if (query->count == 1)
        return arena_copy(arena, leaf, strlen(leaf));
    return arena_format(arena, "{\"type\":\"SelfComposedDpEvent\",\"count\":%u,\"event\":%s}",
                        query->count, leaf);
}

static struct refusal_pieces query_pieces(const struct query *query)
{
    struct refusal_pieces pieces = {.name = "states", .count = query->count};
    for (int i = 0; i < TEACHER_PAYERS; i++) /* the order of the charge */
        pieces.on[i] = (struct refusal_piece){query->cost.of[i].units / query->count,
                                              query->cost.of[i].delta_units / query->count};
    return pieces;
}

/* True when account ID has COST left. */
static enum db_status share_can_pay(struct query *query, const char *id,
                                    const struct filter_price *cost, bool *out_can)
{
    struct ledger_account share;
    enum db_status status = db_owed(ledger_find(query->call->db, id, &share));
    if (status == DB_OK)
        status = teachers_client_has(query->call->db, &query->standing, &share);
    if (status != DB_OK)
        return status;
    const struct filter_price left = teacher_account_left(&share);
    *out_can = *out_can && cost->units <= left.units && cost->delta_units <= left.delta_units;
    return DB_OK;
}

enum db_status query_uses_share(struct query *query, bool *out_uses)
{
    const struct teacher_client_row *standing = &query->standing;
    *out_uses = standing->share[0] != '\0';
    enum db_status status = DB_OK;
    if (*out_uses)
        status = share_can_pay(query, standing->share, &query->cost.of[PAYER_TEACHER], out_uses);
    if (status == DB_OK && *out_uses && standing->dataset_share[0] != '\0')
        status =
            share_can_pay(query, standing->dataset_share, &query->cost.of[PAYER_DATASET], out_uses);
    return status;
}

/* Fills the prices of CHARGE. SHARED: what is set aside for the client pays. */
static enum db_status set_prices(const struct query *query, bool shared,
                                 struct ledger_charge *charge)
{
    const struct filter_price *cost = query->cost.of;
    const struct teacher_client_row *standing = &query->standing;
    charge->prices[0] = payer_price(standing->account, &cost[PAYER_CLIENT]);
    charge->prices[1] =
        payer_price(shared ? standing->share : query->teacher->row.account, &cost[PAYER_TEACHER]);
    charge->count = 2;
    if (query->dataset_account[0] == '\0')
        return DB_OK;
    charge->count = 3;
    if (!shared)
        return dataset_price(query, &charge->prices[2]);
    charge->prices[2] = payer_price(standing->dataset_share, &cost[PAYER_DATASET]);
    return DB_OK;
}

/* Refuses, and says how many states would be paid: by the common accounts, or by what is set aside
 * for the client, which is too little for all of them. */
static enum problem refuse_query(const struct query *query, struct ledger_charge *charge,
                                 const struct ledger_outcome *outcome)
{
    struct call *call = query->call;
    struct ledger_outcome own;
    const struct refusal_pieces pieces = query_pieces(query);
    if (query->standing.share[0] == '\0')
        return refusal_make(call, outcome, &pieces);
    enum db_status status = set_prices(query, true, charge);
    if (status == DB_OK)
        status = ledger_debit(call->db, charge, &own); /* it refuses as well */
    if (status != DB_OK)
        return call_db(call, status);
    if (refusal_largest(&own, &pieces) > refusal_largest(outcome, &pieces))
        return refusal_make(call, &own, &pieces);
    return refusal_make(call, outcome, &pieces);
}

enum problem query_pay(struct query *query)
{
    struct call *call = query->call;
    struct ledger_charge charge = {.client = call->caller.id,
                                   .resource = query->id,
                                   .event = query_event(query),
                                   .now_ms = call->now_ms};
    struct ledger_outcome outcome;
    bool shared = false;
    enum db_status status = query_uses_share(query, &shared);
    if (status == DB_OK)
        status = set_prices(query, shared, &charge);
    if (status == DB_OK)
        status = ledger_debit(call->db, &charge, &outcome);
    if (status != DB_OK)
        return call_db(call, status);
    query->random = outcome.verdict == LEDGER_EXHAUSTED &&
                    strcmp(query->teacher->row.when_spent, "random") == 0;
    if (query->random)
        query->cost = (struct teacher_prices){0}; /* ledger_debit has changed nothing */
    else if (outcome.verdict != LEDGER_OK)
        return refuse_query(query, &charge, &outcome);
    query->account = outcome.parts[0].account;
    status = teachers_client_has(call->db, &query->standing, &query->account);
    if (status != DB_OK)
        return call_db(call, status);
    bool owner = call_owns(call, query->teacher->row.owner);
    if (!query->random && (owner || query->keeps_paid)) {
        struct ledger_outcome *paid = arena_alloc(&call->arena, sizeof *paid);
        *paid = outcome;
        query->paid = paid;
    }
    return PROBLEM_NONE;
}
