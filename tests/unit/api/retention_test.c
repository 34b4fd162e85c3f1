/* Answers that are kept for a time: given again within it byte for byte; refused for ever behind
 * it, neither drawn nor charged anew, whatever was removed when, and by whom it is asked. The clock
 * is the test's own, and a year passes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/teachers/teacher_ask.h"
#include "storage/jobs.h"
#include "tests/checked_test.h"
#include "tests/unit/api/keep_scene.h"

TestSuite(retention, .init = keep_open, .fini = service_close);

/* ---- what a key must be */

CHECKED_TEST(retention, a_question_names_its_time)
{
    static const char *const undated[] = {"new-1", "c38f3a5e-5c1e-4a5e-9b1a-0b8c0e7b9a10",
                                          "2027-02-29-a", "2027-01-15"};
    const char *queries = keep_teacher(50, ""),
               *rollouts =
                   domain_path("%.*s/rollouts", (int)(strrchr(queries, '/') - queries), queries);
    const char *infer = domain_path("/v2/models/%.*s/infer",
                                    (int)(strrchr(queries, '/') - queries) - 13, queries + 13);
    int64_t entries = keep_number(KEEP_ENTRIES), answers = keep_number(KEEP_ANSWERS);
    for (size_t i = 0; i < sizeof undated / sizeof undated[0]; i++) {
        expect_problem(keep_ask(queries, undated[i], KEEP_STATE), "idempotency-key-invalid");
        expect_problem(keep_ask(rollouts, undated[i], "{}"), "idempotency-key-invalid");
        struct response *told =
            keep_ask(infer, NULL,
                     domain_path("{\"id\":\"%s\",\"inputs\":[{\"name\":\"state\","
                                 "\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":"
                                 "[0,0,0,0]}]}",
                                 undated[i]));
        cr_expect_eq(told->status, 400, "%s", told->body);
    }
    cr_expect_eq(keep_number(KEEP_ENTRIES), entries);
    cr_expect_eq(keep_number(KEEP_ANSWERS), answers);
    expect_status(keep_ask(queries, "2027-01-15-a", KEEP_STATE), 200);
    expect_status(keep_ask(rollouts, "2027-01-15-b", "{}"), 200);
    expect_status(keep_ask(rollouts, NULL, "{}"), 200);
    expect_status(keep_ask(infer, NULL,
                           "{\"id\":\"2027-01-15-c\",\"inputs\":[{\"name\":\"state\",\"datatype\":"
                           "\"FP32\",\"shape\":[1,4],\"data\":[0,0,0,0]}]}"),
                  200);
}

CHECKED_TEST(retention, the_bounds_are_the_clock_plus_an_hour_and_minus_the_days)
{
    char key[KEEP_KEY_BYTES];
    const char *queries = keep_teacher(50, "");
    int64_t entries = keep_number(KEEP_ENTRIES);
    keep_uuid(KEEP_BEGIN_MS + KEEP_HOUR_MS + 1, 0, key);
    expect_problem(keep_ask(queries, key, KEEP_STATE), "idempotency-key-invalid");
    keep_uuid(KEEP_BEGIN_MS - KEEP_DAYS * KEEP_DAY_MS - 1, 1, key);
    struct response *late = keep_ask(queries, key, KEEP_STATE);
    expect_problem(late, "idempotency-key-expired");
    cr_expect_eq(late->status, 410);
    cr_expect_eq(keep_number(KEEP_ENTRIES), entries);
    keep_uuid(KEEP_BEGIN_MS + KEEP_HOUR_MS, 2, key);
    expect_status(keep_ask(queries, key, KEEP_STATE), 200);
    keep_uuid(KEEP_BEGIN_MS - KEEP_DAYS * KEEP_DAY_MS, 3, key);
    expect_status(keep_ask(queries, key, KEEP_STATE), 200);
}

/* Other calls take any key. Those with a date are refused when it is over. */
/* The clock was two hours ahead when the answer was paid. */
CHECKED_TEST(retention, a_clock_that_goes_back_keeps_what_was_stored)
{
    char key[KEEP_KEY_BYTES], body[2048];
    const char *queries = keep_teacher(50, "");
    keep_uuid(KEEP_BEGIN_MS + 2 * KEEP_HOUR_MS, 1, key);
    expect_problem(keep_ask(queries, key, KEEP_STATE), "idempotency-key-invalid");
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS + 2 * KEEP_HOUR_MS);
    struct response *paid = keep_ask(queries, key, KEEP_STATE);
    expect_status(paid, 200);
    snprintf(body, sizeof body, "%s", paid->body);
    int64_t spent = keep_number(KEEP_SPENT);
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS);
    keep_expect_replayed(keep_ask(queries, key, KEEP_STATE), body);
    cr_expect_eq(keep_number(KEEP_SPENT), spent);
}

CHECKED_TEST(retention, other_calls_may_have_any_key)
{
    char key[KEEP_KEY_BYTES];
    static const char body[] = "{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":{"
                               "\"epsilon\":1,\"delta\":1e-6}}";
    struct ask dataset = {.path = "/v1/datasets",
                          .token = fixture_token(f, "steward"),
                          .key = "import-4f9c2b",
                          .body = body};
    struct response *made = fixture_ask(f, &dataset);
    expect_status(made, 201);
    const char *text = made->body;
    keep_uuid(KEEP_BEGIN_MS, 0, key);
    dataset.key = key;
    expect_status(fixture_ask(f, &dataset), 201);
    atomic_fetch_add(&keep_clock_ms, 400 * KEEP_DAY_MS);
    keep_prune();
    expect_problem(fixture_ask(f, &dataset), "idempotency-key-expired");
    dataset.key = "import-4f9c2b";
    struct response *again = fixture_ask(f, &dataset);
    expect_status(again, 201);
    cr_expect_str_eq(again->body, text, "a key without a time is kept");
}

/* Keys of before, and keys of our own jobs. */
CHECKED_TEST(retention, what_was_stored_without_a_time_is_given_again)
{
    const char *queries = keep_teacher(50, "");
    fixture_restart(f, keep_for_ever);
    const char *text = keep_ask(queries, "new-1", KEEP_STATE)->body;
    fixture_restart(f, keep_days);
    atomic_fetch_add(&keep_clock_ms, 400 * KEEP_DAY_MS);
    keep_prune();
    keep_expect_replayed(keep_ask(queries, "new-1", KEEP_STATE), text);
    expect_problem(keep_ask(queries, "new-2", KEEP_STATE), "idempotency-key-invalid");

    char teacher[64];
    struct api_reply reply;
    snprintf(teacher, sizeof teacher, "%.*s", (int)(strrchr(queries, '/') - queries) - 13,
             queries + 13);
    struct job_row job;
    expect_status(fixture_post(f, "steward", "/v1/jobs",
                               "{\"algorithm\":\"ppo\",\"mechanism\":\"none\","
                               "\"environment\":\"cartpole\"}"),
                  202);
    cr_assert_eq(jobs_claim(fixture_db(f), "w", "", 0, 1000, &job), DB_OK);
    struct teacher_ask asked = {fixture_client(f, "student"), teacher, "job_x.1.queries", job.id,
                                "w"};
    teacher_query(fixture_app(f), fixture_db(f), &asked, KEEP_STATE, &reply);
    cr_expect_eq(reply.status, 200, "%s", reply.body);
    api_reply_clear(&reply);
    job_done(&job);
}

/* ---- within the time, at its edge and behind it */

CHECKED_TEST(retention, a_repeat_is_given_again_and_then_refused_for_ever)
{
    char key[KEEP_KEY_BYTES];
    const char *queries = keep_teacher(50, "");
    keep_uuid(KEEP_BEGIN_MS, 1, key);
    const char *text = keep_ask(queries, key, KEEP_STATE)->body;
    int64_t entries = keep_number(KEEP_ENTRIES), spent = keep_number(KEEP_SPENT);
    keep_expect_replayed(keep_ask(queries, key, KEEP_STATE), text);
    expect_problem(keep_ask(queries, key, "{\"state\":[1,0,0,0]}"), "idempotency-key-reused");
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS + KEEP_DAYS * KEEP_DAY_MS);
    keep_prune();
    keep_expect_replayed(keep_ask(queries, key, KEEP_STATE), text); /* the last moment */
    atomic_fetch_add(&keep_clock_ms, 1);
    int64_t answers = keep_number(KEEP_ANSWERS);
    expect_problem(keep_ask(queries, key, KEEP_STATE),
                   "idempotency-key-expired"); /* nothing is removed yet */
    keep_prune();
    cr_expect_eq(keep_number(KEEP_ANSWERS), answers);
    atomic_fetch_add(&keep_clock_ms, KEEP_HOUR_MS);
    keep_prune();
    cr_expect_eq(keep_number(KEEP_ANSWERS), answers - 1);
    expect_problem(keep_ask(queries, key, KEEP_STATE), "idempotency-key-expired");
    /* Neither the clock nor the flag brings it back, nor does a restart. */
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS);
    expect_problem(keep_ask(queries, key, KEEP_STATE), "idempotency-key-expired");
    fixture_restart(f, keep_days);
    expect_problem(keep_ask(queries, key, KEEP_STATE), "idempotency-key-expired");
    fixture_restart(f, keep_for_ever);
    expect_problem(keep_ask(queries, key, KEEP_STATE), "idempotency-key-expired");
    expect_problem(fixture_ask(f, &(struct ask){.path = queries,
                                                .token = fixture_token(f, "student"),
                                                .key = key,
                                                .body = KEEP_STATE,
                                                .unbatched = true}),
                   "idempotency-key-expired");
    cr_expect_eq(keep_number(KEEP_ENTRIES), entries);
    cr_expect_eq(keep_number(KEEP_SPENT), spent);
}

/* The bytes of a question, asked again with "reuse" under other keys. */
CHECKED_TEST(retention, reuse_gives_an_answer_again_for_the_days)
{
    static const char again[] = "{\"state\":[0,0,1,0],\"reuse\":\"exact\"}",
                      before[] = "{\"state\":[0,0,2,0],\"reuse\":\"exact\"}";
    char key[6][KEEP_KEY_BYTES], path[96];
    struct response *job = domain_run(
        f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":50,\"parameters\":"
                       "{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                       domain_sealed(f, "private", 12)));
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":"
                    "0.1},\"adjacency\":{\"unit\":\"expert\"},\"budget\":{\"epsilon\":6,\"delta\":"
                    "1e-6},\"client_budget\":{\"epsilon\":6,\"delta\":1e-6}}",
                    response_text(job, "/policy")));
    expect_status(made, 201);
    strcpy(path, domain_path("/v1/teachers/%s/queries", response_text(made, "/id")));
    fixture_restart(f, keep_for_ever);
    const char *kept = keep_ask(path, "undated", before)->body;
    fixture_restart(f, keep_days);
    for (unsigned i = 0; i < 6; i++)
        keep_uuid(KEEP_BEGIN_MS + (i < 2   ? 0
                                   : i < 3 ? KEEP_DAYS * KEEP_DAY_MS
                                           : (KEEP_DAYS + 1) * KEEP_DAY_MS),
                  i, key[i]);
    struct response *first = keep_ask(path, key[0], again);
    expect_status(first, 200);
    int64_t spent = keep_number(KEEP_SPENT);
    cr_expect_str_eq(keep_ask(path, key[1], again)->body, first->body);
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS + KEEP_DAYS * KEEP_DAY_MS);
    keep_prune();
    cr_expect_str_eq(keep_ask(path, key[2], again)->body, first->body, "the last moment");
    cr_expect_eq(keep_number(KEEP_SPENT), spent);
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS + (KEEP_DAYS + 1) * KEEP_DAY_MS);
    struct response *later = keep_ask(path, key[3], again); /* before the removal, as behind it */
    expect_status(later, 200);
    cr_expect_str_neq(later->body, first->body);
    cr_expect_gt(keep_number(KEEP_SPENT), spent, "it is a new one, and paid for");
    keep_prune();
    spent = keep_number(KEEP_SPENT);
    cr_expect_str_eq(keep_ask(path, key[4], again)->body, later->body);
    cr_expect_str_eq(keep_ask(path, key[5], before)->body, kept, "of before, and kept for ever");
    cr_expect_eq(keep_number(KEEP_SPENT), spent);
    cr_expect_eq(keep_number(KEEP_ANSWERS " WHERE key GLOB 'reuse *'"), 2);
}

/* SQLite's driver in the place of one that several servers share, with a commit that is to be tried
 * again. */
static struct db_driver retrying;
static bool commit_fails;

static enum db_status commit_retrying(void *connection, struct db_fault *fault)
{
    if (!commit_fails)
        return db_driver_sqlite.commit(connection, fault);
    commit_fails = false;
    db_driver_sqlite.rollback(connection);
    return DB_RETRY;
}

CHECKED_TEST(retention, a_sweep_that_is_tried_again_passes_nothing)
{
    char key[KEEP_KEY_BYTES];
    fixture_close(f);
    retrying = db_driver_sqlite;
    retrying.shared = true;
    retrying.commit = commit_retrying;
    f = fixture_open_on(&retrying);
    fixture_restart(f, keep_days);
    const char *queries = keep_teacher(50, "");
    int64_t answers = keep_number(KEEP_ANSWERS);
    keep_uuid(KEEP_BEGIN_MS, 1, key);
    expect_status(keep_ask(queries, key, KEEP_STATE), 200);
    atomic_fetch_add(&keep_clock_ms, 400 * KEEP_DAY_MS);
    keep_uuid(KEEP_BEGIN_MS + 400 * KEEP_DAY_MS, 2, key);
    expect_status(keep_ask(queries, key, KEEP_STATE), 200);
    cr_assert_eq(keep_number(KEEP_ANSWERS), answers + 2);
    commit_fails = true;
    keep_prune();
    cr_expect_not(commit_fails);
    cr_expect_eq(keep_number(KEEP_ANSWERS), answers + 1, "the newer one alone is kept");
}
