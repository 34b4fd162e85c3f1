/* `tacet audit` as a process. Its noise is the system's, so a run does not repeat: a sound trainer
 * fails once in a million runs, and a broken clip is missed far more seldom (an event of
 * probability 3/4 against one of 1/1000, 2000 times each). */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tests/http/server_process.h"

static json_t *object_of(const char *out)
{
    const char *end = strchr(out, '\n');
    cr_assert_not_null(end, "%s", out);
    json_t *json = json_loadb(out, (size_t)(end - out), JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(json, "%s", out);
    return json;
}

static double number(const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    cr_assert(json_is_number(value), "%s", name);
    return json_number_value(value);
}

Test(audit, holds_a_sound_trainer_under_its_certificate)
{
    char out[4096];
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(tacet_run(out, sizeof out, "audit", "--algorithm", algorithms[i], "--runs",
                               "4000", "--json", NULL),
                     0, "%s", out);
        json_t *json = object_of(out);
        double certified = number(json, "epsilon_certified"), shown = number(json, "epsilon_shown");
        cr_assert(certified > 2.1 && certified < 2.2, "%s", out);
        cr_assert(shown >= 0.0 && shown <= certified, "%s", out);
        cr_assert_eq(number(json, "counted"), 2000);
        json_decref(json);
    }
}

Test(audit, finds_a_clip_that_is_missing)
{
    char out[4096];
    cr_assert_eq(
        tacet_run(out, sizeof out, "audit", "--runs", "4000", "--break", "clip", "--json", NULL), 1,
        "%s", out);
    json_t *json = object_of(out);
    cr_assert_gt(number(json, "epsilon_shown"), number(json, "epsilon_certified"), "%s", out);
    cr_assert_str_eq(json_string_value(json_object_get(json, "broken")), "clip");
    cr_assert_not_null(strstr(out, "the guarantee does not hold"), "%s", out);
    json_decref(json);
}

/* Counts the rows with that VERDICT. */
static unsigned rows_with(const char *out, const char *verdict)
{
    char member[64];
    unsigned rows = 0;
    snprintf(member, sizeof member, "\"verdict\":\"%s\"", verdict);
    for (const char *at = strstr(out, member); at; at = strstr(at + 1, member))
        rows++;
    return rows;
}

/* Nine noises; each of three algorithms in five ways; and four ways to play, in both arithmetics.
 */
Test(audit, of_all_is_a_table_whose_verdicts_stand)
{
    static char out[16384];
    cr_assert_eq(tacet_run(out, sizeof out, "audit", "--all", "--effort", "0.001", "--json", NULL),
                 0, "%s", out);
    cr_assert_eq(rows_with(out, "stands"), 9 + 3 * 5 + 4 * 2, "%s", out);
    cr_assert_not_null(strstr(out, "\"mechanism\":\"bcq, exact\""), "%s", out);
    cr_assert_not_null(strstr(out, "\"mechanism\":\"dqn, exact\""), "%s", out);
    cr_assert_not_null(strstr(out, "\"mechanism\":\"reinforce, exact\""), "%s", out);
    cr_assert_eq(tacet_run(out, sizeof out, "audit", "--all", "--effort", "0.001", "--json",
                           "--break", "clip", NULL),
                 1, "%s", out);
    cr_assert_geq(rows_with(out, "refuted"), 3 * 2, "%s", out); /* inputs, in both arithmetics */
    cr_assert_not_null(strstr(out, "a claim is refuted"), "%s", out);
}

Test(audit, refuses_what_it_does_not_know_in_one_line)
{
    static const char *const wrong[][2] = {
        {"--algorithm", "q"},        {"--break", "all"}, {"--experts", "0"}, {"--experts", "1.5"},
        {"--noise-multiplier", "0"}, {"--delta", "nan"}, {"--runs", "1"},    {"--steps", ""},
        {"--colour", "1"},           {"cql", "1"},       {"--runs", NULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char out[4096];
        cr_assert_eq(tacet_run(out, sizeof out, "audit", wrong[i][0], wrong[i][1], NULL), 2,
                     "%s: %s", wrong[i][0], out);
        char *end = strchr(out, '\n');
        cr_assert(end != NULL && end[1] == '\0' && strncmp(out, "tacet audit: ", 13) == 0, "%s",
                  out);
    }
    static const char *const ignored[] = {"algorithm",        "experts", "steps",
                                          "noise-multiplier", "delta",   "runs"};
    char out[4096], flag[40], says[80];
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        snprintf(flag, sizeof flag, "--%s", ignored[i]);
        snprintf(says, sizeof says, "tacet audit: %s does nothing with --all\n", flag);
        const char *value = i == 0 ? "bcq" : "0.1";
        if (i == 1 || i == 2 || i == 5)
            value = "3";
        cr_assert_eq(
            tacet_run(out, sizeof out, "audit", "--all", "--effort", "0.0001", flag, value, NULL),
            2, "%s: %s", flag, out);
        cr_expect_str_eq(out, says);
    }
    cr_assert_eq(tacet_run(out, sizeof out, "audit", "--runs", "2", "--effort", "0.5", NULL), 2);
    cr_expect_str_eq(out, "tacet audit: --effort goes with --all\n");
    char help[4096];
    cr_assert_eq(tacet_run(help, sizeof help, "audit", "--help", NULL), 0);
    cr_assert_not_null(strstr(help, "--noise-multiplier"));
}
