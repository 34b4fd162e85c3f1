/* The outlook: local regression of quality on the logarithm of the signal, over measured runs.
 *
 * At each of a row of nodes the runs of the same method and algorithm are weighted by a Gaussian
 * kernel of their distance, widened until enough runs take part. Mean and quantiles are made to
 * rise with the signal: less noise does no harm, and what would be enough can then be bisected.
 * Where the world itself was measured, runs elsewhere count little. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/advice/advice.h"
#include "algos/offline/consensus_plan.h"
#include "memory/memory.h"

#define NODES        33
#define BANDWIDTH    0.35 /* in log signal */
#define WIDER        1.4
#define WIDEST       3.0
#define ENOUGH_RUNS  12.0
#define ELSEWHERE    0.1 /* weight of runs in other worlds, where this one was measured */
#define LOW_QUANTILE 0.1
#define QUALITY_MIN  (-0.5) /* far worse than random play counts as this */
#define QUALITY_MAX  1.1
#define LEAST_STEPS                                                                                \
    1000u /* a tenth of what was measured; below, little is learned at any noise                   \
           */
#define LEAST_LABELS 100u
#define FINE_POINTS  5u

/* A run as the regression sees it. */
struct look_point {
    double x, quality, trust;
};

struct look_node {
    double mean, low, high, runs;
};

static int look_compare(const void *a, const void *b)
{
    double p = ((const struct look_point *)a)->quality, q = ((const struct look_point *)b)->quality;
    return (p > q) - (p < q);
}

static bool world_measured(const char *world)
{
    for (unsigned i = 0; i < advice_run_count; i++)
        if (strcmp(advice_runs[i].world, world) == 0)
            return true;
    return false;
}

/* The runs that speak of it, by rising quality; gives how many. */
static size_t look_gather(enum advice_method method, const char *algorithm, const char *world,
                          const char *without, struct look_point *out)
{
    size_t count = 0;
    bool home = world_measured(world);
    for (unsigned i = 0; i < advice_run_count; i++) {
        const struct advice_run *run = &advice_runs[i];
        if (run->method != method || strcmp(run->algorithm, algorithm) != 0 || !(run->signal > 0) ||
            (without && strcmp(run->world, without) == 0))
            continue;
        double trust = 1;
        if (home && strcmp(run->world, world) != 0)
            trust = ELSEWHERE;
        out[count++] =
            (struct look_point){.x = log(run->signal),
                                .quality = fmin(fmax(run->quality, QUALITY_MIN), QUALITY_MAX),
                                .trust = trust};
    }
    qsort(out, count, sizeof *out, look_compare);
    return count;
}

static double look_weight(const struct look_point *point, double x, double bandwidth)
{
    double distance = (point->x - x) / bandwidth;
    return point->trust * exp(-0.5 * distance * distance);
}

/* The quality that a SHARE of the weight lies below. */
static double look_quantile(const struct look_point *points, size_t count, double x,
                            double bandwidth, double share)
{
    double all = 0, below = 0;
    for (size_t i = 0; i < count; i++)
        all += look_weight(&points[i], x, bandwidth);
    for (size_t i = 0; i < count; i++) {
        below += look_weight(&points[i], x, bandwidth);
        if (below >= share * all)
            return points[i].quality;
    }
    return points[count - 1].quality;
}

static struct look_node look_smooth(const struct look_point *points, size_t count, double x)
{
    double bandwidth = BANDWIDTH, mean = 0, runs = 0;
    for (;; bandwidth *= WIDER) {
        double sum = 0, squares = 0, weighted = 0;
        for (size_t i = 0; i < count; i++) {
            double weight = look_weight(&points[i], x, bandwidth);
            sum += weight;
            squares += weight * weight;
            weighted += weight * points[i].quality;
        }
        mean = weighted / sum;
        runs = sum * sum / squares; /* Kish's number */
        if (sum > 0 && (runs >= ENOUGH_RUNS || bandwidth > WIDEST))
            break;
    }
    return (struct look_node){.mean = mean,
                              .low = look_quantile(points, count, x, bandwidth, LOW_QUANTILE),
                              .high = look_quantile(points, count, x, bandwidth, 1 - LOW_QUANTILE),
                              .runs = runs};
}

/* Makes VALUES rise: the middle of the least rising function above them and the greatest below. */
static void look_raise(double values[NODES])
{
    double below[NODES];
    below[NODES - 1] = values[NODES - 1];
    for (int n = NODES - 2; n >= 0; n--)
        below[n] = fmin(values[n], below[n + 1]);
    double above = values[0];
    for (int n = 0; n < NODES; n++) {
        above = fmax(above, values[n]);
        values[n] = 0.5 * (above + below[n]);
    }
}

/* VALUES at PLACE, in nodes; in a straight line between two of them. */
static double look_between(const double values[NODES], double place)
{
    int n = (int)fmin(fmax(floor(place), 0), NODES - 2);
    return values[n] + (place - n) * (values[n + 1] - values[n]);
}

/* The risen curve over [FIRST, LAST] at X; *OUT_FIRST is that at FIRST. */
static struct look_node look_rise(const struct look_point *points, size_t count, double first,
                                  double last, double x, struct look_node *out_first)
{
    double mean[NODES], low[NODES], high[NODES], runs[NODES];
    double step = (last - first) / (NODES - 1), place = step > 0 ? (x - first) / step : 0;
    for (int n = 0; n < NODES; n++) {
        const struct look_node node = look_smooth(points, count, first + n * step);
        mean[n] = node.mean;
        low[n] = node.low;
        high[n] = node.high;
        runs[n] = node.runs;
    }
    look_raise(mean);
    look_raise(low);
    look_raise(high);
    *out_first = (struct look_node){mean[0], low[0], high[0], runs[0]};
    return (struct look_node){.mean = look_between(mean, place),
                              .low = look_between(low, place),
                              .high = look_between(high, place),
                              .runs = look_between(runs, place)};
}

/* ALONE is what is learned of noise alone, where one policy in ten may be good by chance. */
static enum advice_verdict look_verdict(const struct look_node *node, const struct look_node *alone)
{
    if (node->mean < fmax(0, alone->mean) + ADVICE_WEAK_MARGIN &&
        node->high < fmax(ADVICE_GOOD_FROM, alone->high + ADVICE_WEAK_MARGIN))
        return ADVICE_HOPELESS;
    bool good = node->mean >= ADVICE_GOOD_FROM && node->low >= ADVICE_WEAK_MARGIN;
    return good ? ADVICE_GOOD : ADVICE_WEAK;
}

static const struct advice_outlook unknown = {
    .expected = NAN, .low = NAN, .high = NAN, .verdict = ADVICE_UNKNOWN};

void advice_look(enum advice_method method, const char *algorithm, const char *world,
                 const char *without, double signal, struct advice_outlook *out)
{
    struct look_point *points = memory_new(advice_run_count, sizeof *points);
    size_t count = look_gather(method, algorithm, world, without, points);
    *out = unknown;
    if ((double)count >= ENOUGH_RUNS && signal > 0) {
        double first = INFINITY, last = -INFINITY, x = log(signal);
        for (size_t i = 0; i < count; i++) {
            first = fmin(first, points[i].x);
            last = fmax(last, points[i].x);
        }
        struct look_node alone;
        const struct look_node node =
            look_rise(points, count, first, last, fmin(fmax(x, first), last), &alone);
        *out = (struct advice_outlook){.expected = node.mean,
                                       .low = fmin(node.low, node.mean),
                                       .high = fmax(node.high, node.mean),
                                       .runs = node.runs,
                                       .measured = x >= first && x <= last,
                                       .verdict = look_verdict(&node, &alone)};
    }
    free(points);
}

/* True when each listed state has 1 in one of the coordinates FIRST .. LAST and 0 in the others. */
static bool is_category(const struct consensus_grid *grid, uint32_t first, uint32_t last)
{
    for (uint32_t i = 0; i < grid->count; i++) {
        const double *state = grid->states + (size_t)i * grid->dims;
        uint32_t ones = 0, zeros = 0;
        for (uint32_t d = first; d <= last; d++) {
            ones += state[d] == 1;
            zeros += state[d] == 0;
        }
        if (ones != 1 || zeros != last - first)
            return false;
    }
    return true;
}

/* Between categories there is nothing. */
static bool is_of_category(const struct consensus_grid *grid, uint32_t d)
{
    for (uint32_t first = 0; first <= d; first++)
        for (uint32_t last = d > first ? d : d + 1; last < grid->dims; last++)
            if (is_category(grid, first, last))
                return true;
    return false;
}

static bool list_is_coarse(const struct consensus_grid *grid)
{
    double *values = memory_new(grid->count, sizeof *values);
    bool coarse = false;
    for (uint32_t d = 0; d < grid->dims && !coarse; d++) {
        uint32_t count = consensus_list_values(grid, d, values);
        coarse = count > 1 && count < FINE_POINTS && !is_of_category(grid, d);
    }
    free(values);
    return coarse;
}

bool advice_grid_is_coarse(const struct algorithm_request *request, const char *world)
{
    const struct consensus_grid *grid = &request->stage.grid;
    if (request->stage.kind != STAGE_CONSENSUS || grid->dims == 0 || world_measured(world))
        return false;
    if (grid->count > 0)
        return list_is_coarse(grid);
    for (uint32_t d = 0; d < grid->dims; d++)
        if (grid->points[d] > 1 && grid->points[d] < FINE_POINTS)
            return true;
    return false;
}

void advice_look_at(const struct algorithm_request *request, const struct algorithm_plan *plan,
                    const char *algorithm, const char *world, struct advice_outlook *out)
{
    enum advice_method method;
    double signal = advice_signal(request, plan, &method);
    *out = unknown;
    if (!(signal > 0))
        return;
    advice_look(method, algorithm, world, NULL, signal, out);
    if (out->verdict == ADVICE_GOOD && advice_grid_is_coarse(request, world))
        out->verdict = ADVICE_WEAK;
    bool votes = method == ADVICE_CONSENSUS || method == ADVICE_GRID;
    if (method == ADVICE_RELEASE) /* its steps cost no noise */
        return;
    uint64_t work = votes ? plan->stage.consensus.labels : plan->total_steps;
    if (work < (votes ? LEAST_LABELS : LEAST_STEPS) && out->verdict != ADVICE_HOPELESS)
        *out = unknown;
}

const char *advice_verdict_name(enum advice_verdict verdict)
{
    static const char *const names[] = {[ADVICE_HOPELESS] = "hopeless",
                                        [ADVICE_WEAK] = "weak",
                                        [ADVICE_GOOD] = "good",
                                        [ADVICE_UNKNOWN] = "unknown"};
    return names[verdict];
}
