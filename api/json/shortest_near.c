/* The shortest digits of the doubles that replies are full of, in integers alone.
 *
 * DESIGN. VALUE is c 2^q with c of 53 bits, and -89 <= q <= -3. Whatever lies in the interval
 * between the middles to its two neighbours reads back as VALUE. Let 10^k be the largest power of
 * ten that is not above the interval's width: the interval holds a multiple of 10^k, and at most
 * one of 10^(k+1). That one is the shortest there is, without its zeros; where there is none, the
 * multiple of 10^k that is nearest is (Adams, Ryu: fast float-to-string conversion, 2018;
 * Giulietti, The Schubfach way to render doubles, 2021, look for the same). Here k is from -27 to
 * -1, and 4 c 5^-k has at most 118 bits: so nothing is rounded, and no table of approximations is
 * needed. */
#include "api/json/shortest_digits.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FRACTION_BITS 52
#define DIGITS        SHORTEST_NEAR_DIGITS

typedef unsigned __int128 wide;

/* 5^0 to 5^27 */
static const uint64_t fives[] = {1,
                                 5,
                                 25,
                                 125,
                                 625,
                                 3125,
                                 15625,
                                 78125,
                                 390625,
                                 1953125,
                                 9765625,
                                 48828125,
                                 244140625,
                                 1220703125,
                                 6103515625,
                                 30517578125,
                                 152587890625,
                                 762939453125,
                                 3814697265625,
                                 19073486328125,
                                 95367431640625,
                                 476837158203125,
                                 2384185791015625,
                                 11920928955078125,
                                 59604644775390625,
                                 298023223876953125,
                                 1490116119384765625,
                                 7450580596923828125};

/* Whole multiples of 10^-point: where they are looked for, LOW and HIGH included, and the value
 * itself, all three times 2^shift. */
struct interval {
    wide low, middle, high;
    unsigned shift;
    int point;
    bool uneven; /* the half below MIDDLE is the shorter one */
};

static void find_interval(double value, struct interval *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    uint64_t c = fraction | UINT64_C(1) << FRACTION_BITS;
    int q = (int)(bits >> FRACTION_BITS) - 1075;
    /* floor(log10(2^q)), and of 3/4 2^q; the factors are log10(2) and log10(4/3), times 2^20. */
    int k = (q * 315653 - (fraction == 0 ? 131008 : 0)) >> 20;
    assert(k < 0 && -k < (int)(sizeof fives / sizeof fives[0]));
    uint64_t five = fives[-k];
    bool odd = c & 1; /* then reading rounds the interval's ends to its neighbours */
    out->point = -k;
    out->shift = (unsigned)(2 - q + k);
    out->uneven = fraction == 0;
    out->middle = (wide)(4 * c) * five;
    out->low = out->middle - (out->uneven ? five : 2 * five) + odd;
    out->high = out->middle + 2 * five - odd;
}

/* The multiple that is shortest, or nearest; *OUT_TENS: it ends in a 0, perhaps in several. */
static uint64_t choose(const struct interval *in, bool *out_tens)
{
    uint64_t below = (uint64_t)(in->middle >> in->shift), ten = below / 10 * 10;
    *out_tens = true;
    if ((wide)ten << in->shift >= in->low)
        return ten;
    if ((wide)(ten + 10) << in->shift <= in->high)
        return ten + 10;
    *out_tens = false;
    wide rest = in->middle - ((wide)below << in->shift), half = (wide)1 << (in->shift - 1);
    bool up = rest > half || (rest == half && (below & 1) != 0) ||
              (in->uneven && (wide)below << in->shift < in->low);
    return below + up;
}

/* The eight digits of VALUE < 10^8: halves, pairs and digits side by side in one word. */
static void spell_eight(uint32_t value, char out[8])
{
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = (fours * 5243 >> 19) & UINT64_C(0x0000007f0000007f);
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = (twos * 103 >> 10) & UINT64_C(0x000f000f000f000f);
    uint64_t digits = (tens | (twos - 10 * tens) << 8) + UINT64_C(0x3030303030303030);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    digits = __builtin_bswap64(digits);
#endif
    memcpy(out, &digits, sizeof digits);
}

static void spell(uint64_t value, char out[DIGITS])
{
    uint32_t high = (uint32_t)(value / 100000000);
    out[0] = (char)('0' + high / 100000000);
    spell_eight(high % 100000000, out + 1);
    spell_eight((uint32_t)(value % 100000000), out + 9);
}

unsigned shortest_digits_near(double value, char out[SHORTEST_NEAR_DIGITS], int *out_point)
{
    struct interval interval;
    char room[DIGITS + 1] = {0}; /* 16 digits have a 0 in front */
    bool tens;
    find_interval(value, &interval);
    spell(choose(&interval, &tens), room);
    unsigned first = room[0] == '0', count = DIGITS - first;
    *out_point = (int)count - interval.point;
    memcpy(out, room + first, DIGITS);
    while (tens && count > 8 && memcmp(out + count - 8, "00000000", 8) == 0)
        count -= 8;
    while (tens && out[count - 1] == '0')
        count--;
    return count;
}
