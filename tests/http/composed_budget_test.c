/* Datasets whose account adds Renyi divergences, over HTTP: jobs until it is spent, through a kill
 * and a cancellation; and an account that adds epsilons, converted while a teacher depends on it.
 * An auditor's entries add up to every balance. */
#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/http/shards_scene.h"

#define JOBS_MAX 100
#define QUESTION "{\"state\":[0.01,-0.02,0.03,0.04]}"

static struct server_process server;
static struct scene scene;
static struct desk desk; /* of its steward */

static void setup(void)
{
    server_open(&server, "--workers", "1", NULL);
    scene_make(&scene, &server, 100, 10);
    desk = scene_desk(&scene, &server);
}

static void check_after(void)
{
    desk_expect_whole_ledger(&desk);
}

static void teardown(void)
{
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(composed_budget, .init = setup, .fini = teardown);

/* ---- the books, as an auditor reads them */

struct amounts {
    long long spent, held, spent_delta, held_delta;
};

static struct http_answer audit(const char *path)
{
    const struct http_call call = {.method = "GET", .path = path, .token = scene.auditor};
    struct http_answer answer = http_expect(scene.client, 200, &call);
    cr_assert_not(json_is_string(json_object_get(answer.json, "next_page_token")), "%s", path);
    return answer;
}

static void amounts_add(struct amounts *sum, const json_t *entry_or_account)
{
    const json_t *units = json_object_get(entry_or_account, "units");
    sum->spent += json_integer_value(json_object_get(units, "spent"));
    sum->held += json_integer_value(json_object_get(units, "held"));
    sum->spent_delta += json_integer_value(json_object_get(units, "spent_delta"));
    sum->held_delta += json_integer_value(json_object_get(units, "held_delta"));
}

/* The balance of ACCOUNT, which its entries add up to and its limit allows; *OUT_ENTRIES (may be
 * NULL) gets their number. */
static struct amounts balance(const char *account, size_t *out_entries)
{
    char path[128];
    struct amounts whole = {0}, sum = {0};
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", account);
    struct http_answer found = audit(path);
    const json_t *units = json_object_get(found.json, "units");
    amounts_add(&whole, found.json);
    cr_expect_leq(whole.spent + whole.held, json_integer_value(json_object_get(units, "limit")));
    cr_expect_leq(whole.spent_delta + whole.held_delta,
                  json_integer_value(json_object_get(units, "limit_delta")));
    http_answer_clear(&found);
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=1000", account);
    found = audit(path);
    size_t index;
    json_t *entry;
    json_array_foreach(json_object_get(found.json, "items"), index, entry) amounts_add(&sum, entry);
    if (out_entries)
        *out_entries = index;
    http_answer_clear(&found);
    cr_expect(sum.spent == whole.spent && sum.held == whole.held);
    cr_expect(sum.spent_delta == whole.spent_delta && sum.held_delta == whole.held_delta);
    return whole;
}

/* How many accounts datasets ever had. */
static unsigned dataset_accounts(void)
{
    struct http_answer list = audit("/v1/ledger/accounts?page_size=1000");
    unsigned count = 0;
    size_t index;
    json_t *account;
    json_array_foreach(json_object_get(list.json, "items"), index, account)
    {
        const char *kind = json_string_value(json_object_get(account, "kind"));
        count += kind && strcmp(kind, "dataset") == 0;
    }
    http_answer_clear(&list);
    return count;
}

static void account_of(const char *dataset, char out[64])
{
    char path[128];
    snprintf(path, sizeof path, "/v1/datasets/%s/budget", dataset);
    struct http_answer budget = desk_get(&desk, path);
    snprintf(out, 64, "%s", http_text(&budget, "account"));
    http_answer_clear(&budget);
}

/* ---- jobs */

static void make_dataset(const char *budget, char out_id[64])
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"name\":\"walks\",\"environment\":\"cartpole\",\"nominal_experts\":40,\"budget\":"
             "{%s}}",
             budget);
    struct http_answer made = desk_post(&desk, 201, "/v1/datasets", body, NULL);
    snprintf(out_id, 64, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    char *lines = scene_trajectories(40, 2, 20, 7);
    desk_fill(&desk, out_id, lines);
    free(lines);
}

/* Asks for a job of epsilon 0.5 and STEPS noisy steps. */
static struct http_answer submit(const char *dataset, int steps, const char *key)
{
    char body[400];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"epsilon\":0.5,\"delta\":1e-7,\"force\":true},"
             "\"parameters\":{\"hidden\":[4],\"batch_size\":8,\"steps\":%d}}",
             dataset, steps);
    const struct http_call call = {
        .method = "POST", .path = "/v1/jobs", .token = scene.steward, .body = body, .key = key};
    return http_do(scene.client, &call);
}

static void expect_problem(struct http_answer answer, long status, const char *type)
{
    cr_expect_eq(answer.status, status, "%s", answer.body);
    cr_expect_str_eq(http_text(&answer, "type"), type);
    http_answer_clear(&answer);
}

static void accept(const char *dataset, int steps, const char *key, char out_path[96])
{
    struct http_answer job = submit(dataset, steps, key);
    cr_assert_eq(job.status, 202, "%s", job.body);
    snprintf(out_path, 96, "/v1/jobs/%s", http_text(&job, "id"));
    http_answer_clear(&job);
}

static void expect_end(const char *path, const char *state)
{
    struct http_answer job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), state, "%s", job.body);
    http_answer_clear(&job);
}

/* Begins a long job, cancels it when it has taken a step, and waits for its end. */
static void cancel_midway(const char *dataset, const char *key)
{
    char path[96], cancel[112], state[16];
    accept(dataset, 1000000, key, path);
    cr_assert_lt(desk_wait_past(&desk, path, 0, state), 1000000);
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer cancelled = desk_post(&desk, 200, cancel, NULL, NULL);
    http_answer_clear(&cancelled);
    expect_end(path, "cancelled");
}

/* Submits jobs until one is refused: the jobs before hold what is left, or have spent it. The
 * server is killed once on the way. */
static int accept_all(const char *dataset, char paths[JOBS_MAX][96])
{
    char key[32];
    for (int n = 0; n < JOBS_MAX; n++) {
        snprintf(key, sizeof key, "job-%d", n);
        struct http_answer job = submit(dataset, 20, key);
        if (job.status != 202) {
            bool held = job.status == 409;
            expect_problem(job, held ? 409 : 403,
                           held ? "/problems/budget-reserved" : "/problems/budget-exhausted");
            return n;
        }
        snprintf(paths[n], 96, "/v1/jobs/%s", http_text(&job, "id"));
        if (n == 5) {
            desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
            struct http_answer again = submit(dataset, 20, key);
            cr_expect_str_eq(again.body, job.body);
            http_answer_clear(&again);
        }
        http_answer_clear(&job);
    }
    return JOBS_MAX;
}

CHECKED_TEST(composed_budget, pays_for_more_than_twice_as_many_jobs_through_a_kill)
{
    static char paths[JOBS_MAX][96];
    char dataset[64], account[64], path[96];
    make_dataset("\"epsilon\":2,\"delta\":1e-5,\"accounting\":\"renyi\"", dataset);
    account_of(dataset, account);
    accept(dataset, 20, "the-first", path);
    struct amounts held = balance(account, NULL);
    cr_expect(held.spent == 0 && held.held > 0 && held.held_delta > 0);
    expect_end(path, "succeeded");
    struct amounts first = balance(account, NULL);
    cr_expect(first.spent == held.held && first.spent_delta == held.held_delta, "all of it");
    cr_expect_eq(first.held, 0);

    cancel_midway(dataset, "the-long-one");
    struct amounts second = balance(account, NULL);
    cr_expect(second.spent > first.spent && second.spent < 2 * first.spent,
              "for the steps that it took");
    cr_expect_eq(second.held, 0);

    int accepted = accept_all(dataset, paths);
    cr_expect(accepted + 2 > 2 * 4 && accepted < JOBS_MAX, "adding pays for 4, this for %d + 2",
              accepted);
    for (int n = 0; n < accepted; n++)
        expect_end(paths[n], "succeeded");
    struct amounts all = balance(account, NULL);
    cr_expect_eq(all.spent, second.spent + accepted * first.spent, "equal jobs, equal prices");
    cr_expect_eq(all.spent_delta, second.spent_delta + accepted * first.spent_delta);
    cr_expect_eq(all.held, 0);
    cr_expect_eq(all.held_delta, 0);
    expect_problem(submit(dataset, 20, "one-too-many"), 403, "/problems/budget-exhausted");
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    cr_expect_eq(balance(account, NULL).spent, all.spent);
    cr_expect_eq(dataset_accounts(), 1u);
}

/* ---- conversion */

static struct http_answer ask(const struct shards_teacher *teacher, const char *key)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/teachers/%s/queries", teacher->id);
    const struct http_call call = {.method = "POST",
                                   .path = path,
                                   .token = scene.students[0].token,
                                   .body = QUESTION,
                                   .key = key};
    return http_expect(scene.client, 200, &call);
}

static void expect_same_answer(const struct shards_teacher *teacher, const char *key,
                               const char *body)
{
    struct http_answer again = ask(teacher, key);
    cr_expect_str_eq(again.body, body);
    http_answer_clear(&again);
}

static struct http_answer compose(const char *dataset, const char *key)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/datasets/%s:compose", dataset);
    const struct http_call call = {
        .method = "POST", .path = path, .token = scene.steward, .body = "{}", .key = key};
    return http_do(scene.client, &call);
}

/* A teacher of shards, and the dataset of epsilon 8 that pays for it. */
static void teach(struct shards_teacher *out, char out_dataset[64])
{
    static const struct shards_wish wish = {.shards = 40,
                                            .hidden = 4,
                                            .sigma = 0.5,
                                            .budgets =
                                                "\"budget\":{\"epsilon\":4,\"delta\":1e-6},"
                                                "\"client_budget\":{\"epsilon\":2,\"delta\":1e-6}"};
    char path[128];
    shards_teach(&scene, &wish, out);
    snprintf(path, sizeof path, "/v1/teachers/%s", out->id);
    struct http_answer teacher = desk_get(&desk, path);
    snprintf(out_dataset, 64, "%s", http_text(&teacher, "dataset"));
    http_answer_clear(&teacher);
}

/* All that is left of OLD is what NEW may spend: the old account is spent, once. */
static void expect_converted(const char *dataset, const char *old, const char *new,
                             const struct amounts *before)
{
    char path[128];
    size_t entries = 0;
    struct amounts after = balance(old, &entries);
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", old);
    struct http_answer found = audit(path);
    const json_t *units = json_object_get(found.json, "units");
    cr_expect_eq(after.spent, json_integer_value(json_object_get(units, "limit")));
    cr_expect_eq(after.spent_delta, json_integer_value(json_object_get(units, "limit_delta")));
    http_answer_clear(&found);
    cr_expect_gt(entries, 2u);
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", new);
    found = audit(path);
    cr_expect_str_eq(http_text(&found, "accounting"), "renyi");
    cr_expect_str_eq(http_text(&found, "resource"), dataset);
    cr_expect_str_eq(http_text(&found, "continues"), old);
    const json_t *limit = json_object_get(found.json, "limit");
    cr_expect_float_eq(json_number_value(json_object_get(limit, "epsilon")),
                       (double)(after.spent - before->spent) * 1e-9, 1e-12);
    cr_expect_float_eq(json_number_value(json_object_get(limit, "delta")),
                       (double)(after.spent_delta - before->spent_delta) * 1e-18, 1e-20);
    http_answer_clear(&found);
}

CHECKED_TEST(composed_budget, is_converted_once_and_what_depends_on_it_goes_on)
{
    struct shards_teacher teacher;
    char dataset[64], old[64], new[64], path[96], cancel[112];
    teach(&teacher, dataset);
    account_of(dataset, old);
    cr_expect_str_eq(old, teacher.dataset_account);
    struct http_answer early = ask(&teacher, "early");
    accept(dataset, 20, "before", path);
    expect_end(path, "succeeded");

    accept(dataset, 1000000, "in-between", path);
    expect_problem(compose(dataset, "too-early"), 409, "/problems/budget-reserved");
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer done = desk_post(&desk, 200, cancel, NULL, NULL);
    http_answer_clear(&done);
    expect_end(path, "cancelled");

    struct amounts before = balance(old, NULL);
    struct http_answer composed = compose(dataset, "compose");
    cr_assert_eq(composed.status, 200, "%s", composed.body);
    snprintf(new, sizeof new, "%s", http_text(&composed, "account"));
    cr_expect_str_neq(new, old);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    struct http_answer again = compose(dataset, "compose");
    cr_expect_eq(again.status, 200);
    cr_expect_str_eq(again.body, composed.body);
    cr_expect_not_null(http_header(&again, "Idempotency-Replayed"));
    expect_problem(compose(dataset, "once-more"), 409, "/problems/conflict");
    cr_expect_eq(dataset_accounts(), 2u);
    expect_converted(dataset, old, new, &before);
    cr_expect_eq(balance(new, NULL).spent, 0);

    expect_same_answer(&teacher, "early", early.body);
    struct http_answer late = ask(&teacher, "late");
    struct amounts answered = balance(new, NULL);
    cr_expect_gt(answered.spent, 0);
    cr_expect_eq(answered.spent_delta, 0);
    accept(dataset, 20, "after", path);
    expect_end(path, "succeeded");
    struct amounts after = balance(new, NULL);
    cr_expect(after.spent > answered.spent && after.held == 0);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    expect_same_answer(&teacher, "early", early.body);
    expect_same_answer(&teacher, "late", late.body);
    cr_expect_eq(balance(new, NULL).spent, after.spent);
    http_answer_clear(&early);
    http_answer_clear(&late);
    http_answer_clear(&composed);
    http_answer_clear(&again);
}
