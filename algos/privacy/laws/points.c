/* Finite laws of the privacy loss.
 *
 * DESIGN. k runs of one part end on the lattice n * loss, |n| <= k. With masses a, b, c of a run's
 * -loss, 0 and +loss, the masses p_n of (a/x + b + c x)^k obey Miller's recurrence
 *     i a w_i = (k - i + 1) b w_(i-1) + (2k - i + 2) c w_(i-2),   w_i = p_(i-k),
 * whose terms are positive up to the middle, i <= k; the upper half is p_n = exp(n loss) p_-n.
 * Logarithms throughout, as the ends are far below the least double. From the largest loss down,
 *     delta(l_j) = delta(l_(j+1)) + v_(j+1) (1 - exp(l_j - l_(j+1))),
 *     v_j = mass_j + exp(l_j - l_(j+1)) v_(j+1)
 * adds positive terms only, and between two losses delta is elementary in epsilon. */
#include "algos/privacy/laws/points.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/math/special.h"
#include "memory/memory.h"

#define UNIT 4e-16 /* relative error of a step of arithmetic, with a margin */

void points_clear(struct points *points)
{
    free(points->point);
    *points = (struct points){0};
}

/* ln(exp(a) + exp(b)) */
static double log_add(double a, double b)
{
    double most = fmax(a, b), least = fmin(a, b);
    return most == -INFINITY ? most : most + log1p(exp(least - most));
}

/* lower_half for laws with two points, by binomial coefficients. */
static double lower_half_of_two(const struct contour_law *law, size_t k, double *log_mass)
{
    double up = -log1p(exp(-law->points.loss)), down = up - law->points.loss, top = (double)k;
    double all = special_log_gamma(top + 1.0);
    for (size_t i = 0; i <= k; i++) {
        double ups = 0.5 * (double)i;
        double choose = all - special_log_gamma(ups + 1.0) - special_log_gamma(top - ups + 1.0);
        log_mass[i] = i % 2 ? -INFINITY : choose + ups * up + (top - ups) * down;
    }
    return UNIT * (3.0 * all + top * fabs(down) + 8.0);
}

/* ln p_n for n = -k .. 0 into LOG_MASS[k + 1]; gives their error. */
static double lower_half(const struct contour_law *law, size_t k, double *log_mass)
{
    double loss = law->points.loss, moving = law->points.moving, top = (double)k;
    double up = log(moving) - log1p(exp(-loss)), down = up - loss, rest = log1p(-moving);
    log_mass[0] = top * down;
    for (size_t i = 1; i <= k; i++) {
        double n = (double)i;
        double one = log(top - n + 1.0) + rest + log_mass[i - 1];
        double two = i >= 2 ? log(2.0 * top - n + 2.0) + up + log_mass[i - 2] : -INFINITY;
        log_mass[i] = log_add(one, two) - log(n) - down;
    }
    /* Each step rounds logarithms of the size of the first. */
    return UNIT * (top + 1.0) * (2.0 + fabs(log_mass[0]) + fabs(down) + fabs(up));
}

static int compare_falling(const void *a, const void *b)
{
    double x = ((const struct point *)a)->loss, y = ((const struct point *)b)->loss;
    return (x < y) - (x > y);
}

/* The law of k runs of LAW, losses falling. Two-point laws leave every second place empty. */
static enum points_status points_of_one(const struct contour_law *law, struct points *out)
{
    *out = (struct points){0};
    if (!(2.0 * law->times + 1.0 <= POINTS_MAX))
        return POINTS_TOO_MANY;
    size_t k = (size_t)law->times;
    double *log_mass = memory_new(k + 1, sizeof *log_mass);
    out->point = memory_new(2 * k + 1, sizeof *out->point);
    bool two = law->points.moving == 1.0;
    out->error = two ? lower_half_of_two(law, k, log_mass) : lower_half(law, k, log_mass);
    out->error += UNIT * (double)k * (1.0 + law->points.loss);
    for (size_t i = 2 * k + 1; i-- > 0;) {
        double n = (double)i - (double)k, loss = n * law->points.loss;
        double value = i <= k ? log_mass[i] : log_mass[2 * k - i] + loss;
        if (value > -INFINITY)
            out->point[out->count++] = (struct point){loss, exp(value)};
    }
    free(log_mass);
    if (out->error < 0.01 && out->count > 0) /* false for NaN */
        return POINTS_OK;
    points_clear(out);
    return POINTS_TOO_MANY;
}

/* Replaces *SUM by the law of the sum of a draw of *SUM and a draw of PART. */
static enum points_status points_convolve(struct points *sum, const struct points *part)
{
    assert(sum->count > 0 && part->count > 0);
    if (sum->count > POINTS_MAX / part->count)
        return POINTS_TOO_MANY;
    struct point *point = memory_new(sum->count * part->count, sizeof *point);
    size_t count = 0;
    for (size_t i = 0; i < sum->count; i++)
        for (size_t j = 0; j < part->count; j++) {
            point[count].loss = sum->point[i].loss + part->point[j].loss;
            point[count++].mass = sum->point[i].mass * part->point[j].mass;
        }
    qsort(point, count, sizeof *point, compare_falling);
    free(sum->point);
    sum->point = point;
    sum->count = count;
    sum->error += part->error + 2.0 * UNIT;
    return POINTS_OK;
}

enum points_status points_compose(const struct contour_law *laws, size_t count, struct points *out)
{
    struct points sum = {.point = memory_new(1, sizeof *sum.point), .count = 1};
    sum.point[0] = (struct point){0.0, 1.0};
    double log_finite = 0;
    enum points_status status = POINTS_OK;
    for (size_t i = 0; i < count && status == POINTS_OK; i++) {
        assert(laws[i].kind == CONTOUR_POINTS);
        log_finite += laws[i].times * log1p(-laws[i].points.infinite);
        if (laws[i].points.loss == 0.0)
            continue;
        struct points part;
        status = points_of_one(&laws[i], &part);
        if (status == POINTS_OK)
            status = points_convolve(&sum, &part);
        points_clear(&part);
    }
    if (status != POINTS_OK) {
        points_clear(&sum);
        return status;
    }
    sum.infinite =
        count == 1 && laws[0].times == 1.0 ? laws[0].points.infinite : -expm1(log_finite);
    sum.infinite_error = count == 1 && laws[0].times == 1.0 ? 0.0 : UNIT * (2.0 + (double)count);
    for (size_t i = 0; i < sum.count; i++)
        sum.point[i].mass *= exp(log_finite);
    /* The running sums round once a point. */
    sum.error += UNIT * ((double)sum.count + 2.0 * (double)count + 4.0);
    *out = sum;
    return POINTS_OK;
}

static double finite_delta(const struct points *points, double epsilon)
{
    double finite = 0;
    for (size_t i = 0; i < points->count && points->point[i].loss > epsilon; i++)
        finite += points->point[i].mass * -expm1(epsilon - points->point[i].loss);
    return finite;
}

double points_delta(const struct points *points, double epsilon)
{
    return fmin(1.0, points->infinite + finite_delta(points, epsilon));
}

/* The least epsilon >= 0 at which the finite losses leave no more than TARGET. */
static double finite_epsilon(const struct points *points, double target)
{
    if (target < 0.0)
        return INFINITY;
    if (target == 0.0)
        return fmax(0.0, points->point[0].loss);
    double reached = 0, above = 0, loss = points->point[0].loss;
    for (size_t i = 0; i < points->count; i++) {
        const struct point *point = &points->point[i];
        double step = -expm1(point->loss - loss);
        if (reached + above * step >= target)
            break;
        reached += above * step;
        above = point->mass + (1.0 - step) * above;
        loss = point->loss;
    }
    /* Just below LOSS, delta(epsilon) = reached + above (1 - exp(epsilon - loss)). */
    double share = (target - reached) / above;
    return share >= 1.0 ? 0.0 : fmax(0.0, loss + log1p(-share));
}

double points_epsilon(const struct points *points, double delta)
{
    assert(delta > 0.0 && delta < 1.0);
    return finite_epsilon(points, delta - points->infinite);
}

struct privacy_interval points_delta_interval(const struct points *points, double epsilon)
{
    double slack = points->error * (1.0 + fabs(epsilon)), size = 1.0 + points->error;
    double infinite = points->infinite, off = points->infinite_error * infinite;
    return (struct privacy_interval){
        .lower = fmax(0.0, infinite - off) + finite_delta(points, epsilon + slack) / size,
        .upper = fmin(1.0, infinite + off + finite_delta(points, epsilon - slack) * size)};
}

struct privacy_interval points_epsilon_interval(const struct points *points, double delta)
{
    double error = points->error, off = points->infinite_error * points->infinite;
    double least = delta - points->infinite - off, most = delta - points->infinite + off;
    double upper = finite_epsilon(points, least * (1.0 - fmin(error, 0.5)));
    double lower = finite_epsilon(points, most * (1.0 + error));
    if (isfinite(lower))
        lower = fmax(0.0, lower - error * (1.0 + lower));
    return (struct privacy_interval){lower, upper + error * (1.0 + upper)};
}
