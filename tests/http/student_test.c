/* `tacet student` against a real server: with a budget, through kill -9, after 403, and refusals.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/http/scene.h"

static struct server_process server;
static struct scene scene;

static void begin(double budget, double client_budget)
{
    server_open(&server, NULL);
    scene_make(&scene, &server, budget, client_budget);
    setenv("TACET_TOKEN", scene.students[0].token, 1);
}

static void end(void)
{
    scene_clear(&scene);
    server_close(&server);
}

/* Epsilon that the first student has used by the ledger; 0 before its account is opened. */
static double spent(void)
{
    char path[160];
    snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", scene.teacher, scene.students[0].id);
    const struct http_call call = {.method = "GET", .path = path, .token = scene.steward};
    struct http_answer answer = http_do(scene.client, &call);
    double epsilon =
        json_number_value(json_object_get(json_object_get(answer.json, "spent"), "epsilon"));
    http_answer_clear(&answer);
    return epsilon;
}

static double told(const json_t *summary)
{
    return json_number_value(json_object_get(json_object_get(summary, "spent"), "epsilon"));
}

static long member(const json_t *summary, const char *name)
{
    return (long)json_integer_value(json_object_get(summary, name));
}

static json_t *run(const char *transitions, const char *questions)
{
    static char out[100000];
    int code = tacet_run(out, sizeof out, "student", "--server", server.base, "--teacher",
                         scene.teacher, "--environment", "cartpole", "--transitions", transitions,
                         "--questions", questions, "--seed", "1", "--json", NULL);
    cr_assert_eq(code, 0, "%s", out);
    json_t *summary = json_loads(out, 0, NULL);
    cr_assert_not_null(summary, "%s", out);
    return summary;
}

Test(student, asks_in_every_rollout)
{
    begin(1e6, 1e5);
    json_t *summary = run("5120", "20");
    cr_expect_eq(member(summary, "states_asked"), 10 * 20);
    cr_expect(json_is_null(json_object_get(summary, "alone_since")));
    cr_expect_eq(json_array_size(json_object_get(summary, "curve")), 10);
    cr_expect_gt(told(summary), 0);
    cr_expect_float_eq(told(summary), spent(), 1e-9 * spent());
    json_decref(summary);
    end();
}

Test(student, goes_on_alone_when_the_teacher_falls_silent)
{
    begin(1e6, 3);
    json_t *summary = run("30720", "64");
    long since = member(summary, "alone_since");
    cr_expect(since > 0 && since < 30720, "%ld", since);
    cr_expect_eq(json_array_size(json_object_get(summary, "curve")), 60);
    cr_expect_gt(member(summary, "states_asked"), 0);
    cr_expect(told(summary) > 0 && told(summary) <= 3);
    cr_expect_float_eq(told(summary), spent(), 1e-9);
    json_decref(summary);
    /* One that starts with nothing left learns all the same. */
    summary = run("1024", "64");
    cr_expect_eq(member(summary, "states_asked"), 0);
    cr_expect_gt(member(summary, "alone_since"), 0);
    json_decref(summary);
    end();
}

/* Listens where the server did, takes one call and drops it: a student who was learning when the
 * server died has then met its death, too, however fast either of them is. */
static void drop_one_call(unsigned short port)
{
    const int yes = 1;
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(listener, 0);
    cr_assert_eq(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    cr_assert_eq(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(listener, 8), 0);
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    cr_assert_eq(poll(&wait, 1, 120000), 1);
    int call = accept(listener, NULL, NULL);
    cr_assert_geq(call, 0);
    close(call);
    close(listener);
}

/* The server dies twice while it is asked, and comes back on the same port: the student's count of
 * what it got is the ledger's count of what it paid. */
Test(student, survives_a_killed_server)
{
    char line[400], port[32];
    begin(1e6, 1e5);
    snprintf(port, sizeof port, "127.0.0.1:%u", server.port);
    server.flags[0] = "--listen";
    server.flags[1] = port;
    server.flags[2] = NULL;
    snprintf(line, sizeof line,
             "%s student --server %s --teacher %s --environment cartpole --transitions 102400 "
             "--questions 64 --seed 2 --json",
             server_program(), server.base, scene.teacher);
    FILE *out = popen(line, "r");
    cr_assert_not_null(out);
    double before = 0;
    for (int i = 0; i < 2; i++) {
        for (int waits = 0; spent() <= before && waits < 3000; waits++)
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        before = spent();
        cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
        drop_one_call((unsigned short)server.port);
        server_start(&server);
        http_client_move(scene.client, &server);
    }
    json_t *summary = json_loadf(out, JSON_DISABLE_EOF_CHECK, NULL);
    int status = pclose(out);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
    cr_expect_eq(member(summary, "states_asked"), 200 * 64);
    cr_expect_geq(member(summary, "repeats"), 2);
    cr_expect_float_eq(told(summary), spent(), 1e-9 * spent());
    json_decref(summary);
    const struct desk desk = scene_desk(&scene, &server);
    desk_expect_whole_ledger(&desk);
    end();
}

/* A flag is no other flag's value. */
Test(student, takes_no_flag_for_a_value)
{
    char out[2000];
    int code = tacet_run(out, sizeof out, "student", "--environment", "cartpole", "--server",
                         "--teacher", "tch_x", NULL);
    cr_expect_eq(code, 2, "%d, %s", code, out);
    cr_expect_str_eq(out, "tacet student: --server: a value must follow\n");
}

/* One line each, and nothing is asked. */
Test(student, refuses)
{
    static const struct {
        const char *flag, *value;
        int code;
    } cases[] = {
        {"--environment", "acrobot", 1}, {"--environment", "moon", 2}, {"--teacher", "tch_none", 1},
        {"--teacher", "../x", 2},        {"--lambda", "-1", 2},        {"--lambda", "nan", 2},
        {"--questions", "0", 2},         {"--questions", "513", 2},    {"--transitions", "x", 2},
        {"--nothing", "1", 2},           {"--server", "ftp://x", 2},
    };
    char out[2000];
    begin(8, 4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = tacet_run(out, sizeof out, "student", "--server", server.base, "--teacher",
                             scene.teacher, "--environment", "cartpole", cases[i].flag,
                             cases[i].value, NULL);
        cr_expect_eq(code, cases[i].code, "%s: %d, %s", cases[i].flag, code, out);
        cr_expect(strchr(out, '\n') == out + strlen(out) - 1, "%s", out);
        cr_expect_null(strstr(out, scene.students[0].token));
    }
    cr_expect_eq(spent(), 0);
    end();
}
