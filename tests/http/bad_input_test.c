/* Bad input over a real socket: each gets a problem that names the member or the line, nothing is
 * stored, nothing is charged, and the server answers the next call as if nothing had been. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/http/scene.h"

static struct server_process server;
static struct scene scene;
static char dataset[64], uploads[128];
static char *books; /* the ledger's accounts as they were */

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

/* There is a teacher that was asked once, and an empty dataset. */
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

static void teardown(void)
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
    free(books);
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(bad_input, .init = setup, .fini = teardown);

/* STATUS with /problems/SLUG; POINTER (NULL: none) among its errors, at LINE (0: none). */
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
Test(bad_input, budgets_that_are_none)
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

Test(bad_input, strangers_keys_and_names)
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

/* ---- questions and teachers that are none */

static void expect_question_refused(const char *body, long status, const char *slug,
                                    const char *pointer)
{
    const struct http_call call = {.method = "POST",
                                   .path = scene.queries,
                                   .token = scene.students[0].token,
                                   .key = "a-question",
                                   .body = body};
    expect_refused(&call, status, slug, pointer, 0);
}

Test(bad_input, a_state_of_the_wrong_size)
{
    expect_question_refused("{\"state\":[0,0,0]}", 422, "validation", "/state");
    expect_question_refused("{\"state\":[0,0,0,0,0]}", 422, "validation", "/state");
    expect_question_refused("{\"state\":[]}", 422, "validation", "/state");
    expect_question_refused("{\"state\":[[0,0,0,0]]}", 422, "validation", "/state");
    expect_question_refused("{\"states\":[[0,0,0,0],[0,0,0]]}", 422, "validation", "/states/1");
    expect_question_refused("{\"states\":[]}", 422, "validation", "/states");
    expect_question_refused("{\"state\":[0,0,0,0],\"states\":[[0,0,0,0]]}", 422, "validation", "");
    expect_question_refused("{}", 422, "validation", "");
}

Test(bad_input, a_state_that_is_not_a_number)
{
    expect_question_refused("{\"state\":[0,NaN,0,0]}", 400, "not-json", NULL);
    expect_question_refused("{\"state\":[0,\"NaN\",0,0]}", 422, "validation", "/state/1");
    expect_question_refused("{\"state\":[0,null,0,0]}", 422, "validation", "/state/1");
    expect_question_refused("{\"state\":[0,true,0,0]}", 422, "validation", "/state/1");
}

Test(bad_input, a_state_that_is_infinite)
{
    expect_question_refused("{\"state\":[0,0,Infinity,0]}", 400, "not-json", NULL);
    expect_question_refused("{\"state\":[0,0,1e999,0]}", 422, "validation", "/state/2");
    expect_question_refused("{\"state\":[0,0,-1e999,0]}", 422, "validation", "/state/2");
    /* Within the range of a double, outside that of the 32-bit floats that the network reads. */
    expect_question_refused("{\"state\":[0,0,1e39,0]}", 422, "validation", "/state/2");
    expect_question_refused("{\"states\":[[0,0,0,0],[0,-1e39,0,0]]}", 422, "validation",
                            "/states/1/1");
}

Test(bad_input, a_batch_larger_than_the_limit)
{
    char *body = malloc(1026 * 10 + 32), *at = body;
    cr_assert_not_null(body);
    at += sprintf(at, "{\"states\":[");
    for (int i = 0; i < 1025; i++)
        at += sprintf(at, "%s[0,0,0,0]", i == 0 ? "" : ",");
    sprintf(at, "]}");
    expect_question_refused(body, 422, "validation", "/states");
    free(body);
}

Test(bad_input, a_concentration_out_of_range)
{
    /* The teacher's is 20 and its min_probability 0.1. */
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":20.001}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":9.999}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":0}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":-1}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"concentration\":1e999}", 422, "validation",
                            "/concentration");
    expect_question_refused("{\"state\":[0,0,0,0],\"max_epsilon\":-1}", 422, "validation",
                            "/max_epsilon");
    expect_question_refused("{\"state\":[0,0,0,0],\"reuse\":\"always\"}", 422, "validation",
                            "/reuse");
}

/* Where every finite order is used up, a Renyi account has no price: the mechanism's own orders end
 * at 1 + min_probability / change. */
Test(bad_input, an_order_that_is_not_finite)
{
    char body[512];
    static const char *const radii[] = {"100", "1e9"};
    struct http_call call = {
        .method = "POST", .path = "/v1/teachers", .token = scene.steward, .body = body};
    for (int i = 0; i < 2; i++) {
        snprintf(body, sizeof body,
                 "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20000,\"min_probability\":"
                 "0.001},\"adjacency\":{\"unit\":\"observation\",\"radius\":%s},\"budget\":{"
                 "\"epsilon\":8,\"delta\":1e-5}}",
                 scene.policy, radii[i]);
        expect_refused(&call, 422, "validation", "/budget/epsilon", 0);
    }
    /* An order that somebody sends is none of ours to take. */
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20},\"adjacency\":{\"unit\":"
             "\"observation\",\"radius\":0.01},\"order\":1e999,\"budget\":{\"epsilon\":8,"
             "\"delta\":1e-5}}",
             scene.policy);
    expect_refused(&call, 422, "validation", "/order", 0);
}

/* Networks without a finite bound: weights too large, an output that jumps. The reason is told. */
Test(bad_input, a_teacher_without_a_lipschitz_bound)
{
    static const char *const networks[][3] = {
        {"softmax", "3e38", "no finite Lipschitz bound"},
        {"argmax", "0.5", "no Lipschitz bound"},
    };
    for (int i = 0; i < 2; i++) {
        char body[1024];
        const char *w = networks[i][1];
        snprintf(body, sizeof body,
                 "{\"name\":\"steep\",\"environment\":\"cartpole\",\"network\":{\"activation\":"
                 "\"relu\",\"output\":\"%s\",\"layers\":[{\"weight\":[[%s,%s,%s,%s],[%s,%s,%s,%s]],"
                 "\"bias\":[0,0]},{\"weight\":[[%s,%s],[%s,%s]],\"bias\":[0,0]},{\"weight\":[[%s,"
                 "%s],[%s,%s]],\"bias\":[0,0]}, {\"weight\":[[%s,%s],[%s,%s]],\"bias\":[0,0]},"
                 "{\"weight\":[[%s,%s],[%s,%s]],\"bias\":[0,0]},{\"weight\":[[%s,%s],[%s,%s]],"
                 "\"bias\":[0,0]},{\"weight\":[[%s,%s],[%s,%s]],\"bias\":[0,0]},{\"weight\":"
                 "[[%s,%s],[%s,%s]],\"bias\":[0,0]}]}}",
                 networks[i][0], w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w,
                 w, w, w, w, w, w, w, w, w, w, w, w, w, w);
        struct http_call import = {
            .method = "POST", .path = "/v1/policies", .token = scene.steward, .body = body};
        struct http_answer policy = http_expect(scene.client, 201, &import);
        char teacher[512];
        snprintf(teacher, sizeof teacher,
                 "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.1},"
                 "\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},\"budget\":{\"epsilon\":"
                 "8,\"delta\":1e-5}}",
                 http_text(&policy, "id"));
        http_answer_clear(&policy);
        struct http_call create = {
            .method = "POST", .path = "/v1/teachers", .token = scene.steward, .body = teacher};
        expect_refused(&create, 422, "validation", "/mechanism", 0);
        struct http_answer refused = http_do(scene.client, &create);
        cr_expect_not_null(strstr(refused.body, networks[i][2]), "%s", refused.body);
        http_answer_clear(&refused);
    }
}

/* Experts cannot be protected where one network has seen them all. */
Test(bad_input, an_adjacency_that_the_policy_does_not_have)
{
    static const char *const adjacencies[][2] = {
        {"\"unit\":\"expert\"", "/adjacency/unit"},
        {"\"unit\":\"expert\",\"radius\":0.1", "/adjacency/radius"},
        {"\"unit\":\"nobody\",\"radius\":0.1", "/adjacency/unit"},
        {"\"unit\":\"observation\"", "/adjacency/radius"},
        {"\"unit\":\"observation\",\"radius\":0.1,\"shards\":5", "/adjacency/shards"},
    };
    for (size_t i = 0; i < sizeof adjacencies / sizeof adjacencies[0]; i++) {
        char body[512];
        snprintf(body, sizeof body,
                 "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20},\"adjacency\":{%s},"
                 "\"budget\":{\"epsilon\":8,\"delta\":1e-5}}",
                 scene.policy, adjacencies[i][0]);
        struct http_call call = {
            .method = "POST", .path = "/v1/teachers", .token = scene.steward, .body = body};
        expect_refused(&call, 422, "validation", adjacencies[i][1], 0);
    }
}
