/* A server that keeps answers for a time: keys with their date, over restarts and a kill, and the
 * program's own student. Time itself passes in tests/unit/api/retention_year_test.c. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/http/scene.h"

#define STATE "{\"state\":[0,0.1,0,-0.1]}"

static struct server_process server;
static struct scene scene;

/* The key NAME with the date of so many days ago. */
static void write_key(int days_ago, const char *name, char out[64])
{
    char date[16];
    struct tm day;
    time_t then = time(NULL) - (time_t)days_ago * 86400;
    cr_assert_not_null(gmtime_r(&then, &day));
    strftime(date, sizeof date, "%Y-%m-%d", &day);
    snprintf(out, 64, "%s-%s", date, name);
}

static struct http_answer ask(const char *key)
{
    return http_do(scene.client, &(struct http_call){.method = "POST",
                                                     .path = scene.queries,
                                                     .token = scene.students[0].token,
                                                     .body = STATE,
                                                     .key = key});
}

static void expect_refused(const char *key, long status, const char *type)
{
    struct http_answer answer = ask(key);
    cr_expect_eq(answer.status, status, "%s: %ld", key, answer.status);
    cr_expect_str_eq(http_text(&answer, "type"), type);
    http_answer_clear(&answer);
}

static void restart(int signal, const char *flag)
{
    server_end(&server, signal);
    server.flags[1] = flag;
    server.flags[0] = flag ? "--keep-answers" : NULL;
    server_start(&server);
    http_client_move(scene.client, &server);
}

Test(retention, keys_have_their_date_and_a_repeat_is_the_same_over_a_kill, .timeout = 600)
{
    char today[64], old[64], out[20000];
    server_open(&server, "--keep-answers", "30", NULL);
    scene_make(&scene, &server, 1000, 50);
    write_key(0, "a", today);
    write_key(40, "b", old);
    expect_refused("new-1", 400, "/problems/idempotency-key-invalid");
    expect_refused(old, 410, "/problems/idempotency-key-expired");
    struct http_answer first = ask(today);
    cr_assert_eq(first.status, 200, "%s", first.body);
    const char *const days[] = {"30", "1", NULL, "30"};
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        restart(i % 2 ? SIGTERM : SIGKILL, days[i]);
        struct http_answer again = ask(today);
        cr_expect_eq(again.status, 200);
        cr_expect_str_eq(again.body, first.body);
        http_answer_clear(&again);
    }
    expect_refused(old, 410, "/problems/idempotency-key-expired");
    setenv("TACET_TOKEN", scene.students[1].token, 1);
    int code = tacet_run(out, sizeof out, "student", "--server", server.base, "--teacher",
                         scene.teacher, "--environment", "cartpole", "--transitions", "2048",
                         "--questions", "4", "--seed", "1", NULL);
    cr_expect_eq(code, 0, "%s", out);
    cr_expect(!server_log_has(&server, "prune-failed"));
    http_answer_clear(&first);
    scene_clear(&scene);
    server_close(&server);
}
