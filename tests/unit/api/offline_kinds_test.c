/* The other offline algorithms through the interface: their jobs, what their policies are, and who
 * may teach with them. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(offline_kinds, .init = service_open, .fini = service_close);

static struct response *trained(const char *algorithm, const char *more)
{
    const char *dataset = domain_sealed(f, "private", 4);
    return domain_run(
        f, domain_path("{\"algorithm\":\"%s\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
                       "\"privacy\":{\"epsilon\":3,\"delta\":1e-6},\"parameters\":{\"hidden\":[4],"
                       "\"batch_size\":2,\"steps\":20%s},\"evaluate\":{\"environment\":"
                       "\"cartpole\",\"episodes\":5,\"max_episode_steps\":20}}",
                       algorithm, dataset, more));
}

static struct response *teach(const char *policy)
{
    return fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 8, 2));
}

Test(offline_kinds, bcq_gives_one_network_of_two_heads)
{
    struct response *job = trained("bcq", ",\"threshold\":0.25");
    const char *policy = response_text(job, "/policy");
    cr_expect_gt(response_number(job, "/evaluation/mean_return"), 0);
    struct response *weights =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy));
    expect_status(weights, 200);
    cr_expect_str_eq(response_text(weights, "/output"), "bcq");
    cr_expect_eq(response_number(weights, "/threshold"), 0.25);
    cr_expect_eq(json_array_size(response_at(weights, "/layers/1/bias")), 4);
    struct response *played =
        fixture_post(f, "steward", domain_path("/v1/policies/%s/actions", policy),
                     "{\"states\":[[0,0,0,0],[0.1,0,0,1]]}");
    expect_status(played, 200);
    cr_expect_eq(json_array_size(response_at(played, "/actions")), 2);
    cr_expect_eq(json_array_size(response_at(played, "/values/0")), 2, "one for each action");
    struct response *refused = teach(policy);
    cr_expect_eq(refused->status, 422);
    cr_expect_not_null(strstr(refused->body, "bcq"), "%s", refused->body);
}

Test(offline_kinds, cloning_gives_a_policy_that_can_teach)
{
    struct response *job = trained("behaviour_cloning", ",\"input_scale\":1");
    const char *policy = response_text(job, "/policy");
    struct response *weights =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy));
    cr_expect_str_eq(response_text(weights, "/output"), "softmax");
    expect_status(teach(policy), 201);
}

Test(offline_kinds, each_has_its_own_parameters)
{
    const char *dataset = domain_sealed(f, "public", 3);
    static const char *const cases[][2] = {
        {"\"behaviour_cloning\",\"parameters\":{\"alpha\":1}", "/parameters/alpha"},
        {"\"behaviour_cloning\",\"parameters\":{\"polyak_tau\":0.1}", "/parameters/polyak_tau"},
        {"\"bcq\",\"parameters\":{\"alpha\":1}", "/parameters/alpha"},
        {"\"bcq\",\"parameters\":{\"threshold\":1}", "/parameters/threshold"},
        {"\"cql\",\"parameters\":{\"threshold\":0.3}", "/parameters/threshold"},
        {"\"cql\",\"parameters\":{\"rate_schedule\":\"square\"}", "/parameters/rate_schedule"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *body = domain_path("{\"algorithm\":%s,\"mechanism\":\"none\",\"dataset\":"
                                       "\"%s\"}",
                                       cases[i][0], dataset);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), cases[i][1]);
    }
}

/* A word that the warnings or assumptions of POLICY's certificate have, or not. */
static bool certificate_says(const char *policy, const char *word)
{
    struct response *r =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", policy));
    expect_status(r, 200);
    return strstr(r->body, word) != NULL;
}

Test(offline_kinds, certificate_names_the_arithmetic)
{
    struct response *real = trained("cql", ",\"arithmetic\":\"float\"");
    struct response *whole = trained("bcq", "");
    const char *policy = response_text(real, "/policy");
    cr_expect(certificate_says(policy, "no theorem covers its last bits"));
    cr_expect_not(certificate_says(policy, "Exact arithmetic"));
    policy = response_text(whole, "/policy");
    cr_expect(certificate_says(policy, "Exact arithmetic"));
    cr_expect(certificate_says(policy, "Gaussian rounded to whole numbers"));
    cr_expect_not(certificate_says(policy, "no theorem covers its last bits"));
}

/* The event of the last entry of DATASET's account, as text. */
static char *last_event(const char *dataset)
{
    struct response *budget =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", dataset));
    struct response *entries = fixture_get(
        f, "auditor",
        domain_path("/v1/ledger/accounts/%s/entries", response_text(budget, "/account")));
    json_t *items = response_at(entries, "/items");
    json_t *last = json_array_get(items, json_array_size(items) - 1);
    return json_dumps(json_object_get(last, "event"), JSON_COMPACT);
}

/* Stable prefixes, then steps in whole numbers: both are certified, and the ledger's event has the
 * table's price, so that whoever composes it finds what was charged. */
Test(offline_kinds, exact_arithmetic_goes_with_a_first_stage, .timeout = 600)
{
    static const char *const first[] = {
        ("\"selective_dpsgd\",\"privacy\":{\"epsilon\":14,\"delta\":1e-3,\"plain_share\":0.5,"
         "\"stable\":{\"count\":1}}"),
        "\"dpsgd\",\"privacy\":{\"epsilon\":10,\"delta\":1e-3}",
        "\"consensus\",\"privacy\":{\"epsilon\":5,\"delta\":1e-3,\"consensus\":{\"labels\":40}}"};
    const char *id = domain_crowd(f, 40, true);
    for (int i = 0; i < 3; i++) {
        struct response *job =
            domain_run(f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"parameters\":"
                                      "{\"hidden\":[4],\"batch_size\":4,\"steps\":60,"
                                      "\"arithmetic\":\"exact\"},\"mechanism\":%s}",
                                      id, first[i]));
        const char *policy = response_text(job, "/policy");
        double paid = response_number(job, "/privacy/spent/epsilon");
        bool noisy = i < 2; /* consensus has plain steps alone */
        cr_expect_eq(certificate_says(policy, "Gaussian rounded to whole numbers"), noisy);
        cr_expect_not(certificate_says(policy, "no theorem covers its last bits"));
        char *event = last_event(id);
        if (i == 1)
            cr_expect_not_null(strstr(event, "EpsilonDeltaDpEvent"), "%s", event);
        struct response *cost = fixture_post(f, "auditor", "/v1/accounting:compose",
                                             domain_path("{\"events\":%s,\"delta\":1e-3}", event));
        expect_status(cost, 200);
        cr_expect_float_eq(response_number(cost, "/epsilon"), paid, 2e-3 * paid, "%s of %g",
                           cost->body, paid);
        free(event);
    }
}

/* What the first stage released starts all three alike, and each is paid for whole. */
Test(offline_kinds, every_algorithm_learns_from_both_first_stages, .timeout = 600)
{
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    static const char *const mechanisms[] = {
        "\"selective_dpsgd\",\"privacy\":{\"epsilon\":40,\"delta\":1e-3,\"plain_share\":0.5,"
        "\"stable_share\":0.6,\"stable_delta_share\":0.8,\"stable\":{\"count\":3}}",
        "\"consensus\",\"privacy\":{\"epsilon\":5,\"delta\":1e-3,\"consensus\":{\"labels\":60,"
        "\"rounds\":2}}"};
    const char *id = domain_crowd(f, 40, true);
    for (int i = 0; i < 6; i++) {
        struct response *job = domain_run(
            f, domain_path("{\"algorithm\":\"%s\",\"dataset\":\"%s\",\"parameters\":{\"hidden\":"
                           "[8,8],\"batch_size\":4,\"steps\":60},\"mechanism\":%s,\"evaluate\":{"
                           "\"environment\":\"cartpole\",\"episodes\":5,\"max_episode_steps\":20}}",
                           algorithms[i % 3], id, mechanisms[i / 3]));
        double paid = response_number(job, "/privacy/spent/epsilon");
        cr_expect(i < 3 ? paid > 39 && paid <= 40 : paid > 4.99 && paid <= 5, "%g", paid);
        cr_expect_gt(response_number(job, "/evaluation/mean_return"), 0);
        struct response *certificate =
            fixture_get(f, "steward",
                        domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
        expect_status(certificate, 200);
        cr_expect_not_null(
            response_at(certificate, i < 3 ? "/plan/stable/threshold" : "/plan/consensus/noise"));
    }
}
