/* Catalogue and refusals say enough to go on without a manual. */
#include <criterion/criterion.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "tests/unit/api/service.h"

TestSuite(words, .init = service_open, .fini = service_close);

#define expect_word(response, pointer, word)                                                       \
    cr_assert(strstr(response_text(response, pointer), word) != NULL, "%s", (response)->body)

Test(words, the_catalogue_of_algorithms_is_the_table_that_validates)
{
    struct response *r = fixture_get(f, "agent", "/v1/algorithms");
    expect_status(r, 200);
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    cr_assert_eq(json_array_size(response_at(r, "/items")), count);
    for (unsigned i = 0; i < count; i++) {
        json_t *item = json_array_get(response_at(r, "/items"), i);
        json_t *parameters = json_object_get(item, "parameters");
        cr_assert_str_eq(json_string_value(json_object_get(item, "name")), all[i]->name);
        cr_assert_eq(json_array_size(parameters), all[i]->parameter_count);
        for (unsigned p = 0; p < all[i]->parameter_count; p++) {
            json_t *one = json_array_get(parameters, p);
            const struct parameter_spec *spec = &all[i]->parameters[p];
            bool choice = parameters_is_choice(spec);
            bool each = spec->type == PARAMETER_REAL_EACH;
            bool list = parameters_most(spec->type) > 1 && !each;
            cr_expect_eq(json_is_true(json_object_get(one, "coordinates")), each);
            json_t *value = json_object_get(one, "default");
            cr_expect_str_eq(json_string_value(json_object_get(one, "name")), spec->name);
            cr_expect_eq(json_is_array(json_object_get(one, "choices")), choice);
            cr_expect_eq(json_is_number(json_object_get(one, "minimum")), !choice);
            cr_expect(choice ? json_is_string(value)
                             : json_is_array(value) == list && json_is_number(value) == !list);
        }
    }
}

Test(words, jobs_name_what_there_is)
{
    struct response *r =
        fixture_post(f, "steward", "/v1/jobs:estimate", "{\"algorithm\":\"sarsa\"}");
    expect_invalid(r, "/algorithm");
    expect_word(r, "/errors/0/detail", "\"cql\"");
    r = fixture_post(f, "steward", "/v1/jobs:estimate",
                     "{\"algorithm\":\"cql\",\"dataset\":\"ds_1\",\"mechanism\":\"dp-sgd\"}");
    expect_invalid(r, "/mechanism");
    expect_word(r, "/errors/0/detail", "did you mean \"dpsgd\"?");
    cr_assert_eq(json_array_size(response_at(r, "/errors")), 1, "%s", r->body);
    r = fixture_post(f, "steward", "/v1/jobs:estimate",
                     "{\"algorithm\":\"cql\",\"dataset\":\"ds_1\",\"mechanism\":\"none\","
                     "\"parameters\":{\"batchsize\":8}}");
    expect_invalid(r, "/parameters/batchsize");
    expect_word(r, "/errors/0/detail", "did you mean \"batch_size\"?");
    r = fixture_post(f, "steward", "/v1/jobs:estimate", "{\"algorithm\":\"behavior_cloning\"}");
    expect_invalid(r, "/algorithm");
    expect_word(r, "/errors/0/detail", "did you mean \"behaviour_cloning\"?");
}

Test(words, choices_queries_and_paths_say_what_was_meant)
{
    struct response *r =
        fixture_post(f, "admin", "/v1/clients", "{\"name\":\"n\",\"role\":\"studnet\"}");
    expect_invalid(r, "/role");
    expect_word(r, "/errors/0/detail", "did you mean \"student\"?");
    r = fixture_post(f, "admin", "/v1/clients", "{\"name\":\"n\",\"role\":\"colour\"}");
    expect_invalid(r, "/role");
    cr_expect_null(strstr(r->body, "did you mean"), "%s", r->body);
    r = fixture_get(f, "steward", "/v1/jobs?sate=failed");
    expect_problem(r, "validation");
    expect_word(r, "/errors/0/detail", "did you mean \"state\"?");
    r = fixture_get(f, "steward", "/v1/dataset/ds_1");
    expect_problem(r, "not-found");
    expect_word(r, "/detail", "did you mean /v1/datasets?");
    r = fixture_get(f, "steward", "/v1/jobs/job_1/nothing");
    expect_problem(r, "not-found");
    cr_expect_str_eq(response_text(r, "/detail"), "Nothing has this path.");
}

Test(words, refusals_name_roles_accounts_and_amounts)
{
    struct response *r = fixture_get(f, "student", "/v1/datasets");
    expect_problem(r, "forbidden");
    expect_word(r, "/detail", "student");
    expect_word(r, "/detail", "these may: steward, contributor.");
    const char *dataset = domain_sealed(f, "private", 10);
    r = fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 500, 20));
    expect_problem(r, "budget-exhausted");
    expect_word(r, "/detail", response_text(r, "/violated/0/account"));
    expect_word(r, "/detail", "left; this would cost epsilon");
}

#define LINE(member, state)                                                                        \
    "{\"expert\":\"a\",\"" member "\":[[0,0,0," state "],[1,0,0,0]],\"actions\":[1],"              \
    "\"rewards\":[1],\"terminated\":true,\"truncated\":false}\n"

Test(words, uploads_say_what_was_meant)
{
    const char *id = domain_dataset(f, "private");
    struct response *r = domain_upload(f, NULL, id, LINE("state", "0"), 0, NULL);
    expect_invalid(r, "/state");
    cr_assert(strstr(r->body, "did you mean \\\"states\\\"?") != NULL, "%s", r->body);
    r = domain_upload(f, NULL, id, LINE("states", "NaN"), 0, NULL);
    expect_problem(r, "validation");
    expect_word(r, "/errors/0/detail", "NaN and Infinity are not JSON");
    static const char *const compressed[] = {"\x1F\x8B\x08\n\n{\n[\n}\n",
                                             "\x28\xB5\x2F\xFD\n\n{\n"};
    for (size_t i = 0; i < 2; i++) {
        r = domain_upload(f, NULL, id, compressed[i], 0, NULL);
        expect_problem(r, "validation");
        cr_assert_eq(json_array_size(response_at(r, "/errors")), 1, "%s", r->body);
        expect_word(r, "/errors/0/detail", "Content-Encoding");
    }
    static const char *const others[][2] = {
        {"expert,state\n1,2\n3,4\n", "text/csv"},
        {"\"expert\",\"state\"\n1,2\n", "text/csv"},
        {"\x89HDF\r\n\x1A\n\n", "tacet import"},
        {"PK\x03\x04\n\n", "tacet import"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        r = domain_upload(f, NULL, id, others[i][0], 0, NULL);
        expect_problem(r, "validation");
        cr_assert_eq(json_array_size(response_at(r, "/errors")), 1, "%s", r->body);
        expect_word(r, "/errors/0/detail", others[i][1]);
    }
    expect_status(domain_upload(f, NULL, id, LINE("states", "0"), 0, NULL), 201);
}

/* A client's budget may exceed the teacher's: the smaller binds, and a refusal says what helps. */
Test(words, teachers_say_what_helps)
{
    const char *policy = domain_policy(f);
    expect_status(fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 2, 3)), 201);
    struct response *r =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 0.001, 1000));
    expect_invalid(r, "/budget/epsilon");
    expect_word(r, "/errors/0/detail", "a larger budget helps");
}
