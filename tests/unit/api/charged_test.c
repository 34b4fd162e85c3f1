/* Price and remainder in the headers of answers that charged. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

TestSuite(charged, .init = service_open, .fini = service_close);

#define STATE "{\"state\":[0.01,-0.02,0.03,0.04]}"

static const char *new_teacher(const char *more)
{
    const char *body = domain_teacher(domain_policy(f), 100, 2);
    struct response *made = fixture_post(f, "steward", "/v1/teachers",
                                         domain_path("%.*s%s}", (int)strlen(body) - 1, body, more));
    expect_status(made, 201);
    return domain_path("%s", response_text(made, "/id"));
}

/* The items of a header. */
static unsigned item_count(const char *header)
{
    unsigned count = header != NULL;
    for (; header && *header; header++)
        count += *header == ',';
    return count;
}

/* NAME of the item of ACCOUNT ("" is any) in HEADER. */
static double item_number(const char *header, const char *account, const char *name)
{
    cr_assert_not_null(header);
    const char *item = strstr(header, account);
    cr_assert_not_null(item, "%s: no %s", header, account);
    const char *at = strstr(item, domain_path("%s=", name));
    cr_assert_not_null(at, "%s: no %s", header, name);
    return strtod(at + strlen(name) + 1, NULL);
}

static void expect_headers(const struct response *r, const char *account, const char *cost)
{
    const char *price = response_header(r, "Tacet-Price"),
               *left = response_header(r, "Tacet-Remaining");
    cr_assert_eq(item_number(price, account, "epsilon"),
                 response_number(r, domain_path("/%s/epsilon", cost)), "%s %s", price, r->body);
    cr_assert_eq(item_number(left, account, "epsilon"), response_number(r, "/remaining/epsilon"));
    cr_assert_eq(item_number(left, account, "delta"), response_number(r, "/remaining/delta"));
}

CHECKED_TEST(charged, answers_of_teachers_say_it_as_their_bodies_do)
{
    static const char *const kinds[] = {"", ",\"accounting\":\"basic\""};
    for (unsigned i = 0; i < 2; i++) {
        const char *path = domain_path("/v1/teachers/%s/queries", new_teacher(kinds[i]));
        for (int n = 0; n < 2; n++) {
            struct response *r = fixture_post(f, "student", path, STATE);
            expect_status(r, 200);
            expect_headers(r, "", "cost");
            cr_assert_eq(item_number(response_header(r, "Tacet-Price"), "", "delta"),
                         response_number(r, "/cost/delta"));
            cr_assert_eq(item_count(response_header(r, "Tacet-Price")), 1);
            cr_assert_eq(item_count(response_header(r, "Tacet-Remaining")), 1);
        }
    }
}

CHECKED_TEST(charged, a_repeat_has_the_headers_of_the_first_answer)
{
    const char *path = domain_path("/v1/teachers/%s/queries", new_teacher(""));
    const struct ask ask = {
        .path = path, .token = fixture_token(f, "student"), .key = "k", .body = STATE};
    struct response *first = fixture_ask(f, &ask);
    expect_status(fixture_post(f, "student", path, STATE), 200);
    struct response *again = fixture_ask(f, &ask);
    cr_assert_str_eq(response_header(again, "Idempotency-Replayed"), "true");
    cr_assert_str_eq(response_header(again, "Tacet-Price"), response_header(first, "Tacet-Price"));
    cr_assert_str_eq(response_header(again, "Tacet-Remaining"),
                     response_header(first, "Tacet-Remaining"));
    cr_assert_null(response_header(again, "Location"));
}

/* A student sees the own account, the owner of the teacher all that paid. */
CHECKED_TEST(charged, nobody_sees_the_account_of_another)
{
    const char *teacher = new_teacher("");
    const char *path = domain_path("/v1/teachers/%s/queries", teacher);
    struct response *own = fixture_post(f, "steward", path, STATE);
    cr_assert_eq(item_count(response_header(own, "Tacet-Price")), 2);
    struct response *shown = fixture_get(f, "steward", domain_path("/v1/teachers/%s", teacher));
    const char *cap = response_text(shown, "/account");
    cr_assert_gt(item_number(response_header(own, "Tacet-Remaining"), cap, "epsilon"), 50);
    struct response *student = fixture_post(f, "student", path, STATE);
    cr_assert_null(strstr(response_header(student, "Tacet-Remaining"), "acc_"));
}

CHECKED_TEST(charged, free_and_refused_answers_have_no_price)
{
    const char *path =
        domain_path("/v1/teachers/%s/queries", new_teacher(",\"when_spent\":\"random\""));
    static char states[64 * 1024] = "{\"states\":[[0,0,0,0]";
    for (int i = 0; i < 999; i++)
        strcat(states, ",[0,0,0,0]");
    strcat(states, "]}");
    struct response *r = fixture_post(f, "student", path, states);
    expect_status(r, 200);
    cr_assert_null(response_header(r, "Tacet-Price"));
    r = fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", new_teacher("")), states);
    expect_problem(r, "budget-exhausted");
    cr_assert_null(response_header(r, "Tacet-Price"));
    cr_assert_null(response_header(r, "Tacet-Remaining"));
}

CHECKED_TEST(charged, an_answer_of_a_batch_is_kept_with_them)
{
    const char *path = domain_path("/v1/teachers/%s/queries", new_teacher(""));
    const struct ask ask = {.path = path,
                            .token = fixture_token(f, "steward"),
                            .key = "k",
                            .body = "{\"states\":[[0,0,0,0],[0,0,0,1]]}"};
    struct response *first = fixture_ask(f, &ask), *again = fixture_ask(f, &ask);
    cr_assert_eq(item_count(response_header(first, "Tacet-Price")), 2);
    cr_assert_str_eq(response_header(again, "Tacet-Price"), response_header(first, "Tacet-Price"));
    cr_assert_str_eq(response_header(again, "Tacet-Remaining"),
                     response_header(first, "Tacet-Remaining"));
}

CHECKED_TEST(charged, the_other_protocol_has_them_too)
{
    const char *teacher = new_teacher("");
    struct response *r =
        fixture_post(f, "student", domain_path("/v2/models/%s/infer", teacher),
                     "{\"inputs\":[{\"name\":\"state\",\"datatype\":\"FP32\",\"shape\":[1,4],"
                     "\"data\":[0,0,0,0]}]}");
    expect_status(r, 200);
    cr_assert_eq(item_number(response_header(r, "Tacet-Price"), "", "epsilon"),
                 response_number(r, "/parameters/cost_epsilon"));
}

CHECKED_TEST(charged, a_job_says_what_it_holds)
{
    const char *dataset = domain_sealed(f, "private", 10);
    const struct ask ask = {.path = "/v1/jobs",
                            .token = fixture_token(f, "steward"),
                            .key = "job",
                            .body = domain_private_job(dataset, 6, 20)};
    struct response *made = fixture_ask(f, &ask), *again = fixture_ask(f, &ask);
    expect_status(made, 202);
    struct response *budget = domain_budget(f, dataset);
    const char *account = response_text(budget, "/account"),
               *price = response_header(made, "Tacet-Price"),
               *left = response_header(made, "Tacet-Remaining");
    cr_assert_eq(item_number(price, account, "epsilon"),
                 response_number(budget, "/reserved/epsilon"));
    cr_assert_eq(item_number(price, account, "delta"), response_number(budget, "/reserved/delta"));
    cr_assert_eq(item_number(left, account, "epsilon"),
                 response_number(budget, "/remaining/epsilon"));
    cr_assert_str_eq(response_header(again, "Tacet-Price"), price);
    cr_assert_str_eq(response_header(again, "Tacet-Remaining"), left);
    cr_assert_str_eq(response_header(again, "Location"), response_header(made, "Location"));
}
