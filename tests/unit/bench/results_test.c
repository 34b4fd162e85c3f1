/* The file of finished cells: what is written reads back, and a killed run costs its last cell at
 * most. */
#include "bench/offline/results.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/tacet-results-XXXXXX";

static void setup(void)
{
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
}

static void teardown(void)
{
    unlink(path);
}

static struct result cell_of(double epsilon, uint64_t seed)
{
    struct result r = {.world = "cartpole",
                       .algorithm = "cql",
                       .method = "dpsgd",
                       .epsilon = epsilon,
                       .seed = seed,
                       .experts = 3000,
                       .trajectories = 20,
                       .options = "-",
                       .feasible = 1,
                       .certified_epsilon = 2.4995,
                       .steps = 10000,
                       .noisy_steps = 7975,
                       .noise_multiplier = 11.25,
                       .threshold = 0,
                       .mean_return = -83.5,
                       .std_return = 12.25,
                       .random_return = -200,
                       .cpu_seconds = 1.5};
    return r;
}

static void append(const char *text)
{
    FILE *file = fopen(path, "a");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

TestSuite(bench_results, .init = setup, .fini = teardown);

Test(bench_results, read_back_what_was_written)
{
    struct result first = cell_of(2.5, 1), second = cell_of(10, 2);
    struct results all;
    unsigned line = 7;
    cr_assert(results_append(path, &first));
    cr_assert(results_append(path, &second));
    cr_assert(results_load(path, &all, &line));
    cr_assert_eq(all.count, 2);
    cr_assert_eq(line, 0);
    cr_expect_str_eq(all.all[1].method, "dpsgd");
    cr_expect_eq(all.all[0].epsilon, 2.5);
    cr_expect_eq(all.all[0].noisy_steps, 7975);
    cr_expect_eq(all.all[1].mean_return, -83.5);
    cr_expect_eq(all.all[1].random_return, -200);
    cr_expect(results_have(&all, &second));
    second.seed = 3;
    cr_expect_not(results_have(&all, &second));
    strcpy(first.options, "steps=5");
    cr_expect_not(results_have(&all, &first), "other settings are another cell");
    results_free(&all);
    cr_expect_eq(all.count, 0);
}

Test(bench_results, a_line_that_was_cut_is_no_result_and_harms_none)
{
    struct result r = cell_of(5, 1);
    struct results all;
    unsigned line;
    cr_assert(results_append(path, &r));
    append("cartpole\tcql\tdpsgd\t7.5\t1\t3000\t20\t-\t1\t7.4");
    cr_assert(results_load(path, &all, &line));
    cr_expect_eq(all.count, 1, "its last line is not finished");
    results_free(&all);
    /* The next cell begins a line of its own, and the unfinished one is marked. */
    r.epsilon = 7.5;
    cr_assert(results_append(path, &r));
    cr_assert(results_load(path, &all, &line), "line %u", line);
    cr_expect_eq(all.count, 2);
    cr_expect(results_have(&all, &r));
    results_free(&all);
}

Test(bench_results, says_which_line_is_no_result)
{
    struct result r = cell_of(5, 1);
    struct results all;
    unsigned line = 0;
    cr_assert(results_append(path, &r));
    append("cartpole\tcql\n");
    cr_expect_not(results_load(path, &all, &line));
    cr_expect_eq(line, 3, "after the head and one cell: %u", line);
}

Test(bench_results, no_file_is_no_results)
{
    struct results all;
    unsigned line;
    unlink(path);
    cr_assert(results_load(path, &all, &line));
    cr_expect_eq(all.count, 0);
}
