/* The thread that removes answers, on a real database; and the clock that it believes. */
#include "server/pruner.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "server/os/clock.h"
#include "storage/answers/answers.h"
#include "storage/db/listing.h"
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

static enum db_status store_old(struct db *db, void *context)
{
    (void)context;
    for (int i = 0; i < ROWS; i++) {
        char key[40], body[] = "{}";
        bool last = i + 1 == ROWS; /* of now, with a key that stays */
        snprintf(key, sizeof key, last ? "%d" : "2020-01-01-%d", i);
        struct answer_row row = {.status = 200,
                                 .body = body,
                                 .body_size = 2,
                                 .created_ms = last ? clock_now_ms() : 1577836800000};
        enum db_status status = answers_store(db, "cli_a", key, &row);
        if (status != DB_OK)
            return status;
    }
    return DB_OK;
}

static int64_t count_answers(struct db *db)
{
    int64_t count = -1;
    cr_assert_eq(db_one(db, "SELECT count(*) FROM answers", NULL, 0, listing_integer, &count),
                 DB_OK);
    return count;
}

/* Answers that are left when the thread was there for as long as it needs, or for a while. */
static int64_t left_behind(struct db *db, struct db *threads_own, uint32_t days, int64_t wanted)
{
    struct api_settings settings = {.now_ms = clock_now_ms, .cors_origins = "", .version = "test"};
    settings.keep_answers_days = days;
    struct app *app = api_open(&settings);
    struct pruner *pruner = pruner_start(app, threads_own, "/tmp/no/such/keys");
    cr_assert_not_null(pruner);
    for (int i = 0; i < 2000 && (count_answers(db) != wanted || pruner_sees_keys(pruner)); i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    cr_expect_not(pruner_sees_keys(pruner), "the keys are missing");
    pruner_stop(pruner);
    api_close(app);
    return count_answers(db);
}

Test(pruner, removes_all_that_is_over_when_it_is_asked_to)
{
    char folder[] = "/tmp/tacet-pruner-XXXXXX", path[64], error[DB_ERROR_SIZE] = "";
    struct db *db, *other;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tacet.db", folder);
    struct db_settings database = {.location = path, .not_durable = true};
    struct db_store *store = db_store_new(&db_driver_sqlite, &database);
    cr_assert_eq(db_open(store, &db, error), DB_OK, "%s", error);
    cr_assert_eq(storage_upgrade(db, error), DB_OK, "%s", error);
    cr_assert_eq(db_open(store, &other, error), DB_OK, "%s", error);
    cr_assert_eq(db_transact(db, store_old, NULL), DB_OK);
    cr_expect_eq(left_behind(db, other, 0, ROWS), ROWS, "they are kept for ever");
    cr_expect_eq(left_behind(db, other, 36500, ROWS), ROWS);
    cr_expect_eq(left_behind(db, other, 1, 1), 1);
    db_close(db);
    db_close(other);
    db_store_free(store);
    const char *ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(path, sizeof path, "%s/tacet.db%s", folder, ends[i]);
        unlink(path);
    }
    rmdir(folder);
}
