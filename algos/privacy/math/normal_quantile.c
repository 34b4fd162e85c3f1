/* AS 241's PPND16 for a start, corrected by one Newton step: the start is within 1e-15, so the next
 * error is of order 1e-30, below long double's own. */
#include "algos/privacy/math/normal_quantile.h"

#include <assert.h>
#include <math.h>

#define SQRT_HALF   0.70710678118654752440084436210484903928L
#define SQRT_TWO_PI 2.50662827463100050242

static double polynomial_at(const double c[8], double x)
{
    double sum = c[7];
    for (int i = 6; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* The quantile for |p - 1/2| <= 0.425 with q = p - 1/2: q R(0.180625 - q^2), where R is the
 * rational function of AS 241 (Wichura 1988). */
static double middle_quantile(double q)
{
    static const double above[8] = {3.3871328727963666080,    1.3314166789178437745e+2,
                                    1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                    4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                    3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double below[8] = {1.0,
                                    4.2313330701600911252e+1,
                                    6.8718700749205790830e+2,
                                    5.3941960214247511077e+3,
                                    2.1213794301586595867e+4,
                                    3.9307895800092710610e+4,
                                    2.8729085735721942674e+4,
                                    5.2264952788528545610e+3};
    double r = 0.180625 - q * q;
    return q * polynomial_at(above, r) / polynomial_at(below, r);
}

/* r = sqrt(-ln p) up to 5 */
static double near_tail(double r)
{
    static const double above[8] = {1.42343711074968357734,    4.63033784615654529590,
                                    5.76949722146069140550,    3.64784832476320460504,
                                    1.27045825245236838258,    2.41780725177450611770e-1,
                                    2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double below[8] = {1.0,
                                    2.05319162663775882187,
                                    1.67638483018380384940,
                                    6.89767334985100004550e-1,
                                    1.48103976427480074590e-1,
                                    1.51986665636164571966e-2,
                                    5.47593808499534494600e-4,
                                    1.05075007164441684324e-9};
    return polynomial_at(above, r - 1.6) / polynomial_at(below, r - 1.6);
}

static double far_tail(double r)
{
    static const double above[8] = {6.65790464350110377720,    5.46378491116411436990,
                                    1.78482653991729133580,    2.96560571828504891230e-1,
                                    2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                    2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double below[8] = {1.0,
                                    5.99832206555887937690e-1,
                                    1.36929880922735805310e-1,
                                    1.48753612908506148525e-2,
                                    7.86869131145613259100e-4,
                                    1.84631831751005468180e-5,
                                    1.42151175831644588870e-7,
                                    2.04426310338993978564e-15};
    return polynomial_at(above, r - 5.0) / polynomial_at(below, r - 5.0);
}

/* The quantile of P <= 1/2 to double's precision; ABOVE_MIDDLE = 1/2 - p without cancellation. */
static double as_241(double p, double above_middle)
{
    if (p >= 0.075)
        return middle_quantile(-above_middle);
    double r = sqrt(-log(p));
    return r <= 5.0 ? -near_tail(r) : -far_tail(r);
}

long double normal_quantile(long double p)
{
    assert(p > 0.0L && p <= 0.5L);
    double start = as_241((double)p, (double)(0.5L - p));
    long double miss = 0.5L * erfcl(-start * SQRT_HALF) - p;
    return start - miss * (SQRT_TWO_PI * exp(0.5 * start * start));
}

long double normal_from_word(uint64_t word)
{
    uint64_t tail = (word << 1) | 1;
    long double x = normal_quantile((long double)tail * 0x1p-65L);
    return word >> 63 ? -x : x;
}

long double normal_from_words(uint64_t word, uint64_t (*more)(const void *context, unsigned depth),
                              const void *context)
{
    uint64_t tail = word & (UINT64_MAX >> 1);
    if (tail >= NORMAL_WORD_TAIL)
        return normal_from_word(word);
    long double p = (long double)tail * 0x1p-64L, unit = 0x1p-64L;
    for (unsigned depth = 1; depth <= 13 && p < (long double)NORMAL_WORD_TAIL * unit; depth++) {
        unit *= 0x1p-64L;
        p += (long double)more(context, depth) * unit;
    }
    long double x = normal_quantile(p + 0.5L * unit);
    return word >> 63 ? -x : x;
}

double normal_from_word_roughly(uint64_t word)
{
    uint64_t tail = (word << 1) | 1; /* 2^64 - tail: the other part of one half */
    double x = as_241((double)tail * 0x1p-65, (double)(0 - tail) * 0x1p-65);
    return word >> 63 ? -x : x;
}
