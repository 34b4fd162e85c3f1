/* A long upload passes through little memory. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/scene.h"

#define UPLOAD_BYTES ((size_t)100 << 20)
#define MOST_KIB     (64L << 10)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED true /* shadows of memory are memory too */
#else
#define INSTRUMENTED false
#endif

Test(upload_memory, a_hundred_megabytes_pass_through_64)
{
    struct server_process server;
    char steward[160], dataset[64], path[128];
    if (INSTRUMENTED)
        cr_skip("a sanitizer's own memory is not the server's");
    server_open(&server, NULL);
    server_token(&server, "steward", steward);
    struct http_client *client = http_client_new(&server);
    scene_open_dataset(client, steward, dataset);
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", dataset);

    char *lines = scene_trajectories(20, 2, 400, 5);
    size_t one = strlen(lines), copies = UPLOAD_BYTES / one + 1;
    char *body = malloc(copies * one);
    cr_assert_not_null(body);
    for (size_t i = 0; i < copies; i++)
        memcpy(body + i * one, lines, one);
    struct http_call call = {.method = "POST",
                             .path = path,
                             .token = steward,
                             .body = body,
                             .body_size = copies * one,
                             .content_type = "application/x-ndjson",
                             .chunked = true};
    struct http_answer answer = http_expect(client, 201, &call);
    json_t *count = json_object_get(answer.json, "trajectories");
    cr_expect_eq((size_t)json_integer_value(count), copies * 40, "%s", answer.body);
    long peak = server_peak_kib(&server);
    cr_expect_leq(peak, MOST_KIB, "the server used %ld KiB", peak);
    fprintf(stderr, "[----] an upload of %zu MB passed through %ld MB\n", copies * one >> 20,
            peak >> 10);
    http_answer_clear(&answer);
    free(body);
    free(lines);
    http_client_free(client);
    server_close(&server);
}

/* A dataset of CartPole's form whose description has a table. */
static const char TABLE_DATASET[] =
    "{\"name\":\"table\",\"max_episode_steps\":200,\"discount\":0.99,\"budget\":{\"epsilon\":1,"
    "\"delta\":1e-5},\"description\":{\"row\":\"a step\",\"expert\":\"a player\",\"features\":["
    "{\"name\":\"x\",\"low\":-1,\"high\":1},{\"name\":\"v\",\"low\":-1,\"high\":1}],\"actions\":["
    "\"left\",\"right\"],\"table\":{\"expert\":\"who\",\"episode\":\"game\",\"time\":\"t\","
    "\"action\":\"act\",\"reward\":\"r\",\"terminated\":\"end\",\"last_state\":\"drop\"}}}";

Test(upload_memory, a_hundred_megabytes_of_a_table_too)
{
    struct server_process server;
    char steward[160], path[128];
    if (INSTRUMENTED)
        cr_skip("a sanitizer's own memory is not the server's");
    server_open(&server, NULL);
    server_token(&server, "steward", steward);
    struct http_client *client = http_client_new(&server);
    struct http_call make = {
        .method = "POST", .path = "/v1/datasets", .token = steward, .body = TABLE_DATASET};
    struct http_answer made = http_expect(client, 201, &make);
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", http_text(&made, "id"));
    http_answer_clear(&made);

    char *body = malloc(UPLOAD_BYTES + 8192);
    size_t size = (size_t)sprintf(body, "who,game,t,x,v,act,r,end\n");
    long long games = 0;
    for (; size < UPLOAD_BYTES; games++)
        for (unsigned t = 0; t < 100; t++)
            size +=
                (size_t)sprintf(body + size, "e%lld,%lld,%u,0.12345678,-0.87654321,right,1.5,0\n",
                                games % 20, games, t);
    struct http_call call = {.method = "POST",
                             .path = path,
                             .token = steward,
                             .body = body,
                             .body_size = size,
                             .content_type = "text/csv",
                             .chunked = true};
    struct http_answer answer = http_expect(client, 201, &call);
    json_t *count = json_object_get(answer.json, "trajectories");
    cr_expect_eq(json_integer_value(count), games, "%s", answer.body);
    long peak = server_peak_kib(&server);
    cr_expect_leq(peak, MOST_KIB, "the server used %ld KiB", peak);
    fprintf(stderr, "[----] a table of %zu MB passed through %ld MB\n", size >> 20, peak >> 10);
    http_answer_clear(&answer);
    free(body);
    http_client_free(client);
    server_close(&server);
}
