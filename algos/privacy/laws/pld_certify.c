/* Chooses tilt, window and step; lets pld_compose certify.
 *
 * DESIGN. A partition of the outputs without a grid (a sketch) is enough to know the cumulant
 * function K of the composition to a fraction of a percent. From it come the tilt (where the
 * Chernoff bound of delta is least, so that the tilted sum is centred just above epsilon) and the
 * ends of the window (where the Chernoff bounds of the tilted tails fall below what the wanted gap
 * can bear). Nothing certified rests on these choices. */
#include "algos/privacy/laws/pld_certify.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/pld_compose.h"
#include "algos/privacy/laws/pld_spectrum.h"
#include "memory/memory.h"

#define OMITTED       1e-10 /* share of delta that may be left out at the mechanisms' far ends */
#define MIN_LOG2_SIZE 12
#define MAX_TILT      400.0 /* over the greatest loss */
#define MAX_ATOM_TILT 5.0
#define MAX_STEP      0.25 /* nats */
#define LEAST_TILT    0.1  /* over the standard deviation of the composed loss */
#define MAX_HALVINGS  12
#define WIDE          0.05 /* relative gap that no grid explains */
#define MARGIN        0.01 /* of the width: the grid's own laws reach a little further */
#define FIRST_GAP     0.5 /* of the variance per relative gap wanted: the first guess of the step */
#define WIDEST_STEP   100.0 /* nats; beyond, exponentials of it say nothing */
#define NO_DELTA      1e-60 /* a smaller delta interests nobody */
#define STEPS_TRIED   4096  /* when several atoms want places */

/* Work (work.h), measured. */
#define LOOK_STEPS 50.0 /* of an outcome of the sketch, for a view: some 50 cumulants */
#define CELL_STEPS 40.0 /* of a cell: its panels, and both laws */
#define ATOM_STEPS 10.0 /* of a cell where all outcomes are atoms */

struct sketch {
    const struct pld_part *part;
    struct pld_outcomes *outcomes; /* of each part; owned */
    size_t count;
    double times;      /* in total */
    double all;        /* outcomes, of all parts */
    struct work *work; /* of the effort */
};

static void sketch_clear(struct sketch *sketch)
{
    for (size_t i = 0; i < sketch->count; i++)
        pld_outcomes_clear(&sketch->outcomes[i]);
    free(sketch->outcomes);
    *sketch = (struct sketch){0};
}

static enum pld_status sketch_new(const struct pld_part *part, size_t count, double omit,
                                  struct work *work, struct sketch *out)
{
    *out = (struct sketch){.part = part,
                           .count = count,
                           .work = work,
                           .outcomes = memory_new(count, sizeof *out->outcomes)};
    enum pld_status status = PLD_OK;
    for (size_t i = 0; status == PLD_OK && i < count; i++) {
        out->times += (double)part[i].times;
        if (!part[i].mechanism(part[i].parameters, omit, NULL, &out->outcomes[i]))
            status = PLD_NO_MEMORY;
        else if (!work_take(work, LOOK_STEPS * (double)out->outcomes[i].count))
            status = PLD_TOO_MUCH_WORK;
        out->all += (double)out->outcomes[i].count;
    }
    if (status != PLD_OK)
        sketch_clear(out);
    return status;
}

/* Computes the composition's cumulant at TILT, and its tilted mean and variance. */
static double sketch_cumulant(const struct sketch *sketch, double tilt, double *out_mean,
                              double *out_variance)
{
    double k = 0, mean = 0, variance = 0;
    for (size_t i = 0; i < sketch->count; i++) {
        double n = (double)sketch->part[i].times, one_mean, one_variance;
        k += n * pld_outcomes_cumulant(&sketch->outcomes[i], tilt, &one_mean, &one_variance);
        mean += n * one_mean;
        variance += n * one_variance;
    }
    *out_mean = mean;
    *out_variance = variance;
    return k;
}

/* The tilt beyond which more tilt does not help: no loss is worth more cells, and an atom at the
 * greatest loss already has all the mass. */
static double greatest_tilt(const struct sketch *sketch)
{
    double greatest = 1e-20;
    for (size_t i = 0; i < sketch->count; i++) {
        const struct pld_outcomes *o = &sketch->outcomes[i];
        double loss = fmax(fabs(o->outcome[0].loss), fabs(o->outcome[o->count - 1].loss));
        bool atoms = sketch->part[i].quantum > 0.0;
        greatest = fmax(greatest, (atoms ? MAX_ATOM_TILT : MAX_TILT) / fmax(loss, 1e-20));
    }
    return greatest;
}

/* The tilt t at which t K'(t) - K(t) = ln(1/delta), or K'(t) = epsilon. It is at most
 * greatest_tilt, and at least LEAST_TILT over the standard deviation of the loss. */
static double best_tilt(const struct sketch *sketch, enum pld_figure figure, double at)
{
    double greatest = greatest_tilt(sketch);
    double low = -60.0, high = log(greatest); /* of ln t */
    double mean, variance;
    while (high - low > 0.02) {
        double middle = 0.5 * (low + high), t = exp(middle);
        double k = sketch_cumulant(sketch, t, &mean, &variance);
        if (figure == PLD_EPSILON ? t * mean - k < -log(at) : mean < at)
            low = middle;
        else
            high = middle;
    }
    double t = exp(low);
    sketch_cumulant(sketch, t, &mean, &variance);
    double scale = sqrt(fmax(variance, 1e-200));
    for (size_t i = 0; i < sketch->count; i++)
        scale = fmax(scale, sketch->part[i].quantum);
    return fmax(t, fmin(greatest, LEAST_TILT / scale));
}

/* The distance from 0 to the upper (SIGN +1) or lower (-1) end of the window beyond which the
 * Chernoff bound, taken at TILT + SIGN CHANGE, leaves mass at most TAIL. K is the cumulant at
 * TILT. */
static double chernoff_end(const struct sketch *sketch, double tilt, double sign, double k,
                           double tail, double change)
{
    double mean, variance;
    double shifted = sketch_cumulant(sketch, tilt + sign * change, &mean, &variance);
    return (shifted - k - log(tail)) / change;
}

/* The nearest end that chernoff_end gives, and the change of tilt that gives it. The search starts
 * at the change that is best for a normal law and goes on in factors of sqrt(2) while the end comes
 * nearer. */
static double window_end(const struct sketch *sketch, double tilt, double sign, double tail,
                         double *out_change)
{
    double mean, variance;
    double k = sketch_cumulant(sketch, tilt, &mean, &variance);
    double per_draw = mean / sketch->times;
    variance = fmax(variance, 1e-12 * per_draw * per_draw * sketch->times + 1e-200);
    double change = sqrt(-2.0 * log(tail) / variance);
    double best = chernoff_end(sketch, tilt, sign, k, tail, change);
    for (int direction = -1; direction <= 1; direction += 2) {
        double factor = direction < 0 ? M_SQRT1_2 : M_SQRT2, start = change;
        for (int i = 0; i < 40; i++) {
            double now = chernoff_end(sketch, tilt, sign, k, tail, change * factor);
            if (!(now < best))
                break;
            best = now;
            change *= factor;
        }
        if (change != start)
            break;
    }
    *out_change = change;
    return sign * best;
}

/* The tilts and the window of one attempt. */
struct view {
    double tilt, bottom, top, variance;
    double tilt_above, tilt_below;
};

static struct view view_at(const struct sketch *sketch, double tilt, double relative_gap)
{
    struct view view = {.tilt = tilt};
    double mean;
    sketch_cumulant(sketch, tilt, &mean, &view.variance);
    /* About what is to be found in the tilted law above epsilon: tails are small beside it. */
    double found = 1.0 / (1.0 + 2.5 * tilt * (tilt + 1.0) * sqrt(view.variance));
    double tail = fmax(1e-30, 0.000001 * relative_gap * found);
    view.top = window_end(sketch, tilt, 1.0, tail, &view.tilt_above);
    view.bottom = window_end(sketch, tilt, -1.0, tail, &view.tilt_below);
    view.top += MARGIN * (view.top - view.bottom);
    double least = 1e-6 * fabs(mean) + 1e-20; /* width: atoms may be all on one place */
    for (size_t i = 0; i < sketch->count; i++)
        least = fmax(least, 4.0 * sketch->part[i].quantum);
    double missing = fmax(0.0, least - (view.top - view.bottom));
    view.top += 0.5 * missing;
    view.bottom -= 0.5 * missing;
    return view;
}

/* Sums how far the atoms lie from the places of STEP: the lower law moves each atom down to a
 * place. */
static double atoms_missed(const struct sketch *sketch, double step)
{
    double sum = 0;
    for (size_t i = 0; i < sketch->count; i++) {
        double quantum = sketch->part[i].quantum, places = quantum / step;
        if (places >= 1.0 && fabs(places - nearbyint(places)) > 0x1p-50 * places)
            sum += (double)sketch->part[i].times * (places - floor(places)) * step;
    }
    return sum;
}

/* A step of at most WANTED that has places for the atoms: exactly for one kind of atoms, as nearly
 * as possible for several. */
static double step_for_atoms(const struct sketch *sketch, double wanted)
{
    double quantum = 0, most = 0;
    for (size_t i = 0; i < sketch->count; i++) {
        double q = sketch->part[i].quantum, weight = q * q * (double)sketch->part[i].times;
        if (q >= wanted && weight > most) { /* quanta below the step do not need places */
            most = weight;
            quantum = q;
        }
    }
    if (most == 0.0)
        return wanted;
    double places = ceil(quantum / wanted), best = quantum / places,
           least = atoms_missed(sketch, best);
    for (int i = 1; i < STEPS_TRIED && least > 0.0 && i < 0.4 * places; i++) {
        double step = quantum / (places + i), now = atoms_missed(sketch, step);
        if (now < least) {
            least = now;
            best = step;
        }
    }
    return best;
}

static enum pld_status part_discretise(const struct sketch *sketch, size_t i, double tilt,
                                       double step, double omit, struct pld_term *out)
{
    const struct pld_part *part = &sketch->part[i];
    struct pld_grid grid = {0};
    struct pld_outcomes outcomes = {0};
    out->times = part->times;
    enum pld_status status = pld_grid_new(&sketch->outcomes[i], tilt, step, &grid);
    double steps = (part->quantum > 0.0 ? ATOM_STEPS : CELL_STEPS) * (double)grid.count;
    if (!work_take(sketch->work, steps) && status == PLD_OK)
        status = PLD_TOO_MUCH_WORK;
    if (status == PLD_OK && !(part->mechanism(part->parameters, omit, &grid, &outcomes) &&
                              pld_pessimistic(&outcomes, &grid, &out->upper) &&
                              pld_optimistic(&outcomes, &grid, &out->lower)))
        status = PLD_NO_MEMORY;
    pld_grid_clear(&grid);
    pld_outcomes_clear(&outcomes);
    return status;
}

/* Makes one attempt with at least 2^LOG2_SIZE places in the window. */
static enum pld_status figure_attempt(const struct sketch *sketch, const struct view *view,
                                      unsigned log2_size, enum pld_figure figure, double at,
                                      double omit, struct privacy_interval *out)
{
    size_t count = sketch->count;
    struct pld_sum *sum = NULL;
    struct pld_window window = {.tilt = view->tilt,
                                .tilt_above = view->tilt_above,
                                .tilt_below = view->tilt_below,
                                .size = (uint64_t)1 << log2_size,
                                .work = sketch->work};
    /* Rounding the bottom down costs two points. */
    double width = view->top - view->bottom;
    double step = step_for_atoms(sketch, width / (double)(window.size - 2));
    if (!(step <= WIDEST_STEP))
        return PLD_TOO_LARGE;
    while (width / step > (double)window.size - 1.0)
        window.size *= 2;
    while (window.size > 4 && width / step <= 0.5 * (double)window.size - 2.0)
        window.size /= 2;
    window.low = (int64_t)floor(view->bottom / step);
    struct pld_term *term = memory_new(count, sizeof *term);
    enum pld_status status = PLD_OK;
    for (size_t i = 0; status == PLD_OK && i < count; i++)
        status = part_discretise(sketch, i, view->tilt, step, omit, &term[i]);
    if (status == PLD_OK)
        status = pld_compose(term, count, &window, &sum);
    if (status == PLD_OK)
        *out = figure == PLD_EPSILON ? pld_sum_epsilon(sum, at) : pld_sum_delta(sum, at);
    pld_sum_free(sum);
    for (size_t i = 0; i < count; i++) {
        pld_clear(&term[i].upper);
        pld_clear(&term[i].lower);
    }
    free(term);
    return status;
}

/* The first size to try: the step adds about step^2/4 to a draw's variance. */
static unsigned first_log2_size(const struct view *view, double times, double relative_gap)
{
    unsigned log2_size = MIN_LOG2_SIZE;
    double step = fmin(MAX_STEP, 2.0 * sqrt(FIRST_GAP * relative_gap * view->variance / times));
    while (log2_size < PLD_MAX_LOG2_SIZE &&
           (view->top - view->bottom) / (double)(1u << log2_size) > step)
        log2_size++;
    return log2_size;
}

/* True when the figure lies outside of the window, or the tilt is so strong that the rounding
 * allowance swamps delta there: a weaker tilt looks lower and wider. */
static bool view_misplaced(enum pld_figure figure, const struct privacy_interval *now,
                           const struct view *view, bool exhausted)
{
    if (isinf(now->lower))
        return false;
    if (exhausted && now->upper - now->lower > WIDE * now->upper)
        return true;
    return figure == PLD_EPSILON &&
           (isinf(now->upper) || (now->lower == 0.0 && now->upper > 0.0 && view->bottom > 0.0));
}

static bool good_enough(enum pld_figure figure, const struct privacy_interval *best,
                        const struct pld_effort *effort)
{
    if (isinf(best->lower) || best->upper <= effort->irrelevant)
        return true;
    if (figure == PLD_DELTA && best->upper <= NO_DELTA)
        return true;
    return isfinite(best->upper) && best->upper - best->lower <= effort->relative_gap * best->upper;
}

static enum pld_status figure_refine(const struct sketch *sketch, enum pld_figure figure, double at,
                                     double omit, const struct pld_effort *effort,
                                     struct privacy_interval *best)
{
    unsigned log2_size = 0, halvings = 0, stalled = 0, greatest = effort->max_log2_size;
    double gap = INFINITY;
    struct view view = view_at(sketch, best_tilt(sketch, figure, at), effort->relative_gap);
    for (;;) {
        if (!log2_size)
            log2_size = first_log2_size(&view, sketch->times, effort->relative_gap);
        log2_size = log2_size < greatest ? log2_size : greatest;
        struct privacy_interval now;
        enum pld_status status = figure_attempt(sketch, &view, log2_size, figure, at, omit, &now);
        if (status == PLD_TOO_LARGE && isinf(gap) && log2_size > MIN_LOG2_SIZE) {
            /* A coarser figure is better than none. When all frequencies are needed, the size is
             * limited to what one transform can hold. */
            greatest = log2_size > PLD_MAX_LOG2_TRANSFORM ? PLD_MAX_LOG2_TRANSFORM : log2_size - 1;
            continue;
        }
        if (status != PLD_OK)
            return status;
        best->lower = fmax(best->lower, now.lower);
        best->upper = fmin(best->upper, now.upper);
        if (good_enough(figure, best, effort))
            return PLD_OK;
        /* Finer grids do not help when only the rounding allowance is left. */
        bool better = best->upper - best->lower < 0.8 * gap;
        stalled = better ? 0 : stalled + 1;
        gap = best->upper - best->lower;
        bool exhausted = log2_size >= greatest || stalled >= 2;
        if (view_misplaced(figure, &now, &view, exhausted) && halvings++ < MAX_HALVINGS) {
            /* a little at first, then with resolve */
            double weaker = (halvings <= 3 ? 0.5 : 0.25) * view.tilt;
            if (!work_take(sketch->work, LOOK_STEPS * sketch->all))
                return PLD_TOO_MUCH_WORK;
            view = view_at(sketch, weaker, effort->relative_gap);
            log2_size = 0;
            continue;
        }
        if (exhausted)
            return PLD_OK;
        log2_size++;
    }
}

/* The logarithm of the Chernoff bound of delta at EPSILON. */
static double log_delta_bound(const struct sketch *sketch, double epsilon)
{
    double mean, variance, t = best_tilt(sketch, PLD_DELTA, epsilon);
    return fmin(0.0, sketch_cumulant(sketch, t, &mean, &variance) - t * epsilon);
}

enum pld_status pld_certify(const struct pld_part *part, size_t count, enum pld_figure figure,
                            double at, const struct pld_effort *effort,
                            struct privacy_interval *out)
{
    assert(count > 0 && effort->relative_gap > 0.0);
    assert(figure == PLD_EPSILON ? at > 0.0 && at < 1.0 : at >= 0.0);
    assert(effort->max_log2_size >= MIN_LOG2_SIZE && effort->max_log2_size <= PLD_MAX_LOG2_SIZE);
    struct sketch sketch;
    double times = 0, omit = 0;
    for (size_t i = 0; i < count; i++)
        times += (double)part[i].times;
    if (figure == PLD_EPSILON)
        omit = OMITTED * at / times;
    enum pld_status status = sketch_new(part, count, omit, effort->work, &sketch);
    if (status == PLD_OK && figure == PLD_DELTA) {
        omit = OMITTED * exp(log_delta_bound(&sketch, at)) / times;
        sketch_clear(&sketch);
        status = sketch_new(part, count, omit, effort->work, &sketch);
    }
    if (status != PLD_OK)
        return status;
    struct privacy_interval best = {0.0, figure == PLD_EPSILON ? INFINITY : 1.0};
    status = figure_refine(&sketch, figure, at, omit, effort, &best);
    sketch_clear(&sketch);
    bool found = figure == PLD_EPSILON ? isfinite(best.upper) : best.upper < 1.0;
    if (status == PLD_NO_MEMORY || (status == PLD_TOO_MUCH_WORK && !found))
        return status;
    *out = best; /* what was known when the grid became too large, or the work was done, is known */
    return PLD_OK;
}
