/* Jobs: the queue, leases, checkpoints, ends and cancelling. */
#include "storage/jobs.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/storage/failing_driver.h"
#include "tests/unit/storage/store.h"

static void submit_of(const char *owner, const char *id, int64_t created_ms)
{
    struct job_row job = {.algorithm = "cql",
                          .mechanism = "dpsgd",
                          .dataset = "ds_a",
                          .environment = "cartpole",
                          .request = (char[]){"{\"algorithm\":\"cql\"}"},
                          .plan = (char[]){"plan"},
                          .total_steps = 100,
                          .account = "acc_a",
                          .hold_units = 5,
                          .hold_delta = 6,
                          .created_ms = created_ms};
    snprintf(job.id, sizeof job.id, "%s", id);
    snprintf(job.owner, sizeof job.owner, "%s", owner);
    cr_assert_eq(jobs_submit(f.db, &job), DB_OK, "%s", db_last_error(f.db));
    cr_assert_eq(jobs_submit(f.db, &job), DB_NONE);
}

static void submit(const char *id, int64_t created_ms)
{
    submit_of("cli_a", id, created_ms);
}

static void expect_claim(const char *worker, int64_t now_ms, const char *id)
{
    struct job_row job;
    enum db_status status = jobs_claim(f.db, worker, "", now_ms, 10, &job);
    if (id == NULL) {
        cr_assert_eq(status, DB_NONE);
        return;
    }
    cr_assert_eq(status, DB_OK, "%s", db_last_error(f.db));
    cr_assert_str_eq(job.id, id);
    cr_assert_eq(job.state, JOB_RUNNING);
    job_done(&job);
}

static enum job_state state_of(const char *id)
{
    struct job_row job;
    cr_assert_eq(jobs_find(f.db, id, &job), DB_OK);
    enum job_state state = job.state;
    job_done(&job);
    return state;
}

/* Claims job_a in the same millisecond as everybody else. */
static bool claim_is_fresh(const char *worker)
{
    struct job_row job;
    cr_assert_eq(jobs_claim(f.db, worker, "", 100, 0, &job), DB_OK);
    cr_expect_eq(job.started_ms, 100);
    cr_expect_eq(job.attempts, 1);
    job_done(&job);
    return job.fresh;
}

Test(jobs, a_job_is_fresh_until_a_worker_began_it, .init = store_open, .fini = store_close)
{
    submit("job_a", 7);
    cr_expect(claim_is_fresh("first"));
    cr_assert_eq(jobs_release_leases(f.db, "first"), DB_OK); /* sets its attempts to 0 */
    cr_expect_not(claim_is_fresh("second"));
}

/* On a busy machine a worker's heartbeat comes late: another one of its process takes nothing. */
Test(jobs, of_a_living_worker_of_the_process_are_not_taken, .init = store_open, .fini = store_close)
{
    struct job_row job;
    submit("job_a", 7);
    expect_claim("0a", 100, "job_a");
    cr_expect_eq(jobs_claim(f.db, "0b", "0c 0a ", 200, 10, &job), DB_NONE);
    cr_expect_eq(jobs_claim(f.db, "0b", "0c ", 105, 10, &job), DB_NONE);
    cr_assert_eq(jobs_claim(f.db, "0b", "0c ", 200, 10, &job), DB_OK, "%s", db_last_error(f.db));
    cr_expect_str_eq(job.id, "job_a");
    job_done(&job);
}

Test(jobs, what_was_submitted_is_found, .init = store_open, .fini = store_close)
{
    struct job_row job;
    submit("job_a", 7);
    cr_assert_eq(jobs_find(f.db, "job_a", &job), DB_OK);
    cr_assert_eq(job.state, JOB_QUEUED);
    cr_assert_str_eq(job.request, "{\"algorithm\":\"cql\"}");
    cr_assert_str_eq(job.plan, "plan");
    cr_assert_str_eq(job.dataset, "ds_a");
    cr_assert_str_eq(job.mechanism, "dpsgd");
    cr_assert(job.total_steps == 100 && job.hold_units == 5 && job.hold_delta == 6);
    cr_assert(job.created_ms == 7 && job.started_ms == 0 && !job.has_evaluation);
    job_done(&job);
    cr_assert_eq(jobs_find(f.db, "job_x", &job), DB_NONE);
    enum job_state state;
    cr_assert(job_state_named("cancelled", &state) && state == JOB_CANCELLED);
    cr_assert_not(job_state_named("lost", &state));
}

struct waits {
    unsigned count;
    bool same;
};

static void see_wait_of(void *context, const char *id, const struct job_wait *wait)
{
    struct waits *waits = context;
    struct job_wait alone;
    cr_assert_eq(jobs_wait(f.db, id, &alone), DB_OK);
    waits->same =
        waits->same && wait->place > 0 && wait->place == alone.place && wait->own == alone.own;
    waits->count++;
}

/* All waits at once are those of each job. */
static void expect_waits(unsigned count)
{
    struct waits waits = {.same = true};
    cr_assert_eq(jobs_waits(f.db, see_wait_of, &waits), DB_OK, "%s", db_last_error(f.db));
    cr_expect_eq(waits.count, count);
    cr_expect(waits.same);
}

Test(jobs, of_other_projects_count_in_the_queue_alone, .init = store_open, .fini = store_close)
{
    struct job_wait wait;
    submit_of("cli_b", "job_a", 1);
    submit_of("cli_b", "job_b", 2);
    submit("job_c", 3);
    submit("job_d", 4);
    expect_claim("w", 10, "job_a");
    cr_assert_eq(jobs_wait(f.db, "job_c", &wait), DB_OK);
    cr_assert(wait.place == 1 && wait.own == 0);
    cr_assert_eq(jobs_wait(f.db, "job_d", &wait), DB_OK);
    cr_assert(wait.place == 3 && wait.own == 1);
    expect_waits(3);
}

/* ---- turns */

static void expect_wait(const char *id, int64_t place, int64_t own)
{
    struct job_wait wait;
    cr_assert_eq(jobs_wait(f.db, id, &wait), DB_OK);
    cr_expect_eq(wait.place, place, "%s: %d", id, (int)wait.place);
    cr_expect_eq(wait.own, own, "%s: %d", id, (int)wait.own);
}

Test(jobs, of_several_owners_take_turns, .init = store_open, .fini = store_close)
{
    char id[ID_SIZE];
    for (int i = 0; i < 9; i++) {
        snprintf(id, sizeof id, "job_a%d", i);
        submit_of("cli_a", id, i);
    }
    expect_claim("w", 10, "job_a0");
    submit_of("cli_b", "job_b0", 11);
    submit_of("cli_b", "job_b1", 12);
    submit_of("cli_c", "job_c0", 13);
    expect_wait("job_b0", 2, 0);
    expect_wait("job_c0", 3, 0);
    expect_wait("job_b1", 5, 1);
    expect_wait("job_a8", 11, 8);
    expect_waits(11);
    static const struct {
        const char *id;
        int own;
    } order[] = {{"job_a1", 1}, {"job_b0", 0}, {"job_c0", 0},
                 {"job_a2", 2}, {"job_b1", 1}, {"job_a3", 3}};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        expect_wait(order[i].id, 1, order[i].own);
        expect_claim("w", 10, order[i].id);
    }
    /* Who has waited for nothing has saved no turns up, and pays for none. */
    submit_of("cli_c", "job_c1", 14);
    submit_of("cli_d", "job_d0", 15);
    expect_claim("w", 10, "job_a4");
    expect_claim("w", 10, "job_c1");
    expect_claim("w", 10, "job_d0");
    expect_claim("w", 10, "job_a5");
}

Test(jobs, that_were_left_go_on_before_others_begin, .init = store_open, .fini = store_close)
{
    submit_of("cli_a", "job_a0", 1);
    submit_of("cli_a", "job_a1", 2);
    expect_claim("w", 10, "job_a0");
    expect_claim("w", 10, "job_a1");
    submit_of("cli_b", "job_b0", 11);
    expect_claim("v", 30, "job_a0");
    expect_claim("v", 30, "job_a1");
    expect_claim("v", 30, "job_b0");
}

Test(jobs, run_in_order_and_once, .init = store_open, .fini = store_close)
{
    struct job_wait wait;
    submit("job_c", 1);
    submit("job_a", 2);
    submit("job_b", 2);
    cr_assert_eq(jobs_wait(f.db, "job_b", &wait), DB_OK);
    cr_assert(wait.place == 3 && wait.own == 2);
    expect_claim("w1", 10, "job_c");
    expect_claim("w1", 10, "job_a");
    cr_assert_eq(jobs_wait(f.db, "job_b", &wait), DB_OK);
    cr_assert(wait.place == 1 && wait.own == 2);
    expect_claim("w2", 10, "job_b");
    expect_claim("w2", 19, NULL);
    cr_assert_eq(jobs_wait(f.db, "job_b", &wait), DB_OK);
    cr_assert(wait.place == 0 && wait.own == 0);
    cr_assert_eq(jobs_wait(f.db, "job_x", &wait), DB_NONE);
    expect_claim("w2", 20, "job_c"); /* leases ran out */
    struct job_row job;
    cr_assert_eq(jobs_find(f.db, "job_c", &job), DB_OK);
    cr_assert_eq(job.started_ms, 10);
    job_done(&job);
}

Test(jobs, a_lost_lease_changes_nothing, .init = store_open, .fini = store_close)
{
    struct job_lease lease;
    struct job_checkpoint checkpoint = {.id = "job_a",
                                        .worker = "w1",
                                        .step = 5,
                                        .bytes = "one",
                                        .size = 3,
                                        .now_ms = 12,
                                        .lease_ms = 10};
    struct job_end end = {.id = "job_a", .worker = "w1", .state = JOB_SUCCEEDED, .now_ms = 50};
    bool ours = true;
    void *bytes = NULL;
    size_t size = 0;
    int64_t step = 0;
    submit("job_a", 1);
    expect_claim("w1", 10, "job_a");
    cr_assert_eq(jobs_load_checkpoint(f.db, "job_a", &step, &bytes, &size), DB_NONE);
    cr_assert_eq(jobs_save_checkpoint(f.db, &checkpoint, &lease), DB_OK);
    cr_assert(lease.ours && !lease.cancel_requested);
    cr_assert_eq(jobs_heartbeat(f.db, "job_a", "w1", 7, 20, 10, &lease), DB_OK);
    cr_assert(lease.ours);
    expect_claim("w2", 29, NULL);
    expect_claim("w2", 30, "job_a");
    cr_assert_eq(jobs_heartbeat(f.db, "job_a", "w1", 8, 31, 10, &lease), DB_OK);
    cr_assert_not(lease.ours);
    checkpoint.bytes = "two";
    cr_assert_eq(jobs_save_checkpoint(f.db, &checkpoint, &lease), DB_OK);
    cr_assert_not(lease.ours);
    cr_assert_eq(jobs_finish(f.db, &end, &ours), DB_OK);
    cr_assert_not(ours);
    cr_assert_eq(state_of("job_a"), JOB_RUNNING);
    cr_assert_eq(jobs_load_checkpoint(f.db, "job_a", &step, &bytes, &size), DB_OK);
    cr_assert(step == 5 && size == 3 && memcmp(bytes, "one", 3) == 0);
    free(bytes);
    checkpoint.worker = "w2";
    checkpoint.step = 9;
    cr_assert_eq(jobs_save_checkpoint(f.db, &checkpoint, &lease), DB_OK);
    cr_assert_eq(jobs_load_checkpoint(f.db, "job_a", &step, &bytes, &size), DB_OK);
    cr_assert(step == 9 && memcmp(bytes, "two", 3) == 0);
    free(bytes);
}

Test(jobs, an_end_is_kept_and_final, .init = store_open, .fini = store_close)
{
    struct job_row job;
    struct job_lease lease;
    struct job_end end = {.id = "job_a",
                          .worker = "w1",
                          .state = JOB_SUCCEEDED,
                          .step = 100,
                          .policy = "pol_a",
                          .has_evaluation = true,
                          .mean_return = 150.5,
                          .std_return = 20,
                          .episodes = 30,
                          .epsilon_spent = 9.5,
                          .now_ms = 50};
    struct job_checkpoint checkpoint = {.id = "job_a", .worker = "w1", .bytes = "x", .size = 1};
    bool ours = false;
    void *bytes = NULL;
    size_t size = 0;
    int64_t step = 0;
    submit("job_a", 1);
    expect_claim("w1", 10, "job_a");
    cr_assert_eq(jobs_save_checkpoint(f.db, &checkpoint, &lease), DB_OK);
    cr_assert_eq(jobs_finish(f.db, &end, &ours), DB_OK);
    cr_assert(ours);
    cr_assert_eq(jobs_find(f.db, "job_a", &job), DB_OK);
    cr_assert_eq(job.state, JOB_SUCCEEDED);
    cr_assert_str_eq(job.policy, "pol_a");
    cr_assert(job.has_evaluation && job.mean_return == 150.5 && job.episodes == 30);
    cr_assert(job.epsilon_spent == 9.5 && job.finished_ms == 50 && job.step == 100);
    job_done(&job);
    cr_assert_eq(jobs_load_checkpoint(f.db, "job_a", &step, &bytes, &size), DB_NONE);
    cr_assert_eq(jobs_finish(f.db, &end, &ours), DB_OK);
    cr_assert_not(ours);
    expect_claim("w2", 1000, NULL);
    cr_assert_eq(jobs_heartbeat(f.db, "job_a", "w1", 8, 31, 10, &lease), DB_OK);
    cr_assert_not(lease.ours);
}

Test(jobs, a_long_detail_is_cut_between_characters, .init = store_open, .fini = store_close)
{
    char detail[1000] = "x";
    struct job_row job;
    struct job_end end = {.id = "job_a",
                          .worker = "w1",
                          .state = JOB_FAILED,
                          .problem_slug = "job-failed",
                          .problem_detail = detail};
    bool ours = false;
    for (size_t i = 1; i + 2 < sizeof detail; i += 2)
        memcpy(detail + i, "ü", 3);
    submit("job_a", 1);
    expect_claim("w1", 10, "job_a");
    cr_assert_eq(jobs_finish(f.db, &end, &ours), DB_OK);
    cr_assert_eq(jobs_find(f.db, "job_a", &job), DB_OK);
    cr_assert_str_eq(job.problem_slug, "job-failed");
    cr_assert_eq(strlen(job.problem_detail), JOB_DETAIL_SIZE - 1);
    cr_assert_eq(strncmp(job.problem_detail, detail, JOB_DETAIL_SIZE - 1), 0);
    job_done(&job);
}

Test(jobs, cancelling_depends_on_the_state, .init = store_open, .fini = store_close)
{
    enum job_cancel result;
    struct job_lease lease;
    struct job_end end = {.id = "job_b", .worker = "w1", .state = JOB_CANCELLED};
    bool ours = false, used = false;
    submit("job_a", 2);
    submit("job_b", 1);
    cr_assert_eq(jobs_cancel(f.db, "job_x", 5, &result), DB_OK);
    cr_assert_eq(result, JOB_CANCEL_UNKNOWN);
    cr_assert_eq(jobs_cancel(f.db, "job_a", 5, &result), DB_OK);
    cr_assert_eq(result, JOB_CANCEL_DONE);
    cr_assert_eq(state_of("job_a"), JOB_CANCELLED);
    cr_assert_eq(jobs_cancel(f.db, "job_a", 5, &result), DB_OK);
    cr_assert_eq(result, JOB_CANCEL_TOO_LATE);
    expect_claim("w1", 10, "job_b");
    cr_assert_eq(jobs_cancel(f.db, "job_b", 11, &result), DB_OK);
    cr_assert_eq(result, JOB_CANCEL_REQUESTED);
    cr_assert_eq(jobs_heartbeat(f.db, "job_b", "w1", 1, 12, 10, &lease), DB_OK);
    cr_assert(lease.ours && lease.cancel_requested);
    cr_assert_eq(jobs_use_dataset(f.db, "ds_a", &used), DB_OK);
    cr_assert(used);
    cr_assert_eq(jobs_finish(f.db, &end, &ours), DB_OK);
    cr_assert(ours);
    cr_assert_eq(jobs_use_dataset(f.db, "ds_a", &used), DB_OK);
    cr_assert_not(used);
}

Test(jobs, leases_are_given_back, .init = store_open, .fini = store_close)
{
    submit("job_a", 1);
    submit("job_b", 2);
    expect_claim("w1", 10, "job_a");
    expect_claim("w2", 10, "job_b");
    cr_assert_eq(jobs_release_leases(f.db, "w2"), DB_OK);
    expect_claim("w3", 11, "job_b");
    expect_claim("w3", 11, NULL);
    fixture_reopen(&f);
    cr_assert_eq(jobs_expire_leases(f.db), DB_OK);
    expect_claim("w4", 11, "job_a");
    expect_claim("w4", 11, "job_b");
}

static bool see_job(void *context, const struct job_row *job)
{
    char *out = context;
    cr_assert_str_eq(job->plan, "plan");
    sprintf(out + strlen(out), "%s,", job->id + 4);
    return true;
}

static const char *listed(const struct job_filter *filter, struct listing_page page)
{
    static char text[200];
    text[0] = '\0';
    cr_assert_eq(jobs_list(f.db, filter, &page, see_job, text), DB_OK);
    return text;
}

Test(jobs, are_listed_newest_first, .init = store_open, .fini = store_close)
{
    enum job_state queued = JOB_QUEUED, running = JOB_RUNNING;
    submit("job_a", 1);
    submit("job_b", 2);
    submit("job_c", 2);
    submit("job_d", 3);
    expect_claim("w", 5, "job_a");
    cr_assert_str_eq(listed(&(struct job_filter){0}, (struct listing_page){.limit = 2}), "d,c,");
    cr_assert_str_eq(listed(&(struct job_filter){0}, (struct listing_page){2, "job_c", 9}), "b,a,");
    cr_assert_str_eq(
        listed(&(struct job_filter){.state = &queued}, (struct listing_page){.limit = 9}),
        "d,c,b,");
    cr_assert_str_eq(
        listed(&(struct job_filter){.owner = "cli_b"}, (struct listing_page){.limit = 9}), "");
    cr_assert_str_eq(listed(&(struct job_filter){.algorithm = "cql", .owner = "cli_a"},
                            (struct listing_page){.limit = 9}),
                     "d,c,b,a,");
    cr_assert_str_eq(
        listed(&(struct job_filter){.algorithm = "bcq"}, (struct listing_page){.limit = 9}), "");
    cr_assert_str_eq(
        listed(&(struct job_filter){.dataset = "ds_x"}, (struct listing_page){.limit = 9}), "");
    cr_assert_str_eq(
        listed(&(struct job_filter){.state = &running}, (struct listing_page){.limit = 9}), "a,");
}

/* ---- many workers, one queue */

#define WORKERS 4
#define QUEUE   60

struct worker {
    struct db *db;
    char name[8];
    int claimed;
    bool failed;
};

static void *work(void *context)
{
    struct worker *worker = context;
    for (;;) {
        struct job_row job;
        enum db_status status = jobs_claim(worker->db, worker->name, "", 100, 1000, &job);
        if (status == DB_NONE)
            return NULL;
        struct job_end end = {.id = job.id, .worker = worker->name, .state = JOB_SUCCEEDED};
        bool ours = false;
        if (status != DB_OK || jobs_finish(worker->db, &end, &ours) != DB_OK || !ours) {
            worker->failed = true;
            return NULL;
        }
        job_done(&job);
        worker->claimed++;
    }
}

Test(jobs, each_is_claimed_by_one_worker, .init = store_open, .fini = store_close)
{
    struct worker workers[WORKERS] = {{0}};
    pthread_t threads[WORKERS];
    int total = 0;
    for (int i = 0; i < QUEUE; i++) {
        char id[16];
        snprintf(id, sizeof id, "job_%d", i);
        submit(id, i);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].db = fixture_connect(&f);
        snprintf(workers[i].name, sizeof workers[i].name, "w%u", i);
        cr_assert_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        cr_assert_not(workers[i].failed, "%s", db_last_error(workers[i].db));
        total += workers[i].claimed;
        db_close(workers[i].db);
    }
    cr_assert_eq(total, QUEUE);
}

/* ---- failures */

Test(jobs, a_checkpoint_that_fails_leaves_the_one_before)
{
    for (unsigned n = 1; n < 50; n++) {
        struct job_lease lease;
        struct job_checkpoint checkpoint = {.id = "job_a",
                                            .worker = "w1",
                                            .step = 1,
                                            .bytes = "one",
                                            .size = 3,
                                            .now_ms = 10,
                                            .lease_ms = 10};
        void *bytes = NULL;
        size_t size = 0;
        int64_t step = 0;
        failing_arm(0, DB_OK, false);
        fixture_open(&f, &failing_driver);
        submit("job_a", 1);
        expect_claim("w1", 10, "job_a");
        cr_assert_eq(jobs_save_checkpoint(f.db, &checkpoint, &lease), DB_OK);
        checkpoint.step = 2;
        checkpoint.bytes = "two";
        failing_arm(n, DB_FULL, n % 2 == 0);
        enum db_status status = jobs_save_checkpoint(f.db, &checkpoint, &lease);
        bool fired = failing_fired();
        failing_arm(0, DB_OK, false);
        cr_assert_eq(status, fired ? DB_FULL : DB_OK);
        cr_assert_eq(jobs_load_checkpoint(f.db, "job_a", &step, &bytes, &size), DB_OK);
        cr_assert_eq(step, fired ? 1 : 2);
        cr_assert_eq(memcmp(bytes, fired ? "one" : "two", 3), 0);
        free(bytes);
        struct job_row job;
        cr_assert_eq(jobs_find(f.db, "job_a", &job), DB_OK);
        cr_assert_eq(job.step, step, "progress and checkpoint belong together");
        job_done(&job);
        fixture_close(&f);
        if (!fired) {
            cr_assert_gt(n, 4);
            return;
        }
    }
    cr_assert_fail("the failure always fired");
}

static int64_t attempts(const char *id)
{
    struct job_row job;
    cr_assert_eq(jobs_find(f.db, id, &job), DB_OK);
    int64_t count = job.attempts;
    job_done(&job);
    return count;
}

Test(jobs, attempts_count_until_the_job_gets_on, .init = store_open, .fini = store_close)
{
    struct job_lease lease;
    struct job_checkpoint checkpoint = {
        .id = "job_a", .step = 5, .bytes = "one", .size = 3, .now_ms = 12, .lease_ms = 1};
    submit("job_a", 1);
    expect_claim("w1", 10, "job_a");
    expect_claim("w2", 20, "job_a");
    cr_assert_eq(attempts("job_a"), 2);
    checkpoint.worker = "w2";
    cr_assert_eq(jobs_save_checkpoint(f.db, &checkpoint, &lease), DB_OK);
    cr_assert_eq(attempts("job_a"), 0); /* step 5 is further than none */
    expect_claim("w3", 40, "job_a");
    checkpoint.worker = "w3";
    cr_assert_eq(jobs_save_checkpoint(f.db, &checkpoint, &lease), DB_OK);
    cr_assert_eq(attempts("job_a"), 1); /* step 5 once more is not */
    cr_assert_eq(jobs_excuse(f.db, "job_a", "w2"), DB_OK);
    cr_assert_eq(attempts("job_a"), 1); /* not w2's to say */
    cr_assert_eq(jobs_excuse(f.db, "job_a", "w3"), DB_OK);
    cr_assert_eq(attempts("job_a"), 0);
    expect_claim("w4", 60, "job_a");
    cr_assert_eq(jobs_release_leases(f.db, "w4"), DB_OK);
    cr_assert_eq(attempts("job_a"), 0);
}
