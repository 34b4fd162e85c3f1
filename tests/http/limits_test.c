/* Limits over HTTP: of two writers one is told, and kills leave a change made or not made. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/http/scene.h"

static struct server_process server;
static struct scene scene;
static char account[64], path[128];

static void open_service(void)
{
    server_open(&server, NULL);
    scene_make(&scene, &server, 40, 2);
    char teacher[128];
    snprintf(teacher, sizeof teacher, "/v1/teachers/%s", scene.teacher);
    const struct http_call call = {.method = "GET", .path = teacher, .token = scene.steward};
    struct http_answer found = http_expect(scene.client, 200, &call);
    snprintf(account, sizeof account, "%s", http_text(&found, "account"));
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", account);
    http_answer_clear(&found);
}

static void check_after(void)
{
    const struct desk desk = scene_desk(&scene, &server);
    desk_expect_whole_ledger(&desk);
}

static void close_service(void)
{
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(limits, .init = open_service, .fini = close_service);

/* Reads the ETag of the limit as an If-Match header, and the limit. */
static double read_limit(struct http_client *client, char header[80])
{
    const struct http_call call = {.method = "GET", .path = path, .token = scene.steward};
    struct http_answer found = http_expect(client, 200, &call);
    snprintf(header, 80, "If-Match: %s", http_header(&found, "ETag"));
    double epsilon =
        json_number_value(json_object_get(json_object_get(found.json, "limit"), "epsilon"));
    http_answer_clear(&found);
    return epsilon;
}

static struct http_answer change(struct http_client *client, const char *match, double epsilon,
                                 const char *more)
{
    char body[200];
    snprintf(body, sizeof body,
             "{\"limit\":{\"epsilon\":%.9g,\"delta\":1e-5},\"reason\":\"agreed\"%s}", epsilon,
             more);
    const struct http_call call = {
        .method = "PATCH", .path = path, .token = scene.steward, .body = body, .header = match};
    return http_do(client, &call);
}

/* ---- two writers */

enum { WRITERS = 2, ROUNDS = 20 };

struct writer {
    pthread_t thread;
    pthread_barrier_t *barrier;
    int number;
    const char *header;
    long status;
};

static void *write_limit(void *context)
{
    struct writer *writer = context;
    struct http_client *client = http_client_new(&server);
    pthread_barrier_wait(writer->barrier);
    struct http_answer answer = change(client, writer->header, 50 + writer->number, "");
    writer->status = answer.status;
    http_answer_clear(&answer);
    http_client_free(client);
    return NULL;
}

CHECKED_TEST(limits, of_two_writers_one_is_told)
{
    for (int round = 0; round < ROUNDS; round++) {
        char header[80], after[80];
        struct writer writers[WRITERS];
        pthread_barrier_t barrier;
        read_limit(scene.client, header);
        pthread_barrier_init(&barrier, NULL, WRITERS);
        for (int i = 0; i < WRITERS; i++) {
            writers[i] = (struct writer){
                .barrier = &barrier, .number = WRITERS * round + i, .header = header};
            pthread_create(&writers[i].thread, NULL, write_limit, &writers[i]);
        }
        for (int i = 0; i < WRITERS; i++)
            pthread_join(writers[i].thread, NULL);
        pthread_barrier_destroy(&barrier);
        int winner = writers[0].status == 200 ? 0 : 1;
        cr_expect_eq(writers[winner].status, 200);
        cr_expect_eq(writers[!winner].status, 412);
        cr_expect_eq(read_limit(scene.client, after), 50 + writers[winner].number);
    }
}

/* ---- kills */

static void restart(void)
{
    cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
    server_start(&server);
    http_client_move(scene.client, &server);
}

CHECKED_TEST(limits, that_wait_are_there_after_a_kill)
{
    char header[80], after[80], decline[128];
    read_limit(scene.client, header);
    struct http_answer one = change(scene.client, header, 40, ",\"approvals\":2");
    cr_assert_eq(one.status, 200, "%s", one.body);
    http_answer_clear(&one);
    read_limit(scene.client, header);
    struct http_answer proposed = change(scene.client, header, 60, "");
    cr_assert_eq(proposed.status, 202, "%s", proposed.body);
    restart();
    cr_expect_eq(read_limit(scene.client, after), 40);
    cr_expect_str_eq(after, header);
    snprintf(decline, sizeof decline, "/v1/limit-changes/%s:decline", http_text(&proposed, "id"));
    struct http_call call = {
        .method = "GET", .path = "/v1/limit-changes?status=open", .token = scene.steward};
    struct http_answer open = http_expect(scene.client, 200, &call);
    cr_expect_not_null(strstr(open.body, http_text(&proposed, "id")));
    http_answer_clear(&open);
    call = (struct http_call){.method = "POST",
                              .path = decline,
                              .token = scene.steward,
                              .body = "{\"reason\":\"no second steward\"}"};
    struct http_answer declined = http_expect(scene.client, 200, &call);
    http_answer_clear(&declined);
    restart();
    struct http_answer again = http_expect(scene.client, 409, &call);
    http_answer_clear(&again);
    http_answer_clear(&proposed);
}

struct raiser {
    double acknowledged; /* the last limit that a 200 told of */
};

/* Raises the limit one by one until the server is gone. */
static void *raise_on(void *context)
{
    struct raiser *raiser = context;
    struct http_client *client = http_client_new(&server);
    for (double epsilon = raiser->acknowledged + 1;; epsilon++) {
        struct http_answer answer = change(client, "If-Match: *", epsilon, "");
        long status = answer.status;
        http_answer_clear(&answer);
        if (status != 200)
            break;
        raiser->acknowledged = epsilon;
    }
    http_client_free(client);
    return NULL;
}

CHECKED_TEST(limits, that_were_acknowledged_stand_after_kills)
{
    char header[80];
    struct raiser raiser = {40};
    for (int kills = 0; kills < 5; kills++) {
        pthread_t thread;
        pthread_create(&thread, NULL, raise_on, &raiser);
        for (double begun = raiser.acknowledged; read_limit(scene.client, header) < begun + 3;)
            continue;
        cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
        pthread_join(thread, NULL);
        server_start(&server);
        http_client_move(scene.client, &server);
        double stands = read_limit(scene.client, header);
        cr_expect(stands == raiser.acknowledged || stands == raiser.acknowledged + 1, "%g, not %g",
                  stands, raiser.acknowledged);
        raiser.acknowledged = stands;
    }
}
