/* Jobs that ask a teacher when something fails: what was paid for is paid once and told, whatever
 * was lost, and a job that cannot be ended well ends with a reason. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/teachers/teacher_shelf.h"
#include "memory/shelf.h"
#include "storage/db/listing.h"
#include "storage/digests.h"
#include "storage/jobs.h"
#include "tests/unit/api/failing_database.h"
#include "tests/unit/api/kickstart_desk.h"

TestSuite(kickstart_failure);

/* A worker gives up at any call of the database and the job is cancelled before another has it: it
 * says what it has paid, to the last answer. */
Test(kickstart_failure, is_cancelled_between_workers_and_says_all_that_it_paid)
{
    struct fixture *f = fixture_open_failing();
    const char *id = kickstart_teacher(f, 1e5);
    bool reached = true;
    int n = 0, unwritten = 0;
    database_failure = DB_FAILED;
    for (; reached && n < 400; n++) {
        double before = kickstart_spent(f, id, "steward");
        struct response *made = fixture_post(f, "steward", "/v1/jobs", kickstart_job(id, "", ""));
        const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
        database_calls_left = n;
        enum api_job_turn turn = domain_turn(f, "first", NULL, NULL);
        reached = database_calls_left < 0;
        bool gave_up = turn != API_JOB_RAN;
        database_calls_left = -1;
        double paid = kickstart_spent(f, id, "steward") - before;
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
    cr_assert(n > 10 * KICKSTART_ROLLOUTS && n < 400, "%d", n);
    cr_assert_gt(unwritten, KICKSTART_ROLLOUTS);
    domain_expect_whole_ledger(f);
    fixture_close(f);
}

/* SQLite's driver, with another worker that takes the job before a transaction that writes. */
static struct db_driver taken;
static int begun, taken_at;
static int64_t entries_then;

static int64_t count_entries(void *connection, struct db_fault *fault)
{
    int64_t count = -1;
    (void)db_driver_sqlite.run(connection, "SELECT count(*) FROM ledger_entries", NULL, 0,
                               listing_integer, &count, fault);
    return count;
}

static enum db_status begin_taken(void *connection, bool will_write, struct db_fault *fault)
{
    if (will_write && ++begun == taken_at) {
        cr_assert_eq(db_driver_sqlite.run(
                         connection, "UPDATE jobs SET lease_owner = 'v' WHERE state = 'running'",
                         NULL, 0, NULL, NULL, fault),
                     DB_OK);
        entries_then = count_entries(connection, fault);
    }
    return db_driver_sqlite.begin(connection, will_write, fault);
}

/* Wherever it is when another worker gets the job: it charges nobody after that. */
Test(kickstart_failure, a_worker_that_has_lost_its_job_asks_no_more)
{
    taken = db_driver_sqlite;
    taken.begin = begin_taken;
    struct fixture *f = fixture_open_on(&taken);
    const char *id = kickstart_teacher(f, 1e5);
    bool reached = true;
    int at = 2; /* the first is the claim */
    for (; reached && at < 200; at++) {
        expect_status(fixture_post(f, "steward", "/v1/jobs", kickstart_job(id, "", "")), 202);
        begun = 0;
        taken_at = at;
        (void)domain_turn(f, "w", NULL, NULL);
        reached = begun >= at;
        taken_at = 0;
        int64_t entries = -1;
        cr_assert_eq(db_one(fixture_db(f), "SELECT count(*) FROM ledger_entries", NULL, 0,
                            listing_integer, &entries),
                     DB_OK);
        cr_expect(!reached || entries == entries_then, "%d: %d entries, not %d", at, (int)entries,
                  (int)entries_then);
        fixture_advance(400000);
        cr_assert_eq(domain_turn(f, "v", NULL, NULL), reached ? API_JOB_RAN : API_JOB_NONE);
    }
    cr_assert(at > 3 * KICKSTART_ROLLOUTS && at < 200, "%d", at);
    domain_expect_whole_ledger(f);
    fixture_close(f);
}

/* Nor does a database that fails while the end is being written make it say less. */
Test(kickstart_failure, says_all_that_it_paid_when_the_database_fails_at_its_end)
{
    struct fixture *f = fixture_open_failing();
    const char *id = kickstart_teacher(f, 1e5);
    bool reached = true;
    int n = 0;
    database_failure = DB_FAILED;
    for (; reached && n < 100; n++) {
        int left = 4;
        double before = kickstart_spent(f, id, "steward");
        struct response *made = fixture_post(f, "steward", "/v1/jobs", kickstart_job(id, "", ""));
        const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
        cr_assert_eq(domain_turn(f, "first", kickstart_stop_at, &left), API_JOB_PAUSED);
        double paid = kickstart_spent(f, id, "steward") - before;
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

/* A plan of another version, of which this one can read the teacher and not the settings. What
 * became of the job is shown, alone and among others. */
Test(kickstart_failure, fails_with_a_plan_that_is_not_of_this_version)
{
    struct fixture *f = fixture_open();
    const char *id = kickstart_teacher(f, 1e4);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", kickstart_job(id, "", ""));
    domain_rewrite(f, &jobs_table,
                   "UPDATE jobs SET plan = json_set(plan, '$.parameters.hidden', 'other')");
    cr_assert_eq(domain_turn(f, "first", NULL, NULL), API_JOB_RAN);
    struct job_row job;
    cr_assert_eq(jobs_find(fixture_db(f), response_text(made, "/id"), &job), DB_OK);
    cr_assert_eq(job.state, JOB_FAILED);
    job_done(&job);
    struct response *shown =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    cr_assert_eq(shown->status, 200, "%s", shown->body);
    cr_assert_str_eq(response_text(shown, "/state"), "failed");
    cr_assert_not_null(strstr(response_text(shown, "/error/detail"), "parameter hidden is missing"),
                       "%s", shown->body);
    cr_assert(json_is_null(response_at(shown, "/parameters")));
    cr_assert_not_null(strstr(response_text(shown, "/notes/0"), "This version"));
    struct response *list = fixture_get(f, "steward", "/v1/jobs");
    cr_assert_eq(list->status, 200, "%s", list->body);
    cr_assert_str_eq(response_text(list, "/items/0/state"), "failed");
    fixture_close(f);
}

/* A teacher that cannot answer any more, because what it knew is damaged: the job is tried again,
 * and then fails with a reason. It has paid for what it heard and for nothing else. */
Test(kickstart_failure, fails_when_its_teacher_fails_again_and_again)
{
    struct fixture *f = fixture_open();
    const char *id = kickstart_teacher(f, 1e4);
    struct app *app = fixture_app(f);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", kickstart_job(id, "", ""));
    const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id"));
    int left = 4, turns = 0;
    cr_assert_eq(domain_turn(f, "first", kickstart_stop_at, &left), API_JOB_PAUSED);
    double heard = kickstart_spent(f, id, "steward");
    cr_assert_gt(heard, 0);
    cr_assert_eq(db_run(fixture_db(f), "UPDATE policies SET bytes = x'00'", NULL, 0, NULL, NULL),
                 DB_OK);
    shelf_free(app->teachers);
    app->teachers = teacher_shelf_new();
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
    cr_assert_eq(kickstart_spent(f, id, "steward"), heard);
    domain_expect_whole_ledger(f);
    fixture_close(f);
}

/* Every call of the database fails once, in a job of its own: whatever was lost, each roll-out's
 * answers are paid for exactly once. A connection that breaks stands for a worker that dies. */
static void fail_at_every_call(enum db_status with, bool breaks)
{
    struct fixture *f = fixture_open_failing();
    const char *id = kickstart_teacher(f, 1e5);
    double price =
        response_number(fixture_post(f, "steward", "/v1/jobs:estimate", kickstart_job(id, "", "")),
                        "/cost/epsilon");
    bool reached = true;
    int n = 0;
    database_failure = with;
    for (; reached && n < 400; n++) {
        double before = kickstart_spent(f, id, "steward");
        struct response *made = fixture_post(f, "steward", "/v1/jobs", kickstart_job(id, "", ""));
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
        cr_assert_eq(response_number(job, "/findings/states_answered"),
                     KICKSTART_ROLLOUTS * KICKSTART_QUESTIONS, "%d", n);
        cr_assert_float_eq(kickstart_spent(f, id, "steward") - before, price, 1e-9, "%d", n);
    }
    cr_assert(n > 10 * KICKSTART_ROLLOUTS && n < 400, "%d", n);
    domain_expect_whole_ledger(f);
    fixture_close(f);
}

Test(kickstart_failure, a_database_that_fails_once_draws_nothing_again)
{
    fail_at_every_call(DB_FAILED, false);
}

Test(kickstart_failure, a_full_disk_draws_nothing_again)
{
    fail_at_every_call(DB_FULL, false);
}
