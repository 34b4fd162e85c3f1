/* The other offline algorithms through the interface: their jobs, what their policies are, and who
 * may teach with them. */
#include <criterion/criterion.h>

#include "tests/unit/api/domain.h"

static struct response *trained(struct fixture *f, const char *algorithm, const char *more)
{
    const char *dataset = domain_sealed(f, "private", 4);
    return domain_run(
        f, domain_path("{\"algorithm\":\"%s\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
                       "\"privacy\":{\"epsilon\":3,\"delta\":1e-6},\"parameters\":{\"hidden\":[4],"
                       "\"batch_size\":2,\"steps\":20%s},\"evaluate\":{\"environment\":"
                       "\"cartpole\",\"episodes\":5,\"max_episode_steps\":20}}",
                       algorithm, dataset, more));
}

static struct response *teach(struct fixture *f, const char *policy)
{
    return fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 8, 2));
}

Test(offline_kinds, bcq_gives_one_network_of_two_heads)
{
    struct fixture *f = fixture_open();
    struct response *job = trained(f, "bcq", ",\"threshold\":0.25");
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
    struct response *refused = teach(f, policy);
    cr_expect_eq(refused->status, 422);
    cr_expect_not_null(strstr(refused->body, "bcq"), "%s", refused->body);
    fixture_close(f);
}

Test(offline_kinds, cloning_gives_a_policy_that_can_teach)
{
    struct fixture *f = fixture_open();
    struct response *job = trained(f, "behaviour_cloning", "");
    const char *policy = response_text(job, "/policy");
    struct response *weights =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy));
    cr_expect_str_eq(response_text(weights, "/output"), "softmax");
    expect_status(teach(f, policy), 201);
    fixture_close(f);
}

Test(offline_kinds, each_has_its_own_parameters)
{
    struct fixture *f = fixture_open();
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
    fixture_close(f);
}

/* A word that the warnings or assumptions of POLICY's certificate have, or not. */
static bool certificate_says(struct fixture *f, const char *policy, const char *word)
{
    struct response *r =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", policy));
    expect_status(r, 200);
    return strstr(r->body, word) != NULL;
}

Test(offline_kinds, certificate_names_the_arithmetic)
{
    struct fixture *f = fixture_open();
    struct response *real = trained(f, "cql", "");
    struct response *whole = trained(f, "bcq", ",\"arithmetic\":\"exact\"");
    const char *policy = response_text(real, "/policy");
    cr_expect(certificate_says(f, policy, "no theorem covers its last bits"));
    cr_expect_not(certificate_says(f, policy, "Exact arithmetic"));
    policy = response_text(whole, "/policy");
    cr_expect(certificate_says(f, policy, "Exact arithmetic"));
    cr_expect(certificate_says(f, policy, "Gaussian rounded to whole numbers"));
    cr_expect_not(certificate_says(f, policy, "no theorem covers its last bits"));
    fixture_close(f);
}
