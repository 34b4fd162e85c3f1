/* A teacher that protects experts, its whole life over HTTP: shards are trained through a kill and
 * a drain; students ask to refusal by their own account, by the teacher's and by the dataset's;
 * every answer is replayed after a kill; the three accounts agree to the unit; deletion ends it. */
#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/shards_scene.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STEPS 400
#else
#define STEPS 80000
#endif
#define ANSWERS_MAX 3000
#define STATE       "{\"state\":[0.01,-0.02,0.03,0.04]}"

static struct server_process server;
static struct scene scene;
static struct desk desk; /* of its steward */

static struct {
    int student;
    char path[128], key[24];
    char *body;
} answers[ANSWERS_MAX];
static int answer_count;

/* ---- training */

/* The policy of a job that was killed and drained on its way. */
static void train(const char *dataset, char out_policy[64])
{
    char body[512], path[96], state[16], *first;
    snprintf(body, sizeof body,
             "{\"algorithm\":\"behaviour_cloning\",\"dataset\":\"%s\",\"shards\":64,\"parameters\":"
             "{\"hidden\":[32],\"batch_size\":16,\"steps\":%d}}",
             dataset, STEPS);
    struct http_answer job = desk_call(&desk, "POST", 202, "/v1/jobs", body, "the-ensemble");
    snprintf(path, sizeof path, "/v1/jobs/%s", http_text(&job, "id"));
    first = job.body;
    job.body = NULL;
    http_answer_clear(&job);
    desk_wait_past(&desk, path, 0, state);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    job = desk_call(&desk, "POST", 202, "/v1/jobs", body, "the-ensemble");
    cr_expect_str_eq(job.body, first);
    http_answer_clear(&job);
    free(first);
    desk_wait_past(&desk, path, 0, state);
    desk_restart(&desk, SIGTERM, 0);
    desk_wait_past(&desk, path, LLONG_MAX, state);
    cr_assert_str_eq(state, "succeeded");
    cr_expect(server_log_has(&server, "event=job-resumed"));
    job = desk_call(&desk, "GET", 200, path, NULL, NULL);
    snprintf(out_policy, 64, "%s", http_text(&job, "policy"));
    cr_expect(json_is_null(json_object_get(job.json, "evaluation")), "%s", job.body);
    http_answer_clear(&job);
    snprintf(path, sizeof path, "/v1/policies/%s/weights", out_policy);
    job = desk_call(&desk, "GET", 403, path, NULL, NULL);
    cr_expect_str_eq(http_text(&job, "type"), "/problems/not-released");
    http_answer_clear(&job);
}

/* ---- asking */

struct taught {
    char id[64], queries[128], account[64], dataset_account[64];
    int64_t price, cap_price, opening; /* as of struct shards_teacher */
};

static void make_teacher(const char *policy, const char *rest, struct taught *out)
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.3},"
             "\"adjacency\":{\"unit\":\"expert\"},%s}",
             policy, rest);
    struct http_answer made = desk_call(&desk, "POST", 201, "/v1/teachers", body, NULL);
    json_t *cost = json_object_get(made.json, "dataset_cost");
    double first = json_number_value(json_object_get(json_object_get(cost, "first"), "epsilon")),
           further =
               json_number_value(json_object_get(json_object_get(cost, "further"), "epsilon"));
    out->price = json_integer_value(json_object_get(made.json, "renyi_units_per_query"));
    out->opening = llround((first - further) * 1e9);
    out->cap_price = shards_cap_price(&scene, http_text(&made, "id"));
    snprintf(out->id, sizeof out->id, "%s", http_text(&made, "id"));
    snprintf(out->account, sizeof out->account, "%s", http_text(&made, "account"));
    snprintf(out->dataset_account, sizeof out->dataset_account, "%s",
             http_text(&made, "dataset_account"));
    snprintf(out->queries, sizeof out->queries, "/v1/teachers/%s/queries", out->id);
    http_answer_clear(&made);
}

static struct http_answer ask(int student, const char *path, const char *key)
{
    const struct http_call call = {.method = "POST",
                                   .path = path,
                                   .token = scene.students[student].token,
                                   .body = STATE,
                                   .key = key};
    return http_do(scene.client, &call);
}

/* Asks until it is refused: how many were answered, and which account could not pay. */
static int ask_to_refusal(int student, const char *path, char out_account[64])
{
    for (int n = 0;; n++) {
        cr_assert_lt(answer_count, ANSWERS_MAX);
        char *key = answers[answer_count].key;
        snprintf(key, sizeof answers[0].key, "k%d", answer_count);
        struct http_answer answer = ask(student, path, key);
        if (answer.status != 200) {
            cr_assert_eq(answer.status, 403, "%s", answer.body);
            cr_assert_str_eq(http_text(&answer, "type"), "/problems/budget-exhausted");
            json_t *first = json_array_get(json_object_get(answer.json, "violated"), 0);
            snprintf(out_account, 64, "%s", json_string_value(json_object_get(first, "account")));
            http_answer_clear(&answer);
            return n;
        }
        cr_assert_str_eq(http_text(&answer, "protects"), "expert");
        answers[answer_count].student = student;
        snprintf(answers[answer_count].path, sizeof answers[0].path, "%s", path);
        answers[answer_count++].body = strdup(answer.body);
        http_answer_clear(&answer);
    }
}

static int64_t spent_of(const char *account, const char *what)
{
    char path[96];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", account);
    struct http_answer found = desk_call(&desk, "GET", 200, path, NULL, NULL);
    int64_t units = json_integer_value(json_object_get(json_object_get(found.json, "units"), what));
    http_answer_clear(&found);
    return units;
}

static void grant(const struct taught *teacher, int student, double epsilon, const char *why,
                  const char *match, long status)
{
    char path[160], body[128];
    snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", teacher->id,
             scene.students[student].id);
    snprintf(body, sizeof body, "{\"epsilon\":%g,\"delta\":1e-6,\"reason\":\"%s\"}", epsilon, why);
    const struct http_call call = {
        .method = "PUT", .path = path, .token = scene.steward, .body = body, .header = match};
    struct http_answer answer = http_expect(scene.client, status, &call);
    http_answer_clear(&answer);
}

static void expect_replays(void)
{
    for (int i = 0; i < answer_count; i++) {
        struct http_answer again = ask(answers[i].student, answers[i].path, answers[i].key);
        cr_expect_eq(again.status, 200);
        cr_expect_str_eq(again.body, answers[i].body);
        http_answer_clear(&again);
    }
}

/* The grants of a student say who and why, in the order in which they were given. */
static void expect_reasons(const char *account, const char *first, const char *second)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=1000", account);
    struct http_answer list = desk_call(&desk, "GET", 200, path, NULL, NULL);
    const char *seen[2] = {NULL, NULL};
    size_t index, count = 0;
    json_t *entry;
    json_array_foreach(json_object_get(list.json, "items"), index, entry)
    {
        const char *reason = json_string_value(json_object_get(entry, "reason"));
        if (reason != NULL && count < 2)
            seen[count++] = reason;
    }
    cr_assert_eq(count, 2u, "%s", list.body);
    cr_expect_str_eq(seen[0], first);
    cr_expect_str_eq(seen[1], second);
    http_answer_clear(&list);
}

Test(expert_teacher, from_training_through_kills_to_silence)
{
    char dataset[64], policy[64], refused[64], own[64], path[96];
    struct taught first, second;
    server_open(&server, "--workers", "1", NULL);
    scene_make(&scene, &server, 100, 10);
    desk = scene_desk(&scene, &server);
    scene_dataset(scene.client, scene.steward, 60, dataset);
    train(dataset, policy);
    make_teacher(policy,
                 "\"budget\":{\"epsilon\":2.6,\"delta\":1e-6},\"client_budget\":{\"epsilon\":2,"
                 "\"delta\":1e-6}",
                 &first);

    /* A student to its own refusal, raised with a reason, and on. */
    grant(&first, 0, 1.8, "first term", NULL, 201);
    int before = ask_to_refusal(0, first.queries, own);
    cr_expect_gt(before, 0);
    cr_expect_str_neq(own, first.account);
    grant(&first, 0, 2, "second term", "If-Match: \"1\"", 200);
    cr_expect_gt(ask_to_refusal(0, first.queries, refused), 0);
    cr_expect_str_eq(refused, own);
    expect_reasons(own, "first term", "second term");
    /* Another is not affected, until both together have used up what the teacher may tell. */
    cr_expect_gt(ask_to_refusal(1, first.queries, refused), 0);
    cr_expect_str_eq(refused, first.account);
    cr_expect_eq(ask_to_refusal(2, first.queries, refused), 0);
    int of_first = answer_count;

    /* A second teacher with more than its dataset has left: that is what ends it. */
    make_teacher(policy,
                 "\"budget\":{\"epsilon\":7,\"delta\":1e-6},\"client_budget\":{\"epsilon\":7,"
                 "\"delta\":1e-6}",
                 &second);
    cr_assert_str_eq(second.dataset_account, first.dataset_account);
    cr_expect_gt(ask_to_refusal(0, second.queries, refused), 0);
    cr_expect_str_eq(refused, first.dataset_account);

    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    int64_t spent = spent_of(first.dataset_account, "spent");
    expect_replays();
    cr_expect_eq(spent_of(first.dataset_account, "spent"), spent, "a replay was charged");
    int of_second = answer_count - of_first;
    cr_expect_eq(spent, of_first * first.price + first.opening + of_second * second.price +
                            second.opening);
    cr_expect_eq(spent_of(first.account, "spent"), of_first * first.cap_price);
    cr_expect_eq(spent_of(second.account, "spent"), of_second * second.cap_price);
    cr_expect_eq(spent_of(first.dataset_account, "spent_delta"), INT64_C(2000000000000));
    cr_expect_leq(spent, spent_of(first.dataset_account, "limit"));
    desk_expect_whole_ledger(&desk);

    /* Deleted: what was learned is gone, what was answered is not. */
    snprintf(path, sizeof path, "/v1/datasets/%s", dataset);
    struct http_answer gone = desk_call(&desk, "DELETE", 204, path, NULL, NULL);
    http_answer_clear(&gone);
    struct http_answer silent = ask(3, second.queries, "too-late");
    cr_expect_eq(silent.status, 403);
    cr_expect_str_eq(http_text(&silent, "type"), "/problems/teacher-silent");
    http_answer_clear(&silent);
    desk_restart(&desk, SIGTERM, 0);
    expect_replays();
    for (int i = 0; i < answer_count; i++)
        free(answers[i].body);
    scene_clear(&scene);
    server_close(&server);
}
