/* The life of budgets over HTTP: grant, questions to the refusal, raise, the common cap of two
 * clients together, every answer again by its key after a kill, and a ledger that adds up. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/scene.h"

#define ANSWERS_MAX 4000
#define STATE       "{\"states\":[[0,0.1,0,-0.1],[0,0,0.02,0],[0,0.1,0,0.1],[0.5,0,0.02,0]]}"

static struct server_process server;
static struct scene scene;

static struct {
    int student;
    char key[32];
    char *body;
} answers[ANSWERS_MAX];
static int answer_count;

static struct http_answer ask(int student, const char *key)
{
    const struct http_call call = {.method = "POST",
                                   .path = scene.queries,
                                   .token = scene.students[student].token,
                                   .body = STATE,
                                   .key = key};
    return http_do(scene.client, &call);
}

/* Asks until it is refused: how many were answered. */
static int ask_to_refusal(int student)
{
    for (int n = 0;; n++) {
        cr_assert_lt(answer_count, ANSWERS_MAX);
        char *key = answers[answer_count].key;
        snprintf(key, sizeof answers[0].key, "k%d", answer_count);
        struct http_answer answer = ask(student, key);
        if (answer.status != 200) {
            cr_assert_eq(answer.status, 403, "%s", answer.body);
            cr_assert_str_eq(http_text(&answer, "type"), "/problems/budget-exhausted");
            http_answer_clear(&answer);
            return n;
        }
        answers[answer_count].student = student;
        answers[answer_count++].body = strdup(answer.body);
        http_answer_clear(&answer);
    }
}

static void grant(int student, double epsilon, const char *match, long status)
{
    char path[160], body[80];
    snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", scene.teacher,
             scene.students[student].id);
    snprintf(body, sizeof body, "{\"epsilon\":%g,\"delta\":1e-5}", epsilon);
    const struct http_call call = {
        .method = "PUT", .path = path, .token = scene.steward, .body = body, .header = match};
    struct http_answer answer = http_expect(scene.client, status, &call);
    http_answer_clear(&answer);
}

static void expect_whole_ledger(void)
{
    const struct desk desk = scene_desk(&scene, &server);
    desk_expect_whole_ledger(&desk);
}

Test(teacher_life, budgets_from_grant_to_silence)
{
    server_open(&server, NULL);
    scene_make(&scene, &server, 4.2, 3);
    grant(0, 2, NULL, 201);
    int first = ask_to_refusal(0);
    cr_expect_gt(first, 0);
    grant(0, 2.5, NULL, 428);              /* which revision? */
    grant(0, 2.5, "If-Match: \"7\"", 412); /* not that one */
    grant(0, 1.5, "If-Match: \"1\"", 409); /* below what is spent */
    grant(0, 2.5, "If-Match: \"1\"", 200);
    cr_expect_gt(ask_to_refusal(0), 0);
    /* Others have the default budget, all of it, until the common cap binds them together. */
    int second = ask_to_refusal(1), third = ask_to_refusal(2), fourth = ask_to_refusal(3);
    cr_expect_gt(second, first);
    cr_expect(third < second || fourth < second, "%d %d %d", second, third, fourth);
    cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
    server_start(&server);
    http_client_move(scene.client, &server);
    for (int i = 0; i < answer_count; i++) {
        struct http_answer again = ask(answers[i].student, answers[i].key);
        cr_expect_eq(again.status, 200);
        cr_expect_str_eq(again.body, answers[i].body);
        http_answer_clear(&again);
        free(answers[i].body);
    }
    cr_expect_eq(ask_to_refusal(0), 0);
    expect_whole_ledger();
    scene_clear(&scene);
    server_close(&server);
}
