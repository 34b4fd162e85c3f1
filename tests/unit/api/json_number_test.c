/* Shortest digits, laid out: against the library's, and against printf and strtod. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_text.h"
#include "api/json/shortest_digits.h"

TestSuite(json_number);

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The digits of "0.00120" and of "1.20e-3" alike: without point, exponent and zeros in front. */
static size_t digits_of(const char *text, char out[32])
{
    size_t count = 0;
    for (; *text != '\0' && *text != 'e'; text++)
        if (*text != '.' && (count > 0 || *text != '0'))
            out[count++] = *text;
    out[count] = '\0';
    return count;
}

/* A whole number may end in zeros that the library has in its exponent. */
static void cut_zeros(char *digits, size_t count)
{
    while (count > 1 && digits[count - 1] == '0')
        digits[--count] = '\0';
}

/* That the text has the library's digits, and reads back as the same number. */
static void check(double value)
{
    char text[32], library[32], ours[32], theirs[32];
    if (value == 0)
        return;
    size_t size = json_text_number(value, text);
    cr_assert(size == strlen(text) && strspn(text, "0123456789.e+-") == size, "%s", text);
    cr_assert(strtod(text, NULL) == value, "%.17g became %s", value, text);
    shortest_digits(value, library);
    cut_zeros(ours, digits_of(text, ours));
    cut_zeros(theirs, digits_of(library, theirs));
    cr_assert_str_eq(ours, theirs, "%.17g became %s, not %s", value, text, library);
}

static double random_bits(uint64_t *state)
{
    uint64_t exponent = 986 + next(state) % 87, bits = next(state) >> 12 | exponent << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

Test(json_number, has_the_digits_of_the_library)
{
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 500000; i++) {
        check(random_bits(&state));
        check((double)(next(&state) >> 20) / 1e9);
        check((float)random_bits(&state));
        check((double)(next(&state) & 0xfffff) / 1048576.0); /* as a Dirichlet teacher answers */
        check(ldexp((double)(next(&state) >> 40), -(int)(next(&state) % 44)));
    }
}

/* Powers of two have a shorter half interval; short decimals stand at its very edge. */
Test(json_number, has_them_beside_powers_of_two_and_decimals)
{
    for (int e = -37; e <= 50; e++) {
        double below = ldexp(1, e), above = below;
        for (int i = 0; i < 2000; i++) {
            check(below);
            check(above);
            below = nextafter(below, 0);
            above = nextafter(above, INFINITY);
        }
    }
    for (int digits = 1; digits < 100000; digits += digits < 2000 ? 1 : 37) {
        for (int power = -16; power <= 11; power++) {
            double value = (double)digits * pow(10, power);
            check(value);
            check(nextafter(value, 0));
            check(nextafter(value, INFINITY));
        }
    }
}

/* Without the library: fewer digits do not read back, and as many are not nearer. */
Test(json_number, is_the_shortest_and_nearest)
{
    uint64_t state = 2463534242u;
    for (int i = 0; i < 200000; i++) {
        double value = i % 2 == 0 ? random_bits(&state) : (double)(next(&state) >> 44) / 1048576.0;
        char text[32], ours[32], theirs[32], printed[40];
        if (value == 0 || value == floor(value))
            continue;
        json_text_number(value, text);
        size_t count = digits_of(text, ours);
        snprintf(printed, sizeof printed, "%.*e", (int)count - 1, value);
        digits_of(printed, theirs);
        cr_assert_str_eq(ours, theirs, "%.17g became %s, not %s", value, text, printed);
        if (count > 1) {
            snprintf(printed, sizeof printed, "%.*e", (int)count - 2, value);
            cr_assert(strtod(printed, NULL) != value, "%s is longer than %s", text, printed);
        }
    }
}
