/* A key that was replaced is known to somebody else: what it has signed since then, and the other
 * key that it says follows it. tacet and verify.py say the same. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/json/json_text.h"
#include "api/proof/certificate_check.h"
#include "memory/memory.h"
#include "tests/unit/api/export_lines.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/service.h"

#define NOW       "2027-01-15T08:00:00.000Z" /* of the fixture, and of its exports */
#define LONG_AGO  "2027-01-13T08:00:00.000Z"
#define YESTERDAY "2027-01-14T08:00:00.000Z"
#define TOO_LONG  "2027-01-15T08:00:00.000Z      and"
#define VARIANT   sodium_base64_VARIANT_URLSAFE_NO_PADDING

static char folder[64];

static void open_forks(void)
{
    f = fixture_open();
    snprintf(folder, sizeof folder, EXPORT_FOLDER);
    cr_assert_not_null(mkdtemp(folder));
}

static void close_forks(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_expect_eq(system(command), 0);
    fixture_close(f);
}

TestSuite(key_forks, .init = open_forks, .fini = close_forks, .timeout = 300);

/* ---- keys that the first key says follow it */

static json_t *x_of(const unsigned char key[32])
{
    char x[50];
    sodium_bin2base64(x, sizeof x, key, 32, VARIANT);
    return json_string(x);
}

static json_t *first_key(void)
{
    return json_pack("{s:s, s:o}", "crv", "Ed25519", "x", x_of(fixture_app(f)->public_key));
}

/* The key of the seed N, of which the first one says that it follows it since FROM. */
static json_t *other_key(unsigned char n, const char *from)
{
    unsigned char key[32], secret[64], signature[64], seed[32] = {n};
    char text[300], value[100], *x[2];
    json_t *json[2] = {NULL, x_of(fixture_app(f)->public_key)};
    crypto_sign_seed_keypair(key, secret, seed);
    json[0] = x_of(key);
    for (unsigned i = 0; i < 2; i++)
        x[i] = memory_copy_text(json_string_value(json[i]));
    int size = snprintf(text, sizeof text, "tacet key 1 %s follows %s from %s\n", x[0], x[1], from);
    crypto_sign_detached(signature, NULL, (unsigned char *)text, (size_t)size,
                         fixture_app(f)->secret_key);
    sodium_bin2base64(value, sizeof value, signature, 64, VARIANT);
    for (unsigned i = 0; i < 2; i++)
        free(x[i]);
    json_decref(json[1]);
    return json_pack("{s:s, s:o, s:{s:s, s:s, s:s}}", "crv", "Ed25519", "x", json[0], "follows",
                     "kid", fixture_app(f)->key_id, "from", from, "signature", value);
}

/* The same with another text for one member of what it says. */
static json_t *edited_key(const char *member, const char *text)
{
    json_t *key = other_key(1, NOW);
    json_object_set_new(json_object_get(key, "follows"), member, json_string(text));
    return key;
}

/* A set of these keys, which become its own; NULL ends them. */
static char *set_of(json_t *a, json_t *b, json_t *c)
{
    size_t size = 0;
    json_t *set = json_pack("{s:[]}", "keys"), *keys = json_object_get(set, "keys");
    json_t *all[] = {a, b, c};
    for (unsigned i = 0; i < 3 && all[i]; i++)
        json_array_append_new(keys, all[i]);
    char *text = json_text_write(set, true, &size);
    json_decref(set);
    return text;
}

static char *served_set(void)
{
    struct response *set = fixture_get(f, NULL, "/.well-known/jwks.json");
    expect_status(set, 200);
    return memory_copy_text(set->body);
}

/* ---- both programs */

/* What C says of the first fault in EXPORT by the set KEYS, and NEWER (NULL: none); "": nothing. */
static const char *ask_verifier(const char *export, const char *keys_text, const char *newer,
                                char followed[SIGNING_TIME_SIZE])
{
    static struct verify_report report;
    static struct proof_keys keys;
    report = (struct verify_report){.begun = false};
    const char *why = proof_keys_read(keys_text, strlen(keys_text), &keys);
    if (!why && newer)
        why = proof_keys_follow(newer, strlen(newer), &keys);
    if (why)
        return why;
    export_scene_verify_by(export, strlen(export), NULL, &keys, &report);
    memcpy(followed, report.followed, SIGNING_TIME_SIZE);
    return report.faults[0].what;
}

static void write_text(const char *name, const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

/* Python says WHAT of the same; "": it holds. */
static void expect_of_python(const char *export, const char *keys, const char *newer,
                             const char *what)
{
    char command[400], said[4000];
    write_text("export", export);
    write_text("keys", keys);
    write_text("newer", newer ? newer : "");
    snprintf(command, sizeof command,
             "cd %s && python3 $OLDPWD/scripts/verify.py --keys keys %s export 2>&1", folder,
             newer ? "--newer newer" : "");
    FILE *python = popen(command, "r");
    cr_assert_not_null(python);
    said[fread(said, 1, sizeof said - 1, python)] = '\0';
    cr_expect_eq(pclose(python) == 0, what[0] == '\0', "%s", said);
    cr_expect_not_null(strstr(said, what), "Python, not \"%s\": %s", what, said);
}

/* Both say WHAT ("": it holds) of EXPORT by KEYS and NEWER, which are freed. */
static void expect_both(const char *export, char *keys, char *newer, const char *what)
{
    char followed[SIGNING_TIME_SIZE] = "";
    const char *said = ask_verifier(export, keys, newer, followed);
    cr_expect(what[0] == '\0' ? said[0] == '\0' : strstr(said, what) != NULL, "C, not \"%s\": %s",
              what, said);
    expect_of_python(export, keys, newer, what);
    free(keys);
    free(newer);
}

static char *take_export(void)
{
    size_t size = 0;
    return export_scene_take(f, &size);
}

/* ---- another key that follows */

#define PARTS "it names another successor of a trusted key"

/* Of the two keys that follow the first, the service's is the false one here. */
Test(key_forks, an_export_does_not_go_on_to_another_key_than_the_trusted_set)
{
    fixture_rotate(f);
    char *export = take_export();
    expect_both(export, served_set(), NULL, "");
    expect_both(export, set_of(first_key(), NULL, NULL), NULL, "");
    expect_both(export, set_of(other_key(1, NOW), first_key(), NULL), NULL, PARTS);
    expect_both(export, set_of(other_key(1, NOW), NULL, NULL), NULL, PARTS);
    expect_both(export, set_of(first_key(), NULL, NULL), set_of(other_key(1, NOW), NULL, NULL),
                PARTS);
    free(export);
}

/* It is revoked then: nothing that ends at it holds, however old it says that it is. */
Test(key_forks, a_key_may_be_taken_out_of_the_trusted_set)
{
    char *before = take_export(), *served, *text[2];
    size_t size = 0;
    fixture_rotate(f);
    char *export = take_export();
    json_t *set = json_loads(served = served_set(), 0, NULL);
    json_array_remove(json_object_get(set, "keys"), 1);
    for (unsigned i = 0; i < 2; i++)
        text[i] = json_text_write(set, true, &size);
    expect_both(export, text[0], NULL, "");
    expect_both(before, text[1], NULL, "key of another service");
    json_decref(set);
    free(served);
    free(before);
    free(export);
}

#define TWO     "two keys of the set follow the same one"
#define ALREADY "names another successor of a key than is known"
#define NO_SIGN "is not signed by the one that it follows"

Test(key_forks, a_set_does_not_go_on_to_another_key_than_the_trusted_set)
{
    char *export = take_export();
    expect_both(export, set_of(other_key(1, NOW), first_key(), NULL),
                set_of(other_key(2, NOW), NULL, NULL), ALREADY);
    expect_both(export, set_of(other_key(1, NOW), first_key(), NULL),
                set_of(other_key(1, NOW), first_key(), NULL), "");
    expect_both(export, set_of(other_key(1, NOW), first_key(), other_key(2, NOW)), NULL, TWO);
    expect_both(export, set_of(other_key(1, NOW), other_key(2, NOW), NULL), NULL, TWO);
    free(export);
}

/* ---- a key that was followed */

#define LATE "another key had followed the one that signs it"

Test(key_forks, a_key_that_was_followed_signs_no_export_of_a_day_later)
{
    char *export = take_export(), followed[SIGNING_TIME_SIZE];
    char *set = set_of(other_key(1, YESTERDAY), first_key(), NULL);
    cr_expect_str_eq(ask_verifier(export, set, NULL, followed), "");
    cr_expect_str_eq(followed, YESTERDAY);
    expect_of_python(export, set, NULL, "");
    free(set);
    expect_both(export, set_of(other_key(1, LONG_AGO), first_key(), NULL), NULL, LATE);
    expect_both(export, set_of(first_key(), NULL, NULL), set_of(other_key(1, LONG_AGO), NULL, NULL),
                LATE);
    free(export);
}

/* Signs what names TIME under MEMBER, and gives what is said of it by the set, which is freed. */
static const char *judge_time(const char *member, const char *time, char *set, char followed[32])
{
    static struct proof_keys keys;
    struct certificate_facts facts;
    json_t *json = json_pack("{s:s, s:s}", "type", "erasure", member, time);
    char *text = fixture_sign(f, json);
    cr_assert_null(proof_keys_read(set, strlen(set), &keys));
    const char *why = proof_receipt(text, strlen(text), &keys, &facts);
    memcpy(followed, facts.followed, sizeof facts.followed);
    json_decref(json);
    free(text);
    free(set);
    return why;
}

Test(key_forks, nor_a_certificate_or_receipt)
{
    static const char *const members[] = {"issued_at", "erased_at"};
    char followed[SIGNING_TIME_SIZE];
    for (unsigned i = 0; i < 2; i++) {
        const char *m = members[i];
        cr_expect_null(judge_time(m, NOW, set_of(first_key(), NULL, NULL), followed));
        cr_expect_str_eq(followed, "");
        cr_expect_null(
            judge_time(m, NOW, set_of(first_key(), other_key(1, YESTERDAY), NULL), followed));
        cr_expect_str_eq(followed, YESTERDAY);
        cr_expect(judge_time(m, NOW, set_of(first_key(), other_key(1, LONG_AGO), NULL), followed));
        cr_expect(judge_time(m, "now", set_of(first_key(), other_key(1, NOW), NULL), followed),
                  "of no time");
    }
}

/* ---- forms */

Test(key_forks, a_statement_of_another_form_is_refused)
{
    char *export = take_export();
    const char *const id = fixture_app(f)->key_id;
    char longer[40];
    snprintf(longer, sizeof longer, "%s0", id);
    expect_both(export, set_of(first_key(), edited_key("signature", "AAAA"), NULL), NULL, NO_SIGN);
    expect_both(export, set_of(first_key(), edited_key("from", YESTERDAY), NULL), NULL, NO_SIGN);
    expect_both(export, set_of(first_key(), edited_key("kid", longer), NULL), NULL, NO_SIGN);
    expect_both(export, set_of(first_key(), other_key(1, TOO_LONG), NULL), NULL, NO_SIGN);
    char *(*const trusted)(void) = served_set;
    expect_both(export, trusted(), set_of(edited_key("signature", "AAAA"), NULL, NULL), NO_SIGN);
    expect_both(export, trusted(), set_of(edited_key("signature", "A"), NULL, NULL), NO_SIGN);
    expect_both(export, trusted(), set_of(other_key(1, TOO_LONG), NULL, NULL), NO_SIGN);
    expect_both(export, trusted(), set_of(other_key(1, "then"), NULL, NULL), NO_SIGN);
    expect_both(export, trusted(), set_of(edited_key("kid", longer), NULL, NULL), "");
    expect_both(export, trusted(), set_of(other_key(1, NOW), other_key(2, NOW), NULL), TWO);
    free(export);
}

Test(key_forks, a_file_without_keys_is_no_key_set)
{
    static const char *const texts[] = {"", "{", "[]", "7", "{}", "{\"keys\":7}", "{\"keys\":{}}"};
    char *export = take_export();
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect_both(export, served_set(), memory_copy_text(texts[i]), "it is no key set");
        expect_both(export, memory_copy_text(texts[i]), NULL, "it is no key set");
    }
    expect_both(export, set_of(NULL, NULL, NULL), NULL, "has no Ed25519 key");
    free(export);
}

/* The text of LINES, signed again; they are cleared. */
static char *sign_lines(struct export_lines *lines)
{
    size_t size = 0;
    char *text = export_lines_sign(f, lines, &size);
    export_lines_clear(lines);
    return text;
}

static struct export_lines export_of_two(void)
{
    fixture_rotate(f);
    char *export = take_export();
    struct export_lines lines = export_lines_cut(export);
    free(export);
    return lines;
}

/* Puts TO where the first FROM of line AT is. */
static void replace_text(struct export_lines *lines, unsigned at, const char *from, const char *to)
{
    char *line = lines->line[at], *found = strstr(line, from);
    cr_assert_not_null(found);
    lines->line[at] =
        memory_format("%.*s%s%s", (int)(found - line), line, to, found + strlen(from));
    free(line);
}

Test(key_forks, an_export_with_lines_of_keys_has_two_at_least)
{
    char *export = take_export();
    struct export_lines lines = export_lines_cut(export);
    free(export);
    replace_text(&lines, 0, "\"version\":3", "\"version\":4");
    memmove(lines.line + 2, lines.line + 1, (lines.count++ - 1) * sizeof *lines.line);
    json_t *x = x_of(fixture_app(f)->public_key);
    lines.line[1] = memory_format("{\"key\":{\"kid\":\"%s\",\"x\":\"%s\",\"follows\":\"\","
                                  "\"from\":\"\",\"signature\":\"\"}}",
                                  fixture_app(f)->key_id, json_string_value(x));
    json_decref(x);
    export = sign_lines(&lines);
    expect_both(export, served_set(), NULL, "its keys do not lead to the one that signs it");
    free(export);
}

/* The first key has signed the time up to where somebody may cut it. */
Test(key_forks, a_line_of_a_key_is_read_to_its_end)
{
    static const char cut[] = NOW "       ";
    unsigned char signature[64], key[32];
    char text[SIGNING_TEXT_SIZE], value[100], followed[SIGNING_TIME_SIZE], *keys = served_set();
    struct export_lines lines = export_of_two();
    unsigned at = export_lines_find(&lines, "{\"key\":") + 1;
    json_t *line = json_loads(lines.line[at], 0, NULL), *said = json_object_get(line, "key");
    cr_assert(proof_bytes_read(json_string_value(json_object_get(said, "x")), key, sizeof key));
    size_t size = signing_key_text(fixture_app(f)->public_key, key, cut, text);
    crypto_sign_detached(signature, NULL, (unsigned char *)text, size, fixture_app(f)->secret_key);
    sodium_bin2base64(value, sizeof value, signature, 64, VARIANT);
    replace_text(&lines, at, json_string_value(json_object_get(said, "signature")), value);
    replace_text(&lines, at, json_string_value(json_object_get(said, "from")), NOW "       more");
    json_decref(line);
    char *export = sign_lines(&lines);
    cr_expect_neq(ask_verifier(export, keys, NULL, followed)[0], '\0');
    expect_of_python(export, keys, NULL, "has not signed that this one follows");
    free(export);
    free(keys);
}

Test(key_forks, the_audit_trail_tells_of_the_keys_id_and_of_no_more)
{
    char id[20], more[40], *keys;
    struct export_lines lines = export_of_two();
    keys = served_set();
    unsigned at = export_lines_find(&lines, "{\"audit\":");
    while (!strstr(lines.line[at], SIGNING_ROTATED))
        at++;
    snprintf(id, sizeof id, "%.16s", strstr(lines.line[at], "\"resource\":\"") + 12);
    snprintf(more, sizeof more, "%s-more", id);
    replace_text(&lines, at, id, more);
    char *export = sign_lines(&lines);
    expect_both(export, keys, NULL, "it tells of another signing key than the export");
    free(export);
}
