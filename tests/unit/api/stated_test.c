/* A certificate that the service's own key has signed anew, with other figures than the ledger has,
 * or as that of something else, is found by both programs that check exports. */
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
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/kickstart_desk.h"
#include "tests/unit/api/service.h"

#define EDITS_MOST 40

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
 * one for each further pair until NULL: signed anew, both. Where it gets another id, it stands
 * behind the first one. */
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
        if (strcmp(pairs[0], "id") == 0) {
            (void)buffer_add(&out, line, most);
            lines++;
        }
        line[most - 2] = '\0';
        json_t *certificate = json_text_stored(line + sizeof begin - 1);
        json_object_del(certificate, "signature");
        for (unsigned i = 0; pairs[i]; i += 2)
            set_member(certificate, pairs[i], json_loads(pairs[i + 1], JSON_DECODE_ANY, NULL));
        char *anew = fixture_sign(f, certificate);
        (void)buffer_add_format(&out, "%s%s}\n", begin, anew);
        json_decref(certificate);
        free(anew);
        free(line);
        met++;
    }
    cr_assert_eq(met, 1, "%u certificates have %s", met, subject);
    return export_scene_sign(f, &out, lines, size);
}

/* Expects WHAT first of the export TEXT whose certificate about SUBJECT states the PAIRS, as of
 * state(). NULL: it is good. Python has to say so, too, unless FOR_TACET. */
static void expect_edits(const char *text, const char *subject, const char *const pairs[],
                         const char *what, bool for_tacet)
{
    struct verify_report report;
    size_t size;
    char *edited = state(text, subject, pairs, &size);
    export_scene_verify(edited, size, NULL, &report);
    cr_expect_eq(report.fault_count > 0, what != NULL, "%s = %s: %lld faults, %s, %s", pairs[0],
                 pairs[1], (long long)report.fault_count, report.faults[0].what,
                 report.faults[1].what);
    if (what)
        cr_expect(strstr(report.faults[0].what, what) == report.faults[0].what, "%s = %s: %s",
                  pairs[0], pairs[1], report.faults[0].what);
    keep_for_python(edited, what && !for_tacet);
    free(edited);
}

static void expect_edit(const char *text, const char *subject, const char *path, const char *value,
                        const char *what, bool for_tacet)
{
    expect_edits(text, subject, (const char *const[]){path, value, NULL}, what, for_tacet);
}

#define FIGURES "it states other figures than its job has paid"
#define LIMITS  "it states other limits than its account had"
#define NONE    "its figures are none of differential privacy"
#define OPENED  "it states another epsilon or delta than its account was opened with"
#define OTHER   "the account that it names is for something else"
#define NOBODY  "the account that it names is no dataset's and no teacher's"
#define FORGOT  "it names no account, and one has paid for its job"

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
    expect_edit(text, policy, "privacy.epsilon", "2.5",
                FIGURES ": epsilon 2.5 and delta 1e-06, not 1.99916854 and 1e-06", false);
    expect_edit(text, policy, "privacy.delta", "1e-7", FIGURES, false);
    expect_edit(text, policy, "privacy.delta", "null", NONE, false);
    expect_edit(text, policy, "privacy.epsilon", "-1", NONE, false);
    expect_edit(text, policy, "job", "\"job_aaaaaaaaaaaaaaaaaaaaaaaaaa\"",
                "its account has no settlement of its job", false);
    expect_edit(text, policy, "ledger.exposure.limit.epsilon", "1", LIMITS, false);
    expect_edit(text, policy, "ledger.exposure.greatest_limit.epsilon", "1", LIMITS, false);
    expect_edit(text, policy, "ledger.exposure.greatest_limit.delta", "1e-9", LIMITS, false);
    expect_python_alike();
    free(text);
}

#define EPSILON(value) "privacy.epsilon", value, "privacy.epsilon_lower", value
#define ENTRY(account, entries, head)                                                              \
    "ledger.account", account, "ledger.entries", entries, "ledger.head", head, "ledger.proof",     \
        "null"
#define UNNAMED                                                                                    \
    "ledger.account", "null", "ledger.entries", "null", "ledger.head", "null", "ledger.proof",     \
        "null", "ledger.exposure", "null"

static const char *json_text_of(const json_t *json)
{
    char *text = json_dumps(json, JSON_ENCODE_ANY);
    const char *copy = domain_path("%s", text);
    free(text);
    return copy;
}

/* The member NAME of the certificate of THING, as "policies/pol_x", as JSON. */
static const char *certified_member(const char *thing, const char *name)
{
    struct response *certificate =
        fixture_get(f, "auditor", domain_path("/v1/%s/certificate", thing));
    expect_status(certificate, 200);
    return json_text_of(json_object_get(certificate->json, name));
}

/* Of the export TEXT the hash of the first entry of the account ID, as JSON. */
static const char *first_hash(const char *text, const char *id)
{
    static const char member[] = "\"hash\":";
    const char *at =
        strstr(text, domain_path("{\"entry\":{\"account\":\"%s\",\"sequence\":1,", id));
    cr_assert_not_null(at);
    at = strstr(at, member) + sizeof member - 1;
    return domain_path("%.66s", at);
}

/* The account of a client that has asked TEACHER, which it opens, and the hash of its first entry,
 * both as JSON. */
static void ask_teacher(const char *teacher, const char **out_account, const char **out_head)
{
    struct ledger_account account;
    char hex[2 * LEDGER_HASH_SIZE + 1];
    expect_status(fixture_post(f, "student", domain_path("/v1/teachers/%s/queries", teacher),
                               "{\"state\":[0,0,0,0]}"),
                  200);
    cr_assert_eq(ledger_find_for(fixture_db(f), LEDGER_CLIENT, teacher,
                                 fixture_client(f, "student"), &account),
                 DB_OK);
    sodium_bin2hex(hex, sizeof hex, account.head, sizeof account.head);
    *out_account = domain_path("\"%s\"", account.id);
    *out_head = domain_path("\"%s\"", hex);
}

Test(stated, a_policy_has_the_certificate_of_its_own_job)
{
    size_t size;
    const char *open = domain_sealed_of(
        f, "{\"name\":\"o\",\"environment\":\"cartpole\",\"sensitivity\":\"public\"}", 10);
    const char *dataset = domain_sealed(f, "private", 10);
    struct response *other = domain_run(f, domain_private_job(dataset, 2, 5));
    const char *policy = response_text(domain_run(f, domain_private_job(dataset, 3, 5)), "/policy");
    const char *free_one = response_text(domain_run(f, domain_private_job(open, 3, 5)), "/policy");
    const char *job = domain_path("\"%s\"", response_text(other, "/id"));
    const char *privacy =
        certified_member(domain_path("policies/%s", response_text(other, "/policy")), "privacy");
    char *text = export_scene_take(f, &size);
    const char *const pairs[] = {"job", job, "privacy", privacy, NULL};
    struct verify_report report;
    char *edited = state(text, policy, pairs, &size);
    export_scene_verify(edited, size, NULL, &report);
    cr_expect_eq(report.fault_count, 2);
    cr_expect_str_eq(report.faults[0].what, "another policy is of its job");
    cr_expect_str_eq(report.faults[1].what,
                     "its certificate names another job than the audit trail");
    keep_for_python(edited, true);
    expect_edit(text, free_one, "software_version", "\"1.2\"", NULL, false);
    expect_edit(text, free_one, "job", "\"job_aaaaaaaaaaaaaaaaaaaaaaaaaa\"",
                "its certificate names another job than the audit trail", false);
    const char *id = certified_member(domain_path("policies/%s", free_one), "id");
    expect_edit(text, free_one, "id", domain_path("%.*sz\"", (int)strlen(id) - 1, id),
                "two certificates are about it", false);
    expect_python_alike();
    free(edited);
    free(text);
}

Test(stated, a_certificate_may_not_forget_its_account)
{
    const char *account, *head;
    size_t size;
    const char *dataset = domain_sealed(f, "private", 10);
    const char *policy = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 8, 4));
    expect_status(made, 201);
    const char *teacher = response_text(made, "/id");
    ask_teacher(teacher, &account, &head);
    const char *student =
        domain_path("{\"id\":\"%s\",\"client\":\"%s\"}", teacher, fixture_client(f, "student"));
    char *text = export_scene_take(f, &size);
    expect_edits(text, policy, (const char *const[]){EPSILON("0.1"), UNNAMED, NULL}, FORGOT, false);
    expect_edits(text, policy,
                 (const char *const[]){EPSILON("0"), "privacy.delta", "0", UNNAMED, "teacher",
                                       student, NULL},
                 FORGOT, false);
    expect_edits(text, policy,
                 (const char *const[]){EPSILON("0.1"), ENTRY(account, "2", head), NULL}, NOBODY,
                 false);
    expect_edits(text, policy,
                 (const char *const[]){EPSILON("0.1"),
                                       ENTRY("\"acc_00000000000000000000\"", "null", "null"), NULL},
                 NOBODY, false);
    expect_edits(
        text, teacher,
        (const char *const[]){"privacy.epsilon", "0.01", ENTRY("null", "null", "null"), NULL},
        "it names no account", false);
    expect_python_alike();
    free(text);
}

Test(stated, a_teacher_has_the_certificate_of_its_own_account)
{
    size_t size;
    const char *teachers[2];
    for (int i = 0; i < 2; i++) {
        struct response *made =
            fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 8 - i, 4));
        expect_status(made, 201);
        teachers[i] = response_text(made, "/id");
    }
    const char *other = domain_path("teachers/%s", teachers[1]);
    const char *const pairs[] = {"privacy", certified_member(other, "privacy"), "ledger",
                                 certified_member(other, "ledger"), NULL};
    char *text = export_scene_take(f, &size);
    expect_edit(text, teachers[0], "software_version", "\"1.2\"", NULL, false);
    expect_edits(text, teachers[0], pairs, OTHER, false);
    expect_python_alike();
    free(text);
}

/* The account of a dataset whose budget was converted is for the account before it. */
Test(stated, a_job_has_the_certificate_of_its_own_dataset)
{
    size_t size;
    const char *dataset = domain_sealed(f, "private", 10), *other = domain_dataset(f, "private");
    const char *before = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:compose", dataset), "{}"),
                  200);
    const char *after = response_text(domain_run(f, domain_private_job(dataset, 2, 5)), "/policy");
    other = domain_path("\"%s\"", other);
    char *text = export_scene_take(f, &size);
    for (int i = 0; i < 2; i++) {
        const char *policy = i == 0 ? before : after;
        expect_edit(text, policy, "software_version", "\"1.2\"", NULL, false);
        expect_edit(text, policy, "dataset", other, OTHER, false);
        expect_edit(text, policy, "dataset", "null", OTHER, false);
    }
    expect_python_alike();
    free(text);
}

/* What a student states is a limit of whoever paid for it, and nothing where nobody answered. */
Test(stated, a_student_states_what_its_payer_had)
{
    static const char guarantee[] =
        "it states another guarantee than a limit of whom it was trained for";
    size_t size;
    const char *teacher = kickstart_teacher(f, 1e4);
    const char *policy = response_text(domain_run(f, kickstart_job(teacher, "", "")), "/policy");
    char *text = export_scene_take(f, &size);
    expect_edit(text, policy, "software_version", "\"1.2\"", NULL, false);
    expect_edit(text, policy, "privacy.epsilon", "9", guarantee, false);
    expect_edit(text, policy, "privacy.delta", "null", NONE, false);
    expect_edits(text, policy,
                 (const char *const[]){"privacy.epsilon", "9", "teacher.client",
                                       "\"cli_00000000000000000000\"", NULL},
                 guarantee, false);
    expect_python_alike();
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
    expect_edits(text, policy, (const char *const[]){EPSILON("0.5"), NULL}, FIGURES, true);
    expect_edit(text, policy, "privacy.delta", "1e-8", FIGURES, true);
    expect_edit(text, policy, "privacy.delta", "1e-16", FIGURES, false);
    expect_edit(text, policy, "ledger.exposure.greatest_limit.epsilon", "9", LIMITS, false);
    expect_python_alike();
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
    expect_edit(text, teacher, "privacy.epsilon", "null", NONE, false);
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

#define COVERED  "it does not say that an earlier job on its dataset is not covered"
#define UNPROVEN "it has no proof that the log has its entry"

/* A teacher over policies of shards of DATASET, which its certificate names. */
static const char *expert_teacher(const char *dataset)
{
    struct response *job = domain_run(
        f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":50,\"parameters\":"
                       "{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                       dataset));
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path(
            "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.1},"
            "\"adjacency\":{\"unit\":\"expert\"},\"budget\":{\"epsilon\":6,\"delta\":1e-6},"
            "\"client_budget\":{\"epsilon\":4,\"delta\":1e-6}}",
            response_text(job, "/policy")));
    expect_status(made, 201);
    return response_text(made, "/id");
}

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
    const char *account = response_text(domain_budget(f, dataset), "/account");
    text = export_scene_take(f, &size);
    const char *head = first_hash(text, account);
    account = domain_path("\"%s\"", account);
    expect_edit(text, after, "software_version", "\"1.2\"", NULL, false);
    expect_edit(text, after, "dataset_covered", "true", COVERED, false);
    expect_edit(text, after, "dataset_covered", "null", COVERED, false);
    expect_edit(text, after, "ledger.proof", "null", UNPROVEN, false);
    expect_edit(text, before, "ledger.proof", "null", UNPROVEN, false);
    expect_edits(text, after,
                 (const char *const[]){"dataset_covered", "true", ENTRY(account, "1", head), NULL},
                 UNPROVEN, false);
    expect_edits(
        text, after,
        (const char *const[]){"dataset_covered", "true", ENTRY(account, "null", "null"), NULL},
        UNPROVEN, false);
    free(text);
    const char *teacher = expert_teacher(dataset);
    text = export_scene_take(f, &size);
    expect_edit(text, teacher, "software_version", "\"1.2\"", NULL, false);
    expect_edits(text, teacher,
                 (const char *const[]){"dataset_covered", "true", "ledger.proof", "null", NULL},
                 COVERED, false);
    expect_python_alike();
    free(text);
}

/* Their certificates name no dataset: what one says is not said of the dataset of the other. */
Test(stated, teachers_of_observations_are_of_datasets_of_their_own)
{
    struct verify_report report;
    size_t size;
    const char *first = domain_sealed(f, "private", 10), *second = domain_sealed(f, "private", 10);
    const char *policy = response_text(domain_run(f, domain_unprotected_job(first, 2)), "/policy");
    const char *body = domain_teacher(policy, 1000, 900);
    expect_status(fixture_post(f, "steward", "/v1/teachers",
                               domain_path("{\"i_understand\":\"not_private\",%s", body + 1)),
                  201);
    policy = response_text(domain_run(f, domain_private_job(second, 2, 5)), "/policy");
    expect_status(fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 8, 4)), 201);
    char *text = export_scene_take(f, &size);
    export_scene_verify(text, size, NULL, &report);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_eq(report.uncovered, 1);
    keep_for_python(text, false);
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
