/* Limits that owners change: at once, or as two stewards. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

TestSuite(limits, .init = service_open, .fini = service_close);

static struct response *make_dataset(const char *members)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/datasets",
                     domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",%s}", members));
    expect_status(made, 201);
    return made;
}

/* The account of a new dataset with epsilon 5 and delta 1e-5. */
static const char *account_of(const char *members)
{
    return response_text(
        make_dataset(domain_path("\"budget\":{\"epsilon\":5,\"delta\":1e-5%s}", members)),
        "/account");
}

static const char *make_teacher(const char *members)
{
    char body[2000];
    const char *plain = domain_teacher(domain_policy(f), 100, 1);
    snprintf(body, sizeof body, "%.*s%s}", (int)strlen(plain) - 1, plain, members);
    struct response *made = fixture_post(f, "steward", "/v1/teachers", body);
    expect_status(made, 201);
    return response_text(made, "/id");
}

static struct response *patch_as(const char *token, const char *account, const char *match,
                                 const char *body)
{
    const struct ask ask = {.method = "PATCH",
                            .path = domain_path("/v1/ledger/accounts/%s", account),
                            .token = token,
                            .body = body,
                            .headers = {{match ? "If-Match" : NULL, match}}};
    return fixture_ask(f, &ask);
}

static struct response *patch(const char *account, const char *match, const char *body)
{
    return patch_as(fixture_token(f, "steward"), account, match, body);
}

static struct response *show(const char *account)
{
    return fixture_get(f, "steward", domain_path("/v1/ledger/accounts/%s", account));
}

static struct response *decide_as(const char *token, const char *id, const char *verb,
                                  const char *body)
{
    const struct ask ask = {.method = "POST",
                            .path = domain_path("/v1/limit-changes/%s:%s", id, verb),
                            .token = token,
                            .body = body};
    return fixture_ask(f, &ask);
}

static enum db_status give_away(struct db *db, void *context)
{
    const char *const *names = context;
    return db_owed(db_change(db, "UPDATE ledger_accounts SET owner = $2 WHERE id = $1",
                             DB_VALUES(db_text(names[0]), db_text(names[1]))));
}

/* Makes the client of TOKEN the owner of ACCOUNT, as if both stewards owned it. */
static void set_owner(const char *account, const char *token)
{
    const char *names[] = {account, fixture_token_client(f, token)};
    cr_assert_eq(db_transact(fixture_db(f), give_away, names), DB_OK);
}

#define RAISE "{\"limit\":{\"epsilon\":8,\"delta\":1e-5},\"reason\":\"a second cohort\"}"

CHECKED_TEST(limits, of_a_dataset_rise_and_fall_with_who_and_why)
{
    struct response *made = make_dataset("\"budget\":{\"epsilon\":5,\"delta\":1e-5}");
    const char *account = response_text(made, "/account");
    struct response *shown = show(account);
    cr_assert_str_eq(response_header(shown, "ETag"), "\"1\"");
    cr_assert_eq(response_number(shown, "/approvals"), 1);
    expect_problem(patch(account, NULL, RAISE), "precondition-required");
    expect_problem(patch(account, "\"2\"", RAISE), "precondition-failed");
    struct response *raised = patch(account, "\"1\"", RAISE);
    expect_status(raised, 200);
    cr_assert_eq(response_number(raised, "/limit/epsilon"), 8);
    cr_assert_str_eq(response_header(raised, "ETag"), "\"2\"");
    expect_problem(patch(account, "\"1\"", RAISE), "precondition-failed"); /* the other writer */
    expect_status(
        patch(account, "\"2\"", "{\"limit\":{\"epsilon\":6,\"delta\":2e-6},\"reason\":\"enough\"}"),
        200);
    struct response *entries =
        fixture_get(f, "steward", domain_path("/v1/ledger/accounts/%s/entries", account));
    cr_assert_str_eq(response_text(entries, "/items/1/kind"), "limit");
    cr_assert_str_eq(response_text(entries, "/items/1/reason"), "a second cohort");
    cr_assert_str_eq(response_text(entries, "/items/1/client"), fixture_client(f, "steward"));
    cr_assert_eq(response_number(entries, "/items/1/units/limit"), 3e9);
    cr_assert_eq(response_number(entries, "/items/2/units/limit"), -2e9);
    struct response *dataset =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s", response_text(made, "/id")));
    cr_assert_eq(response_number(dataset, "/exposure/limit/epsilon"), 6);
    cr_assert_eq(response_number(dataset, "/exposure/greatest_limit/epsilon"), 8);
    cr_assert_eq(response_number(dataset, "/exposure/greatest_limit/delta"), 1e-5);
}

CHECKED_TEST(limits, that_cannot_be_are_refused_by_name)
{
    static const struct {
        const char *limit, *pointer;
    } wrong[] = {{"{\"epsilon\":0,\"delta\":1e-5}", "/limit/epsilon"},
                 {"{\"epsilon\":-1,\"delta\":1e-5}", "/limit/epsilon"},
                 {"{\"epsilon\":1e300,\"delta\":1e-5}", "/limit/epsilon"},
                 {"{\"epsilon\":1e-12,\"delta\":1e-5}", "/limit/epsilon"},
                 {"{\"epsilon\":\"NaN\",\"delta\":1e-5}", "/limit/epsilon"},
                 {"{\"epsilon\":1,\"delta\":0}", "/limit/delta"},
                 {"{\"epsilon\":1,\"delta\":1}", "/limit/delta"},
                 {"{\"epsilon\":1}", "/limit/delta"}};
    const char *account = account_of("");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_invalid(
            patch(account, "*", domain_path("{\"limit\":%s,\"reason\":\"r\"}", wrong[i].limit)),
            wrong[i].pointer);
    expect_invalid(patch(account, "*", "{\"limit\":{\"epsilon\":9,\"delta\":1e-5}}"), "/reason");
    expect_invalid(patch(account, "*", "{\"reason\":\"r\"}"), "");
    expect_invalid(patch(account, "*", "{\"approvals\":3,\"reason\":\"r\"}"), "/approvals");
    expect_problem(patch(account, "*", "{\"limit\":{\"epsilon\":NaN}}"), "not-json");
    expect_problem(patch("acc_nobody", "*", RAISE), "not-found");
    expect_problem(patch_as(fixture_new_token(f, "steward"), account, "*", RAISE), "not-found");
    expect_problem(patch_as(fixture_token(f, "auditor"), account, "*", RAISE), "forbidden");
    cr_assert_str_eq(response_header(show(account), "ETag"), "\"1\"");
}

CHECKED_TEST(limits, never_fall_below_what_is_spent_and_the_least_is_told)
{
    const char *teacher = make_teacher("");
    const char *queries = domain_path("/v1/teachers/%s/queries", teacher);
    struct response *answer =
        fixture_post(f, "student", queries, "{\"state\":[0.01,-0.02,0.03,0.04]}");
    expect_status(answer, 200);
    const char *cap = response_text(
        fixture_get(f, "steward", domain_path("/v1/teachers/%s", teacher)), "/account");
    const char *own = response_text(fixture_get(f, "student",
                                                domain_path("/v1/teachers/%s/budgets/%s", teacher,
                                                            fixture_client(f, "student"))),
                                    "/account");
    const char *const accounts[] = {cap, own};
    for (int i = 0; i < 2; i++) {
        struct response *low =
            patch(accounts[i], "*",
                  "{\"limit\":{\"epsilon\":0.01,\"delta\":1e-5},\"reason\":\"too low\"}");
        cr_assert(low->status == 409 || low->status == 422, "%s", low->body);
        double least = response_number(low, "/least/epsilon");
        const char *body = "{\"limit\":{\"epsilon\":%.9g,\"delta\":1e-5},\"reason\":\"least\"}";
        cr_assert_neq(patch(accounts[i], "*", domain_path(body, least * 0.999))->status, 200);
        struct response *good = patch(accounts[i], "*", domain_path(body, least));
        expect_status(good, 200);
        cr_assert_eq(response_number(good, "/limit/epsilon"), least);
    }
    expect_problem(fixture_post(f, "student", queries, "{\"state\":[0,0,0,0]}"),
                   "budget-exhausted");
    for (int i = 0; i < 2; i++)
        expect_status(patch(accounts[i], "*",
                            "{\"limit\":{\"epsilon\":60,\"delta\":1e-5},\"reason\":\"again\"}"),
                      200);
    expect_status(fixture_post(f, "student", queries, "{\"state\":[0,0,0,0]}"), 200);
}

/* What is set aside keeps its part of delta, and the same limit is the same units. */
CHECKED_TEST(limits, of_a_renyi_dataset_keep_their_order_and_their_split)
{
    const char *account = account_of(",\"accounting\":\"renyi\",\"delta_share\":0.25");
    struct response *before = show(account);
    double limit = response_number(before, "/units/limit"),
           aside = response_number(before, "/units/limit_delta");
    struct response *same =
        patch(account, "*", "{\"limit\":{\"epsilon\":5,\"delta\":1e-5},\"reason\":\"as it was\"}");
    expect_status(same, 200);
    cr_assert_eq(response_number(same, "/units/limit"), limit);
    cr_assert_eq(response_number(same, "/units/limit_delta"), aside);
    struct response *twice =
        patch(account, "*", "{\"limit\":{\"epsilon\":5,\"delta\":2e-5},\"reason\":\"more delta\"}");
    expect_status(twice, 200);
    cr_assert_float_eq(response_number(twice, "/units/limit_delta"), 2 * aside, 2);
    cr_assert_gt(response_number(twice, "/units/limit"), limit);
    cr_assert_eq(response_number(twice, "/order"), response_number(before, "/order"));
    struct response *raised = patch(account, "*", RAISE);
    expect_status(raised, 200);
    cr_assert_eq(response_number(raised, "/units/limit_delta"), aside);
    cr_assert_gt(response_number(raised, "/units/limit"), limit);
    /* not even by way of a delta of which little, or nothing, is set aside */
    expect_status(
        patch(account, "*", "{\"limit\":{\"epsilon\":50,\"delta\":1e-17},\"reason\":\"r\"}"), 200);
    expect_invalid(
        patch(account, "*", "{\"limit\":{\"epsilon\":50,\"delta\":3e-18},\"reason\":\"r\"}"),
        "/limit/epsilon");
    struct response *back =
        patch(account, "*", "{\"limit\":{\"epsilon\":5,\"delta\":1e-5},\"reason\":\"as it was\"}");
    expect_status(back, 200);
    cr_assert_eq(response_number(back, "/units/limit"), limit);
    cr_assert_eq(response_number(back, "/units/limit_delta"), aside);
}

CHECKED_TEST(limits, of_a_converted_dataset_are_those_of_the_account_that_pays)
{
    struct response *made =
        make_dataset("\"approvals\":2,\"budget\":{\"epsilon\":5,\"delta\":1e-5}");
    const char *id = response_text(made, "/id"), *old = response_text(made, "/account");
    struct response *composed =
        fixture_post(f, "steward", domain_path("/v1/datasets/%s:compose", id), "{}");
    expect_status(composed, 200);
    const char *new = response_text(composed, "/account");
    expect_problem(patch(old, "*", RAISE), "conflict");
    struct response *proposed = patch(new, "*", RAISE); /* two stewards are needed still */
    expect_status(proposed, 202);
    const char *second = fixture_new_token(f, "steward");
    set_owner(new, second);
    expect_status(decide_as(second, response_text(proposed, "/id"), "approve", "{}"), 200);
    set_owner(new, fixture_token(f, "steward"));
    struct response *dataset = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_assert_eq(response_number(dataset, "/exposure/limit/epsilon"), 8);
    cr_assert_eq(response_number(dataset, "/exposure/greatest_limit/epsilon"), 8);
    cr_assert_eq(response_number(dataset, "/exposure/released/epsilon"), 0);
}

CHECKED_TEST(limits, that_were_lowered_before_a_conversion_are_still_the_greatest)
{
    struct response *made = make_dataset("\"budget\":{\"epsilon\":5,\"delta\":1e-5}");
    const char *id = response_text(made, "/id"), *old = response_text(made, "/account");
    expect_status(patch(old, "*", RAISE), 200);
    expect_status(patch(old, "*", "{\"limit\":{\"epsilon\":2,\"delta\":1e-6},\"reason\":\"r\"}"),
                  200);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:compose", id), "{}"),
                  200);
    struct response *dataset = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_expect_eq(response_number(dataset, "/exposure/limit/epsilon"), 2);
    cr_expect_eq(response_number(dataset, "/exposure/greatest_limit/epsilon"), 8);
    cr_expect_eq(response_number(dataset, "/exposure/greatest_limit/delta"), 1e-5);
}

CHECKED_TEST(limits, with_two_approvals_wait_for_another_steward)
{
    struct response *made =
        make_dataset("\"approvals\":2,\"budget\":{\"epsilon\":5,\"delta\":1e-5}");
    const char *account = response_text(made, "/account");
    const char *first = fixture_token(f, "steward"), *second = fixture_new_token(f, "steward");
    cr_assert_eq(response_number(show(account), "/approvals"), 2);
    struct response *proposed = patch(account, "\"1\"", RAISE);
    expect_status(proposed, 202);
    const char *id = response_text(proposed, "/id");
    cr_assert_str_eq(response_header(proposed, "Location"),
                     domain_path("/v1/limit-changes/%s", id));
    cr_assert_str_eq(response_text(proposed, "/status"), "open");
    cr_expect_str_eq(response_text(proposed, "/proposed_by_name"), "steward");
    cr_expect(json_is_null(response_at(proposed, "/decided_by_name")));
    cr_assert_eq(response_number(show(account), "/limit/epsilon"), 5);
    expect_problem(patch(account, "\"1\"", RAISE), "conflict");          /* one waits already */
    expect_problem(decide_as(first, id, "approve", "{}"), "forbidden");  /* the same person */
    expect_problem(decide_as(second, id, "approve", "{}"), "not-found"); /* owns nothing of it */
    expect_problem(decide_as(second, id, "decline", "{\"reason\":\"r\"}"), "not-found");
    set_owner(account, second);
    struct ask list = {.path = "/v1/limit-changes?status=open", .token = second};
    cr_assert_str_eq(response_text(fixture_ask(f, &list), "/items/0/id"), id);
    list.token = first;
    cr_assert_null(response_at(fixture_ask(f, &list), "/items/0"));
    struct response *given = decide_as(second, id, "approve", "{\"reason\":\"agreed\"}");
    cr_expect_neq(response_text(given, "/decided_by_name")[0], '\0');
    expect_status(given, 200);
    cr_assert_str_eq(response_text(given, "/decided_by"), fixture_token_client(f, second));
    cr_assert_str_eq(response_text(given, "/proposed_by"), fixture_client(f, "steward"));
    expect_problem(decide_as(second, id, "approve", "{}"), "conflict"); /* twice */
    expect_problem(decide_as(second, id, "decline", "{\"reason\":\"r\"}"), "conflict");
    set_owner(account, first);
    cr_assert_eq(response_number(show(account), "/limit/epsilon"), 8);
    struct response *entries =
        fixture_get(f, "steward", domain_path("/v1/ledger/accounts/%s/entries", account));
    cr_assert_str_eq(response_text(entries, "/items/1/client"), fixture_client(f, "steward"));
    cr_assert_str_eq(response_text(entries, "/items/1/approved_by"),
                     fixture_token_client(f, second));
    cr_expect_str_eq(response_text(entries, "/items/1/approved_by_name"),
                     response_text(given, "/decided_by_name"));
    cr_expect(json_is_null(response_at(entries, "/items/0/approved_by_name")));
    cr_assert_str_eq(response_text(entries, "/items/1/change"), id);
    cr_assert_null(response_at(entries, "/items/1/event/change"));
}

CHECKED_TEST(limits, take_two_stewards_to_take_one_again)
{
    const char *account = account_of("");
    expect_status(patch(account, "\"1\"", "{\"approvals\":2,\"reason\":\"four eyes\"}"), 200);
    struct response *shown = show(account);
    cr_assert_eq(response_number(shown, "/approvals"), 2);
    cr_assert_eq(response_number(shown, "/limit/epsilon"), 5);
    struct response *proposed =
        patch(account, "\"2\"", "{\"approvals\":1,\"reason\":\"the other one left\"}");
    expect_status(proposed, 202);
    const char *id = response_text(proposed, "/id");
    cr_assert_eq(response_number(show(account), "/approvals"), 2);
    struct response *back =
        fixture_post(f, "steward", domain_path("/v1/limit-changes/%s:decline", id),
                     "{\"reason\":\"a mistake\"}");
    expect_status(back, 200); /* the proposer takes it back */
    cr_assert_str_eq(response_text(back, "/status"), "declined");
    expect_status(patch(account, "\"2\"", RAISE), 202);
}

/* More is spent by the time of the approval: nothing changes, and the proposal waits. */
CHECKED_TEST(limits, are_checked_again_when_they_are_approved)
{
    const char *teacher = make_teacher(",\"approvals\":2");
    const char *queries = domain_path("/v1/teachers/%s/queries", teacher);
    const char *second = fixture_new_token(f, "steward");
    const char *cap = response_text(
        fixture_get(f, "steward", domain_path("/v1/teachers/%s", teacher)), "/account");
    double spent = 0, before = 0;
    for (int i = 0; i < 2; i++) {
        before = spent;
        expect_status(fixture_post(f, "student", queries, "{\"state\":[0.01,0,0.03,0.04]}"), 200);
        spent = response_number(show(cap), "/spent/epsilon");
    }
    double between = spent + (spent - before) / 2; /* too little for a third answer */
    struct response *proposed = patch(
        cap, "\"1\"",
        domain_path("{\"limit\":{\"epsilon\":%.12g,\"delta\":1e-5},\"reason\":\"r\"}", between));
    expect_status(proposed, 202);
    const char *id = response_text(proposed, "/id");
    expect_status(fixture_post(f, "student", queries, "{\"state\":[0,0,0,0]}"), 200);
    set_owner(cap, second);
    struct response *late = decide_as(second, id, "approve", "{}");
    expect_problem(late, "conflict");
    cr_assert_gt(response_number(late, "/least/epsilon"), between);
    set_owner(cap, fixture_token(f, "steward"));
    struct response *still = fixture_get(f, "steward", domain_path("/v1/limit-changes/%s", id));
    cr_assert_str_eq(response_text(still, "/status"), "open");
}

CHECKED_TEST(limits, of_agents_stay_and_clients_take_one_steward)
{
    const char *teacher = make_teacher("");
    const char *path =
        domain_path("/v1/teachers/%s/budgets/%s", teacher, fixture_client(f, "student"));
    expect_status(fixture_put(f, "steward", path, "{\"epsilon\":2,\"delta\":1e-5}"), 201);
    const char *account = response_text(fixture_get(f, "steward", path), "/account");
    expect_invalid(patch(account, "*", "{\"approvals\":2,\"reason\":\"r\"}"), "/approvals");
    expect_status(patch(account, "\"1\"", RAISE), 200);
    struct response *shown = fixture_get(f, "student", path);
    cr_assert_eq(response_number(shown, "/limit/epsilon"), 8);
    cr_assert_str_eq(response_header(shown, "ETag"), "\"2\""); /* one revision for both ways */
}

/* Takes the wording away, or gives it back where CONTEXT is not NULL. */
static enum db_status change_wording(struct db *db, void *context)
{
    static const char away[] = "UPDATE teachers SET certificate_text = "
                               "replace(certificate_text, 'limit_may_change', 'issued_before')";
    static const char back[] = "UPDATE teachers SET certificate_text = "
                               "replace(certificate_text, 'issued_before', 'limit_may_change')";
    return db_owed(db_change(db, context ? back : away, NULL, 0));
}

CHECKED_TEST(limits, that_a_certificate_promised_for_ever_only_fall)
{
    const char *teacher = make_teacher("");
    const char *cap = response_text(
        fixture_get(f, "steward", domain_path("/v1/teachers/%s", teacher)), "/account");
    static const char body[] = "{\"limit\":{\"epsilon\":%d,\"delta\":1e-5},\"reason\":\"r\"}";
    expect_status(patch(cap, "*", domain_path(body, 110)), 200);
    cr_assert_eq(db_transact(fixture_db(f), change_wording, NULL), DB_OK);
    expect_problem(patch(cap, "*", domain_path(body, 120)), "conflict");
    expect_status(patch(cap, "*", domain_path(body, 90)), 200);
    cr_assert_eq(db_transact(fixture_db(f), change_wording, f), DB_OK); /* what is signed stands */
}
