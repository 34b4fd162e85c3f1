/* Old debits become folds: balances, heads and the auditor's verdict stay, what must stay stays,
 * and a fold that changed is found. */
#include "storage/ledger/ledger_fold.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_verify.h"
#include "tests/unit/storage/failing_driver.h"
#include "tests/unit/storage/fixture.h"

static struct fixture f;
static struct ledger_account teacher, student, dataset;

static void open_ledger(const struct db_driver *driver)
{
    fixture_open(&f, driver);
    teacher = fixture_account(f.db, LEDGER_TEACHER, "tch_a", NULL, 1000000, 10000);
    student = fixture_account(f.db, LEDGER_CLIENT, "tch_a", "cli_a", 1000000, 10000);
    dataset = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 1000000, 10000);
}

static void open_sqlite(void)
{
    open_ledger(&db_driver_sqlite);
}

static void open_failing(void)
{
    failing_arm(0, DB_OK, false);
    open_ledger(&failing_driver);
}

static void close_ledger(void)
{
    fixture_close(&f);
}

TestSuite(ledger_fold, .init = open_sqlite, .fini = close_ledger);
TestSuite(ledger_fold_failing, .init = open_failing, .fini = close_ledger);

struct debit {
    const char *account;
    int64_t time_ms;
};

static enum db_status debit_one(struct db *db, void *context)
{
    const struct debit *debit = context;
    struct ledger_outcome outcome;
    const struct ledger_charge charge = {.prices = {{debit->account, 7, 1}},
                                         .count = 1,
                                         .client = "cli_a",
                                         .resource = "qry_a",
                                         .event = "{}",
                                         .now_ms = debit->time_ms};
    enum db_status status = ledger_debit(db, &charge, &outcome);
    return status == DB_OK && outcome.verdict != LEDGER_OK ? DB_FAILED : status;
}

static enum db_status try_debit(const char *account, int64_t time_ms)
{
    struct debit debit = {account, time_ms};
    return db_transact(f.db, debit_one, &debit);
}

/* COUNT debits of one account, one a millisecond from TIME_MS on. */
static void spend(const char *account, int64_t time_ms, int count)
{
    for (int i = 0; i < count; i++)
        cr_assert_eq(try_debit(account, time_ms + i), DB_OK, "%s", db_last_error(f.db));
}

static void fold_all(struct ledger_sweep *sweep)
{
    do
        cr_assert_eq(ledger_fold(f.db, sweep), DB_OK, "%s", db_last_error(f.db));
    while (sweep->more);
}

/* Folds what is older than FROM_MS, as after a start. */
static void fold_before(int64_t from_ms)
{
    struct ledger_sweep sweep = {.from_ms = from_ms, .now_ms = INT64_MAX};
    fold_all(&sweep);
}

static int64_t number(const char *sql)
{
    int64_t value = -1;
    cr_assert_eq(db_one(f.db, sql, NULL, 0, listing_integer, &value), DB_OK, "%s",
                 db_last_error(f.db));
    return value;
}

#define ROWS "SELECT count(*) FROM ledger_entries"

static struct ledger_report verify(void)
{
    struct ledger_report report;
    cr_assert_eq(ledger_verify(f.db, &report), DB_OK, "%s", db_last_error(f.db));
    return report;
}

static void expect_whole(int64_t entries, int64_t folded)
{
    struct ledger_report report = verify();
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_eq(report.entries, entries, "%" PRId64, report.entries);
    cr_expect_eq(report.folded, folded, "%" PRId64, report.folded);
}

static void expect_same_account(const struct ledger_account *before)
{
    struct ledger_account after;
    cr_assert_eq(ledger_find(f.db, before->id, &after), DB_OK);
    cr_expect_eq(memcmp(before, &after, sizeof after), 0, "balances, head and count stay");
}

/* ---- what is folded */

struct listed {
    char kinds[400];
    int64_t next, spent;
    unsigned char head[LEDGER_HASH_SIZE];
    bool chained;
};

static bool see_entry(void *context, const struct ledger_entry *entry)
{
    struct listed *listed = context;
    struct ledger_fold fold = {.first = entry->sequence};
    bool is_fold = entry->kind == LEDGER_ENTRY_FOLDED;
    cr_assert_eq(ledger_fold_holds(f.db, entry, &fold), is_fold);
    size_t used = strlen(listed->kinds);
    snprintf(listed->kinds + used, sizeof listed->kinds - used, "%s%s", used > 0 ? " " : "",
             ledger_entry_kind_name(entry->kind));
    cr_expect(listed->next == 1 || memcmp(entry->previous_hash, listed->head, 32) == 0);
    cr_expect_eq(fold.first, listed->next);
    listed->next = entry->sequence + 1;
    listed->spent += entry->spent_units;
    memcpy(listed->head, entry->hash, LEDGER_HASH_SIZE);
    return true;
}

static struct listed list_of(const char *account)
{
    struct listed listed = {.next = 1};
    cr_assert_eq(ledger_entries(f.db, account, 0, 100, see_entry, &listed), DB_OK);
    return listed;
}

Test(ledger_fold, takes_old_debits_and_leaves_the_rest)
{
    spend(teacher.id, 1000, 3);
    cr_assert_eq(fixture_hold(f.db, "job_a", teacher.id, 50, NULL), DB_OK); /* at 2000 */
    spend(teacher.id, 2001, 2);
    cr_assert_eq(fixture_settle(f.db, "job_a", teacher.id, 20, NULL), DB_OK);
    spend(teacher.id, 3000, 1);
    spend(dataset.id, 3001, 3);
    spend(student.id, 3004, 2);
    spend(teacher.id, 4000, 2);
    int64_t entries = number(ROWS), newest = number("SELECT max(rowid) FROM ledger_entries");
    cr_assert_eq(ledger_find(f.db, teacher.id, &teacher), DB_OK);
    cr_assert_eq(ledger_find(f.db, student.id, &student), DB_OK);
    unsigned char head[LEDGER_HASH_SIZE];
    memcpy(head, verify().head, sizeof head);
    fold_before(4000);
    expect_same_account(&teacher);
    expect_same_account(&student);
    cr_expect_str_eq(list_of(teacher.id).kinds,
                     "open folded hold folded settle folded debit debit");
    cr_expect_str_eq(list_of(student.id).kinds, "open folded");
    cr_expect_str_eq(list_of(dataset.id).kinds, "open debit debit debit");
    cr_expect_eq(list_of(teacher.id).spent, teacher.spent_units);
    cr_expect_eq(number("SELECT max(rowid) FROM ledger_entries"), newest);
    expect_whole(entries, 8);
    cr_expect_eq(memcmp(verify().head, head, sizeof head), 0);
}

Test(ledger_fold, grows_by_what_follows_it)
{
    struct ledger_sweep sweep = {.from_ms = 0, .now_ms = 1};
    for (int round = 0; round < 5; round++) {
        int64_t time_ms = 10000 * (round + 1);
        spend(teacher.id, time_ms, 700);
        spend(student.id, time_ms + 700, 700);
        if (round == 3)
            sweep.seen = 0; /* as after a start */
        sweep.from_ms = time_ms + 1050;
        sweep.now_ms = time_ms + 1400;
        fold_all(&sweep);
        expect_whole(3 + 1400 * (round + 1), 1400 * round + 1050);
    }
    fold_before(INT64_MAX);
    expect_whole(3 + 7000, 7000);
    cr_expect_eq(number(ROWS), 5);
    cr_expect_eq(list_of(teacher.id).spent, 7 * 3500);
    spend(teacher.id, 90000, 1); /* follows the fold's hash */
    expect_whole(3 + 7001, 7000);
    fixture_reopen(&f);
    expect_whole(3 + 7001, 7000);
}

/* A page that begins within a fold shows all of it. */
Test(ledger_fold, is_shown_to_who_read_some_of_it_before)
{
    spend(teacher.id, 1000, 20);
    fold_before(1015);
    struct listed listed = {.next = 1};
    cr_assert_eq(ledger_entries(f.db, teacher.id, 0, 1, see_entry, &listed), DB_OK);
    cr_assert_eq(ledger_entries(f.db, teacher.id, 9, 100, see_entry, &listed), DB_OK);
    cr_expect_str_eq(listed.kinds, "open folded debit debit debit debit debit");
}

/* Entries of a clock that was ahead stop nothing, and stay. */
Test(ledger_fold, goes_on_behind_a_clock_that_was_ahead)
{
    spend(teacher.id, 900000, 2);
    spend(teacher.id, 1000, 3);
    struct ledger_sweep sweep = {.from_ms = 2000, .now_ms = 3000};
    fold_all(&sweep);
    cr_expect_str_eq(list_of(teacher.id).kinds, "open debit debit folded");
    expect_whole(8, 3);
}

/* ---- the guards of the database */

Test(ledger_fold, the_database_itself_refuses_another_way)
{
    static const char *const refused[] = {
        "DELETE FROM ledger_entries WHERE kind = 'folded'",
        "DELETE FROM ledger_entries WHERE kind = 'debit'",
        "DELETE FROM ledger_entries WHERE kind = 'open'",
        "UPDATE ledger_entries SET spent_units = 0 WHERE kind = 'folded'",
        "UPDATE ledger_entries SET spent_units = 0 WHERE kind = 'debit'",
        "UPDATE ledger_entries SET kind = 'debit' WHERE kind = 'folded'",
        "UPDATE ledger_entries SET kind = 'folded' WHERE kind = 'open'",
        "UPDATE ledger_entries SET kind = 'folded', spent_units = 0 WHERE kind = 'debit'",
        "UPDATE ledger_entries SET kind = 'folded', hash = zeroblob(32) WHERE kind = 'debit'",
        "UPDATE ledger_entries SET kind = 'folded', sequence = 99 WHERE kind = 'debit'",
    };
    spend(teacher.id, 1000, 4);
    spend(teacher.id, 5000, 1);
    fold_before(3000);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        cr_expect_neq(fixture_sql(f.db, refused[i]), DB_OK, "%s", refused[i]);
    expect_whole(8, 4);
}

/* The row of an account as it was in a backup: what was spent since then is not spent again,
 * whether its entries are there or were folded. */
Test(ledger_fold, an_older_row_of_an_account_cannot_be_charged)
{
    for (int folded = 0; folded < 2; folded++) {
        cr_assert_eq(fixture_sql(f.db, "CREATE TABLE old AS SELECT * FROM ledger_accounts"), DB_OK);
        spend(teacher.id, 1000, 30);
        if (folded)
            fold_before(INT64_MAX);
        int64_t entries = verify().entries;
        cr_assert_eq(ledger_find(f.db, teacher.id, &teacher), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "CREATE TABLE new AS SELECT * FROM ledger_accounts"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "UPDATE ledger_accounts SET (entries, head, spent_units, "
                                       "spent_delta) = (SELECT entries, head, spent_units, "
                                       "spent_delta FROM old WHERE id = ledger_accounts.id)"),
                     DB_OK);
        for (int i = 0; i < 3; i++)
            cr_expect_neq(try_debit(teacher.id, 9000 + i), DB_OK, "folded %d", folded);
        cr_expect_gt(verify().fault_count, 0, "a start finds it");
        if (folded) /* it does not let the right row in, either */
            cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_accounts_follow"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "UPDATE ledger_accounts SET (entries, head, spent_units, "
                                       "spent_delta) = (SELECT entries, head, spent_units, "
                                       "spent_delta FROM new WHERE id = ledger_accounts.id)"),
                     DB_OK);
        expect_same_account(&teacher);
        expect_whole(entries, folded ? entries - 3 : 0);
        cr_assert_eq(fixture_sql(f.db, "DROP TABLE old"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "DROP TABLE new"), DB_OK);
    }
}

/* ---- damage */

static void expect_found(const char *damage)
{
    cr_assert_eq(fixture_sql(f.db, "CREATE TABLE kept AS SELECT rowid AS r, * FROM ledger_entries"),
                 DB_OK);
    int64_t before = number("SELECT total_changes()");
    cr_assert_eq(fixture_sql(f.db, damage), DB_OK, "%s: %s", damage, db_last_error(f.db));
    cr_assert_gt(number("SELECT total_changes()"), before, "%s", damage);
    cr_expect_gt(verify().fault_count, 0, "%s", damage);
    cr_assert_eq(fixture_sql(f.db, "DELETE FROM ledger_entries"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "INSERT INTO ledger_entries (rowid, account, sequence, time_ms, "
                                   "kind, limit_units, spent_units, held_units, limit_delta, "
                                   "spent_delta, held_delta, epsilon, delta, client, resource, "
                                   "event, hash) SELECT * FROM kept"),
                 DB_OK, "%s", db_last_error(f.db));
    cr_assert_eq(fixture_sql(f.db, "DROP TABLE kept"), DB_OK);
    cr_assert_eq(verify().fault_count, 0);
}

Test(ledger_fold, that_changed_is_found)
{
    static const char *const damages[] = {
        "spent_units = spent_units - 7, spent_delta = spent_delta",
        "spent_delta = spent_delta + 1",
        "held_units = 1",
        "limit_units = 1",
        "time_ms = time_ms + 1",
        "hash = zeroblob(32)",
        "kind = 'debit'",
        "kind = 'settle'",
        "event = ''",
        "event = '{}'",
        "event = event || ' '",
        "event = replace(event, '\"count\":', '\"count\":0')",
        "event = replace(event, '\"first_sequence\":', '\"first_sequence\":1')",
        "event = replace(event, '\"first_sequence\":2', '\"first_sequence\":3')",
        "event = replace(event, '\"first_time_ms\":1', '\"first_time_ms\":2')",
        "event = replace(event, '\"previous_hash\":\"', '\"previous_hash\":\"0')",
        "event = substr(event, 1, length(event) - 4) || '00\"}'",
        "sequence = sequence - 1",
        "account = 'acc_other'",
    };
    char sql[400];
    spend(teacher.id, 1000, 9);
    spend(student.id, 2000, 9);
    fold_before(2008);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_entries_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_entries_stay"), DB_OK);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        snprintf(sql, sizeof sql, "UPDATE ledger_entries SET %s WHERE account = '%s' AND %s",
                 damages[i], teacher.id, "kind = 'folded'");
        expect_found(sql);
    }
    snprintf(sql, sizeof sql, "DELETE FROM ledger_entries WHERE account = '%s' AND kind = 'folded'",
             teacher.id);
    expect_found(sql);
    /* two accounts that were charged alike: a fold is that of its account */
    expect_found(
        "UPDATE ledger_entries SET event = (SELECT o.event FROM ledger_entries o WHERE "
        "o.kind = 'folded' AND o.account <> ledger_entries.account) WHERE kind = 'folded'");
}

Test(ledger_fold, stops_at_an_entry_that_is_not_what_its_hash_says)
{
    spend(teacher.id, 1000, 5);
    int64_t rows = number(ROWS);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_entries_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE ledger_entries SET spent_units = 6 WHERE sequence = 4"),
                 DB_OK);
    struct ledger_sweep sweep = {.from_ms = 9000, .now_ms = 9000};
    cr_expect_eq(ledger_fold(f.db, &sweep), DB_FAILED);
    cr_expect_not_null(strstr(db_last_error(f.db), "entry 4"), "%s", db_last_error(f.db));
    cr_expect_not_null(strstr(db_last_error(f.db), teacher.id), "%s", db_last_error(f.db));
    cr_expect_eq(sweep.seen, 0);
    cr_expect_eq(number(ROWS), rows);
}

Test(ledger_fold, does_not_grow_from_a_fold_that_changed)
{
    spend(teacher.id, 1000, 5);
    fold_before(1003);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_entries_fixed"), DB_OK);
    cr_assert_eq(
        fixture_sql(f.db, "UPDATE ledger_entries SET spent_units = 20 WHERE kind = 'folded'"),
        DB_OK);
    struct ledger_sweep sweep = {.from_ms = 9000, .now_ms = 9000};
    cr_expect_eq(ledger_fold(f.db, &sweep), DB_FAILED);
    cr_expect_not_null(strstr(db_last_error(f.db), "entry 4"), "%s", db_last_error(f.db));
    cr_expect_eq(number("SELECT count(*) FROM ledger_entries WHERE kind = 'debit'"), 2);
}

/* ---- failures and kills: a chunk is folded whole or not at all */

#define SPENT 12 /* debits of each of two accounts */

static void spend_both(void)
{
    spend(teacher.id, 1000, SPENT);
    spend(student.id, 2000, SPENT);
    cr_assert_eq(fixture_hold(f.db, "job_a", teacher.id, 50, NULL), DB_OK);
    cr_assert_eq(ledger_find(f.db, teacher.id, &teacher), DB_OK);
    cr_assert_eq(ledger_find(f.db, student.id, &student), DB_OK);
}

/* True when all is folded. */
static bool expect_sound(void)
{
    int64_t rows = number(ROWS);
    expect_same_account(&teacher);
    expect_same_account(&student);
    cr_assert(rows == 6 || rows == 4 + 2 * SPENT, "%" PRId64, rows);
    expect_whole(4 + 2 * SPENT, rows == 6 ? 2 * SPENT : 0);
    cr_expect_eq(verify().open_holds, 1);
    return rows == 6;
}

Test(ledger_fold_failing, is_whole_or_not_at_all_through_every_failing_call)
{
    spend_both();
    bool fired = true;
    unsigned failing = 1;
    for (; fired && !expect_sound(); failing++) {
        struct ledger_sweep sweep = {.from_ms = 9000, .now_ms = 9000};
        failing_arm(failing, failing % 2 ? DB_FULL : DB_FAILED, failing % 3 == 0);
        enum db_status status = ledger_fold(f.db, &sweep);
        fired = failing_fired();
        failing_arm(0, DB_OK, false);
        cr_expect_eq(status == DB_OK, !fired);
        cr_expect(status == DB_OK || sweep.seen == 0, "rows that are still there are seen again");
    }
    cr_expect(expect_sound());
    cr_expect_gt(failing, 10);
}

/* Folds in another process, which is killed at call N. True: it ended before that. */
static bool fold_until_killed(unsigned n)
{
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct db_settings settings = {.location = f.path};
        struct db_store *store = db_store_new(&failing_driver, &settings);
        struct db *db = NULL;
        char error[DB_ERROR_SIZE];
        struct ledger_sweep sweep = {.from_ms = 9000, .now_ms = 9000};
        failing_kill(n);
        if (db_open(store, &db, error) != DB_OK || ledger_fold(db, &sweep) != DB_OK)
            _exit(1);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
}

Test(ledger_fold, a_kill_between_any_two_calls_loses_nothing)
{
    spend_both();
    bool ended = false, folded = false;
    unsigned n = 1;
    for (; !ended && !folded; n++) {
        ended = fold_until_killed(n);
        fixture_reopen(&f);
        folded = expect_sound();
    }
    cr_expect(folded);
    cr_expect_gt(n, 10);
}
