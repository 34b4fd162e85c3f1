/* Experts' data go when they are older than their dataset declares, as if a steward had called for
 * it: the clock is the test's own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/data/erasure.h"
#include "api/data/private_data.h"
#include "storage/db/listing.h"
#include "tests/unit/api/failing_database.h"
#include "tests/unit/api/service.h"

#define DAY_MS INT64_C(86400000)

static void open_service(void)
{
    f = fixture_open_failing();
    fixture_set_clock(1800000000123);
}

TestSuite(kept_days, .init = open_service, .fini = service_close);

static const char *dataset_of(const char *days)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/datasets",
        domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",\"retention_days\":%s,"
                    "\"budget\":{\"epsilon\":100,\"delta\":1e-2}}",
                    days));
    expect_status(made, 201);
    return response_text(made, "/id");
}

static void upload(const char *dataset, unsigned experts)
{
    char *lines = domain_lines(experts, 3);
    expect_status(domain_upload(f, "contributor", dataset, lines, 0, NULL), 201);
    free(lines);
}

static int64_t number_of(const char *sql)
{
    int64_t number = -1;
    cr_assert_eq(db_one(fixture_db(f), sql, NULL, 0, listing_integer, &number), DB_OK);
    return number;
}

static int64_t rows(void)
{
    return number_of("SELECT count(*) FROM audit_trail WHERE action = 'retention' AND actor = "
                     "'service' AND outcome = 'ok' AND resource LIKE 'ds_%'");
}

static int64_t erased(void)
{
    return number_of("SELECT count(*) FROM experts WHERE name LIKE '~%'");
}

static bool sweep(void)
{
    bool more = true, good = true;
    while (good && more)
        good = api_prune(fixture_app(f), fixture_db(f), &more);
    return good;
}

/* Sweeps MS later, and gives how many experts were erased so far. */
static int64_t erased_after(int64_t ms)
{
    fixture_advance(ms);
    cr_assert(sweep(), "%s", db_last_error(fixture_db(f)));
    return erased();
}

Test(kept_days, data_go_with_the_days_of_their_newest_upload)
{
    const char *kept = dataset_of("null"), *dataset = dataset_of("10");
    upload(kept, 1);
    upload(dataset, 2);
    size_t one = domain_readable(f, dataset) / 2;
    fixture_advance(5 * DAY_MS + DAY_MS / 2);
    upload(dataset, 1);
    cr_assert_eq(domain_readable(f, dataset), 3 * one);
    cr_expect_eq(erased_after(5 * DAY_MS + DAY_MS / 2 - 1), 0, "the hour does not count");
    cr_expect_eq(erased_after(1), 1);
    cr_expect_eq(domain_readable(f, dataset), 2 * one);
    struct response *receipt =
        fixture_delete(f, "contributor", domain_path("/v1/datasets/%s/experts/e1", dataset));
    expect_status(receipt, 200);
    cr_expect_str_eq(response_text(receipt, "/erased_at"), "2027-01-26T08:00:00.123Z");
    cr_expect_eq(erased_after(5 * DAY_MS - 1), 1);
    cr_expect_eq(erased_after(1), 2);
    cr_expect_eq(domain_readable(f, dataset), 0);
    cr_expect_eq(erased_after(365 * DAY_MS), 2);
    cr_expect_eq(domain_readable(f, kept), one);
    char *lines = domain_lines(1, 3); /* who comes back, which must be meant, is somebody new */
    expect_problem(domain_upload(f, "contributor", dataset, lines, 0, NULL), "conflict");
    expect_status(
        fixture_ask(f, &(struct ask){.method = "POST",
                                     .path = domain_path(
                                         "/v1/datasets/%s/trajectories?erased=accept", dataset),
                                     .token = fixture_token(f, "contributor"),
                                     .content_type = "application/x-ndjson",
                                     .body = lines}),
        201);
    free(lines);
    cr_expect_eq(erased_after(9 * DAY_MS), 2);
    cr_expect_eq(erased_after(2 * DAY_MS), 3);
    domain_expect_whole_ledger(f);
}

/* A certificate shows the size of the log. */
Test(kept_days, leave_the_same_rows_with_data_and_without)
{
    const char *full = dataset_of("2"), *empty = dataset_of("2");
    upload(full, 5);
    for (int days = 1; days <= 2; days++)
        cr_expect_eq(erased_after(DAY_MS), 0);
    cr_expect_eq(rows(), 0);
    cr_expect_eq(erased_after(DAY_MS), 5);
    cr_expect_eq(rows(), 2);
    cr_expect_eq(erased_after(0), 5);
    cr_expect_eq(rows(), 2);
    cr_expect_eq(erased_after(DAY_MS), 5);
    cr_expect_eq(rows(), 4);
    cr_expect_eq(number_of(domain_path("SELECT count(*) FROM audit_trail WHERE action = "
                                       "'retention' AND resource = '%s'",
                                       empty)),
                 2);
}

Test(kept_days, of_an_experts_network_count_too)
{
    static const char network[] =
        "{\"activation\":\"relu\",\"layers\":[{\"weight\":[[0,0,0,0],[0,0,1,0]],\"bias\":[0,0]}],"
        "\"output\":\"argmax\"}";
    const char *dataset = dataset_of("1");
    upload(dataset, 1);
    fixture_advance(DAY_MS);
    expect_status(fixture_put(f, "contributor",
                              domain_path("/v1/datasets/%s/experts/e0/policy", dataset), network),
                  204);
    cr_expect_eq(erased_after(DAY_MS), 0);
    cr_expect_eq(erased_after(DAY_MS), 1);
    cr_expect_eq(number_of("SELECT count(*) FROM expert_policies"), 0);
}

#define STATE "{\"state\":[0,0,0,0]}"

/* The path of questions to a new teacher of what DATASET gave without a mechanism. */
static const char *teacher_of(const char *dataset)
{
    struct response *job = domain_run(f, domain_unprotected_job(dataset, 20));
    const char *body = domain_teacher(response_text(job, "/policy"), 1e6, 1e6);
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers",
                     domain_path("{\"i_understand\":\"not_private\",%s", body + 1));
    expect_status(made, 201);
    const char *path = domain_path("/v1/teachers/%s/queries", response_text(made, "/id"));
    expect_status(fixture_post(f, "student", path, STATE), 200);
    return path;
}

/* A teacher falls silent, and the log grows, on days that the declarations alone give. */
Test(kept_days, silence_teachers_on_days_that_tell_nothing_of_uploads)
{
    const char *early = dataset_of("3"), *late = dataset_of("3");
    domain_fill(f, early, 4);
    fixture_advance(2 * DAY_MS);
    domain_fill(f, late, 4);
    for (int i = 0; i < 2; i++)
        expect_status(fixture_post(f, "steward",
                                   domain_path("/v1/datasets/%s:seal", i == 0 ? early : late),
                                   NULL),
                      200);
    const char *first = teacher_of(early), *second = teacher_of(late);
    cr_expect_eq(erased_after(DAY_MS), 0);
    expect_status(fixture_post(f, "student", first, STATE), 200);
    expect_status(fixture_post(f, "student", second, STATE), 200);
    cr_expect_eq(erased_after(DAY_MS), 4);
    cr_expect_eq(rows(), 2);
    expect_problem(fixture_post(f, "student", first, STATE), "teacher-silent");
    expect_problem(fixture_post(f, "student", second, STATE), "teacher-silent");
    for (int day = 5; day <= 6; day++) {
        second = teacher_of(late);
        cr_expect_eq(erased_after(DAY_MS), day == 5 ? 4 : 8);
        expect_problem(fixture_post(f, "student", second, STATE), "teacher-silent");
        cr_expect_eq(rows(), 2 * (day - 3));
    }
    cr_expect_eq(erased_after(9 * DAY_MS), 8);
    cr_expect_eq(rows(), 6, "they were sealed on the third day");
}

Test(kept_days, are_declared_shown_and_changed_by_the_steward)
{
    const char *dataset = dataset_of("30"), *path = domain_path("/v1/datasets/%s", dataset);
    (void)fixture_token(f, "contributor");
    cr_expect_eq(response_number(fixture_get(f, "contributor", path), "/retention_days"), 30);
    struct ask change = {.method = "PATCH",
                         .path = path,
                         .token = fixture_token(f, "steward"),
                         .body = "{\"retention_days\":2}"};
    struct response *changed = fixture_ask(f, &change);
    expect_status(changed, 200);
    cr_expect_eq(response_number(changed, "/retention_days"), 2);
    cr_expect_eq(response_number(fixture_get(f, "steward", path), "/retention_days"), 2);
    upload(dataset, 1);
    change.body = "{\"retention_days\":null}";
    expect_status(fixture_ask(f, &change), 200);
    cr_expect_eq(erased_after(100 * DAY_MS), 0);
    cr_expect(json_is_null(response_at(fixture_get(f, "steward", path), "/retention_days")));
    change.body = "{}";
    expect_invalid(fixture_ask(f, &change), "/retention_days");
    change.body = "{\"retention_days\":0}";
    expect_invalid(fixture_ask(f, &change), "/retention_days");
    change.body = "{\"retention_days\":1}";
    change.token = fixture_token(f, "contributor");
    expect_problem(fixture_ask(f, &change), "forbidden");
    change.token = fixture_new_token(f, "steward");
    expect_problem(fixture_ask(f, &change), "not-found");
    cr_expect_eq(erased_after(0), 0);
    change.token = fixture_token(f, "steward");
    expect_status(fixture_ask(f, &change), 200);
    cr_expect_eq(erased_after(0), 1);
}

Test(kept_days, an_erasure_that_fails_at_any_call_is_done_once_in_the_end)
{
    const char *dataset = dataset_of("1");
    upload(dataset, 1);
    fixture_advance(3 * DAY_MS);
    unsigned failed = 0;
    database_failure = DB_FAILED;
    for (bool good = false; !good && failed < 100;) {
        database_calls_left = (int)failed;
        good = sweep() && database_calls_left >= 0;
        database_calls_left = -1;
        failed += !good;
    }
    cr_expect_gt(failed, 5, "%u", failed);
    cr_expect_eq(erased_after(0), 1);
    cr_expect_eq(rows(), 1);
    cr_expect_eq(domain_readable(f, dataset), 0);
    domain_expect_whole_ledger(f);
}

Test(kept_days, keys_that_cannot_be_overwritten_keep_no_other_dataset_waiting)
{
    char file[512], away[520];
    const char *one = dataset_of("1"), *other = dataset_of("1");
    bool more = false;
    upload(one, 1);
    upload(other, 1);
    const char *first = strcmp(one, other) < 0 ? one : other;
    snprintf(file, sizeof file, "%.*s/keys/%s", (int)strlen(fixture_path(f)) - 9, fixture_path(f),
             first);
    snprintf(away, sizeof away, "%s.away", file);
    cr_assert(rename(file, away) == 0 && mkdir(file, 0700) == 0);
    fixture_advance(3 * DAY_MS);
    cr_expect_not(api_prune(fixture_app(f), fixture_db(f), &more));
    cr_expect_not_null(strstr(db_last_error(fixture_db(f)), first));
    cr_expect_eq(erased(), 1);
    cr_assert(rmdir(file) == 0 && rename(away, file) == 0);
    cr_expect_eq(erased_after(0), 2);
}

Test(kept_days, a_damaged_dataset_keeps_no_other_waiting_nor_the_start)
{
    const char *one = dataset_of("1"), *other = dataset_of("1");
    bool more = false;
    upload(one, 1);
    upload(other, 1);
    bool swapped = strcmp(one, other) > 0;
    const char *first = swapped ? other : one, *second = swapped ? one : other;
    cr_assert_eq(db_change(fixture_db(f),
                           domain_path("UPDATE datasets SET discount = 0.5 WHERE id = '%s'", first),
                           NULL, 0),
                 DB_OK);
    fixture_advance(3 * DAY_MS);
    cr_expect_not(api_prune(fixture_app(f), fixture_db(f), &more));
    cr_expect_str_eq(db_damage(fixture_db(f)), domain_path("datasets %s", first));
    cr_expect_eq(domain_readable(f, second), 0);
    cr_expect_eq(erasure_resume(fixture_app(f), fixture_db(f)), DB_OK);
}
