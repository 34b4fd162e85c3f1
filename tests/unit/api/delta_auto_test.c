/* "delta":"auto": a job's part of the delta that is left, and none is stranded; an estimate that
 * fails for delta alone; and the least budget of a teacher. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

TestSuite(delta_auto, .init = service_open, .fini = service_close);

static const char *auto_job(const char *dataset, double epsilon)
{
    return domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
                       "\"privacy\":{\"epsilon\":%.17g,\"delta\":\"auto\",\"force\":true},"
                       "\"parameters\":{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                       dataset, epsilon);
}

CHECKED_TEST(delta_auto, is_the_part_that_epsilon_is_and_the_last_job_takes_the_rest)
{
    const char *dataset = domain_sealed(f, "private", 10);
    struct response *budget = domain_budget(f, dataset);
    double epsilon = response_number(budget, "/limit/epsilon"),
           delta = response_number(budget, "/limit/delta");
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", auto_job(dataset, epsilon / 4));
    expect_status(estimate, 200);
    cr_assert_float_eq(response_number(estimate, "/cost/delta"), delta / 4, delta * 1e-9);
    expect_status(fixture_post(f, "steward", "/v1/jobs", auto_job(dataset, epsilon / 4)), 202);
    budget = domain_budget(f, dataset);
    double left = response_number(budget, "/remaining/epsilon"),
           left_delta = response_number(budget, "/remaining/delta");
    cr_assert_geq(left_delta / delta, left / epsilon * (1 - 0.05)); /* a plan may cost less */
    expect_status(fixture_post(f, "steward", "/v1/jobs", auto_job(dataset, left)), 202);
    cr_assert_eq(response_number(domain_budget(f, dataset), "/remaining/delta"), 0);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", auto_job(dataset, 0.01)),
                   "budget-exhausted");
}

CHECKED_TEST(delta_auto, needs_an_account_and_an_epsilon)
{
    const char *dataset = domain_sealed(f, "private", 10);
    expect_problem(fixture_post(f, "steward", "/v1/jobs:estimate", auto_job("ds_nobody", 1)),
                   "not-found");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", auto_job(dataset, -1)),
                   "/privacy/epsilon");
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs:estimate",
                     domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":"
                                 "\"%s\",\"privacy\":{\"epsilon\":1,\"delta\":\"most\"}}",
                                 dataset)),
        "/privacy/delta");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate",
                                "{\"algorithm\":\"reinforce\",\"mechanism\":\"dpsgd\","
                                "\"environment\":\"cartpole\",\"privacy\":{\"epsilon\":1,"
                                "\"delta\":\"auto\"}}"),
                   "/privacy/delta");
}

/* Why a job of (EPSILON, 2e-6) does not fit DATASET. */
static const char *reason_of(const char *dataset, double epsilon)
{
    struct response *estimate = fixture_post(
        f, "steward", "/v1/jobs:estimate",
        domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
                    "\"privacy\":{\"epsilon\":%g,\"delta\":2e-6,\"force\":true},"
                    "\"parameters\":{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                    dataset, epsilon));
    expect_status(estimate, 200);
    cr_assert(json_is_false(response_at(estimate, "/feasible")), "%s", estimate->body);
    return response_text(estimate, "/reason");
}

CHECKED_TEST(delta_auto, reason_says_when_delta_alone_is_short)
{
    const char *dataset = domain_sealed_of(f,
                                           "{\"name\":\"d\",\"environment\":\"cartpole\","
                                           "\"budget\":{\"epsilon\":10,\"delta\":1.5e-6}}",
                                           10);
    cr_assert_str_eq(reason_of(dataset, 1),
                     "the dataset's budget cannot pay for it: its epsilon would be enough, but the "
                     "job takes delta 2e-06 and only delta 1.5e-06 is left");
    cr_assert_str_eq(reason_of(dataset, 12), "the dataset's budget cannot pay for it");
}

/* What a refusal names as the least would do, and hardly less would not. */
CHECKED_TEST(delta_auto, least_budget_of_a_teacher_makes_one)
{
    const char *policy = domain_policy(f);
    static const double budgets[][2] = {{1e-4, 1e-4}, {100, 1e-4}};
    for (size_t i = 0; i < 2; i++) {
        struct response *refused = fixture_post(
            f, "steward", "/v1/teachers", domain_teacher(policy, budgets[i][0], budgets[i][1]));
        expect_problem(refused, "validation");
        double least = response_number(refused, "/least/epsilon");
        double all = budgets[i][0] > least ? budgets[i][0] : least * 2;
        expect_status(fixture_post(f, "steward", "/v1/teachers",
                                   domain_teacher(policy, all, least * 1.00001)),
                      201);
    }
}
