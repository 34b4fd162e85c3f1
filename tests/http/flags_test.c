/* The command lines of all subcommands: one voice, both forms of a value, and a helpful word about
 * a flag that is misspelt. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/http/server_process.h"

TestSuite(flags, .timeout = 600);

/* A flag of each subcommand, a value that it refuses, and its name misspelt. */
static const struct {
    const char *program;    /* as its errors begin */
    const char *command[2]; /* the words before the flags */
    const char *flag, *value, *refusal, *misspelt;
} COMMANDS[] = {
    {"tacet serve", {"serve"}, "--workers", "65", "is not an integer from 0 to 64", "--worker"},
    {"tacet client create", {"client", "create"}, "--role", "king", "", "--rol"},
    {"tacet client rotate",
     {"client", "rotate"},
     "--overlap-seconds",
     "-1",
     "is not an integer from 0 to 2592000",
     "--overlap"},
    {"tacet student", {"student"}, "--lambda", "-1", "is not a number of at least 0", "--lamda"},
    {"tacet agent", {"agent"}, "--agents", "x", "is not an integer from 1 to 1000000", "--agent"},
    {"tacet experts", {"experts"}, "--select", "best", "is not top or moments", "--selct"},
    {"tacet import", {"import"}, "--last-state", "none", "is not own_row", "--last-stat"},
    {"tacet epsilon", {"epsilon"}, "--sigma", "0", "is not a number above 0", "--sgima"},
    {"tacet replay",
     {"replay"},
     "--tolerance",
     "-1",
     "is not a number of at least 0",
     "--tolerant"},
    {"tacet audit", {"audit"}, "--runs", "1", "is not an integer of at least 2", "--run"},
};
#define COMMAND_COUNT (sizeof COMMANDS / sizeof COMMANDS[0])

/* Runs subcommand I with FIRST and SECOND behind it: its exit code, and all it said in OUT. */
static int run_with(size_t i, const char *first, const char *second, char out[4000])
{
    const char *const *words = COMMANDS[i].command;
    if (words[1] != NULL)
        return tacet_run(out, 4000, words[0], words[1], first, second, NULL);
    return tacet_run(out, 4000, words[0], first, second, NULL);
}

/* OUT is one line of subcommand I that says WHAT. */
static void expect_line(size_t i, int code, const char *out, const char *what)
{
    const char *program = COMMANDS[i].program;
    cr_expect_eq(code, 2, "%s: %d, %s", program, code, out);
    cr_expect_eq(strncmp(out, program, strlen(program)), 0, "%s: %s", program, out);
    cr_expect_eq(strncmp(out + strlen(program), ": ", 2), 0, "%s", out);
    cr_expect_eq(strchr(out, '\n'), out + strlen(out) - 1, "%s: %s", program, out);
    cr_expect_not_null(strstr(out, what), "%s: %s: %s", program, what, out);
}

Test(flags, a_value_follows_a_blank_or_an_equals_sign)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char one[4000], two[4000], joined[100];
        snprintf(joined, sizeof joined, "%s=%s", COMMANDS[i].flag, COMMANDS[i].value);
        int first = run_with(i, COMMANDS[i].flag, COMMANDS[i].value, one);
        int second = run_with(i, joined, NULL, two);
        cr_expect_eq(first, second);
        cr_expect_str_eq(one, two);
        if (COMMANDS[i].refusal[0] != '\0')
            expect_line(i, first, one, COMMANDS[i].flag);
        cr_expect_not_null(strstr(one, COMMANDS[i].refusal), "%s", one);
    }
}

Test(flags, the_nearest_name_of_a_misspelt_flag_is_told)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char out[4000], joined[100], mean[100];
        snprintf(joined, sizeof joined, "%s=secret", COMMANDS[i].misspelt);
        snprintf(mean, sizeof mean, ": no such flag, did you mean %s? --help lists them\n",
                 COMMANDS[i].flag);
        expect_line(i, run_with(i, COMMANDS[i].misspelt, "1", out), out, mean);
        expect_line(i, run_with(i, joined, NULL, out), out, mean);
        cr_expect_null(strstr(out, "secret"), "%s", out);
        expect_line(i, run_with(i, "--xyzzyxyzzy", NULL, out), out,
                    "--xyzzyxyzzy: no such flag; --help lists them\n");
    }
}

Test(flags, a_flag_is_no_other_flags_value)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char out[4000], told[100];
        snprintf(told, sizeof told, "%s: %s: a value must follow\n", COMMANDS[i].program,
                 COMMANDS[i].flag);
        cr_expect_eq(run_with(i, COMMANDS[i].flag, "--json", out), 2);
        cr_expect_str_eq(out, told);
        cr_expect_eq(run_with(i, COMMANDS[i].flag, NULL, out), 2);
        cr_expect_str_eq(out, told);
    }
}

Test(flags, help_shows_the_table_and_needs_nothing_else)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char out[16000];
        cr_expect_eq(tacet_run(out, sizeof out, COMMANDS[i].command[0], "--help", NULL), 0);
        cr_expect_not_null(strstr(out, COMMANDS[i].flag), "%s", out);
        cr_expect_eq(strncmp(out, "usage: tacet ", 13), 0, "%s", out);
    }
}
