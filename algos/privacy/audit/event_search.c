/* Outputs become counts of classes, in four families; an event is a class, or a run of classes from
 * either end of the line. */
#include "algos/privacy/audit/event_search.h"

#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/math/normal_quantile.h"
#include "memory/memory.h"

#define BLOCK     2048 /* outputs that are drawn at once */
#define PER_NOISE 32   /* intervals of the line in one deviation */

enum {
    INTERVALS = 1024,
    EXACT = INTERVALS, /* one input, the other */
    LOW = EXACT + 2,   /* bytes, numbers of zeros, off the grid */
    ZEROS = LOW + 256,
    OFF_GRID = ZEROS + 65,
    CLASSES
};

/* counts[with][class] */
struct event_counts {
    uint64_t of[2][CLASSES];
    uint64_t draws;
};

struct event {
    int first, last; /* classes */
    bool likely;     /* with */
};

double event_case_epsilon(const struct event_case *asked)
{
    return asked->mu > 0.0 ? gaussian_dp_epsilon_interval(asked->mu, asked->delta).upper
                           : asked->epsilon;
}

/* ---- classes */

static void count_low_bits(double steps, uint64_t counts[CLASSES])
{
    if (steps != nearbyint(steps) || fabs(steps) >= 0x1p62) {
        counts[OFF_GRID]++;
        return;
    }
    uint64_t bits = (uint64_t)(int64_t)steps;
    counts[LOW + (bits & 255)]++;
    counts[ZEROS + (bits ? __builtin_ctzll(bits) : 64)]++;
}

static void count_one(const struct event_case *asked, double output, uint64_t counts[CLASSES])
{
    double middle = asked->input + 0.5 * asked->apart;
    double place = INTERVALS / 2.0 + PER_NOISE * (output - middle) / asked->noise;
    counts[(int)fmin(fmax(place, 0.0), INTERVALS - 1.0)]++; /* NaN falls into the first */
    counts[EXACT] += output == asked->input;
    counts[EXACT + 1] += output == asked->input + asked->apart;
    if (asked->grid > 0.0)
        count_low_bits(output / asked->grid, counts);
}

static void count_draws(const struct event_case *asked, uint64_t draws, struct noise_source *noise,
                        struct event_counts *out)
{
    double *block = memory_new(BLOCK, sizeof *block);
    *out = (struct event_counts){.draws = draws};
    for (int with = 0; with < 2; with++) {
        for (uint64_t done = 0; done < draws; done += BLOCK) {
            uint32_t part = draws - done < BLOCK ? (uint32_t)(draws - done) : BLOCK;
            asked->draw(asked, with, noise, block, part);
            for (uint32_t i = 0; i < part; i++)
                count_one(asked, block[i], out->of[with]);
        }
    }
    free(block);
}

/* ---- bounds */

/* DRAWS times the divergence of a coin that showed SHARE from one of probability P. */
static double weight_against(double share, double p, double draws)
{
    double heads = share > 0.0 ? share * log(share / p) : 0.0;
    double tails = share < 1.0 ? (1.0 - share) * (log1p(-share) - log1p(-p)) : 0.0;
    return draws * (heads + tails);
}

/* Above the probability of what was seen HITS times (or below it), but for a chance of exp(-DOUBT):
 * P(hits or fewer) <= exp(-weight_against). */
static double rate_bound(uint64_t hits, uint64_t draws, double doubt, bool above)
{
    double share = (double)hits / (double)draws;
    double inside = share, outside = above ? 1.0 : 0.0;
    if (share == outside)
        return outside;
    for (int i = 0; i < 60; i++) {
        double middle =
            inside > 0.0 && outside > 0.0 ? sqrt(inside * outside) : 0.5 * (inside + outside);
        if (weight_against(share, middle, (double)draws) > doubt)
            outside = middle;
        else
            inside = middle;
    }
    return outside;
}

static double quantile_of(double p)
{
    return (double)(p <= 0.5 ? normal_quantile(p) : -normal_quantile(1.0 - p));
}

/* mu, or epsilon at delta where no mu is claimed. */
static double event_shows(const struct event_case *asked, const uint64_t hits[2], uint64_t draws,
                          double doubt)
{
    double p = rate_bound(hits[0], draws, doubt, false);
    double q = rate_bound(hits[1], draws, doubt, true);
    if (!(p > asked->delta && p > q) || q >= 1.0)
        return 0.0;
    return asked->mu > 0.0 ? quantile_of(p) - quantile_of(q) : log((p - asked->delta) / q);
}

/* ---- events */

static void class_hits(const struct event_counts *counts, const struct event *event,
                       uint64_t hits[2])
{
    hits[0] = hits[1] = 0;
    for (int class = event->first; class <= event->last; class ++) {
        hits[0] += counts->of[event->likely][class];
        hits[1] += counts->of[!event->likely][class];
    }
}

static struct event choose_class(const struct event_case *asked, const struct event_counts *counts,
                                 double doubt)
{
    struct event best = {0};
    double most = -1.0;
    for (int i = 0; i < 2 * (CLASSES + 2 * INTERVALS); i++) {
        int class = i / 2;
        struct event event = {.first = class, .last = class, .likely = i & 1};
        if (class >= CLASSES + INTERVALS)
            event = (struct event){class - CLASSES - INTERVALS, INTERVALS - 1, i & 1};
        else if (class >= CLASSES)
            event = (struct event){0, class - CLASSES, i & 1};
        uint64_t hits[2];
        class_hits(counts, &event, hits);
        if (hits[0] <= hits[1])
            continue;
        double shows = event_shows(asked, hits, counts->draws, doubt);
        if (shows > most) {
            most = shows;
            best = event;
        }
    }
    return best;
}

static const char *event_kind(const struct event *event)
{
    if (event->first >= LOW)
        return "low bits";
    if (event->first >= EXACT)
        return "exact";
    return event->first == event->last ? "interval" : "half line";
}

struct event_finding event_search(const struct event_case *asked, uint64_t draws,
                                  double false_alarm, struct noise_source *noise)
{
    const uint64_t each = draws / asked->work + 1;
    const double doubt = log(2.0 / false_alarm);
    struct event_counts *counts = memory_new(1, sizeof *counts);
    uint64_t hits[2];
    count_draws(asked, each, noise, counts);
    const struct event event = choose_class(asked, counts, doubt);
    count_draws(asked, each, noise, counts);
    class_hits(counts, &event, hits);
    double shows = event_shows(asked, hits, each, doubt);
    if (asked->mu > 0.0 && shows > 0.0)
        shows = gaussian_dp_epsilon(shows, asked->delta);
    free(counts);
    return (struct event_finding){
        .epsilon = fmax(shows, 0.0), .counted = each, .kind = event_kind(&event)};
}
