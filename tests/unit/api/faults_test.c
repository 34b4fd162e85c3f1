/* The n-th call of the database fails, for every n: the answer is an honest problem, nothing is
 * stored, and the same call with the same key then goes through as if it had never been. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/api/fixture.h"

TestSuite(faults);

/* SQLite's driver behind a counter. */
static struct db_driver failing;
static int calls_left; /* -1: never fails */
static enum db_status failure;

static bool fails(void)
{
    return calls_left >= 0 && calls_left-- == 0;
}

static enum db_status begin(void *connection, bool will_write, struct db_fault *fault)
{
    return fails() ? failure : db_driver_sqlite.begin(connection, will_write, fault);
}

static enum db_status run(void *connection, const char *sql, const struct db_value *values,
                          unsigned count, db_row_fn *each, void *context, struct db_fault *fault)
{
    return fails() ? failure
                   : db_driver_sqlite.run(connection, sql, values, count, each, context, fault);
}

static struct fixture *open_failing(void)
{
    failing = db_driver_sqlite;
    failing.begin = begin;
    failing.run = run;
    calls_left = -1;
    return fixture_open_on(&failing);
}

static size_t clients(struct fixture *f)
{
    return json_array_size(
        response_at(fixture_get(f, "admin", "/v1/clients?page_size=1000"), "/items"));
}

/* Gives how many calls of the database were tried before one request went through untouched. */
static int fail_at_every_call(struct fixture *f, enum db_status with, const char *slug)
{
    const char *token = fixture_token(f, "admin");
    failure = with;
    for (int n = 0; n < 100; n++) {
        char key[40];
        snprintf(key, sizeof key, "%s-%d", slug, n);
        struct ask ask = {.path = "/v1/clients",
                          .token = token,
                          .key = key,
                          .body = "{\"name\":\"n\",\"role\":\"agent\"}",
                          .unbatched = true};
        size_t before = clients(f);
        calls_left = n;
        struct response *r = fixture_ask(f, &ask);
        bool reached = calls_left < 0;
        calls_left = -1;
        if (!reached) {
            expect_status(r, 201);
            return n;
        }
        if (r->status == 201) { /* a retry inside went through */
            cr_assert_eq(with, DB_RETRY);
            cr_assert_eq(clients(f), before + 1);
            continue;
        }
        expect_problem(r, slug);
        cr_assert_eq(clients(f), before, "call %d left something behind", n);
        struct response *again = fixture_ask(f, &ask);
        expect_status(again, 201);
        cr_assert(response_header(again, "Idempotency-Replayed") == NULL);
        cr_assert_eq(clients(f), before + 1);
    }
    cr_assert_fail("it never went through");
    return 0;
}

Test(faults, nothing_is_stored_when_the_database_fails)
{
    struct fixture *f = open_failing();
    cr_expect(fail_at_every_call(f, DB_FAILED, "internal-error") >= 4);
    fixture_close(f);
}

Test(faults, a_full_disk_is_503_and_leaves_nothing)
{
    struct fixture *f = open_failing();
    cr_expect(fail_at_every_call(f, DB_FULL, "storage-full") >= 4);
    fixture_close(f);
}

Test(faults, a_writer_in_the_way_is_tried_again_or_503)
{
    struct fixture *f = open_failing();
    cr_expect(fail_at_every_call(f, DB_RETRY, "overloaded") >= 4);
    fixture_close(f);
}
