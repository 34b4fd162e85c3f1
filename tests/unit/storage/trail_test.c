/* The audit trail as it is stored: what the auditor finds, and the refusals on their way to it. */
#include "storage/ledger/trail.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "storage/datasets.h"
#include "storage/db/listing.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/refusals.h"
#include "tests/unit/storage/store.h"

TestSuite(trail, .init = store_open, .fini = store_close);

static const struct trail_row sealed = {.time_ms = 1795780800123,
                                        .actor = "client",
                                        .client = "cli_a",
                                        .role = "steward",
                                        .token = 2,
                                        .action = "POST /v1/datasets/{id}:seal",
                                        .resource = "ds_a",
                                        .status = 200,
                                        .outcome = "ok",
                                        .count = 1,
                                        .address = "2001:db8::1",
                                        .request = "req_a"};

static enum db_status append_row(struct db *db, void *context)
{
    return trail_append(db, context);
}

static void append(struct trail_row row)
{
    cr_assert_eq(db_transact(f.db, append_row, &row), DB_OK);
}

static int64_t faults_now(void)
{
    struct ledger_report report;
    cr_assert_eq(ledger_verify(f.db, &report), DB_OK, "%s", db_last_error(f.db));
    return report.fault_count;
}

Test(trail, the_text_of_a_row_is_json_in_one_form)
{
    struct trail_row row = sealed;
    char text[TRAIL_TEXT_SIZE];
    row.number = 7;
    cr_expect_eq(trail_text(&row, text), strlen(text));
    cr_expect_str_eq(text,
                     "{\"number\":7,\"time\":\"2026-11-27T12:00:00.123Z\",\"actor\":\"client\","
                     "\"client\":\"cli_a\",\"role\":\"steward\",\"token\":2,\"action\":"
                     "\"POST /v1/datasets/{id}:seal\",\"resource\":\"ds_a\",\"subject\":\"\","
                     "\"status\":200,\"outcome\":\"ok\",\"count\":1,\"address\":"
                     "\"2001:db8::1\",\"request\":\"req_a\"}");
}

Test(trail, the_longest_row_fits)
{
    struct trail_row row = {.number = INT64_MAX, .time_ms = INT64_MAX / 1000000};
    char *const texts[] = {row.actor,   row.client,  row.role,    row.action, row.resource,
                           row.subject, row.outcome, row.address, row.request};
    const size_t sizes[] = {sizeof row.actor,   sizeof row.client,   sizeof row.role,
                            sizeof row.action,  sizeof row.resource, sizeof row.subject,
                            sizeof row.outcome, sizeof row.address,  sizeof row.request};
    char text[TRAIL_TEXT_SIZE];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        memset(texts[i], 'x', sizes[i] - 1);
    row.token = row.status = row.count = INT64_MIN;
    cr_expect_lt(trail_text(&row, text), TRAIL_TEXT_SIZE);
}

Test(trail, a_text_that_would_need_an_escape_is_made_harmless)
{
    struct trail_row row = sealed;
    snprintf(row.resource, sizeof row.resource, "a\"b\\c\n\xc3");
    cr_assert_eq(db_transact(f.db, append_row, &row), DB_OK);
    cr_expect_str_eq(row.resource, "a?b?c??");
    cr_expect_eq(faults_now(), 0);
}

Test(trail, nothing_of_it_is_changed_or_removed)
{
    append(sealed);
    cr_expect_neq(fixture_sql(f.db, "UPDATE audit_trail SET client = 'cli_b'"), DB_OK);
    cr_expect_neq(fixture_sql(f.db, "DELETE FROM audit_trail"), DB_OK);
}

/* Of every column, and of the order and number of rows. */
Test(trail, the_auditor_sees_what_was_edited)
{
    static const char *const edits[] = {
        "UPDATE audit_trail SET number = 9 WHERE number = 3",
        "UPDATE audit_trail SET time_ms = time_ms + 1 WHERE number = 1",
        "UPDATE audit_trail SET actor = 'service' WHERE number = 2",
        "UPDATE audit_trail SET client = 'cli_b' WHERE number = 2",
        "UPDATE audit_trail SET role = 'admin' WHERE number = 2",
        "UPDATE audit_trail SET token = 3 WHERE number = 2",
        "UPDATE audit_trail SET action = 'POST /v1/datasets' WHERE number = 2",
        "UPDATE audit_trail SET resource = '' WHERE number = 2",
        "UPDATE audit_trail SET subject = 'cli_b' WHERE number = 2",
        "UPDATE audit_trail SET status = 201 WHERE number = 2",
        "UPDATE audit_trail SET outcome = 'forbidden' WHERE number = 2",
        "UPDATE audit_trail SET count = 2 WHERE number = 2",
        "UPDATE audit_trail SET address = '' WHERE number = 2",
        "UPDATE audit_trail SET request = 'req_b' WHERE number = 2",
        "UPDATE audit_trail SET client = hex(zeroblob(40)) WHERE number = 2",
        "DELETE FROM audit_trail WHERE number = 1",
        "DELETE FROM audit_trail WHERE number = 2",
        "DELETE FROM audit_trail WHERE number = 3",
        "DELETE FROM audit_trail",
        "INSERT INTO audit_trail SELECT 4, time_ms, actor, client, role, token, action, resource,"
        " subject, status, outcome, count, address, request FROM kept WHERE number = 3",
    };
    for (unsigned i = 0; i < 3; i++) {
        struct trail_row row = sealed;
        snprintf(row.resource, sizeof row.resource, "ds_%u", i);
        append(row);
    }
    cr_assert_eq(faults_now(), 0);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER audit_trail_stays"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER audit_trail_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "CREATE TABLE kept AS SELECT * FROM audit_trail"), DB_OK);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        cr_assert_eq(fixture_sql(f.db, edits[i]), DB_OK, "%s: %s", edits[i], db_last_error(f.db));
        cr_expect_gt(faults_now(), 0, "%s", edits[i]);
        cr_assert_eq(fixture_sql(f.db, "DELETE FROM audit_trail"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "INSERT INTO audit_trail SELECT * FROM kept"), DB_OK);
        cr_assert_eq(faults_now(), 0);
    }
}

Test(trail, no_dataset_is_covered_again)
{
    struct dataset_row dataset = {.id = "ds_a", .owner = "cli_a", .name = "ward"};
    struct trail_row row = sealed;
    snprintf(row.action, sizeof row.action, TRAIL_UNCOVERED);
    cr_assert_eq(datasets_insert(f.db, &dataset, NULL), DB_OK, "%s", db_last_error(f.db));
    cr_assert_eq(fixture_sql(f.db, "UPDATE datasets SET uncovered = 1"), DB_OK);
    append(row);
    cr_assert_eq(faults_now(), 0);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER datasets_stay_uncovered"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE datasets SET uncovered = 0"), DB_OK);
    cr_expect_eq(faults_now(), 1);
}

/* ---- refusals */

static int64_t rows_now(void)
{
    int64_t rows = -1;
    cr_assert_eq(db_one(f.db, "SELECT count(*) FROM audit_trail", NULL, 0, listing_integer, &rows),
                 DB_OK);
    return rows;
}

Test(trail, refusals_that_could_not_be_written_are_kept)
{
    struct refusals *refusals = refusals_new();
    struct trail_row other = sealed;
    other.token = 5; /* not what rows are told apart by */
    refusals_note(refusals, &sealed);
    refusals_note(refusals, &other);
    cr_assert_eq(fixture_sql(f.db, "ALTER TABLE audit_trail RENAME TO hidden"), DB_OK);
    cr_expect_neq(refusals_write(refusals, f.db), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "ALTER TABLE hidden RENAME TO audit_trail"), DB_OK);
    refusals_note(refusals, &sealed);
    cr_expect_eq(refusals_write(refusals, f.db), DB_OK);
    cr_expect_eq(rows_now(), 1);
    cr_expect_eq(fixture_sql(f.db, "SELECT 1"), DB_OK);
    int64_t count = 0;
    cr_assert_eq(db_one(f.db, "SELECT count FROM audit_trail", NULL, 0, listing_integer, &count),
                 DB_OK);
    cr_expect_eq(count, 3);
    refusals_free(refusals);
}
