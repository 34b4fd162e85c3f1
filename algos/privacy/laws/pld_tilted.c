/* Tilting, direct sums, and one fast transform for both laws: the upper as its real part, the lower
 * as its imaginary one. */
#include "algos/privacy/laws/pld_tilted.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"

#define HALF_ULP         0x1p-53
#define QUADRATURE_ERROR 1e-14 /* relative error of a mass; Gauss-Legendre's own is below 3e-15 */
#define DROPPED          0x1p-160 /* tilted masses below are left out, and paid for */
#define BLOCK            64       /* of terms: sums of sums round less */

static double distance_square(double x)
{
    return x * x;
}

/* *largest: of the numbers whose difference is the exponent, where it matters. */
static double tilted_mass(double mass, double exponent, double cumulant, double *largest)
{
    double x = mass > 0.0 ? mass * exp(exponent - cumulant) : 0.0;
    if (x > DBL_EPSILON * DBL_EPSILON)
        *largest = fmax(*largest, fabs(exponent) + fabs(cumulant));
    return x;
}

/* Standard deviation of the places, weighted by X, rounded up. */
static double spread_of(const struct pld *pld, const double *x, size_t count, const size_t *from)
{
    double sum = 0, first = 0, second = 0;
    double center = 0;
    for (int pass = 0; pass < 2; pass++) {
        sum = first = second = 0;
        for (size_t i = 0; i < count; i++) {
            double distance = (double)pld->place[from[i]] - center;
            sum += x[i];
            first += x[i] * distance;
            second += x[i] * distance_square(distance);
        }
        center += first / sum;
    }
    return sqrt(second / sum) * (1.0 + 1e-6);
}

void pld_tilted_clear(struct pld_tilted *t)
{
    free(t->place);
    free(t->upper);
    free(t->lower);
    *t = (struct pld_tilted){0};
}

bool pld_tilted_new(const struct pld_term *term, const struct pld_cumulants *cumulant, double tilt,
                    uint64_t size, struct pld_tilted *out)
{
    const struct pld *u = &term->upper, *l = &term->lower;
    assert(u->count == l->count && u->step == l->step);
    *out = (struct pld_tilted){.place = malloc(u->count * sizeof *out->place),
                               .upper = malloc(u->count * sizeof *out->upper),
                               .lower = malloc(u->count * sizeof *out->lower),
                               .times = term->times};
    size_t *from = malloc(u->count * sizeof *from), n = 0;
    bool done = out->place && out->upper && out->lower && from;
    double largest = 0, dropped = 0;
    for (size_t i = 0; done && i < u->count; i++) {
        double exponent = tilt * (double)u->place[i] * u->step;
        double x = tilted_mass(u->mass[i], exponent, cumulant->upper, &largest);
        double y = tilted_mass(l->mass[i], exponent, cumulant->lower, &largest);
        if (x <= DROPPED && y <= DROPPED) {
            dropped += x + y;
            continue;
        }
        from[n] = i;
        out->place[n] = (uint64_t)u->place[i] & (size - 1);
        out->upper[n] = x;
        out->lower[n++] = y;
    }
    out->count = n;
    if (done)
        out->spread = fmax(spread_of(u, out->upper, n, from), spread_of(l, out->lower, n, from));
    /* Masses and exponents, what was left out, and what a direct sum rounds. */
    out->error = QUADRATURE_ERROR + 4.0 * HALF_ULP * (2.0 + largest) + dropped + ROOTS_ERROR +
                 HALF_ULP * (BLOCK + (double)n / BLOCK + 4.0);
    free(from);
    if (!done)
        pld_tilted_clear(out);
    return done;
}

void pld_tilted_at(const struct pld_tilted *t, const struct roots *roots, uint64_t frequency,
                   struct pld_bin *out)
{
    *out = (struct pld_bin){.frequency = frequency};
    for (size_t start = 0; start < t->count; start += BLOCK) {
        size_t end = start + BLOCK < t->count ? start + BLOCK : t->count;
        double ur = 0, ui = 0, lr = 0, li = 0;
        for (size_t i = start; i < end; i++) {
            double re, im;
            roots_at(roots, 2 * frequency * t->place[i], &re, &im);
            ur += t->upper[i] * re;
            ui -= t->upper[i] * im;
            lr += t->lower[i] * re;
            li -= t->lower[i] * im;
        }
        out->upper_re += ur;
        out->upper_im += ui;
        out->lower_re += lr;
        out->lower_im += li;
    }
    out->error = t->error;
}

double pld_tilted_transform(const struct pld_tilted *t, uint64_t size, struct fft *fft,
                            double *spectrum)
{
    double *circle = memory_new(2 * size, sizeof *circle);
    for (size_t i = 0; i < t->count; i++) {
        circle[2 * t->place[i]] += t->upper[i];
        circle[2 * t->place[i] + 1] += t->lower[i];
    }
    fft_forward(fft, circle, spectrum);
    free(circle);
    /* Both laws have mass one, and a bin of the transform mixes both. */
    return t->error + 2.0 * fft_relative_error(size);
}

void pld_tilted_separate(const double *spectrum, uint64_t size, uint64_t k, double error,
                         struct pld_bin *out)
{
    uint64_t m = (size - k) & (size - 1);
    double pr = spectrum[2 * k], pi = spectrum[2 * k + 1];
    double mr = spectrum[2 * m], mi = spectrum[2 * m + 1];
    *out = (struct pld_bin){.frequency = k,
                            .upper_re = 0.5 * (pr + mr),
                            .upper_im = 0.5 * (pi - mi),
                            .lower_re = 0.5 * (pi + mi),
                            .lower_im = 0.5 * (mr - pr),
                            .error = error};
}
