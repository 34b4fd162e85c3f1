/* Delta at any grid point, straight from the Fourier coefficients.
 *
 * DESIGN. With nK the composition's cumulant at tilt t and x_p its tilted law at the places p of
 * the window, step h,
 *   delta(l_j) = exp(nK - t l_j) C_j,   C_j = sum_{p >= j} x_p w^(p-j) (1 - v^(p-j)),
 *   w = exp(-t h), v = exp(-h).
 * On the circle x_p = (1/N) sum_k X_k z_k^p, z_k = exp(2 pi i k / N), and the sum over p up to the
 * end M of the window is a difference of geometric series:
 *   C_j = (1/N) sum_k X_k z_k^j [ 1/(1 - w z_k) - 1/(1 - w v z_k) ]
 *         - w^(M-j) ( S(w) - v^(M-j) S(w v) ),   S(y) = (1/N) sum_k X_k z_k^M / (1 - y z_k).
 * Only a few dozen k matter when much is composed, so no inverse transform is needed. A law on a
 * grid has a delta that is linear in exp(epsilon) between the grid's points. */
#include "algos/privacy/laws/pld_compose.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/pld_spectrum.h"
#include "memory/memory.h"

#define HALF_ULP          0x1p-53
#define RELATIVE_ROUNDING 1e-12 /* of the few operations after the transforms */
#define CUMULANT_ROUNDING 1e-12 /* of one draw's cumulant, with what tilting rounds */

/* Work (work.h), measured, until a figure is found. */
#define SUM_STEPS    100.0 /* of a frequency */
#define SINGLE_STEPS 250.0 /* of a cell of a law that is drawn once */

#define SINGLE_ROUNDING                                                                            \
    1e-10 /* of masses and of sums of at most PLD_MAX_CELLS terms, with room                       \
           */

/* One of the two bounds on the window. */
struct side {
    double *re, *im;   /* of X_k / N times the bracket above, real parts doubled up */
    double s_w, s_wv;  /* S(w), S(w v) */
    double error;      /* bound of the error of any C_j, without that of the two S */
    double s_error;    /* bound of the error of the two S together */
    double log_norm;   /* nK */
    double above;      /* tilted mass that belongs above the window */
    double below;      /* and below it */
    double infinite;   /* probability of an infinite loss */
    double loss_error; /* rounding of the losses, summed over the draws */
};

struct pld_sum {
    struct pld_window window;
    double step;
    const struct pld_term *single; /* set when the plan is one term that runs once: no transform */
    struct roots roots;            /* of twice the window */
    uint64_t *frequency;
    size_t count;
    struct side upper, lower;
};

static double sum_loss(const struct pld_sum *sum, int64_t place)
{
    return (double)place * sum->step;
}

static int64_t top_of(const struct pld_sum *sum)
{
    return sum->window.low + (int64_t)sum->window.size;
}

/* Tilted mass of the sum beyond either end of the window (Chernoff), and what K gives. */
static void bound_tails(const struct pld_sum *sum, const struct pld_term *term, size_t count,
                        bool upper, struct pld_cumulants *cumulant, struct side *side)
{
    const struct pld_window *w = &sum->window;
    double bottom = sum_loss(sum, w->low), top = sum_loss(sum, top_of(sum));
    double norm = 0, up = 0, down = 0, told = 0, rounded = 0, times = 0;
    for (size_t i = 0; i < count; i++) {
        const struct pld *pld = upper ? &term[i].upper : &term[i].lower;
        double n = (double)term[i].times, k = pld_cumulant(pld, w->tilt);
        *(upper ? &cumulant[i].upper : &cumulant[i].lower) = k;
        times += n;
        norm += n * k;
        up += n * (pld_cumulant(pld, w->tilt + w->tilt_above) - k);
        down += n * (pld_cumulant(pld, w->tilt - w->tilt_below) - k);
        told += n * log1p(-fmin(pld->infinite_mass, 1.0));
        double span = fmax(fabs((double)pld->place[0]), fabs((double)pld->place[pld->count - 1]));
        rounded += n * (1.0 + fmin(span * pld->step, 1.0 + fabs(top) + fabs(bottom)));
    }
    side->log_norm = norm;
    /* K at the tilt itself is only a norm; elsewhere its rounding counts, and a draw's is small. */
    double spare = times * CUMULANT_ROUNDING;
    side->above = exp(fmin(0.0, up - w->tilt_above * top + spare));
    side->below = exp(fmin(0.0, down + w->tilt_below * bottom + spare));
    side->infinite = fmax(0.0, -expm1(told));
    side->loss_error = 4.0 * HALF_ULP * rounded;
}

/* 1 / (1 - y z) for z = exp(i angle), given the sine and cosine of half the angle; 1 - y is GAP.
 * Both parts of the denominator are sums without cancellation. */
static void inverse_gap(double y, double gap, double half_cos, double half_sin, double *re,
                        double *im)
{
    double dr = gap + 2.0 * y * half_sin * half_sin, di = -2.0 * y * half_sin * half_cos;
    double norm = dr * dr + di * di;
    *re = dr / norm;
    *im = -di / norm;
}

/* Turns one coefficient X of a side into its terms of C and S. MULTIPLICITY: 2 where the conjugate
 * frequency is left to it, over N. Adds to the sums of magnitudes and of errors. */
struct weights {
    double w, wv, w_gap, wv_gap, lost; /* 1 - w, 1 - w v, 1 - v */
};

static void add_bin(const struct pld_sum *sum, const struct weights *g, size_t i, double xr,
                    double xi, double error, double multiplicity, struct side *side)
{
    uint64_t k = sum->frequency[i];
    double half_cos, half_sin, ar, ai, br, bi, zr, zi;
    roots_at(&sum->roots, k, &half_cos, &half_sin);
    inverse_gap(g->w, g->w_gap, half_cos, half_sin, &ar, &ai);
    inverse_gap(g->wv, g->wv_gap, half_cos, half_sin, &br, &bi);
    /* a - b = w z (1 - v) a b */
    double pr = ar * br - ai * bi, pi = ar * bi + ai * br;
    double fr = half_cos * half_cos - half_sin * half_sin, fi = 2.0 * half_cos * half_sin;
    double cr = g->w * g->lost * (fr * pr - fi * pi), ci = g->w * g->lost * (fr * pi + fi * pr);
    side->re[i] = multiplicity * (xr * cr - xi * ci);
    side->im[i] = multiplicity * (xr * ci + xi * cr);
    roots_at(&sum->roots, 2 * k * (uint64_t)top_of(sum), &zr, &zi);
    double yr = multiplicity * (xr * zr - xi * zi), yi = multiplicity * (xr * zi + xi * zr);
    side->s_w += yr * ar - yi * ai;
    side->s_wv += yr * br - yi * bi;
    /* Rounding: of roots, of the operations here and of sums of as many terms. */
    double rounding = 8.0 * ROOTS_ERROR + HALF_ULP * (64.0 + (double)sum->count);
    double whole = multiplicity * (error + rounding * sqrt(xr * xr + xi * xi));
    side->error += whole * sqrt(cr * cr + ci * ci);
    side->s_error += whole * (sqrt(ar * ar + ai * ai) + sqrt(br * br + bi * bi));
}

static void add_spectrum(const struct pld_spectrum *spectrum, struct pld_sum *sum)
{
    size_t count = spectrum->count;
    double h = sum->step, t = sum->window.tilt, size = (double)sum->window.size;
    struct side *sides[] = {&sum->upper, &sum->lower};
    struct weights g = {.w = exp(-t * h),
                        .wv = exp(-(t + 1.0) * h),
                        .w_gap = -expm1(-t * h),
                        .wv_gap = -expm1(-(t + 1.0) * h),
                        .lost = -expm1(-h)};
    sum->count = count;
    sum->frequency = memory_new(count + 1, sizeof *sum->frequency);
    for (int s = 0; s < 2; s++) {
        struct side *side = sides[s];
        side->re = memory_new(count + 1, sizeof *side->re);
        side->im = memory_new(count + 1, sizeof *side->im);
        for (size_t i = 0; i < count; i++) {
            const struct pld_bin *bin = &spectrum->bin[i];
            sum->frequency[i] = bin->frequency;
            bool alone = bin->frequency == 0 || bin->frequency == sum->window.size / 2;
            double times = (alone ? 1.0 : 2.0) / size;
            if (s)
                add_bin(sum, &g, i, bin->lower_re, bin->lower_im, bin->error, times, side);
            else
                add_bin(sum, &g, i, bin->upper_re, bin->upper_im, bin->error, times, side);
        }
        /* No coefficient's weight is greater than that of frequency 0. */
        side->error += spectrum->neglected * g.w * g.lost / (g.w_gap * g.wv_gap);
        side->s_error += spectrum->neglected * 2.0 / g.w_gap;
    }
}

enum pld_status pld_compose(const struct pld_term *term, size_t count,
                            const struct pld_window *window, struct pld_sum **out)
{
    assert(count > 0 && window->tilt > 0.0);
    assert(window->tilt_above > 0.0 && window->tilt_below > 0.0);
    assert(window->size >= 4 && !(window->size & (window->size - 1)));
    enum pld_status status = PLD_OK;
    struct pld_spectrum spectrum = {0};
    struct pld_sum *sum = memory_new(1, sizeof *sum);
    struct pld_cumulants *cumulant = memory_new(count, sizeof *cumulant);
    sum->window = *window;
    sum->step = term[0].upper.step;
    bound_tails(sum, term, count, true, cumulant, &sum->upper);
    bound_tails(sum, term, count, false, cumulant, &sum->lower);
    if (count == 1 && term->times == 1) {
        sum->single = term;
        if (!work_take(window->work, SINGLE_STEPS * (double)term->upper.count))
            status = PLD_TOO_MUCH_WORK;
    } else {
        roots_new(2 * window->size, &sum->roots);
        status = pld_spectrum_new(term, cumulant, count, window->tilt, window->size, &sum->roots,
                                  window->work, &spectrum);
        if (status == PLD_OK && !work_take(window->work, SUM_STEPS * (double)spectrum.count))
            status = PLD_TOO_MUCH_WORK;
        if (status == PLD_OK)
            add_spectrum(&spectrum, sum);
    }
    pld_spectrum_clear(&spectrum);
    free(cumulant);
    if (status == PLD_OK)
        *out = sum;
    else
        pld_sum_free(sum);
    return status;
}

static void side_clear(struct side *side)
{
    free(side->re);
    free(side->im);
}

void pld_sum_free(struct pld_sum *sum)
{
    if (!sum)
        return;
    side_clear(&sum->upper);
    side_clear(&sum->lower);
    roots_clear(&sum->roots);
    free(sum->frequency);
    free(sum);
}

/* C_j, and a bound of its error. */
static double tail_sum(const struct pld_sum *sum, const struct side *side, int64_t place,
                       double *out_error)
{
    double c = 0, left = (double)(top_of(sum) - place) * sum->step;
    for (size_t i = 0; i < sum->count; i++) {
        double re, im;
        roots_at(&sum->roots, 2 * sum->frequency[i] * (uint64_t)place, &re, &im);
        c += side->re[i] * re - side->im[i] * im;
    }
    double end = exp(-sum->window.tilt * left);
    *out_error = side->error + end * side->s_error;
    return c - end * (side->s_w - exp(-left) * side->s_wv);
}

/* Delta of a law that is drawn once. */
static double single_delta(const struct pld *pld, int64_t place)
{
    double sum = 0;
    for (size_t i = pld->count; i-- > 0 && pld->place[i] > place;)
        sum += pld->mass[i] * -expm1(-(double)(pld->place[i] - place) * pld->step);
    return sum;
}

/* Certified delta at sum_loss(place), from above; the window's end included. */
static double upper_delta(const struct pld_sum *sum, int64_t place)
{
    const struct side *u = &sum->upper;
    if (sum->single)
        return fmin(1.0, single_delta(&sum->single->upper, place) * (1.0 + SINGLE_ROUNDING) +
                             u->infinite);
    double t = sum->window.tilt, loss = sum_loss(sum, place), top = sum_loss(sum, top_of(sum));
    double rounding = RELATIVE_ROUNDING * (1.0 + fabs(u->log_norm) + t * fmax(fabs(loss), top));
    double error, c = tail_sum(sum, u, place, &error);
    double inside = exp(u->log_norm - t * loss) * (fmax(c, 0.0) + error);
    double beyond = exp(u->log_norm - t * top) * u->above;
    double delta = (inside + beyond) * (1.0 + rounding) + u->infinite;
    return delta < 1.0 ? delta : 1.0;
}

/* The same from below. */
static double lower_delta(const struct pld_sum *sum, int64_t place)
{
    const struct side *l = &sum->lower;
    if (sum->single)
        return single_delta(&sum->single->lower, place) * (1.0 - SINGLE_ROUNDING) + l->infinite;
    double t = sum->window.tilt, loss = sum_loss(sum, place);
    double rounding = RELATIVE_ROUNDING * (1.0 + fabs(l->log_norm) + fabs(t * loss));
    double error, c = tail_sum(sum, l, place, &error);
    double inside = c - error - l->above - l->below;
    if (!(inside > 0.0))
        return l->infinite;
    return fmin(1.0, exp(l->log_norm - t * loss) * inside * (1.0 - rounding) + l->infinite);
}

/* Delta between two neighbouring points at the loss AT; linear in exp(loss). */
static double delta_between(const struct pld_sum *sum, int64_t place, double left, double right,
                            double at)
{
    double inside = fmin(fmax(at - sum_loss(sum, place), 0.0), sum->step);
    return left + (right - left) * (expm1(inside) / expm1(sum->step));
}

/* The first place of the window, or its end, at which F suffices. */
static int64_t first_sufficing(const struct pld_sum *sum, double delta,
                               double (*f)(const struct pld_sum *sum, int64_t place))
{
    int64_t low = sum->window.low, high = top_of(sum);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (f(sum, middle) <= delta)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Where between PLACE - 1 and PLACE delta is reached. */
static double delta_crossing(const struct pld_sum *sum, double delta, int64_t place,
                             double (*f)(const struct pld_sum *sum, int64_t place))
{
    double right = f(sum, place), left = f(sum, place - 1);
    if (!(left > delta && right <= delta))
        return sum_loss(sum, place);
    double share = (left - delta) / (left - right);
    return sum_loss(sum, place - 1) + log1p(share * expm1(sum->step));
}

struct privacy_interval pld_sum_epsilon(const struct pld_sum *sum, double delta)
{
    struct privacy_interval out = {0.0, INFINITY};
    int64_t place = first_sufficing(sum, delta, upper_delta);
    if (upper_delta(sum, place) <= delta) {
        double epsilon = place > sum->window.low ? delta_crossing(sum, delta, place, upper_delta)
                                                 : sum_loss(sum, place);
        epsilon += sum->upper.loss_error;
        out.upper = fmax(0.0, epsilon + 8.0 * HALF_ULP * fabs(epsilon));
    }
    if (sum->lower.infinite * (1.0 - RELATIVE_ROUNDING) > delta)
        return (struct privacy_interval){INFINITY, INFINITY};
    place = first_sufficing(sum, delta, lower_delta);
    if (place > sum->window.low) {
        double epsilon = delta_crossing(sum, delta, place, lower_delta);
        /* Here, too, delta must really be above. */
        if (epsilon == sum_loss(sum, place))
            epsilon = sum_loss(sum, place - 1);
        epsilon -= sum->lower.loss_error;
        out.lower = fmax(0.0, epsilon - 8.0 * HALF_ULP * fabs(epsilon));
    }
    return out;
}

struct privacy_interval pld_sum_delta(const struct pld_sum *sum, double epsilon)
{
    struct privacy_interval out = {sum->lower.infinite, 1.0};
    int64_t low = sum->window.low, top = top_of(sum);
    double at = epsilon - sum->upper.loss_error;
    double place = floor(at / sum->step);
    if (place >= (double)top)
        out.upper = upper_delta(sum, top);
    else if (place >= (double)low) {
        double left = upper_delta(sum, (int64_t)place);
        out.upper =
            delta_between(sum, (int64_t)place, left, upper_delta(sum, (int64_t)place + 1), at);
    }
    at = epsilon + sum->lower.loss_error;
    place = fmax((double)low, floor(at / sum->step));
    if (place < (double)top) {
        double left = lower_delta(sum, (int64_t)place);
        double right = lower_delta(sum, (int64_t)place + 1);
        out.lower = delta_between(sum, (int64_t)place, left, right, at);
    }
    out.lower *= 1.0 - RELATIVE_ROUNDING;
    out.upper = fmin(1.0, out.upper * (1.0 + RELATIVE_ROUNDING));
    return out;
}
