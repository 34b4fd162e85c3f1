/* The thread that removes answers, on a real database; and the clock that it believes. */
#include "server/pruner.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "server/os/clock.h"
#include "storage/answers/answers.h"
#include "storage/datasets.h"
#include "storage/db/listing.h"
#include "storage/keys/keyring.h"
#include "storage/ledger/trail.h"
#include "storage/upgrade.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS  (24 * HOUR_MS)

Test(pruner, waits_a_day_when_the_clock_leapt)
{
    struct pruner_clocks clocks = {0};
    int64_t wall = 1800000000000, steady = 5000;
    bool leapt = true;
    cr_expect(pruner_trusts(&clocks, wall, steady, &leapt) && !leapt, "there is no look before");
    cr_expect(pruner_trusts(&clocks, wall += 9 * DAY_MS, steady += 9 * DAY_MS, &leapt) && !leapt);
    cr_expect(pruner_trusts(&clocks, wall += HOUR_MS, steady, &leapt) && !leapt);
    cr_expect(pruner_trusts(&clocks, wall -= DAY_MS, steady += 1, &leapt) && !leapt,
              "a clock that goes back removes nothing");
    cr_expect(!pruner_trusts(&clocks, wall += HOUR_MS + 2, steady += 1, &leapt) && leapt);
    cr_expect(!pruner_trusts(&clocks, wall += DAY_MS - 1, steady += DAY_MS - 1, &leapt) && !leapt);
    cr_expect(pruner_trusts(&clocks, wall += 1, steady += 1, &leapt) && !leapt);
}

Test(pruner, waits_a_day_when_the_clock_is_far_ahead_of_what_was_stored_last)
{
    int64_t stored = 1800000000000, steady = 5000;
    bool leapt = true;
    struct pruner_clocks clocks = {.wall_ms = stored};
    cr_expect(pruner_trusts(&clocks, stored + DAY_MS, steady, &leapt) && !leapt);
    clocks = (struct pruner_clocks){.wall_ms = stored};
    cr_expect(pruner_trusts(&clocks, stored - 9 * DAY_MS, steady, &leapt) && !leapt);
    clocks = (struct pruner_clocks){.wall_ms = stored};
    cr_expect(!pruner_trusts(&clocks, stored + DAY_MS + 1, steady, &leapt) && leapt);
    cr_expect(!pruner_trusts(&clocks, stored + 2 * DAY_MS, steady + DAY_MS - 1, &leapt) && !leapt);
    cr_expect(pruner_trusts(&clocks, stored + 2 * DAY_MS + 1, steady + DAY_MS, &leapt) && !leapt);
}

Test(pruner, tells_a_failure_once)
{
    char told[PRUNER_TOLD] = "";
    cr_expect(!pruner_tells(told, ""));
    cr_expect(pruner_tells(told, "row is damaged: answers cli_a x"));
    cr_expect(!pruner_tells(told, "row is damaged: answers cli_a x"));
    cr_expect(pruner_tells(told, "the disk is full"));
    cr_expect(!pruner_tells(told, ""), "it is over");
    cr_expect(pruner_tells(told, "the disk is full"));
}

/* ---- the thread */

#define ROWS 2500

/* CONTEXT: no row is new. */
static enum db_status store_old(struct db *database, void *context)
{
    for (int i = 0; i < ROWS; i++) {
        char key[40], body[] = "{}";
        bool last = !context && i + 1 == ROWS; /* of now, with a key that stays */
        snprintf(key, sizeof key, last ? "%d" : "2020-01-01-%d", i);
        struct answer_row row = {.status = 200,
                                 .body = body,
                                 .body_size = 2,
                                 .created_ms = last ? clock_now_ms() : 1577836800000};
        enum db_status status = answers_store(database, "cli_a", key, &row);
        if (status != DB_OK)
            return status;
    }
    return DB_OK;
}

static int64_t count_answers(struct db *database)
{
    int64_t count = -1;
    cr_assert_eq(db_one(database, "SELECT count(*) FROM answers", NULL, 0, listing_integer, &count),
                 DB_OK);
    return count;
}

/* Answers that are left when the thread was there for as long as it needs, or for a while. */
static int64_t left_behind(struct db *database, struct db *threads_own, uint32_t days,
                           int64_t wanted)
{
    struct api_settings settings = {.now_ms = clock_now_ms, .cors_origins = "", .version = "test"};
    settings.keep_answers_days = days;
    struct app *app = api_open(&settings);
    struct pruner *pruner = pruner_start(app, threads_own, "/tmp/no/such/keys");
    cr_assert_not_null(pruner);
    for (int i = 0; i < 2000 && (count_answers(database) != wanted || pruner_sees_keys(pruner));
         i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    cr_expect_not(pruner_sees_keys(pruner), "the keys are missing");
    pruner_stop(pruner);
    api_close(app);
    return count_answers(database);
}

static char folder[40];
static struct db_store *store;
static struct db *db, *other;

static void open_database(void)
{
    char path[64], error[DB_ERROR_SIZE] = "";
    strcpy(folder, "/tmp/tacet-pruner-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tacet.db", folder);
    struct db_settings database = {.location = path, .not_durable = true};
    store = db_store_new(&db_driver_sqlite, &database);
    cr_assert_eq(db_open(store, &db, error), DB_OK, "%s", error);
    cr_assert_eq(storage_upgrade(db, error), DB_OK, "%s", error);
    cr_assert_eq(db_open(store, &other, error), DB_OK, "%s", error);
}

static void close_database(void)
{
    char command[64];
    db_close(db);
    db_close(other);
    db_store_free(store);
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}

Test(pruner, removes_all_that_is_over_when_it_is_asked_to, .init = open_database,
     .fini = close_database)
{
    cr_assert_eq(db_transact(db, store_old, NULL), DB_OK);
    cr_expect_eq(left_behind(db, other, 0, ROWS), ROWS, "they are kept for ever");
    cr_expect_eq(left_behind(db, other, 36500, ROWS), ROWS);
    cr_expect_eq(left_behind(db, other, 1, 1), 1);
}

static enum db_status note_in_trail(struct db *database, void *time_ms)
{
    struct trail_row row = {.time_ms = *(int64_t *)time_ms,
                            .actor = "operator",
                            .action = "tacet client create",
                            .outcome = "ok",
                            .count = 1};
    return trail_append(database, &row);
}

/* Nobody asks a teacher, and the server starts each day. */
Test(pruner, knows_from_the_audit_trail_that_the_clock_is_right, .init = open_database,
     .fini = close_database)
{
    int64_t now = clock_now_ms();
    cr_assert_eq(db_transact(db, store_old, &now), DB_OK);
    cr_expect_eq(left_behind(db, other, 1, ROWS), ROWS, "the clock is far ahead");
    cr_assert_eq(db_transact(db, note_in_trail, &now), DB_OK);
    cr_expect_eq(left_behind(db, other, 1, 0), 0);
}

/* ---- erasures */

#define BEGIN_MS INT64_C(1577836800000) /* 2020 */

static int64_t count_trail(const char *action)
{
    int64_t count = -1;
    cr_assert_eq(db_one(db, "SELECT count(*) FROM audit_trail WHERE action = $1",
                        DB_VALUES(db_text(action)), listing_integer, &count),
                 DB_OK);
    return count;
}

/* One look of the thread. */
static void look_once(struct keyring *keys)
{
    struct api_settings settings = {
        .now_ms = clock_now_ms, .cors_origins = "", .version = "test", .keys = keys};
    struct app *app = api_open(&settings);
    struct pruner *pruner = pruner_start(app, other, folder);
    cr_assert_not_null(pruner);
    pruner_stop(pruner);
    api_close(app);
}

/* The machine starts with a clock that is years ahead of all that is stored: nothing is too old by
 * it. What was begun is ended all the same. */
Test(pruner, erases_nothing_by_a_clock_that_is_far_ahead, .init = open_database,
     .fini = close_database)
{
    static const unsigned char master[KEYRING_KEY] = {9};
    static const uint32_t numbers[] = {0, 1};
    unsigned char made[2 * KEYRING_KEY];
    char path[64], error[DB_ERROR_SIZE] = "";
    struct dataset_row row = {.id = "ds_a",
                              .owner = "cli_a",
                              .name = "a",
                              .environment = "cartpole",
                              .retention_days = 30,
                              .created_ms = BEGIN_MS};
    const char *const names[] = {"e0", "e1"};
    const struct expert_names experts = {"ds_a", "cli_a", names, 2, 9, BEGIN_MS};
    struct experts_outcome outcome;
    uint32_t registered[2];
    int64_t now = clock_now_ms();
    snprintf(path, sizeof path, "%s/keys", folder);
    struct keyring *keys = keyring_open(path, master, error, sizeof error);
    cr_assert_not_null(keys, "%s", error);
    cr_assert_eq(datasets_insert(db, &row, NULL), DB_OK, "%s", db_last_error(db));
    cr_assert_eq(datasets_register_experts(db, &experts, registered, &outcome), DB_OK, "%s",
                 db_last_error(db));
    cr_assert_eq(keyring_need(keys, "ds_a", numbers, 2, 0, made), KEYRING_OK);
    cr_assert_eq(keyring_erase(keys, "ds_a", 1, NULL, NULL), KEYRING_OK);
    look_once(keys);
    cr_expect_eq(count_trail("retention"), 0);
    cr_expect_eq(count_trail("erasure ended"), 1);
    cr_expect_eq(keyring_find(keys, "ds_a", 0, made), KEYRING_OK);
    look_once(keys);
    cr_expect_eq(count_trail("retention"), 0, "the service's own row has the same wrong time");
    cr_assert_eq(db_transact(db, note_in_trail, &now), DB_OK);
    look_once(keys); /* somebody's row speaks for the clock */
    cr_expect_gt(count_trail("retention"), 0);
    cr_expect_eq(keyring_find(keys, "ds_a", 0, made), KEYRING_ERASED);
    keyring_close(keys);
}
