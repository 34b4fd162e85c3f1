/* Temporary stores and one-line ledger calls for the tests of this folder. */
#include "tests/unit/storage/fixture.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/ledger/ledger_verify.h"
#include "storage/upgrade.h"
#include "tests/unit/storage/postgres_place.h"

static void connect_store(struct fixture *fixture, const struct db_driver *driver)
{
    struct db_settings settings = {.location = fixture->path, .not_durable = true};
    char error[DB_ERROR_SIZE];
    fixture->store = db_store_new(driver, &settings);
    cr_assert_not_null(fixture->store);
    fixture->db = fixture_connect(fixture);
    cr_assert_eq(storage_upgrade(fixture->db, error), DB_OK, "%s", error);
    cr_assert_eq(storage_check(fixture->db, error), DB_OK, "%s", error);
}

void fixture_name(struct fixture *fixture)
{
    cr_assert_geq(sodium_init(), 0);
    snprintf(fixture->folder, sizeof fixture->folder, "/tmp/tacet-storage-XXXXXX");
    cr_assert_not_null(mkdtemp(fixture->folder));
    snprintf(fixture->path, sizeof fixture->path, "%s/tacet.db", fixture->folder);
}

void fixture_open(struct fixture *fixture, const struct db_driver *driver)
{
    fixture_name(fixture);
    if (postgres_place_wanted()) {
        driver = &db_driver_postgres;
        postgres_place_make(fixture->path, sizeof fixture->path);
    }
    connect_store(fixture, driver);
}

struct db *fixture_connect(struct fixture *fixture)
{
    struct db *db = NULL;
    char error[DB_ERROR_SIZE];
    cr_assert_eq(db_open(fixture->store, &db, error), DB_OK, "%s", error);
    return db;
}

void fixture_reopen(struct fixture *fixture)
{
    const struct db_driver *driver = db_driver_of(fixture->db);
    db_close(fixture->db);
    db_store_free(fixture->store);
    connect_store(fixture, driver);
}

void fixture_close(struct fixture *fixture)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    bool elsewhere = db_driver_of(fixture->db) == &db_driver_postgres;
    db_close(fixture->db);
    db_store_free(fixture->store);
    if (elsewhere)
        postgres_place_drop(fixture->path);
    for (unsigned i = 0; i < 4 && !elsewhere; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", fixture->path, suffixes[i]);
        unlink(path);
    }
    rmdir(fixture->folder);
}

struct ledger_account fixture_account(struct db *db, enum ledger_kind kind, const char *resource,
                                      const char *client, int64_t limit_units, int64_t limit_delta)
{
    struct ledger_opening opening = {.kind = kind,
                                     .resource = resource,
                                     .client = client,
                                     .owner = "cli_owner",
                                     .unit = "expert",
                                     .epsilon = 1,
                                     .delta = 1e-6,
                                     .limit_units = limit_units,
                                     .limit_delta = limit_delta,
                                     .event = "{}",
                                     .now_ms = 1000};
    struct ledger_account account;
    cr_assert_eq(ledger_open_account(db, &opening, &account), DB_OK, "%s", db_last_error(db));
    return account;
}

struct charge_work {
    enum db_status (*call)(struct db *db, const struct ledger_charge *charge,
                           struct ledger_outcome *out);
    struct ledger_charge charge;
    struct ledger_outcome outcome;
};

static enum db_status run_charge(struct db *db, void *context)
{
    struct charge_work *work = context;
    return work->call(db, &work->charge, &work->outcome);
}

static enum db_status charge(struct db *db, struct charge_work *work, enum ledger_verdict *out)
{
    work->charge.client = "cli_student";
    work->charge.event = "{\"event\":\"test\"}";
    work->charge.now_ms = 2000;
    enum db_status status = db_transact(db, run_charge, work);
    if (status == DB_OK && out != NULL)
        *out = work->outcome.verdict;
    return status;
}

enum db_status fixture_debit(struct db *db, const char *account, int64_t units, int64_t delta_units,
                             enum ledger_verdict *out)
{
    struct charge_work work = {
        ledger_debit,
        {.prices = {{account, units, delta_units}}, .count = 1, .resource = "qry_test"},
        {0}};
    return charge(db, &work, out);
}

enum db_status fixture_hold(struct db *db, const char *hold, const char *account, int64_t units,
                            enum ledger_verdict *out)
{
    struct charge_work work = {
        ledger_hold, {.prices = {{account, units, 0}}, .count = 1, .resource = hold}, {0}};
    return charge(db, &work, out);
}

enum db_status fixture_settle(struct db *db, const char *hold, const char *account, int64_t units,
                              enum ledger_verdict *out)
{
    struct charge_work work = {
        ledger_settle, {.prices = {{account, units, 0}}, .count = 1, .resource = hold}, {0}};
    return charge(db, &work, out);
}

void fixture_audit(struct db *db)
{
    struct ledger_report report;
    cr_assert_eq(ledger_verify(db, &report), DB_OK, "%s", db_last_error(db));
    for (unsigned i = 0; i < report.described; i++) {
        fprintf(stderr, "%s entry %" PRId64 ": %s\n", report.faults[i].account,
                report.faults[i].sequence, report.faults[i].what);
    }
    cr_assert_eq(report.fault_count, 0);
}

static enum db_status run_sql(struct db *db, void *context)
{
    const struct db_schema *schema = db_driver_of(db)->schema;
    char *own = schema->translate ? schema->translate(context) : NULL;
    enum db_status status = db_run(db, own ? own : context, NULL, 0, NULL, NULL);
    free(own);
    return status;
}

enum db_status fixture_sql(struct db *db, const char *sql)
{
    return db_transact(db, run_sql, (void *)(uintptr_t)sql);
}

uint64_t fixture_random(uint64_t *state, uint64_t limit)
{
    *state += 0x9E3779B97F4A7C15u; /* SplitMix64 */
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % limit;
}
