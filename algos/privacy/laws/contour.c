/* Exact hockey-stick divergences by a line integral.
 *
 * DESIGN. For c > 0 and K(z) the sum of the laws' times * ln M(z),
 *     delta(e) = (1/2 pi i) Int_{Re z = c} exp(K(z) - z e) / (z (z+1)) dz,
 * because (1 - exp(e - x))^+ = (1/2 pi i) Int exp(z (x - e)) / (z (z+1)) dz. On the real axis the
 * integrand has one minimum, the saddle point, and a line through it does not oscillate where it is
 * large. The trapezoid rule then converges exponentially: what it misses is a translate of
 * delta, exp(-2 pi c / h) times smaller at worst. The line is tabulated once; delta at any epsilon
 * nearby costs one exponential per point, so epsilon of delta is Newton's method on one table.
 * That the rule has settled is seen from the sum over every second point, which errs by about
 * the square root of what the full sum does, and, as rare great losses may come in with both, from
 * a Chernoff bound of them (tail_beyond). */
#include "algos/privacy/laws/contour.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/math/minimum.h"
#include "memory/memory.h"

#define MAX_WORK    1e8     /* of all lines of one figure, in units of contour_law_cost: 0.15 s */
#define POINT_WORK  1000.0  /* of a point apart from its laws */
#define SEGMENT     32      /* points tabulated at a time, at first, */
#define MAX_SEGMENT 512     /* and at most: rounding grows with the length of a recurrence */
#define NEGLIGIBLE  (-40.0) /* ln of what the last points may be of the first */
#define CANCELLED   1e-4    /* a sum so much smaller than its terms has lost digits */
#define BEYOND      1e-9    /* share of the figure that may be losses beyond the step's reach */
#define SETTLED     1e-7    /* relative distance of the sums with h and 2h */

struct line {
    double c, step, least_log; /* least_log: K(c) */
    size_t count;
    double *re, *im; /* K(c + i j step) */
};

static double log_moments(const struct contour_law *laws, size_t count, double c)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += contour_law_log_moment(&laws[i], c);
    return sum;
}

static double log_poles(double c)
{
    return log(c) + log1p(c);
}

/* What the saddle point minimises: the exponent for a given epsilon, or the epsilon that a given
 * ln delta allows (Chernoff's bound of it). */
struct aim {
    const struct contour_law *laws;
    size_t count;
    bool for_delta;
    double value; /* epsilon, or ln delta */
};

static double aim_at(const void *context, double log_c)
{
    const struct aim *aim = context;
    double c = exp(log_c), k = log_moments(aim->laws, aim->count, c) - log_poles(c);
    return aim->for_delta ? (k - aim->value) / c : k - c * aim->value;
}

/* The improved conversion of a Renyi divergence of order 1 + c (Canonne, Kamath, Steinke 2020). */
static double converted_moment(const struct contour_law *laws, size_t count, double c)
{
    return log_moments(laws, count, c) + c * log(c) - (1.0 + c) * log1p(c);
}

/* c to a percent, which is enough. False when no moment is finite. */
static bool saddle_point(const struct aim *aim, double *out_c)
{
    double limit = INFINITY, value;
    for (size_t i = 0; i < aim->count; i++)
        limit = fmin(limit, contour_law_limit(&aim->laws[i]));
    double end = isinf(limit) ? log(1e12) : log(limit) - 1e-9;
    *out_c = exp(minimum_of(aim_at, aim, fmin(0.0, end - 1.0), -200.0, end, 0.01, &value));
    return isfinite(value);
}

/* The first guess of the step: 0.7 standard deviations of the integrand. It is smaller where a
 * pole, or the limit up to which moments exist, is nearer than that. */
static double first_step(const struct contour_law *laws, size_t count, double c)
{
    double limit = INFINITY;
    for (size_t i = 0; i < count; i++)
        limit = fmin(limit, contour_law_limit(&laws[i]));
    double d = 0.01 * fmin(c, limit - c);
    double below = log_moments(laws, count, c - d) - log_poles(c - d);
    double above = log_moments(laws, count, c + d) - log_poles(c + d);
    double here = log_moments(laws, count, c) - log_poles(c);
    double curvature = fmax((below + above - 2.0 * here) / (d * d), 1e-300);
    double room = 0.9 * fmin(c, limit - c);
    double pole = 2.0 * M_PI * room / (37.0 + 0.5 * room * room * curvature);
    return fmin(0.7 / sqrt(curvature), pole);
}

static void line_clear(struct line *line)
{
    free(line->re);
    free(line->im);
    *line = (struct line){0};
}

/* One segment more. ENVELOPE[count] gets what of ln |integrand| is known to stay down. */
static enum contour_status line_extend(struct line *line, const struct contour_law *laws,
                                       size_t law_count, size_t count, double *envelope)
{
    line->re = memory_resize(line->re, line->count + count, sizeof *line->re);
    line->im = memory_resize(line->im, line->count + count, sizeof *line->im);
    double *re = line->re + line->count, *im = line->im + line->count;
    for (size_t j = 0; j < count; j++) {
        double t = line->step * (double)(line->count + j), c = line->c;
        re[j] = im[j] = 0;
        envelope[j] = log_poles(c) - line->least_log - log(hypot(c, t)) - log(hypot(1.0 + c, t));
    }
    for (size_t i = 0; i < law_count; i++) {
        double before[MAX_SEGMENT];
        memcpy(before, re, count * sizeof *re);
        enum contour_status status =
            contour_law_line(&laws[i], line->c, line->count, line->step, count, re, im);
        if (status != CONTOUR_OK)
            return status;
        for (size_t j = 0; j < count; j++) {
            double t = line->step * (double)(line->count + j);
            double ceiling = contour_law_ceiling(&laws[i], line->c, t);
            envelope[j] += isnan(ceiling) ? re[j] - before[j] : ceiling;
        }
    }
    line->count += count;
    return CONTOUR_OK;
}

/* False when the atoms of LAWS alone keep the integrand up further than POINTS steps. */
static bool within_reach(const struct line *line, const struct contour_law *laws, size_t count,
                         double points)
{
    double t = line->step * points, sum = log_poles(line->c) - 2.0 * log(t);
    for (size_t i = 0; i < count; i++)
        sum += contour_law_ceiling(&laws[i], line->c, t); /* NaN of a density: all may be well */
    return !(sum - line->least_log > NEGLIGIBLE);
}

/* What COUNT further points of the line will cost. */
static double work_of(const struct line *line, const struct contour_law *laws, size_t law_count,
                      size_t count)
{
    double first = line->step * (double)line->count, work = POINT_WORK;
    for (size_t i = 0; i < law_count; i++)
        work += contour_law_cost(&laws[i], line->c, first, first + line->step * (double)count);
    return work * (double)count;
}

/* With little noise a sampled run loses about 1 / (2 s^2) more than another, and nothing lies
 * between: the integrand then falls and comes back, with a period that the difference says. How
 * long it has to have been quiet. */
static double quiet_period(const struct contour_law *laws, size_t count)
{
    double longest = 0;
    for (size_t i = 0; i < count; i++) {
        if (laws[i].kind != CONTOUR_SUBSAMPLED_GAUSSIAN)
            continue;
        double s = laws[i].gaussian.noise_multiplier, q = laws[i].gaussian.sampling_rate;
        double apart = 0.5 / (s * s) + log(q) - log1p(-q);
        if (apart > 2.0 / s) /* by two standard deviations */
            longest = fmax(longest, 2.0 * M_PI / apart);
    }
    return 1.2 * longest;
}

/* Tabulates the line through C until nothing more is to be seen, or *LEFT work is done. */
static enum contour_status line_new(struct line *line, const struct contour_law *laws,
                                    size_t law_count, double c, double step, double *left)
{
    *line = (struct line){.c = c, .step = step, .least_log = log_moments(laws, law_count, c)};
    double envelope[MAX_SEGMENT];
    double quiet_time = quiet_period(laws, law_count);
    size_t length = SEGMENT, quiet = 0;
    if (!within_reach(line, laws, law_count, *left / POINT_WORK))
        return CONTOUR_OUT_OF_REACH;
    while (*left > 0.0) {
        *left -= work_of(line, laws, law_count, length);
        enum contour_status status = line_extend(line, laws, law_count, length, envelope);
        if (status != CONTOUR_OK)
            return status;
        for (size_t j = 0; j < length; j++) {
            quiet = envelope[j] < NEGLIGIBLE ? quiet + 1 : 0;
            if (quiet > 8 && quiet > line->count / 8 && (double)quiet * step > quiet_time)
                return CONTOUR_OK;
        }
        length = length < MAX_SEGMENT ? 2 * length : MAX_SEGMENT;
    }
    return CONTOUR_OUT_OF_REACH;
}

/* The sums at one epsilon, all divided by exp(K(c) - c epsilon): delta, delta from every second
 * point, and -d delta / d epsilon. */
struct sums {
    double delta, coarse, slope;
    double size; /* what delta would be if nothing cancelled */
    double log_scale;
    double beyond; /* tail_beyond */
};

static struct sums line_sums(const struct line *line, double epsilon)
{
    double fine = 0, coarse = 0, slope = 0, all = 0, c = line->c;
    for (size_t j = 0; j < line->count; j++) {
        double t = line->step * (double)j, phase = line->im[j] - t * epsilon;
        double size = (j ? 1.0 : 0.5) * exp(line->re[j] - line->least_log);
        double a = size * cos(phase), b = size * sin(phase);
        /* a + ib divided by z + 1, then by z */
        double norm = (c + 1.0) * (c + 1.0) + t * t;
        double x = (a * (c + 1.0) + b * t) / norm, y = (b * (c + 1.0) - a * t) / norm;
        double term = (x * c + y * t) / (c * c + t * t);
        slope += x;
        all += fabs(term);
        fine += term;
        coarse += j % 2 ? 0.0 : 2.0 * term;
    }
    double scale = line->step / M_PI;
    return (struct sums){
        fine * scale, coarse * scale, slope * scale, all * scale, line->least_log - c * epsilon,
        0.0};
}

/* Steps of h also sum delta(epsilon + 2 pi k / h) exp(c 2 pi k / h), k = 1, 2, ...: what the law
 * tilted by c has beyond. ln of a Chernoff bound of that by the tilt 2^X more. */
struct beyond {
    const struct contour_law *laws;
    size_t count;
    double c, least_log, place;
};

static double beyond_at(const void *context, double x)
{
    const struct beyond *beyond = context;
    double more = exp2(x);
    return log_moments(beyond->laws, beyond->count, beyond->c + more) - beyond->least_log -
           more * beyond->place;
}

/* The approximate error of the trapezoid rule by shifted copies, as a share of exp(K(c) - c
 * EPSILON). */
static double tail_beyond(const struct contour_law *laws, size_t count, const struct line *line,
                          double epsilon)
{
    const struct beyond beyond = {laws, count, line->c, line->least_log,
                                  epsilon + 2.0 * M_PI / line->step};
    double limit = INFINITY, value;
    for (size_t i = 0; i < count; i++)
        limit = fmin(limit, contour_law_limit(&laws[i]));
    double end = isinf(limit) ? log2(line->c) + 10.0 : log2(limit - line->c) - 1e-3;
    minimum_of(beyond_at, &beyond, fmin(log2(0.3 * line->c), end), end - 40.0, end, 0.3, &value);
    return exp(value);
}

static bool sums_settled(const struct sums *sums)
{
    return sums->delta > CANCELLED * sums->size &&
           fabs(sums->coarse - sums->delta) < SETTLED * sums->delta &&
           sums->beyond < BEYOND * sums->delta;
}

/* Mass at infinity. */
static double laws_infinite_mass(const struct contour_law *laws, size_t count)
{
    double log_finite = 0;
    for (size_t i = 0; i < count; i++)
        if (laws[i].kind == CONTOUR_POINTS)
            log_finite += laws[i].times * log1p(-laws[i].points.infinite);
    return -expm1(log_finite);
}

enum contour_status contour_delta(const struct contour_law *laws, size_t count, double epsilon,
                                  double *out)
{
    assert(count > 0 && isfinite(epsilon));
    double greatest = 0;
    for (size_t i = 0; i < count; i++)
        greatest += contour_law_greatest(&laws[i]);
    if (epsilon >= greatest) {
        *out = laws_infinite_mass(laws, count);
        return CONTOUR_OK;
    }
    struct aim aim = {laws, count, false, epsilon};
    double c;
    if (!saddle_point(&aim, &c))
        return CONTOUR_OUT_OF_REACH;
    double step = first_step(laws, count, c);
    for (double left = MAX_WORK; left > 0.0; step *= 0.5) {
        struct line line;
        enum contour_status status = line_new(&line, laws, count, c, step, &left);
        struct sums sums = {0};
        if (status == CONTOUR_OK) {
            sums = line_sums(&line, epsilon);
            sums.beyond = tail_beyond(laws, count, &line, epsilon);
        }
        line_clear(&line);
        if (status != CONTOUR_OK)
            return status;
        if (sums_settled(&sums)) {
            double delta = laws_infinite_mass(laws, count) + sums.delta * exp(sums.log_scale);
            *out = fmin(1.0, fmax(0.0, delta));
            return CONTOUR_OK;
        }
    }
    return CONTOUR_OUT_OF_REACH;
}

/* Newton on ln delta of one table; the last step is below rounding. False when it wanders. */
static bool line_solve(const struct line *line, double log_delta, double guess, double *out,
                       struct sums *out_sums)
{
    double epsilon = guess, last = INFINITY;
    for (int i = 0; i < 30; i++) {
        struct sums sums = line_sums(line, epsilon);
        if (!(sums.delta > 0.0) || !(sums.slope > 0.0))
            return false;
        double move = (log(sums.delta) + sums.log_scale - log_delta) * sums.delta / sums.slope;
        *out_sums = sums;
        *out = epsilon;
        if (fabs(move) <= 1e-15 * fabs(epsilon) ||
            (i > 3 && fabs(move) >= 0.5 * last && fabs(move) < 1e-11 * (1.0 + fabs(epsilon))))
            return true;
        last = fabs(move);
        epsilon += move;
    }
    return false;
}

enum contour_status contour_epsilon(const struct contour_law *laws, size_t count, double delta,
                                    double *out)
{
    assert(count > 0 && delta > 0.0 && delta < 1.0);
    double target = delta - laws_infinite_mass(laws, count);
    if (target <= 0.0) {
        *out = INFINITY;
        return CONTOUR_OK;
    }
    struct aim aim = {laws, count, true, log(target)};
    double c;
    if (!saddle_point(&aim, &c))
        return CONTOUR_OUT_OF_REACH;
    if (converted_moment(laws, count, c) <= aim.value) { /* a bound: where it is 0 all is said */
        *out = 0.0;
        return CONTOUR_OK;
    }
    double guess = aim_at(&aim, log(c)), step = first_step(laws, count, c);
    for (double left = MAX_WORK; left > 0.0; step *= 0.5) {
        struct line line;
        enum contour_status status = line_new(&line, laws, count, c, step, &left);
        struct sums sums = {0};
        double epsilon = 0;
        bool solved = status == CONTOUR_OK && line_solve(&line, aim.value, guess, &epsilon, &sums);
        if (solved)
            sums.beyond = tail_beyond(laws, count, &line, epsilon);
        line_clear(&line);
        if (status != CONTOUR_OK)
            return status;
        if (solved && sums_settled(&sums)) {
            *out = fmax(0.0, epsilon);
            return CONTOUR_OK;
        }
    }
    return CONTOUR_OUT_OF_REACH;
}

double contour_delta_bound(const struct contour_law *laws, size_t count, double epsilon)
{
    struct aim aim = {laws, count, false, epsilon};
    double c;
    if (!saddle_point(&aim, &c))
        return 1.0;
    double finite = exp(fmin(0.0, converted_moment(laws, count, c) - c * epsilon));
    return fmin(1.0, laws_infinite_mass(laws, count) + finite);
}

double contour_epsilon_bound(const struct contour_law *laws, size_t count, double delta)
{
    double target = delta - laws_infinite_mass(laws, count), c;
    struct aim aim = {laws, count, true, log(target)};
    if (!(target > 0.0) || !saddle_point(&aim, &c))
        return INFINITY;
    return fmax(0.0, (converted_moment(laws, count, c) - aim.value) / c);
}
