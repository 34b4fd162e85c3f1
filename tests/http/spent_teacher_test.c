/* A teacher with "when_spent":"random" over HTTP: what a spent client gets, through kill -9 too,
 * and what students make of it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/checked_test.h"
#include "tests/http/scene.h"

#define STATE "{\"state\":[0,0,0.1,0]}"

static struct server_process server;
static struct scene scene;

static void setup(void)
{
    server_open(&server, NULL);
    scene_make(&scene, &server, 1000, 20);
}

static void check_after(void)
{
    const struct desk desk = scene_desk(&scene, &server);
    desk_expect_whole_ledger(&desk);
}

static void teardown(void)
{
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(spent_teacher, .init = setup, .fini = teardown);

/* The scene's teacher is from now on a new one like it that answers at random when it is spent,
 * with a client budget of EPSILON. */
static void take_teacher(double epsilon)
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20,\"min_probability\":0.1},"
             "\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},\"budget\":{\"epsilon\":50,"
             "\"delta\":1e-5},\"client_budget\":{\"epsilon\":%g,\"delta\":1e-5},"
             "\"when_spent\":\"random\"}",
             scene.policy, epsilon);
    struct http_call create = {
        .method = "POST", .path = "/v1/teachers", .token = scene.steward, .body = body};
    struct http_answer made = http_expect(scene.client, 201, &create);
    snprintf(scene.teacher, sizeof scene.teacher, "%s", http_text(&made, "id"));
    snprintf(scene.queries, sizeof scene.queries, "/v1/teachers/%s/queries", scene.teacher);
    http_answer_clear(&made);
}

static struct http_answer ask(struct http_client *client, const char *key)
{
    const struct http_call call = {.method = "POST",
                                   .path = scene.queries,
                                   .token = scene.students[0].token,
                                   .body = STATE,
                                   .key = key};
    return http_do(client, &call);
}

static double amount(const struct http_answer *answer, const char *object)
{
    json_t *value = json_object_get(json_object_get(answer->json, object), "epsilon");
    cr_assert(json_is_number(value), "%s", answer->body);
    return json_number_value(value);
}

static bool is_random(const struct http_answer *answer)
{
    return json_is_true(json_object_get(answer->json, "random"));
}

/* Asks until an answer is not a paid one, and gives that. */
static struct http_answer spend_all(void)
{
    for (unsigned n = 0;; n++) {
        char key[32];
        snprintf(key, sizeof key, "paid-%u", n);
        struct http_answer answer = ask(scene.client, key);
        if (answer.status != 200 || is_random(&answer))
            return answer;
        cr_expect_gt(amount(&answer, "cost"), 0);
        http_answer_clear(&answer);
    }
}

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

/* ---- through kill -9 */

enum { ANSWERS = 20000 };

struct asker {
    struct http_client *client;
    atomic_uint count;
    char *bodies[ANSWERS]; /* of the key "n-I" */
};

static void *ask_on(void *context)
{
    struct asker *asker = context;
    for (unsigned n = 0; n < ANSWERS; n++) {
        char key[32];
        snprintf(key, sizeof key, "n-%u", n);
        struct http_answer answer = ask(asker->client, key);
        bool gone = answer.status == 0;
        cr_assert(gone || (answer.status == 200 && is_random(&answer)), "%s", answer.body);
        asker->bodies[n] = answer.body;
        answer.body = NULL;
        http_answer_clear(&answer);
        if (gone)
            break;
        atomic_fetch_add(&asker->count, 1);
    }
    return NULL;
}

/* An answer that was received is on disk: it is the answer to its key for ever. */
CHECKED_TEST(spent_teacher, draws_nothing_twice_when_it_is_killed)
{
    take_teacher(0.5);
    struct http_answer first = spend_all();
    cr_assert(is_random(&first), "%s", first.body);
    http_answer_clear(&first);
    char *before = read_books();
    struct asker *asker = calloc(1, sizeof *asker);
    cr_assert_not_null(asker);
    asker->client = http_client_new(&server);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, ask_on, asker), 0);
    while (atomic_load(&asker->count) < 200)
        sched_yield();
    cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
    pthread_join(thread, NULL);
    server_start(&server);
    http_client_move(scene.client, &server);
    unsigned count = atomic_load(&asker->count);
    cr_assert(count >= 200 && count < ANSWERS, "%u", count);
    for (unsigned n = 0; n < count; n++) {
        char key[32];
        snprintf(key, sizeof key, "n-%u", n);
        struct http_answer again = ask(scene.client, key);
        cr_assert_str_eq(again.body, asker->bodies[n]);
        http_answer_clear(&again);
    }
    char *after = read_books();
    cr_expect_str_eq(after, before);
    for (unsigned n = 0; n <= count; n++)
        free(asker->bodies[n]);
    http_client_free(asker->client);
    free(asker);
    free(before);
    free(after);
}

/* ---- students */

CHECKED_TEST(spent_teacher, leaves_its_students_alone)
{
    static char out[100000];
    take_teacher(3);
    setenv("TACET_TOKEN", scene.students[0].token, 1);
    int code = tacet_run(out, sizeof out, "student", "--server", server.base, "--teacher",
                         scene.teacher, "--environment", "cartpole", "--transitions", "30720",
                         "--questions", "64", "--seed", "1", "--json", NULL);
    cr_assert_eq(code, 0, "%s", out);
    json_t *summary = json_loads(out, 0, NULL);
    cr_assert_not_null(summary, "%s", out);
    json_int_t since = json_integer_value(json_object_get(summary, "alone_since"));
    json_int_t asked = json_integer_value(json_object_get(summary, "states_asked"));
    double spent = json_number_value(json_object_get(json_object_get(summary, "spent"), "epsilon"));
    cr_expect(since > 0 && since < 30720, "%s", out);
    cr_expect_gt(asked, 0);
    cr_expect(spent > 0 && spent <= 3, "%g", spent);
    json_decref(summary);
    struct http_answer last = spend_all();
    cr_expect(is_random(&last));
    http_answer_clear(&last);
    /* The student in Python hears one random answer, and asks no more. */
    char line[300];
    snprintf(line, sizeof line, "python3 examples/student.py %s %s 20 7", server.base,
             scene.teacher);
    FILE *python = popen(line, "r");
    cr_assert_not_null(python);
    size_t size = fread(out, 1, sizeof out - 1, python);
    out[size] = '\0';
    int status = pclose(python);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", out);
    cr_expect_not_null(strstr(out, "\"states_asked\": 0,"), "%s", out);
    cr_expect_not_null(strstr(out, "\"alone\": true"), "%s", out);
}
