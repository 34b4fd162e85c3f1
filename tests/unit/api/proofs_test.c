/* Every mechanism that a request can name has a row in docs/proofs/README.md, and the row's page is
 * there. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/privacy/local/local_mechanism.h"
#include "algos/release/teacher_mechanism.h"

static char table[65536];

static void load(void)
{
    FILE *file = fopen("docs/proofs/README.md", "r");
    cr_assert_not_null(file, "run the test from the root of the source tree");
    size_t size = fread(table, 1, sizeof table - 1, file);
    cr_assert_lt(size, sizeof table - 1);
    fclose(file);
}

TestSuite(proofs, .init = load);

static void expect_page(const char *algorithm, const char *mechanism)
{
    char begin[256], page[64] = "", path[128];
    snprintf(begin, sizeof begin, "\n| `%s` | `%s` | [", algorithm, mechanism);
    const char *row = strstr(table, begin);
    cr_expect_not_null(row, "no row for %s, %s", algorithm, mechanism);
    if (!row)
        return;
    cr_expect_eq(sscanf(row + strlen(begin), "%*[^]]](%63[^)])", page), 1);
    snprintf(path, sizeof path, "docs/proofs/%s", page);
    FILE *file = fopen(path, "r");
    cr_expect_not_null(file, "%s, %s: no page %s", algorithm, mechanism, path);
    if (file)
        fclose(file);
}

Test(proofs, every_algorithm_has_a_page_for_each_mechanism)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < count; i++)
        for (int m = 0; m < MECHANISM_COUNT; m++)
            if (all[i]->mechanisms[m])
                expect_page(all[i]->name, algorithm_mechanism_name((enum algorithm_mechanism)m));
}

Test(proofs, every_answer_and_report_has_a_page)
{
    const struct teacher_mechanism *answer;
    const struct local_mechanism *report;
    for (size_t i = 0; (answer = teacher_mechanism_at(i)); i++) {
        expect_page("teacher", answer->name);
        expect_page("shards", answer->name);
    }
    for (size_t i = 0; (report = local_mechanism_at(i)); i++)
        expect_page("aggregation", report->name);
}
