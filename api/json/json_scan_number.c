/* Numbers of uploads.
 *
 * DESIGN. Up to 19 significant digits are gathered into an integer and multiplied by a power
 * of ten; three roundings leave a relative error below 2^-51. When both ends of that interval round
 * to one float, it is the nearest float to the text; else (about once in 10^7 numbers), and for odd
 * numbers, strtof decides. */
#include <math.h>
#include <stdlib.h>

#include "api/json/json_scan_buffer.h"

/* 10^-22 to 10^22: exact from 10^0 on, correctly rounded below. */
#define POWER_MAX 22
static const double powers_of_ten[2 * POWER_MAX + 1] = {
    1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11,
    1e-10, 1e-9,  1e-8,  1e-7,  1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,  1e0,   1e1,
    1e2,   1e3,   1e4,   1e5,   1e6,   1e7,   1e8,   1e9,   1e10,  1e11,  1e12,  1e13,
    1e14,  1e15,  1e16,  1e17,  1e18,  1e19,  1e20,  1e21,  1e22};

/* The parts of a number's text. */
struct decimal {
    const unsigned char *start, *end;
    uint64_t digits; /* the first 19 significant ones */
    int kept;        /* of them */
    bool cut;        /* there were more */
    bool negative, plain;
    long exponent; /* of ten, of DIGITS */
};

static inline const unsigned char *take_digits(const unsigned char *p, struct decimal *d,
                                               int fraction)
{
    for (unsigned digit; (digit = *p - (unsigned)'0') <= 9; p++) {
        if (d->kept >= 19) {
            d->cut = true;
            d->exponent += 1 - fraction;
            continue;
        }
        d->digits = d->digits * 10 + digit;
        d->kept += d->digits != 0;
        d->exponent -= fraction;
    }
    return p;
}

static const unsigned char *take_exponent(const unsigned char *p, struct decimal *d)
{
    bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (*p < '0' || *p > '9')
        return NULL;
    long exponent = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (exponent < 100000)
            exponent = exponent * 10 + (*p - '0');
    d->exponent += negative ? -exponent : exponent;
    return p;
}

/* Splits the number at P by RFC 8259's grammar; NULL when it is none. */
static const unsigned char *split_number(const unsigned char *p, struct decimal *d)
{
    *d = (struct decimal){.start = p, .plain = true};
    if (*p == '-') {
        d->negative = true;
        p++;
    }
    if (*p == '0')
        p++;
    else if (*p >= '1' && *p <= '9')
        p = take_digits(p, d, 0);
    else
        return NULL;
    if (*p == '.') {
        const unsigned char *first = p + 1;
        p = take_digits(first, d, 1);
        d->plain = false;
        if (p == first)
            return NULL;
    }
    if (*p == 'e' || *p == 'E') {
        d->plain = false;
        p = take_exponent(p + 1, d);
    }
    return d->end = p;
}

/* The nearest float, when the quick way can be sure of it. */
static inline bool quick_float(const struct decimal *d, float *out)
{
    if (d->cut || d->exponent < -POWER_MAX || d->exponent > POWER_MAX)
        return false;
    double value = (double)d->digits * powers_of_ten[POWER_MAX + d->exponent];
    const double slack = 0x1p-51;
    float low = (float)(value - value * slack), high = (float)(value + value * slack);
    *out = d->negative ? -low : low;
    return low == high;
}

bool json_scan_number(struct json_scan *scan, struct json_number_token *out)
{
    unsigned char first = json_scan_peek(scan);
    if (first != '-' && (first < '0' || first > '9'))
        return json_scan_fault(scan, json_scan_unexpected(scan, "A number was expected."));
    json_scan_fill(scan, JSON_SCAN_TOKEN_MAX);
    struct decimal d;
    const unsigned char *end = split_number(scan->at, &d);
    if (!end)
        return json_scan_fault(scan, "This is not a number as JSON writes it.");
    if (end - d.start >= JSON_SCAN_TOKEN_MAX)
        return json_scan_fault(scan, "The number has too many digits.");
    if (!quick_float(&d, &out->value)) {
        /* The byte after the number ends it for strtof as well: it cannot go on into it. */
        out->value = strtof_l((const char *)d.start, NULL, scan->c_locale);
    }
    out->digits = d.digits;
    out->integer = d.plain && !d.negative && d.kept <= 18;
    scan->at += end - d.start;
    return true;
}
