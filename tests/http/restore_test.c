/* tacet restore that fails, and what it leaves. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/http/server_process.h"

static struct server_process server;
static char folder[] = "/tmp/tacet-restore-XXXXXX", said[2000];

/* Runs LINE in a shell in the folder, where $T is the program; the exit code. */
static int run_line(const char *line)
{
    char whole[1000];
    int written =
        snprintf(whole, sizeof whole, "T=$(realpath %s); cd %s && { %s; } 2>&1 </dev/null",
                 server_program(), folder, line);
    cr_assert_lt(written, (int)sizeof whole);
    FILE *pipe = popen(whole, "r");
    cr_assert_not_null(pipe);
    said[fread(said, 1, sizeof said - 1, pipe)] = '\0';
    int status = pclose(pipe);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A restore with ARGUMENTS into the directory "new" fails and says WHY. */
static void expect_failed(const char *arguments, const char *why)
{
    char line[400];
    snprintf(line, sizeof line, "$T restore --data new --from to %s", arguments);
    cr_expect_eq(run_line(line), 1, "%s", said);
    cr_expect_not_null(strstr(said, why), "%s", said);
}

Test(restore, that_fails_leaves_the_directory_as_it_was, .timeout = 200)
{
    char token[160], line[400];
    server_prepare(&server);
    server_token(&server, "admin", token);
    cr_assert_not_null(mkdtemp(folder));
    snprintf(
        line, sizeof line,
        "mkdir to marks; $T backup --make-identity other; R=$($T backup --make-identity id) && "
        "$T backup --data %s --to to --recipient $R",
        server.data);
    cr_assert_eq(run_line(line), 0, "%s", said);
    snprintf(line, sizeof line,
             "printf 'data = %s\nworkers = 3\nlisten = 127.0.0.1:1\n' >conf && R=$("
             "$T backup --make-identity id2) && $T backup --config conf --to to --recipient $R",
             server.data);
    cr_expect_eq(run_line(line), 0, "%s", said);
    cr_assert_eq(run_line("rm $(ls to/backups/* | tail -1) && printf 'wrkers = 3\n' >>conf"), 0);
    cr_expect_eq(run_line("$T client create --config conf --role admin --name b"), 2, "%s", said);
    cr_expect_not_null(strstr(said, "conf:4: wrkers: no such setting"), "%s", said);
    cr_expect_eq(run_line("sed -i '$d' conf; $T client create --config conf --role admin --name b"),
                 0, "%s", said);
    expect_failed("--identity other --check", "encrypted to another key");
    cr_expect_eq(run_line("$T restore --check --data new --from to --identity id"), 0, "%s", said);
    cr_expect_not_null(strstr(said, "good: 0 entries of the ledger add up, and 0 answers"), "%s",
                       said);
    cr_expect_eq(run_line("$T restore --data new --from to --identity id"), 2, "%s", said);
    cr_expect_not_null(strstr(said, "--marks is missing"), "%s", said);
    cr_expect_neq(run_line("ls new"), 0, "%s", said);
    /* Late: the database is there, and the marks are not. */
    expect_failed("--identity id --marks marks", "has no whole marks of this service");
    cr_expect_neq(run_line("ls new"), 0, "%s", said);
    cr_assert_eq(run_line("mkdir -m 700 new"), 0);
    expect_failed("--identity id --marks marks", "has no whole marks of this service");
    expect_failed("--identity other --marks marks", "encrypted to another key");
    cr_assert_eq(run_line("cp -r to/chunks kept && truncate -s 90 to/chunks/*/*"), 0);
    expect_failed("--identity id --marks marks --marks-lost", "is damaged");
    cr_expect_eq(run_line("test -z \"$(ls new)\""), 0, "%s", said);
    cr_assert_eq(run_line("rm -r to/chunks && mv kept to/chunks"), 0);
    cr_expect_eq(
        run_line("$T restore --data new --from to --identity id --marks marks --marks-lost"), 0,
        "%s", said);
    cr_expect_not_null(strstr(said, "clients now need keys that name their time"), "%s", said);
    /* What is there was not made by this one. */
    expect_failed("--identity id --marks marks --marks-lost", "repeat it without --from");
    cr_expect_eq(run_line("test -s new/tacet.db && test -s new/signing.key"), 0);
    /* An older tacet.db is put back beside a newer ledger.head. */
    cr_assert_eq(run_line("printf '%019d\\n' 9 >new/ledger.head"), 0);
    cr_expect_eq(run_line("$T doctor --data new --marks marks"), 1, "%s", said);
    cr_expect_not_null(strstr(said, "once had 9"), "%s", said);
    cr_expect_eq(run_line("$T restore --data new --marks marks"), 0, "%s", said);
    cr_expect_neq(run_line("$T doctor --data new --marks marks | grep 'once had'"), 0, "%s", said);
    server_remove(&server);
    snprintf(line, sizeof line, "rm -r %s", folder);
    cr_expect_eq(system(line), 0);
}
