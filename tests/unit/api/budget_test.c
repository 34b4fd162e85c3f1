/* Budgets as callers see them, and the ledger's endpoints: who sees which account. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/privacy/laws/renyi.h"
#include "api/call/budget.h"
#include "storage/ledger/ledger.h"
#include "tests/unit/api/fixture.h"

TestSuite(budget);

static double number(json_t *budget, const char *part, const char *name)
{
    json_t *at = json_object_get(json_object_get(budget, part), name);
    return json_is_number(at) ? json_number_value(at) : (double)NAN;
}

Test(budget, a_basic_account_subtracts_integers)
{
    struct ledger_account account = {.id = "acc_1",
                                     .unit = "expert",
                                     .epsilon = 10,
                                     .delta = 1e-5,
                                     .limit_units = 10000000000,
                                     .spent_units = 9900000000,
                                     .held_units = 50000000,
                                     .limit_delta = 10000000000000,
                                     .spent_delta = 9000000000000,
                                     .held_delta = 500000000000};
    json_t *budget = budget_json(&account);
    cr_expect_eq(number(budget, "limit", "epsilon"), 10);
    cr_expect_eq(number(budget, "limit", "delta"), 1e-5);
    cr_expect_eq(number(budget, "spent", "epsilon"), 9.9);
    cr_expect_eq(number(budget, "spent", "delta"), 9e-6);
    cr_expect_float_eq(number(budget, "reserved", "epsilon"), 0.05, 1e-12);
    cr_expect_eq(number(budget, "remaining", "epsilon"), 0.05);
    cr_expect_float_eq(number(budget, "remaining", "delta"), 5e-7, 1e-18);
    cr_expect_str_eq(json_string_value(json_object_get(budget, "accounting")), "basic");
    cr_expect(json_object_get(budget, "order") == NULL);
    json_decref(budget);
}

Test(budget, a_renyi_account_is_shown_in_epsilon)
{
    const double order = 12, delta = 1e-5, epsilon = 2;
    double rho = renyi_budget(order, epsilon, delta);
    struct ledger_account account = {.id = "acc_2",
                                     .unit = "observation",
                                     .renyi_order = order,
                                     .epsilon = epsilon,
                                     .delta = delta,
                                     .limit_units = (int64_t)(rho * 1e9)};
    json_t *budget = budget_json(&account);
    cr_expect_eq(number(budget, "spent", "epsilon"), 0, "nothing is spent before the first query");
    cr_expect_eq(number(budget, "spent", "delta"), 0);
    cr_expect_eq(number(budget, "remaining", "epsilon"), epsilon);
    cr_expect_eq(json_number_value(json_object_get(budget, "order")), order);
    json_decref(budget);

    account.spent_units = account.limit_units / 2;
    budget = budget_json(&account);
    double spent = renyi_to_epsilon(order, (double)account.spent_units * 1e-9, delta);
    cr_expect_float_eq(number(budget, "spent", "epsilon"), spent, 1e-12);
    cr_expect_eq(number(budget, "spent", "delta"), delta);
    cr_expect_float_eq(number(budget, "remaining", "epsilon"), epsilon - spent, 1e-12);
    json_decref(budget);

    account.spent_units = account.limit_units;
    budget = budget_json(&account);
    cr_expect_float_eq(number(budget, "spent", "epsilon"), epsilon, 1e-7);
    cr_expect(number(budget, "remaining", "epsilon") >= 0);
    cr_expect_float_eq(number(budget, "remaining", "epsilon"), 0, 1e-7);
    json_decref(budget);
    cr_expect_eq(budget_epsilon_added(&account, 0, 0), 0);
    cr_expect(budget_epsilon_added(&account, 0, 1000) > 0);
}

/* ---- the endpoints */

struct opened {
    const char *owner, *client;
    struct ledger_account teacher, student;
};

static enum db_status open_accounts(struct db *db, void *context)
{
    struct opened *opened = context;
    struct ledger_opening opening = {.kind = LEDGER_TEACHER,
                                     .resource = "tch_1",
                                     .owner = opened->owner,
                                     .unit = "observation",
                                     .epsilon = 5,
                                     .delta = 1e-5,
                                     .limit_units = 5000000000,
                                     .limit_delta = 10000000000000,
                                     .event = "{\"why\":\"test\"}",
                                     .now_ms = 1800000000000};
    enum db_status status = ledger_open_account(db, &opening, &opened->teacher);
    opening.kind = LEDGER_CLIENT;
    opening.client = opened->client;
    return status != DB_OK ? status : ledger_open_account(db, &opening, &opened->student);
}

static enum db_status pay(struct db *db, void *context)
{
    struct opened *opened = context;
    struct ledger_charge charge = {
        .prices = {{opened->teacher.id, 1000000000, 0}, {opened->student.id, 1000000000, 0}},
        .count = 2,
        .client = opened->client,
        .resource = "qry_1",
        .event = "{\"event\":\"dirichlet\"}",
        .now_ms = 1800000000001};
    struct ledger_outcome outcome;
    enum db_status status = ledger_debit(db, &charge, &outcome);
    return status == DB_OK && outcome.verdict != LEDGER_OK ? DB_NONE : status;
}

static struct fixture *with_accounts(struct opened *opened)
{
    struct fixture *f = fixture_open();
    opened->owner = fixture_client(f, "steward");
    opened->client = fixture_client(f, "student");
    cr_assert_eq(db_transact(fixture_db(f), open_accounts, opened), DB_OK);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(db_transact(fixture_db(f), pay, opened), DB_OK);
    return f;
}

static size_t accounts_seen(struct fixture *f, const char *token)
{
    struct response *r =
        fixture_ask(f, &(struct ask){.path = "/v1/ledger/accounts", .token = token});
    expect_status(r, 200);
    return json_array_size(response_at(r, "/items"));
}

Test(budget, everyone_sees_their_own_accounts)
{
    struct opened opened;
    struct fixture *f = with_accounts(&opened);
    cr_expect_eq(accounts_seen(f, fixture_token(f, "auditor")), 2);
    cr_expect_eq(accounts_seen(f, fixture_token(f, "steward")), 2);
    cr_expect_eq(accounts_seen(f, fixture_token(f, "student")), 1);
    cr_expect_eq(accounts_seen(f, fixture_new_token(f, "steward")), 0);
    cr_expect_eq(accounts_seen(f, fixture_new_token(f, "student")), 0);

    char path[80], entries[90];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", opened.teacher.id);
    snprintf(entries, sizeof entries, "%s/entries", path);
    expect_status(fixture_get(f, "auditor", path), 200);
    expect_status(fixture_get(f, "steward", path), 200);
    expect_problem(fixture_get(f, "student", path), "not-found");
    expect_problem(fixture_get(f, "student", entries), "not-found");
    struct ask foreign = {.path = path, .token = fixture_new_token(f, "steward")};
    expect_problem(fixture_ask(f, &foreign), "not-found");
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", opened.student.id);
    struct response *r = fixture_get(f, "student", path);
    expect_status(r, 200);
    cr_expect_eq(response_number(r, "/spent/epsilon"), 3);
    cr_expect_eq(response_number(r, "/remaining/epsilon"), 2);
    cr_expect_eq(response_number(r, "/units/spent"), 3e9);
    cr_expect_str_eq(response_text(r, "/client"), opened.client);
    cr_expect_str_eq(response_text(r, "/kind"), "client");
    fixture_close(f);
}

Test(budget, entries_come_in_order_and_chain)
{
    struct opened opened;
    struct fixture *f = with_accounts(&opened);
    char path[160];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=2", opened.student.id);
    struct response *first = fixture_get(f, "student", path);
    expect_status(first, 200);
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=2&page_token=%s",
             opened.student.id, response_text(first, "/next_page_token"));
    struct response *second = fixture_get(f, "student", path);
    expect_status(second, 200);
    cr_expect(json_is_null(response_at(second, "/next_page_token")));
    cr_expect_eq(response_number(first, "/items/0/sequence"), 1);
    cr_expect_eq(response_number(second, "/items/0/sequence"), 3);
    cr_expect_eq(response_number(second, "/items/1/sequence"), 4);
    cr_expect_str_eq(response_text(first, "/items/0/kind"), "open");
    cr_expect_str_eq(response_text(first, "/items/1/kind"), "debit");
    cr_expect_eq(response_number(first, "/items/1/units/spent"), 1e9);
    cr_expect_str_eq(response_text(first, "/items/1/event/event"), "dirichlet");
    cr_expect_str_eq(response_text(first, "/items/1/previous_hash"),
                     response_text(first, "/items/0/hash"));
    cr_expect_str_eq(response_text(second, "/items/0/previous_hash"),
                     response_text(first, "/items/1/hash"));
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_token=YWJj",
             opened.student.id);
    expect_problem(fixture_get(f, "student", path), "validation");
    fixture_close(f);
}

Test(budget, the_ledger_verifies)
{
    struct opened opened;
    struct fixture *f = with_accounts(&opened);
    struct response *r = fixture_post(f, "auditor", "/v1/ledger:verify", NULL);
    expect_status(r, 200);
    cr_expect(json_is_true(response_at(r, "/ok")));
    cr_expect_eq(response_number(r, "/accounts"), 2);
    cr_expect_eq(response_number(r, "/entries"), 8);
    cr_expect_eq(response_number(r, "/fault_count"), 0);
    cr_expect_eq(strlen(response_text(r, "/head")), 64);
    fixture_close(f);
}
