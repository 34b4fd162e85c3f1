/* Bad input over a real socket: each gets a problem that names the member or the line, nothing is
 * stored, nothing is charged, and the server answers the next call as if nothing had been. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "tests/http/refusals.h"

static struct refusals room;

static void setup(void)
{
    refusals_open(&room);
}

static void teardown(void)
{
    refusals_close(&room);
}

TestSuite(bad_input, .init = setup, .fini = teardown);

Test(bad_input, json_that_is_none_or_means_nothing)
{
    static const struct {
        const char *body;
        long status;
        const char *slug, *pointer;
    } cases[] = {
        {"", 400, "not-json", NULL},
        {"nonsense", 400, "not-json", NULL},
        {"{\"name\":\"a\",\"role\":", 400, "not-json", NULL},
        {"{\"name\":NaN,\"role\":\"agent\"}", 400, "not-json", NULL},
        {"{\"name\":\"a\",\"name\":\"b\",\"role\":\"agent\"}", 400, "not-json", NULL},
        {"{\"name\":1e999,\"role\":\"agent\"}", 422, "validation", "/name"},
        {"{\"name\":[],\"role\":\"agent\"}", 422, "validation", "/name"},
        {"{\"name\":\"a\",\"role\":7}", 422, "validation", "/role"},
        {"{\"name\":\"a\",\"role\":\"king\"}", 422, "validation", "/role"},
        {"{\"name\":\"a\",\"role\":\"agent\",\"x\":{}}", 422, "validation", "/x"},
        {"[]", 422, "validation", ""},
        {"{}", 422, "validation", "/role"},
    };
    struct http_call call = {.method = "POST", .path = "/v1/clients", .token = room.scene.admin};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        call.body = cases[i].body;
        refusals_expect(&room, &call, cases[i].status, cases[i].slug, cases[i].pointer, 0);
    }
    static char large[100000];
    memset(large, '[', 60000);
    call.body = large;
    refusals_expect(&room, &call, 400, "not-json", NULL, 0);
    memset(large, ' ', sizeof large - 1);
    refusals_expect(&room, &call, 413, "body-too-large", NULL, 0);
    call.body = "{\"name\":\"a\",\"role\":\"agent\"}";
    call.content_type = "text/plain";
    refusals_expect(&room, &call, 415, "unsupported-media-type", NULL, 0);
}

/* Every place that takes a budget, with every amount that is none. */
Test(bad_input, budgets_that_are_none)
{
    static const char *const amounts[] = {"-1", "0", "1e999", "-1e999", "1e7", "\"1\"", "null"};
    char grant[192], teacher[512], job[512], body[600];
    snprintf(grant, sizeof grant, "/v1/teachers/%s/budgets/%s", room.scene.teacher,
             room.scene.students[0].id);
    snprintf(teacher, sizeof teacher,
             "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20},\"adjacency\":{\"unit\":"
             "\"observation\",\"radius\":0.01},\"budget\":{\"epsilon\":%%s,\"delta\":1e-5}}",
             room.scene.policy);
    snprintf(job, sizeof job,
             "{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":%%s,"
             "\"delta\":1e-5}}",
             room.dataset);
    const struct {
        const char *method, *path, *format, *pointer;
    } places[] = {
        {"POST", "/v1/datasets",
         "{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":%s,\"delta\":0.1}}",
         "/budget/epsilon"},
        {"POST", "/v1/datasets",
         "{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":1,\"delta\":%s}}",
         "/budget/delta"},
        {"PUT", grant, "{\"epsilon\":%s,\"delta\":1e-5}", "/epsilon"},
        {"POST", "/v1/teachers", teacher, "/budget/epsilon"},
        {"POST", "/v1/jobs", job, "/privacy/epsilon"},
    };
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++)
        for (size_t a = 0; a < sizeof amounts / sizeof amounts[0]; a++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(body, sizeof body, places[p].format, amounts[a]);
#pragma GCC diagnostic pop
            struct http_call call = {.method = places[p].method,
                                     .path = places[p].path,
                                     .token = room.scene.steward,
                                     .key = "a-budget",
                                     .body = body};
            refusals_expect(&room, &call, 422, "validation", places[p].pointer, 0);
        }
}

#define LINE(states, actions, rest)                                                                \
    "{\"expert\":\"a\",\"states\":" states ",\"actions\":" actions                                 \
    ",\"rewards\":[1],\"terminated\":true,\"truncated\":false" rest "}"
#define GOOD LINE("[[0,0,0,0],[0,0,0,0]]", "[1]", "")

Test(bad_input, trajectories_that_are_none)
{
    static const char *const cases[][2] = {
        {LINE("[[0,0,0],[0,0,0]]", "[1]", ""), "/states/0"},
        {LINE("[[0,0,0,0],[0,0,0,0,0]]", "[1]", ""), "/states/1"},
        {LINE("[[0,0,0,0],[0,0,0,0]]", "[2]", ""), "/actions/0"},
        {LINE("[[0,0,0,0],[0,0,0,0]]", "[-1]", ""), "/actions/0"},
        {LINE("[[0,0,0,0],[0,0,0,0]]", "[0.5]", ""), "/actions/0"},
        {LINE("[[0,0,0,0]]", "[1]", ""), "/states"},
        {LINE("[[0,0,0,0],[0,0,0,0],[0,0,0,0]]", "[1]", ""), "/states"},
        {LINE("[[0,0,0,0],[0,0,0,0]]", "[1,1]", ""), "/states"},
        {LINE("[[0,0,0,0],[0,1e999,0,0]]", "[1]", ""), "/states/1/1"},
        {LINE("[[0,0,0,0],[0,\"0\",0,0]]", "[1]", ""), "/states/1/1"},
        {LINE("[[0,0,0,0],[0,NaN,0,0]]", "[1]", ""), ""},
        {LINE("[[0,0,0,0],[0,0,0,0]]", "[1]", ",\"colour\":1"), "/colour"},
        {"{\"expert\":\"a\",\"states\":[[0,0,0,0],", ""},
        {"nonsense", ""},
    };
    struct http_call call = {.method = "POST",
                             .path = room.uploads,
                             .token = room.scene.steward,
                             .content_type = "application/x-ndjson"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        snprintf(body, sizeof body, GOOD "\n%s\n" GOOD "\n", cases[i][0]);
        call.body = body;
        refusals_expect(&room, &call, 422, "validation", cases[i][1], 2);
    }
    call.body = GOOD;
    call.content_type = "text/csv";
    refusals_expect(&room, &call, 415, "unsupported-media-type", NULL, 0);
}

/* A stream is cut off everywhere, and damaged everywhere. */
Test(bad_input, compressed_streams_that_are_damaged)
{
    unsigned char packed[1024];
    static const char text[] = GOOD "\n" GOOD "\n" GOOD "\n";
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text,
                  .avail_in = sizeof text - 1,
                  .next_out = packed,
                  .avail_out = sizeof packed};
    cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t size = z.total_out;
    deflateEnd(&z);
    struct http_call call = {.method = "POST",
                             .path = room.uploads,
                             .token = room.scene.steward,
                             .body = (const char *)packed,
                             .content_type = "application/x-ndjson",
                             .header = "Content-Encoding: gzip"};
    for (call.body_size = 1; call.body_size < size; call.body_size += 7)
        refusals_expect(&room, &call, 400, "corrupt-encoding", NULL, 0);
    call.body_size = size;
    for (size_t at = 0; at < size; at += 5) {
        /* Bytes 4 to 9 of the head (time, compressor, system) say nothing of the content. */
        if (at >= 4 && at < 10)
            continue;
        packed[at] ^= 0x55;
        struct http_answer answer = http_do(room.scene.client, &call);
        cr_expect(answer.status == 400 || answer.status == 422, "byte %zu: %ld %s", at,
                  answer.status, answer.body);
        http_answer_clear(&answer);
        packed[at] ^= 0x55;
    }
    call.header = "Content-Encoding: zstd";
    refusals_expect(&room, &call, 400, "corrupt-encoding", NULL, 0);
    call.header = "Content-Encoding: br";
    refusals_expect(&room, &call, 415, "unsupported-media-type", NULL, 0);
}

Test(bad_input, strangers_keys_and_names)
{
    const char *student = room.scene.students[0].token, *good = "{\"state\":[0,0,0,0]}";
    struct http_call call = {
        .method = "POST", .path = room.scene.queries, .token = student, .body = good};
    refusals_expect(&room, &call, 400, "idempotency-key-required", NULL, 0);
    call.key = "asked-once";
    call.body = "{\"state\":[0,0,0,0.1]}";
    refusals_expect(&room, &call, 422, "idempotency-key-reused", NULL, 0);
    call.key = "\x7f";
    refusals_expect(&room, &call, 400, "idempotency-key-invalid", NULL, 0);
    call.key = "another";
    call.body = "{\"state\":[0,0,0]}";
    refusals_expect(&room, &call, 422, "validation", "/state", 0);
    call.body = "{\"state\":[0,0,0,1e999]}";
    refusals_expect(&room, &call, 422, "validation", "/state/3", 0);
    call.body = good;
    call.token = room.scene.auditor;
    refusals_expect(&room, &call, 403, "forbidden", NULL, 0);
    call.token = "tct_nobody_nothing";
    refusals_expect(&room, &call, 401, "unauthorized", NULL, 0);
    call.token = student;
    call.path = "/v1/teachers/tch_nothing/queries";
    refusals_expect(&room, &call, 404, "not-found", NULL, 0);
    call.token = room.scene.steward;
    call.path = "/v1/jobs";
    call.body = "{\"algorithm\":\"cql\",\"dataset\":\"ds_nothing\",\"privacy\":{\"epsilon\":1,"
                "\"delta\":1e-5}}";
    refusals_expect(&room, &call, 404, "not-found", NULL, 0);
    call.path = "/v1/datasets/ds_nothing/trajectories";
    call.content_type = "application/x-ndjson";
    call.body = GOOD;
    refusals_expect(&room, &call, 404, "not-found", NULL, 0);
}
