/* A certificate that the service's own key has signed anew, with other figures than the ledger has,
 * is found by both programs that check exports. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/json/json_text.h"
#include "memory/memory.h"
#include "storage/db/db.h"
#include "tests/unit/api/domain.h"
#include "tests/unit/api/export_scene.h"

#define EDITS_MOST 40

static struct fixture *f;
static char folder[] = "/tmp/tacet-stated-XXXXXX";
static unsigned kept;           /* exports in FOLDER */
static bool faulty[EDITS_MOST]; /* what Python has to say of each */

static void open_service(void)
{
    f = fixture_open();
    cr_assert_not_null(mkdtemp(folder));
    kept = 0;
}

static void close_service(void)
{
    char command[80];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
    fixture_close(f);
}

TestSuite(stated, .init = open_service, .fini = close_service);

/* Keeps TEXT for Python, which has to find it FAULTY or not. */
static void keep_for_python(const char *text, bool is_faulty)
{
    char path[80];
    cr_assert_lt(kept, EDITS_MOST);
    snprintf(path, sizeof path, "%s/%u", folder, kept);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    faulty[kept++] = is_faulty;
}

static void expect_python_alike(void)
{
    static const char script[] = "python3 -c '\n"
                                 "import sys; sys.path.insert(0, \"scripts\"); import verify\n"
                                 "for i in range(%u):\n"
                                 "    found = verify.verify(f\"%s/{i}\", None).fault_count\n"
                                 "    print(\"verdict\", found)\n'";
    char command[400], line[400], last[400] = "";
    unsigned said = 0;
    snprintf(command, sizeof command, script, kept, folder);
    FILE *python = popen(command, "r");
    cr_assert_not_null(python);
    while (fgets(line, sizeof line, python)) {
        if (strncmp(line, "verdict ", 8) == 0) {
            cr_expect_eq(line[8] != '0', faulty[said], "edit %u: %s", said, last);
            said++;
        }
        if (strncmp(line, "  line", 6) == 0)
            memcpy(last, line, sizeof last);
    }
    cr_assert_eq(pclose(python), 0);
    cr_assert_eq(said, kept);
}

/* Sets the member at PATH, names with dots between, of CERTIFICATE to VALUE, which it takes. */
static void set_member(json_t *certificate, const char *path, json_t *value)
{
    char names[100];
    snprintf(names, sizeof names, "%s", path);
    char *name = names, *dot;
    for (; (dot = strchr(name, '.')); name = dot + 1) {
        *dot = '\0';
        certificate = json_object_get(certificate, name);
    }
    cr_assert_not_null(json_object_get(certificate, name), "%s", path);
    json_object_set_new(certificate, name, value);
}

/* The export TEXT in which the certificate about SUBJECT states VALUE (JSON) at PATH, and another
 * one for each further pair until NULL: signed anew, both. */
static char *state(const char *text, const char *subject, const char *const pairs[], size_t *size)
{
    static const char begin[] = "{\"certificate\":";
    struct buffer out = {.lid = 1 << 24};
    unsigned lines = 0, met = 0;
    for (const char *end; (end = strchr(text, '\n')) && strncmp(text, "{\"end\"", 6) != 0;
         text = end + 1, lines++) {
        size_t most = (size_t)(end + 1 - text);
        char *line = memory_format("%.*s", (int)most, text);
        if (strncmp(line, begin, sizeof begin - 1) != 0 || !strstr(line, subject)) {
            (void)buffer_add(&out, line, most);
            free(line);
            continue;
        }
        line[most - 2] = '\0';
        json_t *certificate = json_text_stored(line + sizeof begin - 1);
        json_object_del(certificate, "signature");
        for (unsigned i = 0; pairs[i]; i += 2)
            set_member(certificate, pairs[i], json_loads(pairs[i + 1], JSON_DECODE_ANY, NULL));
        char *anew = certificate_sign(fixture_app(f), certificate);
        (void)buffer_add_format(&out, "%s%s}\n", begin, anew);
        json_decref(certificate);
        free(anew);
        free(line);
        met++;
    }
    cr_assert_eq(met, 1, "%u certificates have %s", met, subject);
    return export_scene_sign(f, &out, lines, size);
}

/* Expects WHAT of the export TEXT whose certificate about SUBJECT states VALUE at PATH. NULL: it is
 * good. Python has to say so, too, unless FOR_TACET. */
static void expect_edit(const char *text, const char *subject, const char *path, const char *value,
                        const char *what, bool for_tacet)
{
    const char *const pairs[] = {path, value, NULL};
    struct verify_report report;
    size_t size;
    char *edited = state(text, subject, pairs, &size);
    export_scene_verify(edited, size, NULL, &report);
    cr_expect_eq(report.fault_count > 0, what != NULL, "%s = %s: %lld faults, %s", path, value,
                 (long long)report.fault_count, report.faults[0].what);
    if (what)
        cr_expect_str_eq(report.faults[0].what, what, "%s = %s", path, value);
    keep_for_python(edited, what && !for_tacet);
    free(edited);
}

#define FIGURES "it states other figures than its job has paid"
#define LIMITS  "it states other limits than its account had"
#define NONE    "its figures are none of differential privacy"
#define OPENED  "it states another epsilon or delta than its account was opened with"

Test(stated, figures_of_a_job_are_those_that_its_account_paid)
{
    size_t size;
    const char *dataset = domain_sealed(f, "private", 10);
    (void)domain_run(f, domain_private_job(dataset, 3, 5));
    const char *policy = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    char *text = export_scene_take(f, &size);
    expect_edit(text, policy, "software_version", "\"1.2\"", NULL, false);
    expect_edit(text, policy, "privacy.epsilon", "0.4", "its epsilon is below its own lower bound",
                false);
    expect_edit(text, policy, "privacy.epsilon", "2.5", FIGURES, false);
    expect_edit(text, policy, "privacy.delta", "1e-7", FIGURES, false);
    expect_edit(text, policy, "privacy.delta", "null", FIGURES, false);
    expect_edit(text, policy, "privacy.epsilon", "-1", NONE, false);
    expect_edit(text, policy, "job", "\"job_aaaaaaaaaaaaaaaaaaaaaaaaaa\"",
                "its account has no settlement of its job", false);
    expect_edit(text, policy, "ledger.exposure.limit.epsilon", "1", LIMITS, false);
    expect_edit(text, policy, "ledger.exposure.greatest_limit.epsilon", "1", LIMITS, false);
    expect_edit(text, policy, "ledger.exposure.greatest_limit.delta", "1e-9", LIMITS, false);
    expect_python_alike();
    free(text);
}

Test(stated, a_certificate_may_not_forget_its_account)
{
    static const char *const pairs[] = {"ledger.account",
                                        "null",
                                        "ledger.entries",
                                        "null",
                                        "ledger.head",
                                        "null",
                                        "ledger.proof",
                                        "null",
                                        "ledger.exposure",
                                        "null",
                                        "privacy.epsilon",
                                        "0.1",
                                        "privacy.epsilon_lower",
                                        "0.1",
                                        NULL};
    struct verify_report report;
    size_t size;
    const char *dataset = domain_sealed(f, "private", 10);
    const char *policy = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    char *text = export_scene_take(f, &size), *edited = state(text, policy, pairs, &size);
    export_scene_verify(edited, size, NULL, &report);
    cr_expect_eq(report.fault_count, 1);
    cr_expect_str_eq(report.faults[0].what,
                     "it names no account, and this one has paid for its job");
    keep_for_python(edited, true);
    expect_python_alike();
    free(edited);
    free(text);
}

/* A divergence has no epsilon of its own, so the accountants are asked, whom Python does not have.
 */
Test(stated, figures_of_a_job_on_a_renyi_account_are_not_below_what_its_event_costs)
{
    size_t size;
    const char *dataset = domain_sealed_of(
        f,
        "{\"name\":\"r\",\"environment\":\"cartpole\",\"sensitivity\":\"private\",\"budget\":{"
        "\"epsilon\":10,\"delta\":1e-4,\"accounting\":\"renyi\"}}",
        10);
    const char *policy = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    char *text = export_scene_take(f, &size);
    expect_edit(text, policy, "software_version", "\"1.2\"", NULL, false);
    const char *const pairs[] = {"privacy.epsilon", "0.5", "privacy.epsilon_lower", "0.5", NULL};
    struct verify_report report;
    char *edited = state(text, policy, pairs, &size);
    export_scene_verify(edited, size, NULL, &report);
    cr_expect_eq(report.fault_count, 1);
    cr_expect_str_eq(report.faults[0].what, FIGURES);
    expect_edit(text, policy, "privacy.delta", "1e-8", FIGURES, true);
    expect_edit(text, policy, "privacy.delta", "1e-16", FIGURES, false);
    expect_edit(text, policy, "ledger.exposure.greatest_limit.epsilon", "9", LIMITS, false);
    expect_python_alike();
    free(edited);
    free(text);
}

Test(stated, figures_of_a_teacher_are_those_that_its_account_was_opened_with)
{
    size_t size;
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 8, 4));
    expect_status(made, 201);
    const char *teacher = response_text(made, "/id");
    char *text = export_scene_take(f, &size);
    expect_edit(text, teacher, "software_version", "\"1.2\"", NULL, false);
    expect_edit(text, teacher, "privacy.epsilon", "1", OPENED, false);
    expect_edit(text, teacher, "privacy.delta", "1e-30", OPENED, false);
    expect_edit(text, teacher, "privacy.epsilon", "null", OPENED, false);
    expect_edit(text, teacher, "privacy.unit", "\"expert\"",
                "it states another unit of privacy than its account has", false);
    expect_edit(text, teacher, "privacy.order", "77",
                "it states another order than its account has", false);
    expect_python_alike();
    free(text);
}

static void patch_limit(const char *account, const char *match, const char *body)
{
    const struct ask ask = {.method = "PATCH",
                            .path = domain_path("/v1/ledger/accounts/%s", account),
                            .token = fixture_token(f, "steward"),
                            .body = body,
                            .headers = {{"If-Match", match}}};
    expect_status(fixture_ask(f, &ask), 200);
}

/* What was stated was true when it was stated. */
Test(stated, limits_may_be_raised_and_lowered_later)
{
    struct verify_report report;
    size_t size;
    const char *dataset = domain_sealed(f, "private", 10);
    const char *account = response_text(
        fixture_get(f, "steward", domain_path("/v1/datasets/%s", dataset)), "/account");
    const char *first = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    patch_limit(account, "\"1\"",
                "{\"limit\":{\"epsilon\":2000,\"delta\":1e-2},\"reason\":\"more\"}");
    (void)domain_run(f, domain_private_job(dataset, 2, 5));
    patch_limit(account, "\"2\"", "{\"limit\":{\"epsilon\":9,\"delta\":1e-4},\"reason\":\"less\"}");
    const char *last = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    char *text = export_scene_take(f, &size);
    export_scene_verify(text, size, NULL, &report);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_eq(report.raised, 1);
    expect_edit(text, first, "software_version", "\"1.2\"", NULL, false);
    expect_edit(text, first, "ledger.exposure.limit.epsilon", "2000", LIMITS, false);
    expect_edit(text, last, "ledger.exposure.greatest_limit.epsilon", "9", LIMITS, false);
    expect_python_alike();
    free(text);
}

/* 0 asks the plan to choose. */
Test(stated, parameters_have_no_zero_where_the_plan_chose)
{
    const char *dataset = domain_sealed(f, "private", 10);
    const char *policy = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    struct response *certificate =
        fixture_get(f, "auditor", domain_path("/v1/policies/%s/certificate", policy));
    const json_t *parameters = json_object_get(certificate->json, "parameters");
    cr_expect_eq(json_integer_value(json_object_get(parameters, "batch_size")), 2);
    cr_expect_null(json_object_get(parameters, "noise_multiplier"));
    cr_expect_gt(response_number(certificate, "/plan/noise_multiplier"), 0);
}

#define COVERED "it says that its dataset is covered, after a job that nothing covers"

Test(stated, a_dataset_that_is_not_covered_any_more_never_is_again)
{
    size_t size;
    const char *dataset = domain_sealed(f, "private", 10);
    const char *before = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_unprotected_job(dataset, 2)), 202);
    char *text = export_scene_take(f, &size);
    cr_expect_not_null(strstr(text, domain_path("\"action\":\"uncovered\",\"resource\":\"%s\","
                                                "\"subject\":\"job_",
                                                dataset)));
    expect_edit(text, before, "software_version", "\"1.2\"", NULL, false);
    free(text);
    (void)domain_turn(f, "w", NULL, NULL); /* the unprotected job */
    const char *after = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    text = export_scene_take(f, &size);
    expect_edit(text, after, "software_version", "\"1.2\"", NULL, false);
    expect_edit(text, after, "dataset_covered", "true", COVERED, false);
    expect_python_alike();
    free(text);
}

/* Of a version without such rows in the audit trail. */
Test(stated, a_certificate_of_before_tells_that_the_dataset_was_not_covered)
{
    struct verify_report report;
    size_t size;
    const char *dataset = domain_sealed(f, "private", 10);
    cr_assert_eq(db_run(fixture_db(f), "UPDATE datasets SET uncovered = 1", NULL, 0, NULL, NULL),
                 DB_OK);
    (void)domain_run(f, domain_private_job(dataset, 2, 5));
    export_scene_expect_good(f);
    cr_assert_eq(db_run(fixture_db(f), "DROP TRIGGER datasets_stay_uncovered", NULL, 0, NULL, NULL),
                 DB_OK);
    cr_assert_eq(db_run(fixture_db(f), "UPDATE datasets SET uncovered = 0", NULL, 0, NULL, NULL),
                 DB_OK);
    (void)domain_run(f, domain_private_job(dataset, 2, 5));
    char *text = export_scene_take(f, &size);
    export_scene_verify(text, size, NULL, &report);
    cr_expect_eq(report.fault_count, 1);
    cr_expect_str_eq(report.faults[0].what, COVERED);
    cr_expect_eq(report.uncovered, 1);
    keep_for_python(text, true);
    expect_python_alike();
    free(text);
}
