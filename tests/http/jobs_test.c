/* Uploads, jobs and their events over HTTP; a job that is stopped, killed and started again. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/scene.h"

static struct server_process server;
static struct http_client *client;
static char steward[160];

static void setup(void)
{
    server_open(&server, "--workers", "1", NULL);
    server_token(&server, "steward", steward);
    client = http_client_new(&server);
}

static void teardown(void)
{
    http_client_free(client);
    server_close(&server);
}

TestSuite(jobs, .init = setup, .fini = teardown);

static struct http_answer post(long status, const char *path, const char *body, const char *key)
{
    struct http_call call = {
        .method = "POST", .path = path, .token = steward, .body = body, .key = key};
    return http_expect(client, status, &call);
}

static struct http_answer get(const char *path)
{
    struct http_call call = {.method = "GET", .path = path, .token = steward};
    return http_expect(client, 200, &call);
}

static void submit(const char *dataset, unsigned long steps, char out_path[96])
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"epsilon\":4,\"delta\":1e-5},"
             "\"parameters\":{\"hidden\":[32],\"batch_size\":8,\"steps\":%lu}}",
             dataset, steps);
    struct http_answer job = post(202, "/v1/jobs", body, "the-job");
    cr_expect_not_null(http_header(&job, "Location"));
    snprintf(out_path, 96, "/v1/jobs/%s", http_text(&job, "id"));
    http_answer_clear(&job);
}

static bool is_over(const char *state)
{
    return strcmp(state, "succeeded") == 0 || strcmp(state, "failed") == 0 ||
           strcmp(state, "cancelled") == 0;
}

/* Waits until the job has passed STEP or is over; gives the step it has, and its state. */
static long long wait_past(const char *path, long long step, char out_state[16])
{
    long long now;
    do {
        usleep(50000);
        struct http_answer job = get(path);
        snprintf(out_state, 16, "%s", http_text(&job, "state"));
        now = json_integer_value(json_object_get(json_object_get(job.json, "progress"), "step"));
        http_answer_clear(&job);
    } while (now <= step && !is_over(out_state));
    return now;
}

static double budget_of(const char *dataset, const char *what)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/datasets/%s/budget", dataset);
    struct http_answer budget = get(path);
    json_t *epsilon = json_object_get(json_object_get(budget.json, what), "epsilon");
    double value = json_number_value(epsilon);
    cr_assert(json_is_number(epsilon), "%s", budget.body);
    http_answer_clear(&budget);
    return value;
}

/* The dataset has paid for this one job, once, and no more than was asked for. */
static void expect_paid(const char *dataset, const char *path)
{
    struct http_answer job = get(path);
    json_t *spent = json_object_get(json_object_get(job.json, "privacy"), "spent");
    double price = json_number_value(json_object_get(spent, "epsilon"));
    cr_expect(price > 3 && price <= 4, "%s", job.body);
    cr_expect_float_eq(budget_of(dataset, "spent"), price, 1e-9);
    cr_expect_eq(budget_of(dataset, "reserved"), 0);
    http_answer_clear(&job);
}

static void restart(int signal_number, int code)
{
    cr_assert_eq(server_end(&server, signal_number), code);
    server_start(&server);
    http_client_move(client, &server);
}

Test(jobs, a_job_runs_to_its_end_and_tells_so)
{
    char dataset[64], path[96], events[112], state[16];
    scene_dataset(client, steward, 40, dataset);
    submit(dataset, 200, path);
    snprintf(events, sizeof events, "%s/events", path);
    struct http_answer stream = get(events);
    cr_expect_not_null(strstr(stream.body, "event: done"), "%s", stream.body);
    cr_expect_not_null(strstr(http_header(&stream, "Content-Type"), "text/event-stream"));
    wait_past(path, 1000000000, state);
    cr_expect_str_eq(state, "succeeded");
    struct http_answer job = get(path);
    cr_expect(json_is_string(json_object_get(job.json, "policy")), "%s", job.body);
    http_answer_clear(&job);
    http_answer_clear(&stream);
    expect_paid(dataset, path);
}

Test(jobs, the_same_key_gives_the_same_job)
{
    char dataset[64], first[96], second[96], state[16];
    scene_dataset(client, steward, 40, dataset);
    submit(dataset, 200, first);
    submit(dataset, 200, second);
    cr_expect_str_eq(first, second);
    restart(SIGKILL, 1000 + SIGKILL);
    submit(dataset, 200, second);
    cr_expect_str_eq(first, second);
    wait_past(first, 1000000000, state);
    cr_expect_str_eq(state, "succeeded");
    expect_paid(dataset, first);
}

/* The step at which the log says that JOB goes on; -1 when it does not say so. */
static long long resumed_at(const char *job)
{
    char line[160];
    long long step = -1;
    size_t size = 0;
    snprintf(line, sizeof line, "event=job-resumed job=%s step=", job);
    char *log = read_whole(server.log, &size);
    const char *found = log != NULL ? strstr(log, line) : NULL;
    if (found != NULL)
        step = strtoll(found + strlen(line), NULL, 10);
    free(log);
    return step;
}

Test(jobs, a_job_goes_on_after_a_drain_and_after_a_kill)
{
    char dataset[64], path[96], cancel[112], state[16];
    scene_dataset(client, steward, 40, dataset);
    submit(dataset, 1000000, path);
    wait_past(path, 0, state);
    double reserved = budget_of(dataset, "reserved");
    cr_assert_gt(reserved, 0);
    cr_expect(!server_log_has(&server, "event=job-resumed"));
    /* SIGTERM: it saves itself at the step where it is. */
    restart(SIGTERM, 0);
    struct http_answer job = get(path);
    long long saved =
        json_integer_value(json_object_get(json_object_get(job.json, "progress"), "step"));
    http_answer_clear(&job);
    cr_assert_gt(saved, 0);
    cr_expect_float_eq(budget_of(dataset, "reserved"), reserved, 1e-9);
    wait_past(path, saved, state);
    cr_assert_str_eq(state, "running");
    long long resumed = resumed_at(path + strlen("/v1/jobs/"));
    cr_expect(resumed > 0 && resumed <= saved, "%lld, and %lld was seen", resumed, saved);
    /* kill -9: it goes on from what was saved, with what was reserved. */
    restart(SIGKILL, 1000 + SIGKILL);
    long long later = wait_past(path, saved, state);
    cr_assert_str_eq(state, "running");
    cr_expect_gt(later, saved);
    cr_expect_float_eq(budget_of(dataset, "reserved"), reserved, 1e-9);
    cr_expect_eq(budget_of(dataset, "spent"), 0);
    /* Cancelled, it pays for the steps that ran, no more than was reserved, and publishes nothing.
     */
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer cancelled = post(200, cancel, NULL, NULL);
    http_answer_clear(&cancelled);
    wait_past(path, 1000000000, state);
    cr_expect_str_eq(state, "cancelled");
    double spent = budget_of(dataset, "spent");
    cr_expect(spent > 0 && spent <= reserved, "%g of %g", spent, reserved);
    cr_expect_eq(budget_of(dataset, "reserved"), 0);
    job = get(path);
    cr_expect(json_is_null(json_object_get(job.json, "policy")), "%s", job.body);
    http_answer_clear(&job);
    struct http_answer audit = post(200, "/v1/ledger:verify", NULL, NULL);
    cr_expect(json_is_true(json_object_get(audit.json, "ok")), "%s", audit.body);
    http_answer_clear(&audit);
}

Test(jobs, learning_in_a_world_goes_on_after_a_drain_and_after_a_kill)
{
    char path[96], cancel[112], state[16];
    struct http_answer job =
        post(202, "/v1/jobs",
             "{\"algorithm\":\"ppo\",\"environment\":{\"name\":\"cartpole\",\"parameters\":"
             "{\"gravity\":11}},\"parameters\":{\"transitions\":100000000}}",
             "a-world");
    snprintf(path, sizeof path, "/v1/jobs/%s", http_text(&job, "id"));
    http_answer_clear(&job);
    wait_past(path, 0, state);
    restart(SIGTERM, 0);
    job = get(path);
    json_t *progress = json_object_get(job.json, "progress");
    long long saved = json_integer_value(json_object_get(progress, "step"));
    cr_expect_gt(json_number_value(json_object_get(progress, "mean_return")), 8, "%s", job.body);
    http_answer_clear(&job);
    cr_assert_gt(saved, 0);
    wait_past(path, saved, state);
    cr_assert_str_eq(state, "running");
    long long resumed = resumed_at(path + strlen("/v1/jobs/"));
    cr_expect(resumed > 0 && resumed <= saved, "%lld, and %lld was seen", resumed, saved);
    restart(SIGKILL, 1000 + SIGKILL);
    wait_past(path, saved, state);
    cr_assert_str_eq(state, "running");
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer cancelled = post(200, cancel, NULL, NULL);
    http_answer_clear(&cancelled);
    wait_past(path, 1000000000, state);
    cr_expect_str_eq(state, "cancelled");
}

Test(jobs, watchers_of_a_running_job_do_not_hold_up_a_drain)
{
    char dataset[64], path[96], request[512], answer[4096], state[16];
    scene_dataset(client, steward, 40, dataset);
    submit(dataset, 1000000, path);
    wait_past(path, 0, state);
    int handle = raw_connect(&server);
    snprintf(request, sizeof request,
             "GET %s/events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n\r\n", path,
             steward);
    cr_assert(raw_send(handle, request));
    raw_receive(handle, answer, sizeof answer, false);
    cr_assert_eq(strncmp(answer, "HTTP/1.1 200", 12), 0, "%s", answer);
    cr_expect_eq(server_end(&server, SIGTERM), 0);
    close(handle);
    server_start(&server);
}
