/* Both bounds travel through one complex transform: the upper law as its real part, the lower as
 * its imaginary one.
 *
 * With K = ln E exp(t loss) of one draw and x_i the tilted n-fold law on the window,
 *   delta(e) = exp(n K - t e) sum_{l_i > e} x_i exp(-t (l_i - e)) (1 - exp(-(l_i - e))).
 * The two running sums
 *   A_j = sum_{i >= j} x_i exp(-t (l_i - l_j)),
 *   C_j = sum_{i >= j} x_i exp(-t (l_i - l_j)) (1 - exp(-(l_i - l_j)))
 * give delta everywhere: at e = l_j - y with 0 <= y <= step,
 *   delta = exp(n K - t l_j) (C_j + (1 - exp(-y)) (A_j - C_j)). */
#include "algos/privacy/pld_compose.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/fft.h"

#define HALF_ULP          0x1p-53
#define QUADRATURE_ERROR  1e-14 /* relative error of a mass; Gauss-Legendre's own is below 3e-15 */
#define RELATIVE_ROUNDING 1e-12 /* of the few operations after the transforms */

/* One of the two bounds on the window. */
struct side {
    double *a, *c;     /* running sums, of window.size */
    double log_norm;   /* n K */
    double spare;      /* bound of the error of any x_i */
    double above;      /* tilted mass that belongs above the window */
    double below;      /* and below it */
    double infinite;   /* n-fold probability of an infinite loss */
    double loss_error; /* rounding of the losses, summed over the draws */
};

struct pld_sum {
    struct pld_window window;
    double step;
    struct side upper, lower;
};

static double square(double x)
{
    return x * x;
}

/* Tilts PLD by the window's tilt and folds it onto the circle; every other double of CIRCLE. Gives
 * the relative error of the entries. */
static double fold(const struct pld *pld, const struct pld_window *window, double cumulant,
                   double *circle)
{
    double largest = 0;
    int64_t size = (int64_t)window->size;
    for (size_t i = 0; i < pld->count; i++) {
        if (pld->mass[i] <= 0.0)
            continue;
        int64_t place = pld->place[i];
        double tilted = window->tilt * (double)place * pld->step;
        double x = pld->mass[i] * exp(tilted - cumulant);
        if (x > DBL_EPSILON * DBL_EPSILON)
            largest = fmax(largest, fabs(tilted) + fabs(cumulant));
        circle[2 * (size_t)(((place % size) + size) % size)] += x;
    }
    return QUADRATURE_ERROR + 4.0 * HALF_ULP * (2.0 + largest);
}

/* z^n of *re + i *im. Relative error at most 4 n HALF_ULP. */
static void power(double *re, double *im, uint64_t n)
{
    double zr = *re, zi = *im, wr = 1.0, wi = 0.0;
    /* Below exp(-700) the power is zero for every purpose; squarings would stall on denormals. */
    if ((double)n * log(fmax(square(zr) + square(zi), DBL_MIN)) < -1400.0) {
        *re = *im = 0.0;
        return;
    }
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
static double power_error(double magnitude, double powered, uint64_t times, double error)
{
    double n = (double)times;
    if (times == 1)
        return error;
    if (magnitude < 0.5) /* n r^(n-1) with r <= 1/2 + error is at most 1.1 */
        return 1.1 * error;
    return n * error * powered / magnitude * exp(2.0 * n * error);
}

/* The spectrum of X + iY becomes the conjugate of that of X^n + iY^n, where powers are
 * convolutions: transforming forward again inverts. Adds up the errors and magnitudes that the
 * inverse averages. */
static void power_spectrum(double *spectrum, size_t size, uint64_t times, double error,
                           double *out_error, double *out_magnitude)
{
    double errors = 0, magnitudes = 0;
    for (size_t k = 0; k <= size / 2; k++) {
        size_t m = (size - k) % size;
        double pr = spectrum[2 * k], pi = spectrum[2 * k + 1];
        double mr = spectrum[2 * m], mi = spectrum[2 * m + 1];
        double xr = 0.5 * (pr + mr), xi = 0.5 * (pi - mi);
        double yr = 0.5 * (pi + mi), yi = 0.5 * (mr - pr);
        double x = sqrt(square(xr) + square(xi)), y = sqrt(square(yr) + square(yi));
        power(&xr, &xi, times);
        power(&yr, &yi, times);
        double xn = sqrt(square(xr) + square(xi)), yn = sqrt(square(yr) + square(yi));
        double both = power_error(x, xn, times, error) + power_error(y, yn, times, error);
        errors += k == m ? both : 2.0 * both;
        magnitudes += k == m ? xn + yn : 2.0 * (xn + yn);
        spectrum[2 * k] = xr - yi;
        spectrum[2 * k + 1] = -(xi + yr);
        spectrum[2 * m] = xr + yi;
        spectrum[2 * m + 1] = -(yr - xi);
    }
    *out_error = errors;
    *out_magnitude = magnitudes;
}

/* CIRCLE holds two folded laws; gives their n-fold convolutions and a bound of the absolute error
 * of each entry. */
static bool convolve(const struct pld_window *window, double input_error, double *circle,
                     double *out_error)
{
    size_t size = window->size;
    bool done = false;
    struct fft *fft = fft_new(size);
    double *spectrum = calloc(2 * size, sizeof *spectrum);
    if (!fft || !spectrum || !fft_forward(fft, circle, spectrum))
        goto cleanup;
    /* Both laws have mass one, and a bin of the spectrum mixes both. Powers round like inputs. */
    double error = input_error + 2.0 * fft_relative_error(size) + 4.0 * HALF_ULP;
    double errors, magnitudes;
    power_spectrum(spectrum, size, window->times, error, &errors, &magnitudes);
    if (!fft_forward(fft, spectrum, circle))
        goto cleanup;
    for (size_t i = 0; i < size; i++) {
        circle[2 * i] /= (double)size;
        circle[2 * i + 1] /=
            -(double)size; /* the forward transform of a conjugate is a conjugate */
    }
    *out_error = (errors + fft_relative_error(size) * magnitudes) / (double)size;
    done = true;
cleanup:
    fft_free(fft);
    free(spectrum);
    return done;
}

/* Tilted mass of the sum beyond either end of the window (Chernoff), and what K gives. */
static void bound_tails(const struct pld *pld, const struct pld_window *w, double cumulant,
                        struct side *side)
{
    double n = (double)w->times;
    double bottom = (double)w->low * pld->step;
    double top = (double)(w->low + (int64_t)w->size) * pld->step;
    double up = pld_cumulant(pld, w->tilt + w->tilt_above);
    double down = pld_cumulant(pld, w->tilt - w->tilt_below);
    side->above = exp(fmin(0.0, n * (up - cumulant) - w->tilt_above * top));
    side->below = exp(fmin(0.0, n * (down - cumulant) + w->tilt_below * bottom));
    side->log_norm = n * cumulant;
    side->infinite = -expm1(n * log1p(-fmin(pld->infinite_mass, 1.0)));
    double span = fmax(fabs((double)pld->place[0]), fabs((double)pld->place[pld->count - 1]));
    side->loss_error =
        n * 4.0 * HALF_ULP * (1.0 + fmin(span * pld->step, 1.0 + fabs(top) + fabs(bottom)));
}

/* The running sums of every other double of CIRCLE, which starts at loss 0 modulo the window. */
static bool add_up(const struct pld_sum *sum, const double *circle, struct side *side)
{
    const struct pld_window *w = &sum->window;
    size_t size = w->size;
    side->a = malloc(size * sizeof *side->a);
    side->c = malloc(size * sizeof *side->c);
    if (!side->a || !side->c)
        return false;
    int64_t length = (int64_t)size;
    size_t shift = (size_t)(((w->low % length) + length) % length);
    double tilt_step = exp(-w->tilt * sum->step), loss_step = exp(-sum->step);
    double lost = -expm1(-sum->step), a = 0, c = 0;
    for (size_t j = size; j-- > 0;) {
        c = tilt_step * (loss_step * c + lost * a);
        a = tilt_step * a + fmax(circle[2 * ((j + shift) & (size - 1))], 0.0);
        side->a[j] = a;
        side->c[j] = c;
    }
    return true;
}

struct pld_sum *pld_compose(const struct pld *upper, const struct pld *lower,
                            const struct pld_window *window)
{
    assert(window->times > 0 && window->tilt > 0.0 && upper->step == lower->step);
    assert(window->tilt_above > 0.0 && window->tilt_below > 0.0);
    assert(window->size >= 4 && !(window->size & (window->size - 1)));
    bool done = false;
    struct pld_sum *sum = calloc(1, sizeof *sum);
    double *circle = calloc(2 * window->size, sizeof *circle);
    if (!sum || !circle)
        goto cleanup;
    sum->window = *window;
    sum->step = upper->step;
    double k_upper = pld_cumulant(upper, window->tilt), k_lower = pld_cumulant(lower, window->tilt);
    double error =
        fmax(fold(upper, window, k_upper, circle), fold(lower, window, k_lower, circle + 1));
    bound_tails(upper, window, k_upper, &sum->upper);
    bound_tails(lower, window, k_lower, &sum->lower);
    if (!convolve(window, error, circle, &error))
        goto cleanup;
    sum->upper.spare = sum->lower.spare = error;
    done = add_up(sum, circle, &sum->upper) && add_up(sum, circle + 1, &sum->lower);
cleanup:
    free(circle);
    if (done)
        return sum;
    pld_sum_free(sum);
    return NULL;
}

void pld_sum_free(struct pld_sum *sum)
{
    if (!sum)
        return;
    free(sum->upper.a);
    free(sum->upper.c);
    free(sum->lower.a);
    free(sum->lower.c);
    free(sum);
}

static double loss_of(const struct pld_sum *sum, size_t j)
{
    return (double)(sum->window.low + (int64_t)j) * sum->step;
}

/* Upper bound of sum_i exp(-t y_i)(1 - exp(-y_i)) over the window's points above any epsilon:
 * integral plus greatest term. */
static double weight_of_error(const struct pld_sum *sum)
{
    double t = sum->window.tilt;
    return fmin((double)sum->window.size, 1.0 / (sum->step * t * (t + 1.0)) + 1.0 / (t + 1.0));
}

/* Certified delta at epsilon = loss_of(j), from above. ALLOWANCE: the part of the errors that
 * scales with exp(n K - t e); it is taken a step lower, so that it holds for the whole cell below
 * j. */
static double upper_delta(const struct pld_sum *sum, size_t j, double *out_scale,
                          double *out_constant)
{
    const struct side *u = &sum->upper;
    double t = sum->window.tilt, loss = loss_of(sum, j);
    double scale = exp(u->log_norm - t * loss) * (1.0 + RELATIVE_ROUNDING * (1.0 + fabs(t * loss)));
    double error = u->spare * weight_of_error(sum) * exp(t * sum->step);
    double top = loss_of(sum, sum->window.size);
    double beyond = exp(u->log_norm - t * top) * u->above;
    *out_scale = scale;
    *out_constant = scale * error + beyond + u->infinite;
    return scale * u->c[j] + *out_constant;
}

/* The same from below. */
static double lower_delta(const struct pld_sum *sum, size_t j, double *out_scale,
                          double *out_constant)
{
    const struct side *l = &sum->lower;
    double t = sum->window.tilt, loss = loss_of(sum, j);
    double scale = exp(l->log_norm - t * loss) * (1.0 - RELATIVE_ROUNDING * (1.0 + fabs(t * loss)));
    double error = (l->spare * weight_of_error(sum) + l->above + l->below) * exp(t * sum->step);
    *out_scale = scale;
    *out_constant = -scale * error;
    return scale * l->c[j] + *out_constant;
}

/* How far below loss_of(j) the delta reaches DELTA: the y of the head comment, in [0, step]. */
static double step_back(const struct pld_sum *sum, double delta, const struct side *side, size_t j,
                        double scale, double constant)
{
    double gone = ((delta - constant) / scale - side->c[j]) / (side->a[j] - side->c[j]);
    if (!(gone > 0.0))
        return 0.0;
    double y = gone < 1.0 ? -log1p(-gone) : sum->step;
    return fmin(y, sum->step);
}

void pld_sum_epsilon(const struct pld_sum *sum, double delta, double *out_lower, double *out_upper)
{
    double scale, constant;
    size_t size = sum->window.size;
    /* First grid points at which delta suffices; both bounds fall with epsilon. */
    size_t low = 0, high = size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (upper_delta(sum, middle, &scale, &constant) <= delta)
            high = middle;
        else
            low = middle + 1;
    }
    *out_upper = INFINITY;
    if (low < size) {
        upper_delta(sum, low, &scale, &constant);
        double y = low ? step_back(sum, delta, &sum->upper, low, scale, constant) : 0.0;
        double epsilon = loss_of(sum, low) - y + sum->upper.loss_error;
        *out_upper = fmax(0.0, epsilon * (1.0 + 4.0 * HALF_ULP));
    }
    low = 0, high = size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lower_delta(sum, middle, &scale, &constant) <= delta)
            high = middle;
        else
            low = middle + 1;
    }
    *out_lower = 0.0;
    if (low > 0) {
        size_t j = low < size ? low : size - 1;
        lower_delta(sum, j, &scale, &constant);
        double y = low < size ? step_back(sum, delta, &sum->lower, j, scale, constant) : 0.0;
        double epsilon = loss_of(sum, j) - y - sum->lower.loss_error;
        *out_lower = fmax(0.0, epsilon * (1.0 - 4.0 * HALF_ULP));
    }
}
