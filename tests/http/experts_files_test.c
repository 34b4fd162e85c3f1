/* `tacet experts --output` killed and begun again, and its reports. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/experts_run.h"

/* One run to its end, and one that is killed twice: the same bytes. */
static void check_resumed(struct server_process *place, const char *ending)
{
    char whole[32], broken[32], state[48], policies[2][48];
    snprintf(whole, sizeof whole, "whole%s", ending);
    snprintf(broken, sizeof broken, "broken%s", ending);
    snprintf(state, sizeof state, "%s.state", broken);
    for (int i = 0; i < 2; i++)
        snprintf(policies[i], sizeof policies[i], "policies%d%s", i, ending);
    const char *const at_once[] = {"--experts",   EXPERTS_MANY, "--output",  whole,
                                   EXPERTS_SMALL, "--policies", policies[0], NULL};
    const char *const in_parts[] = {"--experts",   EXPERTS_MANY, "--output",  broken,
                                    EXPERTS_SMALL, "--policies", policies[1], NULL};
    cr_assert_eq(experts_end(experts_start(place, NULL, at_once)), 0);
    for (unsigned settings = 1; settings <= 3; settings += 2) {
        pid_t child = experts_start(place, NULL, in_parts);
        cr_assert(experts_wait(place, state, settings, child), "it ended too soon");
        kill(child, settings == 1 ? SIGKILL : SIGINT);
        cr_expect_eq(experts_end(child), 1000 + (settings == 1 ? SIGKILL : SIGINT));
        /* as if it had been killed in the middle of a write */
        FILE *file = fopen(experts_path(place, broken), "a");
        fputs("torn", file);
        fclose(file);
    }
    cr_expect_eq(experts_end(experts_start(place, NULL, in_parts)), 0);
    cr_expect_not(experts_left(place, state));
    const char *const pairs[][2] = {{whole, broken}, {policies[0], policies[1]}};
    for (int p = 0; p < 2; p++) {
        size_t size[2];
        char *bytes[2];
        for (int i = 0; i < 2; i++)
            bytes[i] = experts_file(place, pairs[p][i], &size[i]);
        cr_expect_gt(size[0], 1000);
        cr_assert_eq(size[0], size[1], "%s: %zu and %zu bytes", pairs[p][0], size[0], size[1]);
        cr_expect_eq(memcmp(bytes[0], bytes[1], size[0]), 0, "%s", pairs[p][0]);
        free(bytes[0]);
        free(bytes[1]);
    }
}

Test(experts_files, a_killed_run_ends_in_the_same_bytes)
{
    struct server_process place;
    server_prepare(&place);
    check_resumed(&place, ".ndjson");
    check_resumed(&place, ".gz");
    check_resumed(&place, ".zst");
    server_remove(&place);
}

Test(experts_files, other_flags_do_not_go_on_from_there)
{
    struct server_process server; /* only its folder */
    server_prepare(&server);
    const char *const words[] = {"--experts", EXPERTS_MANY, "--output", "x", EXPERTS_SMALL, NULL};
    pid_t child = experts_start(&server, NULL, words);
    cr_assert(experts_wait(&server, "x.state", 1, child), "it ended too soon");
    kill(child, SIGKILL);
    experts_end(child);
    experts_refused(&server, NULL, 2, "seed=1, now seed=2",
                    (const char *const[]){"--experts", EXPERTS_MANY, "--output", "x", EXPERTS_SMALL,
                                          "--seed", "2", NULL});
    experts_refused(&server, NULL, 2, "select=top",
                    (const char *const[]){"--experts", EXPERTS_MANY, "--output", "x", EXPERTS_SMALL,
                                          "--select", "moments", NULL});
    cr_expect(experts_left(&server, "x.state"));
    cr_expect_eq(truncate(experts_path(&server, "x"), 10), 0);
    experts_refused(
        &server, NULL, 1, "fewer bytes",
        (const char *const[]){"--experts", EXPERTS_MANY, "--output", "x", EXPERTS_SMALL, NULL});
    server_remove(&server);
}

Test(experts_files, a_report_of_a_run_is_that_of_its_file)
{
    struct server_process place;
    server_prepare(&place);
    const char *const make[] = {"--experts", "5",        "--output", "x.gz",    EXPERTS_SMALL,
                                "--report",  "one.json", "--plot",   "one.svg", NULL};
    const char *const read[] = {"--from",   "x.gz",   "--max-steps", "50", "--report",
                                "two.json", "--plot", "two.svg",     NULL};
    cr_expect_eq(experts_end(experts_start(&place, NULL, make)), 0);
    cr_expect_eq(experts_end(experts_start(&place, NULL, read)), 0);
    size_t size[4];
    char *text[4] = {
        experts_file(&place, "one.json", &size[0]), experts_file(&place, "two.json", &size[1]),
        experts_file(&place, "one.svg", &size[2]), experts_file(&place, "two.svg", &size[3])};
    cr_expect_str_eq(text[0], text[1]);
    cr_expect_str_eq(text[2], text[3]);
    json_t *report = json_loads(text[0], JSON_REJECT_DUPLICATES, NULL);
    cr_expect_eq(json_integer_value(json_object_get(report, "experts")), 5, "%s", text[0]);
    cr_expect_eq(json_integer_value(json_object_get(report, "max_steps")), 50);
    json_decref(report);
    for (int i = 0; i < 4; i++)
        free(text[i]);
    experts_refused(&place, NULL, 1, "none: No such file",
                    (const char *const[]){"--from", "none", "--report", NULL});
    experts_refused(&place, NULL, 2, "--from needs --report",
                    (const char *const[]){"--from", "x.gz", NULL});
    experts_refused(&place, NULL, 2, "--output makes nothing with --from",
                    (const char *const[]){"--from", "x.gz", "--report", "--output", "y", NULL});
    experts_refused(&place, NULL, 2, "does not fit the ending",
                    (const char *const[]){"--compress", "zstd", "--output", "y.gz", NULL});
    experts_refused(&place, NULL, 2, "is not gzip, zstd or none",
                    (const char *const[]){"--compress", "lzma", NULL});
    experts_refused(&place, NULL, 2, "is not top or moments",
                    (const char *const[]){"--select", "best", NULL});
    experts_refused(&place, NULL, 2, "--name goes with --upload",
                    (const char *const[]){"--name", "x", NULL});
    experts_refused(&place, NULL, 2, "--output and --plot are the same file",
                    (const char *const[]){"--output", "x", "--plot", "x", NULL});
    experts_refused(&place, NULL, 2, "--report and --from are the same file",
                    (const char *const[]){"--from", "x.gz", "--report", "x.gz", NULL});
    server_remove(&place);
}
