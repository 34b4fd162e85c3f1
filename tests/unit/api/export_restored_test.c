/* Exports of a service that was restored from a backup, beside one of the life that was lost. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/ledger/ledger_post.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/service.h"

#define STATES "{\"states\":[[0.01,-0.02,0.03,0.04],[0.01,-0.02,0.03,0.04]]}"
#define EVENT  "{\"type\":\"NoOpDpEvent\",\"restored_leaves\":1}"
#define PARTED                                                                                     \
    "the account was restored from a backup: it does not go on from the earlier export, and "

static char teacher[40], path[80];

static void second_life(struct api_settings *settings)
{
    settings->life = 2;
    settings->life_id = "life_abc";
}

static void ask(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        expect_status(
            fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", teacher), STATES),
            200);
}

static void open_service(void)
{
    char sql[120];
    f = fixture_open();
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 1000, 900));
    expect_status(made, 201);
    snprintf(teacher, sizeof teacher, "%s", response_text(made, "/id"));
    ask(2);
    snprintf(path, sizeof path, "%s.copy", fixture_path(f));
    snprintf(sql, sizeof sql, "VACUUM INTO '%s'", path);
    cr_assert_eq(db_run(fixture_db(f), sql, NULL, 0, NULL, NULL), DB_OK);
}

static void close_service(void)
{
    unlink(path);
    fixture_close(f);
}

TestSuite(export_restored, .init = open_service, .fini = close_service);

/* Burns UNITS of the account, as a restore does. */
static enum db_status burn_units(struct db *db, struct ledger_account *account, void *context)
{
    struct mark mark = {.used = {account->spent_units + *(int64_t *)context, account->spent_delta}};
    return ledger_burn(db, account, &mark, "life_abc", EVENT, account->created_ms + 1000);
}

static enum db_status burn_all(struct db *db, void *context)
{
    return ledger_each(db, NULL, burn_units, context);
}

/* The export of the copy, once UNITS of each account are burnt in it, 0 for none. */
static char *take_copy(int64_t units, size_t *out_size)
{
    char error[DB_ERROR_SIZE] = "";
    struct db_settings settings = {.location = path, .not_durable = true};
    struct db_store *store = db_store_new(&db_driver_sqlite, &settings);
    struct db *db = NULL;
    cr_assert(store && db_open(store, &db, error) == DB_OK, "%s", error);
    if (units > 0)
        cr_assert_eq(db_transact(db, burn_all, &units), DB_OK, "%s", db_last_error(db));
    char *text = export_scene_take_of(f, db, out_size);
    db_close(db);
    db_store_free(store);
    return text;
}

/* What scripts/verify.py says of TEXT beside EARLIER has to have LOG once, and ACCOUNT twice. */
static void expect_python_says(const char *text, const char *earlier, const char *account,
                               const char *log)
{
    char said[8000], command[500];
    const char *texts[] = {earlier, text}, *at = said;
    for (int i = 0; i < 2; i++) {
        char name[100];
        snprintf(name, sizeof name, "%s.%d", path, i);
        FILE *file = fopen(name, "w");
        cr_assert(file && fputs(texts[i], file) >= 0 && fclose(file) == 0);
    }
    snprintf(command, sizeof command,
             "python3 scripts/verify.py --earlier %s.0 %s.1 2>&1; rm %s.0 %s.1", path, path, path,
             path);
    FILE *python = popen(command, "r");
    cr_assert_not_null(python);
    said[fread(said, 1, sizeof said - 1, python)] = '\0';
    cr_assert_eq(pclose(python), 0);
    cr_expect_not_null(strstr(said, log), "%s", said);
    for (int i = 0; i < 2 && at; i++)
        at = (at = strstr(at, account)) ? at + 1 : NULL;
    cr_expect_not_null(at, "%s", said);
    cr_expect_not_null(strstr(said, "3 faults"), "%s", said);
}

/* What is said of the accounts and of the log of TEXT beside EARLIER. */
static void expect_said(const char *text, size_t size, const char *earlier, const char *account,
                        const char *log)
{
    struct verify_report report;
    export_scene_verify(text, size, earlier, &report);
    cr_assert_eq(report.fault_count, 3); /* two accounts and the log */
    for (unsigned i = 0; i < 2; i++)
        cr_expect_str_eq(report.faults[i].what, account);
    cr_expect_str_eq(report.faults[2].what, log);
}

Test(export_restored, is_told_from_another_history_and_says_whether_budget_was_given_back)
{
    static const char rolled[] = "the log once had more leaves: it was rolled back",
                      older[] = "an entry that was there is missing: this is an older history",
                      renamed[] = "the log has another name, as after a restore: it does not go on "
                                  "from the log before";
    size_t size;
    ask(2);
    char *before = export_scene_take(f, &size);
    char *copy = take_copy(0, &size);
    expect_said(copy, size, before, older, rolled);
    fixture_restart(f, second_life);
    char *little = take_copy(1, &size);
    expect_said(little, size, before,
                PARTED "has spent less than it had there: budget was given back", renamed);
    expect_python_says(little, before,
                       PARTED "has spent less than it had there: budget was given back", renamed);
    char *much = take_copy(INT64_C(200000000000), &size);
    expect_said(much, size, before, PARTED "has spent at least what it had there", renamed);
    expect_python_says(much, before, PARTED "has spent at least what it had there", renamed);
    /* A restore that the earlier export knows, too, is no excuse. */
    expect_said(little, strlen(little), much, older, rolled);
    expect_python_says(little, much, "an entry that was there is missing", "the log once had");
    free(much);
    free(little);
    free(copy);
    free(before);
}
