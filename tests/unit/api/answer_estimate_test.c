/* The estimate's comparison of both mechanisms: a teacher made of what it names answers that often,
 * and what it recommends lies closer. Beside it, why a budget was changed. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(answer_estimate, .init = service_open, .fini = service_close);

static struct response *teacher_of(const char *policy, const char *mechanism, const char *adjacency)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{%s},\"adjacency\":{%s},\"budget\":"
                    "{\"epsilon\":8,\"delta\":1e-6},\"client_budget\":{\"epsilon\":4,"
                    "\"delta\":1e-6}}",
                    policy, mechanism, adjacency));
    expect_status(made, 201);
    return made;
}

static struct response *estimate(struct response *teacher, const char *body)
{
    struct response *r = fixture_post(
        f, "student",
        domain_path("/v1/teachers/%s/queries:estimate", response_text(teacher, "/id")), body);
    expect_status(r, 200);
    return r;
}

/* Closeness at both public policies together. */
static double distance(struct response *r, int which)
{
    const char *place = domain_path("/comparison/mechanisms/%d/expected_error", which);
    return response_number(r, domain_path("%s/uniform/l1", place)) +
           response_number(r, domain_path("%s/peaked/l1", place));
}

/* Holds for teachers of either kind of neighbours, and whatever their own mechanism. */
static void expect_true_of(const char *policy, const char *adjacency, struct response *r, int count)
{
    cr_expect_eq(response_number(r, "/comparison/answers"), count);
    bool first = distance(r, 0) < distance(r, 1);
    cr_expect_str_eq(response_text(r, "/comparison/recommended"),
                     first ? "dirichlet" : "gaussian_simplex");
    for (int i = 0; i < 2; i++) {
        const char *at = domain_path("/comparison/mechanisms/%d", i);
        cr_assert(json_is_true(response_at(r, domain_path("%s/possible", at))), "%s", r->body);
        const char *mechanism =
            i == 0 ? domain_path("\"name\":\"dirichlet\",\"min_probability\":0.1,"
                                 "\"concentration\":%.17g",
                                 response_number(r, domain_path("%s/mechanism/concentration", at)))
                   : domain_path("\"name\":\"gaussian_simplex\",\"sigma\":%.17g",
                                 response_number(r, domain_path("%s/mechanism/sigma", at)));
        struct response *made = teacher_of(policy, mechanism, adjacency);
        double answers = response_number(made, "/queries_in_client_budget");
        cr_expect_geq(answers, count);
        cr_expect_leq(answers, 1.02 * count + 1);
        cr_expect_eq(response_number(r, domain_path("%s/queries", at)), answers);
    }
}

Test(answer_estimate, teachers_of_observations)
{
    static const char adjacency[] = "\"unit\":\"observation\",\"radius\":0.01";
    const char *policy = domain_policy(f);
    struct response *dirichlet =
        teacher_of(policy, "\"concentration\":20,\"min_probability\":0.1", adjacency);
    struct response *r = estimate(dirichlet, "{\"count\":300}");
    expect_true_of(policy, adjacency, r, 300);
    cr_expect_eq(response_number(r, "/queries_in_budget"),
                 response_number(dirichlet, "/queries_in_client_budget"));
    struct response *gaussian =
        teacher_of(policy, "\"name\":\"gaussian_simplex\",\"sigma\":0.05", adjacency);
    expect_true_of(policy, adjacency, estimate(gaussian, "{\"count\":300}"), 300);
}

Test(answer_estimate, teachers_of_experts)
{
    const char *dataset = domain_sealed(f, "private", 8);
    struct response *job = domain_run(
        f, domain_path("{\"algorithm\":\"behaviour_cloning\",\"dataset\":\"%s\",\"shards\":900,"
                       "\"parameters\":{\"hidden\":[2],\"batch_size\":1,\"steps\":1}}",
                       dataset));
    const char *policy = response_text(job, "/policy");
    struct response *teacher =
        teacher_of(policy, "\"name\":\"gaussian_simplex\",\"sigma\":0.05", "\"unit\":\"expert\"");
    struct response *r = estimate(teacher, "{\"count\":500}");
    expect_true_of(policy, "\"unit\":\"expert\"", r, 500);
    cr_expect(json_is_true(response_at(r, "/feasible")));
    /* What the dataset cannot pay is not feasible, whatever the client's budget. */
    r = estimate(teacher, "{\"count\":1000000000,\"budget\":{\"epsilon\":1000000,\"delta\":0.1}}");
    cr_expect(json_is_false(response_at(r, "/feasible")));
}

Test(answer_estimate, a_larger_budget_buys_more_and_closer_ones)
{
    const char *policy = domain_policy(f);
    struct response *teacher = teacher_of(policy, "\"name\":\"gaussian_simplex\",\"sigma\":0.05",
                                          "\"unit\":\"observation\",\"radius\":0.01");
    struct response *little =
        estimate(teacher, "{\"count\":100,\"budget\":{\"epsilon\":0.5,\"delta\":1e-6}}");
    struct response *much =
        estimate(teacher, "{\"count\":100,\"budget\":{\"epsilon\":4,\"delta\":1e-6}}");
    cr_expect_lt(response_number(little, "/queries_in_budget"),
                 response_number(much, "/queries_in_budget"));
    cr_expect_gt(distance(little, 1), distance(much, 1));
    struct response *none =
        estimate(teacher, "{\"count\":1000000000,\"budget\":{\"epsilon\":1e-6,\"delta\":1e-9}}");
    cr_expect(json_is_null(response_at(none, "/comparison/recommended")), "%s", none->body);
    cr_expect(json_is_null(response_at(none, "/comparison/mechanisms/0/expected_error")));
    const char *path =
        domain_path("/v1/teachers/%s/queries:estimate", response_text(teacher, "/id"));
    expect_invalid(fixture_post(f, "student", path, "{\"count\":1,\"budget\":{\"epsilon\":1}}"),
                   "/budget/delta");
    expect_invalid(
        fixture_post(f, "student", path, "{\"count\":1,\"budget\":{\"epsilon\":1,\"delta\":0.7}}"),
        "/budget/delta");
}

Test(answer_estimate, jobs_with_shards_say_what_they_could_teach)
{
    const char *dataset = domain_sealed(f, "private", 8);
    double before = 0;
    for (int shards = 30; shards <= 3000; shards *= 10) {
        struct response *r = fixture_post(
            f, "steward", "/v1/jobs:estimate",
            domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":%d,\"parameters\":"
                        "{\"hidden\":[4],\"steps\":10}}",
                        dataset, shards));
        expect_status(r, 200);
        cr_expect(json_is_true(response_at(r, "/feasible")));
        cr_expect_eq(response_number(r, "/cost/epsilon"), 0);
        cr_expect_eq(response_number(r, "/plan/shards"), shards);
        cr_expect_eq(response_number(r, "/plan/total_steps"), 10 * shards);
        cr_expect_float_eq(response_number(r, "/plan/change"), 1.4142135623 / shards, 1e-9);
        cr_expect_eq(json_array_size(response_at(r, "/plan/teaching")), 3);
        double l1 = response_number(r, "/plan/teaching/1/mechanisms/1/expected_error/uniform/l1");
        cr_expect(shards == 30 || l1 < before, "more shards, closer answers");
        before = l1;
    }
}

/* The training costs nothing, so the job may run; but who asks is told what it would be good for.
 */
Test(answer_estimate, jobs_with_shards_on_a_spent_dataset_say_why_they_would_teach_nothing)
{
    const char *dataset = domain_sealed(f, "private", 20);
    (void)domain_run(f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"privacy\":"
                                    "{\"epsilon\":1,\"delta\":1e-5},\"parameters\":{\"hidden\":[4],"
                                    "\"batch_size\":2,\"steps\":10}}",
                                    dataset));
    cr_assert_eq(response_number(domain_budget(f, dataset), "/remaining/delta"), 0);
    struct response *r = fixture_post(
        f, "steward", "/v1/jobs:estimate",
        domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":30,\"parameters\":"
                    "{\"hidden\":[4],\"steps\":10}}",
                    dataset));
    expect_status(r, 200);
    cr_expect(json_is_true(response_at(r, "/feasible")));
    cr_expect_eq(json_array_size(response_at(r, "/plan/teaching")), 0);
    cr_expect_not_null(strstr(response_text(r, "/reason"), "budget is spent"), "%s", r->body);
}

/* ---- why */

static struct response *grant(const char *path, const char *body, const char *match)
{
    struct ask ask = {.method = "PUT",
                      .path = path,
                      .token = fixture_token(f, "steward"),
                      .body = body,
                      .headers = {{match == NULL ? NULL : "If-Match", match}}};
    return fixture_ask(f, &ask);
}

Test(answer_estimate, a_grant_says_who_and_why)
{
    struct response *teacher =
        teacher_of(domain_policy(f), "\"name\":\"gaussian_simplex\",\"sigma\":0.05",
                   "\"unit\":\"observation\",\"radius\":0.01");
    const char *path = domain_path("/v1/teachers/%s/budgets/%s", response_text(teacher, "/id"),
                                   fixture_client(f, "student"));
    struct response *made = grant(
        path, "{\"epsilon\":3,\"delta\":1e-6,\"reason\":\"Dr. \\u017di\\u017eek's \\\"term\\\"\"}",
        NULL);
    expect_status(made, 201);
    expect_status(grant(path, "{\"epsilon\":4,\"delta\":1e-6,\"reason\":\"more\"}", "\"1\""), 200);
    expect_status(grant(path, "{\"epsilon\":2.5,\"delta\":1e-6}", "\"2\""), 200);
    struct response *entries =
        fixture_get(f, "student",
                    domain_path("/v1/ledger/accounts/%s/entries", response_text(made, "/account")));
    expect_status(entries, 200);
    cr_expect_str_eq(response_text(entries, "/items/0/reason"), "Dr. Žižek's \"term\"");
    cr_expect_str_eq(response_text(entries, "/items/1/reason"), "more");
    cr_expect(json_is_null(response_at(entries, "/items/2/reason")));
    for (int i = 0; i < 3; i++) {
        cr_expect_str_eq(response_text(entries, domain_path("/items/%d/client", i)),
                         fixture_client(f, "steward"));
        cr_expect_eq(json_object_size(response_at(entries, domain_path("/items/%d/event", i))), 1);
    }
    static char longest[700] = "{\"epsilon\":1,\"delta\":1e-6,\"reason\":\"";
    memset(longest + strlen(longest), 'x', 501);
    strcat(longest, "\"}");
    expect_invalid(grant(path, longest, "\"3\""), "/reason");
    expect_invalid(grant(path, "{\"epsilon\":1,\"delta\":1e-6,\"reason\":\"\"}", "\"3\""),
                   "/reason");
    expect_invalid(grant(path, "{\"epsilon\":1,\"delta\":1e-6,\"reason\":\"a\\nb\"}", "\"3\""),
                   "/reason");
    expect_invalid(grant(path, "{\"epsilon\":1,\"delta\":1e-6,\"reason\":7}", "\"3\""), "/reason");
}
