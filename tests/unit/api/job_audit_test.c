/* A training that names an audit: its certificate shows what was attacked and found, and nothing
 * but a finished audit of such a training is taken. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "storage/digests.h"
#include "tests/unit/api/service.h"

TestSuite(job_audit, .init = service_open, .fini = service_close);

/* A job on DATASET with one member, or several, more. */
static const char *job_with(const char *dataset, const char *members)
{
    const char *body = domain_private_job(dataset, 3, 20);
    return domain_path("%.*s%s}", (int)strlen(body) - 1, body, members);
}

static const char *naming(const char *audit)
{
    return domain_path(",\"audit\":\"%s\"", audit);
}

/* What the noise of such a job is. */
static double noise_of(const char *dataset)
{
    struct response *r =
        fixture_post(f, "steward", "/v1/jobs:estimate", domain_private_job(dataset, 3, 20));
    expect_status(r, 200);
    return response_number(r, "/plan/noise_multiplier");
}

static const char *attack(const char *audited, double noise, const char *more)
{
    return domain_path("{\"algorithm\":\"audit\",\"parameters\":{\"audited\":\"%s\",\"steps\":2,"
                       "\"noise_multiplier\":%.4g,%s}}",
                       audited, noise, more);
}

#define ONE_RUN    "\"method\":\"one_run\",\"canaries\":40,\"batch_size\":10,\"trainings\":2"
#define TWO_WORLDS "\"runs\":20,\"experts\":5"

static const char *audit(const char *body)
{
    return response_text(domain_run(f, body), "/id");
}

static struct response *certificate_of(const struct response *job)
{
    struct response *r = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    expect_status(r, 200);
    cr_assert(certificate_check(r->body, fixture_app(f)->public_key));
    return r;
}

static void expect_figures(struct response *audited, struct response *certificate, double noise,
                           double rate, double canaries, double trainings)
{
    cr_expect_str_eq(response_text(certificate, "/audited/job"), response_text(audited, "/id"));
    cr_expect_str_eq(response_text(certificate, "/audited/finished_at"),
                     response_text(audited, "/finished_at"));
    cr_expect_str_eq(response_text(certificate, "/audited/algorithm"), "cql");
    cr_expect_str_eq(response_text(certificate, "/audited/arithmetic"), "exact");
    cr_expect_float_eq(response_number(certificate, "/audited/noise_multiplier"), noise, 1e-2);
    cr_expect_eq(response_number(certificate, "/audited/steps"), 2);
    cr_expect_eq(response_number(certificate, "/audited/sampling_rate"), rate);
    cr_expect_eq(response_number(certificate, "/audited/canaries"), canaries);
    cr_expect_eq(response_number(certificate, "/audited/trainings"), trainings);
    cr_expect_eq(response_number(certificate, "/audited/confidence"), 1 - 1e-6);
    static const char *const found[] = {"epsilon_shown", "epsilon_certified", "delta"};
    for (int i = 0; i < 3; i++)
        cr_expect_eq(response_number(certificate, domain_path("/audited/%s", found[i])),
                     response_number(audited, domain_path("/findings/%s", found[i])), "%s",
                     found[i]);
    cr_expect(strstr(response_text(certificate, "/audited/meaning"), "proves no guarantee"));
}

Test(job_audit, its_certificate_shows_what_was_attacked_and_found)
{
    const char *dataset = domain_sealed(f, "private", 10);
    double noise = noise_of(dataset);
    struct response *one_run = domain_run(f, attack("cql", noise, ONE_RUN)),
                    *two_worlds = domain_run(f, attack("cql", noise, TWO_WORLDS));
    struct response *job = domain_run(f, job_with(dataset, naming(response_text(one_run, "/id"))));
    cr_expect(strstr(response_text(job, "/notes/0"), response_text(one_run, "/id")));
    struct response *certificate = certificate_of(job);
    cr_expect_str_eq(response_text(certificate, "/audited/method"), "one_run");
    expect_figures(one_run, certificate, noise, 0.25, 40, 2);
    char *at = strstr(certificate->body, "\"canaries\":40"); /* it is signed, too */
    at[strlen("\"canaries\":")] = '9';
    cr_expect_not(certificate_check(certificate->body, fixture_app(f)->public_key));
    cr_expect_leq(domain_spent(f, dataset), 3);

    job = domain_run(f, job_with(dataset, naming(response_text(two_worlds, "/id"))));
    certificate = certificate_of(job);
    cr_expect_str_eq(response_text(certificate, "/audited/method"), "two_worlds");
    expect_figures(two_worlds, certificate, noise, 0.2, 1, 40);

    /* Without an audit there is no such member, and every other is there. */
    struct response *bare = certificate_of(domain_run(f, job_with(dataset, "")));
    const char *name;
    json_t *value;
    json_object_foreach(certificate->json, name, value) cr_expect_eq(
        json_object_get(bare->json, name) != NULL, strcmp(name, "audited") != 0, "%s", name);
    cr_expect_eq(json_object_size(bare->json) + 1, json_object_size(certificate->json));
}

/* Names AUDIT in a job, which must be refused with a detail that has WHY. */
static void expect_refused(const char *body, const char *why)
{
    struct response *r = fixture_post(f, "steward", "/v1/jobs", body);
    expect_invalid(r, "/audit");
    cr_expect(strstr(r->body, why), "%s: %s", why, r->body);
}

Test(job_audit, refuses_audits_that_say_nothing_about_the_training)
{
    const char *id = domain_sealed(f, "private", 10);
    double noise = noise_of(id);
    const char *good = audit(attack("cql", noise, ONE_RUN));
    const char *const cases[][2] = {
        {audit(attack("bcq", noise, ONE_RUN)), "another algorithm"},
        {audit(attack("cql", 1.1 * noise, ONE_RUN)), "another noise"},
        {audit(attack("cql", 0.9 * noise, TWO_WORLDS)), "another noise"},
        {audit(attack("cql", noise, ONE_RUN ",\"broken\":\"clip\"")), "on purpose"},
        {audit(attack("cql", noise, ONE_RUN ",\"arithmetic\":\"float\"")), "in float"},
        {response_text(fixture_post(f, "steward", "/v1/jobs", attack("cql", noise, ONE_RUN)),
                       "/id"),
         "must have succeeded"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(job_with(id, naming(cases[i][0])), cases[i][1]);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *trained = domain_run(f, job_with(id, naming(good)));
    expect_refused(job_with(id, naming(response_text(trained, "/id"))), "of algorithm audit");

    /* Trainings that no audit attacks. */
    char body[2048];
    snprintf(body, sizeof body, "%s", job_with(id, naming(good)));
    memcpy(strstr(body, "\"steps\":20"), "\"steps\":9 ", strlen("\"steps\":20"));
    expect_refused(body, "another noise");
    const char *rest = strstr(body, "\"hidden\"");
    expect_refused(domain_path("%.*s\"arithmetic\":\"float\",%s", (int)(rest - body), body, rest),
                   "arithmetic");
    expect_refused(
        job_with(id, domain_path("%s,\"sweep\":{\"learning_rate\":[0.1,0.2]}", naming(good))),
        "no sweep");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                domain_path("{\"algorithm\":\"audit\"%s}", naming(good))),
                   "/audit");
    /* Audits from before there was a choice attacked trainings in float. */
    static const char older[] =
        "UPDATE jobs SET plan = json_remove(plan, '$.parameters.arithmetic') "
        "WHERE algorithm = 'audit'";
    static const char refuted[] = "UPDATE jobs SET findings = '{\"epsilon_certified\":1,"
                                  "\"epsilon_shown\":2}' WHERE algorithm = 'audit'";
    cr_assert_eq(db_run(fixture_db(f), refuted, NULL, 0, NULL, NULL), DB_OK);
    expect_refused(job_with(id, naming(good)), "tell its operator");
    domain_rewrite(f, &jobs_table, older);
    expect_refused(job_with(id, naming(good)), "in float");
}

Test(job_audit, refuses_audits_that_are_not_the_caller_s)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made = fixture_ask(
        f, &(struct ask){.method = "POST",
                         .path = "/v1/jobs",
                         .token = (fixture_token(f, "steward"), fixture_new_token(f, "steward")),
                         .key = "k",
                         .body = attack("cql", noise_of(id), ONE_RUN)});
    expect_status(made, 202);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    const char *const unknown[] = {response_text(made, "/id"), "job_nobody"};
    for (int i = 0; i < 2; i++)
        expect_problem(fixture_post(f, "steward", "/v1/jobs", job_with(id, naming(unknown[i]))),
                       "not-found");
    cr_expect_eq(domain_spent(f, id), 0);
}
