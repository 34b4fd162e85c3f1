/* Exports: what is whole is found good, and whatever was changed is found. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/proof/export.h"
#include "memory/memory.h"
#include "storage/ledger/ledger_fold.h"
#include "tests/unit/api/export_lines.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/failing_database.h"
#include "tests/unit/api/service.h"

#define STATE "[0.01,-0.02,0.03,0.04]"
#define TRIES 60 /* of a test; TACET_EDITS sets another number */

static char teacher[40];

static void ask_teacher(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        expect_status(fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", teacher),
                                   "{\"states\":[" STATE "," STATE "]}"),
                      200);
}

/* A job that ended, one that waits with its hold, a teacher that was asked, and their certificates,
 * which are signed by two keys. */
static void open_service(void)
{
    f = fixture_open();
    const char *dataset = domain_sealed(f, "private", 10);
    struct response *job = domain_run(f, domain_private_job(dataset, 2, 5));
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1, 5)), 202);
    fixture_rotate(f);
    struct response *made = fixture_post(f, "steward", "/v1/teachers",
                                         domain_teacher(response_text(job, "/policy"), 1000, 900));
    expect_status(made, 201);
    snprintf(teacher, sizeof teacher, "%s", response_text(made, "/id"));
    ask_teacher(6);
}

TestSuite(export, .init = open_service, .fini = service_close);

Test(export, counts_what_the_service_has_and_finds_it_good)
{
    struct verify_report report;
    size_t size;
    char *text = export_scene_take(f, &size);
    export_scene_verify(text, size, NULL, &report);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_eq(report.accounts, 3);
    cr_expect_eq(report.entries, 4 + 7 + 7);
    cr_expect_eq(report.certificates, 2);
    cr_expect_eq(report.heads, 2 + 2); /* of entries and of the log */
    cr_expect_geq(report.trail,
                  8); /* clients, the dataset, its seal, jobs, a release, the teacher */
    cr_expect_eq(report.leaves, 4 + 7 + 7 + report.trail);
    cr_expect_eq(report.open_holds, 1);
    cr_expect_eq(report.prices, 1 + 6 + 6);
    cr_expect_eq(report.unknown, 0);
    free(text);
}

Test(export, has_no_token_no_weights_and_no_trajectory)
{
    size_t size;
    char *text = export_scene_take(f, &size);
    cr_expect_null(strstr(text, "tct_"));
    cr_expect_null(strstr(text, "\"weight\""));
    cr_expect_null(strstr(text, "observation\":["));
    cr_expect_null(strstr(text, fixture_token(f, "steward") + 30));
    free(text);
}

/* ---- lines */

static int64_t faults_of(const struct export_lines *lines, const char *earlier)
{
    struct verify_report report;
    size_t size;
    char *text = export_lines_sign(f, lines, &size);
    export_scene_verify(text, size, earlier, &report);
    free(text);
    return report.fault_count;
}

/* ---- mutations */

static unsigned tries(void)
{
    const char *wish = getenv("TACET_EDITS");
    return wish ? (unsigned)strtoul(wish, NULL, 10) : TRIES;
}

static uint32_t random_state;

static uint32_t random_below(uint32_t most)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * most) >> 32);
}

static bool count_end(void *context, const char *bytes, size_t size)
{
    (void)size;
    *(int *)context += strncmp(bytes, "{\"end\":", 7) == 0;
    return true;
}

/* The last that it asks of the database is whether what it has read is there to stay. */
Test(export_of_a_primary, is_not_signed_when_a_failover_may_take_it_back)
{
    struct fixture *failing = fixture_open_failing();
    int ends = 0;
    cr_assert_null(export_write(fixture_app(failing), fixture_db(failing), count_end, &ends));
    ends = 0; /* it stored where the log's checkpoint ends, which the next ones find */
    database_failure = DB_FULL;
    database_calls_left = 100000;
    cr_expect_null(export_write(fixture_app(failing), fixture_db(failing), count_end, &ends));
    cr_expect_eq(ends, 1);
    database_calls_left = 100000 - database_calls_left - 1;
    const char *why = export_write(fixture_app(failing), fixture_db(failing), count_end, &ends);
    cr_expect_str_eq(why, "made to fail");
    cr_expect_eq(ends, 1);
    fixture_close(failing);
}

Test(export, any_changed_byte_is_found, .timeout = 36000)
{
    struct verify_report report;
    unsigned found = 0;
    size_t size;
    char *text = export_scene_take(f, &size);
    random_state = 1;
    for (unsigned i = 0; i < tries(); i++) {
        size_t at = random_below((uint32_t)size);
        char was = text[at];
        text[at] = (char)(was ^ (1 << random_below(8)));
        export_scene_verify(text, size, NULL, &report);
        cr_expect_gt(report.fault_count, 0, "byte %zu of %zu, %d to %d", at, size, was, text[at]);
        found += report.fault_count > 0;
        text[at] = was;
    }
    fprintf(stderr, "a bit of an export changed: %u of %u found\n", found, tries());
    free(text);
}

Test(export, is_refused_wherever_it_is_cut)
{
    struct verify_report report;
    size_t size;
    char *text = export_scene_take(f, &size);
    for (size_t most = 0; most < size; most += size / tries()) {
        export_scene_verify(text, most, NULL, &report);
        cr_expect_gt(report.fault_count, 0, "%zu of %zu bytes", most, size);
    }
    export_scene_verify(text, size - 1, NULL, &report);
    cr_expect_str_eq(report.faults[0].what, "the export ends within a line: it was cut off");
    free(text);
}

Test(export, is_refused_wherever_one_of_its_lines_is_cut)
{
    size_t size;
    char *text = export_scene_take(f, &size);
    struct export_lines lines = export_lines_cut(text);
    for (unsigned i = 0; i + 1 < lines.count; i++) {
        char *line = lines.line[i];
        for (size_t most = i % 4; most < sizeof "{\"certificate\":"; most += 4) {
            char was = line[most];
            line[most] = '\0';
            cr_expect_gt(faults_of(&lines, NULL), 0, "line %u after %zu bytes", i + 1, most);
            line[most] = was;
        }
    }
    export_lines_clear(&lines);
    free(text);
}

static void expect_first_fault(const char *text, size_t size, bool begun, const char *what)
{
    struct verify_report report;
    export_scene_verify(text, size, NULL, &report);
    cr_expect_eq(report.fault_count, 1, "%s", text);
    cr_expect_eq(report.begun, begun);
    cr_expect_str_eq(report.faults[0].what, what);
}

Test(export, is_told_from_another_file_and_from_one_with_other_line_ends)
{
    static const char none[] = "this is no export of tacet";
    size_t size;
    char *text = export_scene_take(f, &size), *head = strchr(text, '\n');
    char *certificate = strchr(head, ':') + 1, *end = strchr(certificate, '\n');
    expect_first_fault(certificate, (size_t)(end - 1 - certificate), false, none);
    expect_first_fault(certificate, (size_t)(end + 1 - certificate), false, none);
    expect_first_fault("", 0, false, none);
    expect_first_fault(text, 5, false, "the export ends within a line: it was cut off");
    head[0] = '\r'; /* of the first line and of what begins the next one */
    head[1] = '\n';
    expect_first_fault(text, size, false,
                       "its lines end with CRLF, not as they were written: something has changed "
                       "the file");
    free(text);
}

enum edit { LINE_REMOVED, LINE_REPEATED, LINE_MOVED, DIGIT_CHANGED, FOLD_MADE, EDITS_KINDS };

/* Removes, repeats or moves a line. */
static enum edit move_lines(struct export_lines *lines)
{
    unsigned last = lines->count - 1; /* the end stays */
    unsigned at = 1 + random_below(last - 1), to = 1 + random_below(last - 1);
    char *line = lines->line[at];
    if (to == at)
        to = at + 1 < last ? at + 1 : at - 1;
    enum edit edit = (enum edit)random_below(3);
    switch (edit) {
    case LINE_REMOVED:
        memmove(lines->line + at, lines->line + at + 1, (lines->count-- - at - 1) * sizeof(char *));
        free(line);
        break;
    case LINE_REPEATED:
        memmove(lines->line + to + 1, lines->line + to, (lines->count++ - to) * sizeof(char *));
        lines->line[to] = memory_copy_text(line);
        break;
    default: lines->line[at] = lines->line[to]; lines->line[to] = line;
    }
    return edit;
}

/* Changes a digit of a number or of a hash. False: the line has none. */
static bool change_digit(char *line)
{
    size_t size = strlen(line), at = random_below((uint32_t)size);
    for (size_t i = 0; i < size; i++, at = (at + 1) % size) {
        if (line[at] < '0' || line[at] > '9')
            continue;
        line[at] = line[at] == '7' ? '3' : '7';
        return true;
    }
    return false;
}

/* Puts a fold with other sums where entries of one account stood. */
static void make_fold(struct export_lines *lines)
{
    struct ledger_account account;
    cr_assert(export_lines_account(lines, NULL, random_below(3), &account));
    int64_t first = 2 + random_below((uint32_t)account.entries - 1);
    int64_t last = first + random_below((uint32_t)(account.entries - first + 1));
    int64_t more = 1 + (int64_t)random_below(1000);
    export_lines_fold(lines, account.id, first, last, random_below(2) ? more : -more, 0);
}

/* A service that signs what somebody has edited is found by the chains, the sums, and the
 * signatures of certificates. A whole account may be left out: that takes an export of before to
 * see. So does a fold of a client's or teacher's debits. */
Test(export, edits_that_the_service_signs_are_found_by_the_chains, .timeout = 36000)
{
    static const char *const names[] = {"a line removed", "a line repeated", "a line moved",
                                        "a digit changed", "a fold made up"};
    unsigned made[EDITS_KINDS] = {0}, found[EDITS_KINDS] = {0};
    size_t size;
    char *text = export_scene_take(f, &size);
    random_state = 2;
    for (unsigned i = 0; i < tries(); i++) {
        struct export_lines lines = export_lines_cut(text);
        unsigned at = 1 + random_below(lines.count - 2);
        bool digits = random_below(2) == 0;
        enum edit edit = DIGIT_CHANGED;
        if (random_below(4) == 0) {
            edit = FOLD_MADE;
            make_fold(&lines);
        } else if (!digits || !change_digit(lines.line[at])) {
            edit = move_lines(&lines);
        }
        bool seen = faults_of(&lines, edit == FOLD_MADE ? text : NULL) > 0;
        made[edit]++;
        found[edit] += seen;
        cr_expect(seen, "try %u, %s near line %u", i, names[edit], at + 1);
        export_lines_clear(&lines);
    }
    for (int kind = 0; kind < EDITS_KINDS; kind++)
        fprintf(stderr, "signed again, %s: %u of %u found\n", names[kind], found[kind], made[kind]);
    free(text);
}

/* ---- scripts/verify.py */

#define PYTHON_TRIES 64

/* It shares no code with the program, so that both would have to be wrong in the same way. */
Test(export, is_judged_alike_in_another_language)
{
    struct verify_report report[PYTHON_TRIES];
    char folder[] = EXPORT_FOLDER;
    bool faulty[PYTHON_TRIES];
    size_t size;
    char *text = export_scene_take(f, &size);
    random_state = 3;
    cr_assert_not_null(mkdtemp(folder));
    for (unsigned i = 0; i < PYTHON_TRIES; i++) {
        struct export_lines lines = export_lines_cut(text);
        if (i % 2 == 1 && !change_digit(lines.line[1 + random_below(lines.count - 2)]))
            cr_assert(false);
        const char *earlier = i % 8 == 6 ? text : NULL;
        if (earlier)
            make_fold(&lines);
        else if (i % 2 == 0 && i > 0)
            move_lines(&lines);
        char *edited = export_lines_sign(f, &lines, &size);
        export_lines_save(folder, i, edited, earlier);
        export_scene_verify(edited, size, earlier, &report[i]);
        free(edited);
        export_lines_clear(&lines);
    }
    free(text);
    export_lines_ask_python(folder, PYTHON_TRIES, faulty);
    cr_expect_not(faulty[0]);
    for (unsigned i = 0; i < PYTHON_TRIES; i++)
        cr_expect_eq(faulty[i], report[i].fault_count > 0, "try %u: %s", i,
                     report[i].faults[0].what);
}

/* ---- leaves that are removed */

static void fold_everything(void)
{
    struct ledger_sweep sweep = {.from_ms = INT64_MAX, .now_ms = INT64_MAX, .more = true};
    while (sweep.more)
        cr_assert_eq(ledger_fold(fixture_db(f), &sweep), DB_OK);
}

/* The log is that of before, though most leaves went with their entries. Each digit of their hashes
 * counts, in both languages. */
Test(export, has_the_hashes_of_leaves_whose_entries_are_folded)
{
    enum { EDITS = 4 };
    struct verify_report report;
    char folder[] = EXPORT_FOLDER;
    bool faulty[EDITS];
    size_t size;
    char *before = export_scene_take(f, &size);
    ask_teacher(140);
    fold_everything();
    char *text = export_scene_take(f, &size);
    export_scene_verify(text, size, before, &report);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_gt(report.removed, 200);
    cr_expect_leq(report.removed, report.folded);
    cr_assert_not_null(mkdtemp(folder));
    for (unsigned i = 0; i < EDITS; i++) {
        struct export_lines lines = export_lines_cut(text);
        unsigned at = export_lines_find(&lines, "{\"tile\":");
        char *digit = lines.line[at] + strlen(lines.line[at]) - (i == 1 ? 300 : 16300);
        if (i == 1 || i == 2)
            *digit = *digit == '7' ? '3' : '7';
        if (i == 3)
            lines.line[at][strlen("{\"tile\":{\"number\":")] = '1';
        char *edited = export_lines_sign(f, &lines, &size);
        export_lines_save(folder, i, edited, NULL);
        export_scene_verify(edited, size, NULL, &report);
        cr_expect_eq(report.fault_count > 0, i > 0, "edit %u", i);
        free(edited);
        export_lines_clear(&lines);
    }
    export_lines_ask_python(folder, EDITS, faulty);
    for (unsigned i = 0; i < EDITS; i++)
        cr_expect_eq(faulty[i], i > 0, "edit %u", i);
    free(before);
    free(text);
}

/* ---- an export of before */

static bool says(const struct verify_report *report, const char *what)
{
    bool found = false;
    for (unsigned i = 0; i < report->described; i++)
        found = found || strcmp(report->faults[i].what, what) == 0;
    return found;
}

Test(export, goes_on_from_an_earlier_one_and_not_the_other_way)
{
    struct verify_report report;
    size_t size, later_size;
    char *text = export_scene_take(f, &size);
    ask_teacher(2);
    char *later = export_scene_take(f, &later_size);
    export_scene_verify(later, later_size, text, &report);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_eq(report.heads, 4 + 2 * 3 + 1); /* first and last entries of accounts, the log */
    export_scene_verify(text, size, later, &report);
    cr_expect_eq(report.fault_count, 3); /* the log, the student's account and the teacher's */
    cr_expect_str_eq(report.faults[0].what,
                     "an entry that was there is missing: this is an older history");
    free(later);
    free(text);
}

/* The audit trail says that there were such certificates; where it does not, an earlier export. */
Test(export, without_a_certificate_is_found)
{
    struct verify_report report;
    char folder[] = EXPORT_FOLDER;
    bool faulty[2];
    size_t size;
    char *text = export_scene_take(f, &size);
    cr_assert_not_null(mkdtemp(folder));
    for (unsigned i = 0; i < 2; i++) { /* the policy's, and the teacher's */
        struct export_lines lines = export_lines_cut(text);
        const char *const about[] = {"\"policy\":\"pol_", "\"teacher\":\"tch_"};
        unsigned at = export_lines_find(&lines, "{\"certificate\"");
        at += strstr(lines.line[at], "\"subject\":\"teacher\"") ? i == 0 : i == 1;
        cr_assert_not_null(strstr(lines.line[at], about[i]));
        free(lines.line[at]);
        memmove(lines.line + at, lines.line + at + 1, (--lines.count - at) * sizeof(char *));
        char *without = export_lines_sign(f, &lines, &size);
        export_lines_save(folder, i, without, NULL);
        export_scene_verify(without, size, NULL, &report);
        cr_expect_eq(report.fault_count, 1, "%s", report.faults[0].what);
        cr_expect_not_null(strstr(report.faults[0].what, "and has no certificate"));
        export_scene_verify(without, size, text, &report);
        cr_expect_eq(report.fault_count, 2);
        cr_expect(says(&report, "the earlier export has this certificate; it is missing"));
        free(without);
        export_lines_clear(&lines);
    }
    export_lines_ask_python(folder, 2, faulty);
    cr_expect(faulty[0] && faulty[1]);
    free(text);
}

static bool is_of_log(const char *line)
{
    return strncmp(line, "{\"leaf\"", 7) == 0 || strncmp(line, "{\"audit\"", 8) == 0 ||
           strncmp(line, "{\"checkpoint\"", 13) == 0;
}

/* Else a log that was rolled back could be left out, by a version that asks for none, too. */
Test(export, without_its_log_is_refused)
{
    static const char others[] = "this program knows exports of versions 3 and 4 alone";
    struct verify_report report;
    char folder[] = EXPORT_FOLDER;
    bool faulty[4];
    size_t size;
    char *text = export_scene_take(f, &size);
    struct export_lines lines = export_lines_cut(text);
    char *version = strstr(lines.line[0], "\"version\":4");
    cr_assert_not_null(version);
    unsigned kept = 0;
    for (unsigned i = 0; i < lines.count; i++)
        if (is_of_log(lines.line[i]))
            free(lines.line[i]);
        else
            lines.line[kept++] = lines.line[i];
    lines.count = kept;
    cr_assert_not_null(mkdtemp(folder));
    for (unsigned i = 0; i < 4; i++) {
        version[10] = "4125"[i];
        char *without = export_lines_sign(f, &lines, &size);
        export_scene_verify(without, size, NULL, &report);
        cr_expect(says(&report, i == 0 ? "there is no checkpoint of the log" : others));
        export_lines_save(folder, i, without, NULL);
        free(without);
    }
    export_lines_ask_python(folder, 4, faulty);
    cr_expect(faulty[0] && faulty[1] && faulty[2] && faulty[3]);
    export_lines_clear(&lines);
    free(text);
}

Test(export, of_another_service_is_another_history)
{
    struct verify_report report;
    size_t size;
    char *text = export_scene_take(f, &size);
    fixture_close(f);
    open_service();
    char *other = export_scene_take(f, &size);
    export_scene_verify(other, size, text, &report);
    /* its accounts, its log, its audit trail, its certificates and its second key */
    cr_expect_eq(report.fault_count, 3 + 1 + 1 + 2 + 1);
    cr_expect(says(&report, "the earlier export has this account, and it is missing here"));
    free(other);
    free(text);
}
