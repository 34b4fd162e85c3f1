/* Shares over HTTP: one greedy student and many that come late, through a kill. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/scene.h"

enum { SHARE = 7 };

static struct server_process server;
static struct scene scene;

static long ask(int student, const char *key)
{
    const struct http_call call = {.method = "POST",
                                   .path = scene.queries,
                                   .token = scene.students[student].token,
                                   .body = "{\"state\":[0,0,0.1,0]}",
                                   .key = key};
    struct http_answer answer = http_do(scene.client, &call);
    long status = answer.status;
    http_answer_clear(&answer);
    return status;
}

static int ask_to_refusal(int student)
{
    for (int n = 0;; n++) {
        char key[32];
        snprintf(key, sizeof key, "s%d-%d", student, n);
        long status = ask(student, key);
        if (status != 200) {
            cr_assert(status == 403 || status == 409, "%ld", status);
            return n;
        }
    }
}

static void grant(int student)
{
    char path[160];
    snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", scene.teacher,
             scene.students[student].id);
    const struct http_call call = {
        .method = "PUT",
        .path = path,
        .token = scene.steward,
        .body = "{\"epsilon\":100,\"delta\":1e-5,\"guaranteed\":{\"answers\":7}}"};
    struct http_answer answer = http_expect(scene.client, 201, &call);
    http_answer_clear(&answer);
}

Test(guaranteed, shares_outlive_a_greedy_student_and_a_kill)
{
    server_open(&server, NULL);
    scene_make(&scene, &server, 2, 1);
    for (int i = 0; i < SCENE_STUDENTS; i++)
        grant(i);
    cr_expect_eq(ask(1, "early"), 200);
    cr_expect_gt(ask_to_refusal(0), SHARE);
    cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
    server_start(&server);
    http_client_move(scene.client, &server);
    cr_expect_neq(ask(0, "again"), 200);
    cr_expect_eq(ask(1, "early"), 200); /* stored: it costs nothing again */
    cr_expect_eq(ask_to_refusal(1), SHARE - 1);
    for (int i = 2; i < SCENE_STUDENTS; i++)
        cr_expect_eq(ask_to_refusal(i), SHARE);
    const struct desk desk = scene_desk(&scene, &server);
    desk_expect_whole_ledger(&desk);
    scene_clear(&scene);
    server_close(&server);
}
