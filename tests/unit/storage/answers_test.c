/* One key, one answer, wherever it lies: in a batch, waiting to be filed, filed, or in the table of
 * older versions; and after every way in which a transaction can end. */
#include "storage/answers/answers.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/answers/answer_block.h"
#include "storage/answers/answer_index.h"
#include "storage/db/migrate.h"
#include "storage/db/schema_sqlite.h"
#include "tests/unit/storage/failing_driver.h"
#include "tests/unit/storage/fixture.h"

static struct fixture f;

static void open_store(void)
{
    fixture_open(&f, &db_driver_sqlite);
}

static void open_failing(void)
{
    failing_arm(0, DB_OK, false);
    fixture_open(&f, &failing_driver);
}

static void close_store(void)
{
    fixture_close(&f);
}

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
    snprintf(wanted->row.location, sizeof wanted->row.location, n % 2 ? "" : "/v1/x/%lld",
             (long long)n);
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
    cr_assert_str_eq(found.location, w.row.location);
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

Test(answers, a_batch_finds_its_own_and_writes_one_row, .init = open_store, .fini = close_store)
{
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    for (int64_t n = 0; n < 20; n++) {
        check(f.db, n, false);
        put(f.db, n);
        check(f.db, n, true);
        cr_assert_eq(db_transact(f.db, store, &n), DB_NONE);
    }
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    cr_assert_eq(number(f.db, "SELECT count(*) FROM answer_blocks"), 1);
    cr_assert_eq(number(f.db, "SELECT count(*) FROM answer_places"), 0);
    for (int64_t n = 0; n < 21; n++)
        check(f.db, n, n < 20);
    fixture_reopen(&f);
    for (int64_t n = 0; n < 21; n++)
        check(f.db, n, n < 20);
}

Test(answers, what_is_rolled_back_is_not_there_and_its_number_is_taken_again, .init = open_store,
     .fini = close_store)
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

Test(answers, a_request_that_fails_late_leaves_no_answer, .init = open_store, .fini = close_store)
{
    int64_t n = 1;
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    put(f.db, 0);
    cr_assert_eq(db_transact(f.db, store_and_fail, &n), DB_RETRY);
    cr_assert_neq(db_commit_batch(f.db), DB_OK);
    check(f.db, 0, false);
    /* The next batches take savepoints and keep nothing in memory. */
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

/* A transaction that has changed something may not teach the index what it sees. */
static enum db_status change_then_look(struct db *db, void *context)
{
    int64_t mine = *(int64_t *)context;
    cr_assert_eq(store(db, &mine), DB_OK);
    check(db, 100, true); /* of another connection, not filed */
    check(db, mine, true);
    check(db, 101, false);
    return DB_NONE; /* all of it is rolled back */
}

Test(answers, a_transaction_that_is_undone_teaches_nothing, .init = open_store, .fini = close_store)
{
    struct db *other = fixture_connect(&f);
    int64_t mine = 7;
    put_batch(other, 100, 1);
    cr_assert_eq(db_transact(f.db, change_then_look, &mine), DB_NONE);
    check(f.db, 7, false);
    put_batch(other, 101, 1); /* the number of the block that was undone */
    for (int64_t n = 100; n < 103; n++) {
        check(f.db, n, n < 102);
        check(other, n, n < 102);
    }
    check(other, 7, false);
    db_close(other);
}

Test(answers, singles_and_batches_of_several_connections, .init = open_store, .fini = close_store)
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

Test(answers, large_ones_and_many_in_a_batch, .init = open_store, .fini = close_store)
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
    cr_assert_eq(answers_store(f.db, "cli_0", "large", &large), DB_NONE);
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

/* ---- filing */

Test(answers, places_are_filed_in_time_and_nothing_is_lost_on_the_way, .init = open_store,
     .fini = close_store, .timeout = 120)
{
    enum { BATCH = 1000 };
    int64_t n = 0;
    while (n < ANSWER_INDEX_FILED + 5 * BATCH) {
        put_batch(f.db, n, BATCH);
        n += BATCH;
    }
    int64_t filed = number(f.db, "SELECT count(*) FROM answer_places");
    cr_assert(filed > 0 && filed < ANSWER_INDEX_FILED);
    cr_assert_eq(number(f.db, "SELECT upto FROM answers_filed"), 0);
    for (int64_t i = 0; i < n; i += 97)
        check(f.db, i, true);
    check(f.db, n, false);
    fixture_reopen(&f); /* as after a crash: what was filed by half is filed again */
    for (int64_t i = 0; i < n; i += 97)
        check(f.db, i, true);
    while (number(f.db, "SELECT upto FROM answers_filed") == 0) {
        put_batch(f.db, n, BATCH);
        n += BATCH;
        cr_assert_lt(n, 4 * ANSWER_INDEX_FILED);
    }
    fixture_reopen(&f);
    for (int64_t i = 0; i < n; i += 89)
        check(f.db, i, true);
    check(f.db, n, false);
    int64_t again = 5;
    cr_assert_eq(db_transact(f.db, store, &again), DB_NONE);
}

/* Damage shows that the blocks are read again at the first question, and after a recall are not. */
Test(answers, what_was_recalled_is_not_read_again, .init = open_store, .fini = close_store)
{
    struct wanted w;
    struct answer_row found;
    put_batch(f.db, 0, 30);
    put_batch(f.db, 30, 30);
    fixture_reopen(&f);
    cr_assert_eq(answers_recall(f.db), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER answer_blocks_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE answer_blocks SET answers = x'00' WHERE id = 1"), DB_OK);
    check(f.db, 60, false);
    check(f.db, 59, true);
    put_batch(f.db, 60, 5);
    check(f.db, 64, true);
    fixture_reopen(&f);
    make(&w, 65);
    cr_assert_eq(answers_find(f.db, w.client, w.key, &found), DB_FAILED);
    cr_assert_eq(answers_recall(f.db), DB_FAILED);
}

/* A process that began before this one filed anything: its filter was shown an empty table. */
Test(answers, another_process_finds_what_was_filed_behind_its_back, .init = open_store,
     .fini = close_store, .timeout = 120)
{
    enum { BATCH = 1000 };
    struct fixture other = f;
    struct db_settings settings = {.location = f.path, .not_durable = true};
    other.store = db_store_new(&db_driver_sqlite, &settings);
    cr_assert_not_null(other.store);
    other.db = fixture_connect(&other);
    int64_t n = 0, mine = -1;
    put_batch(other.db, mine, 1);
    while (number(f.db, "SELECT upto FROM answers_filed") == 0) {
        put_batch(f.db, n, BATCH);
        n += BATCH;
        cr_assert_lt(n, 4 * ANSWER_INDEX_FILED);
        if (n % (40 * BATCH) == 0)
            put_batch(other.db, --mine, 1);
    }
    put(f.db, n++); /* a block and a place of its own */
    put_batch(other.db, --mine, 1);
    cr_assert_eq(db_begin_batch(other.db, true), DB_OK);
    for (int64_t i = 0; i < n; i += 31)
        check(other.db, i, true);
    check(other.db, n - 1, true);
    check(other.db, n, false);
    cr_assert_eq(db_commit_batch(other.db), DB_OK);
    for (int64_t i = mine; i < n; i += 37) /* this one filed them, and never read them again */
        check(f.db, i, true);
    db_close(other.db);
    db_store_free(other.store);
}

Test(answers, a_new_process_sees_the_filed_ones_a_little_at_a_time, .init = open_store,
     .fini = close_store, .timeout = 120)
{
    char sql[160];
    /* Of keys that are there: their places in the table alone, their block long since filed. */
    put_batch(f.db, 0, 1000);
    cr_assert_eq(fixture_sql(f.db, "UPDATE answers_filed SET upto = 1"), DB_OK);
    for (int64_t n = 0; n < 1000; n++) {
        struct wanted w;
        make(&w, n);
        int64_t hash = answer_hash(w.client, strlen(w.client), w.key, strlen(w.key));
        snprintf(sql, sizeof sql, "INSERT INTO answer_places VALUES (%lld, 1)", (long long)hash);
        cr_assert_eq(fixture_sql(f.db, sql), DB_OK);
    }
    fixture_reopen(&f);
    for (int64_t round = 0; round < 4; round++) {
        for (int64_t n = 0; n < 1000; n++)
            check(f.db, n, true);
        check(f.db, 5000 + round, false);
        put_batch(f.db, 5000 + round, 1);
    }
}

Test(answers, a_place_alone_proves_nothing, .init = open_store, .fini = close_store)
{
    char sql[160];
    struct wanted w;
    put_batch(f.db, 0, 2);
    make(&w, 5);
    int64_t hash = answer_hash(w.client, strlen(w.client), w.key, strlen(w.key));
    for (int block = 1; block < 4; block++) { /* another's block, and blocks that are not there */
        snprintf(sql, sizeof sql, "INSERT INTO answer_places VALUES (%lld, %d)", (long long)hash,
                 block);
        cr_assert_eq(fixture_sql(f.db, sql), DB_OK);
    }
    check(f.db, 5, false);
    put_batch(f.db, 5, 1);
    check(f.db, 5, true);
    check(f.db, 1, true);
}

Test(answers, the_index_finds_equal_hashes_in_both_generations)
{
    struct answer_index *index = answer_index_new();
    struct answer_place slice[8];
    int64_t blocks[4], filed = 0;
    cr_assert_not_null(index);
    cr_assert_eq(answer_index_find(index, 9, blocks, 4), 0);
    for (int64_t i = 1; i <= ANSWER_INDEX_FILED; i++) {
        cr_assert(answer_index_add(index, (struct answer_place){i * 64, i}));
        cr_assert(answer_index_add(index, (struct answer_place){i * 64, i})); /* the same */
    }
    answer_index_reach(index, 77);
    cr_assert_eq(answer_index_next(index, slice, 8, &filed), 8);
    cr_assert_eq(filed, 0);
    cr_assert_eq(slice[0].hash, 64);
    cr_assert_eq(slice[7].hash, 8 * 64);
    cr_assert_eq(answer_index_next(index, slice, 8, &filed), 8); /* it was rolled back */
    cr_assert_eq(slice[0].hash, 64);
    cr_assert(answer_index_add(index, (struct answer_place){64, 500}));
    cr_assert_eq(answer_index_find(index, 64, blocks, 4), 2);
    cr_assert_eq(blocks[0] + blocks[1], 501);
    answer_index_filed(index, 8);
    cr_assert_eq(answer_index_find(index, 64, blocks, 4), 2);
    size_t left = ANSWER_INDEX_FILED - 8, count;
    while ((count = answer_index_next(index, slice, 8, &filed)) > 0) {
        left -= count;
        cr_assert_eq(filed, left == 0 ? 77 : 0);
        answer_index_filed(index, count);
    }
    cr_assert_eq(left, 0);
    cr_assert_eq(answer_index_find(index, 64, blocks, 4), 1);
    cr_assert_eq(answer_index_find(index, 128, blocks, 4), 0);
    answer_index_free(index);
}

/* ---- what is damaged, what is old, what may not be done */

Test(answers, a_block_that_is_cut_off_is_never_read_past_its_end)
{
    struct wanted w;
    make(&w, 4);
    size_t size = ANSWER_BLOCK_START + answer_block_room(w.client, w.key, &w.row);
    unsigned char *whole = malloc(size);
    cr_assert_not_null(whole);
    cr_assert_eq(answer_block_add(answer_block_begin(whole), w.client, w.key, &w.row),
                 whole + size);
    for (size_t cut = 0; cut <= size; cut++) {
        unsigned char *part = malloc(cut + (cut == 0));
        struct answer_walk walk;
        struct answer_entry entry;
        cr_assert_not_null(part);
        memcpy(part, whole, cut);
        bool begun = answer_walk_begin(&walk, part, cut);
        cr_assert_eq(begun, cut >= ANSWER_BLOCK_START);
        enum answer_step step = begun ? answer_walk_next(&walk, &entry) : ANSWER_BROKEN;
        cr_assert_eq(step, cut == size                 ? ANSWER_ENTRY
                           : cut == ANSWER_BLOCK_START ? ANSWER_END
                                                       : ANSWER_BROKEN);
        free(part);
    }
    uint64_t word = 88172645463325252u;
    for (int i = 0; i < 20000; i++) { /* bytes that are none of ours */
        struct answer_walk walk;
        struct answer_entry entry;
        word ^= word << 13, word ^= word >> 7, word ^= word << 17;
        whole[word % size] = (unsigned char)(word >> 32);
        int steps = 0;
        if (answer_walk_begin(&walk, whole, size))
            while (answer_walk_next(&walk, &entry) == ANSWER_ENTRY)
                cr_assert_lt(++steps, 100);
    }
    free(whole);
}

Test(answers, a_damaged_block_is_a_failure_and_no_new_key, .init = open_store, .fini = close_store)
{
    struct answer_row found;
    cr_assert_eq(fixture_sql(f.db, "INSERT INTO answer_blocks VALUES (1, x'0105')"), DB_OK);
    cr_assert_eq(answers_find(f.db, "cli_0", "key-0", &found), DB_FAILED);
    cr_assert_null(found.body);
    fixture_reopen(&f);
    cr_assert_eq(answers_find(f.db, "cli_0", "key-0", &found), DB_FAILED);
}

static enum db_status insert_old(struct db *db, void *context)
{
    struct wanted *w = context;
    struct db_value values[] = {db_text(w->client),
                                db_text(w->key),
                                db_bytes(w->row.fingerprint, sizeof w->row.fingerprint),
                                db_integer(w->row.status),
                                db_text(w->row.content_type),
                                db_text(w->row.location),
                                db_bytes(w->row.body, w->row.body_size),
                                db_integer(w->row.created_ms)};
    return db_run(db, "INSERT INTO answers VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", values, 8,
                  NULL, NULL);
}

Test(answers, those_of_older_versions_are_found)
{
    enum { BEFORE = 10 };
    const char *const *older[BEFORE + 1] = {NULL};
    memcpy(older, schema_sqlite, BEFORE * sizeof older[0]);
    struct db_driver driver = db_driver_sqlite;
    driver.migrations = older;
    fixture_open(&f, &driver);
    for (int64_t n = 0; n < 3; n++) {
        struct wanted w;
        make(&w, n);
        cr_assert_eq(db_transact(f.db, insert_old, &w), DB_OK, "%s", db_last_error(f.db));
    }
    driver.migrations = schema_sqlite;
    char error[DB_ERROR_SIZE];
    cr_assert_eq(migrate(f.db, error), DB_OK, "%s", error);
    put_batch(f.db, 3, 2);
    for (int64_t n = 0; n < 6; n++) {
        check(f.db, n, n < 5);
        cr_assert_eq(db_transact(f.db, store, &n), n < 5 ? DB_NONE : DB_OK);
    }
    struct wanted w;
    make(&w, 9);
    cr_assert_neq(db_transact(f.db, insert_old, &w), DB_OK); /* the old table is closed */
    fixture_close(&f);
}

Test(answers, what_is_stored_cannot_be_changed, .init = open_store, .fini = close_store)
{
    put_batch(f.db, 0, 1);
    put(f.db, 1);
    cr_assert_neq(fixture_sql(f.db, "DELETE FROM answer_blocks"), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "UPDATE answer_blocks SET answers = x''"), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "DELETE FROM answer_places"), DB_OK);
    cr_assert_neq(fixture_sql(f.db, "UPDATE answer_places SET block = 7"), DB_OK);
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

Test(answers, debits_and_answers_agree_through_every_failing_call, .init = open_failing,
     .fini = close_store)
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
