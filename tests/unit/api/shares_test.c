/* Shares of a common cap: what is guaranteed to a client cannot be drained by others. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

#define CLIENTS 64
#define SHARE   5
#define STATE   "[0.01,-0.02,0.03,0.04]"

static char teacher[40];
static const char *tokens[CLIENTS];

TestSuite(shares, .init = service_open, .fini = service_close);

/* A teacher whose cap pays for a few hundred answers; BUDGET is the clients'. */
static struct response *make_teacher(const char *budget)
{
    return fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,"
                    "\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":"
                    "0.01},\"budget\":{\"epsilon\":3,\"delta\":1e-5},\"client_budget\":%s}",
                    domain_policy(f), budget));
}

static void open_teacher(const char *budget)
{
    struct response *made = make_teacher(budget);
    expect_status(made, 201);
    snprintf(teacher, sizeof teacher, "%s", response_text(made, "/id"));
}

static struct response *ask_as(const char *token, unsigned states)
{
    char body[4000] = "{\"states\":[";
    for (unsigned i = 0; i < states; i++)
        snprintf(body + strlen(body), sizeof body - strlen(body), "%s" STATE, i == 0 ? "" : ",");
    snprintf(body + strlen(body), sizeof body - strlen(body), "]}");
    const struct ask ask = {.path = domain_path("/v1/teachers/%s/queries", teacher),
                            .token = token,
                            .key = domain_path("share-%u", fixture_next_key(f)),
                            .body = body};
    return fixture_ask(f, &ask);
}

/* Asks one by one until a refusal, at most MOST times: how often it was answered. */
static unsigned ask_to_refusal(const char *token, unsigned most)
{
    unsigned count = 0;
    while (count < most && ask_as(token, 1)->status == 200) {
        count++;
        if (count % 50 == 0)
            fixture_forget(f);
    }
    return count;
}

static const char *budget_of(const char *token)
{
    return domain_path("/v1/teachers/%s/budgets/%s", teacher, fixture_token_client(f, token));
}

static struct response *grant(const char *token, const char *match, const char *more)
{
    const struct ask ask = {.method = "PUT",
                            .path = budget_of(token),
                            .token = fixture_token(f, "steward"),
                            .body = domain_path("{\"epsilon\":30,\"delta\":1e-5%s}", more),
                            .headers = {{match ? "If-Match" : NULL, match}}};
    return fixture_ask(f, &ask);
}

static struct response *cap_now(void)
{
    struct response *row = fixture_get(f, "steward", domain_path("/v1/teachers/%s", teacher));
    return fixture_get(f, "steward",
                       domain_path("/v1/ledger/accounts/%s", response_text(row, "/account")));
}

/* One client asks for all that it can get; the others then ask for SHARE answers each. Returns what
 * the greedy one got; OUT receives what the least of the others did. */
static unsigned be_greedy(const char *guarantee, unsigned *out)
{
    open_teacher("{\"epsilon\":30,\"delta\":1e-5}");
    for (int i = 0; i < CLIENTS; i++) {
        tokens[i] = fixture_new_token(f, "student");
        expect_status(grant(tokens[i], NULL, guarantee), 201);
    }
    unsigned greedy = ask_to_refusal(tokens[0], 100000);
    *out = SHARE;
    for (int i = 1; i < CLIENTS; i++) {
        unsigned got = ask_to_refusal(tokens[i], SHARE);
        *out = got < *out ? got : *out;
    }
    return greedy;
}

CHECKED_TEST(shares, without_them_one_greedy_client_of_64_leaves_nothing_to_the_others)
{
    unsigned others;
    unsigned greedy = be_greedy("", &others);
    cr_expect_gt(greedy, CLIENTS * SHARE);
    cr_expect_eq(others, 0);
}

CHECKED_TEST(shares, no_greedy_client_of_64_lowers_what_the_others_get)
{
    unsigned others;
    unsigned greedy = be_greedy(",\"guaranteed\":{\"answers\":5}", &others);
    cr_expect_eq(others, SHARE);
    cr_expect_gt(greedy, SHARE); /* its own share, and a burst above it */
    struct response *cap = cap_now();
    cr_expect_leq(response_number(cap, "/units/spent") + response_number(cap, "/units/held"),
                  response_number(cap, "/units/limit"));
}

/* The same cap pays for as many answers with shares as without: nothing is priced twice. */
CHECKED_TEST(shares, cost_the_cap_nothing)
{
    unsigned others;
    unsigned alone = be_greedy("", &others);
    unsigned greedy = be_greedy(",\"guaranteed\":{\"answers\":5}", &others);
    cr_expect_eq(greedy + (CLIENTS - 1) * SHARE, alone);
}

CHECKED_TEST(shares, above_the_cap_are_refused_and_change_nothing)
{
    open_teacher("{\"epsilon\":30,\"delta\":1e-5}");
    const char *one = fixture_new_token(f, "student"), *other = fixture_new_token(f, "student");
    expect_status(grant(one, NULL, ",\"guaranteed\":{\"answers\":100}"), 201);
    struct response *before = cap_now();
    struct response *refused =
        grant(other, NULL, ",\"guaranteed\":{\"epsilon\":30,\"delta\":1e-5}");
    cr_assert(refused->status == 409 || refused->status == 403, "%s", refused->body);
    double largest = response_number(refused, "/largest/answers");
    expect_problem(fixture_get(f, "steward", budget_of(other)), "not-found");
    cr_assert_eq(response_number(cap_now(), "/entries"), response_number(before, "/entries"));
    struct response *given =
        grant(other, NULL, domain_path(",\"guaranteed\":{\"answers\":%.0f}", largest));
    expect_status(given, 201);
    cr_assert_eq(response_number(given, "/guaranteed/answers"), largest);
}

CHECKED_TEST(shares, that_cannot_be_are_refused_by_name)
{
    static const char *const wrong[] = {"{\"answers\":0}",
                                        "{\"answers\":-1}",
                                        "{\"answers\":1.5}",
                                        "{\"answers\":1e9}",
                                        "{\"epsilon\":1}",
                                        "{\"epsilon\":31,\"delta\":1e-5}",
                                        "{\"epsilon\":1,\"delta\":2e-5}",
                                        "{\"epsilon\":1e-9,\"delta\":1e-5}",
                                        "{\"epsilon\":-1,\"delta\":1e-5}",
                                        "{\"answers\":1,\"epsilon\":1,\"delta\":1e-5}",
                                        "{}"};
    open_teacher("{\"epsilon\":30,\"delta\":1e-5}");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct response *granted =
            grant(fixture_token(f, "student"), NULL, domain_path(",\"guaranteed\":%s", wrong[i]));
        expect_problem(granted, "validation");
        cr_expect_not_null(strstr(granted->body, "\"/guaranteed"), "%s", granted->body);
        struct response *made = make_teacher(
            domain_path("{\"epsilon\":30,\"delta\":1e-5,\"guaranteed\":%s}", wrong[i]));
        expect_problem(made, "validation");
        cr_expect_not_null(strstr(made->body, "\"/client_budget/guaranteed"), "%s", made->body);
    }
}

CHECKED_TEST(shares, of_the_default_budget_are_set_aside_with_the_first_question)
{
    open_teacher("{\"epsilon\":30,\"delta\":1e-5,\"guaranteed\":{\"answers\":100}}");
    const char *token = fixture_new_token(f, "student");
    expect_status(ask_as(token, 3), 200);
    struct response *own = fixture_get(f, "steward", budget_of(token));
    cr_assert_eq(response_number(own, "/guaranteed/answers"), 97);
    struct response *cap = cap_now();
    cr_assert_eq(response_number(cap, "/units/spent"), 0);
    cr_assert_gt(response_number(cap, "/units/held"), 0);
    struct response *row = fixture_get(f, "steward", domain_path("/v1/teachers/%s", teacher));
    cr_assert_eq(response_number(row, "/client_budget/guaranteed/answers"), 100);
    /* A client for whom nothing is left to set aside has no account. */
    struct response *refused = NULL;
    for (int i = 0; i < 100; i++) {
        const char *next = fixture_new_token(f, "student");
        refused = ask_as(next, 1);
        if (refused->status == 200)
            continue;
        expect_problem(fixture_get(f, "steward", budget_of(next)), "not-found");
        break;
    }
    cr_assert(refused->status == 403 || refused->status == 409, "%s", refused->body);
    expect_status(ask_as(token, 1), 200);
}

/* A question is paid whole by the share, or whole by the rest. */
CHECKED_TEST(shares, pay_first_and_the_rest_after_them)
{
    open_teacher("{\"epsilon\":30,\"delta\":1e-5}");
    const char *token = fixture_new_token(f, "student");
    expect_status(grant(token, NULL, ",\"guaranteed\":{\"answers\":5}"), 201);
    double held = response_number(cap_now(), "/units/held");
    expect_status(ask_as(token, 3), 200);
    cr_assert_eq(response_number(cap_now(), "/units/spent"), 0);
    expect_status(ask_as(token, 3), 200); /* two are left of the share */
    double spent = response_number(cap_now(), "/units/spent");
    cr_assert_float_eq(spent, held * 3 / 5, 1);
    expect_status(ask_as(token, 2), 200);
    cr_assert_eq(response_number(cap_now(), "/units/spent"), spent);
    cr_assert_eq(
        response_number(fixture_get(f, "student", budget_of(token)), "/guaranteed/answers"), 0);
}

CHECKED_TEST(shares, come_back_when_their_client_is_revoked)
{
    open_teacher("{\"epsilon\":30,\"delta\":1e-5}");
    const char *token = fixture_new_token(f, "student");
    const char *client = fixture_token_client(f, token);
    struct response *given = grant(token, NULL, ",\"guaranteed\":{\"answers\":5}");
    expect_status(given, 201);
    double held = response_number(cap_now(), "/units/held");
    expect_status(ask_as(token, 2), 200);
    expect_status(fixture_delete(f, "admin", domain_path("/v1/clients/%s", client)), 204);
    struct response *cap = cap_now();
    cr_assert_eq(response_number(cap, "/units/held"), 0);
    cr_assert_float_eq(response_number(cap, "/units/spent"), held * 2 / 5, 1);
    struct response *share = fixture_get(
        f, "steward",
        domain_path("/v1/ledger/accounts/%s", response_text(given, "/guaranteed/account")));
    cr_assert_eq(response_number(share, "/units/limit"), response_number(share, "/units/spent"));
    expect_status(fixture_delete(f, "admin", domain_path("/v1/clients/%s", client)), 204);
    cr_assert_eq(response_number(cap_now(), "/entries"), response_number(cap, "/entries"));
}

/* The cap is left with what was spent, and nobody raises it again. */
CHECKED_TEST(shares, come_back_when_their_teacher_is_closed)
{
    open_teacher("{\"epsilon\":30,\"delta\":1e-5}");
    const char *token = fixture_new_token(f, "student");
    expect_status(grant(token, NULL, ",\"guaranteed\":{\"answers\":5}"), 201);
    double held = response_number(cap_now(), "/units/held");
    expect_status(ask_as(token, 2), 200);
    expect_status(fixture_post(f, "steward", domain_path("/v1/teachers/%s:close", teacher), NULL),
                  200);
    struct response *cap = cap_now();
    cr_assert_eq(response_number(cap, "/units/held"), 0);
    cr_assert_float_eq(response_number(cap, "/units/spent"), held * 2 / 5, 1);
    cr_assert_eq(response_number(cap, "/units/limit"), response_number(cap, "/units/spent"));
    const char *account = domain_path("/v1/ledger/accounts/%s", response_text(cap, "/account"));
    const struct ask raise = {.method = "PATCH",
                              .path = account,
                              .token = fixture_token(f, "steward"),
                              .body = "{\"limit\":{\"epsilon\":3,\"delta\":1e-5},\"reason\":\"r\"}",
                              .headers = {{"If-Match", "*"}}};
    expect_problem(fixture_ask(f, &raise), "conflict");
    cr_assert_eq(response_number(cap_now(), "/units/limit"), response_number(cap, "/units/limit"));
}

CHECKED_TEST(shares, change_with_the_grant_and_keep_what_was_spent)
{
    open_teacher("{\"epsilon\":30,\"delta\":1e-5}");
    const char *token = fixture_new_token(f, "student");
    expect_status(grant(token, NULL, ",\"guaranteed\":{\"answers\":5}"), 201);
    double held = response_number(cap_now(), "/units/held");
    expect_status(ask_as(token, 2), 200);
    struct response *more = grant(token, "*", ",\"guaranteed\":{\"answers\":20}");
    expect_status(more, 200);
    cr_assert_eq(response_number(more, "/guaranteed/answers"), 20);
    struct response *cap = cap_now();
    cr_assert_float_eq(response_number(cap, "/units/held"), held * 4, 1);
    cr_assert_float_eq(response_number(cap, "/units/spent"), held * 2 / 5, 1);
    struct response *same = grant(token, "*", ""); /* says nothing of it */
    cr_assert_eq(response_number(same, "/guaranteed/answers"), 20);
    struct ask patch = {
        .method = "PATCH",
        .path = domain_path("/v1/ledger/accounts/%s", response_text(same, "/guaranteed/account")),
        .token = fixture_token(f, "steward"),
        .body = "{\"limit\":{\"epsilon\":9,\"delta\":1e-5},\"reason\":\"r\"}",
        .headers = {{"If-Match", "*"}}};
    expect_problem(fixture_ask(f, &patch), "conflict");
}
