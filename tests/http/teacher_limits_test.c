/* A student's limit that is lowered while it asks. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/scene.h"

static struct server_process server;
static struct scene scene;

static void setup(void)
{
    server_open(&server, NULL);
    scene_make(&scene, &server, 1000, 20);
}

static void teardown(void)
{
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(teacher_limits, .init = setup, .fini = teardown);

static struct http_answer ask(struct http_client *client, const char *key)
{
    const struct http_call call = {.method = "POST",
                                   .path = scene.queries,
                                   .token = scene.students[0].token,
                                   .body = "{\"state\":[0,0,0.1,0]}",
                                   .key = key};
    return http_do(client, &call);
}

static long long units(const char *account, const char *what)
{
    char path[96];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", account);
    struct http_call call = {.method = "GET", .path = path, .token = scene.steward};
    struct http_answer found = http_expect(scene.client, 200, &call);
    long long value =
        json_integer_value(json_object_get(json_object_get(found.json, "units"), what));
    http_answer_clear(&found);
    return value;
}

enum { THREADS = 16 };

struct load {
    pthread_t thread[THREADS];
    atomic_bool stop;
    atomic_uint answered, refused;
};

static void *ask_on(void *context)
{
    static atomic_uint number_of_thread;
    struct load *load = context;
    unsigned me = atomic_fetch_add(&number_of_thread, 1);
    struct http_client *client = http_client_new(&server);
    for (unsigned n = 0; !atomic_load(&load->stop); n++) {
        char key[32];
        snprintf(key, sizeof key, "t%u-%u", me, n);
        struct http_answer answer = ask(client, key);
        cr_assert(answer.status == 200 || answer.status == 403, "%ld %s", answer.status,
                  answer.body);
        atomic_fetch_add(answer.status == 200 ? &load->answered : &load->refused, 1);
        http_answer_clear(&answer);
    }
    http_client_free(client);
    return NULL;
}

/* Returns once COUNTER has grown by MORE; the threads count. */
static void wait_for(atomic_uint *counter, unsigned more)
{
    unsigned until = atomic_load(counter) + more;
    while (atomic_load(counter) < until)
        sched_yield();
}

static struct http_answer change(double epsilon, const char *header)
{
    char path[160], body[80];
    snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", scene.teacher, scene.students[0].id);
    snprintf(body, sizeof body, "{\"epsilon\":%.17g,\"delta\":1e-5}", epsilon);
    const struct http_call call = {
        .method = "PUT", .path = path, .token = scene.steward, .body = body, .header = header};
    return http_do(scene.client, &call);
}

Test(teacher_limits, a_lower_limit_binds_at_once_while_sixteen_ask)
{
    struct load load = {.stop = false};
    struct http_answer made = change(1000, NULL);
    cr_assert_eq(made.status, 201, "%s", made.body);
    char account[64];
    snprintf(account, sizeof account, "%s", http_text(&made, "account"));
    http_answer_clear(&made);
    for (int t = 0; t < THREADS; t++)
        cr_assert_eq(pthread_create(&load.thread[t], NULL, ask_on, &load), 0);
    wait_for(&load.answered, 100);
    long long so_far = units(account, "spent");
    struct http_answer below = change(7.12, "If-Match: *"); /* below what is spent */
    cr_expect_eq(below.status, 409, "%s", below.body);
    http_answer_clear(&below);
    cr_expect_geq(units(account, "spent"), so_far);
    /* Somewhat above what is spent when it is asked: they are at it meanwhile, so it may be too
     * low by the time it is decided. */
    struct http_answer lower = {.status = 409};
    for (int attempt = 0; attempt < 100 && lower.status == 409; attempt++) {
        http_answer_clear(&lower);
        char path[160];
        snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", scene.teacher,
                 scene.students[0].id);
        struct http_call get = {.method = "GET", .path = path, .token = scene.steward};
        struct http_answer now = http_expect(scene.client, 200, &get);
        double spent =
            json_number_value(json_object_get(json_object_get(now.json, "spent"), "epsilon"));
        cr_assert_gt(spent, 0, "%s", now.body);
        http_answer_clear(&now);
        lower = change(spent * 1.1, "If-Match: *");
    }
    cr_assert_eq(lower.status, 200, "%s", lower.body);
    http_answer_clear(&lower);
    long long limit = units(account, "limit");
    wait_for(&load.refused, 200);
    long long spent = units(account, "spent");
    cr_expect_leq(spent, limit);
    unsigned answered = atomic_load(&load.answered);
    wait_for(&load.refused, 100);
    cr_expect_eq(atomic_load(&load.answered), answered, "answered beyond the limit");
    /* Raised, they go on. */
    struct http_answer higher = change(1000, "If-Match: *");
    cr_assert_eq(higher.status, 200, "%s", higher.body);
    http_answer_clear(&higher);
    wait_for(&load.answered, 50);
    atomic_store(&load.stop, true);
    for (int t = 0; t < THREADS; t++)
        pthread_join(load.thread[t], NULL);
    /* Each answer cost the same, and none was lost or charged twice. */
    struct http_answer one = ask(scene.client, "one");
    cr_assert_eq(one.status, 200);
    long long before = units(account, "spent"), count = atomic_load(&load.answered) + 1;
    http_answer_clear(&one);
    one = ask(scene.client, "two");
    long long price = units(account, "spent") - before;
    cr_expect_eq(before, count * price);
    http_answer_clear(&one);
}
