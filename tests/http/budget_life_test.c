/* The whole life of a budget: two stewards, three students, one common cap; a request for more, a
 * change that both stewards agree to, a limit that is lowered while students ask, a token that is
 * rotated and a project that is handed over. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/http/scene.h"

enum { STUDENTS = 3 };

#define MORE  1000 /* answers that the lowered limit still pays for */

#define STATE "{\"state\":[0.01,-0.02,0.03,0.04]}"

static struct server_process server;
static struct scene scene;
static char second[160], second_id[64], steward_id[64], cap[128];

static struct http_answer call_with(const char *method, const char *path, const char *token,
                                    const char *body, const char *header, long status)
{
    const struct http_call call = {
        .method = method, .path = path, .token = token, .body = body, .header = header};
    return http_expect(scene.client, status, &call);
}

static void expect_status(const char *method, const char *path, const char *token, const char *body,
                          long status)
{
    struct http_answer answer = call_with(method, path, token, body, NULL, status);
    http_answer_clear(&answer);
}

static void open_service(void)
{
    char path[200];
    server_open(&server, NULL);
    scene_make(&scene, &server, 40, 1);
    scene_person(&scene, "steward", second_id, second);
    struct http_answer me = call_with("GET", "/v1/clients/me", scene.steward, NULL, NULL, 200);
    snprintf(steward_id, sizeof steward_id, "%s", http_text(&me, "id"));
    http_answer_clear(&me);
    snprintf(path, sizeof path, "/v1/teachers/%s", scene.teacher);
    struct http_answer teacher = call_with("GET", path, scene.steward, NULL, NULL, 200);
    snprintf(cap, sizeof cap, "/v1/ledger/accounts/%s", http_text(&teacher, "account"));
    http_answer_clear(&teacher);
    expect_status("GET", path, second, NULL, 404);
    snprintf(path, sizeof path, "/v1/projects/%s/members/%s", steward_id, second_id);
    expect_status("PUT", path, scene.steward, "{\"role\":\"steward\"}", 201);
}

/* Every balance and hash agrees, by the word of whoever owns the project now. */
static void check_after(void)
{
    struct http_answer verdict = call_with("POST", "/v1/ledger:verify", second, NULL, NULL, 200);
    cr_expect(strstr(verdict.body, "\"ok\":true"), "%s", verdict.body);
    http_answer_clear(&verdict);
}

static void close_service(void)
{
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(budget_life, .init = open_service, .fini = close_service);

static double amount_of(const struct http_answer *account, const char *what)
{
    return json_number_value(json_object_get(json_object_get(account->json, what), "epsilon"));
}

static double limit_now(const char *token)
{
    struct http_answer account = call_with("GET", cap, token, NULL, NULL, 200);
    double limit = amount_of(&account, "limit");
    http_answer_clear(&account);
    return limit;
}

static struct http_answer ask_once(struct http_client *client, unsigned student, unsigned number)
{
    char key[64];
    snprintf(key, sizeof key, "life-%u-%u", student, number);
    const struct http_call call = {.method = "POST",
                                   .path = scene.queries,
                                   .token = scene.students[student].token,
                                   .body = STATE,
                                   .key = key};
    return http_do(client, &call);
}

/* Asks from NUMBER on until the first refusal: how many were answered. */
static unsigned ask_all(unsigned student, unsigned number)
{
    unsigned count = 0;
    for (;; count++) {
        struct http_answer answer = ask_once(scene.client, student, number + count);
        long status = answer.status;
        http_answer_clear(&answer);
        if (status != 200) {
            cr_expect_eq(status, 403);
            return count;
        }
    }
}

/* ---- limits */

/* Sends BODY under the limit's present ETag; an answer of STATUS. */
static struct http_answer change_cap(const char *token, const char *body, long status)
{
    char match[80];
    struct http_answer account = call_with("GET", cap, token, NULL, NULL, 200);
    snprintf(match, sizeof match, "If-Match: %s", http_header(&account, "ETag"));
    http_answer_clear(&account);
    return call_with("PATCH", cap, token, body, match, status);
}

/* PROPOSER proposes the limit EPSILON, is refused its own approval, and APPROVER approves. */
static void agree_on(double epsilon, const char *proposer, const char *approver)
{
    char body[200], path[200];
    snprintf(body, sizeof body,
             "{\"limit\":{\"epsilon\":%.9g,\"delta\":1e-5},\"reason\":\"agreed\"}", epsilon);
    struct http_answer change = change_cap(proposer, body, 202);
    snprintf(path, sizeof path, "/v1/limit-changes/%s:approve", http_text(&change, "id"));
    http_answer_clear(&change);
    expect_status("POST", path, proposer, "{}", 403);
    expect_status("POST", path, approver, "{}", 200);
    cr_expect_float_eq(limit_now(approver), epsilon, 1e-6);
    expect_status("POST", path, approver, "{}", 409);
}

/* ---- load */

struct asker {
    pthread_t thread;
    unsigned student;
    atomic_uint answered;
    char refused_by[40]; /* the kind of the account that could not pay */
};

/* Asks until it is refused. */
static void *ask_on(void *context)
{
    struct asker *asker = context;
    struct http_client *client = http_client_new(&server);
    long status = 200;
    for (unsigned number = 100000; status == 200; number++) {
        struct http_answer answer = ask_once(client, asker->student, number);
        status = answer.status;
        atomic_fetch_add(&asker->answered, status == 200);
        json_t *by = json_array_get(json_object_get(answer.json, "accounts"), 0);
        if (status != 200)
            snprintf(asker->refused_by, sizeof asker->refused_by, "%s",
                     json_string_value(json_object_get(by, "kind")));
        http_answer_clear(&answer);
    }
    cr_expect_eq(status, 403);
    http_client_free(client);
    return NULL;
}

/* Gives every student more than the cap holds. */
static void grant_plenty(void)
{
    char path[200];
    for (unsigned i = 0; i < STUDENTS; i++) {
        snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", scene.teacher,
                 scene.students[i].id);
        struct http_answer answer =
            call_with("PUT", path, second, "{\"epsilon\":500,\"delta\":1e-5}", "If-Match: *", 200);
        http_answer_clear(&answer);
    }
}

/* Both stewards lower the limit while all students ask and are answered. Then the cap refuses all,
 * exactly where it stands now, although each has money of its own. */
static void lower_under_load(unsigned answered)
{
    struct asker askers[STUDENTS];
    struct http_answer account = call_with("GET", cap, second, NULL, NULL, 200);
    json_t *units = json_object_get(account.json, "units");
    json_int_t price = json_integer_value(json_object_get(units, "spent")) / answered;
    http_answer_clear(&account);
    grant_plenty();
    for (unsigned i = 0; i < STUDENTS; i++) {
        askers[i] = (struct asker){.student = i};
        pthread_create(&askers[i].thread, NULL, ask_on, &askers[i]);
    }
    for (unsigned i = 0; i < STUDENTS; i++)
        while (atomic_load(&askers[i].answered) == 0)
            sched_yield();
    account = call_with("GET", cap, second, NULL, NULL, 200);
    double before = amount_of(&account, "limit");
    double lower = amount_of(&account, "spent") + 1e-9 * MORE * (double)price;
    http_answer_clear(&account);
    cr_expect_lt(lower, before);
    agree_on(lower, second, scene.steward);
    for (unsigned i = 0; i < STUDENTS; i++) {
        pthread_join(askers[i].thread, NULL);
        cr_expect_str_eq(askers[i].refused_by, "teacher");
    }
    account = call_with("GET", cap, second, NULL, NULL, 200);
    units = json_object_get(account.json, "units");
    json_int_t spent = json_integer_value(json_object_get(units, "spent"));
    json_int_t left = json_integer_value(json_object_get(units, "limit")) - spent;
    cr_expect(left >= 0 && left < price + 1, "%s", account.body);
    http_answer_clear(&account);
}

/* ---- one life */

static void ask_for_more(void)
{
    char body[300], path[200];
    snprintf(body, sizeof body,
             "{\"teacher\":\"%s\",\"epsilon\":3,\"delta\":1e-5,\"reason\":\"two more weeks\"}",
             scene.teacher);
    struct http_answer asked =
        call_with("POST", "/v1/budget-requests", scene.students[0].token, body, NULL, 201);
    snprintf(path, sizeof path, "/v1/budget-requests/%s:approve", http_text(&asked, "id"));
    http_answer_clear(&asked);
    expect_status("POST", path, second, "{}", 200);
}

static void rotate_token(unsigned student)
{
    char old[160];
    struct http_answer first = ask_once(scene.client, student, 0);
    memcpy(old, scene.students[student].token, sizeof old);
    struct http_answer made =
        call_with("POST", "/v1/clients/me:rotate", old, "{\"overlap_seconds\":0}", NULL, 201);
    snprintf(scene.students[student].token, sizeof old, "%s", http_text(&made, "token"));
    expect_status("GET", "/v1/clients/me", old, NULL, 401);
    struct http_answer again = ask_once(scene.client, student, 0);
    cr_expect_eq(again.status, 200);
    cr_expect_str_eq(again.body, first.body, "the new token has the answers of the old one");
    http_answer_clear(&made);
    http_answer_clear(&first);
    http_answer_clear(&again);
}

static void hand_over(void)
{
    char path[200], body[200], teacher[128];
    snprintf(path, sizeof path, "/v1/projects/%s:transfer", steward_id);
    snprintf(body, sizeof body, "{\"to\":\"%s\",\"reason\":\"she left\"}", second_id);
    snprintf(teacher, sizeof teacher, "/v1/teachers/%s", scene.teacher);
    expect_status("GET", teacher, scene.admin, NULL, 403);
    expect_status("POST", path, scene.admin, body, 200);
    expect_status("GET", teacher, scene.steward, NULL, 404);
    expect_status("GET", cap, scene.steward, NULL, 404);
    expect_status("GET", teacher, second, NULL, 200);
}

CHECKED_TEST(budget_life, is_kept_by_two_stewards_and_spent_by_three_students)
{
    unsigned answered[STUDENTS];
    for (unsigned i = 0; i < STUDENTS; i++)
        answered[i] = ask_all(i, 0);
    cr_expect_gt(answered[0], 0u);
    cr_expect(answered[0] == answered[1] && answered[1] == answered[2], "equal budgets");
    ask_for_more();
    unsigned more = ask_all(0, answered[0]);
    cr_expect_gt(more, 0u);
    cr_expect_eq(ask_all(1, answered[1]), 0u, "what one is granted is its own");

    struct http_answer set =
        change_cap(scene.steward, "{\"approvals\":2,\"reason\":\"rule\"}", 200);
    http_answer_clear(&set);
    agree_on(60, scene.steward, second);
    lower_under_load(3 * answered[0] + more);
    cr_expect_eq(ask_all(1, 200000), 0u, "the cap is spent");

    rotate_token(0);
    hand_over();
    struct http_answer replayed = ask_once(scene.client, 1, 0);
    cr_expect_eq(replayed.status, 200, "an answer stays its student's");
    http_answer_clear(&replayed);
}
