/* Signed certificates: canonical bytes, a signature that anyone can check, and no change unseen. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/jobs/run/job_certificate.h"
#include "api/json/json_text.h"
#include "tests/unit/api/service.h"

TestSuite(certificate, .init = service_open, .fini = service_close);

static const char *facts =
    "{\"unit\":\"expert\",\"epsilon\":10.0,\"delta\":1e-5,\"plan\":{\"steps\":"
    "3000,\"noise_multiplier\":1.25},\"assumptions\":[\"a\",\"b\"]}";

Test(certificate, is_canonical_and_signed)
{
    json_t *plain = json_loads(facts, 0, NULL);
    char *text = fixture_sign(f, plain);
    cr_assert(text != NULL);
    cr_expect(json_object_get(plain, "signature") == NULL, "the caller's object is left alone");
    const char *want = "{\"assumptions\":[\"a\",\"b\"],\"delta\":0.00001,\"epsilon\":10,\"plan\":{"
                       "\"noise_multiplier\":1.25,\"steps\":3000},\"signature\":{\"algorithm\":"
                       "\"Ed25519\",\"key_id\":";
    cr_expect(strncmp(text, want, strlen(want)) == 0, "%s", text);
    cr_expect(certificate_check(text, fixture_app(f)->public_key));
    free(text);
    json_decref(plain);
}

Test(certificate, the_key_set_checks_it_without_us)
{
    struct response *keys = fixture_get(f, NULL, "/.well-known/jwks.json");
    expect_status(keys, 200);
    cr_expect_str_eq(response_text(keys, "/keys/0/kty"), "OKP");
    cr_expect_str_eq(response_text(keys, "/keys/0/crv"), "Ed25519");
    const char *x = response_text(keys, "/keys/0/x");
    unsigned char key[crypto_sign_PUBLICKEYBYTES];
    size_t length;
    cr_assert_eq(sodium_base642bin(key, sizeof key, x, strlen(x), NULL, &length, NULL,
                                   sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                 0);
    cr_assert_eq(length, sizeof key);
    json_t *plain = json_loads(facts, 0, NULL);
    char *text = fixture_sign(f, plain);
    cr_expect(certificate_check(text, key));
    json_t *whole = json_loads(text, 0, NULL);
    const char *id =
        json_string_value(json_object_get(json_object_get(whole, "signature"), "key_id"));
    cr_expect_str_eq(id, response_text(keys, "/keys/0/kid"));
    json_decref(whole);
    free(text);
    json_decref(plain);
}

Test(certificate, any_change_is_seen)
{
    json_t *plain = json_loads(facts, 0, NULL);
    char *text = fixture_sign(f, plain);
    const unsigned char *key = fixture_app(f)->public_key;
    const char *edits[][2] = {{"\"epsilon\":10", "\"epsilon\":1"},
                              {"expert", "agents"},
                              {"1.25", "9.25"},
                              {"\"a\"", "\"c\""}};
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        char changed[1024];
        char *at = strstr(text, edits[i][0]);
        cr_assert(at != NULL);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, edits[i][1],
                 at + strlen(edits[i][0]));
        cr_expect(!certificate_check(changed, key), "%s", changed);
    }
    unsigned char other[32];
    memcpy(other, key, sizeof other);
    other[0] ^= 1;
    cr_expect(!certificate_check(text, other));
    const char *none[] = {"", "{}", "[]", "{\"signature\":3}",
                          "{\"signature\":{\"value\":\"AA\"}}"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        cr_expect(!certificate_check(none[i], key), "%s", none[i]);
    free(text);
    json_decref(plain);
}

/* The warnings of a certificate of cql that ACCOUNT ("": none) paid for; a new reference. */
static json_t *warnings_paid(bool injected_noise, const char *account)
{
    const struct algorithm *cql = algorithm_find("cql");
    struct job_plan plan = {.algorithm = cql,
                            .request = {.mechanism = MECHANISM_DPSGD},
                            .plan = {.privacy = {.steps = 1, .noise_multiplier = 1.0}}};
    parameters_defaults(cql->parameters, cql->parameter_count, &plan.request.parameters);
    struct job_row job = {
        .id = "job_1", .dataset = "dst_1", .algorithm = "cql", .mechanism = "dpsgd"};
    snprintf(job.account, sizeof job.account, "%s", account);
    const struct job_certificate what = {.id = "crt_1",
                                         .subject = "policy",
                                         .subject_id = "pol_1",
                                         .injected_noise = injected_noise,
                                         .now_ms = 1000};
    char *text = job_certificate(fixture_app(f), fixture_db(f), &job, &plan, &what);
    cr_assert(text != NULL && certificate_check(text, fixture_app(f)->public_key));
    json_t *certificate = json_loads(text, 0, NULL);
    json_t *all = json_incref(json_object_get(certificate, "warnings"));
    json_decref(certificate);
    free(text);
    return all;
}

static json_t *warnings(bool injected_noise)
{
    return warnings_paid(injected_noise, "acc_1");
}

static bool has_warning(const json_t *warnings, const char *words)
{
    size_t i;
    const json_t *warning;
    json_array_foreach(warnings, i,
                       warning) if (strstr(json_string_value(warning), words)) return true;
    return false;
}

/* Public data need no budget; then nothing is charged. */
Test(certificate, says_that_jobs_are_charged_where_an_account_pays)
{
    json_t *paid = warnings_paid(false, "acc_1"), *unpaid = warnings_paid(false, "");
    cr_expect(has_warning(paid, "has a mechanism is charged"));
    cr_expect_not(has_warning(paid, "No account was debited"));
    cr_expect_not(has_warning(unpaid, "is charged"));
    cr_expect(has_warning(unpaid, "No account was debited"));
    json_decref(paid);
    json_decref(unpaid);
}

Test(certificate, tells_of_noise_that_can_be_repeated)
{
    json_t *usual = warnings(false), *injected = warnings(true);
    cr_assert_gt(json_array_size(usual), 0);
    cr_assert_eq(json_array_size(injected), json_array_size(usual) + 1);
    const char *first = json_string_value(json_array_get(injected, 0));
    cr_assert(first != NULL && strncmp(first, "NOT PRIVATE", 11) == 0);
    cr_assert(strstr(json_string_value(json_array_get(usual, 0)), "NOT PRIVATE") == NULL);
    json_decref(usual);
    json_decref(injected);
}
