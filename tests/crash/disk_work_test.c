/* A disk that fails under uploads, checkpoints of the log and jobs: their connections are not the
 * committer's, and end the server as it does. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/crash/disk.h"
#include "tests/http/scene.h"

#define EXPERTS      20
#define TRAJECTORIES 200
#define STEPS        400

static struct server_process server;
static struct disk disk;
static struct http_client *client;
static char steward[160], dataset[64];

static void start_on_failing_disk(void)
{
    server_prepare(&server);
    disk_put(&disk, &server);
    server_start(&server);
    server_token(&server, "steward", steward);
    client = http_client_new(&server);
}

static void start_again(void)
{
    disk_take_away(&server);
    server_start(&server);
    http_client_move(client, &server);
}

static void end(void)
{
    http_client_free(client);
    server_close(&server);
}

TestSuite(disk_work, .init = start_on_failing_disk, .fini = end);

static struct http_answer upload(const char *lines, unsigned number)
{
    char path[128], key[32];
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", dataset);
    snprintf(key, sizeof key, "upload-%u", number);
    struct http_call call = {.method = "POST",
                             .path = path,
                             .token = steward,
                             .body = lines,
                             .content_type = "application/x-ndjson",
                             .key = key,
                             .chunked = true};
    return http_do(client, &call);
}

static long long stored_trajectories(void)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/datasets/%s", dataset);
    struct http_call call = {.method = "GET", .path = path, .token = steward};
    struct http_answer answer = http_expect(client, 200, &call);
    json_t *count = json_object_get(answer.json, "trajectories");
    cr_assert(json_is_integer(count), "%s", answer.body);
    long long trajectories = json_integer_value(count);
    http_answer_clear(&answer);
    return trajectories;
}

/* Some uploads of LINES were acknowledged and the next one was not: of that one everything is there
 * or nothing, and repeating it is safe. */
static void expect_all_or_nothing(const char *lines, unsigned acknowledged)
{
    long long stored = stored_trajectories();
    cr_expect(stored == acknowledged * TRAJECTORIES || stored == (acknowledged + 1) * TRAJECTORIES,
              "%lld of %u uploads", stored, acknowledged);
    struct http_answer answer = upload(lines, acknowledged);
    cr_expect_eq(answer.status, 201, "%ld: %s", answer.status, answer.body);
    http_answer_clear(&answer);
    cr_expect_eq(stored_trajectories(), (acknowledged + 1) * TRAJECTORIES);
}

/* The disk breaks by WORD; somebody uploads again and again until the server is gone. */
static void break_under_uploads(const char *word, unsigned uploads_max, bool lose)
{
    char *lines = scene_trajectories(EXPERTS, TRAJECTORIES / EXPERTS, STEPS, 11);
    unsigned acknowledged = 0;
    long status = 201;
    scene_open_dataset(client, steward, dataset);
    disk_order(&disk, word);
    while (status == 201) {
        struct http_answer answer = upload(lines, acknowledged);
        status = answer.status;
        acknowledged += status == 201;
        cr_assert(status == 0 || status == 201, "%ld: %s", status, answer.body);
        cr_assert_leq(acknowledged, uploads_max, "the disk does not fail");
        http_answer_clear(&answer);
    }
    disk_expect_end_in_doubt(&server);
    if (lose)
        disk_lose_unsynced(&disk, &server);
    start_again();
    expect_all_or_nothing(lines, acknowledged);
    free(lines);
}

Test(disk_work, an_upload_that_was_not_synced_is_not_acknowledged)
{
    break_under_uploads("sync", 0, true);
}

Test(disk_work, an_upload_whose_writes_fail_is_not_acknowledged)
{
    break_under_uploads("write", 0, false);
}

/* 48 MB of log are there before it is written back for the first time. */
Test(disk_work, a_log_that_cannot_be_written_back_ends_the_server)
{
    break_under_uploads("sync-database", 60, false);
}

Test(disk_work, an_upload_to_a_full_disk_stores_nothing)
{
    char *lines = scene_trajectories(EXPERTS, TRAJECTORIES / EXPERTS, STEPS, 11);
    scene_open_dataset(client, steward, dataset);
    disk_order(&disk, "full");
    struct http_answer answer = upload(lines, 0);
    cr_expect_eq(answer.status, 503, "%ld: %s", answer.status, answer.body);
    cr_expect_str_eq(http_text(&answer, "type"), "/problems/storage-full");
    http_answer_clear(&answer);
    cr_expect_eq(stored_trajectories(), 0);
    disk_order(&disk, NULL);
    expect_all_or_nothing(lines, 0);
    free(lines);
}

/* ---- jobs */

static struct http_answer look(const char *path)
{
    struct http_call call = {.method = "GET", .path = path, .token = steward};
    return http_expect(client, 200, &call);
}

static void submit_as(const char *key, unsigned long steps, char out_path[96])
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"force\":true,\"epsilon\":4,\"delta\":1e-5},"
             "\"parameters\":{\"hidden\":[32],\"batch_size\":8,\"steps\":%lu}}",
             dataset, steps);
    struct http_call call = {
        .method = "POST", .path = "/v1/jobs", .token = steward, .body = body, .key = key};
    struct http_answer job = http_expect(client, 202, &call);
    snprintf(out_path, 96, "/v1/jobs/%s", http_text(&job, "id"));
    http_answer_clear(&job);
}

static void submit(unsigned long steps, char out_path[96])
{
    submit_as("the-job", steps, out_path);
}

static void wait_for_state(const char *path, const char *state)
{
    for (bool there = false; !there;) {
        struct http_answer job = look(path);
        there = strcmp(http_text(&job, "state"), state) == 0;
        cr_assert(there || strcmp(http_text(&job, "state"), "failed") != 0, "%s", job.body);
        http_answer_clear(&job);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static double budget(const char *what)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/datasets/%s/budget", dataset);
    struct http_answer answer = look(path);
    json_t *epsilon = json_object_get(json_object_get(answer.json, what), "epsilon");
    cr_assert(json_is_number(epsilon), "%s", answer.body);
    double value = json_number_value(epsilon);
    http_answer_clear(&answer);
    return value;
}

Test(disk_work, a_job_whose_checkpoint_fails_goes_on_after_the_restart)
{
    char path[96], cancel[112];
    scene_dataset(client, steward, 40, dataset);
    submit(1000000, path);
    wait_for_state(path, "running");
    double reserved = budget("reserved");
    cr_assert_gt(reserved, 0);
    disk_order(&disk, "sync");
    disk_expect_end_in_doubt(&server);
    disk_lose_unsynced(&disk, &server);
    start_again();
    wait_for_state(path, "running");
    cr_expect_float_eq(budget("reserved"), reserved, 1e-9);
    cr_expect_eq(budget("spent"), 0);
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_call call = {.method = "POST", .path = cancel, .token = steward};
    struct http_answer answer = http_expect(client, 200, &call);
    http_answer_clear(&answer);
    wait_for_state(path, "cancelled");
    cr_expect_leq(budget("spent"), reserved);
    cr_expect_eq(budget("reserved"), 0);
    call.path = "/v1/ledger:verify";
    answer = http_expect(client, 200, &call);
    cr_expect(json_is_true(json_object_get(answer.json, "ok")), "%s", answer.body);
    http_answer_clear(&answer);
}

/* What the end of the job at PATH says: "" when it succeeded. */
static void read_end(const char *path, char out[256])
{
    for (out[0] = '?'; out[0] == '?';) {
        struct http_answer job = look(path);
        const char *state = http_text(&job, "state");
        json_t *error = json_object_get(job.json, "error");
        if (strcmp(state, "succeeded") == 0)
            out[0] = '\0';
        else if (strcmp(state, "failed") == 0)
            snprintf(out, 256, "%s", json_string_value(json_object_get(error, "detail")));
        http_answer_clear(&job);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

/* Every dataset is larger than a byte, so its columns are files. */
Test(disk_work, a_disk_without_room_for_a_jobs_data_fails_the_job_which_pays_nothing)
{
    char path[96], end[256];
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    server.flags[0] = "--data-memory";
    server.flags[1] = "1";
    server_start(&server);
    http_client_move(client, &server);
    scene_dataset(client, steward, 40, dataset);
    disk_order(&disk, "full-columns");
    submit(20, path);
    read_end(path, end);
    cr_expect_not_null(strstr(end, "the disk of --columns-dir has room"), "%s", end);
    cr_expect_eq(budget("spent"), 0);
    cr_expect_eq(budget("reserved"), 0);
    disk_order(&disk, NULL);
    submit_as("another-job", 20, path);
    read_end(path, end);
    cr_expect_str_eq(end, "");
    cr_expect_gt(budget("spent"), 0);
}

Test(disk_work, a_directory_that_cannot_have_columns_stops_the_start)
{
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    const char *flags[] = {"--data-memory", "1G", "--columns-dir", "/proc"};
    memcpy(server.flags, flags, sizeof flags);
    cr_expect_neq(server_start_in_vain(&server), 0);
    server.flags[0] = NULL;
    server_start(&server);
}
