/* What offline learning is asked that it cannot do, over the API: the status, where the fault is,
 * and what was charged: nothing, or what was executed. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(offline_bad_input, .init = service_open, .fini = service_close);

/* What is spent on DATASET; nothing may be reserved, and the ledger is whole. */
static double spent(const char *dataset, const char *what)
{
    domain_expect_whole_ledger(f);
    struct response *budget =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", dataset));
    cr_assert_eq(response_number(budget, "/reserved/epsilon"), 0);
    return response_number(budget, domain_path("/spent/%s", what));
}

static const char *dataset_of(const char *more)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/datasets",
                     domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":"
                                 "\"private\",\"budget\":{\"epsilon\":300,\"delta\":1e-2}%s}",
                                 more));
    expect_status(made, 201);
    return response_text(made, "/id");
}

/* One expert can be learned from under its own budget; what experts have in common cannot be shown
 * of it. */
Test(offline_bad_input, a_dataset_with_one_expert)
{
    static const char *const refused[] = {
        "\"selective_dpsgd\",\"privacy\":{\"epsilon\":50,\"delta\":1e-3}",
        "\"consensus\",\"privacy\":{\"epsilon\":50,\"delta\":1e-3}"};
    const char *id = domain_crowd(f, 1, false);
    for (int i = 0; i < 2; i++) {
        const char *body = domain_path(
            "{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"mechanism\":%s}", id, refused[i]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), "/dataset");
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", body), "/dataset");
    }
    const char *advised = domain_path("{\"dataset\":\"%s\",\"privacy\":{\"epsilon\":5,"
                                      "\"delta\":1e-6}}",
                                      id);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs:advise", advised), "/dataset");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                domain_path("{\"algorithm\":\"auto\",%s", advised + 1)),
                   "/dataset");
    struct response *hopeless = fixture_post(
        f, "steward", "/v1/jobs",
        domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":1,"
                    "\"delta\":1e-6,\"force\":false}}",
                    id));
    expect_problem(hopeless, "hopeless-plan");
    cr_expect_not_null(strstr(response_text(hopeless, "/detail"), "With 1 expert and epsilon 1 "),
                       "%s", hopeless->body);
    cr_expect_eq(spent(id, "epsilon"), 0);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 5, 9)),
                   "/parameters/batch_size"); /* two */
    struct response *job = domain_run(
        f, domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
                       "\"privacy\":{\"epsilon\":5,\"delta\":1e-6},\"parameters\":{\"hidden\":[4],"
                       "\"steps\":9}}",
                       id));
    double paid = response_number(job, "/privacy/spent/epsilon");
    cr_expect(paid > 4.9 && paid <= 5, "%g", paid);
    cr_expect_float_eq(spent(id, "epsilon"), paid, 1e-9);
}

/* 40 experts who take action 1 alone, for a reward of 1 each. */
static char *single_minded(void)
{
    char *text = malloc(40 * 256);
    size_t at = 0;
    for (unsigned e = 0; e < 40; e++)
        at += (size_t)sprintf(
            text + at,
            "{\"expert\":\"e%u\",\"states\":[[0,0,0,0],[0.01,0,%g,0],[0.02,0,0,0.1]],"
            "\"actions\":[1,1],\"rewards\":[1,1],\"terminated\":true,"
            "\"truncated\":false}\n",
            e, e / 1000.0);
    return text;
}

/* Whether an action was ever taken, or a reward ever differed, is a fact of private data: no answer
 * may tell it. So the training is accepted, pays as any other and gives a policy. */
Test(offline_bad_input, an_action_that_nobody_takes_and_rewards_that_are_all_alike)
{
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    static const char budget[] = "\"budget\":{\"epsilon\":300,\"delta\":1e-2}";
    static const char form[] = "{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":"
                               "\"%s\",%s}";
    char *lines = single_minded();
    const char *usual = domain_sealed_of(f, domain_path(form, "private", budget), 40);
    const char *id = domain_sealed_lines(f, domain_path(form, "private", budget), lines);
    const char *open = domain_sealed_lines(f, domain_path(form, "public", budget), lines);
    free(lines);
    for (int i = 0; i < 3; i++) {
        struct response *jobs[2];
        for (int k = 0; k < 2; k++)
            jobs[k] = domain_run(
                f, domain_path("{\"algorithm\":\"%s\",\"dataset\":\"%s\",\"privacy\":{"
                               "\"epsilon\":5,\"delta\":1e-6,\"force\":true},\"parameters\":{"
                               "\"hidden\":[4],\"batch_size\":4,\"steps\":20}}",
                               algorithms[i], k == 0 ? usual : id));
        cr_expect_eq(response_number(jobs[0], "/privacy/spent/epsilon"),
                     response_number(jobs[1], "/privacy/spent/epsilon"));
        cr_expect(json_equal(response_at(jobs[0], "/notes"), response_at(jobs[1], "/notes")));
        cr_expect_str_neq(response_text(jobs[1], "/policy"), "");
    }
    /* Public data may tell, and their judge does. */
    struct response *judged = domain_run(
        f,
        domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"none\",\"dataset\":\"%s\","
                    "\"parameters\":{\"hidden\":[4],\"steps\":20},\"judge\":{\"dataset\":\"%s\"}}",
                    open, open));
    cr_expect_str_eq(response_text(judged, "/findings/judge/verdict"), "not_supported");
    cr_expect_not_null(strstr(judged->body, "All logged returns are alike."), "%s", judged->body);
}

/* It uploaded a network and nothing else: it counts as an expert, speaks in the first stage, and
 * adds nothing to a gradient. */
Test(offline_bad_input, an_expert_with_no_trajectory, .timeout = 600)
{
    const char *id = dataset_of(",\"min_action_probability\":0.4,\"max_episode_steps\":30");
    domain_fill(f, id, 5);
    expect_status(fixture_put(f, "steward",
                              domain_path("/v1/datasets/%s/experts/silent/policy", id),
                              "{\"activation\":\"relu\",\"layers\":[{\"weight\":[[0,0,0,0],"
                              "[0.02,0.1,1,0.5]],\"bias\":[0,0]}],\"output\":\"argmax\"}"),
                  204);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", id), NULL), 200);
    struct response *shown = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_expect_eq(response_number(shown, "/experts"), 6, "%s", shown->body);
    static const char consensus[] =
        "\"consensus\",\"privacy\":{\"epsilon\":5,\"delta\":1e-6,\"consensus\":{\"labels\":40}}";
    static const char *const jobs[][2] = {
        {"behaviour_cloning", "\"dpsgd\",\"privacy\":{\"epsilon\":5,\"delta\":1e-6}"},
        {"behaviour_cloning", consensus},
        {"cql", consensus},
        {"behaviour_cloning", "\"selective_dpsgd\",\"privacy\":"
                              "{\"epsilon\":100,\"delta\":1e-3,\"stable\":{\"count\":1}}"}};
    double before = 0;
    for (int i = 0; i < 4; i++) {
        struct response *job =
            domain_run(f, domain_path("{\"algorithm\":\"%s\",\"dataset\":\"%s\","
                                      "\"parameters\":{\"hidden\":[4],\"batch_size\":4,"
                                      "\"steps\":20,\"arithmetic\":\"float\"},\"mechanism\":%s}",
                                      jobs[i][0], id, jobs[i][1]));
        double paid = response_number(job, "/privacy/spent/epsilon");
        cr_expect_gt(paid, 4.9);
        cr_expect_float_eq(spent(id, "epsilon"), before + paid, 1e-8);
        before += paid;
    }
}

/* Refused when it is declared, so that no job meets it. */
Test(offline_bad_input, a_floor_above_one_over_the_actions)
{
    static const char *const floors[] = {"0.51", "0.6", "1"};
    for (int i = 0; i < 3; i++) {
        expect_invalid(
            fixture_post(f, "steward", "/v1/datasets",
                         domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":"
                                     "{\"epsilon\":1,\"delta\":1e-5},\"min_action_probability\":"
                                     "%s}",
                                     floors[i])),
            "/min_action_probability");
        expect_invalid(
            fixture_post(f, "steward", "/v1/datasets",
                         domain_path("{\"name\":\"d\",\"environment\":\"acrobot\",\"budget\":"
                                     "{\"epsilon\":1,\"delta\":1e-5},\"min_action_probability\":"
                                     "%s}",
                                     i == 0 ? "0.34" : floors[i])),
            "/min_action_probability");
    }
    cr_expect_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/datasets"), "/items")),
                 0);
}

/* The whole upload is refused with the line, and the dataset is as it was. */
Test(offline_bad_input, a_trajectory_longer_than_declared)
{
    const char *id = dataset_of(",\"max_episode_steps\":30");
    char *good = domain_lines(2, 30), *bad = domain_lines(1, 31);
    char *both = malloc(strlen(good) + strlen(bad) + 1);
    sprintf(both, "%s%s", good, bad);
    struct response *refused = domain_upload(f, NULL, id, both, 0, NULL);
    expect_invalid(refused, "/states");
    cr_expect_eq(response_number(refused, "/errors/0/line"), 3, "%s", refused->body);
    struct response *shown = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_expect_eq(response_number(shown, "/trajectories"), 0);
    cr_expect_eq(response_number(shown, "/experts"), 0);
    expect_status(domain_upload(f, NULL, id, good, 0, NULL), 201);
    free(good);
    free(bad);
    free(both);
}

/* The noise is given, and one step of it costs more than what is asked for. */
Test(offline_bad_input, a_budget_too_small_for_one_step)
{
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    const char *id = domain_sealed(f, "private", 10);
    for (int i = 0; i < 6; i++) {
        const char *body = domain_path(
            "{\"algorithm\":\"%s\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\",\"privacy\":"
            "{\"epsilon\":0.01,\"delta\":1e-6},\"parameters\":{\"batch_size\":5,"
            "\"noise_multiplier\":0.5%s}}",
            algorithms[i % 3], id, i < 3 ? "" : ",\"arithmetic\":\"exact\"");
        struct response *refused = fixture_post(f, "steward", "/v1/jobs", body);
        expect_problem(refused, "infeasible");
        cr_expect_not_null(strstr(response_text(refused, "/detail"), "one step"), "%s",
                           refused->body);
        struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
        expect_status(estimate, 200);
        cr_expect(json_is_false(response_at(estimate, "/feasible")));
        cr_expect_not_null(strstr(response_text(estimate, "/reason"), "one step"), "%s",
                           estimate->body);
    }
    cr_expect_eq(spent(id, "epsilon"), 0);
    cr_expect_eq(spent(id, "delta"), 0);
}

/* Steps on labels are not clipped: with such a rate they leave what a float can hold. The job fails
 * with a sentence of the closed list, and its stages stay charged whole. */
Test(offline_bad_input, losses_that_are_not_finite, .timeout = 600)
{
    const char *id = domain_crowd(f, 40, true);
    struct response *made = fixture_post(
        f, "steward", "/v1/jobs",
        domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"parameters\":{"
                    "\"hidden\":[64,64],\"batch_size\":4,\"steps\":400,\"optimizer\":\"sgd\","
                    "\"learning_rate\":10,\"input_scale\":1e6,\"huber_threshold\":1e6,"
                    "\"reward_scale\":1e6},\"mechanism\":\"consensus\",\"privacy\":{\"epsilon\":5,"
                    "\"delta\":1e-3,\"consensus\":{\"labels\":100}}}",
                    id));
    expect_status(made, 202);
    double reserved = response_number(made, "/privacy/reserved/epsilon");
    cr_expect_float_eq(reserved, 5, 1e-6);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    cr_expect_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_expect_str_eq(response_text(job, "/error/type"), "/problems/training-failed");
    cr_expect_str_eq(response_text(job, "/error/detail"),
                     "the weights grew without bound; a smaller learning rate helps");
    cr_expect(json_is_null(response_at(job, "/policy")));
    cr_expect_float_eq(spent(id, "epsilon"), reserved, 1e-8);
    cr_expect_gt(response_number(job, "/privacy/spent/delta"), 0);
}
