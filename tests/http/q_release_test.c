/* The life of a released Q-function over HTTP: dataset, job, release, questions, a kill, a restart,
 * a copy of the data on a second server that answers beside the first, bad questions, the end. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/q_scene.h"
#include "tests/http/scene.h"

#define POINTS 60

static struct server_process server, replica;
static struct http_client *client;
static struct q_scene scene;
static char steward[160], student[160];
static char *values[POINTS];

/* In an order of its own each time. */
static void expect_same(struct http_client *from, unsigned step)
{
    for (unsigned i = 0; i < POINTS; i++) {
        unsigned p = i * step % POINTS;
        struct http_answer answer = q_scene_ask(&scene, from, student, p / (POINTS - 1.0));
        cr_assert_eq(answer.status, 200, "%s", answer.body);
        if (values[p] == NULL)
            values[p] = strdup(answer.body);
        cr_expect_str_eq(answer.body, values[p]);
        http_answer_clear(&answer);
    }
}

static double spent(void)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/datasets/%s/budget", scene.dataset);
    const struct http_call call = {.method = "GET", .path = path, .token = steward};
    struct http_answer answer = http_expect(client, 200, &call);
    double epsilon =
        json_number_value(json_object_get(json_object_get(answer.json, "spent"), "epsilon"));
    http_answer_clear(&answer);
    return epsilon;
}

static void expect_faults(void)
{
    static const struct {
        const char *body, *pointer;
        long status;
    } bad[] = {
        {"{\"states\":[[1.5]]}", "/states/0/0", 422},
        {"{\"states\":[[0.5],[-0.001]]}", "/states/1/0", 422},
        {"{\"states\":[[0.5,0.5]]}", "/states/0", 422},
        {"{\"states\":[[]]}", "/states/0", 422},
        {"{\"states\":[0.5]}", "/states/0", 422},
        {"{\"states\":[[\"0.5\"]]}", "/states/0/0", 422},
        {"{\"states\":[[null]]}", "/states/0/0", 422},
        {"{\"states\":[]}", "/states", 422},
        {"{\"state\":[0.5]}", "/state", 422},
        {"{\"states\":[[NaN]]}", NULL, 400},
        {"{\"states\":[[1e999]]}", NULL, 0}, /* 400 or 422: no number of ours either way */
        {"{\"states\":[[0.5]", NULL, 400},
    };
    for (int again = 0; again < 2; again++) /* by the lane and by a pass */
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            const struct http_call call = {
                .method = "POST", .path = scene.queries, .token = student, .body = bad[i].body};
            struct http_answer answer = http_do(client, &call);
            cr_expect(bad[i].status == 0 ? answer.status == 400 || answer.status == 422
                                         : answer.status == bad[i].status,
                      "%s: %ld", bad[i].body, answer.status);
            cr_expect(bad[i].pointer == NULL || strstr(answer.body, bad[i].pointer) != NULL, "%s",
                      answer.body);
            http_answer_clear(&answer);
        }
    char *many = malloc(1025 * 6 + 40);
    strcpy(many, "{\"states\":[[0.1]");
    for (size_t i = 0, at = strlen(many); i < 1024; i++, at += 6)
        strcpy(many + at, ",[0.1]");
    strcat(many, "]}");
    const struct http_call call = {
        .method = "POST", .path = scene.queries, .token = student, .body = many};
    struct http_answer answer = http_expect(client, 422, &call);
    http_answer_clear(&answer);
    free(many);
    struct http_answer zero = q_scene_ask(&scene, client, student, 0.0),
                       minus = q_scene_ask(&scene, client, student, -0.0);
    cr_expect_str_eq(zero.body, minus.body);
    http_answer_clear(&zero);
    http_answer_clear(&minus);
}

static void copy_data(void)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s' && cp -a '%s' '%s'", replica.data, server.data,
             replica.data);
    cr_assert_eq(system(command), 0);
}

static void expect_end(void)
{
    const struct http_call end = {.method = "DELETE", .path = scene.path, .token = steward};
    struct http_answer answer = http_expect(client, 204, &end);
    http_answer_clear(&answer);
    for (int restarted = 0; restarted < 2; restarted++) {
        answer = q_scene_ask(&scene, client, student, 0.5);
        cr_expect_eq(answer.status, 404);
        http_answer_clear(&answer);
        server_end(&server, SIGKILL);
        server_start(&server);
        http_client_move(client, &server);
    }
}

Test(q_release, the_same_values_for_ever_until_its_end)
{
    server_open(&server, NULL);
    server_token(&server, "steward", steward);
    server_token(&server, "student", student);
    client = http_client_new(&server);
    q_scene_make(&scene, client, steward);
    double paid = spent();
    cr_expect(paid > 1.99 && paid <= 2, "%.9f", paid);
    expect_same(client, 1);
    expect_same(client, 7);
    expect_faults();
    cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
    server_start(&server);
    http_client_move(client, &server);
    expect_same(client, 11);
    /* A backup that is restored elsewhere, while the first goes on. */
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    server_prepare(&replica);
    copy_data();
    server_start(&server);
    server_start(&replica);
    http_client_move(client, &server);
    struct http_client *other = http_client_new(&replica);
    expect_same(other, 13);
    expect_same(client, 17);
    expect_same(other, 1);
    cr_expect_eq(spent(), paid);
    expect_end();
    /* What was copied before answers still: a backup is as secret as what it holds. */
    expect_same(other, 1);
    http_client_free(other);
    http_client_free(client);
    for (int i = 0; i < POINTS; i++)
        free(values[i]);
    server_remove(&replica);
    server_close(&server);
}
