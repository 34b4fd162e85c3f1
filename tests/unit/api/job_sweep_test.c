/* Sweeps over the API: what is refused, that all tries are paid for together, that the best is
 * given, and that stops lose and redraw nothing. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "storage/jobs.h"
#include "tests/unit/api/service.h"

TestSuite(job_sweep, .init = service_open, .fini = service_close);

#define EVALUATE                                                                                   \
    ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":4,\"max_episode_steps\":60}"
#define JOB(rest) "{\"algorithm\":\"cql\",\"dataset\":\"%s\"" rest "}"
#define PRIVACY   ",\"privacy\":{\"epsilon\":4,\"delta\":1e-5}"
#define SMALL     ",\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":%u}"

static const char *sweep(const char *dataset, unsigned steps)
{
    return domain_path(JOB(PRIVACY SMALL EVALUATE ",\"sweep\":{\"learning_rate\":[0.001,0.01,0.1],"
                                                  "\"alpha\":[0.5,1]}"),
                       dataset, steps);
}

Test(job_sweep, refuses_what_it_cannot_be)
{
    static const char *const cases[] = {
        JOB(PRIVACY EVALUATE ",\"sweep\":{}"),
        JOB(PRIVACY EVALUATE ",\"sweep\":{\"learning_rate\":[]}"),
        JOB(PRIVACY EVALUATE ",\"sweep\":{\"learning_rate\":0.1}"),
        JOB(PRIVACY EVALUATE ",\"sweep\":{\"learning_rate\":[null]}"),
        JOB(PRIVACY EVALUATE ",\"sweep\":{\"learning_rat\":[0.1]}"),
        JOB(PRIVACY EVALUATE ",\"parameters\":{\"alpha\":1},\"sweep\":{\"alpha\":[1,2]}"),
        JOB(PRIVACY ",\"sweep\":{\"learning_rate\":[0.1]}"),
        JOB(EVALUATE ",\"mechanism\":\"none\",\"sweep\":{\"learning_rate\":[0.1]}"),
        JOB(PRIVACY EVALUATE ",\"sweep\":{\"alpha\":[1,2,3,4,5,6,7,8,9],"
                             "\"clip_norm\":[1,2,3,4,5,6,7,8]}"),
    };
    const char *id = domain_sealed(f, "private", 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        snprintf(body, sizeof body, cases[i], id);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), "/sweep");
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", body), "/sweep");
    }
    expect_invalid(
        fixture_post(
            f, "steward", "/v1/jobs",
            domain_path(JOB(PRIVACY EVALUATE ",\"sweep\":{\"learning_rate\":[0.1,-1]}"), id)),
        "/sweep/learning_rate");
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs",
                     domain_path(JOB(PRIVACY EVALUATE ",\"sweep\":{\"hidden\":[[8],[8,0]]}"), id)),
        "/sweep/hidden/1");
    cr_assert_eq(domain_spent(f, id), 0);
}

/* A member that is null is left out. */
Test(job_sweep, a_list_that_is_null_is_none)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *r =
        fixture_post(f, "steward", "/v1/jobs:estimate",
                     domain_path(JOB(PRIVACY EVALUATE ",\"parameters\":{\"alpha\":null},\"sweep\":{"
                                                      "\"alpha\":[1,2],\"clip_norm\":null}"),
                                 id));
    expect_status(r, 200);
    cr_expect_eq(json_array_size(response_at(r, "/plan/tries")), 2);
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs",
                     domain_path(JOB(PRIVACY EVALUATE ",\"sweep\":{\"alpha\":null}"), id)),
        "/sweep");
}

/* Six tries of one budget: each has more noise than one alone, less than a sixth would have. */
Test(job_sweep, all_tries_are_priced_together)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *r = fixture_post(f, "steward", "/v1/jobs:estimate", sweep(id, 50));
    expect_status(r, 200);
    cr_assert(json_is_true(response_at(r, "/feasible")), "%s", r->body);
    cr_assert_eq(json_array_size(response_at(r, "/plan/tries")), 6);
    cr_assert_eq(response_number(r, "/plan/total_steps"), 300);
    double all = response_number(r, "/cost/epsilon");
    cr_assert(all <= 4 && all > 3.9, "%g", all);
    double one = response_number(r, "/plan/tries/0/epsilon");
    cr_assert(one > 4.0 / 6 && one < 4, "%g", one);
    double noise = response_number(r, "/plan/tries/0/noise_multiplier");
    struct response *alone =
        fixture_post(f, "steward", "/v1/jobs:estimate",
                     domain_path(JOB(PRIVACY SMALL ",\"mechanism\":\"dpsgd\""), id, 300u));
    /* Six times 50 steps are 300 steps of the same mechanism. */
    cr_assert_float_eq(noise, response_number(alone, "/plan/noise_multiplier"), 0.03 * noise);
    /* More than there is. */
    const char *dear =
        domain_path(JOB(",\"privacy\":{\"epsilon\":900,\"delta\":1e-5}" SMALL EVALUATE
                        ",\"sweep\":{\"alpha\":[1,2],\"arithmetic\":[\"float\"]}"),
                    id, 50u);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", dear), "budget-exhausted");
    const char *beyond =
        domain_path(JOB(",\"privacy\":{\"epsilon\":900,\"delta\":1e-5}" SMALL EVALUATE
                        ",\"sweep\":{\"alpha\":[1,2]}"),
                    id, 50u);
    struct response *refused = fixture_post(f, "steward", "/v1/jobs", beyond);
    expect_problem(refused, "infeasible");
    cr_assert(strstr(refused->body, "too large for exact arithmetic"), "%s", refused->body);
    cr_assert_eq(domain_spent(f, id), 0);
}

/* The least that the refusal of a small budget names would do. */
Test(job_sweep, names_the_least_that_pays_for_all_tries)
{
    static const char body[] =
        JOB(",\"privacy\":{\"epsilon\":%.17g,\"delta\":1e-5,\"force\":"
            "true},\"parameters\":{\"hidden\":[4],\"batch_size\":4,"
            "\"steps\":50,\"noise_multiplier\":20}" EVALUATE ",\"sweep\":{\"alpha\":[1,2]}");
    const char *id = domain_sealed(f, "private", 10);
    struct response *refused = fixture_post(f, "steward", "/v1/jobs", domain_path(body, id, 0.01));
    expect_problem(refused, "infeasible");
    double least = response_number(refused, "/least/epsilon");
    cr_assert_gt(least, 0.01);
    struct response *planned =
        fixture_post(f, "steward", "/v1/jobs:estimate", domain_path(body, id, least));
    expect_status(planned, 200);
    cr_assert(json_is_true(response_at(planned, "/feasible")), "%s", planned->body);
}

/* A budget that no try could have a step of. */
Test(job_sweep, without_a_step_is_infeasible)
{
    const char *id = domain_sealed(f, "private", 20);
    const char *body = domain_path(
        JOB(",\"privacy\":{\"epsilon\":1e-6,\"delta\":1e-5},\"parameters\":{\"steps\":60}" EVALUATE
            ",\"sweep\":{\"batch_size\":[4,8]}"),
        id);
    struct response *said = fixture_post(f, "steward", "/v1/jobs:estimate", body);
    expect_status(said, 200);
    cr_expect(json_is_false(response_at(said, "/feasible")), "%s", said->body);
    cr_expect_gt(strlen(response_text(said, "/reason")), 10, "%s", said->body);
    cr_expect(json_is_null(response_at(said, "/running_time")), "%s", said->body);
    cr_expect_not_null(strstr(response_text(said, "/running_time_unknown"), "no plan"));
    expect_problem(fixture_post(f, "steward", "/v1/jobs", body), "infeasible");
    cr_assert_eq(domain_spent(f, id), 0);
}

static void expect_best(const struct response *job)
{
    const json_t *scores = response_at(job, "/findings/mean_returns");
    size_t best = (size_t)response_number(job, "/findings/best");
    cr_assert_eq(json_array_size(scores), 6);
    double most = json_number_value(json_array_get(scores, best));
    for (size_t t = 0; t < 6; t++)
        cr_assert_leq(json_number_value(json_array_get(scores, t)), most);
    cr_assert_eq(response_number(job, "/evaluation/mean_return"), most);
    cr_assert_eq(response_number(job, "/evaluation/episodes"), 4);
}

Test(job_sweep, gives_the_best_and_a_certificate_of_all)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *job = domain_run(f, sweep(id, 50));
    expect_best(job);
    cr_assert_eq(json_array_size(response_at(job, "/sweep/tries")), 6);
    cr_assert_eq(response_number(job, "/sweep/tries/1/parameters/alpha"), 1);
    cr_assert_eq(response_number(job, "/sweep/tries/1/parameters/learning_rate"), 0.001);
    cr_assert_eq(response_number(job, "/progress/step"), 300);
    double cost = domain_spent(f, id);
    cr_assert_float_eq(cost, response_number(job, "/privacy/spent/epsilon"), 1e-9);
    struct response *certificate = fixture_get(
        f, "auditor", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    expect_status(certificate, 200);
    cr_assert(certificate_check(certificate->body, fixture_app(f)->public_key));
    cr_assert_float_eq(response_number(certificate, "/privacy/epsilon"), cost, 1e-8);
    cr_assert_eq(json_array_size(response_at(certificate, "/plan/tries")), 6);
    char place[64];
    snprintf(place, sizeof place, "/sweep/tries/%d/parameters/alpha",
             (int)response_number(job, "/findings/best"));
    cr_assert_eq(response_number(certificate, "/parameters/alpha"), response_number(job, place));
}

/* A closed form prices the tries only where every step of all of them sees all experts. */
Test(job_sweep, names_the_accountant_of_all_tries)
{
    static const char *const cases[][2] = {{"20", "closed form"},
                                           {"20,4", "privacy-loss distribution"},
                                           {"4,20", "privacy-loss distribution"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *id = domain_sealed(f, "private", 20);
        struct response *job =
            domain_run(f, domain_path(JOB(PRIVACY EVALUATE
                                          ",\"parameters\":{\"hidden\":[4],\"steps\":20},"
                                          "\"sweep\":{\"alpha\":[0.5,1],\"batch_size\":[%s]}"),
                                      id, cases[i][0]));
        struct response *certificate =
            fixture_get(f, "auditor",
                        domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
        const char *accountant = response_text(certificate, "/privacy/accountant");
        cr_expect_eq(strncmp(accountant, cases[i][1], strlen(cases[i][1])), 0, "%s of %s",
                     accountant, cases[i][0]);
    }
}

/* Exact tries cost at least what their Gaussians cost, and the certificate says that they are
 * exact; when one of them is float, it does not. */
Test(job_sweep, may_be_exact)
{
    static const char *const axes[] = {"\"arithmetic\":[\"exact\"]",
                                       "\"arithmetic\":[\"exact\",\"float\"]"};
    for (int i = 0; i < 2; i++) {
        const char *id = domain_sealed(f, "private", 20);
        struct response *job = domain_run(
            f, domain_path(JOB(PRIVACY SMALL EVALUATE ",\"sweep\":{\"alpha\":[0.5,1],%s}"), id, 50U,
                           axes[i]));
        cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
        double cost = domain_spent(f, id);
        cr_assert(cost > 0 && cost <= 4);
        struct response *certificate =
            fixture_get(f, "auditor",
                        domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
        expect_status(certificate, 200);
        cr_expect_float_eq(response_number(certificate, "/privacy/epsilon"), cost, 1e-8);
        cr_expect_eq(strstr(certificate->body, "Exact arithmetic") != NULL, i == 0);
    }
}

struct stopper {
    unsigned pulses, stop_at;
};

static bool stop(void *context)
{
    struct stopper *stopper = context;
    fixture_advance(6000);
    return ++stopper->pulses == stopper->stop_at;
}

/* What draws beyond 12 deviations add to delta grows with e^epsilon. So two exact tries that could
 * each be certified may together cost more than can be: then they get less of the budget. */
Test(job_sweep, exact_tries_cost_no_more_than_can_be_certified)
{
    const double set_aside = 1e-3 * 1e-5, rare = 4e-33;
    const char *id = domain_sealed(f, "private", 20);
    const char *body = domain_path(JOB(",\"privacy\":{\"epsilon\":60,\"delta\":1e-5}" SMALL EVALUATE
                                       ",\"sweep\":{\"alpha\":[0.5,1]}"),
                                   id, 50U);
    struct response *r = fixture_post(f, "steward", "/v1/jobs:estimate", body);
    expect_status(r, 200);
    double draws = 50 * response_number(r, "/plan/parameter_count");
    double cost = response_number(r, "/cost/epsilon");
    cr_expect_leq(2 * exp(cost) * draws * rare, set_aside, "epsilon %g", cost);
    cr_expect_geq(cost, 40);
}

/* A stopped sweep goes on with the try it was in; done ones are neither trained nor paid again. */
Test(job_sweep, goes_on_after_stops, .timeout = 600)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", sweep(id, 4000));
    expect_status(made, 202);
    const char *job = response_text(made, "/id");
    unsigned turns = 0;
    double last = 0;
    for (; turns < 300; turns++) {
        struct stopper stopper = {.stop_at = 3 + turns / 3};
        char worker[8];
        snprintf(worker, sizeof worker, "w%u", turns);
        if (domain_turn(f, worker, stop, &stopper) == API_JOB_RAN)
            break;
        double step = response_number(fixture_get(f, "steward", domain_path("/v1/jobs/%s", job)),
                                      "/progress/step");
        cr_assert_geq(step, last);
        last = step;
    }
    cr_assert(turns > 1 && turns < 300, "%u", turns);
    struct response *now = fixture_get(f, "steward", domain_path("/v1/jobs/%s", job));
    cr_assert_str_eq(response_text(now, "/state"), "succeeded", "%s", now->body);
    expect_best(now);
    double cost = domain_spent(f, id);
    cr_assert(cost > 3.9 && cost <= 4, "%g", cost);
}

static bool cancel(void *context)
{
    (void)context;
    fixture_advance(6000);
    struct response *jobs = fixture_get(f, "steward", "/v1/jobs?state=running");
    const char *id = response_text(jobs, "/items/0/id");
    if (response_number(jobs, "/items/0/progress/step") > 0)
        fixture_post(f, "steward", domain_path("/v1/jobs/%s:cancel", id), NULL);
    return false;
}

/* How far its tries came is not told apart: the whole price. */
Test(job_sweep, a_cancelled_sweep_pays_for_all)
{
    const char *id = domain_sealed(f, "private", 20);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", sweep(id, 60000));
    expect_status(made, 202);
    double held = response_number(made, "/privacy/reserved/epsilon");
    cr_assert_eq(domain_turn(f, "w", cancel, NULL), API_JOB_RAN);
    struct response *job =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    cr_assert_float_eq(domain_spent(f, id), held, 1e-9);
}

/* ---- work has an end */

/* Rare draws with little noise took minutes of a thread to price. */
Test(job_sweep, planning_ends_its_work, .timeout = 300)
{
    const char *id = domain_sealed_of(
        f,
        "{\"name\":\"rare\",\"environment\":\"cartpole\",\"nominal_experts\":100000,"
        "\"budget\":{\"epsilon\":100,\"delta\":1e-5}}",
        10);
    const char *body = domain_path(
        JOB(",\"privacy\":{\"epsilon\":60,\"delta\":1e-9,\"force\":true},\"parameters\":{"
            "\"hidden\":[4],\"steps\":100000,\"arithmetic\":\"float\"}" EVALUATE
            ",\"sweep\":{\"batch_size\":[2,3,4,5,6,7,8,9]}"),
        id);
    struct response *r = fixture_post(f, "steward", "/v1/jobs", body);
    expect_problem(r, "infeasible");
    cr_expect(strstr(response_text(r, "/detail"), "takes more work") != NULL, "%s", r->body);
    cr_assert_eq(domain_spent(f, id), 0);
}
