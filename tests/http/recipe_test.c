/* The recipes of docs/own-data.md: from a table to a certificate, and a plan that is not worth its
 * budget. Two have fewer experts and dpsgd, which takes less time. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(recipe, .timeout = 1800);

enum { OUTPUT_SIZE = 1 << 16 };

/* Runs the recipe of WORLD under SETTINGS (of the environment); it must succeed. What it prints is
 * the caller's to free. */
static char *run_recipe(const char *settings, const char *world)
{
    char command[200];
    char *output = calloc(1, OUTPUT_SIZE);
    snprintf(command, sizeof command, "env %s bash examples/recipe.sh %s 2>&1", settings, world);
    FILE *out = popen(command, "r");
    cr_assert(output && out);
    size_t size = fread(output, 1, OUTPUT_SIZE - 1, out);
    output[size] = '\0';
    cr_assert_eq(pclose(out), 0, "%s", output);
    return output;
}

static void expect_part(const char *output, const char *part)
{
    cr_expect(strstr(output, part) != NULL, "\"%s\" is not in:\n%s", part, output);
}

Test(recipe, a_ward_reaches_a_certificate)
{
    char *output = run_recipe("RECIPE_EXPERTS=120 RECIPE_EPSILON=8 RECIPE_MECHANISM=dpsgd", "ward");
    expect_part(output, "Nothing is wrong.");
    expect_part(output, "the clinician, with every stay that they treated");
    expect_part(output, "The weights are those that the certificate was issued for.");
    expect_part(output, "mean return ");
    free(output);
}

Test(recipe, a_factory_reaches_a_certificate)
{
    char *output =
        run_recipe("RECIPE_EXPERTS=100 RECIPE_EPSILON=8 RECIPE_MECHANISM=dpsgd", "factory");
    expect_part(output, "the operator, with every shift that they worked");
    expect_part(output, "The weights are those that the certificate was issued for.");
    free(output);
}

Test(recipe, forty_managers_are_too_few_for_so_little)
{
    char *output = run_recipe("RECIPE_EPSILON=0.1", "fund");
    expect_part(output, "hopeless");
    expect_part(output, "{\"limit\":{\"epsilon\":0.1,");
    expect_part(output, "\"spent\":{\"epsilon\":0,");
    free(output);
}
