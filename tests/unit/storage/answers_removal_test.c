/* Answers go when their time is over, and never before: dates in keys, the guards in the database,
 * every failing call, and kills between any two calls. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/answers/answers.h"
#include "storage/answers/key_date.h"
#include "storage/db/listing.h"
#include "tests/unit/storage/failing_driver.h"
#include "tests/unit/storage/store.h"

#define DAY_MS  INT64_C(86400000)
#define HOUR_MS INT64_C(3600000)
#define TODAY   INT64_C(1795478400000) /* date -u -d 2026-11-24 +%s */

/* ---- dates in keys */

Test(key_date, names_the_time_of_a_uuid_or_a_date)
{
    static const struct {
        const char *key;
        int64_t ms;
    } dated[] = {
        {"017F22E2-79B0-7CC3-98C4-DC0C0C07398F", 1645557742000}, /* RFC 9562, A.6 */
        {"017f22e2-79b0-7cc3-b8c4-dc0c0c07398f", 1645557742000},
        {"2026-11-24-4f9c2b", TODAY},
        {"2026-11-24-", TODAY},
        {"1970-01-01-x", 0},
        {"2024-02-29-x", 1709164800000}, /* the others by `date` too */
        {"2024-03-01-x", 1709251200000},
        {"2000-12-31-x", 978220800000},
        {"2100-03-01-x", 4107542400000},
        {"9999-12-31-x", 253402214400000},
    };
    for (size_t i = 0; i < sizeof dated / sizeof dated[0]; i++)
        cr_expect_eq(key_date_ms(dated[i].key), dated[i].ms, "%s: %lld", dated[i].key,
                     (long long)key_date_ms(dated[i].key));
}

Test(key_date, names_none_in_other_keys)
{
    static const char *const undated[] = {
        "",
        "new-1",
        "c38f3a5e-5c1e-4a5e-9b1a-0b8c0e7b9a10",  /* version 4 */
        "017f22e2-79b0-7cc3-c8c4-dc0c0c07398f",  /* another variant */
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398",   /* short */
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f0", /* long */
        "017f22e279b07cc398c4dc0c0c07398f",
        "2026-11-24",
        "2026-11-24T18:00",
        "2026-02-29-x",
        "2100-02-29-x",
        "2026-00-10-x",
        "2026-13-10-x",
        "2026-11-00-x",
        "2026-11-31-x",
        "1969-12-31-x",
        "x2026-11-24-x",
        "reuse 0123",
        "reuse 0000000000000000001", /* a name's only space */
        "reuse 0123 000000000000000000x",
    };
    for (size_t i = 0; i < sizeof undated / sizeof undated[0]; i++)
        cr_expect_eq(key_date_ms(undated[i]), -1, "%s", undated[i]);
}

Test(key_date, a_name_with_a_date_sorts_by_it)
{
    static const int64_t times[] = {0, 1, 9, 10, TODAY, TODAY + 1, INT64_MAX};
    char one[ANSWER_KEY_SIZE], before[ANSWER_KEY_SIZE] = "reuse ab";
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        key_date_name("reuse ab", times[i], one);
        cr_expect_eq(key_date_ms(one), times[i]);
        cr_expect_gt(strcmp(one, before), 0);
        cr_expect_lt(strcmp(one, "reuse ab!"), 0);
        strcpy(before, one);
    }
}

/* ---- removal */

struct stored {
    const char *key;
    int64_t created_ms;
};

static enum db_status store_one(struct db *db, void *context)
{
    const struct stored *stored = context;
    char body[] = "{}";
    struct answer_row row = {
        .status = 200, .body = body, .body_size = 2, .created_ms = stored->created_ms};
    return answers_store(db, "cli_a", stored->key, &row);
}

static void put(const char *key, int64_t created_ms)
{
    struct stored stored = {key, created_ms};
    cr_assert_eq(db_transact(f.db, store_one, &stored), DB_OK, "%s", db_last_error(f.db));
}

static bool is_there(const char *key)
{
    struct answer_row row;
    enum db_status status = answers_find(f.db, "cli_a", key, &row);
    answer_done(&row);
    cr_assert(status == DB_OK || status == DB_NONE, "%s", db_last_error(f.db));
    return status == DB_OK;
}

static int64_t count_answers(void)
{
    int64_t count = -1;
    cr_assert_eq(db_one(f.db, "SELECT count(*) FROM answers", NULL, 0, listing_integer, &count),
                 DB_OK);
    return count;
}

static int64_t kept_from(void)
{
    int64_t ms = -1;
    cr_assert_eq(answers_kept_from(f.db, &ms), DB_OK);
    return ms;
}

static struct answers_sweep sweep_of(int64_t from_ms)
{
    return (struct answers_sweep){.from_ms = from_ms, .now_ms = from_ms + 30 * DAY_MS};
}

static void prune_all(struct answers_sweep *sweep)
{
    do
        cr_assert_eq(answers_prune(f.db, sweep), DB_OK, "%s", db_last_error(f.db));
    while (sweep->more);
}

Test(removal, takes_what_is_over_and_leaves_the_rest, .init = store_open, .fini = store_close)
{
    char reused[ANSWER_KEY_SIZE];
    key_date_name("reuse ab", TODAY - DAY_MS, reused);
    put("new-1", TODAY - 9 * DAY_MS);
    put("2026-11-22-a", TODAY - 2 * DAY_MS);
    put("2026-11-24-late", TODAY - 2 * DAY_MS); /* a wrong clock let it in */
    put("reuse ab", TODAY - DAY_MS);
    put(reused, TODAY - DAY_MS);
    put("2026-11-23-b", TODAY - HOUR_MS - 1);
    put("2026-11-23-c", TODAY - HOUR_MS); /* too young yet, and so are those behind it */
    put("2026-11-22-d", TODAY);
    struct answers_sweep sweep = sweep_of(TODAY);
    prune_all(&sweep);
    cr_expect(is_there("new-1") && is_there("2026-11-24-late") && is_there("reuse ab"));
    cr_expect(!is_there("2026-11-22-a") && !is_there(reused) && !is_there("2026-11-23-b"));
    cr_expect(is_there("2026-11-23-c") && is_there("2026-11-22-d"));
    cr_expect_eq(kept_from(), TODAY);
    sweep.from_ms = TODAY + 2 * DAY_MS;
    prune_all(&sweep);
    cr_expect_eq(count_answers(), 3, "those without a date, and one that was passed");
    struct answers_sweep again = sweep_of(TODAY + 2 * DAY_MS); /* as after a restart */
    prune_all(&again);
    cr_expect_eq(count_answers(), 2);
    cr_expect(is_there("new-1") && is_there("reuse ab"));
}

/* Rows from a clock that was ahead stop nothing. Places that are used again are seen again. */
Test(removal, goes_on_behind_odd_rows_and_on_an_empty_table, .init = store_open,
     .fini = store_close)
{
    put("2030-01-01-x", TODAY + 1200 * DAY_MS);
    for (int i = 0; i < 2500; i++) {
        char key[32];
        snprintf(key, sizeof key, "2026-11-20-%d", i);
        put(key, TODAY - 4 * DAY_MS);
    }
    struct answers_sweep sweep = sweep_of(TODAY);
    cr_assert_eq(answers_prune(f.db, &sweep), DB_OK);
    cr_expect(sweep.more);
    cr_expect_gt(count_answers(), 1, "one call removes some");
    prune_all(&sweep);
    cr_expect_eq(count_answers(), 1);
    for (int i = 0; i < 5000; i++) { /* places are used again, and more */
        char key[32];
        snprintf(key, sizeof key, "2026-11-23-%d", i);
        put(key, TODAY - DAY_MS);
    }
    prune_all(&sweep);
    cr_expect_eq(count_answers(), 1);
    cr_expect(is_there("2030-01-01-x"));
}

Test(removal, the_database_itself_refuses_another_way, .init = store_open, .fini = store_close)
{
    put("2026-11-20-a", TODAY - 4 * DAY_MS);
    cr_expect_neq(fixture_sql(f.db, "DELETE FROM answers"), DB_OK);
    put("2026-11-20-b", TODAY - 3 * DAY_MS);
    struct answers_sweep sweep = sweep_of(TODAY - 3 * DAY_MS);
    prune_all(&sweep);
    cr_expect_eq(count_answers(), 1);
    cr_expect_neq(fixture_sql(f.db, "DELETE FROM answers"), DB_OK, "b is kept");
    cr_expect_neq(fixture_sql(f.db, "UPDATE meta SET value = '0' WHERE name = 'answers-from'"),
                  DB_OK);
    cr_expect_neq(fixture_sql(f.db, "UPDATE meta SET name = 'x' WHERE name = 'answers-from'"),
                  DB_OK);
    cr_expect_neq(fixture_sql(f.db, "DELETE FROM meta WHERE name = 'answers-from'"), DB_OK);
    struct answers_sweep back = sweep_of(TODAY - 9 * DAY_MS); /* the clock went back */
    prune_all(&back);
    cr_expect_eq(kept_from(), TODAY - 3 * DAY_MS);
}

Test(removal, a_damaged_row_stops_it, .init = store_open, .fini = store_close)
{
    put("2026-11-20-a", TODAY - 4 * DAY_MS);
    put("2026-11-26-b", TODAY - 4 * DAY_MS);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER answers_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE answers SET key = '2026-11-21-b'"
                                   " WHERE key = '2026-11-26-b'"),
                 DB_OK);
    struct answers_sweep sweep = sweep_of(TODAY);
    cr_expect_eq(answers_prune(f.db, &sweep), DB_FAILED);
    cr_expect_neq(strlen(db_damage(f.db)), 0);
    cr_expect_eq(count_answers(), 2);
}

/* A time that fell back would let keys of removed answers be answered again. */
Test(removal, a_damaged_note_of_the_time_is_an_error_and_is_never_replaced, .init = store_open,
     .fini = store_close)
{
    static const char *const damages[] = {
        "UPDATE meta SET value = '1795478400001' WHERE name = 'answers-from'",
        "UPDATE meta SET value = '179547840000' WHERE name = 'answers-from'",
        "UPDATE meta SET digest = zeroblob(16) WHERE name = 'answers-from'",
        "UPDATE meta SET digest = x'' WHERE name = 'answers-from'",
        "DELETE FROM meta WHERE name = 'answers-from'",
    };
    int64_t ms;
    put("2026-11-20-a", TODAY - 4 * DAY_MS);
    struct answers_sweep sweep = sweep_of(TODAY);
    prune_all(&sweep);
    cr_assert_eq(kept_from(), TODAY);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER answers_from_grows"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER answers_from_stays"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "CREATE TABLE kept AS SELECT * FROM meta"), DB_OK);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        put("2026-11-24-b", TODAY);
        cr_assert_eq(fixture_sql(f.db, damages[i]), DB_OK);
        cr_expect_eq(answers_kept_from(f.db, &ms), DB_FAILED, "%s", damages[i]);
        if (i < 4)
            cr_expect_str_eq(db_damage(f.db), "meta answers-from");
        struct answers_sweep later = sweep_of(TODAY + 2 * DAY_MS);
        cr_expect_eq(answers_prune(f.db, &later), DB_FAILED);
        cr_expect(is_there("2026-11-24-b"));
        cr_assert_eq(fixture_sql(f.db, "DELETE FROM meta"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "INSERT INTO meta SELECT * FROM kept"), DB_OK);
        cr_expect_eq(kept_from(), TODAY);
        struct answers_sweep again = sweep_of(TODAY + 2 * DAY_MS + (int64_t)i);
        prune_all(&again);
        cr_expect_eq(count_answers(), 0);
        cr_assert_eq(fixture_sql(f.db, "DELETE FROM meta"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "INSERT INTO meta SELECT * FROM kept"), DB_OK);
    }
}

/* ---- failures and kills: what is gone was noted before as over */

static const char *const mixed[] = {"2026-11-20-a", "2026-11-23-b", "c", "2026-11-22-d"};

static void put_mixed(void)
{
    for (size_t i = 0; i < sizeof mixed / sizeof mixed[0]; i++)
        put(mixed[i], TODAY - (int64_t)(5 - i) * DAY_MS);
}

/* True when the three that are over are gone. */
static bool expect_sound(void)
{
    cr_assert(is_there("c"));
    int64_t count = count_answers();
    cr_assert(count == 4 || count == 1, "%lld: it is one transaction", (long long)count);
    cr_assert_eq(kept_from(), count == 4 ? 0 : TODAY);
    return count == 1;
}

Test(removal, is_whole_or_not_at_all_through_every_failing_call, .init = store_open_failing,
     .fini = store_close)
{
    put_mixed();
    bool fired = true;
    unsigned failing = 1;
    for (; fired && !expect_sound(); failing++) {
        struct answers_sweep sweep = sweep_of(TODAY);
        failing_arm(failing, failing % 2 ? DB_FULL : DB_FAILED, failing % 3 == 0);
        enum db_status status = answers_prune(f.db, &sweep);
        fired = failing_fired();
        failing_arm(0, DB_OK, false);
        cr_expect_eq(status == DB_OK, !fired);
        cr_expect(status == DB_OK || sweep.seen == 0, "rows that are still there are seen again");
    }
    cr_expect(expect_sound());
    cr_expect_gt(failing, 6);
}

/* Prunes in another process, which is killed at call N. True: it ended before that. */
static bool prune_until_killed(unsigned n)
{
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct db_settings settings = {.location = f.path};
        struct db_store *store = db_store_new(&failing_driver, &settings);
        struct db *db = NULL;
        char error[DB_ERROR_SIZE];
        struct answers_sweep sweep = sweep_of(TODAY);
        failing_kill(n);
        if (db_open(store, &db, error) != DB_OK || answers_prune(db, &sweep) != DB_OK)
            _exit(1);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
}

Test(removal, a_kill_between_any_two_calls_loses_nothing, .init = store_open, .fini = store_close)
{
    int64_t verified = 0;
    char error[DB_ERROR_SIZE];
    put_mixed();
    bool ended = false, gone = false;
    unsigned n = 1;
    for (; !ended && !gone; n++) {
        ended = prune_until_killed(n);
        fixture_reopen(&f);
        gone = expect_sound();
        cr_expect_eq(answers_verify(f.db, &verified, error), DB_OK, "%s", error);
    }
    cr_expect(gone);
    cr_expect_gt(n, 6);
}
