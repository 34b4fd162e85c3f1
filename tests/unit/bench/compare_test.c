/* The table that sets private runs beside those without privacy. */
#include "bench/advise/table.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN(m, a, e, sig, s, r)                                                                    \
    {                                                                                              \
        .world = "ward", .method = m, .algorithm = a, .experts = 600, .epsilon = e, .signal = sig, \
        .seed = s, .mean_return = r, .random_return = -2                                           \
    }

/* Writes the table of ALL[COUNT] and reads it back into TEXT. */
static void compare_text(struct outcome *all, size_t count, char *text, size_t size)
{
    char path[] = "/tmp/tacet-compare-XXXXXX";
    const struct outcomes outcomes = {.all = all, .count = count};
    int made = mkstemp(path);
    cr_assert_geq(made, 0);
    close(made);
    cr_assert(compare_write(&outcomes, path));
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

static unsigned compare_count(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

/* The best mean without privacy is (10 + 6) / 2 = 8, ten above random play. */
Test(bench_compare, shares_are_of_the_best_mean_without_privacy)
{
    struct outcome all[] = {RUN("behaviour", "-", 0, 0, 0, 0.5),
                            RUN("none", "bcq", 0, 0, 1, 10),
                            RUN("none", "bcq", 0, 0, 2, 6),
                            RUN("none", "cql", 0, 0, 1, 7.5),
                            RUN("grid", "behaviour_cloning", 3, 10, 1, 4),
                            RUN("grid", "behaviour_cloning", 3, 10, 2, 2)};
    char text[4096];
    compare_text(all, sizeof all / sizeof all[0], text, sizeof text);
    cr_expect(strstr(text, "| behaviour, - | 0.5 | 0.5 to 0.5 | 0.25 |"), "%s", text);
    cr_expect(strstr(text, "| none, bcq | 8.0 | 6.0 to 10.0 | 1.00 |"), "%s", text);
    cr_expect(strstr(text, "| none, cql | 7.5 | 7.5 to 7.5 | 0.95 |"), "%s", text);
    cr_expect(strstr(text, "| 3.0 | 2.0 to 4.0 | 0.50 |"), "%s", text);
    cr_expect_eq(compare_count(text, "grid"), 1, "one row for both seeds:\n%s", text);
}

Test(bench_compare, another_number_of_experts_is_another_table)
{
    struct outcome all[] = {RUN("none", "bcq", 0, 0, 1, 8), RUN("none", "bcq", 0, 0, 1, 18)};
    char text[4096];
    all[1].experts = 120;
    compare_text(all, 2, text, sizeof text);
    cr_expect(strstr(text, "| ward | 600 | | none, bcq | 8.0 | 8.0 to 8.0 | 1.00 |"), "%s", text);
    cr_expect(strstr(text, "| ward | 120 | | none, bcq | 18.0 | 18.0 to 18.0 | 1.00 |"), "%s",
              text);
}

/* A grid of so strong a signal is forecast to be good, and these noisy steps to be worth little.
 * The labels of played states need a simulator, and a run without a plan earned nothing. */
Test(bench_compare, the_advisors_first_candidate_is_marked)
{
    struct outcome all[] = {RUN("none", "bcq", 0, 0, 1, 8), RUN("consensus", "cql", 3, 100, 1, 7),
                            RUN("dpsgd", "cql", 3, 0.1, 1, 9),
                            RUN("grid", "behaviour_cloning", 3, 10, 1, 4),
                            RUN("linear", "cql", 3, 0, 1, NAN)};
    char text[4096];
    compare_text(all, sizeof all / sizeof all[0], text, sizeof text);
    cr_expect_eq(compare_count(text, "consensus"), 0, "%s", text);
    cr_expect_eq(compare_count(text, "the advisor's first"), 1, "%s", text);
    cr_expect(strstr(text, "| 3 | grid, behaviour_cloning, **the advisor's first** |"), "%s", text);
    cr_expect_eq(compare_count(text, "linear"), 0, "%s", text);
}
