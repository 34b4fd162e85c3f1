/* Jobs that ask a teacher: refused where they make no sense, paid answer by answer on the way that
 * students take, silent when nobody pays, and never charged twice whatever fails. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/teacher_shelf.h"
#include "storage/jobs.h"
#include "tests/unit/api/domain.h"
#include "tests/unit/api/failing_database.h"

TestSuite(kickstart_job);

#define SMALL                                                                                      \
    "\"hidden\":[8],\"worlds\":4,\"rollout_steps\":16,\"minibatch\":32,\"transitions\":320,"       \
    "\"questions\":8"
enum { ROLLOUTS = 5, QUESTIONS = 8 };

/* A teacher of basic accounting, so that spent epsilon counts answers. */
static const char *teacher(struct fixture *f, double client_epsilon)
{
    const char *body = domain_path(
        "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,"
        "\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":0.001},"
        "\"accounting\":\"basic\",\"budget\":{\"epsilon\":1e6,\"delta\":0.5},"
        "\"client_budget\":{\"epsilon\":%g,\"delta\":1e-2}}",
        domain_policy(f), client_epsilon);
    struct response *made = fixture_post(f, "steward", "/v1/teachers", body);
    expect_status(made, 201);
    return response_text(made, "/id");
}

static const char *gaussian(struct fixture *f)
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

static const char *job_of(const char *id, const char *members, const char *parameters)
{
    return domain_path("{\"algorithm\":\"kickstart\",\"environment\":\"cartpole\",\"teacher\":"
                       "\"%s\"%s,\"parameters\":{" SMALL "%s}}",
                       id, members, parameters);
}

static double spent(struct fixture *f, const char *id, const char *role)
{
    struct response *r = fixture_get(
        f, "steward", domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, role)));
    return r->status == 404 ? 0 : response_number(r, "/spent/epsilon");
}

static void expect_good_ledger(struct fixture *f)
{
    domain_expect_whole_ledger(f);
}

Test(kickstart_job, refuses_what_it_cannot_be)
{
    struct fixture *f = fixture_open();
    const char *id = teacher(f, 1e4);
    const char *stranger = fixture_token_client(f, fixture_new_token(f, "auditor"));
#define KICKSTART(rest) domain_path("{\"algorithm\":\"kickstart\"" rest "}", id)
    const char *cases[][2] = {
        {KICKSTART(",\"teacher\":\"%s\""), "/environment"},
        {"{\"algorithm\":\"kickstart\",\"environment\":\"cartpole\"}", "/teacher"},
        {"{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"client\":\"cli_x\"}", "/client"},
        {domain_path("{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"teacher\":\"%s\"}", id),
         "/teacher"},
        {job_of(id, ",\"mechanism\":\"none\"", ""), "/teacher"},
        {job_of("tch_nobody", "", ""), "/teacher"},
        {KICKSTART(",\"environment\":\"acrobot\",\"teacher\":\"%s\""), "/teacher"},
        {job_of(id, ",\"client\":\"cli_nobody\"", ""), "/client"},
        {job_of(id, domain_path(",\"client\":\"%s\"", stranger), ""), "/client"},
        {job_of(id, ",\"privacy\":{\"epsilon\":1,\"delta\":1e-5}", ""), "/privacy"},
        {job_of(id, ",\"sweep\":{\"awareness\":[0,1]}", ""), "/sweep"},
        {job_of(id, "", ",\"awareness\":-1"), "/parameters/awareness"},
        {job_of(id, "", ",\"concentration\":5"), "/parameters/concentration"},
        {KICKSTART(",\"environment\":\"cartpole\",\"teacher\":\"%s\",\"parameters\":{"
                   "\"questions\":2000}"),
         "/parameters/questions"},
        {job_of(gaussian(f), "", ",\"concentration\":50"), "/parameters/concentration"},
        {job_of(gaussian(f), "", ",\"vanishing\":0.9"), "/parameters/vanishing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", cases[i][0]), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", cases[i][0]), cases[i][1]);
    }
    expect_problem(fixture_post(f, "student", "/v1/jobs", job_of(id, "", "")), "forbidden");
    cr_assert_eq(spent(f, id, "steward"), 0);
    fixture_close(f);
}

Test(kickstart_job, pays_for_every_answer_and_says_so)
{
    struct fixture *f = fixture_open();
    const char *id = teacher(f, 1e4);
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", job_of(id, "", ""));
    expect_status(estimate, 200);
    cr_assert_eq(response_number(estimate, "/asking/rollouts_paid"), ROLLOUTS);
    cr_assert_eq(response_number(estimate, "/asking/states_paid"), ROLLOUTS * QUESTIONS);
    double price = response_number(estimate, "/cost/epsilon");
    cr_assert_gt(price, 0);
    cr_assert_eq(spent(f, id, "steward"), 0, "an estimate is free");

    struct response *job = domain_run(f, job_of(id, "", ""));
    cr_assert_str_eq(response_text(job, "/mechanism"), "teacher_answers");
    cr_assert_str_eq(response_text(job, "/teacher/id"), id);
    cr_assert_str_eq(response_text(job, "/teacher/client"), fixture_client(f, "steward"));
    cr_assert_eq(response_number(job, "/findings/states_answered"), ROLLOUTS * QUESTIONS);
    cr_assert_null(response_at(job, "/findings/alone_since_step"));
    cr_assert_float_eq(response_number(job, "/findings/epsilon_spent"), price, 1e-9 * price);
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), price, 1e-9 * price);
    cr_assert_float_eq(spent(f, id, "steward"), price, 1e-9 * price);
    cr_assert_str_eq(response_text(job, "/privacy/unit"), "observation");
    cr_assert_geq(response_number(job, "/progress/mean_return"), 8);

    const char *policy = response_text(job, "/policy");
    struct response *certificate =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", policy));
    expect_status(certificate, 200);
    cr_assert_str_eq(response_text(certificate, "/privacy/unit"), "observation");
    cr_assert_str_eq(response_text(certificate, "/teacher/id"), id);
    cr_assert_float_eq(response_number(certificate, "/privacy/epsilon"), price, 1e-9 * price);
    expect_status(fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy)), 200);
    expect_good_ledger(f);
    fixture_close(f);
}

Test(kickstart_job, the_named_client_pays)
{
    struct fixture *f = fixture_open();
    const char *id = teacher(f, 1e4);
    domain_run(f, job_of(id, domain_path(",\"client\":\"%s\"", fixture_client(f, "student")), ""));
    cr_assert_gt(spent(f, id, "student"), 0);
    cr_assert_eq(spent(f, id, "steward"), 0);
    fixture_close(f);
}

Test(kickstart_job, goes_on_alone_when_nobody_pays)
{
    struct fixture *f = fixture_open();
    const char *id = teacher(f, 1e4);
    double all = response_number(
        fixture_post(f, "steward", "/v1/jobs:estimate", job_of(id, "", "")), "/cost/epsilon");
    expect_status(
        fixture_put(f, "steward",
                    domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, "steward")),
                    domain_path("{\"epsilon\":%.17g,\"delta\":1e-2}", 0.5 * all)),
        201);
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", job_of(id, "", ""));
    double paid = response_number(estimate, "/asking/rollouts_paid");
    cr_assert_eq(paid, 2);
    struct response *job = domain_run(f, job_of(id, "", ""));
    cr_assert_eq(response_number(job, "/findings/alone_since_step"), paid);
    cr_assert_eq(response_number(job, "/findings/states_answered"), paid * QUESTIONS);
    cr_assert_leq(spent(f, id, "steward"), 0.5 * all);
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), spent(f, id, "steward"),
                       1e-9);
    /* The next one has nothing left, and learns all the same. */
    job = domain_run(f, job_of(id, "", ""));
    cr_assert_eq(response_number(job, "/findings/alone_since_step"), 0);
    cr_assert_eq(response_number(job, "/findings/states_answered"), 0);
    fixture_close(f);
}

Test(kickstart_job, a_schedule_of_its_own_ends_in_silence)
{
    struct fixture *f = fixture_open();
    const char *id = teacher(f, 1e4);
    /* 20 times 0.8 is 16, then 12.8, 10.24, and below 10 nothing is asked. */
    struct response *job = domain_run(f, job_of(id, "", ",\"vanishing\":0.8"));
    cr_assert_eq(response_number(job, "/findings/states_answered"), 3 * QUESTIONS);
    cr_assert_eq(response_number(job, "/findings/alone_since_step"), 3);
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", job_of(id, "", ",\"vanishing\":0.8"));
    cr_assert_eq(response_number(estimate, "/asking/rollouts_paid"), 3);
    job = domain_run(f, job_of(id, "", ",\"asking_rollouts\":2"));
    cr_assert_eq(response_number(job, "/findings/states_answered"), 2 * QUESTIONS);
    /* Without help it is a job like any other in a world. */
    double before = spent(f, id, "steward");
    job = domain_run(f, "{\"algorithm\":\"kickstart\",\"mechanism\":\"none\",\"environment\":"
                        "\"cartpole\",\"parameters\":{" SMALL "}}");
    cr_assert(json_is_null(response_at(job, "/privacy")));
    cr_assert(json_is_null(response_at(job, "/teacher")));
    cr_assert_eq(spent(f, id, "steward"), before);
    fixture_close(f);
}

/* Stops at its N-th question. */
static bool stop_at(void *context)
{
    int *left = context;
    return (*left)-- == 0;
}

Test(kickstart_job, pauses_anywhere_and_pays_once)
{
    struct fixture *f = fixture_open();
    const char *id = teacher(f, 1e4);
    double price = response_number(
        fixture_post(f, "steward", "/v1/jobs:estimate", job_of(id, "", "")), "/cost/epsilon");
    bool stopped = true;
    int n = 0;
    for (; stopped && n < 100; n++) {
        double before = spent(f, id, "steward");
        struct response *made = fixture_post(f, "steward", "/v1/jobs", job_of(id, "", ""));
        expect_status(made, 202);
        int left = n;
        stopped = domain_turn(f, "first", stop_at, &left) == API_JOB_PAUSED;
        if (stopped) {
            cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
        }
        struct response *job =
            fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
        cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
        cr_assert_eq(response_number(job, "/findings/states_answered"), ROLLOUTS * QUESTIONS);
        cr_assert_float_eq(spent(f, id, "steward") - before, price, 1e-9);
    }
    cr_assert(n > ROLLOUTS && n < 100, "%d", n);
    expect_good_ledger(f);
    fixture_close(f);
}

Test(kickstart_job, is_cancelled_and_has_paid_for_what_it_heard)
{
    struct fixture *f = fixture_open();
    const char *id = teacher(f, 1e4);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", job_of(id, "", ""));
    const char *cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"));
    int left = 4;
    cr_assert_eq(domain_turn(f, "first", stop_at, &left), API_JOB_PAUSED);
    double heard = spent(f, id, "steward");
    cr_assert_gt(heard, 0);
    expect_status(fixture_post(f, "steward", cancel, NULL), 200);
    cr_assert_eq(domain_turn(f, "second", NULL, NULL), API_JOB_RAN);
    struct response *job =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), heard, 1e-9);
    cr_assert_eq(spent(f, id, "steward"), heard);
    fixture_close(f);
}

/* A worker gives up at any call of the database and the job is cancelled before another has it: it
 * says what it has paid, to the last answer. */
Test(kickstart_job, is_cancelled_between_workers_and_says_all_that_it_paid)
{
    struct fixture *f = fixture_open_failing();
    const char *id = teacher(f, 1e5);
    bool reached = true;
    int n = 0, unwritten = 0;
    database_failure = DB_FAILED;
    for (; reached && n < 400; n++) {
        double before = spent(f, id, "steward");
        struct response *made = fixture_post(f, "steward", "/v1/jobs", job_of(id, "", ""));
        const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
        database_calls_left = n;
        enum api_job_turn turn = domain_turn(f, "first", NULL, NULL);
        reached = database_calls_left < 0;
        bool gave_up = turn != API_JOB_RAN;
        database_calls_left = -1;
        double paid = spent(f, id, "steward") - before;
        unwritten += gave_up && paid > 0;
        if (gave_up) {
            /* As if it had died before it wrote down what it heard. */
            cr_assert_eq(db_run(fixture_db(f),
                                "UPDATE jobs SET findings = '' WHERE state = 'running'", NULL, 0,
                                NULL, NULL),
                         DB_OK);
            expect_status(fixture_post(f, "steward", domain_path("%s:cancel", path), NULL), 200);
            fixture_advance(400000);
            (void)domain_turn(f, "second", NULL, NULL);
            struct response *job = fixture_get(f, "steward", path);
            cr_assert_str_eq(response_text(job, "/state"), "cancelled");
            double told = response_number(job, "/privacy/spent/epsilon");
            cr_assert_float_eq(isnan(told) ? 0 : told, paid, 1e-9, "%d: %s", n, job->body);
        }
    }
    cr_assert(n > 10 * ROLLOUTS && n < 400, "%d", n);
    cr_assert_gt(unwritten, ROLLOUTS);
    expect_good_ledger(f);
    fixture_close(f);
}

/* Nor does a database that fails while the end is being written make it say less. */
Test(kickstart_job, says_all_that_it_paid_when_the_database_fails_at_its_end)
{
    struct fixture *f = fixture_open_failing();
    const char *id = teacher(f, 1e5);
    bool reached = true;
    int n = 0;
    database_failure = DB_FAILED;
    for (; reached && n < 100; n++) {
        int left = 4;
        double before = spent(f, id, "steward");
        struct response *made = fixture_post(f, "steward", "/v1/jobs", job_of(id, "", ""));
        const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
        cr_assert_eq(domain_turn(f, "first", stop_at, &left), API_JOB_PAUSED);
        double paid = spent(f, id, "steward") - before;
        cr_assert_gt(paid, 0);
        cr_assert_eq(db_run(fixture_db(f), "UPDATE jobs SET findings = '' WHERE state = 'running'",
                            NULL, 0, NULL, NULL),
                     DB_OK);
        expect_status(fixture_post(f, "steward", domain_path("%s:cancel", path), NULL), 200);
        fixture_advance(400000);
        database_calls_left = n;
        enum api_job_turn turn = domain_turn(f, "second", NULL, NULL);
        reached = database_calls_left < 0;
        database_calls_left = -1;
        for (int tries = 0; turn != API_JOB_RAN && tries < 3; tries++) {
            fixture_advance(400000);
            turn = domain_turn(f, "third", NULL, NULL);
        }
        struct response *job = fixture_get(f, "steward", path);
        cr_assert_str_eq(response_text(job, "/state"), "cancelled");
        cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), paid, 1e-9, "%d: %s", n,
                           job->body);
    }
    cr_assert(n > 5 && n < 100, "%d", n);
    fixture_close(f);
}

/* A plan of another version, of which this one can read the teacher and not the settings. */
Test(kickstart_job, fails_with_a_plan_that_is_not_of_this_version)
{
    struct fixture *f = fixture_open();
    const char *id = teacher(f, 1e4);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", job_of(id, "", ""));
    cr_assert_eq(db_run(fixture_db(f),
                        "UPDATE jobs SET plan = json_set(plan, '$.parameters.hidden', 'other')",
                        NULL, 0, NULL, NULL),
                 DB_OK);
    cr_assert_eq(domain_turn(f, "first", NULL, NULL), API_JOB_RAN);
    struct job_row job;
    cr_assert_eq(jobs_find(fixture_db(f), response_text(made, "/id"), &job), DB_OK);
    cr_assert_eq(job.state, JOB_FAILED);
    job_done(&job);
    fixture_close(f);
}

/* A teacher that cannot answer any more, because what it knew is damaged: the job is tried again,
 * and then fails with a reason. It has paid for what it heard and for nothing else. */
Test(kickstart_job, fails_when_its_teacher_fails_again_and_again)
{
    struct fixture *f = fixture_open();
    const char *id = teacher(f, 1e4);
    struct app *app = fixture_app(f);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", job_of(id, "", ""));
    const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    int left = 4, turns = 0;
    cr_assert_eq(domain_turn(f, "first", stop_at, &left), API_JOB_PAUSED);
    double heard = spent(f, id, "steward");
    cr_assert_gt(heard, 0);
    cr_assert_eq(db_run(fixture_db(f), "UPDATE policies SET bytes = x'00'", NULL, 0, NULL, NULL),
                 DB_OK);
    teacher_shelf_free(app->teachers);
    app->teachers = teacher_shelf_new(app);
    enum api_job_turn turn = API_JOB_PAUSED;
    for (; turn != API_JOB_RAN && turns < 20; turns++) {
        fixture_advance(400000);
        turn = domain_turn(f, "second", NULL, NULL);
    }
    cr_assert(turns > 1 && turns < 6, "%d turns", turns);
    struct response *job = fixture_get(f, "steward", path);
    cr_assert_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_assert_not_null(strstr(response_text(job, "/error/detail"), "The teacher failed"), "%s",
                       job->body);
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), heard, 1e-9);
    cr_assert_eq(spent(f, id, "steward"), heard);
    expect_good_ledger(f);
    fixture_close(f);
}

/* Every call of the database fails once, in a job of its own: whatever was lost, each roll-out's
 * answers are paid for exactly once. A connection that breaks stands for a worker that dies. */
static void fail_at_every_call(enum db_status with, bool breaks)
{
    struct fixture *f = fixture_open_failing();
    const char *id = teacher(f, 1e5);
    double price = response_number(
        fixture_post(f, "steward", "/v1/jobs:estimate", job_of(id, "", "")), "/cost/epsilon");
    bool reached = true;
    int n = 0;
    database_failure = with;
    for (; reached && n < 400; n++) {
        double before = spent(f, id, "steward");
        struct response *made = fixture_post(f, "steward", "/v1/jobs", job_of(id, "", ""));
        const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
        database_calls_left = n;
        database_breaks = breaks;
        enum api_job_turn turn = domain_turn(f, "first", NULL, NULL);
        reached = database_calls_left < 0;
        database_calls_left = -1;
        database_breaks = false;
        for (int tries = 0; turn != API_JOB_RAN && tries < 3; tries++) {
            fixture_advance(400000);
            turn = domain_turn(f, "second", NULL, NULL);
        }
        struct response *job = fixture_get(f, "steward", path);
        cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%d: %s", n, job->body);
        cr_assert_eq(response_number(job, "/findings/states_answered"), ROLLOUTS * QUESTIONS, "%d",
                     n);
        cr_assert_float_eq(spent(f, id, "steward") - before, price, 1e-9, "%d", n);
    }
    cr_assert(n > 10 * ROLLOUTS && n < 400, "%d", n);
    expect_good_ledger(f);
    fixture_close(f);
}

Test(kickstart_job, a_database_that_fails_once_draws_nothing_again)
{
    fail_at_every_call(DB_FAILED, false);
}

Test(kickstart_job, a_full_disk_draws_nothing_again)
{
    fail_at_every_call(DB_FULL, false);
}
