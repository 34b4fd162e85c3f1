/* Which frequencies matter, and their values.
 *
 * DESIGN. Every tilted law sums to one, so no coefficient exceeds one, and after n draws all but a
 * few dozen low ones vanish. These few are sums over the cells, each root of unity being looked up.
 * That the rest vanishes is proved by walking along the circle: the magnitude of a law's transform
 * changes by at most its standard deviation per radian (|f'| <= E|l - mean|), so one value clears a
 * whole neighbourhood. Only when too many remain (few draws, or atoms) does a fast transform give
 * all at once, both laws in one: the upper as its real part, the lower as its imaginary one. */
#include "algos/privacy/laws/pld_spectrum.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"

#define HALF_ULP      0x1p-53
#define LN_NEGLIGIBLE (-80.0)
#define PROBES        16

/* Steps of work (work.h), measured. */
#define TRANSFORM_STEPS 20.0 /* for each point */
#define POWER_STEPS     1.5  /* for each point and each bit of the number of repetitions */
#define DIRECT_STEPS    3.0  /* for each frequency and each cell */

static double bin_square(double x)
{
    return x * x;
}

/* z^n of *re + i *im. Relative error at most 4 n HALF_ULP. */
static void complex_power(double *re, double *im, uint64_t n)
{
    double zr = *re, zi = *im, wr = 1.0, wi = 0.0;
    for (;;) {
        if (n & 1) {
            double r = wr * zr - wi * zi;
            wi = wr * zi + wi * zr;
            wr = r;
        }
        n >>= 1;
        if (!n)
            break;
        double r = (zr - zi) * (zr + zi);
        zi = 2.0 * zr * zi;
        zr = r;
    }
    *re = wr;
    *im = wi;
}

/* How far (F + e)^n can be from F^n when |e| <= ERROR, given |F| and |F^n|. */
static double power_error(double magnitude, double powered, double n, double error)
{
    if (n == 1.0)
        return error;
    if (magnitude < 0.5) /* n r^(n-1) with r <= 1/2 + error is at most 1.1 */
        return 1.1 * error;
    return n * error * powered / magnitude * exp(2.0 * n * error);
}

/* Raises BIN to the power of TIMES. */
static void raise_bin(struct pld_bin *bin, uint64_t times)
{
    double u = sqrt(bin_square(bin->upper_re) + bin_square(bin->upper_im));
    double l = sqrt(bin_square(bin->lower_re) + bin_square(bin->lower_im));
    complex_power(&bin->upper_re, &bin->upper_im, times);
    complex_power(&bin->lower_re, &bin->lower_im, times);
    double un = sqrt(bin_square(bin->upper_re) + bin_square(bin->upper_im));
    double ln = sqrt(bin_square(bin->lower_re) + bin_square(bin->lower_im));
    double error = bin->error + 4.0 * HALF_ULP; /* powers round like inputs */
    bin->error =
        fmax(power_error(u, un, (double)times, error), power_error(l, ln, (double)times, error));
}

static double bin_magnitude(const struct pld_bin *bin)
{
    return sqrt(fmax(bin_square(bin->upper_re) + bin_square(bin->upper_im),
                     bin_square(bin->lower_re) + bin_square(bin->lower_im)));
}

/* *bin *= factor. */
static void bin_multiply(struct pld_bin *bin, const struct pld_bin *factor)
{
    double mine = bin_magnitude(bin), theirs = bin_magnitude(factor);
    double error = bin->error * (theirs + factor->error) + mine * factor->error +
                   4.0 * HALF_ULP * mine * theirs;
    double re = bin->upper_re * factor->upper_re - bin->upper_im * factor->upper_im;
    bin->upper_im = bin->upper_re * factor->upper_im + bin->upper_im * factor->upper_re;
    bin->upper_re = re;
    re = bin->lower_re * factor->lower_re - bin->lower_im * factor->lower_im;
    bin->lower_im = bin->lower_re * factor->lower_im + bin->lower_im * factor->lower_re;
    bin->lower_re = re;
    bin->error = error;
}

static void spectrum_append(struct pld_spectrum *spectrum, const struct pld_bin *bin)
{
    if (spectrum->count == spectrum->capacity) {
        spectrum->capacity = spectrum->capacity ? 2 * spectrum->capacity : 256;
        spectrum->bin = memory_resize(spectrum->bin, spectrum->capacity, sizeof *spectrum->bin);
    }
    spectrum->bin[spectrum->count++] = *bin;
}

/* The magnitude below which a coefficient's power is negligible. */
static double least_magnitude(const struct pld_tilted *t)
{
    return exp(LN_NEGLIGIBLE / (double)t->times);
}

/* The cost of a transform of SIZE, in terms of a direct sum. */
static double transform_cost(uint64_t size)
{
    return (double)size * log2((double)size);
}

/* Keeps the frequencies at which the power of T alone is not negligible. False: there were too many
 * and nothing is decided. *OUT_WALKED: how many were looked at. */
static bool spectrum_walk(const struct pld_tilted *t, uint64_t size, const struct roots *roots,
                          double *out_walked, struct pld_spectrum *out)
{
    double least = least_magnitude(t), error = t->error;
    double per_bin = t->spread * 2.0 * M_PI / (double)size * (1.0 + 1e-9);
    double budget =
        fmin(transform_cost(size), transform_cost(1 << PLD_MAX_LOG2_TRANSFORM)) / (double)t->count;
    uint64_t k = 0;
    for (; k <= size / 2; budget -= 1.0, *out_walked += 1.0) {
        if (budget < 0.0 || out->count > (size_t)1 << (PLD_MAX_LOG2_TRANSFORM - 1))
            return false;
        struct pld_bin bin;
        pld_tilted_at(t, roots, k, &bin);
        double spare = least - bin_magnitude(&bin) - error;
        if (spare > 0.0) {
            double cleared = fmin(spare / per_bin, (double)size);
            k += 1 + (uint64_t)cleared;
            continue;
        }
        raise_bin(&bin, t->times);
        spectrum_append(out, &bin);
        k++;
    }
    out->neglected = fmax(out->neglected, exp(LN_NEGLIGIBLE));
    return true;
}

/* The frequencies of OUT, or all when FIRST, by fast transform. *FFT is made when it is NULL. */
static enum pld_status multiply_all(const struct pld_tilted *t, uint64_t size, struct fft **fft,
                                    bool first, struct work *work, struct pld_spectrum *out)
{
    double steps = TRANSFORM_STEPS + POWER_STEPS * log2((double)t->times);
    if (size > (uint64_t)1 << PLD_MAX_LOG2_TRANSFORM)
        return PLD_TOO_LARGE;
    if (!work_take(work, steps * (double)size))
        return PLD_TOO_MUCH_WORK;
    if (!*fft)
        *fft = fft_new(size);
    double *spectrum = memory_new(2 * size, sizeof *spectrum);
    double error = pld_tilted_transform(t, size, *fft, spectrum),
           least = least_magnitude(t) - error;
    size_t kept = 0, count = first ? size / 2 + 1 : out->count;
    for (size_t i = 0; i < count; i++) {
        struct pld_bin bin;
        pld_tilted_separate(spectrum, size, first ? i : out->bin[i].frequency, error, &bin);
        if (bin_magnitude(&bin) < least)
            continue;
        raise_bin(&bin, t->times);
        if (first) {
            spectrum_append(out, &bin);
            continue;
        }
        out->bin[kept] = out->bin[i];
        bin_multiply(&out->bin[kept++], &bin);
    }
    if (!first)
        out->count = kept;
    out->neglected = fmax(out->neglected, exp(LN_NEGLIGIBLE));
    free(spectrum);
    return PLD_OK;
}

/* The kept frequencies times those of T. */
static enum pld_status multiply_by(const struct pld_tilted *t, uint64_t size,
                                   const struct roots *roots, struct fft **fft, struct work *work,
                                   struct pld_spectrum *out)
{
    double direct = (double)out->count * (double)t->count;
    if (direct > transform_cost(size))
        return multiply_all(t, size, fft, false, work, out);
    if (!work_take(work, DIRECT_STEPS * direct))
        return PLD_TOO_MUCH_WORK;
    for (size_t i = 0; i < out->count; i++) {
        struct pld_bin bin;
        pld_tilted_at(t, roots, out->bin[i].frequency, &bin);
        raise_bin(&bin, t->times);
        bin_multiply(&out->bin[i], &bin);
    }
    return PLD_OK;
}

/* Forgets what the product has made negligible. */
static void spectrum_prune(struct pld_spectrum *spectrum)
{
    size_t kept = 0;
    double least = exp(LN_NEGLIGIBLE);
    for (size_t i = 0; i < spectrum->count; i++)
        if (bin_magnitude(&spectrum->bin[i]) + spectrum->bin[i].error > least)
            spectrum->bin[kept++] = spectrum->bin[i];
    if (kept < spectrum->count)
        spectrum->neglected = fmax(spectrum->neglected, least);
    spectrum->count = kept;
}

/* ln of the greatest power of a coefficient of T that a few frequencies show. */
static double term_decay(const struct pld_tilted *t, uint64_t size, const struct roots *roots)
{
    double worst = -INFINITY;
    for (int i = 1; i <= PROBES; i++) {
        double share = i * 0.6180339887498949; /* as even as can be */
        struct pld_bin bin;
        pld_tilted_at(t, roots, (uint64_t)((share - floor(share)) * 0.5 * (double)size), &bin);
        worst = fmax(worst, (double)t->times * log(bin_magnitude(&bin)));
    }
    return worst;
}

/* The index of the term at whose decay most frequencies vanish. (A term of atoms keeps some
 * frequencies however often it runs.) */
static size_t most_decaying(const struct pld_tilted *t, size_t count, uint64_t size,
                            const struct roots *roots, double *out_decay)
{
    size_t best = 0;
    *out_decay = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double now = term_decay(&t[i], size, roots);
        if (now < *out_decay) {
            *out_decay = now;
            best = i;
        }
    }
    return best;
}

/* The frequencies of the first term. */
static enum pld_status spectrum_begin(const struct pld_tilted *t, double decayed, uint64_t size,
                                      const struct roots *roots, struct fft **fft,
                                      struct work *work, struct pld_spectrum *out)
{
    /* Computing every wanted frequency directly may still cost less than one fast transform. */
    bool few = 0.5 * (double)size * (double)t->count < transform_cost(size);
    if (decayed <= LN_NEGLIGIBLE || few) {
        double walked = 0;
        bool decided = spectrum_walk(t, size, roots, &walked, out);
        if (!work_take(work, DIRECT_STEPS * walked * (double)t->count))
            return PLD_TOO_MUCH_WORK;
        if (decided)
            return PLD_OK;
    }
    out->count = 0;
    return multiply_all(t, size, fft, true, work, out);
}

enum pld_status pld_spectrum_new(const struct pld_term *term, const struct pld_cumulants *cumulant,
                                 size_t count, double tilt, uint64_t size,
                                 const struct roots *roots, struct work *work,
                                 struct pld_spectrum *out)
{
    assert(count > 0 && size >= 4 && !(size & (size - 1)) && roots->size == 2 * size);
    *out = (struct pld_spectrum){0};
    enum pld_status status = PLD_NO_MEMORY;
    struct pld_tilted *tilted = memory_new(count, sizeof *tilted);
    struct fft *fft = NULL;
    bool done = true;
    for (size_t i = 0; done && i < count; i++)
        done = pld_tilted_new(&term[i], &cumulant[i], tilt, size, &tilted[i]);
    if (!done)
        goto cleanup;
    double decayed;
    size_t first = most_decaying(tilted, count, size, roots, &decayed);
    status = spectrum_begin(&tilted[first], decayed, size, roots, &fft, work, out);
    for (size_t i = 0; status == PLD_OK && i < count; i++) {
        if (i == first)
            continue;
        spectrum_prune(out);
        status = multiply_by(&tilted[i], size, roots, &fft, work, out);
    }
cleanup:
    for (size_t i = 0; i < count; i++)
        pld_tilted_clear(&tilted[i]);
    free(tilted);
    fft_free(fft);
    if (status != PLD_OK)
        pld_spectrum_clear(out);
    return status;
}

void pld_spectrum_clear(struct pld_spectrum *spectrum)
{
    free(spectrum->bin);
    *spectrum = (struct pld_spectrum){0};
}
