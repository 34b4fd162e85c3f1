/* What binds a student over HTTP besides the end of its budget: a limit that is lowered while it
 * asks, the vanishing schedule, the price it will pay at most, batches, and noise of its own
 * choice.
 */
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

static struct http_answer ask(struct http_client *client, int student, const char *queries,
                              const char *body, const char *key)
{
    const struct http_call call = {.method = "POST",
                                   .path = queries,
                                   .token = scene.students[student].token,
                                   .body = body,
                                   .key = key};
    return http_do(client, &call);
}

static double number(const struct http_answer *answer, const char *object, const char *member)
{
    json_t *from = object == NULL ? answer->json : json_object_get(answer->json, object);
    json_t *value = json_object_get(from, member);
    cr_assert(json_is_number(value), "no %s in %s", member, answer->body);
    return json_number_value(value);
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

/* ---- a lower limit under load */

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
        struct http_answer answer = ask(client, 0, scene.queries, "{\"state\":[0,0,0.1,0]}", key);
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
        double spent = number(&now, "spent", "epsilon");
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
    struct http_answer one = ask(scene.client, 0, scene.queries, "{\"state\":[0,0,0.1,0]}", "one");
    cr_assert_eq(one.status, 200);
    long long before = units(account, "spent"), count = atomic_load(&load.answered) + 1;
    http_answer_clear(&one);
    one = ask(scene.client, 0, scene.queries, "{\"state\":[0,0,0.1,0]}", "two");
    long long price = units(account, "spent") - before;
    cr_expect_eq(before, count * price);
    http_answer_clear(&one);
}

/* ---- the schedule */

static void make_vanishing(double factor, const char *at_floor, char out_id[64],
                           char out_queries[128])
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20,\"min_probability\":0.1,"
             "\"vanishing\":%g%s},\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},"
             "\"budget\":{\"epsilon\":50,\"delta\":1e-5},\"client_budget\":{\"epsilon\":20,"
             "\"delta\":1e-5}}",
             scene.policy, factor, at_floor);
    struct http_call create = {
        .method = "POST", .path = "/v1/teachers", .token = scene.steward, .body = body};
    struct http_answer made = http_expect(scene.client, 201, &create);
    snprintf(out_id, 64, "%s", http_text(&made, "id"));
    snprintf(out_queries, 128, "/v1/teachers/%s/queries", out_id);
    http_answer_clear(&made);
}

/* Begins a roll-out: its concentration; AT_FLOOR as it says, "" before. */
static double next_rollout(const char *teacher, char at_floor[16])
{
    char path[96];
    snprintf(path, sizeof path, "/v1/teachers/%s/rollouts", teacher);
    struct http_call call = {
        .method = "POST", .path = path, .token = scene.students[0].token, .body = "{}"};
    struct http_answer answer = http_expect(scene.client, 200, &call);
    snprintf(at_floor, 16, "%s", http_text(&answer, "at_floor"));
    json_t *value = json_object_get(answer.json, "concentration");
    double concentration = json_number_value(value);
    http_answer_clear(&answer);
    return concentration;
}

Test(teacher_limits, a_vanishing_schedule_costs_less_and_ends_free)
{
    char id[64], queries[128], at_floor[16];
    make_vanishing(0.8, "", id, queries);
    static const double schedule[] = {20, 16, 12.8, 10.24};
    double cost = 1e9, spent = 0;
    struct http_answer first = ask(scene.client, 0, queries, "{\"state\":[0,0,0,0]}", "begin");
    cr_assert_eq(first.status, 200, "%s", first.body);
    http_answer_clear(&first);
    for (int i = 0; i < 4; i++) {
        char key[16];
        snprintf(key, sizeof key, "r%d", i);
        struct http_answer answer = ask(scene.client, 0, queries, "{\"state\":[0,0,0,0]}", key);
        cr_assert_eq(answer.status, 200, "%s", answer.body);
        cr_expect_float_eq(number(&answer, NULL, "concentration"), schedule[i], 1e-9);
        cr_expect_lt(number(&answer, "cost", "epsilon"), cost);
        cost = number(&answer, "cost", "epsilon");
        spent = number(&answer, "spent", "epsilon");
        http_answer_clear(&answer);
        double next = next_rollout(id, at_floor);
        cr_expect_float_eq(next, i < 3 ? schedule[i + 1] : 0, 1e-9);
        cr_expect_str_eq(at_floor, i < 3 ? "" : "uniform");
    }
    for (int i = 0; i < 20; i++) {
        char key[16];
        snprintf(key, sizeof key, "f%d", i);
        struct http_answer answer =
            ask(scene.client, 0, queries, "{\"states\":[[0,0,0,0],[9,9,9,9]]}", key);
        cr_assert_eq(answer.status, 200, "%s", answer.body);
        cr_expect_not_null(strstr(answer.body, "\"probabilities\":[[0.5,0.5],[0.5,0.5]]"));
        cr_expect_eq(number(&answer, "cost", "epsilon"), 0);
        cr_expect_eq(number(&answer, "spent", "epsilon"), spent);
        cr_expect_str_eq(http_text(&answer, "at_floor"), "uniform");
        http_answer_clear(&answer);
    }
}

Test(teacher_limits, a_vanishing_schedule_ends_in_silence_where_declared)
{
    char id[64], queries[128], at_floor[16] = "";
    make_vanishing(0.8, ",\"at_floor\":\"refuse\"", id, queries);
    while (at_floor[0] == '\0') {
        struct http_answer answer =
            ask(scene.client, 0, queries, "{\"state\":[0,0,0,0]}", "the-same");
        cr_assert_eq(answer.status, 200, "%s", answer.body);
        http_answer_clear(&answer);
        next_rollout(id, at_floor);
    }
    cr_expect_str_eq(at_floor, "refuse");
    struct http_answer no = ask(scene.client, 0, queries, "{\"state\":[0,0,0,0]}", "new");
    cr_expect_eq(no.status, 403);
    cr_expect_str_eq(http_text(&no, "type"), "/problems/teacher-silent");
    http_answer_clear(&no);
    /* What was answered is still the student's. */
    struct http_answer old = ask(scene.client, 0, queries, "{\"state\":[0,0,0,0]}", "the-same");
    cr_expect_eq(old.status, 200);
    http_answer_clear(&old);
}

/* 20, then 10 = 1 / min_probability, and then the end. */
Test(teacher_limits, a_vanishing_schedule_that_lands_on_the_floor_ends_there)
{
    char id[64], queries[128], at_floor[16];
    make_vanishing(0.5, "", id, queries);
    cr_expect_eq(next_rollout(id, at_floor), 10);
    cr_expect_str_eq(at_floor, "");
    struct http_answer last = ask(scene.client, 0, queries, "{\"state\":[0,0,0,0]}", "landed");
    cr_assert_eq(last.status, 200, "%s", last.body);
    cr_expect_eq(number(&last, NULL, "concentration"), 10);
    cr_expect_gt(number(&last, "cost", "epsilon"), 0);
    cr_expect_eq(next_rollout(id, at_floor), 0);
    cr_expect_str_eq(at_floor, "uniform");
    struct http_answer free_one = ask(scene.client, 0, queries, "{\"state\":[0,0,0,0]}", "beyond");
    cr_assert_eq(free_one.status, 200, "%s", free_one.body);
    cr_expect_str_eq(http_text(&free_one, "at_floor"), "uniform");
    cr_expect_eq(number(&free_one, "cost", "epsilon"), 0);
    cr_expect_eq(number(&free_one, "spent", "epsilon"), number(&last, "spent", "epsilon"));
    http_answer_clear(&last);
    http_answer_clear(&free_one);
}

/* ---- prices, batches, noise */

Test(teacher_limits, a_student_chooses_its_price_its_batch_and_its_noise)
{
    struct http_answer one =
        ask(scene.client, 1, scene.queries, "{\"state\":[0,0,0.1,0]}", "first");
    http_answer_clear(&one);
    one = ask(scene.client, 1, scene.queries, "{\"state\":[0,0,0.1,0]}", "second");
    double price = number(&one, "cost", "epsilon"), spent = number(&one, "spent", "epsilon");
    http_answer_clear(&one);
    /* More than it will pay: nothing is charged, and the key is free. */
    char body[128];
    snprintf(body, sizeof body, "{\"state\":[0,0,0.1,0],\"max_epsilon\":%.17g}", price * 0.99);
    struct http_answer dear = ask(scene.client, 1, scene.queries, body, "dear");
    cr_expect_eq(dear.status, 422, "%s", dear.body);
    cr_expect_str_eq(http_text(&dear, "type"), "/problems/cost-above-maximum");
    http_answer_clear(&dear);
    snprintf(body, sizeof body, "{\"state\":[0,0,0.1,0],\"max_epsilon\":%.17g}", price * 1.01);
    dear = ask(scene.client, 1, scene.queries, body, "dear");
    cr_expect_eq(dear.status, 200, "%s", dear.body);
    cr_expect_float_eq(number(&dear, "spent", "epsilon"), spent + price, 1e-8);
    http_answer_clear(&dear);
    /* A batch costs what its states cost. */
    struct http_answer batch =
        ask(scene.client, 1, scene.queries,
            "{\"states\":[[0,0,0,0],[0,0,0.1,0],[0,0.2,0,0],[0.1,0,0,0],[0,0,0,1]]}", "five");
    cr_assert_eq(batch.status, 200, "%s", batch.body);
    cr_expect_eq(json_array_size(json_object_get(batch.json, "probabilities")), 5u);
    cr_expect_float_eq(number(&batch, "cost", "epsilon"), 5 * price, 1e-7);
    http_answer_clear(&batch);
    /* More noise, a lower price, a larger radius. */
    struct http_answer noisy = ask(scene.client, 1, scene.queries,
                                   "{\"state\":[0,0,0.1,0],\"concentration\":12}", "noisy");
    struct http_answer plain =
        ask(scene.client, 1, scene.queries, "{\"state\":[0,0,0.1,0]}", "plain");
    cr_assert_eq(noisy.status, 200, "%s", noisy.body);
    cr_expect_eq(number(&noisy, NULL, "concentration"), 12);
    cr_expect_lt(number(&noisy, "cost", "epsilon"), number(&plain, "cost", "epsilon"));
    cr_expect_gt(number(&noisy, NULL, "error_radius"), number(&plain, NULL, "error_radius"));
    http_answer_clear(&noisy);
    http_answer_clear(&plain);
}

/* A batch that cannot be paid for as a whole is refused as a whole. */
Test(teacher_limits, a_batch_is_answered_whole_or_not_at_all)
{
    char states[8192] = "{\"states\":[";
    for (int i = 0; i < 256; i++)
        strcat(states, i == 0 ? "[0,0,0,0]" : ",[0,0,0,0]");
    strcat(states, "]}");
    struct http_answer answer = {.status = 200};
    double spent = 0;
    for (int i = 0; answer.status == 200; i++) {
        http_answer_clear(&answer);
        char key[16];
        snprintf(key, sizeof key, "b%d", i);
        answer = ask(scene.client, 2, scene.queries, states, key);
        if (answer.status == 200)
            spent = number(&answer, "spent", "epsilon");
    }
    cr_expect_eq(answer.status, 403, "%s", answer.body);
    cr_expect_str_eq(http_text(&answer, "type"), "/problems/budget-exhausted");
    http_answer_clear(&answer);
    struct http_answer one = ask(scene.client, 2, scene.queries, "{\"state\":[0,0,0,0]}", "one");
    cr_expect_eq(one.status, 200, "%s", one.body);
    double price = number(&one, "cost", "epsilon");
    cr_expect_float_eq(number(&one, "spent", "epsilon"), spent + price, 1e-7);
    http_answer_clear(&one);
}

/* The guarantee does not depend on where a state lies: it is answered, and charged. */
Test(teacher_limits, states_far_outside_are_answered)
{
    static const char *const states[] = {
        "{\"state\":[1e6,-1e6,1e6,-1e6]}",
        "{\"state\":[3e38,3e38,-3e38,3e38]}",
        "{\"state\":[1e-40,0,-0.0,1e-44]}",
    };
    double spent = 0;
    for (int i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof key, "far%d", i);
        struct http_answer answer = ask(scene.client, 3, scene.queries, states[i], key);
        cr_assert_eq(answer.status, 200, "%s: %s", states[i], answer.body);
        cr_expect_gt(number(&answer, "spent", "epsilon"), spent);
        spent = number(&answer, "spent", "epsilon");
        http_answer_clear(&answer);
    }
}
