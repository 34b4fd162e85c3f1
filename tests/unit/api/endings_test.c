/* Teachers are closed and deleted, policies are deleted: nothing spent comes back, nothing unspent
 * is spent, no key is drawn for twice, and the weights are gone from the file. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"
#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

#define STATE "{\"state\":[0.01,-0.02,0.03,0.04]}"

static char policy[64], teacher[64], queries[96];

static void same_settings(struct api_settings *settings)
{
    (void)settings;
}

static void open_teacher(void)
{
    f = fixture_open();
    strcpy(policy, domain_policy(f));
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 8, 2));
    expect_status(made, 201);
    cr_expect_str_eq(response_text(made, "/state"), "open");
    strcpy(teacher, response_text(made, "/id"));
    strcpy(queries, domain_path("/v1/teachers/%s/queries", teacher));
}

TestSuite(endings, .init = open_teacher, .fini = service_close);

static struct response *ask_as(const char *role, const char *path, const char *key)
{
    return fixture_ask(
        f, &(struct ask){.path = path,
                         .token = fixture_token(f, role),
                         .key = key,
                         .body = strstr(path, "/v2/") || strstr(path, "/queries") ? STATE : "{}"});
}

static int64_t number(const char *sql)
{
    int64_t value = -1;
    cr_assert_eq(db_one(fixture_db(f), sql, NULL, 0, listing_integer, &value), DB_OK);
    return value;
}

#define SPENT "SELECT sum(spent_units) FROM ledger_accounts"

static struct response *close_teacher(void)
{
    return fixture_post(f, "steward", domain_path("/v1/teachers/%s:close", teacher), NULL);
}

static const char *of_teacher(const char *rest)
{
    return domain_path("/v1/teachers/%s%s", teacher, rest);
}

/* Every way to ask is over, for who may know of the teacher. */
static void expect_closed(void)
{
    const char *budget = domain_path("/budgets/%s", fixture_client(f, "student"));
    const char *infer = domain_path("/v2/models/%s/infer", teacher);
    int64_t spent = number(SPENT);
    expect_problem(ask_as("student", queries, "new"), "closed");
    expect_problem(ask_as("steward", queries, "new"), "closed");
    expect_problem(ask_as("student", of_teacher("/rollouts"), "new-2"), "closed");
    expect_problem(ask_as("student", of_teacher("/queries:estimate"), NULL), "closed");
    expect_problem(ask_as("student", infer, "new-3"), "closed");
    expect_problem(fixture_get(f, "student", domain_path("/v2/models/%s", teacher)), "closed");
    expect_problem(fixture_put(f, "steward", of_teacher(budget), "{\"epsilon\":7,\"delta\":1e-5}"),
                   "closed");
    expect_problem(
        fixture_post(
            f, "student", "/v1/budget-requests",
            domain_path("{\"teacher\":\"%s\",\"epsilon\":7,\"delta\":1e-5,\"reason\":\"r\"}",
                        teacher)),
        "closed");
    cr_expect_eq(number(SPENT), spent);
}

CHECKED_TEST(endings, a_closed_teacher_answers_no_more_and_repeats_what_it_answered)
{
    struct response *first = ask_as("student", queries, "before");
    expect_status(first, 200);
    int64_t spent = number(SPENT);
    struct response *closed = close_teacher();
    expect_status(closed, 200);
    cr_expect_str_eq(response_text(closed, "/state"), "closed");
    cr_expect_neq(response_text(closed, "/closed_at")[0], '\0');
    expect_closed();
    struct response *again = ask_as("student", queries, "before");
    expect_status(again, 200);
    cr_expect_str_eq(again->body, first->body);
    cr_expect_str_eq(response_header(again, "Idempotency-Replayed"), "true");
    cr_expect_eq(number(SPENT), spent);
    expect_status(close_teacher(), 200); /* once more: nothing changes */
    cr_expect_eq(number("SELECT count(*) FROM ledger_entries WHERE kind = 'limit'"), 1);
    fixture_restart(f, same_settings);
    expect_closed();
}

/* The teacher is on the shelf when its closing comes, which later requests of the same commit must
 * see, although nothing is on disk yet. What is rolled back has closed nothing. */
CHECKED_TEST(endings, a_closing_holds_from_the_next_request_of_its_commit_on)
{
    expect_status(ask_as("student", queries, "before"), 200);
    for (int kept = 0; kept < 2; kept++) {
        int64_t spent = number(SPENT);
        cr_assert_eq(db_begin_batch(fixture_db(f), true), DB_OK);
        expect_status(ask_as("student", queries, kept ? "kept" : "lost"), 200);
        expect_status(close_teacher(), 200);
        expect_problem(ask_as("student", queries, "after"), "closed");
        if (kept)
            cr_assert_eq(db_commit_batch(fixture_db(f)), DB_OK);
        else
            db_rollback_batch(fixture_db(f));
        cr_expect_eq(number(SPENT) > spent, kept);
    }
    expect_closed();
}

/* The cap's limit is what was spent: the ledger itself would pay for nothing. */
CHECKED_TEST(endings, what_was_not_spent_of_a_closed_cap_is_never_spent)
{
    expect_status(ask_as("student", queries, "before"), 200);
    expect_status(close_teacher(), 200);
    cr_expect_eq(number("SELECT limit_units - spent_units FROM ledger_accounts "
                        "WHERE kind = 'teacher'"),
                 0);
    cr_expect_eq(number("SELECT held_units FROM ledger_accounts WHERE kind = 'teacher'"), 0);
    struct response *cap = fixture_get(
        f, "steward",
        domain_path("/v1/ledger/accounts/%s",
                    response_text(fixture_get(f, "steward", of_teacher("")), "/account")));
    cr_expect_eq(response_number(cap, "/remaining/epsilon"), 0);
}

CHECKED_TEST(endings, who_may_not_ask_learns_nothing_of_a_closing)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20,\"min_probability\":"
                    "0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},\"budget\":{"
                    "\"epsilon\":8,\"delta\":1e-5}}",
                    policy));
    expect_status(made, 201);
    strcpy(teacher, response_text(made, "/id"));
    strcpy(queries, domain_path("/v1/teachers/%s/queries", teacher));
    for (int closed = 0; closed < 2; closed++) {
        expect_problem(ask_as("student", queries, "any"), "not-found");
        expect_problem(ask_as("student", of_teacher("/rollouts"), NULL), "not-found");
        struct ask other = {.path = of_teacher(":close"),
                            .method = "POST",
                            .token = fixture_new_token(f, "steward")};
        expect_problem(fixture_ask(f, &other), "not-found");
        other.method = "DELETE";
        other.path = of_teacher("");
        expect_problem(fixture_ask(f, &other), "not-found");
        expect_status(close_teacher(), 200);
    }
}

CHECKED_TEST(endings, a_deleted_teacher_is_gone_but_for_the_books_and_its_certificate)
{
    expect_status(ask_as("student", queries, "before"), 200);
    expect_problem(fixture_delete(f, "steward", of_teacher("")), "conflict"); /* it is open */
    expect_status(close_teacher(), 200);
    const char *certificate =
        response_text(fixture_get(f, "steward", of_teacher("")), "/certificate");
    int64_t entries = number("SELECT count(*) FROM ledger_entries");
    expect_status(fixture_delete(f, "steward", of_teacher("")), 204);
    expect_problem(fixture_get(f, "steward", of_teacher("")), "not-found");
    expect_problem(fixture_get(f, "student", of_teacher("")), "not-found");
    expect_problem(fixture_delete(f, "steward", of_teacher("")), "not-found");
    expect_problem(close_teacher(), "not-found");
    static const char *const roles[] = {"steward", "student"};
    for (size_t i = 0; i < 2; i++)
        cr_expect_eq(
            json_array_size(response_at(fixture_get(f, roles[i], "/v1/teachers"), "/items")), 0);
    expect_closed();
    expect_problem(ask_as("student", queries, "before"), "closed"); /* nor is it drawn again */
    expect_status(fixture_get(f, "steward", domain_path("/v1/certificates/%s", certificate)), 200);
    expect_status(fixture_get(f, "steward", of_teacher("/certificate")), 200);
    cr_expect_eq(number("SELECT count(*) FROM ledger_entries"), entries);
    fixture_restart(f, same_settings);
    expect_problem(ask_as("student", queries, "before"), "closed");
}

/* ---- policies */

static const char *of_policy(const char *rest)
{
    return domain_path("/v1/policies/%s%s", policy, rest);
}

/* True when the file of the database, or its log, holds these bytes. */
static bool file_holds(const void *bytes, size_t size)
{
    static const char *const ends[] = {"", "-wal"};
    bool found = false;
    for (size_t i = 0; i < 2 && !found; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s%s", fixture_path(f), ends[i]);
        FILE *file = fopen(path, "rb");
        if (!file)
            continue;
        fseek(file, 0, SEEK_END);
        long length = ftell(file);
        rewind(file);
        char *text = malloc((size_t)length + 1);
        cr_assert(text && fread(text, 1, (size_t)length, file) == (size_t)length);
        found = memmem(text, (size_t)length, bytes, size) != NULL;
        free(text);
        fclose(file);
    }
    return found;
}

CHECKED_TEST(endings, a_policy_is_not_deleted_while_something_uses_it)
{
    struct response *refused = fixture_delete(f, "steward", of_policy(""));
    expect_problem(refused, "conflict");
    cr_expect_str_eq(response_text(refused, "/used_by/teacher"), teacher);
    expect_status(close_teacher(), 200);
    struct response *job = fixture_post(
        f, "steward", "/v1/jobs",
        domain_path("{\"algorithm\":\"evaluate\",\"policy\":\"%s\",\"evaluate\":{"
                    "\"environment\":\"cartpole\",\"episodes\":2,\"max_episode_steps\":5}}",
                    policy));
    expect_status(job, 202);
    refused = fixture_delete(f, "steward", of_policy(""));
    expect_problem(refused, "conflict");
    cr_expect_str_eq(response_text(refused, "/used_by/job"), response_text(job, "/id"));
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    expect_status(fixture_delete(f, "steward", of_policy("")), 204);
}

CHECKED_TEST(endings, a_deleted_policy_has_no_weights_left_in_the_file)
{
    static const float first_row[] = {0.1f, 0.2f, 0.3f, 0.4f};
    cr_assert(file_holds(first_row, sizeof first_row), "the test looks for the right bytes");
    expect_status(ask_as("student", queries, "before"), 200);
    expect_status(close_teacher(), 200);
    struct ask other = {
        .method = "DELETE", .path = of_policy(""), .token = fixture_new_token(f, "steward")};
    expect_problem(fixture_ask(f, &other), "not-found");
    expect_status(fixture_delete(f, "steward", of_policy("")), 204);
    fixture_restart(f, same_settings); /* the log is written into the file, and begins again */
    cr_expect_not(file_holds(first_row, sizeof first_row));
    expect_problem(fixture_get(f, "steward", of_policy("")), "not-found");
    expect_problem(fixture_get(f, "steward", of_policy("/weights?format=json")), "not-found");
    expect_problem(fixture_post(f, "steward", of_policy("/actions"), "{\"states\":[[0,0,0,0]]}"),
                   "not-found");
    expect_problem(fixture_delete(f, "steward", of_policy("")), "not-found");
    expect_problem(fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 8, 2)),
                   "not-found");
    cr_expect_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/policies"), "/items")),
                 0);
    struct response *shown = fixture_get(f, "steward", of_teacher(""));
    expect_status(shown, 200);
    cr_expect_str_eq(response_text(shown, "/state"), "closed");
    expect_closed();
}
