/* Three connections of one store take turns in whatever order, and a model says what they must see
 * of each other: what one keeps in memory between its batches is never older than the database. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/answers/answers.h"
#include "tests/unit/storage/fixture.h"

/* More accounts than a batch keeps, and bodies that do not fit into a batch's block. */
enum { CONNECTIONS = 3, ACCOUNTS = 150, KEYS = 5000, TURNS = 1200, LIMIT = 800 };
enum { BODY = 64, LONG_BODY = 300 << 10, LONG_KEY = 255 };

struct model {
    int64_t spent[ACCOUNTS], limit[ACCOUNTS];
    bool stored[KEYS];
};

struct world {
    struct fixture f;
    struct db *dbs[CONNECTIONS];
    char accounts[ACCOUNTS][ID_SIZE];
    char *long_body;
    struct model now;
    uint64_t random;
};

/* One request: pays one account and stores an answer under a key, or replays it. */
struct request {
    struct world *world;
    unsigned key, account;
    int64_t units;
    bool fails; /* after it has changed something */
};

static void name_key(unsigned key, char out[LONG_KEY + 1])
{
    snprintf(out, LONG_KEY + 1, "key %u", key);
    if (key % 7 == 0) {
        size_t size = strlen(out);
        memset(out + size, 'k', LONG_KEY - size);
        out[LONG_KEY] = '\0';
    }
}

static enum db_status store(struct request *r, struct db *db, const char *key)
{
    bool is_long = r->key % 500 == 1;
    char body[BODY];
    snprintf(body, sizeof body, "the answer to %u", r->key);
    struct answer_row answer = {.status = 200,
                                .body = is_long ? r->world->long_body : body,
                                .body_size = is_long ? LONG_BODY : strlen(body)};
    r->world->now.stored[r->key] = true;
    return answers_store(db, "cli_model", key, &answer);
}

static enum db_status work(struct db *db, void *context)
{
    struct request *r = context;
    struct model *now = &r->world->now;
    char key[LONG_KEY + 1];
    struct answer_row stored;
    struct ledger_outcome outcome;
    name_key(r->key, key);
    enum db_status status = answers_find(db, "cli_model", key, &stored);
    cr_assert_eq(status, now->stored[r->key] ? DB_OK : DB_NONE, "key %u: %d, %s", r->key, status,
                 db_last_error(db));
    if (status == DB_OK) {
        answer_done(&stored);
        return DB_OK;
    }
    const struct ledger_charge charge = {.prices = {{r->world->accounts[r->account], r->units, 0}},
                                         .count = 1,
                                         .client = "cli_model",
                                         .resource = "qry_model",
                                         .event = "{}",
                                         .now_ms = 7};
    status = ledger_debit(db, &charge, &outcome);
    cr_assert_eq(status, DB_OK, "%s", db_last_error(db));
    bool fits = now->spent[r->account] + r->units <= now->limit[r->account];
    cr_assert_eq(outcome.verdict, fits ? LEDGER_OK : LEDGER_EXHAUSTED);
    if (!fits)
        return DB_NONE;
    now->spent[r->account] += r->units;
    cr_assert_eq(outcome.parts[0].account.spent_units, now->spent[r->account]);
    return r->fails ? DB_NONE : store(r, db, key);
}

static void set_limit(struct world *w, struct db *db, unsigned account)
{
    enum ledger_verdict verdict = LEDGER_NO_ACCOUNT;
    int64_t more = w->now.limit[account] + 5;
    const struct ledger_limit limit = {.account = w->accounts[account],
                                       .limit_units = more,
                                       .client = "cli_model",
                                       .event = "{}",
                                       .now_ms = 8};
    cr_assert_eq(ledger_set_limit(db, &limit, &verdict, NULL), DB_OK);
    cr_assert_eq(verdict, LEDGER_OK);
    w->now.limit[account] = more;
}

static struct request draw(struct world *w)
{
    uint64_t *random = &w->random;
    return (struct request){.world = w,
                            .key = (unsigned)fixture_random(random, KEYS),
                            .account = (unsigned)fixture_random(random, ACCOUNTS),
                            .units = 1 + (int64_t)fixture_random(random, 40),
                            .fails = fixture_random(random, 1500) == 0};
}

/* A batch of some requests, which may be rolled back, or lost by a request that fails half way. */
static void batch(struct world *w, struct db *db)
{
    struct model before = w->now;
    bool lost = false;
    uint64_t count = 1 + fixture_random(&w->random, 12);
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    for (uint64_t i = 0; i < count && !lost; i++) {
        struct request r = draw(w);
        struct model step = w->now;
        enum db_status status = db_transact(db, work, &r);
        lost = status == DB_RETRY;
        w->now = status == DB_OK ? w->now : step;
    }
    if (fixture_random(&w->random, 8) == 0)
        set_limit(w, db, (unsigned)fixture_random(&w->random, ACCOUNTS));
    if (lost || fixture_random(&w->random, 10) == 0) {
        db_rollback_batch(db);
        w->now = before;
        return;
    }
    cr_assert_eq(db_commit_batch(db), DB_OK, "%s", db_last_error(db));
}

static void alone(struct world *w, struct db *db)
{
    struct request r = draw(w);
    struct model before = w->now;
    if (db_transact(db, work, &r) != DB_OK)
        w->now = before;
}

static void expect_the_model(struct world *w, struct db *db)
{
    for (unsigned a = 0; a < ACCOUNTS; a++) {
        struct ledger_account account;
        cr_assert_eq(ledger_find(db, w->accounts[a], &account), DB_OK);
        cr_assert_eq(account.spent_units, w->now.spent[a]);
        cr_assert_eq(account.limit_units, w->now.limit[a]);
    }
}

static void open_world(struct world *w)
{
    fixture_open(&w->f, &db_driver_sqlite);
    w->dbs[0] = w->f.db;
    for (unsigned c = 1; c < CONNECTIONS; c++)
        w->dbs[c] = fixture_connect(&w->f);
    for (unsigned a = 0; a < ACCOUNTS; a++) {
        char resource[ID_SIZE];
        snprintf(resource, sizeof resource, "tea_%u", a);
        struct ledger_account opened =
            fixture_account(w->f.db, LEDGER_CLIENT, resource, "cli_model", LIMIT, 0);
        memcpy(w->accounts[a], opened.id, ID_SIZE);
        w->now.limit[a] = LIMIT;
    }
    w->long_body = calloc(LONG_BODY + 1, 1);
    cr_assert_not_null(w->long_body);
    memset(w->long_body, 'x', LONG_BODY);
}

Test(kept_model, connections_that_take_turns_see_each_other)
{
    static struct world w;
    w.random = 20261122;
    open_world(&w);
    unsigned turn = 0, c = 0;
    for (; turn < TURNS; turn++) {
        if (fixture_random(&w.random, 3) == 0) /* mostly the same one goes on */
            c = (unsigned)fixture_random(&w.random, CONNECTIONS);
        (fixture_random(&w.random, 6) == 0 ? alone : batch)(&w, w.dbs[c]);
        if (turn % 100 == 0)
            expect_the_model(&w, w.dbs[(c + 1) % CONNECTIONS]);
    }
    expect_the_model(&w, w.f.db);
    fixture_audit(w.f.db);
    for (unsigned i = 1; i < CONNECTIONS; i++)
        db_close(w.dbs[i]);
    free(w.long_body);
    fixture_close(&w.f);
}
