/* Settings: defaults, bounds and every kind of misfit; and the tables of all algorithms. */
#include "algos/parameters.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"

static const char *const colours[] = {"red", "green", NULL};
static const struct parameter_spec specs[] = {
    {"rate", PARAMETER_REAL, {{0.5}, 1}, 0, 1, NULL, "", ""},
    {"steps", PARAMETER_INTEGER, {{10}, 1}, 1, 100, NULL, "steps", ""},
    {"hidden", PARAMETER_INTEGER_LIST, {{8, 4}, 2}, 1, 64, NULL, "units", ""},
    {"colour", PARAMETER_CHOICE, {{1}, 1}, 0, 1, colours, "", ""},
};

static enum parameter_problem check(int index, unsigned count, double first, double second)
{
    const struct parameter_value value = {.number = {first, second}, .count = count};
    return parameters_check(&specs[index], &value);
}

Test(parameters, values_are_checked_against_their_table)
{
    cr_assert_eq(check(0, 1, 1.0, 0), PARAMETER_FITS);
    cr_assert_eq(check(0, 1, -0.1, 0), PARAMETER_OUT_OF_RANGE);
    cr_assert_eq(check(0, 1, (double)NAN, 0), PARAMETER_NOT_FINITE);
    cr_assert_eq(check(0, 1, (double)INFINITY, 0), PARAMETER_NOT_FINITE);
    cr_assert_eq(check(0, 2, 0.1, 0.2), PARAMETER_BAD_COUNT);
    cr_assert_eq(check(0, 0, 0, 0), PARAMETER_BAD_COUNT);
    cr_assert_eq(check(1, 1, 100, 0), PARAMETER_FITS);
    cr_assert_eq(check(1, 1, 101, 0), PARAMETER_OUT_OF_RANGE);
    cr_assert_eq(check(1, 1, 2.5, 0), PARAMETER_NOT_INTEGER);
    cr_assert_eq(check(2, 2, 64, 1), PARAMETER_FITS);
    cr_assert_eq(check(2, 2, 64, 65), PARAMETER_OUT_OF_RANGE);
    cr_assert_eq(check(2, 0, 0, 0), PARAMETER_FITS, "no hidden layer");
    cr_assert_eq(check(2, PARAMETER_LIST_MAX + 1, 1, 1), PARAMETER_BAD_COUNT);
    cr_assert_eq(check(3, 1, 1, 0), PARAMETER_FITS);
    cr_assert_eq(check(3, 1, 2, 0), PARAMETER_OUT_OF_RANGE);
    cr_assert_eq(check(3, 1, -1, 0), PARAMETER_OUT_OF_RANGE);
    cr_assert_eq(check(3, 1, 0.5, 0), PARAMETER_NOT_INTEGER);
}

Test(parameters, defaults_and_names)
{
    struct parameter_values values;
    parameters_defaults(specs, 4, &values);
    cr_assert_eq(values.value[parameters_index(specs, 4, "steps")].number[0], 10.0);
    cr_assert_eq(values.value[2].count, 2);
    cr_assert_eq(parameters_index(specs, 4, "colour"), 3);
    cr_assert_eq(parameters_index(specs, 4, "colours"), -1);
}

Test(parameters, worlds_may_have_defaults_of_their_own)
{
    static const struct parameter_override overrides[] = {
        {"hiv", 0, {{0.25}, 1}},
        {"cartpole", 0, {{0.75}, 1}},
        {"hiv", 2, {{32}, 1}},
    };
    struct parameter_values values;
    parameters_defaults(specs, 4, &values);
    parameters_override(overrides, 3, NULL, &values);
    parameters_override(overrides, 3, "", &values);
    cr_assert_eq(values.value[0].number[0], 0.5);
    parameters_override(overrides, 3, "hiv", &values);
    cr_assert_eq(values.value[0].number[0], 0.25);
    cr_assert_eq(values.value[1].number[0], 10);
    cr_assert_eq(values.value[2].count, 1);
    cr_assert_eq(values.value[2].number[0], 32);
}

Test(algorithms, overrides_name_worlds_and_fit)
{
    unsigned count = 0;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < all[i]->override_count; k++) {
            const struct parameter_override *one = &all[i]->overrides[k];
            cr_assert_not_null(env_find(one->world), "%s", one->world);
            cr_assert_lt(one->index, all[i]->parameter_count);
            cr_assert_eq(parameters_check(&all[i]->parameters[one->index], &one->value),
                         PARAMETER_FITS, "%s", all[i]->parameters[one->index].name);
            struct parameter_values values;
            algorithm_defaults(all[i], one->world, &values);
            cr_assert_eq(values.value[one->index].number[0], one->value.number[0]);
        }
    }
}

Test(algorithms, what_came_later_says_what_was_before)
{
    unsigned count, told = 0;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < all[i]->later_count; k++) {
            const struct parameter_later *later = &all[i]->later[k];
            cr_assert_lt(later->index, all[i]->parameter_count, "%s", all[i]->name);
            cr_expect_eq(parameters_check(&all[i]->parameters[later->index], &later->before),
                         PARAMETER_FITS, "%s %s", all[i]->name,
                         all[i]->parameters[later->index].name);
            cr_expect_eq(algorithm_before(all[i], later->index), &later->before);
        }
        for (unsigned p = 0; p < all[i]->parameter_count; p++)
            told += algorithm_before(all[i], p) != NULL;
        told -= all[i]->later_count;
    }
    cr_expect_eq(told, 0, "each is told once, and nothing else is");
}

Test(algorithms, tables_are_whole_and_their_defaults_fit)
{
    unsigned count = 0;
    const struct algorithm *const *all = algorithm_all(&count);
    cr_assert_gt(count, 0);
    for (unsigned i = 0; i < count; i++) {
        cr_assert_eq(algorithm_find(all[i]->name), all[i]);
        cr_assert(all[i]->plan && all[i]->summary && all[i]->privacy_unit);
        cr_assert_eq(all[i]->train == NULL, all[i]->kind == ALGORITHM_EVALUATES, "%s",
                     all[i]->name);
        cr_assert_leq(all[i]->parameter_count, PARAMETERS_MAX);
        for (unsigned p = 0; p < all[i]->parameter_count; p++) {
            const struct parameter_spec *spec = &all[i]->parameters[p];
            cr_assert(spec->name && spec->unit && spec->meaning);
            cr_assert_eq(parameters_check(spec, &spec->value), PARAMETER_FITS, "%s", spec->name);
            cr_assert_eq(parameters_index(all[i]->parameters, all[i]->parameter_count, spec->name),
                         (int)p);
        }
    }
    cr_assert_null(algorithm_find("no such algorithm"));
}

Test(algorithms, mechanisms_have_names)
{
    for (int m = 0; m < MECHANISM_COUNT; m++)
        cr_assert_eq(algorithm_mechanism_find(algorithm_mechanism_name(m)), m);
    cr_assert_eq(algorithm_mechanism_find("magic"), -1);
}
