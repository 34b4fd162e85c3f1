/* The student in Python against a real server: until its teacher falls silent, and through kill -9.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/http/scene.h"

/* What a student has used of its budget; 0 before its account is opened. */
static double spent(struct scene *scene, int student)
{
    char path[160];
    snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", scene->teacher,
             scene->students[student].id);
    const struct http_call call = {.method = "GET", .path = path, .token = scene->steward};
    struct http_answer answer = http_do(scene->client, &call);
    json_t *said = json_object_get(answer.json, "spent");
    double epsilon = json_number_value(json_object_get(said, "epsilon"));
    http_answer_clear(&answer);
    return epsilon;
}

static FILE *begin(const struct server_process *server, const struct scene *scene, int student,
                   int episodes)
{
    char line[300];
    snprintf(line, sizeof line, "python3 examples/student.py %s %s %d 7", server->base,
             scene->teacher, episodes);
    setenv("TACET_TOKEN", scene->students[student].token, 1);
    FILE *out = popen(line, "r");
    cr_assert_not_null(out);
    return out;
}

static json_t *end(FILE *out)
{
    json_error_t fault;
    json_t *said = json_loadf(out, JSON_DISABLE_EOF_CHECK, &fault);
    while (fgetc(out) != EOF) { /* a reader that goes early is a broken pipe to the writer */
    }
    int status = pclose(out);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
    cr_assert_not_null(said, "%s", fault.text);
    return said;
}

static double member(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

Test(student_py, asks_until_the_budget_is_gone_and_goes_on_alone)
{
    struct server_process server;
    struct scene scene;
    server_open(&server, NULL);
    scene_make(&scene, &server, 1000, 3);
    json_t *said = end(begin(&server, &scene, 0, 120));
    cr_expect_eq(json_array_size(json_object_get(said, "returns")), 120);
    cr_expect(json_is_true(json_object_get(said, "alone")));
    const char *why = json_string_value(json_object_get(said, "why"));
    cr_expect(why && why[0] != '\0', "it says why it is alone");
    cr_expect_gt(member(said, "states_asked"), 0);
    double epsilon = member(json_object_get(said, "spent"), "epsilon");
    cr_expect(epsilon > 0 && epsilon <= 3, "%g", epsilon);
    cr_expect_float_eq(epsilon, spent(&scene, 0), 1e-9);
    json_decref(said);
    scene_clear(&scene);
    server_close(&server);
}

/* Killed twice while it is asked, and started again on the same port: the student's own count of
 * what it got is the ledger's count of what it paid. */
Test(student_py, asks_again_under_the_same_key_when_the_server_dies)
{
    struct server_process server;
    struct scene scene;
    char port[32];
    server_open(&server, NULL);
    scene_make(&scene, &server, 1e6, 1e5);
    snprintf(port, sizeof port, "127.0.0.1:%u", server.port);
    server.flags[0] = "--listen";
    server.flags[1] = port;
    server.flags[2] = NULL;
    FILE *out = begin(&server, &scene, 1, 300);
    double before = 0;
    for (int i = 0; i < 2; i++) {
        for (int waits = 0; spent(&scene, 1) <= before && waits < 3000; waits++)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        before = spent(&scene, 1);
        cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
        server_start(&server);
        http_client_move(scene.client, &server);
    }
    json_t *said = end(out);
    cr_expect(json_is_false(json_object_get(said, "alone")));
    cr_expect_gt(member(said, "states_asked"), 0);
    double epsilon = member(json_object_get(said, "spent"), "epsilon");
    cr_expect_gt(epsilon, before);
    cr_expect_float_eq(epsilon, spent(&scene, 1), 1e-9 * epsilon);
    const struct desk desk = scene_desk(&scene, &server);
    desk_expect_whole_ledger(&desk);
    json_decref(said);
    scene_clear(&scene);
    server_close(&server);
}
