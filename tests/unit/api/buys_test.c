/* What the rest of a budget buys, and what a plan leaves of it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

TestSuite(buys, .init = service_open, .fini = service_close);

static const char *job(const char *dataset, double epsilon, double delta)
{
    return domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
                       "\"privacy\":{\"epsilon\":%.17g,\"delta\":%.17g,\"force\":true},"
                       "\"parameters\":{\"steps\":20,\"batch_size\":4}}",
                       dataset, epsilon, delta);
}

static const char *dataset_of(double epsilon, double delta)
{
    return domain_sealed_of(
        f,
        domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":\"private\","
                    "\"budget\":{\"epsilon\":%.17g,\"delta\":%.17g}}",
                    epsilon, delta),
        10);
}

CHECKED_TEST(buys, count_down_to_the_last_job)
{
    const char *dataset = dataset_of(7, 1e-5);
    cr_assert(json_is_null(response_at(domain_budget(f, dataset), "/buys/jobs_like_the_last")));
    for (int left = 2; left >= 0; left--) {
        expect_status(fixture_post(f, "steward", "/v1/jobs", job(dataset, 2, 1e-6)), 202);
        struct response *budget = domain_budget(f, dataset);
        cr_assert_eq(response_number(budget, "/buys/jobs_like_the_last"), left, "%s", budget->body);
        cr_assert(json_is_null(response_at(budget, "/buys/answers")));
        cr_assert(json_is_null(response_at(budget, "/buys/labels")));
    }
    expect_problem(fixture_post(f, "steward", "/v1/jobs", job(dataset, 2, 1e-6)),
                   "budget-reserved");
}

/* A job by consensus buys labels: nine each, as often as the rest pays for such a job. */
CHECKED_TEST(buys, count_labels_after_a_job_that_asked_for_some)
{
    const char *dataset = domain_crowd(f, 40, true);
    for (int left = 5; left >= 4; left--) {
        expect_status(
            fixture_post(
                f, "steward", "/v1/jobs",
                domain_path("{\"algorithm\":\"behaviour_cloning\",\"mechanism\":"
                            "\"consensus\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":50,"
                            "\"delta\":1e-3,\"force\":true,\"consensus\":{\"labels\":9}},"
                            "\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":20}}",
                            dataset)),
            202);
        struct response *budget = domain_budget(f, dataset);
        cr_expect_eq(response_number(budget, "/buys/jobs_like_the_last"), left, "%s", budget->body);
        cr_expect_eq(response_number(budget, "/buys/labels"), 9 * left, "%s", budget->body);
    }
}

CHECKED_TEST(buys, count_down_to_the_last_answer)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 100, 1));
    const char *id = domain_path("%s", response_text(made, "/id"));
    double answers = response_number(made, "/queries_in_client_budget");
    const char *budget =
        domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, "student"));
    for (double left = answers - 1; left >= 0; left--) {
        expect_status(fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", id),
                                   "{\"state\":[0.01,-0.02,0.03,0.04]}"),
                      200);
        struct response *now = fixture_get(f, "student", budget);
        cr_assert_eq(response_number(now, "/buys/answers"), left, "%s", now->body);
        struct response *account = fixture_get(
            f, "student", domain_path("/v1/ledger/accounts/%s", response_text(now, "/account")));
        cr_assert_eq(response_number(account, "/buys/answers"), left);
    }
    struct response *cap = fixture_get(
        f, "steward", domain_path("/v1/ledger/accounts/%s", response_text(made, "/account")));
    cr_assert_gt(response_number(cap, "/buys/answers"), 1000);
}

CHECKED_TEST(buys, say_what_a_job_leaves)
{
    const char *dataset = dataset_of(10, 1e-5);
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", job(dataset, 2, 2e-6));
    expect_status(estimate, 200);
    expect_status(fixture_post(f, "steward", "/v1/jobs", job(dataset, 2, 2e-6)), 202);
    struct response *budget = domain_budget(f, dataset);
    cr_assert_eq(response_number(estimate, "/leaves/epsilon"),
                 response_number(budget, "/remaining/epsilon"));
    cr_assert_eq(response_number(estimate, "/leaves/delta"),
                 response_number(budget, "/remaining/delta"));
    cr_assert(json_is_null(response_at(estimate, "/warning")));
    estimate = fixture_post(f, "steward", "/v1/jobs:estimate", job(dataset, 9, 1e-6));
    cr_assert(json_is_null(response_at(estimate, "/leaves"))); /* it cannot be paid */
    cr_assert(json_is_null(response_at(estimate, "/warning")));
}

/* The first plan takes all of delta. What is advised instead lets all five be paid. */
CHECKED_TEST(buys, warn_of_a_plan_that_strands_epsilon)
{
    const char *dataset = dataset_of(10, 1e-5);
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", job(dataset, 2, 1e-5));
    cr_assert_float_eq(response_number(estimate, "/warning/stranded/epsilon"), 8, 0.01, "%s",
                       estimate->body);
    cr_assert_eq(response_number(estimate, "/warning/better/epsilon"), 2);
    double delta = response_number(estimate, "/warning/better/delta");
    cr_expect(strstr(response_text(estimate, "/warning/detail"), domain_path("%.3g", delta)));
    cr_assert_eq(delta, 2e-6);
    estimate = fixture_post(f, "steward", "/v1/jobs:estimate", job(dataset, 2, delta));
    cr_assert(json_is_null(response_at(estimate, "/warning")), "%s", estimate->body);
    for (int i = 0; i < 5; i++)
        expect_status(fixture_post(f, "steward", "/v1/jobs", job(dataset, 2, delta)), 202);
}

CHECKED_TEST(buys, warn_of_a_plan_that_strands_delta)
{
    const char *dataset = dataset_of(2, 1e-5);
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", job(dataset, 2, 1e-6));
    cr_assert_float_eq(response_number(estimate, "/warning/stranded/epsilon"), 0, 0.01, "%s",
                       estimate->body); /* a price is somewhat below what is asked for */
    cr_assert_eq(response_number(estimate, "/warning/stranded/delta"), 9e-6);
    cr_assert_eq(response_number(estimate, "/warning/better/delta"), 1e-5);
    expect_status(fixture_post(f, "steward", "/v1/jobs", job(dataset, 2, 1e-5)), 202);
}
