/* The ledger, call by call: verdicts, balances, entries, holds, limits, and what the auditor sees.
 */
#include "storage/ledger/ledger.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "storage/answers/answers.h"
#include "storage/ledger/ledger_verify.h"
#include "tests/checked_test.h"
#include "tests/unit/storage/store.h"

static struct ledger_account find(const char *id)
{
    struct ledger_account account;
    cr_assert_eq(ledger_find(f.db, id, &account), DB_OK);
    return account;
}

static struct ledger_account dataset_account(const char *resource, int64_t limit)
{
    return fixture_account(f.db, LEDGER_DATASET, resource, NULL, limit, 1000);
}

CHECKED_TEST(ledger, an_account_opens_with_an_entry, .init = store_open, .fini = store_close)
{
    struct ledger_account opened = fixture_account(f.db, LEDGER_CLIENT, "tch_a", "cli_a", 500, 7);
    struct ledger_account found = find(opened.id), by_name;
    cr_assert_eq(ledger_find_for(f.db, LEDGER_CLIENT, "tch_a", "cli_a", &by_name), DB_OK);
    cr_assert_str_eq(by_name.id, opened.id);
    cr_assert_eq(found.kind, LEDGER_CLIENT);
    cr_assert_str_eq(found.resource, "tch_a");
    cr_assert_str_eq(found.client, "cli_a");
    cr_assert_str_eq(found.owner, "cli_owner");
    cr_assert_str_eq(found.unit, "expert");
    cr_assert_eq(found.limit_units, 500);
    cr_assert_eq(found.limit_delta, 7);
    cr_assert_eq(found.spent_units, 0);
    cr_assert_eq(found.entries, 1);
    cr_assert_eq(found.epsilon, 1.0);
    cr_assert_arr_eq(found.head, opened.head, LEDGER_HASH_SIZE);
    cr_assert_eq(ledger_find(f.db, "acc_none", &found), DB_NONE);
    cr_assert_eq(ledger_find_for(f.db, LEDGER_CLIENT, "tch_a", "cli_b", &found), DB_NONE);
    cr_assert_eq(ledger_find_for(f.db, LEDGER_TEACHER, "tch_a", NULL, &found), DB_NONE);
}

CHECKED_TEST(ledger, one_account_per_purpose, .init = store_open, .fini = store_close)
{
    struct ledger_account first = dataset_account("ds_a", 500), second;
    struct ledger_opening again = {.kind = LEDGER_DATASET,
                                   .resource = "ds_a",
                                   .owner = "cli_owner",
                                   .unit = "expert",
                                   .limit_units = 900,
                                   .event = "{}",
                                   .now_ms = 1};
    cr_assert_eq(ledger_open_account(f.db, &again, &second), DB_NONE);
    cr_assert_eq(find(first.id).limit_units, 500);
    fixture_account(f.db, LEDGER_TEACHER, "ds_a", NULL, 1, 0);
    fixture_account(f.db, LEDGER_CLIENT, "ds_a", "cli_a", 1, 0);
    fixture_account(f.db, LEDGER_CLIENT, "ds_a", "cli_b", 1, 0);
}

CHECKED_TEST(ledger, spending_stops_at_the_limit, .init = store_open, .fini = store_close)
{
    struct ledger_account account = dataset_account("ds_a", 100);
    enum ledger_verdict verdict = LEDGER_NO_HOLD;
    cr_assert_eq(fixture_debit(f.db, account.id, 60, 400, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_OK);
    cr_assert_eq(fixture_debit(f.db, account.id, 41, 0, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_EXHAUSTED);
    cr_assert_eq(fixture_debit(f.db, account.id, 0, 601, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_EXHAUSTED);
    cr_assert_eq(fixture_debit(f.db, account.id, 40, 600, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_OK);
    cr_assert_eq(fixture_debit(f.db, account.id, 1, 0, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_EXHAUSTED);
    cr_assert_eq(fixture_debit(f.db, account.id, LEDGER_UNITS_MAX, LEDGER_UNITS_MAX, &verdict),
                 DB_OK);
    cr_assert_eq(verdict, LEDGER_EXHAUSTED);
    cr_assert_eq(fixture_debit(f.db, "acc_none", 1, 0, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_NO_ACCOUNT);
    account = find(account.id);
    cr_assert_eq(account.spent_units, 100);
    cr_assert_eq(account.spent_delta, 1000);
    cr_assert_eq(account.entries, 3);
}

struct pair {
    struct ledger_charge charge;
    struct ledger_outcome outcome;
};

static enum db_status debit_pair(struct db *db, void *context)
{
    struct pair *pair = context;
    return ledger_debit(db, &pair->charge, &pair->outcome);
}

CHECKED_TEST(ledger, all_accounts_pay_or_none, .init = store_open, .fini = store_close)
{
    struct ledger_account rich = dataset_account("ds_a", 1000), poor = dataset_account("ds_b", 15);
    struct pair pair = {.charge = {.prices = {{rich.id, 10, 1}, {poor.id, 10, 2}},
                                   .count = 2,
                                   .client = "cli_a",
                                   .resource = "qry_a",
                                   .event = "{}",
                                   .now_ms = 5}};
    cr_assert_eq(db_transact(f.db, debit_pair, &pair), DB_OK);
    cr_assert_eq(pair.outcome.verdict, LEDGER_OK);
    cr_assert_eq(pair.outcome.count, 2);
    cr_assert_eq(pair.outcome.parts[0].account.spent_units, 10);
    cr_assert_eq(pair.outcome.parts[1].account.spent_units, 10);
    cr_assert_eq(pair.outcome.parts[1].account.spent_delta, 2);
    cr_assert_eq(db_transact(f.db, debit_pair, &pair), DB_OK);
    cr_assert_eq(pair.outcome.verdict, LEDGER_EXHAUSTED);
    cr_assert_not(pair.outcome.parts[0].violated);
    cr_assert(pair.outcome.parts[1].violated);
    cr_assert_eq(pair.outcome.parts[1].requested_units, 10);
    cr_assert_eq(find(rich.id).spent_units, 10);
    cr_assert_eq(find(poor.id).spent_units, 10);
    pair.charge.prices[0].account = "acc_none";
    cr_assert_eq(db_transact(f.db, debit_pair, &pair), DB_OK);
    cr_assert_eq(pair.outcome.verdict, LEDGER_NO_ACCOUNT);
    cr_assert_eq(pair.outcome.count, 0);
}

CHECKED_TEST(ledger, what_is_held_cannot_be_spent, .init = store_open, .fini = store_close)
{
    struct ledger_account account = dataset_account("ds_a", 100);
    enum ledger_verdict verdict;
    cr_assert_eq(fixture_hold(f.db, "job_a", account.id, 70, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_OK);
    cr_assert_eq(fixture_debit(f.db, account.id, 31, 0, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_RESERVED);
    cr_assert_eq(fixture_debit(f.db, account.id, 101, 0, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_EXHAUSTED);
    cr_assert_eq(fixture_hold(f.db, "job_b", account.id, 31, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_RESERVED);
    cr_assert_eq(fixture_hold(f.db, "job_a", account.id, 1, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_HOLD_TAKEN);
    cr_assert_eq(fixture_debit(f.db, account.id, 30, 0, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_OK);
    account = find(account.id);
    cr_assert_eq(account.spent_units, 30);
    cr_assert_eq(account.held_units, 70);
}

CHECKED_TEST(ledger, a_hold_ends_once, .init = store_open, .fini = store_close)
{
    struct ledger_account account = dataset_account("ds_a", 100),
                          other = dataset_account("ds_b", 9);
    enum ledger_verdict verdict;
    cr_assert_eq(fixture_hold(f.db, "job_a", account.id, 70, &verdict), DB_OK);
    cr_assert_eq(find(account.id).held_units, 70);
    cr_assert_eq(fixture_settle(f.db, "job_a", account.id, 71, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_OVER_HOLD);
    cr_assert_eq(fixture_settle(f.db, "job_a", other.id, 1, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_NO_ACCOUNT);
    cr_assert_eq(fixture_settle(f.db, "job_x", account.id, 1, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_NO_HOLD);
    cr_assert_eq(fixture_settle(f.db, "job_a", account.id, 40, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_OK);
    cr_assert_eq(fixture_settle(f.db, "job_a", account.id, 0, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_NO_HOLD);
    cr_assert_eq(fixture_hold(f.db, "job_a", account.id, 1, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_HOLD_TAKEN);
    account = find(account.id);
    cr_assert_eq(account.spent_units, 40);
    cr_assert_eq(account.held_units, 0);
    cr_assert_neq(fixture_sql(f.db, "UPDATE ledger_holds SET ended = 0"), DB_OK);
}

CHECKED_TEST(ledger, limits_move_but_not_below_what_is_gone, .init = store_open,
             .fini = store_close)
{
    struct ledger_account account = dataset_account("ds_a", 100);
    enum ledger_verdict verdict;
    struct ledger_limit limit = {.account = account.id,
                                 .epsilon = 2,
                                 .delta = 1e-7,
                                 .limit_units = 59,
                                 .limit_delta = 1000,
                                 .client = "cli_owner",
                                 .event = "{}",
                                 .now_ms = 9};
    cr_assert_eq(fixture_debit(f.db, account.id, 40, 0, &verdict), DB_OK);
    cr_assert_eq(fixture_hold(f.db, "job_a", account.id, 20, &verdict), DB_OK);
    cr_assert_eq(ledger_set_limit(f.db, &limit, &verdict, NULL), DB_OK);
    cr_assert_eq(verdict, LEDGER_TOO_LOW);
    limit.limit_units = 60;
    cr_assert_eq(ledger_set_limit(f.db, &limit, &verdict, &account), DB_OK);
    cr_assert_eq(verdict, LEDGER_OK);
    cr_assert_eq(account.limit_units, 60);
    cr_assert_eq(find(account.id).epsilon, 2.0);
    cr_assert_eq(find(account.id).delta, 1e-7);
    limit.limit_units = LEDGER_UNITS_MAX;
    cr_assert_eq(ledger_set_limit(f.db, &limit, &verdict, &account), DB_OK);
    cr_assert_eq(verdict, LEDGER_OK);
    cr_assert_eq(fixture_debit(f.db, account.id, LEDGER_UNITS_MAX, 0, &verdict), DB_OK);
    cr_assert_eq(verdict, LEDGER_EXHAUSTED);
    limit.account = "acc_none";
    cr_assert_eq(ledger_set_limit(f.db, &limit, &verdict, NULL), DB_OK);
    cr_assert_eq(verdict, LEDGER_NO_ACCOUNT);
}

/* ---- handing over */

static enum db_status hand_over(struct db *db, void *owner)
{
    return ledger_hand_over(db, owner, "cli_admin", "{\"type\":\"NoOpDpEvent\"}", 9);
}

/* More accounts than are read at once; the check audits them. */
CHECKED_TEST(ledger, a_handover_is_one_entry_in_every_account_of_its_owner, .init = store_open,
             .fini = store_close)
{
    enum { ACCOUNTS = 600 };
    char resource[ID_SIZE], name[] = "cli_owner", nobody[] = "cli_nobody";
    enum ledger_verdict verdict;
    struct ledger_account all[ACCOUNTS];
    for (int i = 0; i < ACCOUNTS; i++) {
        snprintf(resource, sizeof resource, "ds_%d", i);
        all[i] = dataset_account(resource, 100);
    }
    cr_assert_eq(fixture_debit(f.db, all[7].id, 60, 0, &verdict), DB_OK);
    cr_assert_eq(db_transact(f.db, hand_over, nobody), DB_OK);
    cr_assert_eq(db_transact(f.db, hand_over, name), DB_OK);
    for (int i = 0; i < ACCOUNTS; i++) {
        struct ledger_account now = find(all[i].id);
        cr_expect_eq(now.entries, i == 7 ? 3 : 2);
        cr_expect_eq(now.spent_units, i == 7 ? 60 : 0);
        cr_expect_str_eq(now.owner, "cli_owner");
    }
    cr_assert_eq(fixture_debit(f.db, all[7].id, 41, 0, &verdict), DB_OK);
    cr_expect_eq(verdict, LEDGER_EXHAUSTED);
}

/* ---- lists */

struct seen {
    int count, stop_at;
    int64_t spent, held, limit, last_sequence, created_ms;
    char last[ID_SIZE];
    unsigned char hash[LEDGER_HASH_SIZE];
};

static bool see_entry(void *context, const struct ledger_entry *entry)
{
    struct seen *seen = context;
    cr_assert_eq(entry->sequence, seen->last_sequence + 1);
    if (seen->count > 0)
        cr_assert_arr_eq(entry->previous_hash, seen->hash, LEDGER_HASH_SIZE);
    memcpy(seen->hash, entry->hash, LEDGER_HASH_SIZE);
    seen->last_sequence = entry->sequence;
    seen->spent += entry->spent_units;
    seen->held += entry->held_units;
    seen->limit += entry->limit_units;
    return ++seen->count != seen->stop_at;
}

CHECKED_TEST(ledger, entries_chain_and_add_up, .init = store_open, .fini = store_close)
{
    struct ledger_account account = dataset_account("ds_a", 100);
    struct seen seen = {0};
    for (int i = 0; i < 10; i++)
        cr_assert_eq(fixture_debit(f.db, account.id, i, 0, NULL), DB_OK);
    cr_assert_eq(fixture_hold(f.db, "job_a", account.id, 9, NULL), DB_OK);
    cr_assert_eq(fixture_settle(f.db, "job_a", account.id, 4, NULL), DB_OK);
    seen.stop_at = 3;
    cr_assert_eq(ledger_entries(f.db, account.id, 0, 100, see_entry, &seen), DB_OK);
    cr_assert_eq(seen.count, 3);
    seen.stop_at = 0;
    while (seen.last_sequence < 13) {
        int before = seen.count;
        cr_assert_eq(ledger_entries(f.db, account.id, seen.last_sequence, 4, see_entry, &seen),
                     DB_OK);
        cr_assert(seen.count > before && seen.count <= before + 4);
    }
    account = find(account.id);
    cr_assert_eq(account.entries, 13);
    cr_assert_eq(seen.spent, 49);
    cr_assert_eq(account.spent_units, 49);
    cr_assert_eq(seen.held, 0);
    cr_assert_eq(seen.limit, 100);
    cr_assert_arr_eq(seen.hash, account.head, LEDGER_HASH_SIZE);
}

static bool see_account(void *context, const struct ledger_account *account)
{
    struct seen *seen = context;
    cr_assert_str_neq(seen->last, account->id);
    memcpy(seen->last, account->id, ID_SIZE);
    seen->created_ms = account->created_ms;
    return ++seen->count != seen->stop_at;
}

CHECKED_TEST(ledger, accounts_are_listed_in_pages, .init = store_open, .fini = store_close)
{
    for (int i = 0; i < 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "ds_%d", i);
        dataset_account(name, 1);
        fixture_account(f.db, LEDGER_CLIENT, name, "cli_a", 1, 0);
    }
    struct seen all = {0}, own = {0}, owned = {0}, none = {0};
    for (int page = 1; page <= 5; page++) {
        cr_assert_eq(ledger_list(f.db, NULL, NULL,
                                 &(struct listing_page){all.created_ms, all.last, 3}, see_account,
                                 &all),
                     DB_OK);
    }
    cr_assert_eq(all.count, 14);
    cr_assert_eq(
        ledger_list(f.db, NULL, "cli_a", &(struct listing_page){.limit = 100}, see_account, &own),
        DB_OK);
    cr_assert_eq(own.count, 7);
    cr_assert_eq(ledger_list(f.db, "cli_owner", NULL, &(struct listing_page){.limit = 5},
                             see_account, &owned),
                 DB_OK);
    cr_assert_eq(ledger_list(f.db, "cli_owner", NULL,
                             &(struct listing_page){owned.created_ms, owned.last, 100}, see_account,
                             &owned),
                 DB_OK);
    cr_assert_eq(owned.count, 14);
    cr_assert_eq(ledger_list(f.db, "cli_other", NULL, &(struct listing_page){.limit = 9},
                             see_account, &none),
                 DB_OK);
    cr_assert_eq(ledger_list(f.db, "cli_owner", "cli_b", &(struct listing_page){.limit = 9},
                             see_account, &none),
                 DB_OK);
    cr_assert_eq(none.count, 0);
}

/* ---- the auditor */

CHECKED_TEST(ledger, what_happened_cannot_be_changed, .init = store_open, .fini = store_close)
{
    struct ledger_account account = dataset_account("ds_a", 100);
    cr_assert_eq(fixture_debit(f.db, account.id, 5, 0, NULL), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "UPDATE ledger_entries SET event = ''"), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "DELETE FROM ledger_entries WHERE sequence = 2"), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "DELETE FROM ledger_accounts"), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "UPDATE ledger_accounts SET spent_units = 101"), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "UPDATE ledger_accounts SET held_units = -1"), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "UPDATE ledger_accounts SET limit_units = 4"), DB_OK);
}

/* Each row is a forgery by somebody with the file in hand, who dropped the triggers first. */
Test(ledger, the_auditor_sees_every_forgery, .init = store_open, .fini = store_close)
{
    static const char *const forgeries[] = {
        "UPDATE ledger_accounts SET spent_units = 4",
        "UPDATE ledger_accounts SET held_units = 19",
        "UPDATE ledger_accounts SET limit_units = 101",
        "UPDATE ledger_accounts SET limit_delta = 1001",
        "UPDATE ledger_accounts SET epsilon = 2",
        "UPDATE ledger_accounts SET owner = 'cli_thief'",
        "UPDATE ledger_accounts SET renyi_order = 3",
        "UPDATE ledger_accounts SET entries = 4",
        "UPDATE ledger_entries SET kind = 'gift' WHERE sequence = 2",
        "UPDATE ledger_entries SET kind = 'settle' WHERE sequence = 2",
        "UPDATE ledger_entries SET spent_units = 4 WHERE sequence = 2",
        "UPDATE ledger_entries SET held_units = 1 WHERE sequence = 2",
        "UPDATE ledger_entries SET limit_units = 1 WHERE sequence = 2",
        "UPDATE ledger_entries SET limit_delta = 1 WHERE sequence = 2",
        "UPDATE ledger_entries SET spent_delta = 1 WHERE sequence = 2",
        "UPDATE ledger_entries SET held_delta = 1 WHERE sequence = 2",
        "UPDATE ledger_entries SET epsilon = 1 WHERE sequence = 2",
        "UPDATE ledger_entries SET delta = 1 WHERE sequence = 2",
        "UPDATE ledger_entries SET time_ms = time_ms + 1 WHERE sequence = 2",
        "UPDATE ledger_entries SET client = 'cli_other' WHERE sequence = 2",
        "UPDATE ledger_entries SET resource = 'qry_other' WHERE sequence = 2",
        "UPDATE ledger_entries SET event = event || ' ' WHERE sequence = 2",
        "UPDATE ledger_entries SET hash = zeroblob(32) WHERE sequence = 2",
        "UPDATE ledger_entries SET hash = zeroblob(31) WHERE sequence = 2",
        "UPDATE ledger_entries SET sequence = 4 WHERE sequence = 2",
        "UPDATE ledger_entries SET account = 'acc_other' WHERE sequence = 2",
        "UPDATE ledger_entries SET hash = zeroblob(32) WHERE sequence = 1",
        "UPDATE ledger_entries SET hash = zeroblob(32) WHERE sequence = 3",
        "INSERT INTO ledger_entries SELECT account, 4, time_ms, kind, 0, 0, 0, 0, 0, 0, 0, 0, "
        "client, "
        "resource, event, hash FROM ledger_entries WHERE sequence = 2",
        "DELETE FROM ledger_entries WHERE sequence = 1",
        "DELETE FROM ledger_entries WHERE sequence = 2",
        "DELETE FROM ledger_entries WHERE sequence = 3",
        "DELETE FROM ledger_entries",
        "DELETE FROM ledger_holds",
        "UPDATE ledger_holds SET ended = 1",
        "UPDATE ledger_holds SET units = 21",
    };
    struct ledger_account account = dataset_account("ds_a", 100);
    cr_assert_eq(fixture_debit(f.db, account.id, 5, 0, NULL), DB_OK);
    cr_assert_eq(fixture_hold(f.db, "job_a", account.id, 20, NULL), DB_OK);
    fixture_audit(f.db);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_entries_stay"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_entries_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_holds_stay"), DB_OK);
    for (unsigned i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        struct ledger_report report;
        cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
        cr_assert_eq(fixture_sql(f.db, forgeries[i]), DB_OK, "%s", db_last_error(f.db));
        cr_assert_eq(ledger_verify(f.db, &report), DB_OK);
        cr_expect_gt(report.fault_count, 0, "%s", forgeries[i]);
        cr_expect_gt(report.described, 0);
        db_rollback_batch(f.db);
    }
    fixture_audit(f.db);
}

CHECKED_TEST(ledger, a_report_counts_and_has_one_head, .init = store_open, .fini = store_close)
{
    struct ledger_report before, after;
    struct ledger_account account = dataset_account("ds_a", 100);
    dataset_account("ds_b", 100);
    cr_assert_eq(fixture_hold(f.db, "job_a", account.id, 20, NULL), DB_OK);
    cr_assert_eq(ledger_verify(f.db, &before), DB_OK);
    cr_assert_eq(before.accounts, 2);
    cr_assert_eq(before.entries, 3);
    cr_assert_eq(before.open_holds, 1);
    cr_assert_eq(ledger_verify(f.db, &after), DB_OK);
    cr_assert_arr_eq(after.head, before.head, LEDGER_HASH_SIZE);
    cr_assert_eq(fixture_debit(f.db, account.id, 1, 0, NULL), DB_OK);
    cr_assert_eq(ledger_verify(f.db, &after), DB_OK);
    cr_assert_arr_neq(after.head, before.head, LEDGER_HASH_SIZE);
}

/* ---- answers */

static enum db_status store_answer(struct db *db, void *context)
{
    return answers_store(db, "cli_a", "key-1", context);
}

CHECKED_TEST(ledger, one_key_has_one_answer, .init = store_open, .fini = store_close)
{
    struct answer_row answer = {.status = 201,
                                .content_type = "application/json",
                                .headers = "/v1/x",
                                .body = (char[]){"{\"a\":1}"},
                                .body_size = 7,
                                .created_ms = 3},
                      found;
    memset(answer.fingerprint, 7, sizeof answer.fingerprint);
    cr_assert_eq(answers_find(f.db, "cli_a", "key-1", &found), DB_NONE);
    cr_assert_eq(db_transact(f.db, store_answer, &answer), DB_OK);
    cr_assert_eq(db_transact(f.db, store_answer, &answer), DB_NONE);
    cr_assert_eq(answers_find(f.db, "cli_b", "key-1", &found), DB_NONE);
    cr_assert_eq(answers_find(f.db, "cli_a", "key-1", &found), DB_OK);
    cr_assert_eq(found.status, 201);
    cr_assert_str_eq(found.content_type, "application/json");
    cr_assert_str_eq(found.headers, "/v1/x");
    cr_assert_eq(found.body_size, 7);
    cr_assert_str_eq(found.body, "{\"a\":1}");
    cr_assert_arr_eq(found.fingerprint, answer.fingerprint, ANSWER_FINGERPRINT_SIZE);
    answer_done(&found);
    cr_assert_neq(fixture_sql(f.db, "DELETE FROM answers"), DB_OK);
}
