/* Jobs in two stages over the API: what is refused and where, what they cost, what they leave. */
#include <criterion/criterion.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "storage/digests.h"
#include "storage/jobs.h"
#include "tests/unit/api/service.h"

TestSuite(job_stage, .init = service_open, .fini = service_close);

enum { EXPERTS = 40 };

/* In float: the epsilons here are larger than exact arithmetic can certify. */
#define SMALL                                                                                      \
    "\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"arithmetic\":\"float\",\"steps\":%u}"

static const char *selective(const char *dataset, double epsilon, unsigned steps, const char *more)
{
    return domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"selective_dpsgd\",\"dataset\":"
                       "\"%s\",\"privacy\":{\"epsilon\":%g,\"delta\":1e-3,\"plain_share\":0.5,"
                       "\"stable\":{\"count\":5%s}}," SMALL "}",
                       dataset, epsilon, more, steps);
}

static const char *consensus(const char *dataset, double epsilon, unsigned labels, unsigned steps)
{
    return domain_path("{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"consensus\","
                       "\"dataset\":\"%s\",\"privacy\":{\"epsilon\":%g,\"delta\":1e-3,"
                       "\"consensus\":{\"labels\":%u}}," SMALL "}",
                       dataset, epsilon, labels, steps);
}

static struct response *certificate_of(const struct response *job)
{
    struct response *certificate = fixture_get(
        f, "auditor", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    expect_status(certificate, 200);
    cr_assert(certificate_check(certificate->body, fixture_app(f)->public_key));
    return certificate;
}

/* ---- what is refused */

#define JOB(mechanism, privacy)                                                                    \
    "{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"mechanism\":\"" mechanism "\",\"privacy\":"       \
    "{\"epsilon\":50,\"delta\":1e-3" privacy "}}"

Test(job_stage, bad_requests_name_what_is_bad)
{
    static const char *const cases[][2] = {
        {JOB("selective_dpsgd", ",\"stable\":{\"source\":\"magic\"}"), "/privacy/stable/source"},
        {JOB("selective_dpsgd", ",\"stable\":{\"count\":0}"), "/privacy/stable/count"},
        {JOB("selective_dpsgd", ",\"stable\":{\"max_length\":0}"), "/privacy/stable/max_length"},
        {JOB("selective_dpsgd", ",\"stable\":{\"accounting\":\"kind\"}"),
         "/privacy/stable/accounting"},
        {JOB("selective_dpsgd", ",\"stable\":{\"temperature\":1}"), "/privacy/stable/temperature"},
        {JOB("selective_dpsgd", ",\"stable_share\":0"), "/privacy/stable_share"},
        {JOB("selective_dpsgd", ",\"stable_share\":1.5"), "/privacy/stable_share"},
        {JOB("selective_dpsgd", ",\"stable_delta_share\":\"most\""), "/privacy/stable_delta_share"},
        {JOB("selective_dpsgd", ",\"plain_share\":0"), "/privacy/plain_share"},
        {JOB("selective_dpsgd", ",\"plain_share\":1.1"), "/privacy/plain_share"},
        {JOB("selective_dpsgd", ",\"consensus\":{}"), "/privacy/consensus"},
        {JOB("selective_dpsgd", ",\"stable\":{\"source\":\"logged\"}"),
         "/privacy/stable/i_understand"},
        {JOB("selective_dpsgd", ",\"stable\":{\"source\":\"logged\",\"i_understand\":\"yes\"}"),
         "/privacy/stable/i_understand"},
        {JOB("selective_dpsgd", ",\"stable\":{\"i_understand\":\"policies_only\"}"),
         "/privacy/stable/i_understand"},
        {JOB("selective_dpsgd", ",\"stable\":{\"source\":\"logged\",\"i_understand\":"
                                "\"policies_only\",\"max_length\":29}"),
         "/privacy/stable/max_length"},
        {JOB("selective_dpsgd", ",\"stable\":{\"source\":\"logged\",\"i_understand\":"
                                "\"policies_only\"}"),
         "/privacy/stable/source"},
        {JOB("consensus", ",\"consensus\":{\"labels\":0}"), "/privacy/consensus/labels"},
        {JOB("consensus", ",\"consensus\":{\"explore\":1}"), "/privacy/consensus/explore"},
        {JOB("consensus", ",\"consensus\":{\"states\":9}"), "/privacy/consensus/states"},
        {JOB("consensus", ",\"consensus\":{\"skill\":{\"low\":0}}"),
         "/privacy/consensus/skill/high"},
        {JOB("consensus", ",\"consensus\":{\"skill\":{\"low\":5,\"high\":5}}"),
         "/privacy/consensus/skill/high"},
        {JOB("consensus", ",\"consensus\":{\"skill\":{\"low\":0,\"high\":5,\"episodes\":17}}"),
         "/privacy/consensus/skill/episodes"},
        {JOB("consensus", ",\"stable\":{}"), "/privacy/stable"},
        {JOB("consensus", ",\"stable_share\":0.5"), "/privacy/stable_share"},
        {JOB("dpsgd", ",\"stable\":{}"), "/privacy/stable"},
    };
    const char *id = domain_crowd(f, 5, false), *one = domain_crowd(f, 1, false);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        snprintf(body, sizeof body, cases[i][0], id);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", body), cases[i][1]);
    }
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", selective(one, 50, 10, "")), "/dataset");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", consensus(one, 50, 9, 10)), "/dataset");
    cr_assert_eq(domain_spent(f, id), 0);
}

/* Without a world there is nothing to play in. */
Test(job_stage, datasets_of_no_world_are_refused)
{
    const char *id = domain_sealed_of(
        f,
        "{\"name\":\"d\",\"state_dim\":4,\"action_count\":2,\"max_episode_steps\":30,"
        "\"discount\":0.9,\"budget\":{\"epsilon\":300,\"delta\":1e-2}}",
        5);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", selective(id, 50, 10, "")),
                   "/privacy/stable/source");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", consensus(id, 50, 9, 10)), "/mechanism");
}

Test(job_stage, estimates_tell_the_threshold_and_the_reason)
{
    const char *id = domain_crowd(f, EXPERTS, false);
    struct response *r =
        fixture_post(f, "steward", "/v1/jobs:estimate", selective(id, 60, 400, ""));
    expect_status(r, 200);
    cr_assert(json_is_true(response_at(r, "/feasible")), "%s", r->body);
    double threshold = response_number(r, "/plan/stable/threshold");
    cr_assert(threshold > 2.5 && threshold < 40, "%g", threshold);
    cr_assert(response_number(r, "/plan/stable/unanimous_length") >= 1);
    cr_assert_eq(response_number(r, "/plan/stable/count"), 5);
    cr_assert_eq(response_number(r, "/plan/stable/max_length"), 30);
    cr_assert_eq(response_number(r, "/plan/plain_share"), 0.5);
    cr_assert_eq(response_number(r, "/plan/total_steps"), 400);
    cr_assert(response_number(r, "/running_time/seconds") > 1, "40 clones");
    cr_assert(response_number(r, "/running_time/seconds") < 20);
    double noisy = response_number(r, "/plan/steps");
    cr_assert(noisy > 140 && noisy < 260, "%g", noisy);
    cr_assert(response_number(r, "/cost/epsilon") <= 60 &&
              response_number(r, "/cost/epsilon") > 59);
    double paper =
        response_number(fixture_post(f, "steward", "/v1/jobs:estimate",
                                     selective(id, 300, 400, ",\"accounting\":\"paper\"")),
                        "/plan/stable/threshold");
    double sharp = response_number(
        fixture_post(f, "steward", "/v1/jobs:estimate", selective(id, 300, 400, "")),
        "/plan/stable/threshold");
    cr_assert(sharp < paper || isnan(paper), "%g %g", sharp, paper);

    r = fixture_post(f, "steward", "/v1/jobs:estimate", selective(id, 0.5, 400, ""));
    cr_assert(json_is_false(response_at(r, "/feasible")));
    cr_assert(strstr(response_text(r, "/reason"), "above the number of experts") != NULL, "%s",
              r->body);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", selective(id, 0.5, 400, "")),
                   "infeasible");
    r = fixture_post(f, "steward", "/v1/jobs:estimate", consensus(id, 3, 500, 10));
    cr_assert(json_is_true(response_at(r, "/feasible")), "%s", r->body);
    cr_assert_eq(response_number(r, "/plan/consensus/labels"), 500);
    cr_assert_float_eq(response_number(r, "/cost/epsilon"), 3, 1e-6);
    cr_assert_eq(response_number(r, "/plan/steps"), 0);
    cr_assert_eq(domain_spent(f, id), 0);
}

/* A stored plan without the number of actions cannot be shown; the service goes on. */
Test(job_stage, a_damaged_plan_is_not_shown)
{
    const char *id = domain_crowd(f, EXPERTS, true);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", selective(id, 60, 400, ""));
    expect_status(made, 202);
    const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    cr_assert(json_is_object(response_at(fixture_get(f, "steward", path), "/privacy")));
    domain_rewrite(f, &jobs_table,
                   "UPDATE jobs SET plan = replace(plan, '\"action_count\"', '\"actions\"')");
    struct response *shown = fixture_get(f, "steward", path);
    expect_status(shown, 200);
    cr_expect(json_is_null(response_at(shown, "/privacy")));
}

/* ---- whole jobs */

Test(job_stage, a_selective_job_runs_is_paid_for_and_certified, .timeout = 600)
{
    const char *id = domain_crowd(f, EXPERTS, true);
    struct response *job = domain_run(f, selective(id, 60, 400, ""));
    cr_assert_str_eq(response_text(job, "/mechanism"), "selective_dpsgd");
    cr_assert_eq(response_number(job, "/progress/step"), 400);
    double cost = response_number(job, "/privacy/spent/epsilon");
    cr_assert(cost > 59 && cost <= 60, "%g", cost);
    cr_assert_float_eq(domain_spent(f, id), cost, 1e-9);
    struct response *certificate = certificate_of(job);
    cr_assert_str_eq(response_text(certificate, "/privacy/unit"), "expert");
    cr_assert(strstr(response_text(certificate, "/privacy/accountant"), "sparse vector") != NULL);
    cr_assert_float_eq(response_number(certificate, "/privacy/epsilon"), cost, 1e-8);
    cr_assert_str_eq(response_text(certificate, "/plan/stable/source"), "rollouts");
    cr_assert(strstr(response_text(certificate, "/assumptions/1"), "played here") != NULL);
    cr_assert(strstr(certificate->body, "POLICIES ONLY") == NULL);
}

Test(job_stage, logged_prefixes_protect_policies_and_say_so, .timeout = 600)
{
    const char *id = domain_crowd(f, EXPERTS, true);
    const char *body =
        selective(id, 60, 100, ",\"source\":\"logged\",\"i_understand\":\"policies_only\"");
    /* One on made-up data reveals nothing. */
    struct response *practice = fixture_post(f, "steward", "/v1/jobs:estimate",
                                             domain_path("{\"rehearse\":true,%s", body + 1));
    expect_status(practice, 200);
    cr_expect(json_is_true(response_at(practice, "/covered")), "%s", practice->body);
    struct response *job = domain_run(f, body);
    cr_assert_str_eq(response_text(job, "/privacy/unit"), "policy of an expert");
    struct response *certificate = certificate_of(job);
    cr_assert_str_eq(response_text(certificate, "/privacy/unit"), "policy of an expert");
    cr_assert(strstr(response_text(certificate, "/warnings/0"), "PROTECTS POLICIES ONLY") != NULL);
    cr_assert(strstr(response_text(certificate, "/privacy/neighbours"), "policy") != NULL);
    cr_assert(strstr(response_text(certificate, "/assumptions/1"),
                     "each ends where this world ends it, or at a length that is the same") !=
              NULL);
    cr_assert(json_is_false(response_at(certificate, "/dataset_covered")));
}

Test(job_stage, a_consensus_job_runs_is_paid_for_and_certified, .timeout = 600)
{
    const char *id = domain_crowd(f, EXPERTS, false);
    struct response *job = domain_run(f, consensus(id, 5, 200, 50));
    cr_assert_float_eq(domain_spent(f, id), 5, 1e-6);
    struct response *certificate = certificate_of(job);
    cr_assert_str_eq(response_text(certificate, "/privacy/unit"), "expert");
    cr_assert(strstr(response_text(certificate, "/privacy/accountant"), "closed form") != NULL);
    cr_assert(strstr(certificate->body, "32-bit floating point") == NULL);
    cr_assert_eq(response_number(certificate, "/plan/consensus/labels"), 200);
}

/* Weighed by skill it costs the same, and the scale is in the certificate. */
Test(job_stage, a_consensus_job_may_weigh_voices_by_skill, .timeout = 600)
{
    const char *id = domain_crowd(f, EXPERTS, false);
    struct response *job = domain_run(
        f,
        domain_path("{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"consensus\","
                    "\"dataset\":\"%s\",\"privacy\":{\"epsilon\":5,\"delta\":1e-3,"
                    "\"consensus\":{\"labels\":200,\"skill\":{\"low\":0,\"high\":150}}}," SMALL "}",
                    id, 50u));
    cr_assert_float_eq(domain_spent(f, id), 5, 1e-6);
    struct response *certificate = certificate_of(job);
    cr_assert_eq(response_number(certificate, "/plan/consensus/skill/high"), 150);
    cr_assert_eq(response_number(certificate, "/plan/consensus/skill/power"), 8);
    cr_assert_eq(response_number(certificate, "/plan/consensus/skill/episodes"), 16);
}

/* Stopped again and again: once it is stored, what was released stays the same to the byte. */
Test(job_stage, what_was_released_survives_stops, .timeout = 600)
{
    const char *id = domain_crowd(f, EXPERTS, true);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", selective(id, 60, 60000, ""));
    expect_status(made, 202);
    const char *job = response_text(made, "/id");
    unsigned char *first = NULL;
    size_t first_size = 0;
    unsigned stops = 0;
    for (; stops < 200; stops++) {
        struct domain_meddler meddler = {
            .f = f, .advance_ms = 6000, .act_at = 2 + stops / 2, .stop = true};
        char worker[8];
        snprintf(worker, sizeof worker, "w%u", stops);
        if (domain_turn(f, worker, domain_meddle, &meddler) == API_JOB_RAN)
            break;
        int64_t step = 0;
        size_t size = 0;
        unsigned char *bytes = domain_checkpoint(f, job, &step, &size);
        if (!bytes)
            continue;
        uint64_t records = 0;
        memcpy(&records, bytes + 32, sizeof records);
        size_t released = 40 + ((size_t)records + 7) / 8 * 8 + 8;
        cr_assert_geq(size, released);
        if (first == NULL) {
            first = malloc(released);
            memcpy(first, bytes, released);
            first_size = released;
        }
        cr_assert_eq(released, first_size);
        cr_assert_eq(memcmp(first, bytes, released), 0, "stop %u", stops);
        sodium_free(bytes);
    }
    cr_assert(first != NULL && stops > 3 && stops < 200, "%u stops", stops);
    struct response *done = domain_job(f, made);
    cr_assert_str_eq(response_text(done, "/state"), "succeeded");
    double prefixes = response_number(done, "/findings/released_prefixes");
    cr_assert_geq(prefixes, 0, "a job that went on from its checkpoint tells it, too");
    cr_assert_geq(response_number(done, "/findings/released_steps"), prefixes);
    cr_assert_not_null(strstr(done->body, "Its first stage comes before step 1"));
    double cost = domain_spent(f, id);
    cr_assert(cost > 59 && cost <= 60, "once: %g", cost);
    free(first);
}

/* Cancels a job at pulse number AT; its steps. */
static double cancel_selective(unsigned at)
{
    const char *id = domain_crowd(f, EXPERTS, true);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", selective(id, 60, 400000, ""));
    expect_status(made, 202);
    double reserved = response_number(made, "/privacy/reserved/epsilon");
    struct domain_meddler meddler = {
        .f = f,
        .advance_ms = 6000,
        .act_at = at,
        .cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"))};
    cr_assert_eq(domain_turn(f, "w", domain_meddle, &meddler), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    double cost = domain_spent(f, id);
    cr_assert(json_is_null(response_at(job, "/findings")), "nothing was released");
    /* 45 of 60 went into the first stage, a part of the rest into steps. */
    cr_assert(cost > 30 && cost <= reserved, "%g of %g", cost, reserved);
    cr_assert(response_number(job, "/privacy/spent/delta") > 0);
    cr_assert(cost == reserved || strstr(response_text(job, "/why"), "the whole first stage"), "%s",
              job->body);
    double steps = response_number(job, "/progress/step");
    cr_assert(steps > 0 || cost < 46, "%g", cost);
    return steps;
}

Test(job_stage, a_cancelled_job_pays_for_its_first_stage, .timeout = 600)
{
    cr_expect_gt(cancel_selective(90), 0);
    cr_expect_eq(cancel_selective(2), 0, "in the first stage");
}
