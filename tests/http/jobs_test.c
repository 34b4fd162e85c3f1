/* Uploads, jobs and their events over HTTP; a job that is stopped, killed and started again. */
#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/one_desk.h"

TestSuite(jobs, .init = one_desk_open, .fini = one_desk_close);

static void submit(const char *dataset, unsigned long steps, char out_path[96])
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"force\":true,\"epsilon\":4,\"delta\":1e-5},"
             "\"parameters\":{\"hidden\":[32],\"batch_size\":8,\"steps\":%lu}}",
             dataset, steps);
    desk_submit(&desk, body, "the-job", out_path);
}

/* The dataset has paid for this one job, once, and no more than was asked for. */
static void expect_paid(const char *dataset, const char *path)
{
    struct http_answer job = desk_get(&desk, path);
    json_t *spent = json_object_get(json_object_get(job.json, "privacy"), "spent");
    double price = json_number_value(json_object_get(spent, "epsilon"));
    cr_expect(price > 3 && price <= 4, "%s", job.body);
    cr_expect_float_eq(desk_epsilon(&desk, dataset, "spent"), price, 1e-9);
    cr_expect_eq(desk_epsilon(&desk, dataset, "reserved"), 0);
    http_answer_clear(&job);
}

Test(jobs, a_job_runs_to_its_end_and_tells_so)
{
    char dataset[64], path[96], events[112], state[16];
    scene_dataset(desk.client, desk.steward, 40, dataset);
    submit(dataset, 200, path);
    snprintf(events, sizeof events, "%s/events", path);
    struct http_answer stream = desk_get(&desk, events);
    cr_expect_not_null(strstr(stream.body, "event: done"), "%s", stream.body);
    cr_expect_not_null(strstr(http_header(&stream, "Content-Type"), "text/event-stream"));
    desk_wait_past(&desk, path, LLONG_MAX, state);
    cr_expect_str_eq(state, "succeeded");
    struct http_answer job = desk_get(&desk, path);
    cr_expect(json_is_string(json_object_get(job.json, "policy")), "%s", job.body);
    http_answer_clear(&job);
    http_answer_clear(&stream);
    expect_paid(dataset, path);
}

/* An event holds the whole job, and a sweep's tries make that a long text. */
Test(jobs, a_long_sweep_tells_of_its_end)
{
    char dataset[64], path[96], events[112], body[1024];
    scene_dataset(desk.client, desk.steward, 40, dataset);
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"force\":true,\"epsilon\":4,\"delta\":1e-5},"
             "\"parameters\":{\"hidden\":[4],\"steps\":2},"
             "\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":1,"
             "\"max_episode_steps\":1},\"sweep\":{\"learning_rate\":[0.0011111,0.0022222],"
             "\"adam_epsilon\":[1.1111111e-7,2.2222222e-7],\"average_decay\":[0.9111111,0.9222222],"
             "\"clip_norm\":[1.1111111,2.2222222],\"target_update_interval\":[1000,2000],"
             "\"huber_threshold\":[1.1111111,2.2222222]}}",
             dataset);
    desk_submit(&desk, body, "the-sweep", path);
    snprintf(events, sizeof events, "%s/events", path);
    struct http_answer stream = desk_get(&desk, events);
    const char *done = strstr(stream.body, "event: done");
    cr_assert_not_null(done, "%s", stream.body);
    cr_expect_gt(strlen(done), 8192);
    http_answer_clear(&stream);
}

Test(jobs, the_same_key_gives_the_same_job)
{
    char dataset[64], first[96], second[96], state[16];
    scene_dataset(desk.client, desk.steward, 40, dataset);
    submit(dataset, 200, first);
    submit(dataset, 200, second);
    cr_expect_str_eq(first, second);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    submit(dataset, 200, second);
    cr_expect_str_eq(first, second);
    desk_wait_past(&desk, first, LLONG_MAX, state);
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
    scene_dataset(desk.client, desk.steward, 40, dataset);
    submit(dataset, 1000000, path);
    desk_wait_past(&desk, path, 0, state);
    double reserved = desk_epsilon(&desk, dataset, "reserved");
    cr_assert_gt(reserved, 0);
    cr_expect(!server_log_has(&server, "event=job-resumed"));
    /* SIGTERM: it saves itself at the step where it is. */
    desk_restart(&desk, SIGTERM, 0);
    struct http_answer job = desk_get(&desk, path);
    long long saved =
        json_integer_value(json_object_get(json_object_get(job.json, "progress"), "step"));
    http_answer_clear(&job);
    cr_assert_gt(saved, 0);
    cr_expect_float_eq(desk_epsilon(&desk, dataset, "reserved"), reserved, 1e-9);
    desk_wait_past(&desk, path, saved, state);
    cr_assert_str_eq(state, "running");
    long long resumed = resumed_at(path + strlen("/v1/jobs/"));
    cr_expect(resumed > 0 && resumed <= saved, "%lld, and %lld was seen", resumed, saved);
    /* kill -9: it goes on from what was saved, with what was reserved. */
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    long long later = desk_wait_past(&desk, path, saved, state);
    cr_assert_str_eq(state, "running");
    cr_expect_gt(later, saved);
    cr_expect_float_eq(desk_epsilon(&desk, dataset, "reserved"), reserved, 1e-9);
    cr_expect_eq(desk_epsilon(&desk, dataset, "spent"), 0);
    /* Cancelled, it pays for the steps that ran, no more than was reserved, and publishes nothing.
     */
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer cancelled = desk_post(&desk, 200, cancel, NULL, NULL);
    http_answer_clear(&cancelled);
    desk_wait_past(&desk, path, LLONG_MAX, state);
    cr_expect_str_eq(state, "cancelled");
    double spent = desk_epsilon(&desk, dataset, "spent");
    cr_expect(spent > 0 && spent <= reserved, "%g of %g", spent, reserved);
    cr_expect_eq(desk_epsilon(&desk, dataset, "reserved"), 0);
    job = desk_get(&desk, path);
    cr_expect(json_is_null(json_object_get(job.json, "policy")), "%s", job.body);
    http_answer_clear(&job);
    desk_expect_whole_ledger(&desk);
}

Test(jobs, learning_in_a_world_goes_on_after_a_drain_and_after_a_kill)
{
    char path[96], cancel[112], state[16];
    desk_submit(&desk,
                "{\"algorithm\":\"ppo\",\"environment\":{\"name\":\"cartpole\",\"parameters\":"
                "{\"gravity\":11}},\"parameters\":{\"transitions\":100000000}}",
                "a-world", path);
    desk_wait_past(&desk, path, 0, state);
    desk_restart(&desk, SIGTERM, 0);
    struct http_answer job = desk_get(&desk, path);
    json_t *progress = json_object_get(job.json, "progress");
    long long saved = json_integer_value(json_object_get(progress, "step"));
    cr_expect_gt(json_number_value(json_object_get(progress, "mean_return")), 8, "%s", job.body);
    http_answer_clear(&job);
    cr_assert_gt(saved, 0);
    desk_wait_past(&desk, path, saved, state);
    cr_assert_str_eq(state, "running");
    long long resumed = resumed_at(path + strlen("/v1/jobs/"));
    cr_expect(resumed > 0 && resumed <= saved, "%lld, and %lld was seen", resumed, saved);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    desk_wait_past(&desk, path, saved, state);
    cr_assert_str_eq(state, "running");
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer cancelled = desk_post(&desk, 200, cancel, NULL, NULL);
    http_answer_clear(&cancelled);
    desk_wait_past(&desk, path, LLONG_MAX, state);
    cr_expect_str_eq(state, "cancelled");
}

/* Follows the events of the job at PATH; gives the status. */
static int follow(const char *path, int *out_handle)
{
    char request[512], answer[4096];
    int status = 0;
    *out_handle = raw_connect(&server);
    snprintf(request, sizeof request,
             "GET %s/events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n\r\n", path,
             desk.steward);
    cr_assert(raw_send(*out_handle, request));
    raw_receive(*out_handle, answer, sizeof answer, false);
    cr_assert_eq(sscanf(answer, "HTTP/1.1 %d", &status), 1, "%s", answer);
    return status;
}

/* Of 64 event streams a client has a quarter; one that is closed makes room. */
Test(jobs, a_client_has_its_share_of_event_streams)
{
    enum { SHARE = 16 };
    char dataset[64], path[96], cancel[112], state[16];
    int handles[SHARE], more, status;
    scene_dataset(desk.client, desk.steward, 40, dataset);
    submit(dataset, 1000000, path);
    desk_wait_past(&desk, path, 0, state);
    for (int i = 0; i < SHARE; i++)
        cr_assert_eq(follow(path, &handles[i]), 200);
    cr_expect_eq(follow(path, &more), 429);
    close(more);
    for (int i = 0; i < SHARE; i++) {
        close(handles[i]);
        do { /* it learns of the end from another thread */
            status = follow(path, &handles[i]);
            if (status != 200)
                close(handles[i]);
        } while (status == 429);
        cr_expect_eq(status, 200);
    }
    for (int i = 0; i < SHARE; i++)
        close(handles[i]);
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer cancelled = desk_post(&desk, 200, cancel, NULL, NULL);
    http_answer_clear(&cancelled);
    desk_wait_past(&desk, path, LLONG_MAX, state);
}

Test(jobs, watchers_of_a_running_job_do_not_hold_up_a_drain)
{
    char dataset[64], path[96], request[512], answer[4096], state[16];
    scene_dataset(desk.client, desk.steward, 40, dataset);
    submit(dataset, 1000000, path);
    desk_wait_past(&desk, path, 0, state);
    int handle = raw_connect(&server);
    snprintf(request, sizeof request,
             "GET %s/events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n\r\n", path,
             desk.steward);
    cr_assert(raw_send(handle, request));
    raw_receive(handle, answer, sizeof answer, false);
    cr_assert_eq(strncmp(answer, "HTTP/1.1 200", 12), 0, "%s", answer);
    cr_expect_eq(server_end(&server, SIGTERM), 0);
    close(handle);
    server_start(&server);
}
