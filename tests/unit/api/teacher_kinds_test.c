/* Teachers with Gaussian noise and with basic accounts: what they refuse, what answers cost, and
 * that they stop in time. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(teacher_kinds, .init = service_open, .fini = service_close);

#define STATE "{\"state\":[0.01,-0.02,0.03,0.04]}"
#define GAUSSIAN                                                                                   \
    "\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.05},\"adjacency\":{\"unit\":"        \
    "\"observation\",\"radius\":0.01}"
#define DIRICHLET                                                                                  \
    "\"mechanism\":{\"concentration\":20},\"adjacency\":{\"unit\":\"observation\",\"radius\":0."   \
    "01}"
#define BUDGETS                                                                                    \
    "\"budget\":{\"epsilon\":8,\"delta\":1e-4},\"client_budget\":{\"epsilon\":2,\"delta\":1e-5}"

#define LARGE_BUDGET "\"budget\":{\"epsilon\":10000,\"delta\":1e-4}"

/* What POST /v1/teachers says to a body with these MEMBERS. */
static struct response *make(const char *policy, const char *members)
{
    return fixture_post(f, "steward", "/v1/teachers",
                        domain_path("{\"policy\":\"%s\",%s}", policy, members));
}

static struct response *made(const char *members)
{
    struct response *r = make(domain_policy(f), members);
    expect_status(r, 201);
    return r;
}

static struct response *ask(struct response *teacher, const char *body)
{
    return fixture_post(
        f, "student", domain_path("/v1/teachers/%s/queries", response_text(teacher, "/id")), body);
}

Test(teacher_kinds, refuse_a_gaussian_that_is_none)
{
    static const char *const cases[][2] = {
        {"", "/mechanism/sigma"},
        {",\"sigma\":0", "/mechanism/sigma"},
        {",\"sigma\":-0.05", "/mechanism/sigma"},
        {",\"sigma\":1e-5", "/mechanism/sigma"},
        {",\"sigma\":1001", "/mechanism/sigma"},
        {",\"sigma\":1e300", "/mechanism/sigma"},
        {",\"sigma\":\"0.05\"", "/mechanism/sigma"},
        {",\"sigma\":null", "/mechanism/sigma"},
        {",\"sigma\":[0.05]", "/mechanism/sigma"},
        {",\"sigma\":0.05,\"concentration\":20", "/mechanism/concentration"},
        {",\"sigma\":0.05,\"min_probability\":0.1", "/mechanism/min_probability"},
        {",\"sigma\":0.05,\"vanishing\":0.9", "/mechanism/vanishing"},
        {",\"sigma\":0.05,\"temperature\":0", "/mechanism/temperature"},
        {",\"sigma\":0.05,\"seed\":1", "/mechanism/seed"},
    };
    const char *policy = domain_policy(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[400];
        snprintf(members, sizeof members,
                 "\"mechanism\":{\"name\":\"gaussian_simplex\"%s},\"adjacency\":{\"unit\":"
                 "\"observation\",\"radius\":0.01},%s",
                 cases[i][0], BUDGETS);
        expect_invalid(make(policy, members), cases[i][1]);
    }
    static const char *const no_json[] = {"NaN", "Infinity", "1e999"};
    for (size_t i = 0; i < 3; i++) {
        char members[400];
        snprintf(members, sizeof members,
                 "\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":%s},\"adjacency\":{"
                 "\"unit\":\"observation\",\"radius\":0.01},%s",
                 no_json[i], BUDGETS);
        int status = make(policy, members)->status;
        cr_expect(status == 400 || status == 422, "%s: %d", no_json[i], status);
    }
    /* So little noise that no budget pays for one answer. */
    expect_invalid(make(policy, "\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.0001},"
                                "\"adjacency\":{\"unit\":\"observation\",\"radius\":1}," BUDGETS),
                   "/client_budget/epsilon");
    cr_assert_eq(
        json_array_size(response_at(fixture_get(f, "steward", "/v1/ledger/accounts"), "/items")),
        0);
}

Test(teacher_kinds, blur_a_secret_policy)
{
    struct response *job =
        domain_run(f, domain_unprotected_job(domain_sealed(f, "private", 10), 50));
    const char *secret = response_text(job, "/policy");
    static const char *const bodies[] = {
        "\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.049},\"i_understand\":\"not_"
        "private\","
        "\"adjacency\":{\"unit\":\"observation\",\"radius\":1e-5}," LARGE_BUDGET,
        "\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.05},\"i_understand\":\"not_"
        "private\","
        "\"adjacency\":{\"unit\":\"observation\",\"radius\":1e-5}," LARGE_BUDGET};
    expect_invalid(make(secret, bodies[0]), "/mechanism/sigma");
    expect_status(make(secret, bodies[1]), 201);
}

Test(teacher_kinds, answer_with_gaussian_noise)
{
    struct response *teacher = made(GAUSSIAN "," BUDGETS);
    cr_assert_str_eq(response_text(teacher, "/mechanism/name"), "gaussian_simplex");
    cr_assert_eq(response_number(teacher, "/mechanism/sigma"), 0.05);
    cr_assert_null(response_at(teacher, "/mechanism/concentration"));
    /* No mixing: the sensitivity is the Lipschitz bound times the radius. */
    cr_assert_float_eq(response_number(teacher, "/sensitivity"),
                       0.01 * response_number(teacher, "/lipschitz"), 1e-12);
    double order = response_number(teacher, "/order");
    double mu = (response_number(teacher, "/sensitivity") + sqrt(2) / 1048576) / 0.05;
    cr_assert_float_eq(response_number(teacher, "/renyi_units_per_query"), 5e8 * order * mu * mu,
                       1.5);
    int count = (int)response_number(teacher, "/queries_in_client_budget");
    cr_assert_gt(count, 10);

    struct response *r = ask(teacher, STATE);
    expect_status(r, 200);
    double p0 = response_number(r, "/probabilities/0"), p1 = response_number(r, "/probabilities/1");
    cr_assert(p0 >= 0 && p1 >= 0 && p0 + p1 == 1 && p0 * 1048576 == rint(p0 * 1048576));
    cr_assert_eq(response_number(r, "/sigma"), 0.05);
    cr_assert_null(response_at(r, "/concentration"));
    cr_assert_float_eq(response_number(r, "/error_radius"), 0.05 * 1.959964, 1e-5);
    cr_assert_eq(response_number(r, "/cost/order"), order);
    cr_assert(response_number(r, "/cost/divergence") > 0);
    expect_invalid(ask(teacher, "{\"state\":[0,0,0,0],\"concentration\":20}"), "/concentration");
    expect_invalid(ask(teacher, "{\"state\":[0,0,0,0],\"sigma\":1}"), "/sigma");

    const char *path =
        domain_path("/v1/teachers/%s/queries:estimate", response_text(teacher, "/id"));
    struct response *estimate = fixture_post(f, "student", path, "{\"count\":3}");
    expect_status(estimate, 200);
    cr_assert_null(response_at(estimate, "/concentration"));
    cr_assert_null(response_at(estimate, "/alternative"));
    /* Two even actions: |N(0, sigma^2)| / sqrt(2) on each. */
    cr_assert_float_eq(response_number(estimate, "/expected_error/uniform/l1"),
                       0.05 * sqrt(4 / M_PI), 0.002);
    cr_assert_float_eq(response_number(estimate, "/expected_error/uniform/l2"), 0.05, 0.002);
    cr_assert(response_number(estimate, "/expected_error/peaked/l1") <
              response_number(estimate, "/expected_error/uniform/l1"));
    struct response *rollout = fixture_post(
        f, "student", domain_path("/v1/teachers/%s/rollouts", response_text(teacher, "/id")), NULL);
    expect_status(rollout, 200);
    cr_assert_null(response_at(rollout, "/concentration"));
    cr_assert_eq(response_number(rollout, "/rollout"), 1);

    for (int i = 1; i < count; i++) /* to the last answer that was promised, and no further */
        expect_status(ask(teacher, STATE), 200);
    expect_problem(ask(teacher, STATE), "budget-exhausted");
    domain_expect_whole_ledger(f);
}

/* What a Dirichlet teacher is told of the alternative is so: a teacher made of it costs no more. */
Test(teacher_kinds, dirichlet_estimates_name_the_better_noise)
{
    static const char *const rules[] = {"renyi", "basic"};
    for (size_t i = 0; i < 2; i++) {
        char members[500];
        snprintf(members, sizeof members, DIRICHLET "," BUDGETS ",\"accounting\":\"%s\"", rules[i]);
        struct response *teacher = made(members);
        const char *path =
            domain_path("/v1/teachers/%s/queries:estimate", response_text(teacher, "/id"));
        struct response *r = fixture_post(f, "student", path, "{\"count\":1}");
        expect_status(r, 200);
        double sigma = response_number(r, "/alternative/mechanism/sigma");
        cr_assert_str_eq(response_text(r, "/alternative/mechanism/name"), "gaussian_simplex");
        cr_assert(response_number(r, "/alternative/expected_error/uniform/l1") <
                  response_number(r, "/expected_error/uniform/l1"));
        cr_assert(response_number(r, "/alternative/expected_error/peaked/l1") <
                  response_number(r, "/expected_error/peaked/l1"));
        snprintf(members, sizeof members,
                 "\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":%.17g},\"adjacency\":{"
                 "\"unit\":\"observation\",\"radius\":0.01}," BUDGETS ",\"accounting\":\"%s\"",
                 sigma, rules[i]);
        struct response *other = made(members);
        cr_assert_geq(response_number(other, "/queries_in_client_budget"),
                      response_number(teacher, "/queries_in_client_budget"));
    }
}

/* The published figure is shown when it is asked for, and for what it is. */
Test(teacher_kinds, the_papers_figure_is_for_comparison_only)
{
    struct response *teacher = made(DIRICHLET "," BUDGETS);
    const char *path =
        domain_path("/v1/teachers/%s/queries:estimate", response_text(teacher, "/id"));
    struct response *plain = fixture_post(f, "student", path, "{\"count\":10}");
    struct response *paper =
        fixture_post(f, "student", path, "{\"count\":10,\"accounting\":\"paper\"}");
    expect_status(paper, 200);
    cr_assert_null(response_at(plain, "/paper"));
    cr_assert_eq(response_number(paper, "/cost/epsilon"), response_number(plain, "/cost/epsilon"));
    cr_assert_gt(response_number(paper, "/paper/epsilon"), response_number(plain, "/cost/epsilon"));
    cr_assert(json_is_false(response_at(paper, "/paper/guarantee")));
    expect_status(fixture_post(f, "student", path, "{\"count\":10,\"accounting\":\"best\"}"), 422);
    struct response *other = made(GAUSSIAN "," BUDGETS);
    path = domain_path("/v1/teachers/%s/queries:estimate", response_text(other, "/id"));
    struct response *refused =
        fixture_post(f, "student", path, "{\"count\":10,\"accounting\":\"paper\"}");
    expect_status(refused, 422);
    cr_assert_str_eq(response_text(refused, "/errors/0/pointer"), "/accounting");
}

/* ---- basic composition */

static void spend_all(struct response *teacher)
{
    int count = (int)response_number(teacher, "/queries_in_client_budget");
    double epsilon = response_number(teacher, "/cost_per_query/epsilon");
    double delta = response_number(teacher, "/cost_per_query/delta");
    cr_assert(count >= 2 && count * epsilon <= 2 + 1e-9 && count * delta <= 1e-5 * (1 + 1e-9),
              "%d of %g, %g", count, epsilon, delta);
    for (int i = 1; i <= count; i++) {
        struct response *r = ask(teacher, STATE);
        expect_status(r, 200);
        cr_assert_float_eq(response_number(r, "/cost/epsilon"), epsilon, 1e-12);
        cr_assert_float_eq(response_number(r, "/cost/delta"), delta, 1e-20);
        cr_assert_float_eq(response_number(r, "/spent/epsilon"), i * epsilon, 1e-8);
        cr_assert_float_eq(response_number(r, "/spent/delta"), i * delta, 1e-17);
        cr_assert_float_eq(response_number(r, "/remaining/epsilon"), 2 - i * epsilon, 1e-8);
        cr_assert_float_eq(response_number(r, "/remaining/delta"), 1e-5 - i * delta, 1e-17);
        cr_assert_null(response_at(r, "/cost/order"));
        cr_assert_null(response_at(r, "/cost/divergence"));
    }
    struct response *refused = ask(teacher, STATE);
    expect_problem(refused, "budget-exhausted");
    cr_assert_eq(json_array_size(response_at(refused, "/violated")), 1, "the cap still pays");
    struct response *mine =
        fixture_get(f, "student",
                    domain_path("/v1/teachers/%s/budgets/%s", response_text(teacher, "/id"),
                                fixture_client(f, "student")));
    cr_assert_str_eq(response_text(mine, "/accounting"), "basic");
    cr_assert_float_eq(response_number(mine, "/spent/epsilon"), count * epsilon, 1e-8);
    cr_assert_float_eq(response_number(mine, "/spent/delta"), count * delta, 1e-17);
    cr_assert_null(response_at(mine, "/order"));
}

Test(teacher_kinds, basic_accounts_add_up_epsilon_and_delta)
{
    static const char *const mechanisms[] = {DIRICHLET, GAUSSIAN};
    for (size_t i = 0; i < 2; i++) {
        char members[400];
        snprintf(members, sizeof members, "%s,%s,\"accounting\":\"basic\"", mechanisms[i], BUDGETS);
        struct response *teacher = made(members);
        cr_assert_str_eq(response_text(teacher, "/accounting"), "basic");
        cr_assert(json_is_null(response_at(teacher, "/order")));
        cr_assert(json_is_null(response_at(teacher, "/renyi_units_per_query")));
        spend_all(teacher);
        domain_expect_whole_ledger(f);
    }
}

Test(teacher_kinds, basic_accounts_estimate_and_weigh_costs)
{
    struct response *teacher = made(DIRICHLET "," BUDGETS ",\"accounting\":\"basic\"");
    int count = (int)response_number(teacher, "/queries_in_client_budget");
    double epsilon = response_number(teacher, "/cost_per_query/epsilon");
    double delta = response_number(teacher, "/cost_per_query/delta");
    const char *path =
        domain_path("/v1/teachers/%s/queries:estimate", response_text(teacher, "/id"));
    struct response *r = fixture_post(f, "student", path, domain_path("{\"count\":%d}", count));
    expect_status(r, 200);
    cr_assert(json_is_true(response_at(r, "/feasible")));
    cr_assert_float_eq(response_number(r, "/cost/epsilon"), count * epsilon, 1e-8);
    cr_assert_float_eq(response_number(r, "/cost/delta"), count * delta, 1e-17);
    r = fixture_post(f, "student", path, domain_path("{\"count\":%d}", count + 1));
    cr_assert(json_is_false(response_at(r, "/feasible")));
    /* Fewer than the teacher's concentration costs less epsilon and the same delta. */
    r = fixture_post(f, "student", path, "{\"count\":1,\"concentration\":10}");
    cr_assert(response_number(r, "/cost/epsilon") < epsilon);
    cr_assert_float_eq(response_number(r, "/cost/delta"), delta, 1e-20);
    expect_problem(ask(teacher, "{\"state\":[0,0,0,0],\"max_epsilon\":0.0001}"),
                   "cost-above-maximum");
}

Test(teacher_kinds, basic_grants_have_a_delta_to_spend)
{
    struct response *teacher =
        made(DIRICHLET ",\"budget\":{\"epsilon\":8,\"delta\":1e-5},\"accounting\":\"basic\"");
    double delta = response_number(teacher, "/cost_per_query/delta");
    cr_assert(delta > 0, "shown without a client budget");
    struct ask put = {.method = "PUT",
                      .path =
                          domain_path("/v1/teachers/%s/budgets/%s", response_text(teacher, "/id"),
                                      fixture_client(f, "student")),
                      .token = fixture_token(f, "steward")};
    put.body = domain_path("{\"epsilon\":2,\"delta\":%.17g}", delta / 2);
    expect_invalid(fixture_ask(f, &put), "/delta");
    put.body = domain_path("{\"epsilon\":2,\"delta\":%.17g}", 2.5 * delta);
    struct response *r = fixture_ask(f, &put);
    expect_status(r, 201);
    cr_assert_str_eq(response_text(r, "/accounting"), "basic");
    expect_status(ask(teacher, STATE), 200);
    expect_status(ask(teacher, STATE), 200);
    expect_problem(ask(teacher, STATE), "budget-exhausted"); /* of delta */
    domain_expect_whole_ledger(f);
}

/* The cap over all clients binds in delta as well as in epsilon. */
Test(teacher_kinds, basic_caps_bind_all_clients)
{
    struct response *teacher =
        made(GAUSSIAN ",\"budget\":{\"epsilon\":8,\"delta\":5e-6},\"client_budget\":{"
                      "\"epsilon\":2,\"delta\":1e-5},\"accounting\":\"basic\"");
    double delta = response_number(teacher, "/cost_per_query/delta");
    int fits = (int)floor(5e-6 / delta * (1 + 1e-12));
    for (int i = 0; i < fits; i++)
        expect_status(ask(teacher, STATE), 200);
    struct response *refused = ask(teacher, STATE);
    expect_problem(refused, "budget-exhausted");
    cr_assert_str_eq(response_text(refused, "/violated/0/account"),
                     response_text(teacher, "/account"));
    domain_expect_whole_ledger(f);
}
