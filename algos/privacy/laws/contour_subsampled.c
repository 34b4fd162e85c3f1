/* The moment generating function of one step of DP-SGD on a line of the complex plane.
 *
 * DESIGN. With x standard normal, u = x/s - 1/(2 s^2), r = q (exp(u) - 1) and l = ln(1 + r),
 * removing a unit has M(z) = E (1+r)^p with p = z + 1, adding one has p = -z. The trapezoid rule in
 * x converges exponentially; its step follows the fastest oscillation of exp(i t l) and the
 * distance (pi s) to the branch points of the logarithm. As E r = 0, M - 1 = E d + p E(l - r),   d
 * = exp(p l) - 1 - p l, both of second order in r, so M - 1 keeps relative accuracy however many
 * steps multiply it. Along the line, t grows by equal steps and d by a recurrence: a complex
 * product instead of an exponential. Where exp(p l) would overflow, M is so large that scaled sums
 * do. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/contour_law.h"
#include "memory/memory.h"

#define TAIL       10.5  /* standard deviations beyond the bulk of the integrand */
#define MAX_NODES  20000 /* of one rule */
#define SHIFT_FROM 25.0  /* frequency at which x leaves the real line, */
#define MAX_SHIFT  2.5   /* as far as exp(y^2 / 2) does not hurt, */
#define MAX_ANGLE  1.4   /* and y / s stays below pi / 2 */
#define SAFE_TOP   50.0  /* greatest exponent of an integrand that needs no scaling, */
#define SAFE_EXP   600.0 /* and of one factor */
#define ROOT_2PI   2.50662827463100050242

struct rule {
    size_t count;
    double low, step;
    double power; /* Re p */
    double sign;  /* of dp/dz */
    double shift; /* Im x, of the sign of dp/dz; 0 as long as the real line serves */
};

static double excess_at(double q, double s, double x)
{
    return q * expm1(x / s - 0.5 / (s * s));
}

static double subsampled_loss(double q, double s, double x)
{
    double u = x / s - 0.5 / (s * s);
    return u > 30.0 ? u + log(q + (1.0 - q) * exp(-u)) : log1p(q * expm1(u));
}

/* ln(1+r) - r */
static double log_beyond_linear(double r)
{
    if (fabs(r) > 0.02)
        return log1p(r) - r;
    double sum = 0;
    for (int k = 9; k >= 2; k--)
        sum = (k % 2 ? 1.0 : -1.0) / k + sum * r;
    return sum * r * r;
}

/* dl/dx, which grows with x */
static double slope_at(double q, double s, double x)
{
    double u = x / s - 0.5 / (s * s);
    return q / (s * (q + (1.0 - q) * exp(-u)));
}

/* The range of x, of which the lower end goes to *RULE. (1+r)^-c falls like a normal density at
 * least on both sides of x = -c dl/dx. Of (1+r)^p, p > 0, the exponent p l - x^2/2 stays below
 * -TAIL^2/2 beyond the greatest solution of x = sqrt(2 p l + TAIL^2), to which iteration descends
 * as l grows with x. Around 1/s lies the mass of r, which E r = 0 needs. */
static double bulk_ends(const struct contour_law *law, struct rule *rule)
{
    double s = law->gaussian.noise_multiplier, q = law->gaussian.sampling_rate;
    double p = rule->power, least = 1.0 / s + TAIL, high = fmax(p, 1.0) / s + TAIL;
    rule->low = fmin(0.0, p * slope_at(q, s, 0.0)) - TAIL;
    for (int i = 0; i < 60 && p > 0.0 && high > least; i++)
        high = fmin(high, sqrt(fmax(0.0, 2.0 * p * subsampled_loss(q, s, high)) + TAIL * TAIL));
    return fmax(high, least);
}

/* For all t from FIRST to LAST; count 0 when more than MAX_NODES would be needed. */
static struct rule rule_for(const struct contour_law *law, double c, double first, double last)
{
    double s = law->gaussian.noise_multiplier, q = law->gaussian.sampling_rate;
    struct rule rule = {.sign = law->gaussian.add ? -1.0 : 1.0};
    rule.power = law->gaussian.add ? -c : c + 1.0;
    double high = bulk_ends(law, &rule), slope = slope_at(q, s, high);
    rule.step = fmin(0.4 * s, 2.0 * M_PI / (12.5 + last * slope));
    if (first * slope > SHIFT_FROM) {
        double angle = fmin(MAX_ANGLE, MAX_SHIFT / s);
        rule.shift = rule.sign * angle * s;
        /* exp(-t Im l) leaves nothing once its exponent is 40. */
        rule.step = fmin(0.2 * s, 2.0 * M_PI / (12.5 + 40.0 / (s * tan(angle))));
    }
    double count = ceil((high - rule.low) / rule.step) + 1.0;
    rule.count = count <= MAX_NODES ? (size_t)count : 0;
    return rule;
}

static double node_at(const struct rule *rule, size_t i)
{
    return rule->low + rule->step * (double)i;
}

/* The greatest exponent of the integrand where sums have to be scaled by it, else 0. */
static double scale_of(const struct contour_law *law, const struct rule *rule)
{
    double s = law->gaussian.noise_multiplier, q = law->gaussian.sampling_rate, top = -INFINITY;
    double high = node_at(rule, rule->count - 1);
    double largest = fmax(rule->power * subsampled_loss(q, s, high), high / s);
    for (size_t i = 0; i < rule->count; i++) {
        double x = node_at(rule, i);
        top = fmax(top, rule->power * subsampled_loss(q, s, x) - 0.5 * x * x);
    }
    return top < SAFE_TOP && largest < SAFE_EXP ? 0.0 : fmax(top, 1e-300);
}

double contour_subsampled_log_moment(const struct contour_law *law, double c)
{
    double s = law->gaussian.noise_multiplier, q = law->gaussian.sampling_rate;
    struct rule rule = rule_for(law, c, 0.0, 0.0);
    if (!rule.count)
        return INFINITY;
    double top = scale_of(law, &rule), sum = 0;
    for (size_t i = 0; i < rule.count; i++) {
        double x = node_at(&rule, i), loss = subsampled_loss(q, s, x);
        if (top == 0.0)
            sum += exp(-0.5 * x * x) * (expm1(rule.power * loss) - rule.power * excess_at(q, s, x));
        else
            sum += exp(rule.power * loss - 0.5 * x * x - top);
    }
    sum *= rule.step / ROOT_2PI;
    return law->times * (top == 0.0 ? log1p(sum) : top + log(sum));
}

/* One array of each per node of the rule. */
struct table {
    double *weight, *loss;
    double *re, *im;           /* d, or the scaled exp(p l) */
    double *turn_re, *turn_im; /* exp(i step l) - 1 */
    double *turn_beyond;       /* the imaginary part less its linear term */
    double drift;              /* E(l - r) */
    double top;                /* exponent by which the scaled form divides, or 0 */
    bool scaled;
};

#define TABLE_ARRAYS 7

/* exp(w) - 1 - w of w = x + iy */
static void complex_exp_beyond_linear(double x, double y, double *out_re, double *out_im)
{
    if (x * x + y * y > 0.25) {
        double e = exp(x);
        *out_re = e * cos(y) - 1.0 - x;
        *out_im = e * sin(y) - y;
        return;
    }
    double re = 0, im = 0;
    for (int k = 16; k >= 2; k--) {
        double a = (1.0 + re) / k, b = im / k;
        re = a * x - b * y;
        im = a * y + b * x;
    }
    *out_re = re * x - im * y;
    *out_im = re * y + im * x;
}

static void table_new(struct table *table, size_t count)
{
    double *block = memory_new(TABLE_ARRAYS * count, sizeof *block);
    double **array[TABLE_ARRAYS] = {&table->weight,     &table->loss,    &table->re,
                                    &table->im,         &table->turn_re, &table->turn_im,
                                    &table->turn_beyond};
    for (size_t k = 0; k < TABLE_ARRAYS; k++)
        *array[k] = block + k * count;
}

/* Every node at imaginary part T, ready to advance by STEP: d. */
static void table_start(struct table *table, const struct contour_law *law, const struct rule *rule,
                        double t, double step)
{
    double s = law->gaussian.noise_multiplier, q = law->gaussian.sampling_rate;
    for (size_t i = 0; i < rule->count; i++) {
        double x = node_at(rule, i), loss = subsampled_loss(q, s, x);
        double turn = step * rule->sign * loss, phase = t * rule->sign * loss;
        table->loss[i] = loss;
        table->weight[i] = exp(-0.5 * x * x) * rule->step / ROOT_2PI;
        table->drift += table->weight[i] * log_beyond_linear(excess_at(q, s, x));
        complex_exp_beyond_linear(rule->power * loss, phase, &table->re[i], &table->im[i]);
        complex_exp_beyond_linear(0.0, turn, &table->turn_re[i], &table->turn_beyond[i]);
        table->turn_im[i] = sin(turn);
    }
}

/* The same of exp(p l) times the normal density, over exp(top), with x off the real line. */
static void table_start_scaled(struct table *table, const struct contour_law *law,
                               const struct rule *rule, double t, double step)
{
    double s = law->gaussian.noise_multiplier, q = law->gaussian.sampling_rate;
    double y = rule->shift, power = rule->power;
    for (size_t i = 0; i < rule->count; i++) {
        double x = node_at(rule, i), re = subsampled_loss(q, s, x), im = 0;
        if (y != 0.0) {
            /* 1 + r = 1 - q + q exp(u + i y/s), over exp(max(u, 0)) */
            double u = x / s - 0.5 / (s * s), over = fmax(u, 0.0);
            double a = (1.0 - q) * exp(-over) + q * exp(u - over) * cos(y / s);
            double b = q * exp(u - over) * sin(y / s);
            re = over + log(hypot(a, b));
            im = atan2(b, a);
        }
        double turn = rule->sign * step, phase = rule->sign * t;
        double size = exp(power * re - phase * im - 0.5 * (x * x - y * y) - table->top);
        double angle = power * im + phase * re - x * y;
        table->weight[i] = rule->step / ROOT_2PI;
        table->re[i] = size * cos(angle);
        table->im[i] = size * sin(angle);
        double shrink = exp(-turn * im);
        table->turn_re[i] = shrink * cos(turn * re) - 1.0;
        table->turn_im[i] = shrink * sin(turn * re);
    }
}

/* The weighted sums at T, and the nodes turned to T + step. */
static void table_sum_compensated(struct table *table, const struct rule *rule, double t,
                                  double *out_re, double *out_im)
{
    const double *restrict weight = table->weight, *restrict loss = table->loss;
    const double *restrict turn_re = table->turn_re, *restrict turn_im = table->turn_im;
    const double *restrict beyond = table->turn_beyond;
    double *restrict re = table->re, *restrict im = table->im;
    double sum_re = 0, sum_im = 0, phase = t * rule->sign;
    for (size_t i = 0; i < rule->count; i++) {
        double x = re[i], y = im[i];
        sum_re += weight[i] * x;
        sum_im += weight[i] * y;
        double full_re = x + rule->power * loss[i], full_im = y + phase * loss[i];
        re[i] = x + turn_re[i] + (full_re * turn_re[i] - full_im * turn_im[i]);
        im[i] = y + beyond[i] + (full_re * turn_im[i] + full_im * turn_re[i]);
    }
    *out_re = sum_re + rule->power * table->drift;
    *out_im = sum_im + phase * table->drift;
}

static void table_sum_scaled(struct table *table, const struct rule *rule, double *out_re,
                             double *out_im)
{
    double sum_re = 0, sum_im = 0;
    for (size_t i = 0; i < rule->count; i++) {
        double x = table->re[i], y = table->im[i];
        sum_re += table->weight[i] * x;
        sum_im += table->weight[i] * y;
        table->re[i] = x + (x * table->turn_re[i] - y * table->turn_im[i]);
        table->im[i] = y + (x * table->turn_im[i] + y * table->turn_re[i]);
    }
    *out_re = sum_re;
    *out_im = sum_im;
}

double contour_subsampled_cost(const struct contour_law *law, double c, double first, double last)
{
    struct rule rule = rule_for(law, c, first, last);
    return rule.count ? (double)rule.count : MAX_NODES;
}

enum contour_status contour_subsampled_line(const struct contour_law *law, double c, size_t first,
                                            double step, size_t count, double *re, double *im)
{
    double start = step * (double)first;
    struct rule rule = rule_for(law, c, start, start + step * (double)count);
    if (!rule.count)
        return CONTOUR_OUT_OF_REACH;
    struct table table = {.top = scale_of(law, &rule)};
    table.scaled = table.top > 0.0 || rule.shift != 0.0;
    table_new(&table, rule.count);
    if (table.scaled)
        table_start_scaled(&table, law, &rule, start, step);
    else
        table_start(&table, law, &rule, start, step);
    for (size_t j = 0; j < count; j++) {
        double x, y;
        if (table.scaled) {
            table_sum_scaled(&table, &rule, &x, &y);
            re[j] += law->times * (table.top + log(hypot(x, y)));
            im[j] += law->times * atan2(y, x);
        } else {
            table_sum_compensated(&table, &rule, step * (double)(first + j), &x, &y);
            double square = x * (2.0 + x) + y * y; /* |M|^2 - 1 */
            re[j] += law->times * 0.5 * log1p(fmax(square, -1.0));
            im[j] += law->times * atan2(y, 1.0 + x);
        }
    }
    free(table.weight);
    return CONTOUR_OK;
}
