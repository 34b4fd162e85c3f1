/* Names stand beside ids where a person reads, for those who may see the thing. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

TestSuite(names, .init = service_open, .fini = service_close);

static const char *text_of(const char *role, const char *path, const char *pointer)
{
    return response_text(fixture_get(f, role, path), pointer);
}

static bool is_null(const struct response *r, const char *pointer)
{
    return json_is_null(response_at(r, pointer));
}

#define WARD(epsilon)                                                                              \
    "{\"name\":\"the ward\",\"environment\":\"cartpole\",\"sensitivity\":\"private\","             \
    "\"min_action_probability\":0.4,\"budget\":{\"epsilon\":" epsilon ",\"delta\":1e-5}}"

CHECKED_TEST(names, a_converted_account_is_its_datasets)
{
    const char *dataset = domain_sealed_of(f, WARD("8"), 4);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:compose", dataset), "{}"),
                  200);
    struct response *list = fixture_get(f, "steward", "/v1/ledger/accounts");
    for (int i = 0; i < 2; i++) {
        cr_expect_str_eq(response_text(list, domain_path("/items/%d/resource", i)), dataset);
        cr_expect_str_eq(response_text(list, domain_path("/items/%d/resource_name", i)),
                         "the ward");
    }
    int new = is_null(list, "/items/0/continues") ? 1 : 0; /* both are of the same moment */
    cr_expect(is_null(list, domain_path("/items/%d/continues", 1 - new)));
    cr_expect_str_eq(response_text(list, domain_path("/items/%d/continues", new)),
                     response_text(list, domain_path("/items/%d/account", 1 - new)));
    struct response *refused =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1000, 20));
    expect_problem(refused, "budget-exhausted");
    cr_expect_str_eq(response_text(refused, "/accounts/0/resource"), dataset);
    cr_expect_str_eq(response_text(refused, "/accounts/0/name"), "the ward");
}

CHECKED_TEST(names, a_student_learns_nothing_of_the_dataset_behind_a_refusal)
{
    const char *dataset = domain_path("%s", domain_sealed_of(f, WARD("110"), 12));
    struct response *job = domain_run(
        f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":50,\"parameters\":"
                       "{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                       dataset));
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":"
                    "0.1},\"adjacency\":{\"unit\":\"expert\"},\"budget\":{\"epsilon\":1000,"
                    "\"delta\":1e-6},\"client_budget\":{\"epsilon\":1000,\"delta\":1e-6}}",
                    response_text(job, "/policy")));
    expect_status(made, 201);
    cr_expect_str_eq(response_text(made, "/dataset_name"), "the ward");
    cr_expect_neq(response_text(made, "/policy_name")[0], '\0');
    const char *teacher = response_text(made, "/id");
    struct response *shown = fixture_get(f, "student", domain_path("/v1/teachers/%s", teacher));
    cr_expect_null(strstr(shown->body, dataset));
    cr_expect_null(strstr(shown->body, "the ward"));
    const char *queries = domain_path("/v1/teachers/%s/queries", teacher);
    struct response *told;
    do
        told = fixture_post(f, "student", queries,
                            "{\"states\":[[0,0,0,0],[0,0,0,1],[0,0,0,2],[0,0,0,3]]}");
    while (told->status == 200);
    expect_problem(told, "budget-exhausted");
    cr_expect_str_eq(response_text(told, "/accounts/0/kind"), "dataset");
    cr_expect(is_null(told, "/accounts/0/resource"), "%s", told->body);
    cr_expect_null(strstr(told->body, dataset));
    cr_expect_null(strstr(told->body, "the ward"));
    struct response *own = fixture_get(f, "student", "/v1/ledger/accounts");
    cr_expect_str_eq(response_text(own, "/items/0/resource"), teacher);
    cr_expect_str_eq(response_text(own, "/items/0/resource_name"), response_text(made, "/name"));
    cr_expect_str_eq(response_text(own, "/items/0/client_name"), "student");
}

/* The body of a teacher of POLICY that is called NAME, a JSON text. */
static const char *named_teacher(const char *policy, const char *name)
{
    return domain_path("{\"name\":%s,%s", name, domain_teacher(policy, 8, 2) + 1);
}

CHECKED_TEST(names, of_a_teacher_are_for_all_who_may_ask_it)
{
    const char *policy = domain_policy(f);
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", named_teacher(policy, "\"caf\u00e9 <b>1</b>\""));
    expect_status(made, 201);
    const char *teacher = response_text(made, "/id");
    const char *path = domain_path("/v1/teachers/%s", teacher);
    static const char name[] = "caf\u00e9 <b>1</b>";
    cr_expect_str_eq(response_text(made, "/name"), name);
    cr_expect_str_eq(text_of("student", path, "/name"), name);
    cr_expect_str_eq(text_of("student", "/v1/teachers", "/items/0/name"), name);
    cr_expect(is_null(fixture_get(f, "student", path), "/policy_name"));
    expect_status(
        fixture_post(f, "student", domain_path("%s/queries", path), "{\"state\":[0,0,0,0]}"), 200);
    cr_expect_str_eq(text_of("student", "/v1/ledger/accounts", "/items/0/resource_name"), name);
    expect_status(fixture_post(f, "student", "/v1/budget-requests",
                               domain_path("{\"teacher\":\"%s\",\"epsilon\":3,\"delta\":1e-5,"
                                           "\"reason\":\"r\"}",
                                           teacher)),
                  201);
    cr_expect_str_eq(text_of("student", "/v1/budget-requests", "/items/0/teacher_name"), name);
}

CHECKED_TEST(names, a_teacher_without_one_gets_one_that_everybody_sees)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", named_teacher(domain_policy(f), "null"));
    expect_status(made, 201);
    const char *id = response_text(made, "/id"), *path = domain_path("/v1/teachers/%s", id);
    const char *name = domain_path("teacher %s", id + strlen(id) - 4);
    cr_expect_str_eq(text_of("steward", path, "/name"), name);
    cr_expect_str_eq(text_of("student", path, "/name"), name);
    cr_expect_str_eq(text_of("steward", "/v1/ledger/accounts", "/items/0/resource_name"), name);
}

CHECKED_TEST(names, of_a_teacher_have_a_size_and_no_control_characters)
{
    static const char *const wrong[] = {"\"\"", "7", "[\"a\"]", "\"a\\nb\"", "\"\\u0000\""};
    const char *policy = domain_policy(f);
    char longest[210];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct response *refused =
            fixture_post(f, "steward", "/v1/teachers", named_teacher(policy, wrong[i]));
        cr_expect_eq(refused->status / 100, 4, "%s: %s", wrong[i], refused->body);
    }
    for (int size = 200; size <= 201; size++) {
        snprintf(longest, sizeof longest, "\"%0*d\"", size, 7);
        expect_status(fixture_post(f, "steward", "/v1/teachers", named_teacher(policy, longest)),
                      size == 200 ? 201 : 422);
    }
    struct response *list = fixture_get(f, "steward", "/v1/teachers");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 1);
}

CHECKED_TEST(names, stand_beside_ids_for_the_owner)
{
    const char *dataset = domain_path("%s", domain_sealed_of(f, WARD("110"), 12));
    struct response *job = domain_run(f, domain_private_job(dataset, 2, 20));
    cr_expect_str_eq(response_text(job, "/dataset_name"), "the ward");
    const char *policy = domain_path("/v1/policies/%s", response_text(job, "/policy"));
    cr_expect_str_eq(response_text(job, "/policy_name"), text_of("steward", policy, "/name"));
    cr_expect_str_eq(text_of("steward", policy, "/dataset_name"), "the ward");
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 8, 2));
    expect_status(made, 201);
    cr_expect_str_eq(response_text(made, "/policy_name"), "p");
    const char *teacher = response_text(made, "/id");
    expect_status(fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", teacher),
                               "{\"state\":[0,0,0,0]}"),
                  200);
    const char *budget =
        domain_path("/v1/teachers/%s/budgets/%s", teacher, fixture_client(f, "student"));
    cr_expect_str_eq(text_of("steward", budget, "/client_name"), "student");
    struct response *asked = fixture_post(
        f, "student", "/v1/budget-requests",
        domain_path("{\"teacher\":\"%s\",\"epsilon\":3,\"delta\":1e-5,\"reason\":\"r\"}", teacher));
    expect_status(asked, 201);
    cr_expect_str_eq(response_text(asked, "/teacher_name"), response_text(made, "/name"));
    struct response *seen = fixture_get(f, "steward", "/v1/budget-requests");
    cr_expect_str_eq(response_text(seen, "/items/0/client_name"), "student");
    cr_expect_str_eq(response_text(seen, "/items/0/teacher_name"), response_text(made, "/name"));
    const char *account =
        domain_path("/v1/ledger/accounts/%s/entries",
                    text_of("steward", domain_path("/v1/teachers/%s", teacher), "/account"));
    cr_expect_str_eq(text_of("steward", account, "/items/1/client_name"), "student");
}
