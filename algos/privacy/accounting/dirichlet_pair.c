/* Pairs of neighbours that cost a lot.
 *
 * DESIGN. Gaps grow where probabilities are small, so one action rises from the least probability
 * by x, the m - 2 others that are small fall to it by t x each, and one large action takes the
 * rest. Numerical maximisation over all shifts ends in one of three patterns: all others fall
 * alike (t = 1/(m-1)), the large one alone (t = 0), or not at all (t = 1/(m-2)). For two actions
 * they are one pair, the worst. Both directions are tried. */
#include "algos/privacy/accounting/dirichlet_pair.h"

#include <math.h>

#include "algos/privacy/laws/contour.h"
#include "algos/privacy/laws/dirichlet.h"

#define SLACK 1e-6

struct pair {
    double p[DIRICHLET_MAX_ACTIONS], q[DIRICHLET_MAX_ACTIONS]; /* concentration times each */
};

struct pairs {
    struct pair part[DIRICHLET_PAIR_MAX_PARTS];
    struct contour_law law[DIRICHLET_PAIR_MAX_PARTS];
};

/* The pair of MECHANISM whose small actions fall by SHARE of the rise. */
static void make_pair(const struct mechanism *mechanism, double share, struct pair *out)
{
    double m = mechanism->dirichlet.actions, eta = mechanism->dirichlet.min_probability;
    double k = mechanism->dirichlet.concentration, room = 1.0 - m * eta;
    double rest = 1.0 - (m - 2.0) * share;
    double norm = sqrt(1.0 + (m - 2.0) * share * share + rest * rest);
    double rise = fmin(mechanism->dirichlet.sensitivity / norm, room);
    double fall = share * rise;
    uint32_t last = mechanism->dirichlet.actions - 1;
    out->p[0] = k * eta;
    out->q[0] = k * (eta + rise);
    for (uint32_t i = 1; i < last; i++) {
        out->p[i] = k * (eta + fall);
        out->q[i] = k * eta;
    }
    out->p[last] = k * (eta + room - (m - 2.0) * fall);
    out->q[last] = k * (eta + room - rise);
}

/* PATTERN 0..2, as above; of two actions there is but one. */
static double share_of(unsigned pattern, uint32_t actions)
{
    if (actions == 2 || pattern == 0)
        return 0.0;
    return 1.0 / (pattern == 1 ? actions - 1.0 : actions - 2.0);
}

/* The number of laws; 0 when there are too many. */
static size_t make_laws(const struct composition *composition, unsigned pattern, bool turned,
                        struct pairs *out)
{
    size_t count = 0;
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *m = &composition->part[i].mechanism;
        if (m->kind != MECHANISM_DIRICHLET)
            continue;
        if (count == DIRICHLET_PAIR_MAX_PARTS || mechanism_problem(m))
            return 0;
        struct pair *pair = &out->part[count];
        make_pair(m, share_of(pattern, m->dirichlet.actions), pair);
        out->law[count] = (struct contour_law){.kind = CONTOUR_DIRICHLET_PAIR,
                                               .times = (double)composition->part[i].times,
                                               .dirichlet = {.a = turned ? pair->q : pair->p,
                                                             .b = turned ? pair->p : pair->q,
                                                             .count = m->dirichlet.actions}};
        count++;
    }
    return count;
}

double dirichlet_pair_figure(const struct composition *composition,
                             const struct privacy_question *question)
{
    double best = 0.0;
    for (unsigned i = 0; i < 6; i++) {
        struct pairs pairs;
        size_t count = make_laws(composition, i / 2, i % 2, &pairs);
        if (count == 0)
            return 0.0;
        double value = 0.0;
        enum contour_status status = question->for_delta
                                         ? contour_delta(pairs.law, count, question->at, &value)
                                         : contour_epsilon(pairs.law, count, question->at, &value);
        if (status == CONTOUR_OK && isfinite(value))
            best = fmax(best, value);
    }
    return best * (1.0 - SLACK);
}
