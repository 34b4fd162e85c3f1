/* Chooses tilt, window and step; lets pld_compose certify.
 *
 * DESIGN. A partition of the outputs without a grid is enough to know the cumulant function K to a
 * fraction of a percent. From it come the tilt (where the Chernoff bound of delta is least, so that
 * the tilted sum is centred just above epsilon) and the ends of the window (where the Chernoff
 * bounds of the tilted tails fall below TAIL). Nothing certified rests on these choices. */
#include "algos/privacy/pld_certify.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/pld_compose.h"

#define TAIL          1e-12
#define MIN_LOG2_SIZE 12
#define MAX_TILT      400.0
#define MAX_HALVINGS  12
#define WIDE          0.05 /* relative gap that no grid explains */
#define MARGIN        0.01 /* of the width: the grid's own laws reach a little further */
#define FIRST_GAP     0.25 /* of the variance per relative gap wanted: the first guess of the size */

/* The tilt t at which t n K'(t) - n K(t) = ln(1/delta), or MAX_TILT over the greatest loss if that
 * is less: no loss is worth more cells than that. */
static double best_tilt(const struct pld_outcomes *outcomes, double n, double delta)
{
    double greatest =
        fmax(fabs(outcomes->outcome[0].loss), fabs(outcomes->outcome[outcomes->count - 1].loss));
    double low = -20.0, high = log(MAX_TILT / fmax(greatest, 1e-20)); /* of ln t */
    for (int i = 0; i < 50; i++) {
        double middle = 0.5 * (low + high), t = exp(middle), mean;
        double k = pld_outcomes_cumulant(outcomes, t, &mean, NULL);
        if (n * (t * mean - k) < -log(delta))
            low = middle;
        else
            high = middle;
        if (high - low < 0.02)
            break;
    }
    return exp(low);
}

/* The nearest end of the window (SIGN +1 upper, -1 lower) that a Chernoff bound shows to suffice,
 * and the change of tilt that shows it. */
static double window_end(const struct pld_outcomes *outcomes, double n, double tilt, double sign,
                         double *out_change)
{
    double mean, variance, best = INFINITY;
    double k = pld_outcomes_cumulant(outcomes, tilt, &mean, &variance);
    double unit = 1.0 / sqrt(n * fmax(variance, 1e-12 * mean * mean + 1e-200));
    *out_change = unit;
    int since = 0;
    for (int i = -16; i <= 48 && since < 12; i++) {
        double change = unit * exp2(0.25 * i);
        double shifted = pld_outcomes_cumulant(outcomes, tilt + sign * change, NULL, NULL);
        double distance = (n * (shifted - k) - log(TAIL)) / change;
        since++;
        if (distance < best) {
            best = distance;
            *out_change = change;
            since = 0;
        }
    }
    return sign * best;
}

/* One attempt at a given size. */
static bool attempt(pld_mechanism mechanism, const void *parameters, double delta,
                    const struct pld_outcomes *coarse, double bottom, double top,
                    struct pld_window *window, struct privacy_interval *out)
{
    struct pld_grid grid = {0};
    struct pld_outcomes outcomes = {0};
    struct pld upper = {0}, lower = {0};
    struct pld_sum *sum = NULL;
    /* Two points are lost to rounding the bottom down. */
    double step = (top - bottom) / (double)(window->size - 2);
    window->low = (int64_t)floor(bottom / step);
    bool done =
        pld_grid_new(coarse, window->tilt, step, &grid) &&
        mechanism(parameters, &grid, &outcomes) && pld_pessimistic(&outcomes, &grid, &upper) &&
        pld_optimistic(&outcomes, &grid, &lower) && (sum = pld_compose(&upper, &lower, window));
    if (done)
        pld_sum_epsilon(sum, delta, &out->lower, &out->upper);
    pld_grid_clear(&grid);
    pld_outcomes_clear(&outcomes);
    pld_clear(&upper);
    pld_clear(&lower);
    pld_sum_free(sum);
    return done;
}

/* The first size to try: the step adds about step^2/4 to a draw's variance. */
static unsigned first_log2_size(double variance, double width, double relative_gap)
{
    unsigned log2_size = MIN_LOG2_SIZE;
    double step = 2.0 * sqrt(FIRST_GAP * 4.0 * relative_gap * variance);
    while (log2_size < PLD_MAX_LOG2_SIZE && width / (double)(1u << log2_size) > step)
        log2_size++;
    return log2_size;
}

/* True when epsilon lies outside of the window, or the tilt is so strong that the rounding
 * allowance swamps delta there: a weaker tilt looks lower and wider. */
static bool misplaced(const struct privacy_interval *now, double bottom, bool exhausted)
{
    bool above = isinf(now->upper);
    bool below = now->lower == 0.0 && now->upper > 0.0 && bottom > 0.0;
    return above || below || (exhausted && now->upper - now->lower > WIDE * now->upper);
}

bool pld_certify(pld_mechanism mechanism, const void *parameters, uint64_t times, double delta,
                 const struct pld_effort *effort, struct privacy_interval *out)
{
    unsigned max_log2_size = effort->max_log2_size;
    assert(times > 0 && delta > 0.0 && delta < 1.0 && effort->relative_gap > 0.0);
    assert(max_log2_size >= MIN_LOG2_SIZE && max_log2_size <= PLD_MAX_LOG2_SIZE);
    struct pld_outcomes coarse = {0};
    bool done = mechanism(parameters, NULL, &coarse);
    if (!done)
        goto cleanup;
    double n = (double)times;
    struct pld_window window = {.times = times, .tilt = best_tilt(&coarse, n, delta)};
    struct privacy_interval best = {0.0, INFINITY};
    unsigned log2_size = 0, halvings = 0;
    for (;;) {
        double variance;
        double top = window_end(&coarse, n, window.tilt, 1.0, &window.tilt_above);
        double bottom = window_end(&coarse, n, window.tilt, -1.0, &window.tilt_below);
        top += MARGIN * (top - bottom);
        pld_outcomes_cumulant(&coarse, window.tilt, NULL, &variance);
        if (!log2_size)
            log2_size = first_log2_size(variance, top - bottom, effort->relative_gap);
        log2_size = log2_size < max_log2_size ? log2_size : max_log2_size;
        window.size = (size_t)1 << log2_size;
        struct privacy_interval now;
        done = attempt(mechanism, parameters, delta, &coarse, bottom, top, &window, &now);
        if (!done)
            break;
        best.lower = fmax(best.lower, now.lower);
        best.upper = fmin(best.upper, now.upper);
        if (best.upper <= effort->irrelevant ||
            best.upper - best.lower <= effort->relative_gap * best.upper)
            break;
        bool exhausted = log2_size >= max_log2_size;
        if (misplaced(&now, bottom, exhausted) && halvings++ < MAX_HALVINGS) {
            window.tilt *= 0.5;
            log2_size = 0;
            continue;
        }
        if (exhausted)
            break;
        log2_size++;
    }
    if (done)
        *out = best;
cleanup:
    pld_outcomes_clear(&coarse);
    return done;
}
