/* Requests for larger budgets: asked, approved, declined, seen, and in the ledger. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/listing.h"
#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

static char teacher[40];

static void open_service(void)
{
    f = fixture_open();
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 100, 1));
    expect_status(made, 201);
    snprintf(teacher, sizeof teacher, "%s", response_text(made, "/id"));
}

TestSuite(budget_requests, .init = open_service, .fini = service_close);

static struct response *question(void)
{
    return fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", teacher),
                        "{\"state\":[0.01,-0.02,0.03,0.04]}");
}

static struct response *request(const char *members)
{
    return fixture_post(f, "student", "/v1/budget-requests",
                        domain_path("{\"teacher\":\"%s\",%s}", teacher, members));
}

static struct response *decide(const char *id, const char *verb, const char *body)
{
    return fixture_post(f, "steward", domain_path("/v1/budget-requests/%s:%s", id, verb), body);
}

static const char *own_budget(void)
{
    return domain_path("/v1/teachers/%s/budgets/%s", teacher, fixture_client(f, "student"));
}

/* Asks until the budget is spent; the refusal. */
static struct response *spend_all(void)
{
    for (int i = 0; i < 1000; i++) {
        struct response *r = question();
        if (r->status != 200)
            return r;
    }
    cr_assert_fail("the budget never ends");
    return NULL;
}

CHECKED_TEST(budget_requests, a_budget_that_somebody_made_anothers_pays_nothing)
{
    static const char sum[] = "SELECT sum(spent_units) FROM ledger_accounts";
    int64_t before, after;
    expect_status(question(), 200);
    const struct ask other = {.method = "POST",
                              .path = domain_path("/v1/teachers/%s/queries", teacher),
                              .token = fixture_new_token(f, "student"),
                              .key = "k",
                              .body = "{\"state\":[0.01,-0.02,0.03,0.04]}"};
    expect_status(fixture_ask(f, &other), 200);
    cr_assert_eq(db_one(fixture_db(f), sum, NULL, 0, listing_integer, &before), DB_OK);
    cr_assert_eq(db_change(fixture_db(f),
                           "UPDATE teacher_clients SET account = (SELECT account FROM "
                           "teacher_clients WHERE client <> $1) WHERE client = $1",
                           DB_VALUES(db_text(fixture_client(f, "student")))),
                 DB_OK);
    expect_status(question(), 500);
    cr_assert_eq(db_one(fixture_db(f), sum, NULL, 0, listing_integer, &after), DB_OK);
    cr_assert_eq(before, after);
}

/* What a refused student reads is all that she needs to go on. */
CHECKED_TEST(budget_requests, bring_a_refused_student_her_next_answer)
{
    struct response *refused = spend_all();
    expect_problem(refused, "budget-exhausted");
    cr_assert_str_eq(response_text(refused, "/ask/method"), "POST");
    char *body = json_dumps(response_at(refused, "/ask/body"), 0);
    body[strlen(body) - 1] = '\0';
    const char *asked = domain_path("%s,\"reason\":\"second term\"}", body);
    free(body);
    struct response *made = fixture_post(f, "student", response_text(refused, "/ask/href"), asked);
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    cr_assert_str_eq(response_text(made, "/status"), "open");
    cr_assert_eq(strncmp(id, "brq_", 4), 0);
    cr_assert_str_eq(response_header(made, "Location"), domain_path("/v1/budget-requests/%s", id));
    expect_problem(question(), "budget-exhausted"); /* asking changes nothing */
    struct response *open = fixture_get(f, "steward", "/v1/budget-requests?status=open");
    cr_assert_str_eq(response_text(open, "/items/0/id"), id);
    struct response *given = decide(id, "approve", "{\"reason\":\"fine\"}");
    expect_status(given, 200);
    cr_assert_eq(response_number(given, "/given/epsilon"),
                 response_number(given, "/asked/epsilon"));
    expect_status(question(), 200);
    expect_problem(question(), "budget-exhausted"); /* it was the least that would do */
    struct response *seen = fixture_get(f, "student", domain_path("/v1/budget-requests/%s", id));
    cr_assert_str_eq(response_text(seen, "/status"), "approved");
    cr_assert_str_eq(response_text(seen, "/answer"), "fine");
}

CHECKED_TEST(budget_requests, are_in_the_ledger_with_who_and_why)
{
    expect_status(question(), 200);
    struct response *made = request("\"epsilon\":3,\"reason\":\"a thesis\"");
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    expect_status(decide(id, "approve", "{\"epsilon\":2}"), 200);
    struct response *budget = fixture_get(f, "student", own_budget());
    cr_assert_eq(response_number(budget, "/limit/epsilon"), 2);
    cr_assert_str_eq(response_header(budget, "ETag"), "\"2\"");
    struct response *entries = fixture_get(
        f, "student",
        domain_path("/v1/ledger/accounts/%s/entries", response_text(budget, "/account")));
    cr_assert_str_eq(response_text(entries, "/items/2/kind"), "limit");
    cr_assert_str_eq(response_text(entries, "/items/2/request"), id);
    cr_assert_str_eq(response_text(entries, "/items/2/reason"), "a thesis");
    cr_assert_str_eq(response_text(entries, "/items/2/client"), fixture_client(f, "steward"));
    cr_assert_null(response_at(entries, "/items/2/event/request"));
    cr_assert(json_is_null(response_at(entries, "/items/1/request")));
}

CHECKED_TEST(budget_requests, open_an_account_that_was_never_used)
{
    struct response *made = request("\"epsilon\":5,\"reason\":\"r\"");
    expect_status(made, 201);
    expect_status(decide(response_text(made, "/id"), "approve", "{}"), 200);
    cr_assert_eq(response_number(fixture_get(f, "student", own_budget()), "/limit/epsilon"), 5);
}

CHECKED_TEST(budget_requests, may_name_the_account_instead)
{
    expect_status(question(), 200);
    const char *account = response_text(fixture_get(f, "student", own_budget()), "/account");
    struct response *made =
        fixture_post(f, "student", "/v1/budget-requests",
                     domain_path("{\"account\":\"%s\",\"epsilon\":2,\"reason\":\"r\"}", account));
    expect_status(made, 201);
    cr_assert_str_eq(response_text(made, "/teacher"), teacher);
    struct ask other = {
        .path = "/v1/budget-requests",
        .token = fixture_new_token(f, "student"),
        .body = domain_path("{\"account\":\"%s\",\"epsilon\":2,\"reason\":\"r\"}", account)};
    expect_problem(fixture_ask(f, &other), "not-found");
}

CHECKED_TEST(budget_requests, are_decided_once)
{
    const char *id = response_text(request("\"epsilon\":3,\"reason\":\"r\""), "/id");
    expect_invalid(decide(id, "decline", "{}"), "/reason");
    expect_status(decide(id, "decline", "{\"reason\":\"not this term\"}"), 200);
    expect_problem(decide(id, "approve", "{}"), "conflict");
    expect_problem(decide(id, "decline", "{\"reason\":\"r\"}"), "conflict");
    struct response *seen = fixture_get(f, "student", "/v1/budget-requests?status=declined");
    cr_assert_str_eq(response_text(seen, "/items/0/answer"), "not this term");
    cr_assert(json_is_null(response_at(seen, "/items/0/given")));
    expect_problem(fixture_get(f, "student", own_budget()), "not-found"); /* nothing was opened */
    expect_status(request("\"epsilon\":3,\"reason\":\"again\""), 201);
}

CHECKED_TEST(budget_requests, are_given_again_under_their_key)
{
    const char *id = response_text(request("\"epsilon\":3,\"reason\":\"r\""), "/id");
    struct ask approve = {.path = domain_path("/v1/budget-requests/%s:approve", id),
                          .token = fixture_token(f, "steward"),
                          .key = "once",
                          .body = "{\"epsilon\":2}"};
    struct response *first = fixture_ask(f, &approve), *again = fixture_ask(f, &approve);
    expect_status(first, 200);
    cr_assert_str_eq(first->body, again->body);
    cr_assert_str_eq(response_header(again, "Idempotency-Replayed"), "true");
}

/* An approval never lowers a limit that a grant has raised meanwhile. */
CHECKED_TEST(budget_requests, only_raise)
{
    const char *id = response_text(request("\"epsilon\":3,\"reason\":\"r\""), "/id");
    expect_status(fixture_put(f, "steward", own_budget(), "{\"epsilon\":4,\"delta\":1e-5}"), 201);
    expect_problem(decide(id, "approve", "{}"), "conflict");
    cr_assert_eq(response_number(fixture_get(f, "student", own_budget()), "/limit/epsilon"), 4);
    cr_assert_str_eq(
        response_text(fixture_get(f, "student", domain_path("/v1/budget-requests/%s", id)),
                      "/status"),
        "open");
}

CHECKED_TEST(budget_requests, are_between_two_people)
{
    const char *id = response_text(request("\"epsilon\":3,\"reason\":\"r\""), "/id");
    static const char *const roles[] = {"student", "steward"};
    for (unsigned i = 0; i < 2; i++) {
        struct ask look = {.path = domain_path("/v1/budget-requests/%s", id),
                           .token = fixture_new_token(f, roles[i])};
        struct ask list = {.path = "/v1/budget-requests", .token = look.token};
        expect_problem(fixture_ask(f, &look), "not-found");
        cr_expect_eq(json_array_size(response_at(fixture_ask(f, &list), "/items")), 0);
    }
    struct ask approve = {.path = domain_path("/v1/budget-requests/%s:approve", id),
                          .token = fixture_new_token(f, "steward"),
                          .body = "{}"};
    expect_problem(fixture_ask(f, &approve), "not-found");
    approve.token = fixture_token(f, "student");
    expect_problem(fixture_ask(f, &approve), "forbidden");
    expect_problem(fixture_get(f, "auditor", "/v1/budget-requests"), "forbidden");
}

CHECKED_TEST(budget_requests, are_few_at_a_time)
{
    expect_status(request("\"epsilon\":3,\"reason\":\"r\""), 201);
    expect_problem(request("\"epsilon\":4,\"reason\":\"r\""), "conflict");
    for (unsigned i = 0; i < 10; i++) {
        struct response *made =
            fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 100, 1));
        struct response *asked =
            fixture_post(f, "student", "/v1/budget-requests",
                         domain_path("{\"teacher\":\"%s\",\"epsilon\":3,\"reason\":\"r\"}",
                                     response_text(made, "/id")));
        if (i < 9)
            expect_status(asked, 201);
        else
            expect_problem(asked, "conflict");
    }
}

CHECKED_TEST(budget_requests, refuse_bad_input)
{
    static char long_reason[400] = "\"epsilon\":3,\"reason\":\"";
    memset(long_reason + strlen(long_reason), 'a', 301);
    strcat(long_reason, "\"");
    const struct {
        const char *members, *pointer;
    } cases[] = {
        {"\"reason\":\"r\"", "/epsilon"},
        {"\"epsilon\":0,\"reason\":\"r\"", "/epsilon"},
        {"\"epsilon\":-1,\"reason\":\"r\"", "/epsilon"},
        {"\"epsilon\":1e7,\"reason\":\"r\"", "/epsilon"},
        {"\"epsilon\":\"3\",\"reason\":\"r\"", "/epsilon"},
        {"\"epsilon\":1,\"reason\":\"r\"", "/epsilon"}, /* the default already */
        {"\"epsilon\":0.5,\"reason\":\"r\"", "/epsilon"},
        {"\"epsilon\":3,\"delta\":1,\"reason\":\"r\"", "/delta"},
        {"\"epsilon\":3,\"delta\":1e-9,\"reason\":\"r\"", "/epsilon"},
        {"\"epsilon\":3", "/reason"},
        {"\"epsilon\":3,\"reason\":\"\"", "/reason"},
        {"\"epsilon\":3,\"reason\":\"a\\nb\"", "/reason"},
        {"\"epsilon\":3,\"reason\":7", "/reason"},
        {"\"epsilon\":3,\"reason\":\"r\",\"colour\":1", "/colour"},
        {"\"epsilon\":3,\"reason\":\"r\",\"account\":\"acc_1\"", ""},
        {long_reason, "/reason"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_invalid(request(cases[i].members), cases[i].pointer);
    expect_invalid(
        fixture_post(f, "student", "/v1/budget-requests", "{\"epsilon\":3,\"reason\":\"r\"}"), "");
    expect_problem(fixture_post(f, "student", "/v1/budget-requests",
                                "{\"teacher\":\"tch_no\",\"epsilon\":3,\"reason\":\"r\"}"),
                   "not-found");
    expect_problem(fixture_post(f, "student", "/v1/budget-requests", "[]"), "validation");
    const char *id = response_text(request("\"epsilon\":3,\"reason\":\"r\""), "/id");
    expect_invalid(decide(id, "approve", "{\"epsilon\":3.1}"), "/epsilon");
    expect_invalid(decide(id, "approve", "{\"delta\":1e-4}"), "/delta");
    expect_invalid(decide(id, "approve", "{\"epsilon\":0}"), "/epsilon");
    expect_invalid(decide(id, "approve", "{\"reason\":\"\"}"), "/reason");
    expect_invalid(decide(id, "approve", "{\"colour\":1}"), "/colour");
    expect_problem(decide(id, "approve", "{\"epsilon\":0.5}"), "conflict");
    expect_problem(decide("brq_no", "approve", "{}"), "not-found");
    expect_invalid(decide(id, "decline", "{\"reason\":7}"), "/reason");
    expect_problem(fixture_get(f, "student", "/v1/budget-requests?status=maybe"), "validation");
    expect_problem(fixture_get(f, "student", "/v1/budget-requests/brq_no"), "not-found");
}
