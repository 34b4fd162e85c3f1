/* The ledger against a model of it in plain arrays, through long random sequences; through failures
 * of every single call of the driver; raced by threads and processes; killed at random. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/db/listing.h"
#include "storage/db/migrate.h"
#include "storage/ledger/ledger_fold.h"
#include "storage/ledger/ledger_verify.h"
#include "tests/checked_test.h"
#include "tests/unit/storage/failing_driver.h"
#include "tests/unit/storage/store.h"

/* ---- the model */

#define ACCOUNTS 5
#define HOLDS    200

struct model {
    struct {
        char id[ID_SIZE];
        int64_t limit, spent, held, entries;
    } accounts[ACCOUNTS];
    struct {
        bool open;
        unsigned count, accounts[2];
        int64_t units[2];
    } holds[HOLDS];
    unsigned hold_count;
    int64_t clock_ms; /* of the calls */
    struct ledger_sweep sweep;
};

static void open_accounts(struct model *model, struct db *db)
{
    memset(model, 0, sizeof *model);
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "tch_%u", i);
        struct ledger_account a = fixture_account(db, LEDGER_TEACHER, name, NULL, 1000, 0);
        memcpy(model->accounts[i].id, a.id, ID_SIZE);
        model->accounts[i].limit = 1000;
        model->accounts[i].entries = 1;
    }
    model->clock_ms = 2000;
}

static void compare(const struct model *model, struct db *db)
{
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        struct ledger_account a;
        cr_assert_eq(ledger_find(db, model->accounts[i].id, &a), DB_OK);
        cr_assert_eq(a.limit_units, model->accounts[i].limit);
        cr_assert_eq(a.spent_units, model->accounts[i].spent);
        cr_assert_eq(a.held_units, model->accounts[i].held);
        cr_assert_eq(a.entries, model->accounts[i].entries);
        cr_assert_leq(a.spent_units + a.held_units, a.limit_units);
    }
}

static int64_t count_folds(struct db *db)
{
    int64_t count = -1;
    cr_assert_eq(db_one(db, "SELECT count(*) FROM ledger_entries WHERE kind = 'folded'", NULL, 0,
                        listing_integer, &count),
                 DB_OK);
    return count;
}

/* One random call, what it gave, and what the model says it should have given. */
struct step {
    enum { DEBIT, HOLD, SETTLE, LIMIT, STEP_KINDS } kind;
    unsigned count, accounts[2], hold;
    int64_t units[2];
    char name[16];
    enum ledger_verdict verdict;
};

static void draw_step(struct step *step, const struct model *model, uint64_t *random)
{
    memset(step, 0, sizeof *step);
    step->kind = fixture_random(random, STEP_KINDS);
    step->count = 1 + (unsigned)fixture_random(random, 2);
    step->accounts[0] = (unsigned)fixture_random(random, ACCOUNTS);
    step->accounts[1] = (step->accounts[0] + 1) % ACCOUNTS;
    step->units[0] = (int64_t)fixture_random(random, 60);
    step->units[1] = (int64_t)fixture_random(random, 60);
    step->hold = (unsigned)fixture_random(random, model->hold_count + 1);
    if (step->kind == HOLD && model->hold_count < HOLDS && fixture_random(random, 8) != 0)
        step->hold = model->hold_count;
    if (step->kind == LIMIT)
        step->units[0] = (int64_t)fixture_random(random, 1500);
    snprintf(step->name, sizeof step->name, "job_%u", step->hold);
}

static enum ledger_verdict predict_spending(const struct model *model, const struct step *step)
{
    enum ledger_verdict verdict = LEDGER_OK;
    if (step->kind == HOLD && step->hold < model->hold_count)
        return LEDGER_HOLD_TAKEN;
    for (unsigned i = 0; i < step->count; i++) {
        unsigned a = step->accounts[i];
        if (model->accounts[a].spent + step->units[i] > model->accounts[a].limit)
            return LEDGER_EXHAUSTED;
        if (model->accounts[a].spent + model->accounts[a].held + step->units[i] >
            model->accounts[a].limit)
            verdict = LEDGER_RESERVED;
    }
    return verdict;
}

static enum ledger_verdict predict_settling(const struct model *model, struct step *step)
{
    if (step->hold >= model->hold_count || !model->holds[step->hold].open)
        return LEDGER_NO_HOLD;
    step->count = model->holds[step->hold].count;
    enum ledger_verdict verdict = LEDGER_OK;
    for (unsigned i = 0; i < step->count; i++) {
        step->accounts[i] = model->holds[step->hold].accounts[i];
        if (step->units[i] > model->holds[step->hold].units[i])
            verdict = LEDGER_OVER_HOLD;
    }
    return verdict;
}

static enum ledger_verdict predict(const struct model *model, struct step *step)
{
    unsigned a = step->accounts[0];
    switch (step->kind) {
    case SETTLE: return predict_settling(model, step);
    case LIMIT:
        return step->units[0] < model->accounts[a].spent + model->accounts[a].held ? LEDGER_TOO_LOW
                                                                                   : LEDGER_OK;
    default: return predict_spending(model, step);
    }
}

static void apply(struct model *model, const struct step *step)
{
    for (unsigned i = 0; i < (step->kind == LIMIT ? 1 : step->count); i++) {
        unsigned a = step->accounts[i];
        model->accounts[a].entries++;
        if (step->kind == LIMIT) {
            model->accounts[a].limit = step->units[0];
        } else if (step->kind == HOLD) {
            model->accounts[a].held += step->units[i];
            model->holds[step->hold].accounts[i] = a;
            model->holds[step->hold].units[i] = step->units[i];
        } else {
            model->accounts[a].spent += step->units[i];
        }
        if (step->kind == SETTLE)
            model->accounts[a].held -= model->holds[step->hold].units[i];
    }
    if (step->kind == HOLD) {
        model->holds[step->hold].open = true;
        model->holds[step->hold].count = step->count;
        model->hold_count++;
    } else if (step->kind == SETTLE) {
        model->holds[step->hold].open = false;
    }
}

struct call {
    const struct model *model;
    struct step *step;
};

static enum db_status run_step(struct db *db, void *context)
{
    const struct call *call = context;
    struct step *step = call->step;
    struct ledger_outcome outcome;
    if (step->kind == LIMIT) {
        struct ledger_limit limit = {.account = call->model->accounts[step->accounts[0]].id,
                                     .epsilon = 1,
                                     .limit_units = step->units[0],
                                     .client = "cli_a",
                                     .event = "{}",
                                     .now_ms = call->model->clock_ms};
        return ledger_set_limit(db, &limit, &step->verdict, NULL);
    }
    struct ledger_charge charge = {.count = step->count,
                                   .client = "cli_a",
                                   .resource = step->kind == DEBIT ? "qry_a" : step->name,
                                   .event = "{}",
                                   .now_ms = call->model->clock_ms};
    for (unsigned i = 0; i < step->count; i++) {
        charge.prices[i].account = call->model->accounts[step->accounts[i]].id;
        charge.prices[i].units = step->units[i];
    }
    enum db_status status = step->kind == DEBIT  ? ledger_debit(db, &charge, &outcome)
                            : step->kind == HOLD ? ledger_hold(db, &charge, &outcome)
                                                 : ledger_settle(db, &charge, &outcome);
    step->verdict = outcome.verdict;
    return status;
}

/* One step inside whatever is open; the model follows if the database did. */
static enum db_status take_step(struct model *model, struct db *db, uint64_t *random)
{
    struct step step;
    struct call call = {model, &step};
    draw_step(&step, model, random);
    model->clock_ms += (int64_t)fixture_random(random, 3);
    enum ledger_verdict expected = predict(model, &step);
    enum db_status status = db_transact(db, run_step, &call);
    if (status != DB_OK)
        return status;
    cr_assert_eq(step.verdict, expected, "kind %d gave %d, not %d", (int)step.kind, step.verdict,
                 expected);
    if (expected == LEDGER_OK)
        apply(model, &step);
    return DB_OK;
}

/* Folds what is older than a time that is drawn; sometimes as after a restart. */
static enum db_status fold_some(struct model *model, struct db *db, uint64_t *random)
{
    struct ledger_sweep *sweep = &model->sweep;
    if (fixture_random(random, 4) == 0)
        sweep->seen = 0;
    sweep->from_ms = model->clock_ms - (int64_t)fixture_random(random, 40);
    sweep->now_ms = model->clock_ms;
    return ledger_fold(db, sweep);
}

CHECKED_TEST(ledger_model, long_random_sequences_agree, .init = store_open, .fini = store_close)
{
    static struct model model, before;
    uint64_t random = 20240229;
    open_accounts(&model, f.db);
    for (int round = 0; round < 150; round++) {
        bool batch = fixture_random(&random, 2) == 0;
        bool drop = batch && fixture_random(&random, 4) == 0;
        before = model;
        cr_assert(!batch || db_begin_batch(f.db, true) == DB_OK);
        for (int i = 0; i < 20; i++) {
            cr_assert_eq(take_step(&model, f.db, &random), DB_OK, "%s", db_last_error(f.db));
            if (fixture_random(&random, 8) == 0)
                cr_assert_eq(fold_some(&model, f.db, &random), DB_OK, "%s", db_last_error(f.db));
        }
        if (drop) {
            db_rollback_batch(f.db);
            model = before;
        } else {
            cr_assert(!batch || db_commit_batch(f.db) == DB_OK);
        }
        compare(&model, f.db);
        fixture_audit(f.db);
    }
    cr_assert_gt(model.hold_count, 20);
    cr_assert_gt(count_folds(f.db), 10);
    fixture_reopen(&f);
    compare(&model, f.db);
}

/* ---- the n-th call of the driver fails, for all n */

#define FAULT_STEPS 24

static enum db_status some_steps(struct model *model, struct db *db, uint64_t *random)
{
    enum db_status status = DB_OK;
    for (int i = 0; i < 6 && status == DB_OK; i++)
        status = take_step(model, db, random);
    return status == DB_OK ? fold_some(model, db, random) : status;
}

/* The steps in one batch, run again when the batch was lost with DB_RETRY. The model keeps what the
 * commit kept. */
static enum db_status batch_of_steps(struct model *model, struct db *db, uint64_t *random)
{
    static struct model before;
    for (int attempt = 0; attempt < 3; attempt++) {
        uint64_t seed = *random;
        before = *model;
        enum db_status status = db_begin_batch(db, true);
        if (status != DB_OK)
            return status;
        status = some_steps(model, db, random);
        enum db_status end = db_commit_batch(db);
        if (end == DB_OK)
            return status;
        *model = before;
        *random = seed;
        if (end != DB_RETRY)
            return end;
    }
    return DB_RETRY;
}

static enum db_status faulty_rounds(struct model *model, struct db *db, bool batch)
{
    uint64_t random = 7;
    enum db_status status = DB_OK;
    for (int i = 0; i < FAULT_STEPS && status == DB_OK; i += 6)
        status = batch ? batch_of_steps(model, db, &random) : some_steps(model, db, &random);
    return status;
}

static void fault_loop(enum db_status failure, bool ends_transaction, bool batch)
{
    static struct model model;
    for (unsigned n = 1; n < 2000; n++) {
        failing_arm(0, DB_OK, false);
        fixture_open(&f, &failing_driver);
        open_accounts(&model, f.db);
        failing_arm(n, failure, ends_transaction);
        enum db_status status = faulty_rounds(&model, f.db, batch);
        bool fired = failing_fired();
        failing_arm(0, DB_OK, false);
        cr_assert(status == DB_OK || (fired && status == failure), "call %u gave %d", n, status);
        cr_assert_not(db_in_transaction(f.db));
        compare(&model, f.db);
        fixture_audit(f.db);
        fixture_close(&f);
        if (!fired) {
            cr_assert_gt(n, 40);
            return;
        }
    }
    cr_assert_fail("the failure always fired");
}

Test(ledger_model, every_failing_call_loses_nothing)
{
    fault_loop(DB_FAILED, false, false);
}

Test(ledger_model, every_full_disk_loses_nothing)
{
    fault_loop(DB_FULL, true, false);
}

Test(ledger_model, every_full_disk_in_a_batch_loses_nothing)
{
    fault_loop(DB_FULL, true, true);
}

Test(ledger_model, every_failing_call_in_a_batch_keeps_the_others)
{
    fault_loop(DB_FAILED, false, true);
}

/* ---- races */

#define THREADS 4
#define TRIES   400

struct racer {
    struct db *db;
    const char *account;
    int64_t paid;
    bool failed;
};

static void *race(void *context)
{
    struct racer *racer = context;
    for (int i = 0; i < TRIES; i++) {
        enum ledger_verdict verdict = LEDGER_NO_HOLD;
        enum db_status status = fixture_debit(racer->db, racer->account, 3, 0, &verdict);
        racer->failed = racer->failed || status != DB_OK;
        racer->paid += status == DB_OK && verdict == LEDGER_OK ? 3 : 0;
    }
    return NULL;
}

/* Folds all that there is until the limit is reached. */
static void *race_folds(void *context)
{
    struct racer *racer = context;
    struct ledger_sweep sweep = {.from_ms = INT64_MAX, .now_ms = INT64_MAX};
    for (int i = 0; i < TRIES && !racer->failed; i++)
        racer->failed = ledger_fold(racer->db, &sweep) != DB_OK;
    return NULL;
}

static void race_connections(struct racer racers[THREADS], struct racer *folder,
                             const char *account, int64_t limit)
{
    pthread_t threads[THREADS], fold_thread;
    int64_t paid = 0;
    if (folder)
        cr_assert_eq(pthread_create(&fold_thread, NULL, race_folds, folder), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        racers[i].account = account;
        cr_assert_eq(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        cr_assert_not(racers[i].failed, "%s", db_last_error(racers[i].db));
        paid += racers[i].paid;
    }
    if (folder) {
        pthread_join(fold_thread, NULL);
        cr_assert_not(folder->failed, "%s", db_last_error(folder->db));
        race_folds(folder); /* it may have been done before the others began */
        cr_assert_gt(count_folds(f.db), 0);
    }
    struct ledger_account after;
    cr_assert_eq(ledger_find(f.db, account, &after), DB_OK);
    cr_assert_eq(after.spent_units, paid);
    cr_assert_eq(paid, limit / 3 * 3, "the limit must be reached and not passed");
}

CHECKED_TEST(ledger_model, racing_threads_never_pass_the_limit, .init = store_open,
             .fini = store_close)
{
    struct racer racers[THREADS] = {{0}};
    struct ledger_account a = fixture_account(f.db, LEDGER_TEACHER, "tch_a", NULL, 1000, 0);
    for (unsigned i = 0; i < THREADS; i++)
        racers[i].db = fixture_connect(&f);
    struct racer folder = {.db = fixture_connect(&f)};
    race_connections(racers, &folder, a.id, 1000);
    for (unsigned i = 0; i < THREADS; i++)
        db_close(racers[i].db);
    db_close(folder.db);
}

/* Two stores over one file have no common gate, like two processes. */
CHECKED_TEST(ledger_model, racing_stores_never_pass_the_limit, .init = store_open,
             .fini = store_close)
{
    struct racer racers[THREADS] = {{0}};
    struct db_store *stores[THREADS];
    struct db_settings settings = {.location = f.path, .not_durable = true};
    struct ledger_account a = fixture_account(f.db, LEDGER_TEACHER, "tch_a", NULL, 1000, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        char error[DB_ERROR_SIZE];
        stores[i] = db_store_new(&db_driver_sqlite, &settings);
        cr_assert_eq(db_open(stores[i], &racers[i].db, error), DB_OK, "%s", error);
    }
    race_connections(racers, NULL, a.id, 1000);
    for (unsigned i = 0; i < THREADS; i++) {
        db_close(racers[i].db);
        db_store_free(stores[i]);
    }
}

/* ---- kill -9 */

/* Debits in batches of four and tells the parent how many are committed. */
static void spend_until_killed(const char *path, const char *account, int tell)
{
    struct db_settings settings = {.location = path};
    struct db_store *store = db_store_new(&db_driver_sqlite, &settings);
    struct db *db = NULL;
    char error[DB_ERROR_SIZE];
    if (store == NULL || db_open(store, &db, error) != DB_OK)
        _exit(1);
    for (;;) {
        if (db_begin_batch(db, true) != DB_OK)
            _exit(2);
        for (int i = 0; i < 4; i++) {
            enum ledger_verdict verdict;
            if (fixture_debit(db, account, 1, 0, &verdict) != DB_OK || verdict != LEDGER_OK)
                _exit(3);
        }
        char token = 'x';
        if (db_commit_batch(db) != DB_OK || write(tell, &token, 1) != 1)
            _exit(4);
    }
}

CHECKED_TEST(ledger_model, a_killed_writer_loses_no_acknowledged_debit, .init = store_open,
             .fini = store_close)
{
    uint64_t random = 99;
    struct ledger_account a = fixture_account(f.db, LEDGER_TEACHER, "tch_a", NULL, 1 << 30, 0);
    for (int round = 0; round < 20; round++) {
        int pipes[2], status = 0;
        struct ledger_account before, after;
        cr_assert_eq(ledger_find(f.db, a.id, &before), DB_OK);
        db_close(f.db); /* no connection may be shared across a fork */
        f.db = NULL;
        cr_assert_eq(pipe(pipes), 0);
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            close(pipes[0]);
            spend_until_killed(f.path, a.id, pipes[1]);
        }
        close(pipes[1]);
        int64_t acknowledged = 0;
        char token;
        for (uint64_t i = 1 + fixture_random(&random, 40); i > 0; i--) {
            cr_assert_eq(read(pipes[0], &token, 1), 1, "the child died by itself");
            acknowledged += 4;
        }
        kill(child, SIGKILL);
        while (read(pipes[0], &token, 1) == 1)
            acknowledged += 4;
        close(pipes[0]);
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status));
        f.db = fixture_connect(&f);
        cr_assert_eq(ledger_find(f.db, a.id, &after), DB_OK);
        int64_t spent = after.spent_units - before.spent_units;
        cr_assert(spent == acknowledged || spent == acknowledged + 4, "%ld spent, %ld told",
                  (long)spent, (long)acknowledged);
        fixture_audit(f.db);
    }
}
