/* The advisor over HTTP: ask it, take what it ranks first, and see what was taken. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/one_desk.h"

TestSuite(advise, .init = one_desk_open_data, .fini = one_desk_close);

static const char *advise_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static struct http_answer advise_now(void)
{
    char body[160];
    snprintf(body, sizeof body, "{\"dataset\":\"%s\",\"privacy\":{\"epsilon\":4,\"delta\":1e-6}}",
             desk_data);
    return desk_post(&desk, 200, "/v1/jobs:advise", body, NULL);
}

static void expect_unspent(void)
{
    cr_assert_eq(desk_epsilon(&desk, desk_data, "reserved"), 0);
    cr_assert_eq(desk_epsilon(&desk, desk_data, "spent"), 0);
}

Test(advise, auto_takes_what_is_advised_and_the_certificate_names_it)
{
    char body[400], path[96], policy[128];
    struct http_answer advice = advise_now();
    const json_t *list = json_object_get(advice.json, "candidates"), *best = NULL, *one;
    size_t i;
    json_array_foreach(list, i, one)
    {
        const json_t *job = json_object_get(one, "job");
        if (!best && strcmp(advise_text(job, "algorithm"), "behaviour_cloning") == 0)
            best = job;
    }
    cr_assert_not_null(best, "%s", advice.body);
    expect_unspent();
    snprintf(body, sizeof body,
             "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"auto\",\"dataset\":\"%s\","
             "\"privacy\":{\"epsilon\":4,\"delta\":1e-6},\"parameters\":{\"steps\":1000}}",
             desk_data);
    desk_submit(&desk, body, "auto-1", path);
    struct http_answer job = desk_wait(&desk, path);
    cr_assert_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    cr_assert_str_eq(http_text(&job, "mechanism"), advise_text(best, "mechanism"));
    snprintf(policy, sizeof policy, "/v1/policies/%s/certificate", http_text(&job, "policy"));
    struct http_answer certificate = desk_get(&desk, policy);
    char named[64];
    snprintf(named, sizeof named, "\"%s\"", advise_text(best, "mechanism"));
    cr_assert_not_null(strstr(certificate.body, named), "%s", certificate.body);
    cr_assert_null(strstr(certificate.body, "\"auto\""));
    http_answer_clear(&advice);
    http_answer_clear(&job);
    http_answer_clear(&certificate);
}

Test(advise, a_hopeless_plan_is_refused_and_nothing_is_spent)
{
    char body[400], path[96];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"epsilon\":0.05,\"delta\":1e-6}}",
             desk_data);
    struct http_answer refused = desk_post(&desk, 422, "/v1/jobs", body, "hopeless-1");
    cr_assert_str_eq(http_text(&refused, "type"), "/problems/hopeless-plan", "%s", refused.body);
    expect_unspent();
    http_answer_clear(&refused);
    snprintf(body, sizeof body,
             "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"epsilon\":0.05,\"delta\":1e-6,\"force\":true}}",
             desk_data);
    desk_submit(&desk, body, "hopeless-2", path);
    struct http_answer job = desk_wait(&desk, path);
    cr_assert_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    cr_assert_gt(desk_epsilon(&desk, desk_data, "spent"), 0);
    http_answer_clear(&job);
    desk_expect_whole_ledger(&desk);
}

/* The job of the first candidate, with "rehearse", as somebody would send it. */
static char *rehearsed_body(void)
{
    struct http_answer advice = advise_now();
    const json_t *first = json_array_get(json_object_get(advice.json, "candidates"), 0);
    json_t *job = json_deep_copy(json_object_get(first, "job"));
    json_t *parameters = json_object_get(job, "parameters");
    if (!parameters) {
        parameters = json_object();
        json_object_set_new(job, "parameters", parameters);
    }
    json_object_set_new(parameters, "steps", json_integer(500));
    json_object_set_new(job, "rehearse", json_true());
    char *text = json_dumps(job, JSON_COMPACT);
    cr_assert_not_null(text, "%s", advice.body);
    json_decref(job);
    http_answer_clear(&advice);
    return text;
}

Test(advise, a_candidate_is_rehearsed_for_nothing)
{
    char path[96];
    char *body = rehearsed_body();
    desk_submit(&desk, body, "rehearsal-1", path);
    struct http_answer job = desk_wait(&desk, path);
    cr_assert_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    const json_t *found = json_object_get(json_object_get(job.json, "findings"), "rehearsal");
    cr_assert_eq(json_array_size(json_object_get(found, "runs")), 3, "%s", job.body);
    cr_assert_str_not_empty(advise_text(found, "sentence"));
    cr_assert(json_is_null(json_object_get(job.json, "policy")));
    expect_unspent();
    desk_expect_whole_ledger(&desk);
    http_answer_clear(&job);
    free(body);
}
