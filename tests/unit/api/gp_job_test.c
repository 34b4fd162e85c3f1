/* Jobs of gp_q_learning: the price, the noise told before it is spent, the release and its
 * certificate, the network as an ordinary policy, and one key however often the worker is stopped.
 */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/release/q_release.h"
#include "api/call/app.h"
#include "api/call/sealed.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger.h"
#include "tests/unit/api/service.h"

TestSuite(gp_job, .init = service_open, .fini = service_close);

/* A sealed private dataset of EXPERTS experts who walk on [0, 1]. */
static const char *line_world(unsigned experts)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/datasets",
        "{\"name\":\"line\",\"state_dim\":1,\"action_count\":2,\"max_episode_steps\":50,"
        "\"description\":{\"row\":\"a step\",\"expert\":\"who "
        "walks\",\"features\":[{\"name\":\"x\","
        "\"low\":0,\"high\":1}],\"actions\":[\"left\",\"right\"]},"
        "\"discount\":0.9,\"budget\":{\"epsilon\":3,\"delta\":1e-4},\"sensitivity\":\"private\"}");
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    char *text = malloc(experts * 512 + 1);
    size_t at = 0;
    for (unsigned e = 0; e < experts; e++) {
        at += (size_t)sprintf(text + at, "{\"expert\":\"e%u\",\"states\":[[0.5]", e);
        for (unsigned t = 0; t < 8; t++)
            at += (size_t)sprintf(text + at, ",[%.3f]", (t * 7 + e * 13) % 97 / 97.0);
        at +=
            (size_t)sprintf(text + at, "],\"actions\":[0,1,0,1,1,0,1,0],\"rewards\":[1,2,3,4,5,6,7"
                                       ",8],\"terminated\":true,\"truncated\":false}\n");
    }
    expect_status(domain_upload(f, NULL, id, text, at, NULL), 201);
    free(text);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", id), "{}"), 200);
    return id;
}

#define SMALL "\"steps\":30,\"hidden\":[8],\"knot_bits\":4"
#define JOB(dataset, shards, epsilon, more)                                                        \
    domain_path("{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":%g," \
                "\"delta\":1e-5" more ",\"parameters\":{\"shards\":%d," SMALL "}}",                \
                dataset, (double)(epsilon), (int)(shards))

Test(gp_job, ends_in_a_release_that_is_paid_for_once)
{
    const char *dataset = line_world(40);
    struct response *job = domain_run(f, JOB(dataset, 200, 1, "}"));
    const char *release = response_text(job, "/q_release");
    cr_assert_eq(strncmp(release, "qre_", 4), 0, "%s", job->body);
    cr_expect(json_is_null(response_at(job, "/policy")));
    cr_expect_str_eq(response_text(job, "/mechanism"), "gaussian_process");
    cr_expect_str_eq(response_text(job, "/privacy/unit"), "expert");
    double paid = domain_spent(f, dataset);
    cr_expect(paid > 0.999 && paid <= 1, "%.9f", paid);
    struct response *shown = fixture_get(f, "student", domain_path("/v1/q-releases/%s", release));
    expect_status(shown, 200);
    cr_expect_str_eq(response_text(shown, "/form"), "path");
    cr_expect_eq(response_number(shown, "/shards"), 200);
    cr_expect_eq(response_number(shown, "/kernel/beta"), 4); /* L/V */
    cr_expect_eq(response_number(shown, "/sigma"), response_number(job, "/release/sigma"));
    /* S = (2V/M) sqrt(2 (1 + L/V)) and what arithmetic adds */
    cr_expect_float_eq(response_number(shown, "/sensitivity"), 0.1581139, 1e-4);
    const char *path = domain_path("/v1/q-releases/%s/queries", release);
    struct response *one = fixture_post(f, "student", path, "{\"states\":[[0.25],[0.75],[-0.0]]}");
    struct response *two = fixture_post(f, "steward", path, "{\"states\":[[0],[0.75],[0.25]]}");
    expect_status(one, 200);
    cr_expect_eq(response_number(one, "/values/0/1"), response_number(two, "/values/2/1"));
    cr_expect_eq(response_number(one, "/values/1/0"), response_number(two, "/values/1/0"));
    cr_expect_eq(response_number(one, "/values/2/0"), response_number(two, "/values/0/0"));
    expect_invalid(fixture_post(f, "student", path, "{\"states\":[[0.5],[1.5]]}"), "/states/1/0");
    expect_invalid(fixture_post(f, "student", path, "{\"states\":[[0.5,0.5]]}"), "/states/0");
    cr_expect_eq(domain_spent(f, dataset), paid); /* asking is free */
    struct response *certificate =
        fixture_get(f, "auditor", domain_path("/v1/q-releases/%s/certificate", release));
    expect_status(certificate, 200);
    cr_expect(certificate_check(certificate->body, fixture_app(f)->public_key));
    cr_expect_str_eq(response_text(certificate, "/q_release"), release);
    /* the number of experts was not declared */
    cr_expect_not_null(strstr(response_text(certificate, "/privacy/neighbours"), "counted"));
    cr_expect_str_eq(response_text(certificate, "/plan/release/kernel/name"), "exponential");
    cr_expect_eq(response_number(certificate, "/plan/noise_multiplier") *
                         response_number(certificate, "/plan/release/sensitivity") <=
                     response_number(certificate, "/plan/release/sigma"),
                 1);
}

Test(gp_job, tells_the_noise_before_anything_is_spent)
{
    const char *dataset = line_world(5);
    const char *few = JOB(dataset, 2, 1, "}");
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", few);
    expect_status(estimate, 200);
    cr_expect(json_is_false(response_at(estimate, "/feasible")));
    cr_expect_gt(response_number(estimate, "/plan/release/noise_to_range"), 1);
    cr_expect(strstr(response_text(estimate, "/reason"), "force") != NULL);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", few), "/parameters/shards");
    estimate = fixture_post(f, "steward", "/v1/jobs:estimate", JOB(dataset, 100, 1, "}"));
    cr_expect(json_is_true(response_at(estimate, "/feasible")), "%s", estimate->body);
    cr_expect_lt(response_number(estimate, "/plan/release/noise_to_range"), 1);
    cr_expect_eq(domain_spent(f, dataset), 0);
    struct response *job = domain_run(f, JOB(dataset, 2, 1, ",\"force\":true}"));
    cr_expect_gt(response_number(job, "/release/noise_to_range"), 1);
    struct response *certificate =
        fixture_get(f, "auditor",
                    domain_path("/v1/q-releases/%s/certificate", response_text(job, "/q_release")));
    cr_expect(strstr(certificate->body, "larger than the range") != NULL);
}

Test(gp_job, bad_requests_name_what_is_bad)
{
    static const char *const cases[][2] = {
        {"\"privacy\":{\"epsilon\":1,\"delta\":1e-5,\"force\":1}", "/privacy/force"},
        {"\"privacy\":{\"epsilon\":1,\"delta\":0.9}", "/privacy/delta"},
        {"\"privacy\":{\"epsilon\":1,\"delta\":1e-5,\"stable\":{}}", "/privacy/stable"},
        {"\"privacy\":{\"epsilon\":1}", "/privacy/delta"},
        {"\"mechanism\":\"none\"", "/mechanism"},
        {"\"parameters\":{\"low\":[]}", "/parameters/low"},
        {"\"parameters\":{\"low\":[\"a\"]}", "/parameters/low/0"},
        {"\"parameters\":{\"low\":[2]}", "/parameters/low"},
        {"\"parameters\":{\"high\":[1,1]}", "/parameters"},
        {"\"parameters\":{\"shards\":-1}", "/parameters/shards"},
        {"\"parameters\":{\"form\":\"cube\"}", "/parameters/form"},
        {"\"parameters\":{\"bits\":25}", "/parameters/bits"},
        {"\"parameters\":{\"hidden\":[1,1,1,1,1,1,1,1]}", "/parameters/hidden"},
        {"\"parameters\":{\"base\":\"behaviour_cloning\"}", "/parameters/base"},
        {"\"parameters\":{\"base\":\"ppo\"}", "/parameters/base"},
        {"\"parameters\":{\"base\":\"sarsa\"}", "/parameters/base"},
        {"\"parameters\":{\"base\":1}", "/parameters/base"},
        {"\"parameters\":{\"released\":\"q\"}", "/parameters/released"},
    };
    const char *dataset = line_world(3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool own = strstr(cases[i][0], "privacy") != NULL || strstr(cases[i][0], "none") != NULL;
        const char *body =
            domain_path("{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",%s%s}", dataset,
                        own ? "" : "\"privacy\":{\"epsilon\":1,\"delta\":1e-5},", cases[i][0]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", body), cases[i][1]);
    }
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"privacy\":"
                                            "{\"epsilon\":1,\"delta\":1e-5,\"unit\":\"reward\"}}",
                                            dataset)),
                   "/privacy/unit");
    cr_expect_eq(domain_spent(f, dataset), 0);
}

/* Any algorithm that learns a Q-function from a dataset, by its row in the table. */
Test(gp_job, shards_learn_by_whatever_learns_a_q_function)
{
    const char *dataset = line_world(12);
#define BASE(name)                                                                                 \
    domain_path("{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":1,"  \
                "\"delta\":1e-5},\"parameters\":{\"shards\":200,\"base\":\"%s\"," SMALL "}}",      \
                dataset, name)
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", BASE("bcq"));
    expect_status(estimate, 200);
    cr_expect_str_eq(response_text(estimate, "/parameters/base"), "bcq");
    cr_expect_eq(response_number(estimate, "/plan/total_steps"), 200 * 30);
    /* Two heads of two outputs each over eight units, where cql has one. */
    cr_expect_eq(response_number(estimate, "/plan/parameter_count"), 2 * 8 + 4 * 9);
    struct response *job = domain_run(f, BASE("bcq"));
    cr_expect_str_eq(response_text(job, "/parameters/base"), "bcq");
    cr_expect_eq(strncmp(response_text(job, "/q_release"), "qre_", 4), 0);
    struct response *refused = fixture_post(f, "steward", "/v1/jobs", BASE("behaviour_cloning"));
    expect_invalid(refused, "/parameters/base");
    cr_expect(strstr(refused->body, "learns which actions to take and no Q-function") != NULL, "%s",
              refused->body);
    cr_expect(strstr(refused->body, "\\\"cql\\\", \\\"bcq\\\"") != NULL, "%s", refused->body);
}

#define CART(dataset, form)                                                                        \
    domain_path("{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":1,"  \
                "\"delta\":1e-5},\"parameters\":{\"shards\":1000,\"steps\":2,\"hidden\":[4],"      \
                "\"features\":8,\"nodes\":3,\"base\":\"bcq\",\"form\":\"%s\"},\"evaluate\":{"      \
                "\"environment\":"                                                                 \
                "\"cartpole\",\"episodes\":3,\"max_episode_steps\":20}}",                          \
                dataset, form)

Test(gp_job, a_network_is_an_ordinary_policy_too)
{
    struct response *job = domain_run(f, CART(domain_sealed(f, "private", 6), "automatic"));
    cr_expect_eq(response_number(job, "/evaluation/episodes"), 3);
    cr_expect_gt(response_number(job, "/evaluation/mean_return"), 0);
    const char *policy = response_text(job, "/policy"), *release = response_text(job, "/q_release");
    struct response *r = fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy));
    expect_status(r, 200);
    cr_expect_eq(json_array_size(response_at(r, "/network/layers")) +
                     json_array_size(response_at(r, "/layers")),
                 2, "%s", r->body);
    /* The released vector as files, for its steward and for students. */
    static const char *const formats[] = {"safetensors", "onnx"};
    for (int i = 0; i < 2; i++) {
        struct response *one = fixture_get(
            f, "steward",
            domain_path("/v1/policies/%s/weights?certificate=none&format=%s", policy, formats[i]));
        struct response *two =
            fixture_get(f, "student",
                        domain_path("/v1/q-releases/%s/weights?certificate=none&format=%s", release,
                                    formats[i]));
        expect_status(one, 200);
        expect_status(two, 200);
        cr_expect_str_eq(one->content_type, "application/octet-stream");
        cr_expect_gt(one->size, 100);
        cr_expect_eq(one->size, two->size);
        cr_expect_eq(memcmp(one->body, two->body, one->size), 0);
        cr_expect_not_null(response_header(two, "Content-Disposition"));
    }
    r = fixture_get(f, "student", domain_path("/v1/q-releases/%s/weights?format=png", release));
    cr_expect_eq(r->status, 422);
    r = fixture_get(f, "auditor", domain_path("/v1/policies/%s/certificate", policy));
    expect_status(r, 200);
    cr_expect(certificate_check(r->body, fixture_app(f)->public_key));
    cr_expect_str_eq(response_text(r, "/policy"), policy);
    r = fixture_post(f, "steward", domain_path("/v1/q-releases/%s/actions", release),
                     "{\"states\":[[0.1,0,0.05,0.2]]}");
    expect_status(r, 200);
    struct response *same =
        fixture_post(f, "steward", domain_path("/v1/policies/%s/actions", policy),
                     "{\"states\":[[0.1,0,0.05,0.2]]}");
    expect_status(same, 200);
    cr_expect_eq(response_number(r, "/actions/0"), response_number(same, "/actions/0"));
    cr_expect_float_eq(response_number(r, "/values/0/0"), response_number(same, "/values/0/0"),
                       1e-4);
}

/* ---- unit reward */

#define REWARD(dataset, more)                                                                      \
    domain_path("{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",\"privacy\":{\"unit\":"       \
                "\"reward\",\"epsilon\":1,\"delta\":1e-5" more                                     \
                "},\"parameters\":{\"updates\":20,\"knot_bits\":5,\"value_limit\":200,"            \
                "\"reward_scale\":10}}",                                                           \
                dataset)
#define UNDERSTOOD ",\"i_understand\":\"states_are_public\""

static void expect_uncovered(struct response *certificate, const char *dataset)
{
    struct response *shown = fixture_get(f, "steward", domain_path("/v1/datasets/%s", dataset));
    cr_expect(json_is_false(response_at(shown, "/covered")), "%s", shown->body);
    cr_expect(json_is_false(response_at(certificate, "/dataset_covered")), "%s", certificate->body);
}

Test(gp_job, rewards_are_protected_on_logged_transitions)
{
    const char *dataset = line_world(10);
    struct response *job = domain_run(f, REWARD(dataset, UNDERSTOOD));
    cr_expect_str_eq(response_text(job, "/privacy/unit"), "reward");
    cr_expect_str_eq(response_text(job, "/release/unit"), "reward");
    cr_expect_eq(response_number(job, "/release/updates"), 20);
    cr_expect_float_eq(response_number(job, "/release/sensitivity"), 0.5, 1e-6);
    double paid = domain_spent(f, dataset);
    cr_expect(paid > 0.999 && paid <= 1, "%.9f", paid);
    const char *release = response_text(job, "/q_release");
    struct response *shown = fixture_get(f, "student", domain_path("/v1/q-releases/%s", release));
    cr_expect_str_eq(response_text(shown, "/form"), "grid");
    cr_expect_eq(response_number(shown, "/nodes"), 33);
    cr_expect_eq(response_number(shown, "/kernel/beta"), 5);
    const char *path = domain_path("/v1/q-releases/%s/actions", release);
    struct response *one = fixture_post(f, "student", path, "{\"states\":[[0.25],[0.77]]}");
    expect_status(one, 200);
    struct response *two = fixture_post(f, "student", path, "{\"states\":[[0.77],[0.25]]}");
    cr_expect_eq(response_number(one, "/values/0/1"), response_number(two, "/values/1/1"));
    cr_expect_eq(response_number(one, "/values/1/0"), response_number(two, "/values/0/0"));
    struct response *certificate =
        fixture_get(f, "auditor", domain_path("/v1/q-releases/%s/certificate", release));
    cr_expect(certificate_check(certificate->body, fixture_app(f)->public_key));
    cr_expect_str_eq(response_text(certificate, "/privacy/unit"), "reward");
    cr_expect(strstr(certificate->body, "The states and actions are not") != NULL);
    cr_expect(strstr(certificate->body, "does not cover this release") != NULL);
    cr_expect(strstr(certificate->body, "without noise: whoever") == NULL);
    cr_expect(strstr(certificate->body, "One expert's data") == NULL);
    cr_expect_eq(response_number(certificate, "/plan/steps"), 20);
    /* no expert is protected by what was paid */
    expect_uncovered(certificate, dataset);
    struct response *later = domain_run(f, JOB(dataset, 200, 1, "}"));
    expect_uncovered(fixture_get(f, "auditor",
                                 domain_path("/v1/q-releases/%s/certificate",
                                             response_text(later, "/q_release"))),
                     dataset);
}

/* What a job pays that is cancelled at pulse number AT; its shards have many steps. */
static double cancel_at(const char *body, unsigned at, const char *why)
{
    struct response *made = fixture_post(f, "steward", "/v1/jobs", body);
    expect_status(made, 202);
    struct domain_meddler meddler = {
        .f = f,
        .advance_ms = 2000,
        .act_at = at,
        .cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"))};
    cr_assert_eq(domain_turn(f, "w", domain_meddle, &meddler), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_expect_str_eq(response_text(job, "/state"), "cancelled");
    cr_expect_not_null(strstr(response_text(job, "/why"), why), "%s", job->body);
    return response_number(job, "/paid/epsilon");
}

/* The noise of shards comes last and cannot be divided; that of rewards comes with each update. */
Test(gp_job, a_cancelled_one_pays_for_what_it_did)
{
    const char *dataset = line_world(10);
    cr_expect_eq(cancel_at(JOB(dataset, 200, 1, "}"), 1, "No noisy step had run"), 0);
    cr_expect_gt(cancel_at(JOB(dataset, 200, 1, "}"), 9, "as much as its whole price"), 0.999);
    double paid = cancel_at(REWARD(dataset, UNDERSTOOD), 9, " of its 20 noisy steps had run");
    cr_expect(paid > 0 && paid < 0.9, "%g", paid);
}

/* Few steps of much noise are (0, delta)-private. They pay their delta, and the rest is free again.
 */
Test(gp_job, a_cancelled_one_may_pay_a_delta_alone)
{
    const char *job = domain_path(
        "{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",\"privacy\":{\"unit\":\"reward\","
        "\"epsilon\":0.001,\"delta\":1e-4,\"force\":true" UNDERSTOOD
        "},\"parameters\":{\"updates\":1000,"
        "\"knot_bits\":5,\"value_limit\":200,\"reward_scale\":10}}",
        line_world(10));
    const char *why =
        " of its 1000 noisy steps had run. They cost epsilon 0 at its delta of 0.0001.";
    cr_expect_eq(cancel_at(job, 9, why), 0);
}

Test(gp_job, rewards_are_protected_in_a_world)
{
    struct response *job = domain_run(
        f, "{\"algorithm\":\"gp_q_learning\",\"environment\":\"cartpole\",\"privacy\":{\"unit\":"
           "\"reward\",\"epsilon\":1,\"delta\":1e-5},\"parameters\":{\"updates\":5,\"radius\":1e4},"
           "\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":2,\"max_episode_steps\":30}}");
    cr_expect(json_is_null(response_at(job, "/dataset")));
    cr_expect_gt(response_number(job, "/evaluation/mean_return"), 0);
    cr_expect_str_eq(response_text(job, "/release/form"), "features");
    cr_expect_eq(strncmp(response_text(job, "/policy"), "pol_", 4), 0);
    struct response *certificate =
        fixture_get(f, "auditor",
                    domain_path("/v1/q-releases/%s/certificate", response_text(job, "/q_release")));
    cr_expect(json_is_null(response_at(certificate, "/dataset")));
    cr_expect(json_is_null(response_at(certificate, "/ledger/account")));
    /* Nobody's account was debited, and returns were shown. */
    cr_expect(strstr(certificate->body, "does not cover this release") == NULL);
    cr_expect(strstr(certificate->body, "Every job on the dataset that has a mechanism") == NULL);
    cr_expect(strstr(certificate->body, "No account was debited") != NULL);
    cr_expect(strstr(certificate->body, "without noise: whoever") != NULL);
}

Test(gp_job, unit_reward_says_what_it_lacks)
{
    const char *dataset = line_world(3);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", REWARD(dataset, "")),
                   "/privacy/i_understand");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                REWARD(dataset, ",\"i_understand\":\"policies_only\"")),
                   "/privacy/i_understand");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", JOB(dataset, 9, 1, UNDERSTOOD "}")),
                   "/privacy/i_understand");
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs", JOB(dataset, 9, 1, ",\"unit\":\"episode\"}")),
        "/privacy/unit");
#define NO_DATASET(unit)                                                                           \
    "{\"algorithm\":\"gp_q_learning\"," unit "\"privacy\":{\"unit\":\"reward\",\"epsilon\":1,"     \
    "\"delta\":1e-5}}"
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", NO_DATASET("")), "/dataset");
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs", NO_DATASET("\"environment\":\"nowhere\",")),
        "/environment");
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs",
                     domain_path("{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\","
                                 "\"environment\":\"cartpole\",\"privacy\":{\"unit\":\"reward\","
                                 "\"epsilon\":1,\"delta\":1e-5" UNDERSTOOD "}}",
                                 dataset)),
        "/environment");
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs",
                     "{\"algorithm\":\"gp_q_learning\",\"environment\":\"cartpole\",\"privacy\":{"
                     "\"epsilon\":1,\"delta\":1e-5}}"),
        "/environment");
    /* Values that the noise drowns are said so before they cost anything. */
    struct response *r = fixture_post(
        f, "steward", "/v1/jobs",
        domain_path("{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",\"privacy\":{\"unit\":"
                    "\"reward\",\"epsilon\":1,\"delta\":1e-5" UNDERSTOOD
                    "},\"parameters\":{\"value_limit\":5}}",
                    dataset));
    expect_invalid(r, "/parameters/value_limit");
    cr_expect(strstr(r->body, "times the range") != NULL);
    /* The range of released coefficients is their ball's. */
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs", NO_DATASET("\"environment\":\"cartpole\",")),
        "/parameters/radius");
    cr_expect_eq(domain_spent(f, dataset), 0);
}

/* ---- one key */

/* Lets a worker look up LEFT times, then stops it. */
static bool later(void *context)
{
    int *left = context;
    return --*left <= 0;
}

/* Wherever the worker is stopped, before the release or while it plays, one job ends in one release
 * and pays once. */
Test(gp_job, a_worker_may_be_stopped_anywhere)
{
    const char *dataset = domain_sealed(f, "private", 6);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", CART(dataset, "grid"));
    expect_status(made, 202);
    const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    int turns = 0;
    enum api_job_turn turn = API_JOB_PAUSED;
    for (int patience = 1; turn == API_JOB_PAUSED && turns < 600; turns++, patience += 3) {
        int left = patience;
        turn = domain_turn(f, "w", later, &left);
        fixture_advance(40000);
    }
    cr_assert_eq(turn, API_JOB_RAN);
    cr_expect_gt(turns, 3);
    struct response *job = fixture_get(f, "steward", path);
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    cr_expect_eq(strncmp(response_text(job, "/q_release"), "qre_", 4), 0);
    struct response *list = fixture_get(f, "steward", "/v1/q-releases");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 1);
    double paid = domain_spent(f, dataset);
    cr_expect(paid > 0.999 && paid <= 1, "%.9f", paid);
}

/* What a checkpoint of the training holds, the sum over shards without noise, is sealed. */
struct at_shard {
    const char *job;
    void *seen;
    size_t size;
    int64_t step;
};

static bool when_saved(void *context)
{
    struct at_shard *at = context;
    free(at->seen);
    at->seen = NULL;
    enum db_status status =
        jobs_load_checkpoint(fixture_db(f), at->job, &at->step, &at->seen, &at->size);
    fixture_advance(6000); /* the next pulse saves */
    return status == DB_OK && at->step > 0;
}

Test(gp_job, a_checkpoint_of_the_shards_is_sealed)
{
    const char *dataset = domain_sealed(f, "private", 6);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", CART(dataset, "grid"));
    expect_status(made, 202);
    struct at_shard at = {.job = response_text(made, "/id")};
    cr_assert_eq(domain_turn(f, "first", when_saved, &at), API_JOB_PAUSED);
    cr_assert_not_null(at.seen);
    static const uint32_t clear = 0x48535354; /* how a checkpoint of shards begins */
    cr_expect_neq(memcmp(at.seen, &clear, sizeof clear), 0);
    size_t length = 0;
    unsigned char *secret = sealed_open(fixture_app(f), dataset, at.job, at.seen, at.size, &length);
    cr_assert_not_null(secret);
    cr_expect_eq(memcmp(secret, &clear, sizeof clear), 0);
    cr_expect_null(memmem(at.seen, at.size, secret + 64, 32));
    sodium_free(secret);
    free(at.seen);
    fixture_advance(40000);
    cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", domain_path("/v1/jobs/%s", at.job));
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
}

/* Stopped when the release has been put on disk and plays: the next worker's is that one. */
struct at_play {
    const char *job;
    void *seen; /* the checkpoint */
    size_t size;
};

static bool when_kept(void *context)
{
    struct at_play *at = context;
    int64_t step;
    size_t size = 0;
    unsigned char *bytes = domain_checkpoint(f, at->job, &step, &size);
    if (!bytes || size < 4 || memcmp(bytes, "TCQR", 4) != 0) {
        sodium_free(bytes);
        return false;
    }
    sodium_free(at->seen);
    at->seen = bytes;
    at->size = size;
    return true;
}

Test(gp_job, what_has_played_is_what_is_released)
{
    const char *dataset = domain_sealed(f, "private", 6);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", CART(dataset, "grid"));
    expect_status(made, 202);
    struct at_play at = {.job = response_text(made, "/id")};
    cr_assert_eq(domain_turn(f, "first", when_kept, &at), API_JOB_PAUSED);
    cr_assert_not_null(at.seen);
    void *before = at.seen;
    at.seen = NULL;
    cr_assert_eq(domain_turn(f, "second", when_kept, &at), API_JOB_PAUSED);
    cr_expect_not_null(at.seen);
    fixture_advance(40000);
    cr_assert_eq(domain_turn(f, "third", NULL, NULL), API_JOB_RAN);
    struct response *job = fixture_get(f, "steward", domain_path("/v1/jobs/%s", at.job));
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    /* The kept bytes, opened by the one who can, hold the values that are answered now. */
    size_t length = 0;
    unsigned char *secret = sealed_open(fixture_app(f), dataset, at.job,
                                        (unsigned char *)before + 4, at.size - 4, &length);
    cr_assert_not_null(secret);
    double corner; /* the first node's value: after the key's place */
    memcpy(&corner, secret + GAUSSIAN_PATH_KEY_BYTES, sizeof corner);
    struct response *r = fixture_post(
        f, "steward", domain_path("/v1/q-releases/%s/queries", response_text(job, "/q_release")),
        "{\"states\":[[-2.4,-3,-0.21,-3]]}");
    cr_expect_eq(response_number(r, "/values/0/0"), corner);
    sodium_free(before);
    sodium_free(at.seen);
    sodium_free(secret);
}
