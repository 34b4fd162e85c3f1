/* Folds that somebody made up, in exports that the service's key signs: whatever a certificate or
 * an earlier export knows of the entries that they count is compared, in both languages. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/ledger/ledger.h"
#include "tests/unit/api/export_lines.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/service.h"

#define STATES  "{\"states\":[[0.01,-0.02,0.03,0.04],[0.01,-0.02,0.03,0.04]]}"

#define NO_FOLD "entries of a dataset and of a share are never folded"
#define CANNOT  "a fold stands for an entry that it cannot have"

static char teacher[40];
static struct ledger_account dataset, asked, student; /* as they are in the export */
static char *text;                                    /* the export */

static void ask_teacher(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        expect_status(
            fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", teacher), STATES),
            200);
}

static enum db_status hand_over(struct db *db, void *context)
{
    (void)context;
    return ledger_hand_over(db, fixture_client(f, "steward"), "cli_a", "{}", 1);
}

/* Takes the export and its accounts. */
static void take_export(void)
{
    size_t size;
    free(text);
    text = export_scene_take(f, &size);
    struct export_lines lines = export_lines_cut(text);
    cr_assert(export_lines_account(&lines, "dataset", 0, &dataset));
    cr_assert(export_lines_account(&lines, "teacher", 0, &asked));
    cr_assert(export_lines_account(&lines, "client", 0, &student));
    export_lines_clear(&lines);
}

/* A dataset that has paid for one job and holds for another, and a teacher that was asked six
 * times, in the middle of which its project was handed over. */
static void open_service(void)
{
    f = fixture_open();
    const char *id = domain_sealed(f, "private", 10);
    struct response *job = domain_run(f, domain_private_job(id, 2, 5));
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 1, 5)), 202);
    struct response *made = fixture_post(f, "steward", "/v1/teachers",
                                         domain_teacher(response_text(job, "/policy"), 1000, 900));
    expect_status(made, 201);
    snprintf(teacher, sizeof teacher, "%s", response_text(made, "/id"));
    ask_teacher(3);
    cr_assert_eq(db_transact(fixture_db(f), hand_over, NULL), DB_OK);
    ask_teacher(3);
    take_export();
    cr_assert_eq(asked.entries, 8);
    cr_assert_eq(student.entries, 8);
}

static void close_service(void)
{
    free(text);
    fixture_close(f);
}

TestSuite(export_folds, .init = open_service, .fini = close_service);

static bool python_refuses(const char *edited, const char *earlier)
{
    char folder[] = EXPORT_FOLDER;
    bool faulty = false;
    cr_assert_not_null(mkdtemp(folder));
    export_lines_save(folder, 0, edited, earlier);
    export_lines_ask_python(folder, 1, &faulty);
    return faulty;
}

/* EDITED is refused beside EARLIER (NULL: none) in both languages, in C for FAULTS alone. */
static void expect_faults(const char *edited, const char *earlier, const char *const faults[])
{
    struct verify_report report;
    unsigned count = 0;
    export_scene_verify(edited, strlen(edited), earlier, &report);
    for (; faults[count]; count++)
        cr_expect_str_eq(report.faults[count].what, faults[count]);
    cr_expect_eq(report.fault_count, count);
    cr_expect(python_refuses(edited, earlier), "verify.py finds no %s", faults[0]);
}

/* The same of LINES and one fault. */
static void expect_refused(struct export_lines *lines, const char *earlier, const char *fault)
{
    size_t size;
    char *edited = export_lines_sign(f, lines, &size);
    expect_faults(edited, earlier, (const char *const[]){fault, NULL});
    free(edited);
    export_lines_clear(lines);
}

static void expect_good(struct export_lines *lines, const char *earlier)
{
    struct verify_report report;
    size_t size;
    char *edited = export_lines_sign(f, lines, &size);
    export_scene_verify(edited, size, earlier, &report);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_not(python_refuses(edited, earlier));
    free(edited);
    export_lines_clear(lines);
}

/* Of so many entries of LINES nothing but a fold beside EARLIER tells what they have spent. */
static void expect_unproven(struct export_lines *lines, const char *earlier, int64_t count)
{
    struct verify_report report;
    size_t size;
    char *edited = export_lines_sign(f, lines, &size);
    export_scene_verify(edited, size, earlier, &report);
    cr_expect_eq(report.unproven, count);
    free(edited);
}

Test(export_folds, of_a_dataset_are_refused)
{
    struct export_lines lines = export_lines_cut(text);
    export_lines_fold(&lines, dataset.id, 4, 4, 0, 0); /* what is held for the job that waits */
    expect_refused(&lines, NULL, NO_FOLD);
}

/* ---- what a certificate knows */

static void name_entry(json_t *certificate, const char *head)
{
    json_t *ledger = json_object_get(certificate, "ledger");
    json_object_set_new(ledger, "account", json_string(student.id));
    json_object_set_new(ledger, "entries", json_integer(student.entries));
    json_object_set_new(ledger, "head", json_string(head));
    json_object_set_new(ledger, "proof", json_null());
}

static void name_last_entry(json_t *certificate)
{
    char hex[65];
    name_entry(certificate, sodium_bin2hex(hex, sizeof hex, student.head, sizeof student.head));
}

static void name_no_hash(json_t *certificate)
{
    name_entry(certificate, "zz");
}

static struct export_lines certified_lines(void (*change)(json_t *certificate))
{
    struct export_lines lines = export_lines_cut(text);
    export_lines_certify(f, &lines, export_lines_find(&lines, "{\"certificate\""), change);
    return lines;
}

/* LINES are refused for FIRST (NULL: for nothing else), and since a client's account pays for no
 * certificate. */
static void expect_both(struct export_lines *lines, const char *first)
{
    static const char nobody[] = "the account that it names is no dataset's and no teacher's";
    size_t size;
    char *edited = export_lines_sign(f, lines, &size);
    const char *const faults[] = {first ? first : nobody, first ? nobody : NULL, NULL};
    expect_faults(edited, NULL, faults);
    free(edited);
    export_lines_clear(lines);
}

Test(export_folds, never_count_what_a_certificate_names)
{
    struct export_lines lines = certified_lines(name_last_entry);
    expect_both(&lines, NULL);
    lines = certified_lines(name_last_entry);
    export_lines_fold(&lines, student.id, 6, 8, 0, 0);
    expect_both(&lines, CANNOT);
}

Test(export_folds, cannot_make_a_paid_job_free)
{
    size_t size;
    struct export_lines lines = export_lines_cut(text);
    export_lines_fold(&lines, dataset.id, 2, 3, -dataset.spent_units, -dataset.spent_delta);
    char *edited = export_lines_sign(f, &lines, &size);
    expect_faults(
        edited, NULL,
        (const char *const[]){NO_FOLD, CANNOT, "its account has no settlement of its job", NULL});
    free(edited);
    export_lines_clear(&lines);
}

Test(export_folds, beside_a_certificate_that_names_no_hash_are_refused)
{
    struct export_lines lines = certified_lines(name_no_hash);
    expect_both(&lines, "the entry of the ledger that it names cannot be read");
}

/* ---- what an earlier export knows */

/* An export alone does not show what was folded. One of before does. */
Test(export_folds, add_up_to_what_an_earlier_export_has)
{
    static const char other[] =
        "the entries up to here do not add up to what the earlier export has";
    struct export_lines lines = export_lines_cut(text);
    export_lines_fold(&lines, asked.id, 6, 8, 0, 0);
    export_lines_fold(&lines, student.id, 6, 8, 0, 0);
    expect_good(&lines, text);
    for (int more = -1; more <= 1; more += 2) {
        lines = export_lines_cut(text);
        export_lines_fold(&lines, more < 0 ? asked.id : student.id, 6, 8, more, 0);
        expect_refused(&lines, text, other);
    }
    lines = export_lines_cut(text);
    export_lines_fold(&lines, student.id, 6, 8, -1, 0);
    expect_good(&lines, NULL);
}

/* A handover moves nothing, so the sums alone do not show it. */
Test(export_folds, count_no_entry_of_an_earlier_export_that_is_no_debit)
{
    struct export_lines lines = export_lines_cut(text);
    export_lines_fold(&lines, student.id, 4, 6, 0, 0);
    expect_refused(&lines, text, CANNOT);
    lines = export_lines_cut(text);
    export_lines_fold(&lines, student.id, 4, 5, 0, 0);
    expect_refused(&lines, text, CANNOT);
}

/* Of a debit that was made and folded after the earlier export no more is known than that. */
Test(export_folds, of_later_debits_too_have_at_least_what_was_spent)
{
    static const char less[] = "the fold does not add up to what the earlier export has";
    struct ledger_account then = student;
    char *before = text;
    text = NULL;
    ask_teacher(2);
    take_export();
    int64_t since = student.spent_units - then.spent_units;
    struct export_lines lines = export_lines_cut(text);
    export_lines_fold(&lines, student.id, 6, 10, 0, 0);
    expect_unproven(&lines, before, 2);
    expect_unproven(&lines, NULL, 5);
    expect_good(&lines, before);
    lines = export_lines_cut(text);
    export_lines_fold(&lines, student.id, 6, 10, -since, 0);
    expect_good(&lines, before);
    lines = export_lines_cut(text);
    export_lines_fold(&lines, student.id, 6, 10, -since - 1, 0);
    expect_refused(&lines, before, less);
    free(before);
}

/* ---- accounts that are opened below the service */

#define NOTHING "{\"type\":\"NoOpDpEvent\"}"

static struct ledger_account opened[2];

static enum db_status open_accounts(struct db *db, void *context)
{
    (void)context;
    for (int i = 0; i < 2; i++) {
        const struct ledger_opening opening = {.kind = i == 0 ? LEDGER_DATASET : LEDGER_CLIENT,
                                               .resource = "ds_other",
                                               .client = i == 0 ? "" : "cli_other",
                                               .owner = "cli_none",
                                               .unit = "expert",
                                               .epsilon = 1,
                                               .limit_units = 1000,
                                               .event = "{}",
                                               .now_ms = dataset.created_ms};
        cr_assert_eq(ledger_open_account(db, &opening, &opened[i]), DB_OK);
    }
    return DB_OK;
}

/* Both accounts hold for CONTEXT. */
static enum db_status hold_accounts(struct db *db, void *context)
{
    struct ledger_outcome outcome;
    const struct ledger_charge charge = {.prices = {{opened[0].id, 5, 0}, {opened[1].id, 5, 0}},
                                         .count = 2,
                                         .client = "cli_other",
                                         .resource = context,
                                         .event = NOTHING,
                                         .now_ms = dataset.created_ms};
    enum db_status status = ledger_hold(db, &charge, &outcome);
    cr_assert_eq(outcome.verdict, LEDGER_OK);
    return status;
}

Test(export_folds, beside_a_share_that_two_accounts_pay_are_refused)
{
    char name[] = "acc_share";
    cr_assert_eq(db_transact(fixture_db(f), open_accounts, NULL), DB_OK);
    cr_assert_eq(db_transact(fixture_db(f), hold_accounts, name), DB_OK);
    take_export();
    expect_faults(text, NULL,
                  (const char *const[]){"it pays for a share, which it cannot",
                                        "two accounts pay for the same share", NULL});
}
