/* One key, one answer, after every way in which a transaction can end. */
#include "storage/answers/answers.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/storage/failing_driver.h"
#include "tests/unit/storage/store.h"

/* ---- the answer of number N, the same wherever it is asked for */

struct wanted {
    char client[16], key[32], body[80];
    struct answer_row row;
};

static void make(struct wanted *wanted, int64_t n)
{
    *wanted = (struct wanted){.row = {.status = 200 + (int)(n % 3), .created_ms = 1000 + n}};
    snprintf(wanted->client, sizeof wanted->client, "cli_%d", (int)(n % 5));
    snprintf(wanted->key, sizeof wanted->key, "key-%lld", (long long)n);
    snprintf(wanted->body, sizeof wanted->body, "{\"answer\":%lld}", (long long)n);
    snprintf(wanted->row.content_type, sizeof wanted->row.content_type, "application/json");
    if (n % 2 == 0)
        snprintf(wanted->row.headers, sizeof wanted->row.headers, "/v1/x/%lld", (long long)n);
    memset(wanted->row.fingerprint, (int)(n % 251), sizeof wanted->row.fingerprint);
    wanted->row.body = wanted->body;
    wanted->row.body_size = strlen(wanted->body);
}

static void check(struct db *db, int64_t n, bool there)
{
    struct wanted w;
    struct answer_row found;
    make(&w, n);
    enum db_status status = answers_find(db, w.client, w.key, &found);
    cr_assert_eq(status, there ? DB_OK : DB_NONE, "%lld: %d %s", (long long)n, (int)status,
                 db_last_error(db));
    if (!there) {
        cr_assert_null(found.body);
        return;
    }
    cr_assert_eq(found.status, w.row.status);
    cr_assert_eq(found.created_ms, w.row.created_ms);
    cr_assert_str_eq(found.content_type, w.row.content_type);
    cr_assert_str_eq(found.headers, w.row.headers);
    cr_assert_arr_eq(found.fingerprint, w.row.fingerprint, sizeof found.fingerprint);
    cr_assert_eq(found.body_size, w.row.body_size);
    cr_assert_str_eq(found.body, w.body);
    answer_done(&found);
}

static enum db_status store(struct db *db, void *context)
{
    struct wanted w;
    make(&w, *(int64_t *)context);
    return answers_store(db, w.client, w.key, &w.row);
}

static enum db_status store_and_fail(struct db *db, void *context)
{
    enum db_status status = store(db, context);
    return status == DB_OK ? DB_NONE : status;
}

/* One request: in a batch, or a transaction by itself. */
static void put(struct db *db, int64_t n)
{
    cr_assert_eq(db_transact(db, store, &n), DB_OK, "%s", db_last_error(db));
}

static void put_batch(struct db *db, int64_t first, int64_t count)
{
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    for (int64_t n = first; n < first + count; n++)
        put(db, n);
    cr_assert_eq(db_commit_batch(db), DB_OK, "%s", db_last_error(db));
}

static enum db_status see_number(void *context, const struct db_row *row)
{
    *(int64_t *)context = db_row_integer(row, 0);
    return DB_OK;
}

static int64_t number(struct db *db, const char *sql)
{
    int64_t value = -1;
    cr_assert_eq(db_one(db, sql, NULL, 0, see_number, &value), DB_OK);
    return value;
}

/* ---- where an answer may lie */

Test(answers, a_batch_finds_its_own, .init = store_open, .fini = store_close)
{
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    for (int64_t n = 0; n < 20; n++) {
        check(f.db, n, false);
        put(f.db, n);
        check(f.db, n, true);
    }
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    cr_assert_eq(number(f.db, "SELECT count(*) FROM answers"), 20);
    for (int64_t n = 0; n < 21; n++)
        check(f.db, n, n < 20);
    fixture_reopen(&f);
    for (int64_t n = 0; n < 21; n++)
        check(f.db, n, n < 20);
}

/* A row that is put off cannot say so at once, but its batch is not stored, and the next one says
 * it.
 */
Test(answers, a_key_is_stored_once, .init = store_open, .fini = store_close)
{
    int64_t old = 1, new = 2;
    put(f.db, old);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    put(f.db, new);
    enum db_status status = db_transact(f.db, store, &old);
    enum db_status end = db_commit_batch(f.db);
    cr_assert(status == DB_NONE ? end == DB_OK : status == DB_OK && end == DB_RETRY, "%d %d",
              (int)status, (int)end);
    cr_assert_eq(number(f.db, "SELECT count(*) FROM answers"), status == DB_NONE ? 2 : 1);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_assert_eq(db_transact(f.db, store, &old), DB_NONE);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    check(f.db, old, true);
}

/* Keys that were foretold are looked for at once, and each has the answer that it has by then. */
Test(answers, foretold_keys, .init = store_open, .fini = store_close)
{
    put(f.db, 3);
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
        for (int64_t n = 0; n < 300; n++) { /* more than are looked for at once, and one twice */
            struct wanted w;
            make(&w, n % 299);
            answers_expect(f.db, w.client, w.key);
        }
        for (int64_t n = 0; n < 300; n++)
            check(f.db, n, n == 3);
        for (int64_t n = 0; n < 300; n += 10) {
            put(f.db, n);
            check(f.db, n, true);
            check(f.db, n + 1, false);
        }
        db_rollback_batch(f.db);
    }
    check(f.db, 0, false);
    answers_expect(f.db, "cli_1", "outside of a batch");
}

Test(answers, what_is_rolled_back_is_not_there, .init = store_open, .fini = store_close)
{
    struct db *other = fixture_connect(&f);
    put_batch(f.db, 0, 3);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    put(f.db, 3);
    check(f.db, 3, true);
    db_rollback_batch(f.db);
    check(f.db, 3, false);
    put_batch(other, 4, 3);
    check(f.db, 3, false);
    check(f.db, 5, true);
    put_batch(f.db, 3, 1);
    for (int64_t n = 0; n < 8; n++) {
        check(f.db, n, n < 7);
        check(other, n, n < 7);
    }
    db_close(other);
}

Test(answers, a_request_that_fails_late_leaves_no_answer, .init = store_open, .fini = store_close)
{
    int64_t n = 1;
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    put(f.db, 0);
    cr_assert_eq(db_transact(f.db, store_and_fail, &n), DB_RETRY);
    cr_assert_neq(db_commit_batch(f.db), DB_OK);
    check(f.db, 0, false);
    /* The next batches take savepoints. */
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    put(f.db, 0);
    cr_assert_eq(db_transact(f.db, store_and_fail, &n), DB_NONE);
    check(f.db, 0, true);
    check(f.db, 1, false);
    put(f.db, 2);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    fixture_reopen(&f);
    check(f.db, 0, true);
    check(f.db, 1, false);
    check(f.db, 2, true);
}

Test(answers, singles_and_batches_of_several_connections, .init = store_open, .fini = store_close)
{
    struct db *dbs[3] = {f.db, fixture_connect(&f), fixture_connect(&f)};
    int64_t n = 0;
    for (int round = 0; round < 60; round++) {
        struct db *db = dbs[round * 7 % 3];
        if (round % 4 == 0) {
            put(db, n++);
        } else {
            put_batch(db, n, round % 5 + 1);
            n += round % 5 + 1;
        }
        check(dbs[round % 3], n - 1, true);
        check(dbs[round % 3], n, false);
    }
    for (int64_t i = 0; i < n; i++)
        check(dbs[i % 3], i, true);
    db_close(dbs[1]);
    db_close(dbs[2]);
    fixture_reopen(&f);
    for (int64_t i = 0; i < n; i++)
        check(f.db, i, true);
}

Test(answers, large_ones_and_many_in_a_batch, .init = store_open, .fini = store_close)
{
    size_t size = 300000;
    char *body = malloc(size);
    cr_assert_not_null(body);
    memset(body, 'x', size);
    struct answer_row large = {.status = 200, .body = body, .body_size = size}, found;
    struct answer_row empty = {.status = 204};
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    for (int64_t n = 0; n < 1500; n++)
        put(f.db, n);
    cr_assert_eq(answers_store(f.db, "cli_0", "large", &large), DB_OK);
    cr_assert_eq(answers_store(f.db, "cli_0", "empty", &empty), DB_OK);
    cr_assert_eq(answers_find(f.db, "cli_0", "large", &found), DB_OK);
    answer_done(&found);
    check(f.db, 1499, true);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    for (int64_t n = 0; n < 1500; n++)
        check(f.db, n, true);
    cr_assert_eq(answers_find(f.db, "cli_0", "large", &found), DB_OK);
    cr_assert_eq(found.body_size, size);
    cr_assert_arr_eq(found.body, body, size);
    answer_done(&found);
    cr_assert_eq(answers_find(f.db, "cli_0", "empty", &found), DB_OK);
    cr_assert_eq(found.body_size, 0);
    answer_done(&found);
    free(body);
}

Test(answers, what_is_stored_cannot_be_changed, .init = store_open, .fini = store_close)
{
    put_batch(f.db, 0, 1);
    put(f.db, 1);
    cr_assert_neq(fixture_sql(f.db, "DELETE FROM answers"), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "UPDATE answers SET body = x''"), DB_OK);
    check(f.db, 0, true);
    check(f.db, 1, true);
}

/* ---- every call that can fail */

struct charged {
    int64_t n;
    const char *account;
};

static enum db_status charge_and_store(struct db *db, void *context)
{
    struct charged *charged = context;
    const struct ledger_charge charge = {.prices = {{charged->account, 1, 0}},
                                         .count = 1,
                                         .client = "cli_test",
                                         .resource = "qry_test",
                                         .event = "{}",
                                         .now_ms = 7};
    struct ledger_outcome outcome;
    struct wanted w;
    struct answer_row found;
    make(&w, charged->n);
    enum db_status status = answers_find(db, w.client, w.key, &found);
    if (status == DB_OK)
        answer_done(&found);
    if (status != DB_NONE)
        return status;
    status = ledger_debit(db, &charge, &outcome);
    return status == DB_OK ? store(db, &charged->n) : status;
}

Test(answers, debits_and_answers_agree_through_every_failing_call, .init = store_open_failing,
     .fini = store_close)
{
    struct ledger_account account = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 100000, 0);
    int64_t n = 0;
    bool fired = true;
    for (unsigned failing = 1; fired; failing++) {
        enum db_status why = failing % 3 == 0 ? DB_FULL : failing % 3 == 1 ? DB_RETRY : DB_FAILED;
        failing_arm(failing, why, failing % 2 == 0);
        enum db_status status = db_begin_batch(f.db, true);
        for (int64_t i = 0; status == DB_OK && i < 3; i++) {
            struct charged charged = {n + i, account.id};
            status = db_transact(f.db, charge_and_store, &charged);
        }
        if (status == DB_OK)
            status = db_commit_batch(f.db);
        db_rollback_batch(f.db);
        fired = failing_fired();
        failing_arm(0, DB_OK, false);
        struct ledger_account now;
        cr_assert_eq(ledger_find(f.db, account.id, &now), DB_OK);
        int64_t there = 0;
        for (int64_t i = 0; i < 3; i++) {
            struct wanted w;
            struct answer_row found;
            make(&w, n + i);
            enum db_status is = answers_find(f.db, w.client, w.key, &found);
            cr_assert(is == DB_OK || is == DB_NONE);
            there += is == DB_OK;
            answer_done(&found);
        }
        cr_assert(there == 0 || there == 3);
        cr_assert(status != DB_OK || there == 3);
        cr_assert_eq(now.spent_units, n + there);
        n += there;
        fixture_audit(f.db);
    }
    cr_assert_gt(n, 0);
}
