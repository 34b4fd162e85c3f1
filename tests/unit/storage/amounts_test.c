/* Rounding of amounts: exact, and always against the spender. Expected figures were worked out in
 * exact rational arithmetic (Python's fractions). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/ledger/amounts.h"
#include "tests/unit/storage/fixture.h"

static void check(double value, int64_t up, int64_t down)
{
    int64_t got = -1;
    cr_assert(ledger_units_up(value, &got));
    cr_expect_eq(got, up, "%.17g up: %ld", value, (long)got);
    cr_assert(ledger_units_down(value, &got));
    cr_expect_eq(got, down, "%.17g down: %ld", value, (long)got);
}

Test(amounts, decimal_fractions_are_what_they_say)
{
    check(0, 0, 0);
    check(-0.0, 0, 0);
    check(0.1, 100000000, 100000000);
    check(0.3, 300000000, 300000000);
    check(0.1 + 0.2, 300000001, 300000000); /* one ulp above 0.3: more than that price */
    check(1e-9, 1, 1);
    check(1e-10, 1, 0);
    check(1e-300, 1, 0);
    check(5e-324, 1, 0);
    check(10, 10000000000, 10000000000);
    check(2.795739966255, 2795739967, 2795739966);
    check(nextafter(1, 2), 1000000001, 1000000000);
    check(nextafter(1, 0), 1000000000, 999999999);
    check(4e9, 4000000000000000000, 4000000000000000000);
    check(1e9 + 0x1p-23, 1000000000000000120, 1000000000000000119);
}

Test(amounts, delta_is_counted_in_1e_18)
{
    int64_t got = -1;
    cr_assert(ledger_delta_up(1e-5, &got));
    cr_expect_eq(got, 10000000000000);
    cr_assert(ledger_delta_down(1e-5, &got));
    cr_expect_eq(got, 10000000000000);
    cr_assert(ledger_delta_up(1e-19, &got));
    cr_expect_eq(got, 1);
    cr_assert(ledger_delta_down(1e-19, &got));
    cr_expect_eq(got, 0);
    cr_assert(ledger_delta_up(0.5, &got));
    cr_expect_eq(got, 500000000000000000);
    cr_assert(ledger_delta_up(0.1, &got));
    cr_expect_eq(got, 100000000000000000);
    /* Three ulps above 0.1 nobody wrote by hand: its bits count. */
    cr_assert(ledger_delta_up(0x1.999999999999dp-4, &got));
    cr_expect_eq(got, 100000000000000048);
    cr_assert(ledger_delta_down(0x1.999999999999dp-4, &got));
    cr_expect_eq(got, 100000000000000047);
}

Test(amounts, every_multiple_is_exact_both_ways)
{
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        int64_t units = (int64_t)fixture_random(&state, UINT64_C(1) << (1 + i % 49));
        double value = (double)units / 1e9;
        int64_t up = -1, down = -1;
        cr_assert(ledger_units_up(value, &up) && ledger_units_down(value, &down));
        cr_assert(up == units && down == units, "%ld", (long)units);
        cr_assert_eq(ledger_units_value(units), value);
    }
}

/* Against integer arithmetic of 128 bits on the value's own bits. */
Test(amounts, rounding_follows_the_bits)
{
    uint64_t state = 2;
    int checked = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t mantissa = (UINT64_C(1) << 52) | fixture_random(&state, UINT64_C(1) << 52);
        int shift = 21 + (int)fixture_random(&state, 90);
        double value = ldexp((double)mantissa, -shift);
        unsigned __int128 product = (unsigned __int128)mantissa * 1000000000;
        int64_t floor_units = (int64_t)(product >> shift), up = -1, down = -1;
        bool exact = (product & (((unsigned __int128)1 << shift) - 1)) == 0;
        char text[40];
        snprintf(text, sizeof text, "%.14e", value);
        if (strtod(text, NULL) == value || value > 3.9e9)
            continue;
        cr_assert(ledger_units_up(value, &up) && ledger_units_down(value, &down));
        cr_assert(down == floor_units && up == floor_units + !exact, "%.17g", value);
        checked++;
    }
    cr_assert_gt(checked, 100000);
}

Test(amounts, a_price_equal_to_a_limit_fits)
{
    const double values[] = {0.01, 0.02, 0.1, 0.3, 0.5, 0.999, 1e-5, 1.5e-7, 3.3};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        int64_t price = -1, limit = -2;
        cr_assert(ledger_delta_up(values[i], &price) && ledger_delta_down(values[i], &limit));
        cr_expect_eq(price, limit, "%g", values[i]);
        cr_assert(ledger_units_up(values[i], &price) && ledger_units_down(values[i], &limit));
        cr_expect_eq(price == limit, values[i] >= 1e-9);
    }
}

Test(amounts, what_is_no_amount_is_refused)
{
    int64_t got = 77;
    const double bad[] = {-1e-12, -1, NAN, INFINITY, -INFINITY, 4.1e9, 1e300};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_not(ledger_units_up(bad[i], &got));
        cr_expect_not(ledger_units_down(bad[i], &got));
        cr_expect_not(ledger_delta_up(bad[i], &got));
        cr_expect_not(ledger_delta_down(bad[i], &got));
    }
    cr_expect_eq(got, 77);
    cr_expect_not(ledger_delta_up(4.5, &got));
}

Test(amounts, products_do_not_wrap)
{
    int64_t got = 77;
    cr_expect(ledger_units_times(3, 5, &got));
    cr_expect_eq(got, 15);
    cr_expect(ledger_units_times(0, INT64_MAX, &got));
    cr_expect_eq(got, 0);
    cr_expect_not(ledger_units_times(INT64_MAX, 2, &got));
    cr_expect_not(ledger_units_times(LEDGER_UNITS_MAX / 2 + 1, 2, &got));
    cr_expect_not(ledger_units_times(1 << 30, INT64_C(1) << 34, &got));
}
