/* What a connection keeps from one batch to the next, and when it may not. */
#include <criterion/criterion.h>
#include <string.h>

#include "storage/answers/answers.h"
#include "storage/clients.h"
#include "tests/unit/storage/fixture.h"

static struct fixture f;
static char account[ID_SIZE];
static int selects;

/* SQLite's driver, counting what is read. */
static struct db_driver counting;

static enum db_status count_run(void *connection, const char *sql, const struct db_value *values,
                                unsigned count, db_row_fn *each, void *context,
                                struct db_fault *fault)
{
    selects += strncmp(sql, "SELECT", 6) == 0;
    return db_driver_sqlite.run(connection, sql, values, count, each, context, fault);
}

static void open_store(void)
{
    counting = db_driver_sqlite;
    counting.run = count_run;
    fixture_open(&f, &counting);
    struct client_row client = {.id = "cli_kept", .name = "kept", .role = "student"};
    cr_assert_eq(clients_insert(f.db, &client), DB_OK);
    struct ledger_account opened =
        fixture_account(f.db, LEDGER_CLIENT, "tea_kept", "cli_kept", 100, 0);
    memcpy(account, opened.id, sizeof account);
}

static void close_store(void)
{
    fixture_audit(f.db);
    fixture_close(&f);
}

/* One request: asks who it is, pays 10, and stores its answer under KEY. */
struct ask {
    const char *key;
    int64_t limit; /* as it was found */
    bool revoked;
};

static enum db_status work(struct db *db, void *context)
{
    struct ask *ask = context;
    struct client_row client;
    char text[] = "{}";
    struct answer_row answer = {.status = 200, .body = text, .body_size = 2};
    struct ledger_outcome outcome;
    const struct ledger_charge charge = {.prices = {{account, 10, 0}},
                                         .count = 1,
                                         .client = "cli_kept",
                                         .resource = "qry_kept",
                                         .event = "{}",
                                         .now_ms = 7};
    enum db_status status = clients_find(db, "cli_kept", &client);
    ask->revoked = client.revoked_ms != 0;
    if (status != DB_OK || ask->revoked)
        return status;
    struct answer_row stored;
    status = answers_find(db, "cli_kept", ask->key, &stored);
    if (status != DB_NONE) {
        answer_done(&stored);
        return status;
    }
    status = ledger_debit(db, &charge, &outcome);
    ask->limit = outcome.parts[0].account.limit_units;
    return status == DB_OK ? answers_store(db, "cli_kept", ask->key, &answer) : status;
}

static struct ask batch(struct db *db, const char *key)
{
    struct ask ask = {.key = key};
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    cr_assert_eq(db_transact(db, work, &ask), DB_OK, "%s", db_last_error(db));
    cr_assert_eq(db_commit_batch(db), DB_OK, "%s", db_last_error(db));
    return ask;
}

static int64_t spent(struct db *db)
{
    struct ledger_account found;
    cr_assert_eq(ledger_find(db, account, &found), DB_OK);
    return found.spent_units;
}

Test(kept, the_next_batch_reads_nothing, .init = open_store, .fini = close_store)
{
    batch(f.db, "one");
    int first = selects;
    batch(f.db, "two");
    int second = selects - first;
    cr_expect_eq(second, 0, "%d statements read", second);
    cr_expect_eq(spent(f.db), 20);
}

Test(kept, what_others_commit_is_seen, .init = open_store, .fini = close_store)
{
    struct db *other = fixture_connect(&f);
    batch(f.db, "one");
    cr_assert_eq(fixture_debit(other, account, 5, 0, NULL), DB_OK);
    batch(f.db, "two");
    cr_expect_eq(spent(other), 25);
    const struct ledger_limit limit = {
        .account = account, .limit_units = 77, .client = "cli_kept", .event = "{}", .now_ms = 8};
    enum ledger_verdict verdict = LEDGER_NO_ACCOUNT;
    cr_assert_eq(ledger_set_limit(other, &limit, &verdict, NULL), DB_OK);
    cr_expect_eq(verdict, LEDGER_OK);
    cr_expect_eq(batch(f.db, "three").limit, 77);
    batch(other, "four"); /* a batch of the other's, with an answer of its own */
    batch(f.db, "four");  /* which is found, and costs nothing again */
    batch(f.db, "five");
    cr_expect_eq(spent(f.db), 55);
    cr_expect_eq(spent(other), 55);
    cr_assert_eq(clients_revoke(other, "cli_kept", 9), DB_OK);
    cr_expect(batch(f.db, "six").revoked, "a revoked client was let in by a row of before");
    db_close(other);
}

Test(kept, what_the_connection_itself_changes_is_seen, .init = open_store, .fini = close_store)
{
    batch(f.db, "one");
    cr_assert_eq(fixture_debit(f.db, account, 5, 0, NULL), DB_OK);
    batch(f.db, "two");
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    struct ask lost = {.key = "three"};
    cr_assert_eq(db_transact(f.db, work, &lost), DB_OK);
    db_rollback_batch(f.db);
    batch(f.db, "three");
    cr_expect_eq(spent(f.db), 35);
    cr_assert_eq(clients_revoke(f.db, "cli_kept", 9), DB_OK);
    cr_expect(batch(f.db, "four").revoked);
}
