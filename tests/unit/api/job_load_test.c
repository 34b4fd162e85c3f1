/* The networks of experts on their way from the database into a job. */
#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "api/call/app.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/run/job_run.h"
#include "storage/datasets.h"
#include "storage/db/digest.h"
#include "storage/digests.h"
#include "tests/unit/api/service.h"

TestSuite(job_load, .init = service_open, .fini = service_close);

enum { EXPERTS = 4, ACTIONS = 2 };
static const float state[4] = {0.5F, -0.25F, 1.0F, 2.0F};

/* A linear network whose first output is FIRST at STATE and whose second is 0. */
static void put_network(const char *dataset, unsigned expert, double first, const char *output)
{
    const char *body =
        domain_path("{\"activation\":\"relu\",\"layers\":[{\"weight\":[[0,0,%g,0],[0,0,0,0]],"
                    "\"bias\":[0,0]}],\"output\":\"%s\"}",
                    first, output);
    expect_status(fixture_put(f, "steward",
                              domain_path("/v1/datasets/%s/experts/e%u/policy", dataset, expert),
                              body),
                  204);
}

/* Experts e0 .. e3 have trajectories; e1 a softmax network, e3 an argmax one; e4 a network alone.
 */
static const char *sealed(void)
{
    const char *id = domain_dataset(f, "private");
    domain_fill(f, id, EXPERTS);
    put_network(id, 3, -1.0, "argmax");
    put_network(id, 1, 9.0, "softmax");
    put_network(id, 1, 1.0, "softmax"); /* replaces the one before */
    put_network(id, 4, 2.0, "softmax");
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", id), NULL), 200);
    return id;
}

static bool stop(void *context)
{
    return *(const bool *)context;
}

static struct job_run run_of(const struct api_job_control *control, const char *dataset)
{
    struct job_run run = {.app = fixture_app(f), .db = fixture_db(f), .control = control};
    snprintf(run.job.dataset, sizeof run.job.dataset, "%s", dataset);
    run.beat_ms = run.app->settings.now_ms();
    return run;
}

static void expect_damaged(const char *dataset, const char *sql)
{
    const struct api_job_control control = {.worker = "w"};
    struct job_run run = run_of(&control, dataset);
    cr_assert_eq(db_run(fixture_db(f), sql, NULL, 0, NULL, NULL), DB_OK);
    /* stored like this, not changed on the disk */
    cr_assert_eq(digest_all(fixture_db(f), &expert_policies_table), DB_OK);
    cr_assert_null(job_run_load_experts(&run), "%s", sql);
    cr_assert_not(run.lost || run.stopping || run.cancelled || run.storage_failed || run.waiting);
}

Test(job_load, networks_come_into_their_slots_with_the_datasets_floor)
{
    const struct api_job_control control = {.worker = "w"};
    struct job_run run = run_of(&control, sealed());
    struct expert_policies *policies = job_run_load_experts(&run);
    cr_assert_not_null(policies);
    const struct expert_voices voices = expert_policies_voices(policies);
    cr_assert_eq(voices.slots, EXPERTS + 1);
    cr_assert_eq(voices.min_probability, 0.02);
    double p[(EXPERTS + 1) * ACTIONS];
    expert_policies_probabilities(policies, 0, EXPERTS + 1, state, 1, p);
    const double first[EXPERTS + 1] = {0.5, 0.96 / (1.0 + exp(-1.0)) + 0.02, 0.5, 0.02,
                                       0.96 / (1.0 + exp(-2.0)) + 0.02};
    for (uint32_t e = 0; e <= EXPERTS; e++) {
        cr_assert_eq(expert_policies_has(policies, e), e == 1 || e >= 3, "expert %u", e);
        cr_assert_float_eq(p[e * ACTIONS], first[e], 1e-7, "expert %u", e);
    }
    expert_policies_free(policies);
}

Test(job_load, damage_is_told_from_a_stop)
{
    const char *dataset = sealed();
    bool stopping = true;
    const struct api_job_control control = {
        .worker = "w", .stop_requested = stop, .context = &stopping};
    struct job_run run = run_of(&control, dataset);
    cr_assert_null(job_run_load_experts(&run));
    cr_assert(run.stopping);
    expect_damaged(dataset, "UPDATE datasets SET experts = 4");
    cr_assert_eq(db_run(fixture_db(f), "UPDATE datasets SET experts = 5", NULL, 0, NULL, NULL),
                 DB_OK);
    expect_damaged(dataset,
                   "UPDATE expert_policies SET bytes = substr(bytes, 1, 40) WHERE number = 4");
    expect_damaged(dataset, "UPDATE expert_policies SET bytes = x'' WHERE number = 1");
}

Test(job_load, bytes_that_changed_on_the_disk_are_a_failure_of_storage)
{
    const struct api_job_control control = {.worker = "w"};
    struct job_run run = run_of(&control, sealed());
    cr_assert_eq(db_run(fixture_db(f),
                        "UPDATE expert_policies SET bytes = CAST(substr(bytes, 1, 60) || x'01' || "
                        "substr(bytes, 62) AS BLOB) WHERE number = 3",
                        NULL, 0, NULL, NULL),
                 DB_OK);
    cr_assert_null(job_run_load_experts(&run));
    cr_assert(run.storage_failed);
    cr_assert_str_eq(strrchr(db_damage(fixture_db(f)), ' '), " 3");
}

/* A heartbeat writes; it must find no snapshot of its own connection open. */
Test(job_load, the_lease_is_renewed_between_networks)
{
    const char *dataset = sealed();
    const struct api_job_control control = {.worker = "w"};
    struct job_run run = run_of(&control, dataset);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 6, 40));
    expect_status(made, 202);
    int64_t now = run.app->settings.now_ms();
    cr_assert_eq(jobs_claim(run.db, "w", "", now, 30000, &run.job), DB_OK);
    fixture_advance(20000);
    struct expert_policies *policies = job_run_load_experts(&run);
    cr_assert_not_null(policies);
    cr_assert_eq(run.beat_ms, now + 20000);
    expert_policies_free(policies);
    fixture_advance(20000);
    run.control = &(const struct api_job_control){.worker = "another"};
    cr_assert_null(job_run_load_experts(&run));
    cr_assert(run.lost);
    job_done(&run.job);
}

/* What is said to fit is what the loader takes, which counts each network with what holds it. */
Test(job_load, networks_that_do_not_fit_are_known_before)
{
    const int64_t most = (int64_t)JOB_NETWORKS_MAX_BYTES;
    cr_assert(job_networks_fit(0, 0) && job_networks_fit(3000, 3000 * INT64_C(270000)));
    cr_assert(!job_networks_fit(5000, 5000 * INT64_C(270000)));
    cr_assert(!job_networks_fit(1, most) && !job_networks_fit(most, most));
    cr_assert(!job_networks_fit(INT64_MAX, 0) && !job_networks_fit(0, INT64_MAX));
    cr_assert(job_networks_fit(1, most - (int64_t)sizeof(struct policy)));
    cr_assert(!job_networks_fit(1, most - (int64_t)sizeof(struct policy) + 1));
}

/* The data of RUN's dataset, in files when they take more than MEMORY; 0: never. */
static struct dataset *load_within(struct job_run *run, uint64_t memory)
{
    struct api_settings *settings = &((struct app *)run->app)->settings;
    settings->data_memory_bytes = memory;
    settings->columns_dir = "/tmp";
    struct dataset *data = job_run_load(run);
    cr_assert_not_null(data);
    return data;
}

static volatile sig_atomic_t files_begun;

static void see_file(int number)
{
    (void)number;
    files_begun++;
}

/* Whether RUN begins to write files, of the judge's data OTHER if that is not NULL. No file may
 * have more than 4 KiB, so none is whole. */
static bool begins_files(struct job_run *run, const char *other)
{
    struct rlimit before;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, before.rlim_max}), 0);
    files_begun = 0;
    run->waiting = false;
    cr_expect_null(other ? job_run_load_other(run, other) : job_run_load(run));
    cr_expect(run->waiting);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    return files_begun > 0;
}

/* Whoever makes a copy while all data are there needs room for both. */
Test(job_load, data_that_are_copied_need_room_twice)
{
    const struct api_job_control control = {.worker = "w"};
    const char *other = domain_sealed(f, "public", 12);
    struct job_run run = run_of(&control, sealed());
    struct algorithm_request *request = &run.plan.request;
    struct api_settings *settings = &((struct app *)run.app)->settings;
    struct statvfs disk;
    cr_assert_eq(statvfs("/tmp", &disk), 0);
    request->state_dim = 4;
    request->action_count = ACTIONS;
    settings->data_memory_bytes = 1;
    settings->columns_dir = "/tmp";
    cr_assert_gt(disk.f_bavail * disk.f_frsize, DATA_COLUMNS_SPARE);
    /* so many that they take three quarters of the disk's room */
    uint64_t rows = (disk.f_bavail * disk.f_frsize - DATA_COLUMNS_SPARE) / 4 * 3;
    rows /= dataset_bytes(4, 1, 0);
    cr_assert_eq(db_run(run.db, "UPDATE datasets SET transitions = $1",
                        DB_VALUES(db_integer((int64_t)rows)), NULL, NULL),
                 DB_OK);
    signal(SIGXFSZ, see_file);
    cr_expect(begins_files(&run, NULL));
    request->judge.held_out = 0.2;
    cr_expect_not(begins_files(&run, NULL));
    request->judge.held_out = 0;
    request->stage.kind = STAGE_STABLE;
    request->stage.source = STABLE_LOGGED;
    cr_expect_not(begins_files(&run, NULL));
    request->stage.source = STABLE_ROLLOUTS;
    cr_expect(begins_files(&run, NULL));
    cr_expect_not(begins_files(&run, other));
}

Test(job_load, data_of_more_than_their_memory_are_in_files_and_the_same)
{
    static const size_t sizes[DATASET_COLUMNS] = {4 * sizeof(float), sizeof(uint64_t),
                                                  sizeof(uint16_t), sizeof(float), 1};
    const struct api_job_control control = {.worker = "w"};
    struct job_run run = run_of(&control, sealed());
    run.plan.request.state_dim = 4;
    run.plan.request.action_count = ACTIONS;
    struct dataset *memory = load_within(&run, 0);
    uint64_t takes = dataset_bytes(4, memory->transition_count, memory->trajectory_count);
    struct dataset *fits = load_within(&run, takes), *files = load_within(&run, takes - 1);
    cr_expect_null(fits->columns[DATASET_STATES].directory);
    cr_expect_str_eq(files->columns[DATASET_STATES].directory, "/tmp");
    cr_assert_gt(memory->transition_count, 0);
    cr_assert_eq(files->transition_count, memory->transition_count);
    for (int i = 0; i < DATASET_COLUMNS; i++) {
        uint64_t rows =
            memory->transition_count + (i == DATASET_STATES ? memory->trajectory_count : 0);
        cr_assert_arr_eq(files->columns[i].items, memory->columns[i].items, rows * sizes[i],
                         "column %d", i);
    }
    dataset_free(memory);
    dataset_free(fits);
    dataset_free(files);
}
