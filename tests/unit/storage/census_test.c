/* Counts and sums of all tenants. */
#include <criterion/criterion.h>

#include "storage/census.h"
#include "storage/datasets.h"
#include "storage/endings.h"
#include "storage/ledger/trail.h"
#include "tests/unit/storage/fixture.h"

Test(census, adds_up_what_the_ledger_says)
{
    struct fixture fixture;
    struct census census;
    fixture_open(&fixture, &db_driver_sqlite);
    cr_assert_eq(census_take(fixture.db, &census), DB_OK);
    cr_expect_eq(census.accounts[LEDGER_DATASET].count, 0);
    cr_expect_eq(census.jobs[JOB_QUEUED], 0);
    cr_expect_eq(census.requests, 0);

    /* Of 1000 units: one account has 901 spent, one 700 spent and 201 held, one exactly a tenth
     * left. */
    struct ledger_account a = fixture_account(fixture.db, LEDGER_DATASET, "ds_a", NULL, 1000, 0);
    struct ledger_account b = fixture_account(fixture.db, LEDGER_DATASET, "ds_b", NULL, 1000, 0);
    struct ledger_account c = fixture_account(fixture.db, LEDGER_DATASET, "ds_c", NULL, 1000, 0);
    struct ledger_account d = fixture_account(fixture.db, LEDGER_TEACHER, "tch_a", NULL, 1000, 0);
    cr_assert_eq(fixture_debit(fixture.db, a.id, 901, 0, NULL), DB_OK);
    cr_assert_eq(fixture_debit(fixture.db, b.id, 700, 0, NULL), DB_OK);
    cr_assert_eq(fixture_hold(fixture.db, "job_x", b.id, 201, NULL), DB_OK);
    cr_assert_eq(fixture_debit(fixture.db, c.id, 900, 0, NULL), DB_OK);
    cr_assert_eq(census_take(fixture.db, &census), DB_OK);
    const struct census_accounts *sets = &census.accounts[LEDGER_DATASET];
    cr_expect_eq(sets->count, 3);
    cr_expect_eq(sets->low, 2);
    cr_expect_float_eq(sets->limit, a.epsilon + b.epsilon + c.epsilon, 1e-12);
    cr_expect_float_eq(sets->spent, a.epsilon * 0.901 + b.epsilon * 0.7 + c.epsilon * 0.9, 1e-12);
    cr_expect_float_eq(sets->held, b.epsilon * 0.201, 1e-12);
    cr_expect_eq(census.accounts[LEDGER_TEACHER].count, 1);
    cr_expect_eq(census.accounts[LEDGER_TEACHER].low, 0);
    cr_expect_float_eq(census.accounts[LEDGER_TEACHER].limit, d.epsilon, 1e-12);
    fixture_close(&fixture);
}

static enum db_status note_now(struct db *db, void *time_ms)
{
    struct trail_row row = {
        .time_ms = *(int64_t *)time_ms, .actor = "operator", .action = "x", .outcome = "ok"};
    return trail_append(db, &row);
}

Test(census, knows_when_something_was_stored_last)
{
    struct fixture fixture;
    struct dataset_row row = {
        .id = "ds_a", .owner = "cli_a", .name = "a", .environment = "cartpole"};
    const char *name = "e0";
    const struct expert_names names = {"ds_a", "cli_a", &name, 1, 9, 2000};
    struct experts_outcome outcome;
    int64_t newest = -1, earlier = 1000;
    uint32_t number;
    fixture_open(&fixture, &db_driver_sqlite);
    cr_assert_eq(census_newest(fixture.db, &newest), DB_OK, "%s", db_last_error(fixture.db));
    cr_expect_eq(newest, 0);
    cr_assert_eq(db_transact(fixture.db, note_now, &earlier), DB_OK);
    cr_assert_eq(census_newest(fixture.db, &newest), DB_OK);
    cr_expect_eq(newest, 1000);
    cr_assert_eq(datasets_insert(fixture.db, &row, NULL), DB_OK);
    cr_assert_eq(datasets_register_experts(fixture.db, &names, &number, &outcome), DB_OK);
    cr_assert_eq(census_newest(fixture.db, &newest), DB_OK);
    cr_expect_eq(newest, 2000);
    fixture_close(&fixture);
}

static enum db_status close_teacher(struct db *db, void *context)
{
    return endings_close(db, context);
}

/* By delta as by epsilon, where both add up; and nobody is to act where a teacher was closed, or
 * where another account goes on with what was left. */
Test(census, counts_as_low_what_somebody_can_raise)
{
    struct fixture fixture;
    struct census census;
    struct ending ending = {.resource = "tch_b", .client = "cli_owner", .closed_ms = 1};
    fixture_open(&fixture, &db_driver_sqlite);
    struct db *db = fixture.db;
    struct ledger_account a = fixture_account(db, LEDGER_DATASET, "ds_a", NULL, 1000, 1000);
    struct ledger_account b = fixture_account(db, LEDGER_TEACHER, "tch_b", NULL, 1000, 0);
    struct ledger_account c = fixture_account(db, LEDGER_CLIENT, "tch_b", "cli_c", 1000, 0);
    struct ledger_account d = fixture_account(db, LEDGER_DATASET, "ds_d", NULL, 1000, 1000);
    struct ledger_opening renyi = {.kind = LEDGER_DATASET,
                                   .resource = d.id,
                                   .owner = "cli_owner",
                                   .unit = "expert",
                                   .renyi_order = 2,
                                   .epsilon = 1,
                                   .delta = 1e-6,
                                   .limit_units = 1000,
                                   .limit_delta = 1000,
                                   .event = "{}"};
    struct ledger_account e;
    cr_assert_eq(ledger_open_account(db, &renyi, &e), DB_OK);
    cr_assert_eq(fixture_debit(db, a.id, 500, 900, NULL), DB_OK);
    cr_assert_eq(fixture_debit(db, b.id, 1000, 0, NULL), DB_OK);
    cr_assert_eq(fixture_debit(db, c.id, 1000, 0, NULL), DB_OK);
    cr_assert_eq(fixture_debit(db, e.id, 0, 1000, NULL), DB_OK);
    cr_assert_eq(census_take(db, &census), DB_OK);
    cr_expect_eq(census.accounts[LEDGER_DATASET].low, 0);
    cr_expect_eq(census.accounts[LEDGER_TEACHER].low, 1);
    cr_expect_eq(census.accounts[LEDGER_CLIENT].low, 1);
    cr_assert_eq(fixture_debit(db, a.id, 0, 1, NULL), DB_OK);
    cr_assert_eq(fixture_debit(db, d.id, 1000, 1000, NULL), DB_OK);
    cr_assert_eq(db_transact(db, close_teacher, &ending), DB_OK, "%s", db_last_error(db));
    cr_assert_eq(census_take(db, &census), DB_OK);
    cr_expect_eq(census.accounts[LEDGER_DATASET].low, 1, "ds_a, by delta");
    cr_expect_eq(census.accounts[LEDGER_TEACHER].low, 0);
    cr_expect_eq(census.accounts[LEDGER_CLIENT].low, 0);
    fixture_close(&fixture);
}
