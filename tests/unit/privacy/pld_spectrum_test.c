/* The few coefficients that are kept, against all of them. */
#include "algos/privacy/laws/pld_spectrum.h"

#include <complex.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/pld_mechanisms.h"
#include "algos/privacy/laws/subsampled_gaussian.h"

#define TILT 3.0

Test(roots, are_the_roots_of_unity)
{
    static const uint64_t sizes[] = {1, 2, 4, 8, 512, 1024, 4096, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct roots roots;
        uint64_t size = sizes[i], stride = size > 5000 ? 997 : 1;
        roots_new(size, &roots);
        for (uint64_t m = 0; m < 2 * size; m += stride) {
            double re, im;
            long double angle = 2.0L * 3.14159265358979323846264L * (long double)(m % size) / size;
            roots_at(&roots, m, &re, &im);
            cr_assert_leq(hypot(re - (double)cosl(angle), im - (double)sinl(angle)),
                          ROOTS_ERROR + 1e-16, "%lu of %lu", (unsigned long)m, (unsigned long)size);
        }
        double re, im, back_re, back_im; /* negative powers wrap around */
        roots_at(&roots, (uint64_t)-3, &re, &im);
        roots_at(&roots, 3, &back_re, &back_im);
        cr_assert_leq(hypot(re - back_re, im + back_im), 2.0 * ROOTS_ERROR);
        roots_clear(&roots);
    }
}

static struct pld_term term_of(pld_mechanism mechanism, const void *parameters, double step,
                               uint64_t times)
{
    struct pld_term term = {.times = times};
    struct pld_outcomes coarse = {0}, fine = {0};
    struct pld_grid grid = {0};
    cr_assert(mechanism(parameters, 1e-20, NULL, &coarse));
    cr_assert_eq(pld_grid_new(&coarse, TILT, step, &grid), PLD_OK);
    cr_assert(mechanism(parameters, 1e-20, &grid, &fine));
    cr_assert(pld_pessimistic(&fine, &grid, &term.upper));
    cr_assert(pld_optimistic(&fine, &grid, &term.lower));
    pld_outcomes_clear(&coarse);
    pld_outcomes_clear(&fine);
    pld_grid_clear(&grid);
    return term;
}

static struct pld_cumulants cumulants_of(const struct pld_term *term)
{
    return (struct pld_cumulants){pld_cumulant(&term->upper, TILT),
                                  pld_cumulant(&term->lower, TILT)};
}

/* F^n of frequency K of one law, summed in long double from its definition. */
static double complex coefficient(const struct pld *pld, double cumulant, uint64_t k, uint64_t size,
                                  uint64_t times)
{
    long double re = 0, im = 0;
    for (size_t i = 0; i < pld->count; i++) {
        uint64_t turn = ((uint64_t)pld->place[i] * k) & (size - 1);
        long double angle = -2.0L * 3.14159265358979323846264L * (long double)turn / size;
        long double loss = (long double)pld->place[i] * pld->step;
        long double x = (long double)pld->mass[i] * expl(TILT * loss - cumulant);
        re += x * cosl(angle);
        im += x * sinl(angle);
    }
    return cpow((double)re + I * (double)im, (double)times);
}

/* Every frequency is either kept and right within its error, or really negligible. */
static void check(const struct pld_term *term, size_t count, uint64_t size, size_t most)
{
    struct roots roots;
    struct pld_spectrum spectrum;
    struct pld_cumulants cumulant[2];
    for (size_t i = 0; i < count; i++)
        cumulant[i] = cumulants_of(&term[i]);
    roots_new(2 * size, &roots);
    cr_assert_eq(pld_spectrum_new(term, cumulant, count, TILT, size, &roots, NULL, &spectrum),
                 PLD_OK);
    cr_expect(spectrum.count > 0 && spectrum.count <= most, "%zu kept", spectrum.count);
    size_t next = 0;
    for (uint64_t k = 0; k <= size / 2; k++) {
        double complex upper = 1.0, lower = 1.0;
        for (size_t i = 0; i < count; i++) {
            upper *= coefficient(&term[i].upper, cumulant[i].upper, k, size, term[i].times);
            lower *= coefficient(&term[i].lower, cumulant[i].lower, k, size, term[i].times);
        }
        if (next == spectrum.count || spectrum.bin[next].frequency != k) {
            cr_assert_leq(fmax(cabs(upper), cabs(lower)), spectrum.neglected, "frequency %lu",
                          (unsigned long)k);
            continue;
        }
        const struct pld_bin *bin = &spectrum.bin[next++];
        double slack = bin->error + 1e-12; /* cpow's own rounding */
        cr_assert_leq(cabs(upper - (bin->upper_re + I * bin->upper_im)), slack, "upper %lu",
                      (unsigned long)k);
        cr_assert_leq(cabs(lower - (bin->lower_re + I * bin->lower_im)), slack, "lower %lu",
                      (unsigned long)k);
        cr_assert_leq(bin->error, 1e-8);
    }
    cr_assert_eq(next, spectrum.count);
    pld_spectrum_clear(&spectrum);
    roots_clear(&roots);
}

static void term_clear(struct pld_term *term)
{
    pld_clear(&term->upper);
    pld_clear(&term->lower);
}

Test(pld_spectrum, many_draws_leave_a_few_frequencies)
{
    struct subsampled_gaussian g = {.sampling_rate = 0.05, .noise_multiplier = 2.0};
    struct pld_term term = term_of(subsampled_gaussian_outcomes, &g, 2e-3, 10000);
    check(&term, 1, 4096, 200);
    term_clear(&term);
}

Test(pld_spectrum, few_draws_and_atoms_keep_all)
{
    struct subsampled_gaussian g = {.sampling_rate = 0.05, .noise_multiplier = 2.0, .add = true};
    struct pld_atoms atoms = pld_atoms_of_pair(0.3, 1e-6);
    struct pld_term term[] = {term_of(subsampled_gaussian_outcomes, &g, 2e-3, 3),
                              term_of(pld_atoms_outcomes, &atoms, 2e-3, 7)};
    check(&term[0], 1, 2048, 1025);
    check(&term[1], 1, 2048, 1025);
    check(term, 2, 2048, 1025);
    term_clear(&term[0]);
    term_clear(&term[1]);
}

Test(pld_spectrum, one_part_decides_for_all)
{
    struct subsampled_gaussian g = {.sampling_rate = 0.05, .noise_multiplier = 2.0};
    struct pld_atoms atoms = pld_atoms_of_pair(0.3, 1e-6);
    struct pld_term term[] = {term_of(pld_atoms_outcomes, &atoms, 2e-3, 20),
                              term_of(subsampled_gaussian_outcomes, &g, 2e-3, 5000)};
    check(term, 2, 4096, 300);
    term_clear(&term[0]);
    term_clear(&term[1]);
}
