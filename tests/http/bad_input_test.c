/* Bad input over a real socket: each gets a problem that names the member or the line, nothing is
 * stored, nothing is charged, and the server answers the next call as if nothing had been. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/checked_test.h"
#include "tests/http/scene.h"

static struct server_process server;
static struct scene scene;
static char dataset[64], uploads[128]; /* one without anything in it, and the path of its uploads */
static char *books;                    /* the ledger's accounts as they were */

static char *read_books(void)
{
    struct http_call call = {
        .method = "GET", .path = "/v1/ledger/accounts?page_size=1000", .token = scene.auditor};
    struct http_answer answer = http_expect(scene.client, 200, &call);
    char *text = answer.body;
    answer.body = NULL;
    http_answer_clear(&answer);
    return text;
}

/* There is a teacher that was asked once, and the empty dataset. Bodies may have 64 KiB. */
static void setup(void)
{
    server_open(&server, "--max-body", "64K", NULL);
    scene_make(&scene, &server, 100, 10);
    scene_open_dataset(scene.client, scene.steward, dataset);
    snprintf(uploads, sizeof uploads, "/v1/datasets/%s/trajectories", dataset);
    struct http_call ask = {.method = "POST",
                            .path = scene.queries,
                            .token = scene.students[0].token,
                            .key = "asked-once",
                            .body = "{\"state\":[0,0,0,0]}"};
    struct http_answer answer = http_expect(scene.client, 200, &ask);
    http_answer_clear(&answer);
    books = read_books();
}

static int64_t count_of(const char *path, const char *token)
{
    struct http_call call = {.method = "GET", .path = path, .token = token};
    struct http_answer answer = http_expect(scene.client, 200, &call);
    json_t *items = json_object_get(answer.json, "items");
    int64_t count = items != NULL
                        ? (int64_t)json_array_size(items)
                        : json_integer_value(json_object_get(answer.json, "trajectories"));
    http_answer_clear(&answer);
    return count;
}

/* Nothing was stored, nothing charged, and the server is ready. */
static void check_after(void)
{
    char path[128], *now = read_books();
    cr_expect_str_eq(now, books, "the ledger has changed");
    snprintf(path, sizeof path, "/v1/datasets/%s", dataset);
    cr_expect_eq(count_of(path, scene.steward), 0, "an upload was stored");
    cr_expect_eq(count_of("/v1/datasets", scene.steward), 1);
    cr_expect_eq(count_of("/v1/jobs", scene.steward), 0);
    cr_expect_eq(count_of("/v1/teachers", scene.steward), 1);
    cr_expect_eq(count_of("/v1/clients", scene.admin), 3 + SCENE_STUDENTS);
    struct http_answer ready = http_expect(
        scene.client, 200, &(struct http_call){.method = "GET", .path = "/healthz/ready"});
    http_answer_clear(&ready);
    free(now);
}

static void teardown(void)
{
    free(books);
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(bad_input, .init = setup, .fini = teardown);

/* The answer to CALL is STATUS with /problems/SLUG; POINTER (NULL: none) is among its errors, at
 * LINE (0: none). */
static void expect_refused(const struct http_call *call, long status, const char *slug,
                           const char *pointer, int64_t line)
{
    char type[64];
    struct http_answer answer = http_do(scene.client, call);
    snprintf(type, sizeof type, "/problems/%s", slug);
    cr_expect_eq(answer.status, status, "%s %s: %ld %s", call->path, call->body, answer.status,
                 answer.body);
    cr_expect_str_eq(http_text(&answer, "type"), type, "%s: %s", call->body, answer.body);
    bool named = pointer == NULL;
    size_t index;
    json_t *error;
    json_array_foreach(json_object_get(answer.json, "errors"), index, error)
    {
        const char *at = json_string_value(json_object_get(error, "pointer"));
        named = named || (at != NULL && strcmp(at, pointer) == 0 &&
                          json_integer_value(json_object_get(error, "line")) == line);
    }
    cr_expect(named, "%s: no %s, line %lld, in %s", call->body, pointer, (long long)line,
              answer.body);
    http_answer_clear(&answer);
}

CHECKED_TEST(bad_input, json_that_is_none_or_means_nothing)
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
    struct http_call call = {.method = "POST", .path = "/v1/clients", .token = scene.admin};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        call.body = cases[i].body;
        expect_refused(&call, cases[i].status, cases[i].slug, cases[i].pointer, 0);
    }
    static char large[100000];
    memset(large, '[', 60000);
    call.body = large;
    expect_refused(&call, 400, "not-json", NULL, 0);
    memset(large, ' ', sizeof large - 1);
    expect_refused(&call, 413, "body-too-large", NULL, 0);
    call.body = "{\"name\":\"a\",\"role\":\"agent\"}";
    call.content_type = "text/plain";
    expect_refused(&call, 415, "unsupported-media-type", NULL, 0);
}

/* Every place that takes a budget, with every amount that is none. */
CHECKED_TEST(bad_input, budgets_that_are_none)
{
    static const char *const amounts[] = {"-1", "0", "1e999", "-1e999", "1e7", "\"1\"", "null"};
    char grant[192], teacher[512], job[512], body[600];
    snprintf(grant, sizeof grant, "/v1/teachers/%s/budgets/%s", scene.teacher,
             scene.students[0].id);
    snprintf(teacher, sizeof teacher,
             "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20},\"adjacency\":{\"unit\":"
             "\"observation\",\"radius\":0.01},\"budget\":{\"epsilon\":%%s,\"delta\":1e-5}}",
             scene.policy);
    snprintf(job, sizeof job,
             "{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":%%s,"
             "\"delta\":1e-5}}",
             dataset);
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
                                     .token = scene.steward,
                                     .key = "a-budget",
                                     .body = body};
            expect_refused(&call, 422, "validation", places[p].pointer, 0);
        }
}

#define LINE(states, actions, rest)                                                                \
    "{\"expert\":\"a\",\"states\":" states ",\"actions\":" actions                                 \
    ",\"rewards\":[1],\"terminated\":true,\"truncated\":false" rest "}"
#define GOOD LINE("[[0,0,0,0],[0,0,0,0]]", "[1]", "")

CHECKED_TEST(bad_input, trajectories_that_are_none)
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
                             .path = uploads,
                             .token = scene.steward,
                             .content_type = "application/x-ndjson"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        snprintf(body, sizeof body, GOOD "\n%s\n" GOOD "\n", cases[i][0]);
        call.body = body;
        expect_refused(&call, 422, "validation", cases[i][1], 2);
    }
    call.body = GOOD;
    call.content_type = "text/csv";
    expect_refused(&call, 415, "unsupported-media-type", NULL, 0);
}

/* A stream is cut off everywhere, and damaged everywhere. */
CHECKED_TEST(bad_input, compressed_streams_that_are_damaged)
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
                             .path = uploads,
                             .token = scene.steward,
                             .body = (const char *)packed,
                             .content_type = "application/x-ndjson",
                             .header = "Content-Encoding: gzip"};
    for (call.body_size = 1; call.body_size < size; call.body_size += 7)
        expect_refused(&call, 400, "corrupt-encoding", NULL, 0);
    call.body_size = size;
    for (size_t at = 0; at < size; at += 5) {
        /* Bytes 4 to 9 of the head (time, compressor, system) say nothing of the content. */
        if (at >= 4 && at < 10)
            continue;
        packed[at] ^= 0x55;
        struct http_answer answer = http_do(scene.client, &call);
        cr_expect(answer.status == 400 || answer.status == 422, "byte %zu: %ld %s", at,
                  answer.status, answer.body);
        http_answer_clear(&answer);
        packed[at] ^= 0x55;
    }
    call.header = "Content-Encoding: zstd";
    expect_refused(&call, 400, "corrupt-encoding", NULL, 0);
    call.header = "Content-Encoding: br";
    expect_refused(&call, 415, "unsupported-media-type", NULL, 0);
}

CHECKED_TEST(bad_input, strangers_keys_and_names)
{
    const char *student = scene.students[0].token, *good = "{\"state\":[0,0,0,0]}";
    struct http_call call = {
        .method = "POST", .path = scene.queries, .token = student, .body = good};
    expect_refused(&call, 400, "idempotency-key-required", NULL, 0);
    call.key = "asked-once";
    call.body = "{\"state\":[0,0,0,0.1]}";
    expect_refused(&call, 422, "idempotency-key-reused", NULL, 0);
    call.key = "\x7f";
    expect_refused(&call, 400, "idempotency-key-invalid", NULL, 0);
    call.key = "another";
    call.body = "{\"state\":[0,0,0]}";
    expect_refused(&call, 422, "validation", "/state", 0);
    call.body = "{\"state\":[0,0,0,1e999]}";
    expect_refused(&call, 422, "validation", "/state/3", 0);
    call.body = good;
    call.token = scene.auditor;
    expect_refused(&call, 403, "forbidden", NULL, 0);
    call.token = "tct_nobody_nothing";
    expect_refused(&call, 401, "unauthorized", NULL, 0);
    call.token = student;
    call.path = "/v1/teachers/tch_nothing/queries";
    expect_refused(&call, 404, "not-found", NULL, 0);
    call.token = scene.steward;
    call.path = "/v1/jobs";
    call.body = "{\"algorithm\":\"cql\",\"dataset\":\"ds_nothing\",\"privacy\":{\"epsilon\":1,"
                "\"delta\":1e-5}}";
    expect_refused(&call, 404, "not-found", NULL, 0);
    call.path = "/v1/datasets/ds_nothing/trajectories";
    call.content_type = "application/x-ndjson";
    call.body = GOOD;
    expect_refused(&call, 404, "not-found", NULL, 0);
}
