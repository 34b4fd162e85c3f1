/* What a refusal for want of budget tells: enough to ask again, and nothing of others. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/call/refusal.h"
#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

TestSuite(refusal, .init = service_open, .fini = service_close);

static const char *new_teacher(double epsilon, double client_epsilon)
{
    struct response *made = fixture_post(f, "steward", "/v1/teachers",
                                         domain_teacher(domain_policy(f), epsilon, client_epsilon));
    expect_status(made, 201);
    return domain_path("%s", response_text(made, "/id"));
}

/* A question of COUNT states by TOKEN. */
static struct response *question(const char *teacher, const char *token, unsigned count)
{
    static unsigned keys;
    static char states[64 * 1024];
    strcpy(states, "{\"states\":[");
    for (unsigned i = 0; i < count; i++)
        strcat(states, i > 0 ? ",[0.01,-0.02,0.03,0.04]" : "[0.01,-0.02,0.03,0.04]");
    strcat(states, "]}");
    const struct ask ask = {.path = domain_path("/v1/teachers/%s/queries", teacher),
                            .token = token,
                            .key = domain_path("question-%u", ++keys),
                            .body = states};
    return fixture_ask(f, &ask);
}

/* One piece costs 10 of each purse; the second account pays 7 and 3 beside the pieces. */
CHECKED_TEST(refusal, counts_the_pieces_that_every_account_can_pay)
{
    const struct {
        int64_t limit[2], delta[2], largest;
    } cases[] = {
        {{100, 107}, {100, 103}, 9}, /* as many as were asked for */
        {{49, 107}, {100, 103}, 4},  {{100, 107}, {29, 103}, 2},
        {{100, 27}, {100, 103}, 2}, /* 7 + 20 */
        {{100, 26}, {100, 103}, 1},  {{100, 107}, {100, 3}, 0},
        {{100, 6}, {100, 103}, 0},   {{0, 0}, {0, 0}, 0},
    };
    const struct refusal_pieces pieces = {"states", 9, {{10, 10}, {10, 10}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ledger_outcome outcome = {.verdict = LEDGER_EXHAUSTED, .count = 2};
        for (unsigned a = 0; a < 2; a++) {
            struct ledger_part *part = &outcome.parts[a];
            part->account.limit_units = cases[i].limit[a] + 1000;
            part->account.spent_units = 400;
            part->account.held_units = 600;
            part->account.limit_delta = cases[i].delta[a] + 1000;
            part->account.spent_delta = 600;
            part->account.held_delta = 400;
            part->requested_units = 90 + (a > 0 ? 7 : 0);
            part->requested_delta = 90 + (a > 0 ? 3 : 0);
        }
        cr_expect_eq(refusal_largest(&outcome, &pieces), cases[i].largest, "%zu", i);
    }
}

CHECKED_TEST(refusal, names_the_largest_batch_and_it_is_paid)
{
    const char *teacher = new_teacher(100, 1), *student = fixture_token(f, "student");
    struct response *refused = question(teacher, student, 1000);
    expect_problem(refused, "budget-exhausted");
    unsigned largest = (unsigned)response_number(refused, "/largest/states");
    cr_assert(largest > 1 && largest < 1000);
    cr_assert_str_eq(response_text(refused, "/accounts/0/id"),
                     response_text(refused, "/violated/0/account"));
    cr_assert_str_eq(response_text(refused, "/accounts/0/kind"), "client");
    cr_assert_str_eq(response_text(refused, "/accounts/0/resource"), teacher);
    cr_assert_eq(response_number(refused, "/accounts/0/held/epsilon"), 0);
    cr_assert_float_eq(response_number(refused, "/accounts/0/missing/epsilon"),
                       response_number(refused, "/accounts/0/needed/epsilon") -
                           response_number(refused, "/accounts/0/available/epsilon"),
                       1e-12);
    expect_problem(question(teacher, student, largest + 1), "budget-exhausted");
    expect_status(question(teacher, student, largest), 200);
    refused = question(teacher, student, 1);
    cr_assert_eq(response_number(refused, "/largest/states"), 0);
    cr_assert_str_eq(response_text(refused, "/accounts/0/spent_by/0/client"),
                     fixture_client(f, "student"));
    cr_assert_eq(response_number(refused, "/accounts/0/spent_by/0/spent/epsilon"),
                 response_number(refused, "/violated/0/spent/epsilon"));
}

/* The cap over all clients is spent by two. Each of them learns what "violated" has always shown.
 */
CHECKED_TEST(refusal, tells_who_spent_to_the_owner_alone)
{
    const char *teacher = new_teacher(2, 1.9), *student = fixture_token(f, "student"),
               *other = fixture_new_token(f, "student");
    unsigned largest =
        (unsigned)response_number(question(teacher, student, 1000), "/largest/states");
    expect_status(question(teacher, student, largest), 200);
    expect_status(question(teacher, other, 1), 200);
    struct response *refused = question(teacher, other, largest - 1);
    expect_problem(refused, "budget-exhausted");
    cr_assert_str_eq(response_text(refused, "/accounts/0/kind"), "teacher");
    cr_assert(json_is_null(response_at(refused, "/accounts/0/spent_by")));
    /* By the name that its students see anyway. */
    cr_assert_eq(strncmp(response_text(refused, "/accounts/0/name"), "teacher ", 8), 0);
    cr_assert(json_is_null(response_at(refused, "/ask")));
    cr_assert_null(strstr(refused->body, fixture_client(f, "student")));
    struct response *own = question(teacher, fixture_token(f, "steward"), largest);
    expect_problem(own, "budget-exhausted");
    cr_assert_str_eq(response_text(own, "/accounts/0/spent_by/0/client"),
                     fixture_client(f, "student"));
    cr_assert_str_eq(response_text(own, "/accounts/0/spent_by/1/client"),
                     fixture_token_client(f, other));
    cr_assert_gt(strlen(response_text(own, "/accounts/0/name")), 0);
}

CHECKED_TEST(refusal, of_a_steward_names_the_grant_that_would_help)
{
    const char *teacher = new_teacher(100, 1), *steward = fixture_token(f, "steward");
    struct response *refused = question(teacher, steward, 1000);
    cr_assert_str_eq(response_text(refused, "/ask/method"), "PUT");
    const struct ask look = {.path = response_text(refused, "/ask/href"), .token = steward};
    expect_status(question(teacher, steward, 1), 200);
    expect_status(fixture_ask(f, &look), 200);
}

CHECKED_TEST(refusal, of_a_job_names_what_a_job_may_cost)
{
    const char *dataset = domain_sealed(f, "private", 10);
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 6, 20)), 202);
    struct response *refused =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1000, 20));
    expect_problem(refused, "budget-exhausted");
    double largest = response_number(refused, "/largest/epsilon");
    cr_assert_eq(largest, response_number(domain_budget(f, dataset), "/remaining/epsilon"));
    cr_assert_gt(response_number(refused, "/accounts/0/held/epsilon"), 0);
    cr_assert_str_eq(response_text(refused, "/accounts/0/kind"), "dataset");
    cr_assert_str_eq(response_text(refused, "/accounts/0/name"), "d");
    cr_assert(json_is_array(response_at(refused, "/accounts/0/spent_by")));
    cr_assert_str_eq(response_text(refused, "/ask/method"), "PATCH"); /* the owner's own limit */
    cr_assert_gt(response_number(refused, "/ask/body/limit/epsilon"), largest);
    cr_assert_not_null(strstr(response_text(refused, "/ask/needs"), "If-Match"));
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, largest, 20)),
                  202);
}

CHECKED_TEST(refusal, of_a_price_above_the_maximum_names_the_price)
{
    const char *path = domain_path("/v1/teachers/%s/queries", new_teacher(100, 1));
    static const char body[] = "{\"state\":[0.01,-0.02,0.03,0.04],\"max_epsilon\":%.17g}";
    struct response *refused = fixture_post(f, "student", path, domain_path(body, 1e-6));
    expect_problem(refused, "cost-above-maximum");
    double least = response_number(refused, "/least/max_epsilon");
    expect_problem(fixture_post(f, "student", path, domain_path(body, least * (1 - 1e-9))),
                   "cost-above-maximum");
    expect_status(fixture_post(f, "student", path, domain_path(body, least)), 200);
}

CHECKED_TEST(refusal, of_a_grant_names_the_least_that_pays_one_answer)
{
    const char *teacher = new_teacher(100, 1);
    const char *path =
        domain_path("/v1/teachers/%s/budgets/%s", teacher, fixture_client(f, "student"));
    static const char body[] = "{\"epsilon\":%.17g,\"delta\":1e-6}";
    struct response *refused = fixture_put(f, "steward", path, domain_path(body, 1e-4));
    expect_invalid(refused, "/epsilon");
    double least = response_number(refused, "/least/epsilon");
    struct response *given = fixture_put(f, "steward", path, domain_path(body, least));
    expect_status(given, 201);
    cr_assert_eq(response_number(given, "/buys/answers"), 1);
    expect_status(question(teacher, fixture_token(f, "student"), 1), 200);
    expect_problem(question(teacher, fixture_token(f, "student"), 1), "budget-exhausted");
}

/* A job whose noise is given, and whose epsilon pays no step of it. */
CHECKED_TEST(refusal, of_a_plan_names_the_least_epsilon)
{
    const char *dataset = domain_sealed(f, "private", 10);
    static const char body[] =
        "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\",\"privacy\":{"
        "\"epsilon\":%.17g,\"delta\":1e-6,\"force\":true},\"parameters\":{\"steps\":20,"
        "\"batch_size\":4,\"noise_multiplier\":1}}";
    struct response *refused =
        fixture_post(f, "steward", "/v1/jobs", domain_path(body, dataset, 0.3));
    expect_problem(refused, "infeasible");
    double least = response_number(refused, "/least/epsilon");
    cr_assert_gt(least, 0.3);
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", domain_path(body, dataset, 0.3));
    cr_assert_eq(response_number(estimate, "/least/epsilon"), least);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", domain_path(body, dataset, 0.98 * least)),
                   "infeasible");
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_path(body, dataset, least)), 202);
}
