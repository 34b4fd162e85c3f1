/* Failures and kills: a chunk of debits is folded whole or not at all. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/storage/failing_driver.h"
#include "tests/unit/storage/fold_scene.h"

static void open_failing(void)
{
    failing_arm(0, DB_OK, false);
    fold_open(&failing_driver);
}

TestSuite(ledger_fold_failing, .init = open_failing, .fini = fold_close);

#define SPENT 12 /* debits of each of two accounts */

static void spend_both(void)
{
    fold_spend(fold_teacher.id, 1000, SPENT);
    fold_spend(fold_student.id, 2000, SPENT);
    cr_assert_eq(fixture_hold(fold_fixture.db, "job_a", fold_teacher.id, 50, NULL), DB_OK);
    cr_assert_eq(ledger_find(fold_fixture.db, fold_teacher.id, &fold_teacher), DB_OK);
    cr_assert_eq(ledger_find(fold_fixture.db, fold_student.id, &fold_student), DB_OK);
}

/* True when all is folded. */
static bool expect_sound(void)
{
    int64_t rows = fold_number(FOLD_ROWS);
    fold_expect_same(&fold_teacher);
    fold_expect_same(&fold_student);
    cr_assert(rows == 6 || rows == 4 + 2 * SPENT, "%" PRId64, rows);
    fold_expect_whole(4 + 2 * SPENT, rows == 6 ? 2 * SPENT : 0);
    cr_expect_eq(fold_verify().open_holds, 1);
    return rows == 6;
}

Test(ledger_fold_failing, is_whole_or_not_at_all_through_every_failing_call)
{
    spend_both();
    bool fired = true;
    unsigned failing = 1;
    for (; fired && !expect_sound(); failing++) {
        struct ledger_sweep sweep = {.from_ms = 9000, .now_ms = 9000};
        failing_arm(failing, failing % 2 ? DB_FULL : DB_FAILED, failing % 3 == 0);
        enum db_status status = ledger_fold(fold_fixture.db, &sweep);
        fired = failing_fired();
        failing_arm(0, DB_OK, false);
        cr_expect_eq(status == DB_OK, !fired);
        cr_expect(status == DB_OK || sweep.seen == 0, "rows that are still there are seen again");
    }
    cr_expect(expect_sound());
    cr_expect_gt(failing, 10);
}

/* Folds in another process, which is killed at call N. True: it ended before that. */
static bool fold_until_killed(unsigned n)
{
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct db_settings settings = {.location = fold_fixture.path};
        struct db_store *store = db_store_new(&failing_driver, &settings);
        struct db *db = NULL;
        char error[DB_ERROR_SIZE];
        struct ledger_sweep sweep = {.from_ms = 9000, .now_ms = 9000};
        failing_kill(n);
        if (db_open(store, &db, error) != DB_OK || ledger_fold(db, &sweep) != DB_OK)
            _exit(1);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
}

Test(ledger_fold_failing, a_kill_between_any_two_calls_loses_nothing)
{
    spend_both();
    bool ended = false, folded = false;
    unsigned n = 1;
    for (; !ended && !folded; n++) {
        ended = fold_until_killed(n);
        fixture_reopen(&fold_fixture);
        folded = expect_sound();
    }
    cr_expect(folded);
    cr_expect_gt(n, 10);
}
