/* Old debits become folds: balances, heads and the auditor's verdict stay, what must stay stays,
 * and a fold that changed is found. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/storage/fold_scene.h"

static void open_sqlite(void)
{
    fold_open(&db_driver_sqlite);
}

TestSuite(ledger_fold, .init = open_sqlite, .fini = fold_close);

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
    cr_assert_eq(ledger_fold_holds(fold_fixture.db, entry, &fold), is_fold);
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
    cr_assert_eq(ledger_entries(fold_fixture.db, account, 0, 100, see_entry, &listed), DB_OK);
    return listed;
}

Test(ledger_fold, takes_old_debits_and_leaves_the_rest)
{
    fold_spend(fold_teacher.id, 1000, 3);
    cr_assert_eq(fixture_hold(fold_fixture.db, "job_a", fold_teacher.id, 50, NULL),
                 DB_OK); /* at 2000 */
    fold_spend(fold_teacher.id, 2001, 2);
    cr_assert_eq(fixture_settle(fold_fixture.db, "job_a", fold_teacher.id, 20, NULL), DB_OK);
    fold_spend(fold_teacher.id, 3000, 1);
    fold_spend(fold_dataset.id, 3001, 3);
    fold_spend(fold_student.id, 3004, 2);
    fold_spend(fold_teacher.id, 4000, 2);
    int64_t entries = fold_number(FOLD_ROWS),
            newest = fold_number("SELECT max(rowid) FROM ledger_entries");
    cr_assert_eq(ledger_find(fold_fixture.db, fold_teacher.id, &fold_teacher), DB_OK);
    cr_assert_eq(ledger_find(fold_fixture.db, fold_student.id, &fold_student), DB_OK);
    unsigned char head[LEDGER_HASH_SIZE];
    memcpy(head, fold_verify().head, sizeof head);
    fold_before(4000);
    fold_expect_same(&fold_teacher);
    fold_expect_same(&fold_student);
    cr_expect_str_eq(list_of(fold_teacher.id).kinds,
                     "open folded hold folded settle folded debit debit");
    cr_expect_str_eq(list_of(fold_student.id).kinds, "open folded");
    cr_expect_str_eq(list_of(fold_dataset.id).kinds, "open debit debit debit");
    cr_expect_eq(list_of(fold_teacher.id).spent, fold_teacher.spent_units);
    cr_expect_eq(fold_number("SELECT max(rowid) FROM ledger_entries"), newest);
    fold_expect_whole(entries, 8);
    cr_expect_eq(memcmp(fold_verify().head, head, sizeof head), 0);
}

Test(ledger_fold, grows_by_what_follows_it)
{
    struct ledger_sweep sweep = {.from_ms = 0, .now_ms = 1};
    for (int round = 0; round < 5; round++) {
        int64_t time_ms = 10000 * (round + 1);
        fold_spend(fold_teacher.id, time_ms, 700);
        fold_spend(fold_student.id, time_ms + 700, 700);
        if (round == 3)
            sweep.seen = 0; /* as after a start */
        sweep.from_ms = time_ms + 1050;
        sweep.now_ms = time_ms + 1400;
        fold_all(&sweep);
        fold_expect_whole(3 + 1400 * (round + 1), 1400 * round + 1050);
    }
    fold_before(INT64_MAX);
    fold_expect_whole(3 + 7000, 7000);
    cr_expect_eq(fold_number(FOLD_ROWS), 5);
    cr_expect_eq(list_of(fold_teacher.id).spent, 7 * 3500);
    fold_spend(fold_teacher.id, 90000, 1); /* follows the fold's hash */
    fold_expect_whole(3 + 7001, 7000);
    fixture_reopen(&fold_fixture);
    fold_expect_whole(3 + 7001, 7000);
}

/* A page that begins within a fold shows all of it. */
Test(ledger_fold, is_shown_to_who_read_some_of_it_before)
{
    fold_spend(fold_teacher.id, 1000, 20);
    fold_before(1015);
    struct listed listed = {.next = 1};
    cr_assert_eq(ledger_entries(fold_fixture.db, fold_teacher.id, 0, 1, see_entry, &listed), DB_OK);
    cr_assert_eq(ledger_entries(fold_fixture.db, fold_teacher.id, 9, 100, see_entry, &listed),
                 DB_OK);
    cr_expect_str_eq(listed.kinds, "open folded debit debit debit debit debit");
}

/* Entries of a clock that was ahead stop nothing, and stay. */
Test(ledger_fold, goes_on_behind_a_clock_that_was_ahead)
{
    fold_spend(fold_teacher.id, 900000, 2);
    fold_spend(fold_teacher.id, 1000, 3);
    struct ledger_sweep sweep = {.from_ms = 2000, .now_ms = 3000};
    fold_all(&sweep);
    cr_expect_str_eq(list_of(fold_teacher.id).kinds, "open debit debit folded");
    fold_expect_whole(8, 3);
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
    fold_spend(fold_teacher.id, 1000, 4);
    fold_spend(fold_teacher.id, 5000, 1);
    fold_before(3000);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        cr_expect_neq(fixture_sql(fold_fixture.db, refused[i]), DB_OK, "%s", refused[i]);
    fold_expect_whole(8, 4);
}

/* The row of an account as it was in a backup: what was spent since then is not spent again,
 * whether its entries are there or were folded. */
Test(ledger_fold, an_older_row_of_an_account_cannot_be_charged)
{
    for (int folded = 0; folded < 2; folded++) {
        cr_assert_eq(
            fixture_sql(fold_fixture.db, "CREATE TABLE old AS SELECT * FROM ledger_accounts"),
            DB_OK);
        fold_spend(fold_teacher.id, 1000, 30);
        if (folded)
            fold_before(INT64_MAX);
        int64_t entries = fold_verify().entries;
        cr_assert_eq(ledger_find(fold_fixture.db, fold_teacher.id, &fold_teacher), DB_OK);
        cr_assert_eq(
            fixture_sql(fold_fixture.db, "CREATE TABLE new AS SELECT * FROM ledger_accounts"),
            DB_OK);
        cr_assert_eq(fixture_sql(fold_fixture.db,
                                 "UPDATE ledger_accounts SET (entries, head, spent_units, "
                                 "spent_delta) = (SELECT entries, head, spent_units, "
                                 "spent_delta FROM old WHERE id = ledger_accounts.id)"),
                     DB_OK);
        for (int i = 0; i < 3; i++)
            cr_expect_neq(fold_try_debit(fold_teacher.id, 9000 + i), DB_OK, "folded %d", folded);
        cr_expect_gt(fold_verify().fault_count, 0, "a start finds it");
        if (folded) /* it does not let the right row in, either */
            cr_assert_eq(fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_accounts_follow"),
                         DB_OK);
        cr_assert_eq(fixture_sql(fold_fixture.db,
                                 "UPDATE ledger_accounts SET (entries, head, spent_units, "
                                 "spent_delta) = (SELECT entries, head, spent_units, "
                                 "spent_delta FROM new WHERE id = ledger_accounts.id)"),
                     DB_OK);
        fold_expect_same(&fold_teacher);
        fold_expect_whole(entries, folded ? entries - 3 : 0);
        cr_assert_eq(fixture_sql(fold_fixture.db, "DROP TABLE old"), DB_OK);
        cr_assert_eq(fixture_sql(fold_fixture.db, "DROP TABLE new"), DB_OK);
    }
}

/* ---- damage */

static void expect_found(const char *damage)
{
    cr_assert_eq(fixture_sql(fold_fixture.db,
                             "CREATE TABLE kept AS SELECT rowid AS r, * FROM ledger_entries"),
                 DB_OK);
    int64_t before = fold_number("SELECT total_changes()");
    cr_assert_eq(fixture_sql(fold_fixture.db, damage), DB_OK, "%s: %s", damage,
                 db_last_error(fold_fixture.db));
    cr_assert_gt(fold_number("SELECT total_changes()"), before, "%s", damage);
    cr_expect_gt(fold_verify().fault_count, 0, "%s", damage);
    cr_assert_eq(fixture_sql(fold_fixture.db, "DELETE FROM ledger_entries"), DB_OK);
    cr_assert_eq(fixture_sql(fold_fixture.db,
                             "INSERT INTO ledger_entries (rowid, account, sequence, time_ms, "
                             "kind, limit_units, spent_units, held_units, limit_delta, "
                             "spent_delta, held_delta, epsilon, delta, client, resource, "
                             "event, hash) SELECT * FROM kept"),
                 DB_OK, "%s", db_last_error(fold_fixture.db));
    cr_assert_eq(fixture_sql(fold_fixture.db, "DROP TABLE kept"), DB_OK);
    cr_assert_eq(fold_verify().fault_count, 0);
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
    fold_spend(fold_teacher.id, 1000, 9);
    fold_spend(fold_student.id, 2000, 9);
    fold_before(2008);
    cr_assert_eq(fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_entries_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_entries_stay"), DB_OK);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        snprintf(sql, sizeof sql, "UPDATE ledger_entries SET %s WHERE account = '%s' AND %s",
                 damages[i], fold_teacher.id, "kind = 'folded'");
        expect_found(sql);
    }
    snprintf(sql, sizeof sql, "DELETE FROM ledger_entries WHERE account = '%s' AND kind = 'folded'",
             fold_teacher.id);
    expect_found(sql);
    /* two accounts that were charged alike: a fold is that of its account */
    expect_found(
        "UPDATE ledger_entries SET event = (SELECT o.event FROM ledger_entries o WHERE "
        "o.kind = 'folded' AND o.account <> ledger_entries.account) WHERE kind = 'folded'");
}

/* Entry 4 of DAMAGED is changed: it is named, its account's entries stay, OTHER's are folded. */
static void expect_left(const struct ledger_account *damaged, const struct ledger_account *other)
{
    struct db *db = fold_fixture.db;
    char sql[160];
    fold_spend(damaged->id, 1000, 5);
    fold_spend(other->id, 2000, 5);
    fold_spend(damaged->id, 3000, 5);
    snprintf(sql, sizeof sql,
             "UPDATE ledger_entries SET spent_units = 6 WHERE sequence = 4 AND account = '%s'",
             damaged->id);
    cr_assert_eq(fixture_sql(db, "DROP TRIGGER ledger_entries_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(db, sql), DB_OK);
    struct ledger_sweep sweep = {.from_ms = 9000, .now_ms = 9000};
    cr_expect_eq(ledger_fold(db, &sweep), DB_FAILED);
    cr_expect_not_null(strstr(db_last_error(db), "entry 4"), "%s", db_last_error(db));
    cr_expect_not_null(strstr(db_last_error(db), damaged->id), "%s", db_last_error(db));
    cr_expect_str_eq(list_of(other->id).kinds, "open folded");
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_entries WHERE kind = 'debit'"), 10);
    cr_expect_str_eq(fold_verify().faults[0].account, damaged->id);
    cr_expect_eq(ledger_fold(db, &sweep), DB_OK, "these rows were seen: %s", db_last_error(db));
}

/* Runs are found in the order of the accounts' ids, and of two accounts one comes first. */
Test(ledger_fold, goes_on_with_the_accounts_behind_a_damaged_entry)
{
    bool first = strcmp(fold_teacher.id, fold_student.id) < 0;
    expect_left(first ? &fold_teacher : &fold_student, first ? &fold_student : &fold_teacher);
}

Test(ledger_fold, goes_on_with_the_accounts_before_a_damaged_entry)
{
    bool first = strcmp(fold_teacher.id, fold_student.id) < 0;
    expect_left(first ? &fold_student : &fold_teacher, first ? &fold_teacher : &fold_student);
}

Test(ledger_fold, does_not_grow_from_a_fold_that_changed)
{
    fold_spend(fold_teacher.id, 1000, 5);
    fold_before(1003);
    cr_assert_eq(fixture_sql(fold_fixture.db, "DROP TRIGGER ledger_entries_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(fold_fixture.db,
                             "UPDATE ledger_entries SET spent_units = 20 WHERE kind = 'folded'"),
                 DB_OK);
    struct ledger_sweep sweep = {.from_ms = 9000, .now_ms = 9000};
    cr_expect_eq(ledger_fold(fold_fixture.db, &sweep), DB_FAILED);
    cr_expect_not_null(strstr(db_last_error(fold_fixture.db), "entry 4"), "%s",
                       db_last_error(fold_fixture.db));
    cr_expect_eq(fold_number("SELECT count(*) FROM ledger_entries WHERE kind = 'debit'"), 2);
}
