/* Jobs that ask a teacher: refused where they make no sense, paid answer by answer on the way that
 * students take, silent when nobody pays, and never charged twice. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/teachers/teacher_shelf.h"
#include "tests/unit/api/kickstart_desk.h"
#include "tests/unit/api/service.h"

TestSuite(kickstart_job, .init = service_open, .fini = service_close);

static const char *gaussian(void)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":"
                    "0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":0.001},\"budget\":"
                    "{\"epsilon\":8,\"delta\":1e-5},\"client_budget\":{\"epsilon\":4,\"delta\":"
                    "1e-5}}",
                    domain_policy(f)));
    expect_status(made, 201);
    return response_text(made, "/id");
}

Test(kickstart_job, refuses_what_it_cannot_be)
{
    const char *id = kickstart_teacher(f, 1e4);
    const char *stranger = fixture_token_client(f, fixture_new_token(f, "auditor"));
#define KICKSTART(rest) domain_path("{\"algorithm\":\"kickstart\"" rest "}", id)
    const char *cases[][2] = {
        {KICKSTART(",\"teacher\":\"%s\""), "/environment"},
        {"{\"algorithm\":\"kickstart\",\"environment\":\"cartpole\"}", "/teacher"},
        {"{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"client\":\"cli_x\"}", "/client"},
        {domain_path("{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"teacher\":\"%s\"}", id),
         "/teacher"},
        {kickstart_job(id, ",\"mechanism\":\"none\"", ""), "/teacher"},
        {kickstart_job("tch_nobody", "", ""), "/teacher"},
        {KICKSTART(",\"environment\":\"acrobot\",\"teacher\":\"%s\""), "/teacher"},
        {kickstart_job(id, ",\"client\":\"cli_nobody\"", ""), "/client"},
        {kickstart_job(id, domain_path(",\"client\":\"%s\"", stranger), ""), "/client"},
        {kickstart_job(id, ",\"privacy\":{\"epsilon\":1,\"delta\":1e-5}", ""), "/privacy"},
        {kickstart_job(id, ",\"sweep\":{\"awareness\":[0,1]}", ""), "/sweep"},
        {kickstart_job(id, "", ",\"awareness\":-1"), "/parameters/awareness"},
        {kickstart_job(id, "", ",\"concentration\":5"), "/parameters/concentration"},
        {KICKSTART(",\"environment\":\"cartpole\",\"teacher\":\"%s\",\"parameters\":{"
                   "\"questions\":2000}"),
         "/parameters/questions"},
        {kickstart_job(gaussian(), "", ",\"concentration\":50"), "/parameters/concentration"},
        {kickstart_job(gaussian(), "", ",\"vanishing\":0.9"), "/parameters/vanishing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", cases[i][0]), cases[i][1]);
    }
    /* Whether there is such a client is not told. */
    const char *const clients[] = {"cli_nobody", stranger};
    for (int i = 0; i < 2; i++) {
        struct response *r =
            fixture_post(f, "steward", "/v1/jobs",
                         kickstart_job(id, domain_path(",\"client\":\"%s\"", clients[i]), ""));
        cr_expect_str_eq(response_text(r, "/errors/0/detail"),
                         domain_path("has no budget to pay from: PUT /v1/teachers/%s/budgets/%s "
                                     "grants one",
                                     id, clients[i]));
    }
    expect_problem(fixture_post(f, "student", "/v1/jobs", kickstart_job(id, "", "")), "forbidden");
    cr_assert_eq(kickstart_spent(f, id, "steward"), 0);
}

/* A teacher of another project is not read, whether it is open, closed or deleted: it gets the
 * answer of one that never was. */
Test(kickstart_job, of_a_foreign_teacher_tells_what_it_tells_of_none)
{
    static const char *const routes[] = {"/v1/jobs", "/v1/jobs:estimate"};
    const char *teachers[4] = {"tch_nobody"};
    for (int i = 1; i < 4; i++)
        teachers[i] = kickstart_teacher(f, 1e4);
    for (int i = 2; i < 4; i++)
        expect_status(
            fixture_post(f, "steward", domain_path("/v1/teachers/%s:close", teachers[i]), NULL),
            200);
    expect_status(fixture_delete(f, "steward", domain_path("/v1/teachers/%s", teachers[3])), 204);
    const char *other = fixture_new_token(f, "steward");
    for (int i = 0; i < 8; i++) {
        struct response *r =
            fixture_ask(f, &(struct ask){.method = "POST",
                                         .path = routes[i % 2],
                                         .token = other,
                                         .key = domain_path("k%d", i),
                                         .body = kickstart_job(teachers[i / 2], "", "")});
        expect_invalid(r, "/teacher");
        cr_expect_str_eq(response_text(r, "/errors/0/detail"), "is not known, or closed");
        cr_expect_null(teacher_shelf_at_hand(fixture_app(f), teachers[i / 2]));
    }
}

Test(kickstart_job, pays_for_every_answer_and_says_so)
{
    const char *id = kickstart_teacher(f, 1e4);
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", kickstart_job(id, "", ""));
    expect_status(estimate, 200);
    cr_assert_eq(response_number(estimate, "/asking/rollouts_paid"), KICKSTART_ROLLOUTS);
    cr_assert_eq(response_number(estimate, "/asking/states_paid"),
                 KICKSTART_ROLLOUTS * KICKSTART_QUESTIONS);
    double price = response_number(estimate, "/cost/epsilon");
    cr_assert_gt(price, 0);
    cr_assert_eq(kickstart_spent(f, id, "steward"), 0, "an estimate is free");

    struct response *job = domain_run(f, kickstart_job(id, "", ""));
    cr_assert_str_eq(response_text(job, "/mechanism"), "teacher_answers");
    cr_assert_str_eq(response_text(job, "/teacher/id"), id);
    cr_assert_str_eq(response_text(job, "/teacher/client"), fixture_client(f, "steward"));
    cr_assert_eq(response_number(job, "/findings/states_answered"),
                 KICKSTART_ROLLOUTS * KICKSTART_QUESTIONS);
    cr_assert_null(response_at(job, "/findings/alone_since_step"));
    cr_assert_float_eq(response_number(job, "/findings/epsilon_spent"), price, 1e-9 * price);
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), price, 1e-9 * price);
    cr_assert_float_eq(kickstart_spent(f, id, "steward"), price, 1e-9 * price);
    cr_assert_str_eq(response_text(job, "/privacy/unit"), "observation");
    cr_assert_geq(response_number(job, "/progress/mean_return"), 8);

    const char *policy = response_text(job, "/policy");
    struct response *certificate =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", policy));
    expect_status(certificate, 200);
    cr_assert(json_is_null(response_at(certificate, "/dataset_covered")), "it was imported");
    cr_assert_str_eq(response_text(certificate, "/privacy/unit"), "observation");
    cr_assert_str_eq(response_text(certificate, "/teacher/id"), id);
    /* The limit of the account is the guarantee, not what was spent of it. */
    cr_assert_eq(response_number(certificate, "/privacy/epsilon"), 1e4);
    cr_assert_eq(response_number(certificate, "/privacy/delta"), 1e-2);
    cr_assert_lt(price, 1e4);
    cr_assert_not_null(strstr(response_text(certificate, "/privacy/accountant"), "limit"));
    expect_status(fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy)), 200);
    domain_expect_whole_ledger(f);
}

#define MEANS "the pilot, with all flights"

static const char *described_dataset(void)
{
    return domain_sealed_of(
        f,
        "{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":\"private\",\"budget\":"
        "{\"epsilon\":10,\"delta\":1e-5},\"description\":{\"row\":\"a moment\",\"expert\":\"" MEANS
        "\",\"features\":[{\"name\":\"x\",\"low\":-5,\"high\":5},{\"name\":\"v\",\"low\":-5,"
        "\"high\":5},{\"name\":\"a\",\"low\":-5,\"high\":5},{\"name\":\"w\",\"low\":-5,\"high\":5}]"
        ","
        "\"actions\":[\"left\",\"right\"]}}",
        8);
}

/* The certificate of a student of a new teacher over the policy that the job TRAINS makes. */
static struct response *student_certificate(const char *trains, double epsilon, const char *teacher)
{
    const char *policy = response_text(domain_run(f, trains), "/policy");
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path(
            "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.3},"
            "\"budget\":{\"epsilon\":%g,\"delta\":1e-6},\"client_budget\":{\"epsilon\":%g,"
            "\"delta\":1e-6},%s}",
            policy, epsilon, epsilon, teacher));
    expect_status(made, 201);
    struct response *job = domain_run(f, kickstart_job(response_text(made, "/id"), "", ""));
    struct response *certificate = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    expect_status(certificate, 200);
    cr_expect_str_eq(response_text(certificate, "/expert_means"), MEANS);
    cr_expect_str_eq(response_text(certificate, "/dataset_description/row"), "a moment");
    domain_expect_whole_ledger(f);
    return certificate;
}

static bool says_uncovered(const struct response *certificate)
{
    return strstr(certificate->body, "their budget does not cover");
}

/* The teacher answers from a dataset: its student's certificate says of it what the teacher's does.
 */
Test(kickstart_job, a_student_names_the_dataset_behind_its_teacher)
{
    const char *dataset = described_dataset();
    struct response *certificate = student_certificate(
        domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":4,\"parameters\":"
                    "{\"hidden\":[4],\"batch_size\":2,\"steps\":5}}",
                    dataset),
        8, "\"adjacency\":{\"unit\":\"expert\"}");
    cr_expect(json_is_true(response_at(certificate, "/dataset_covered")), "%s", certificate->body);
    cr_expect_not(says_uncovered(certificate));

    certificate = student_certificate(domain_unprotected_job(dataset, 5), 60,
                                      "\"i_understand\":\"not_private\",\"adjacency\":{\"unit\":"
                                      "\"observation\",\"radius\":0.001}");
    cr_expect(json_is_false(response_at(certificate, "/dataset_covered")), "%s", certificate->body);
    cr_expect(says_uncovered(certificate));
}

Test(kickstart_job, the_named_client_pays)
{
    const char *id = kickstart_teacher(f, 1e4);
    domain_run(
        f, kickstart_job(id, domain_path(",\"client\":\"%s\"", fixture_client(f, "student")), ""));
    cr_assert_gt(kickstart_spent(f, id, "student"), 0);
    cr_assert_eq(kickstart_spent(f, id, "steward"), 0);
}

static struct response *guarantee(const char *id, const char *role, double answers)
{
    return fixture_put(
        f, "steward", domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, role)),
        domain_path("{\"epsilon\":100,\"delta\":1e-5,\"guaranteed\":{\"answers\":%.0f}}", answers));
}

static double rollouts_paid(const char *id, const char *role)
{
    struct response *estimate = fixture_post(
        f, "steward", "/v1/jobs:estimate",
        kickstart_job(id, domain_path(",\"client\":\"%s\"", fixture_client(f, role)), ""));
    expect_status(estimate, 200);
    return response_number(estimate, "/asking/rollouts_paid");
}

/* The cap has set everything aside: 4 roll-outs for the steward, the rest for the student. */
Test(kickstart_job, an_estimate_counts_what_is_set_aside_for_the_payer)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 8, 4));
    const char *id = response_text(made, "/id");
    expect_status(guarantee(id, "steward", 4.0 * KICKSTART_QUESTIONS + 3), 201);
    struct response *refused = guarantee(id, "student", 30000);
    cr_assert_not_null(response_at(refused, "/largest/answers"), "%s", refused->body);
    double largest = response_number(refused, "/largest/answers");
    expect_status(guarantee(id, "student", largest), 201);
    cr_expect_eq(rollouts_paid(id, "steward"), 4);
    cr_expect_eq(rollouts_paid(id, "student"), KICKSTART_ROLLOUTS);
    struct response *job = domain_run(f, kickstart_job(id, "", ""));
    cr_expect_eq(response_number(job, "/findings/states_answered"), 4 * KICKSTART_QUESTIONS);
}

static void go_alone(const char *when_spent)
{
    const char *id = kickstart_teacher_when(f, 1e4, when_spent);
    double all =
        response_number(fixture_post(f, "steward", "/v1/jobs:estimate", kickstart_job(id, "", "")),
                        "/cost/epsilon");
    expect_status(
        fixture_put(f, "steward",
                    domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, "steward")),
                    domain_path("{\"epsilon\":%.17g,\"delta\":1e-2}", 0.5 * all)),
        201);
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", kickstart_job(id, "", ""));
    double paid = response_number(estimate, "/asking/rollouts_paid");
    cr_assert_eq(paid, 2);
    struct response *job = domain_run(f, kickstart_job(id, "", ""));
    cr_assert_eq(response_number(job, "/findings/alone_since_step"), paid);
    cr_assert_eq(response_number(job, "/findings/states_answered"), paid * KICKSTART_QUESTIONS);
    cr_assert_leq(kickstart_spent(f, id, "steward"), 0.5 * all);
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"),
                       kickstart_spent(f, id, "steward"), 1e-9);
    /* The next one has nothing left, and learns all the same. */
    job = domain_run(f, kickstart_job(id, "", ""));
    cr_assert_eq(response_number(job, "/findings/alone_since_step"), 0);
    cr_assert_eq(response_number(job, "/findings/states_answered"), 0);
    struct response *certificate = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    cr_assert_eq(response_number(certificate, "/privacy/epsilon"), 0);
}

Test(kickstart_job, goes_on_alone_when_nobody_pays)
{
    go_alone("refuse");
}

/* Random answers say nothing of the teacher, so they end its help as a refusal does. */
Test(kickstart_job, goes_on_alone_when_answers_are_random)
{
    go_alone("random");
}

Test(kickstart_job, a_schedule_of_its_own_ends_in_silence)
{
    const char *id = kickstart_teacher(f, 1e4);
    /* 20 times 0.8 is 16, then 12.8, 10.24, and below 10 nothing is asked. */
    struct response *job = domain_run(f, kickstart_job(id, "", ",\"vanishing\":0.8"));
    cr_assert_eq(response_number(job, "/findings/states_answered"), 3 * KICKSTART_QUESTIONS);
    cr_assert_eq(response_number(job, "/findings/alone_since_step"), 3);
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate",
                                             kickstart_job(id, "", ",\"vanishing\":0.8"));
    cr_assert_eq(response_number(estimate, "/asking/rollouts_paid"), 3);
    job = domain_run(f, kickstart_job(id, "", ",\"asking_rollouts\":2"));
    cr_assert_eq(response_number(job, "/findings/states_answered"), 2 * KICKSTART_QUESTIONS);
    /* Without help it is a job like any other in a world. */
    double before = kickstart_spent(f, id, "steward");
    job = domain_run(f, "{\"algorithm\":\"kickstart\",\"mechanism\":\"none\",\"environment\":"
                        "\"cartpole\",\"parameters\":{" KICKSTART_SMALL "}}");
    cr_assert(json_is_null(response_at(job, "/privacy")));
    cr_assert(json_is_null(response_at(job, "/teacher")));
    cr_assert_eq(kickstart_spent(f, id, "steward"), before);
}

Test(kickstart_job, pauses_anywhere_and_pays_once)
{
    const char *id = kickstart_teacher(f, 1e4);
    double price =
        response_number(fixture_post(f, "steward", "/v1/jobs:estimate", kickstart_job(id, "", "")),
                        "/cost/epsilon");
    bool stopped = true;
    int n = 0;
    for (; stopped && n < 100; n++) {
        double before = kickstart_spent(f, id, "steward");
        struct response *made = fixture_post(f, "steward", "/v1/jobs", kickstart_job(id, "", ""));
        expect_status(made, 202);
        int left = n;
        stopped = domain_turn(f, "first", kickstart_stop_at, &left) == API_JOB_PAUSED;
        if (stopped)
            cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
        struct response *job =
            fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
        cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
        cr_assert_eq(response_number(job, "/findings/states_answered"),
                     KICKSTART_ROLLOUTS * KICKSTART_QUESTIONS);
        cr_assert_float_eq(kickstart_spent(f, id, "steward") - before, price, 1e-9);
    }
    cr_assert(n > KICKSTART_ROLLOUTS && n < 100, "%d", n);
    domain_expect_whole_ledger(f);
}

Test(kickstart_job, is_cancelled_and_has_paid_for_what_it_heard)
{
    const char *id = kickstart_teacher(f, 1e4);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", kickstart_job(id, "", ""));
    const char *cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"));
    int left = 4;
    cr_assert_eq(domain_turn(f, "first", kickstart_stop_at, &left), API_JOB_PAUSED);
    double heard = kickstart_spent(f, id, "steward");
    cr_assert_gt(heard, 0);
    expect_status(fixture_post(f, "steward", cancel, NULL), 200);
    cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    struct response *job =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), heard, 1e-9);
    cr_assert_eq(kickstart_spent(f, id, "steward"), heard);
}
