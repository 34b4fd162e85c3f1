/* A new signing key: who trusts the old one can go on to it, and to nothing else. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/json/json_text.h"
#include "api/proof/certificate_check.h"
#include "memory/memory.h"
#include "tests/unit/api/export_lines.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/service.h"

static struct proof_keys first; /* key 1 alone */

static void open_service(void)
{
    f = fixture_open();
    first.count = 1;
    memcpy(first.key[0], fixture_app(f)->public_key, 32);
}

TestSuite(rotation, .init = open_service, .fini = service_close);

static struct response *key_set(void)
{
    struct response *set = fixture_get(f, NULL, "/.well-known/jwks.json");
    expect_status(set, 200);
    return set;
}

/* What FOLLOW says of the set JSON, for who trusts key 1. */
static const char *follow(const json_t *json, struct proof_keys *out)
{
    size_t size = 0;
    char *text = json_text_write(json, false, &size);
    *out = first;
    const char *why = proof_keys_follow(text, size, out);
    free(text);
    return why;
}

static char *sign_any(void)
{
    json_t *json = json_pack("{s:s, s:s, s:s}", "id", "crt_a", "subject", "policy", "issued_at",
                             "2027-01-15T08:00:00.000Z");
    char *text = fixture_sign(f, json);
    json_decref(json);
    return text;
}

static const char *judge(const char *text, const struct proof_keys *keys)
{
    struct certificate_facts facts;
    return proof_certificate(text, strlen(text), keys, &facts);
}

Test(rotation, what_each_key_has_signed_holds_for_who_trusts_the_first)
{
    struct proof_keys keys;
    char *text[4];
    for (unsigned i = 0; i < 4; i++) {
        text[i] = sign_any();
        fixture_rotate(f);
    }
    cr_assert_null(follow(key_set()->json, &keys));
    cr_expect_eq(keys.count, 5);
    cr_expect_null(judge(text[0], &first));
    for (unsigned i = 0; i < 4; i++) {
        cr_expect_null(judge(text[i], &keys), "%u", i);
        cr_expect(i == 0 || judge(text[i], &first), "without the chain: %u", i);
        free(text[i]);
    }
}

Test(rotation, the_key_set_has_the_newest_key_first)
{
    char id[2][20];
    snprintf(id[0], sizeof id[0], "%s", response_text(key_set(), "/keys/0/kid"));
    cr_expect_null(response_at(key_set(), "/keys/0/follows"));
    snprintf(id[1], sizeof id[1], "%s", fixture_rotate(f));
    struct response *set = key_set();
    cr_expect_str_eq(response_text(set, "/keys/0/kid"), id[1]);
    cr_expect_str_eq(response_text(set, "/keys/0/follows/kid"), id[0]);
    cr_expect_str_eq(response_text(set, "/keys/0/follows/from"), "2027-01-15T08:00:00.000Z");
    cr_expect_str_eq(response_text(set, "/keys/1/kid"), id[0]);
    cr_expect_null(response_at(set, "/keys/2"));
    struct response *trail = fixture_get(f, "auditor", domain_path("/v1/audit?resource=%s", id[1]));
    cr_expect_str_eq(response_text(trail, "/items/0/action"), "tacet key rotate", "%s",
                     trail->body);
}

static struct db_driver counted;
static unsigned writing;

static enum db_status begin_counted(void *connection, bool will_write, struct db_fault *fault)
{
    writing += will_write;
    return db_driver_sqlite.begin(connection, will_write, fault);
}

static enum db_status sign_within(struct db *db, void *context)
{
    char *text = NULL;
    enum db_status status = certificate_sign(fixture_app(f), db, context, &text);
    free(text);
    return status;
}

/* A failover loses what no commit has waited for: an empty transaction that may write does. A
 * transaction that is open waits itself. */
Test(rotation, a_key_signs_only_after_a_commit_that_waits_for_it)
{
    json_t *json = json_pack("{s:s}", "id", "crt_a");
    counted = db_driver_sqlite;
    counted.begin = begin_counted;
    fixture_close(f);
    f = fixture_open_on(&counted);
    writing = 0;
    cr_assert_eq(sign_within(fixture_db(f), json), DB_OK);
    cr_expect_eq(writing, 1);
    cr_assert_eq(db_transact(fixture_db(f), sign_within, json), DB_OK);
    cr_expect_eq(writing, 2);
    json_decref(json);
}

/* ---- chains that somebody made */

static json_t *three_keys(void)
{
    fixture_rotate(f);
    fixture_rotate(f);
    return json_deep_copy(key_set()->json);
}

static json_t *key_at(json_t *set, size_t i)
{
    return json_array_get(json_object_get(set, "keys"), i);
}

static void set_follows(json_t *set, size_t i, const char *member, const char *text)
{
    json_object_set_new(json_object_get(key_at(set, i), "follows"), member, json_string(text));
}

/* The set leads to no key but the first COUNT. */
static void expect_reaches(json_t *set, unsigned count)
{
    struct proof_keys keys;
    const char *why = follow(set, &keys);
    cr_expect_null(why, "%s", why);
    cr_expect_eq(keys.count, count);
    json_decref(set);
}

static void expect_no_chain(json_t *set, const char *what)
{
    struct proof_keys keys;
    const char *why = follow(set, &keys);
    cr_expect(why && strstr(why, what), "%s", why);
    json_decref(set);
}

Test(rotation, a_chain_may_stand_in_any_order_and_may_not_have_a_gap)
{
    json_t *set = three_keys(), *keys = json_object_get(set, "keys");
    json_array_append(keys, key_at(set, 0));
    json_array_remove(keys, 0);
    expect_reaches(set, 3);
    set = json_deep_copy(key_set()->json);
    json_array_remove(json_object_get(set, "keys"), 1); /* the second one */
    expect_reaches(set, 1);
    set = json_deep_copy(key_set()->json);
    json_object_del(key_at(set, 0), "follows");
    expect_reaches(set, 2);
    expect_reaches(json_pack("{s:[]}", "keys"), 1);
    expect_no_chain(json_pack("[]"), "no key set");
}

Test(rotation, a_key_that_the_one_before_has_not_signed_is_refused)
{
    static const char unsigned_key[] = "is not signed by the one";
    json_t *set = three_keys();
    set_follows(set, 0, "from", "2026-01-15T08:00:00.000Z");
    expect_no_chain(set, unsigned_key);
    set = json_deep_copy(key_set()->json);
    const char *other =
        json_string_value(json_object_get(json_object_get(key_at(set, 1), "follows"), "signature"));
    set_follows(set, 0, "signature", other);
    expect_no_chain(set, unsigned_key);
    set = json_deep_copy(key_set()->json); /* another key under a good statement */
    json_object_set(key_at(set, 0), "x", json_object_get(key_at(set, 2), "x"));
    expect_no_chain(set, unsigned_key);
    set = json_deep_copy(key_set()->json); /* the third one would follow the first */
    set_follows(set, 0, "kid", json_string_value(json_object_get(key_at(set, 2), "kid")));
    expect_no_chain(set, unsigned_key);
}

/* Whoever has an old key can sign that another one follows it, too. */
Test(rotation, two_keys_that_follow_one_are_refused)
{
    char text[SIGNING_TEXT_SIZE], value[100], x[50];
    unsigned char key[32], secret[64], signature[64];
    json_t *set = three_keys();
    crypto_sign_keypair(key, secret);
    size_t size = signing_key_text(first.key[0], key, "2027-01-15T08:00:00.000Z", text);
    crypto_sign_detached(signature, NULL, (unsigned char *)text, size, fixture_app(f)->secret_key);
    sodium_bin2base64(value, sizeof value, signature, 64, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_bin2base64(x, sizeof x, key, 32, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    json_array_append_new(json_object_get(set, "keys"),
                          json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "crv", "Ed25519", "x", x,
                                    "follows", "kid", fixture_app(f)->key_id, "from",
                                    "2027-01-15T08:00:00.000Z", "signature", value));
    expect_no_chain(set, "two keys");
}

/* ---- the log */

Test(rotation, a_checkpoint_is_signed_by_the_newest_key_and_the_one_before)
{
    struct tlog_checkpoint checkpoint;
    struct proof_keys keys;
    for (unsigned i = 0; i < 4; i++) {
        struct response *note = fixture_get(f, "auditor", "/v1/ledger/checkpoint");
        expect_status(note, 200);
        cr_assert_null(follow(key_set()->json, &keys));
        cr_assert_eq(keys.count, i + 1);
        for (unsigned k = 0; k <= i; k++) {
            const char *why =
                tlog_checkpoint_read(note->body, note->size, keys.key[k], &checkpoint);
            cr_expect_eq(why == NULL, k + 2 > i, "key %u of %u", k, i);
        }
        cr_expect_eq(strncmp(checkpoint.origin, "tacet/", 6), 0);
        cr_expect_str_eq(checkpoint.origin + 6, fixture_app(f)->key_id, "the log keeps its name");
        fixture_rotate(f);
    }
}

/* ---- exports */

/* A certificate of before, two keys, and a certificate of the last one. */
static struct export_lines service_lines(void)
{
    size_t size = 0;
    const char *dataset = domain_sealed(f, "private", 10);
    domain_run(f, domain_private_job(dataset, 2, 5));
    fixture_rotate(f);
    fixture_rotate(f);
    domain_run(f, domain_private_job(dataset, 1, 5));
    char *text = export_scene_take(f, &size);
    struct export_lines lines = export_lines_cut(text);
    free(text);
    return lines;
}

static void verify_by(const struct export_lines *lines, const struct proof_keys *keys,
                      struct verify_report *out)
{
    size_t size = 0;
    char *text = export_lines_sign(f, lines, &size);
    export_scene_verify_by(text, size, NULL, keys, out);
    free(text);
}

static const char *const WHATS[] = {"has not signed that this one follows",
                                    "do not lead to",
                                    "does not tell of each",
                                    "another signing key",
                                    "had already been replaced",
                                    "signature of the checkpoint does not hold"};

/* One of the report's faults says WHAT. */
static bool reports(const struct verify_report *report, const char *what)
{
    for (unsigned i = 0; i < report->described; i++)
        if (strstr(report->faults[i].what, what))
            return true;
    return false;
}

Test(rotation, an_export_holds_for_who_has_the_first_key_or_any_later_one)
{
    struct verify_report report;
    struct proof_keys keys, other = {.count = 1, .key = {{7}}};
    struct export_lines lines = service_lines();
    verify_by(&lines, &first, &report);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect(report.trusted);
    cr_expect_eq(report.certificates, 2);
    cr_assert_null(follow(key_set()->json, &keys));
    for (unsigned i = 0; i < 3; i++) {
        struct proof_keys one = {.count = 1};
        memcpy(one.key[0], keys.key[i], 32);
        verify_by(&lines, &one, &report);
        cr_expect_eq(report.fault_count, 0, "key %u: %s", i, report.faults[0].what);
    }
    verify_by(&lines, &other, &report);
    cr_expect(reports(&report, "key of another service"));
    export_lines_clear(&lines);
}

Test(rotation, a_later_export_goes_on_from_one_of_before)
{
    struct verify_report report;
    size_t size[3];
    char *text[3];
    for (unsigned i = 0; i < 3; i++) {
        text[i] = export_scene_take(f, &size[i]);
        fixture_rotate(f);
    }
    for (unsigned i = 0; i < 2; i++) {
        export_scene_verify(text[i + 1], size[i + 1], text[i], &report);
        cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
        export_scene_verify(text[i], size[i], text[i + 1], &report);
        cr_expect(reports(&report, "key of another service"), "it lost its newest key");
    }
    for (unsigned i = 0; i < 3; i++)
        free(text[i]);
}

static void swap_lines(struct export_lines *lines, unsigned a, unsigned b)
{
    char *line = lines->line[a];
    lines->line[a] = lines->line[b];
    lines->line[b] = line;
}

static void drop_line(struct export_lines *lines, unsigned at)
{
    free(lines->line[at]);
    memmove(lines->line + at, lines->line + at + 1, (lines->count - at - 1) * sizeof *lines->line);
    lines->count--;
}

/* Signs the last certificate again, with key 1. */
static void sign_late(struct export_lines *lines)
{
    unsigned at = export_lines_find(lines, "{\"certificate\":");
    unsigned char signature[64];
    char value[100];
    size_t size = 0;
    json_t *line = json_loads(lines->line[at + 1], 0, NULL);
    cr_assert_not_null(line);
    json_t *certificate = json_object_get(line, "certificate");
    const char *before =
        json_string_value(json_object_get(json_object_get(certificate, "signature"), "key_id"));
    if (strcmp(before, fixture_app(f)->key_id) == 0) { /* ids are random */
        json_decref(line);
        line = json_loads(lines->line[at], 0, NULL);
        certificate = json_object_get(line, "certificate");
    } else {
        at++;
    }
    json_object_del(certificate, "signature");
    char *text = json_text_write(certificate, true, &size);
    crypto_sign_detached(signature, NULL, (unsigned char *)text, size, fixture_app(f)->secret_key);
    free(text);
    sodium_bin2base64(value, sizeof value, signature, 64, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    json_object_set_new(certificate, "signature",
                        json_pack("{s:s, s:s, s:s}", "algorithm", "Ed25519", "key_id",
                                  fixture_app(f)->key_id, "value", value));
    text = json_text_write(certificate, true, &size);
    free(lines->line[at]);
    lines->line[at] = memory_format("{\"certificate\":%s}", text);
    free(text);
    json_decref(line);
}

/* Replaces the first FROM of line AT by TO, which is as long. */
static void edit_line(struct export_lines *lines, unsigned at, const char *from, const char *to)
{
    char *found = strstr(lines->line[at], from);
    cr_assert_not_null(found);
    memcpy(found, to, strlen(to));
}

/* Changes signature WHICH of the log's checkpoint. */
static void edit_signature(struct export_lines *lines, unsigned which)
{
    char *at = lines->line[export_lines_find(lines, "{\"checkpoint\":")];
    for (unsigned i = 0; i <= which; i++) {
        at = strstr(at + 1, "\xe2\x80\x94");
        cr_assert_not_null(at);
    }
    at = strchr(strchr(at, ' ') + 1, ' ') + 20;
    *at = *at == 'A' ? 'B' : 'A';
}

/* EDITS[i] of an export, which the newest key signs again. */
static void edit_keys(struct export_lines *lines, unsigned edit)
{
    unsigned at = export_lines_find(lines, "{\"key\":"); /* that of key 1 */
    switch (edit) {
    case 0: swap_lines(lines, at + 1, at + 2); break;
    case 1: swap_lines(lines, at, at + 1); break;
    case 2: drop_line(lines, at + 1); break;
    case 3: drop_line(lines, at + 2); break;
    case 4: drop_line(lines, at); break;
    case 5: edit_line(lines, at + 2, "\"from\":\"2027", "\"from\":\"2026"); break;
    case 6: edit_line(lines, at + 1, "\"signature\":\"", "\"signature\":\"-_-_"); break;
    case 7: sign_late(lines); break;
    case 8: /* fall through */
    case 9: edit_signature(lines, edit - 8); break;
    default: cr_assert_fail();
    }
}

#define EDITS 10

Test(rotation, an_export_whose_keys_are_edited_is_refused_by_both_verifiers, .timeout = 600)
{
    static const unsigned says[EDITS] = {0, 0, 0, 1, 0, 0, 0, 4, 5, 5};
    bool faulty[EDITS + 1];
    char folder[] = EXPORT_FOLDER;
    cr_assert_not_null(mkdtemp(folder));
    struct export_lines lines = service_lines();
    size_t size = 0;
    char *good = export_lines_sign(f, &lines, &size);
    export_lines_save(folder, EDITS, good, NULL);
    for (unsigned i = 0; i < EDITS; i++) {
        struct verify_report report;
        struct export_lines edited = export_lines_cut(good);
        edit_keys(&edited, i);
        verify_by(&edited, &first, &report);
        cr_expect(reports(&report, WHATS[says[i]]), "edit %u: %s", i, report.faults[0].what);
        char *text = export_lines_sign(f, &edited, &size);
        export_lines_save(folder, i, text, NULL);
        free(text);
        export_lines_clear(&edited);
    }
    export_lines_ask_python(folder, EDITS + 1, faulty);
    for (unsigned i = 0; i < EDITS; i++)
        cr_expect(faulty[i], "Python finds nothing in edit %u", i);
    cr_expect_not(faulty[EDITS], "Python finds a fault in what is whole");
    free(good);
    export_lines_clear(&lines);
}
