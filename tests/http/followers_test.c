/* Who follows a job by its events is asked again each second: a stream ends with its token, or when
 * the follower leaves the project. */
#include <criterion/criterion.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/one_desk.h"

TestSuite(followers, .init = one_desk_open, .fini = one_desk_close, .timeout = 600);

struct follower {
    char id[64], token[160];
    int handle;
};

static char admin[160], project[80], job[96];

static struct http_answer call(const char *method, long status, const char *path, const char *token,
                               const char *body)
{
    return http_expect(
        desk.client, status,
        &(struct http_call){.method = method, .path = path, .token = token, .body = body});
}

static void call_for_nothing(const char *method, long status, const char *path, const char *token,
                             const char *body)
{
    struct http_answer answer = call(method, status, path, token, body);
    http_answer_clear(&answer);
}

/* A job of the project, which runs for longer than the test. */
static void start_job(void)
{
    char body[300], state[16];
    struct http_answer made = call("POST", 201, "/v1/projects", desk.steward, "{\"name\":\"p\"}");
    snprintf(project, sizeof project, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    snprintf(body, sizeof body,
             "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\",\"project\":\"%s\","
             "\"parameters\":{\"transitions\":100000000}}",
             project);
    desk_submit(&desk, body, "followed", job);
    desk_wait_past(&desk, job, 0, state);
}

/* A steward with the role ROLE in the project; NULL: none. */
static void make_follower(const char *role, struct follower *out)
{
    char path[192], body[60];
    struct http_answer me;
    server_token(&server, "steward", out->token);
    me = call("GET", 200, "/v1/clients/me", out->token, NULL);
    snprintf(out->id, sizeof out->id, "%s", http_text(&me, "id"));
    http_answer_clear(&me);
    if (!role)
        return;
    snprintf(path, sizeof path, "/v1/projects/%s/members/%s", project, out->id);
    snprintf(body, sizeof body, "{\"role\":\"%s\"}", role);
    struct http_answer member = http_do(
        desk.client,
        &(struct http_call){.method = "PUT", .path = path, .token = desk.steward, .body = body});
    cr_assert_lt(member.status, 300, "%s", member.body);
    http_answer_clear(&member);
}

/* Opens a stream with TOKEN; the status. */
static int follow_job(const char *token, int *out_handle)
{
    char request[512], answer[4096];
    int status = 0;
    *out_handle = raw_connect(&server);
    snprintf(request, sizeof request,
             "GET %s/events HTTP/1.1\r\nHost: t\r\nConnection: close\r\n"
             "Authorization: Bearer %s\r\n\r\n",
             job, token);
    cr_assert(raw_send(*out_handle, request));
    raw_receive(*out_handle, answer, sizeof answer, false);
    cr_assert_eq(sscanf(answer, "HTTP/1.1 %d", &status), 1, "%s", answer);
    return status;
}

/* The server ends the stream, or the test's time ends. */
static void expect_end(int handle)
{
    char bytes[4096];
    while (read(handle, bytes, sizeof bytes) > 0)
        continue;
    close(handle);
}

static void expect_open(int handle)
{
    struct pollfd gone = {.fd = handle, .events = POLLRDHUP};
    cr_expect_eq(poll(&gone, 1, 0), 0, "the stream has ended");
}

Test(followers, lose_the_stream_with_the_project_or_the_token)
{
    enum { STAYS, REMOVED, REVOKED, ROTATED, REPLACED, COUNT };
    struct follower f[COUNT], stranger, heir;
    char path[192], body[200];
    int owner, none;
    server_token(&server, "admin", admin);
    start_job();
    for (int i = 0; i < COUNT; i++) {
        make_follower("viewer", &f[i]);
        cr_assert_eq(follow_job(f[i].token, &f[i].handle), 200);
    }
    make_follower(NULL, &stranger);
    make_follower(NULL, &heir);
    cr_expect_eq(follow_job(stranger.token, &none), 404);
    close(none);
    cr_assert_eq(follow_job(desk.steward, &owner), 200);

    snprintf(path, sizeof path, "/v1/projects/%s/members/%s", project, f[REMOVED].id);
    call_for_nothing("DELETE", 204, path, desk.steward, NULL);
    expect_end(f[REMOVED].handle);

    snprintf(path, sizeof path, "/v1/clients/%s", f[REVOKED].id);
    call_for_nothing("DELETE", 204, path, admin, NULL);
    expect_end(f[REVOKED].handle);

    call_for_nothing("POST", 201, "/v1/clients/me:rotate", f[ROTATED].token,
                     "{\"overlap_seconds\":2}");
    expect_open(f[ROTATED].handle);
    expect_end(f[ROTATED].handle);

    call_for_nothing("POST", 201, "/v1/clients/me:rotate", f[REPLACED].token,
                     "{\"overlap_seconds\":0}");
    expect_end(f[REPLACED].handle);

    expect_open(owner);
    snprintf(path, sizeof path, "/v1/projects/%s:transfer", project);
    snprintf(body, sizeof body, "{\"to\":\"%s\",\"reason\":\"she left\"}", heir.id);
    call_for_nothing("POST", 200, path, desk.steward, body);
    expect_end(owner);

    /* Older than all of them, and asked at least as often. */
    expect_open(f[STAYS].handle);
    close(f[STAYS].handle);
    snprintf(path, sizeof path, "%s:cancel", job);
    call_for_nothing("POST", 200, path, heir.token, NULL);
}
