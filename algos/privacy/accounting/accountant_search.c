/* False position on a bracket.
 *
 * DESIGN. Both searches move x, ln noise or -ln runs, along which ln epsilon falls and is nearly
 * straight. The exact accountant answers in a fraction of a millisecond where it can: a first
 * search with it says where to look, so that the accountant itself, which may take a hundred times
 * as long, is asked three or four times. Nothing is returned that was not itself found affordable.
 */
#include "algos/privacy/accounting/accountant_search.h"

#include <assert.h>
#include <math.h>

#include "memory/memory.h"

#define WIDTH     1e-4 /* of the last bracket, relative */
#define NEARBY    3e-3 /* first step away from a good guess */
#define TOO_DEAR  20.0 /* ln(epsilon / budget) of what is out of reach */
#define MAX_LOOKS 100

struct search {
    const struct accountant *accountant;
    accountant_family family;
    const void *context;
    const struct accountant_budget *budget;
    bool whole;                   /* the parameter is a number of runs, exp(-x) */
    double least, greatest;       /* range of x */
    double good, good_excess;     /* affordable: ln(epsilon / budget) <= 0 */
    double bad, bad_excess;       /* too dear; bad < good */
    struct privacy_interval cost; /* of good */
};

static double searched_parameter(const struct search *search, double x)
{
    return search->whole ? floor(exp(-x) * (1.0 + 1e-13) + 1e-9) : exp(x);
}

static double x_of(const struct search *search, double parameter)
{
    return search->whole ? -log(parameter) : log(parameter);
}

/* A parameter near X inside the bracket that was not tried yet, and its x. */
static double parameter_place(const struct search *search, double *x)
{
    if (!search->whole)
        return exp(*x);
    double runs = searched_parameter(search, *x);
    if (isfinite(search->good))
        runs = fmax(runs, searched_parameter(search, search->good) + 1.0);
    if (isfinite(search->bad))
        runs = fmin(runs, searched_parameter(search, search->bad) - 1.0);
    *x = x_of(search, runs);
    return runs;
}

static enum accountant_search_status status_of(enum accountant_status status)
{
    switch (status) {
    case ACCOUNTANT_OK:
    case ACCOUNTANT_OUT_OF_REACH: return ACCOUNTANT_SEARCH_OK;
    case ACCOUNTANT_UNSUPPORTED: return ACCOUNTANT_SEARCH_UNSUPPORTED;
    case ACCOUNTANT_NO_MEMORY:
    case ACCOUNTANT_TOO_MUCH_WORK: break; /* cannot happen: a search sets no limit of work */
    case ACCOUNTANT_BAD: return ACCOUNTANT_SEARCH_BAD;
    }
    memory_must(NULL); /* ends the process: only the command line searches */
    return ACCOUNTANT_SEARCH_BAD;
}

/* The price of the plan at PARAMETER; INFINITY where it is out of reach. */
static enum accountant_search_status plan_price_at(const struct search *search, double parameter,
                                                   struct privacy_interval *out)
{
    struct composition plan = {0};
    enum composition_status composed = search->family(search->context, parameter, &plan);
    if (composed != COMPOSITION_OK) {
        composition_clear(&plan);
        return ACCOUNTANT_SEARCH_BAD;
    }
    enum accountant_status status =
        accountant_epsilon(search->accountant, &plan, search->budget->delta, out);
    composition_clear(&plan);
    if (status == ACCOUNTANT_OUT_OF_REACH)
        *out = (struct privacy_interval){0.0, INFINITY};
    return status_of(status);
}

/* Asks at X and tightens the bracket. */
static enum accountant_search_status search_look(struct search *search, double x)
{
    struct privacy_interval cost;
    double parameter = parameter_place(search, &x);
    enum accountant_search_status status = plan_price_at(search, parameter, &cost);
    if (status != ACCOUNTANT_SEARCH_OK)
        return status;
    double excess = log(cost.upper / search->budget->epsilon);
    if (cost.upper <= search->budget->epsilon) {
        search->good = x;
        search->good_excess = fmax(-TOO_DEAR, fmin(excess, 0.0));
        search->cost = cost;
    } else {
        search->bad = x;
        search->bad_excess = fmin(TOO_DEAR, fmax(excess, 1e-15));
    }
    return ACCOUNTANT_SEARCH_OK;
}

/* Widens from X by growing steps until both a good and a bad point are known, or the range ends. */
static enum accountant_search_status search_bracket(struct search *search, double x, double step)
{
    search->good = INFINITY;
    search->bad = -INFINITY;
    enum accountant_search_status status = search_look(search, x);
    while (status == ACCOUNTANT_SEARCH_OK && isinf(search->good) &&
           search->bad < search->greatest) {
        status = search_look(search, fmin(search->greatest, search->bad + step));
        step *= 2.0;
    }
    while (status == ACCOUNTANT_SEARCH_OK && isinf(search->bad) && search->good > search->least) {
        status = search_look(search, fmax(search->least, search->good - step));
        step *= 2.0;
    }
    return status;
}

static bool narrow_enough(const struct search *search)
{
    if (search->whole)
        return searched_parameter(search, search->bad) - searched_parameter(search, search->good) <=
               1.0;
    return search->good - search->bad <= WIDTH;
}

static enum accountant_search_status close_in(struct search *search)
{
    int side = 0;
    for (int i = 0; i < MAX_LOOKS && !narrow_enough(search); i++) {
        double good = search->good_excess, bad = search->bad_excess;
        double span = search->good - search->bad;
        /* Illinois: the end that stayed twice counts half; where that is slow, halves. */
        good = side < -1 ? 0.5 * good : good;
        bad = side > 1 ? 0.5 * bad : bad;
        double x = search->bad + span * (bad / (bad - good));
        if (i % 8 == 7)
            x = search->bad + 0.5 * span;
        if (!search->whole) /* a little to the safe side, where the search would end */
            x = fmin(fmax(x + 0.3 * WIDTH, search->bad + 0.01 * span), search->good - 0.9 * WIDTH);
        x = fmin(fmax(x, search->bad), search->good);
        double before = search->good;
        enum accountant_search_status status = search_look(search, x);
        if (status != ACCOUNTANT_SEARCH_OK)
            return status;
        if (search->good != before)
            side = side > 0 ? side + 1 : 1;
        else
            side = side < 0 ? side - 1 : -1;
    }
    return ACCOUNTANT_SEARCH_OK;
}

/* The best affordable x, from a first look at X. */
static enum accountant_search_status search_find(struct search *search, double x, double step)
{
    enum accountant_search_status status = search_bracket(search, x, step);
    if (status == ACCOUNTANT_SEARCH_OK && isinf(search->good))
        return ACCOUNTANT_SEARCH_NOTHING_FITS;
    if (status == ACCOUNTANT_SEARCH_OK && isfinite(search->bad))
        status = close_in(search);
    return status;
}

/* The exact accountant gives some mechanisms a lower figure only. */
static bool has_upper_figures(const struct search *search, double x)
{
    struct privacy_interval cost;
    return plan_price_at(search, searched_parameter(search, x), &cost) == ACCOUNTANT_SEARCH_OK &&
           !(isinf(cost.upper) && cost.lower > 0.0);
}

static enum accountant_search_status search_solve(struct search *search,
                                                  struct accountant_found *out)
{
    if (!(search->budget->epsilon > 0.0) || !isfinite(search->budget->epsilon) ||
        !(search->budget->delta > 0.0 && search->budget->delta < 1.0))
        return ACCOUNTANT_SEARCH_BAD;
    double x = fmin(search->greatest, fmax(search->least, search->whole ? -log(1000.0) : 0.0));
    double step = 1.0;
    struct search guide = *search;
    guide.accountant = &accountant_exact;
    if (search->accountant != &accountant_exact && has_upper_figures(&guide, x) &&
        search_find(&guide, x, step) == ACCOUNTANT_SEARCH_OK) {
        x = guide.good;
        step = NEARBY;
    }
    enum accountant_search_status status = search_find(search, x, step);
    if (status != ACCOUNTANT_SEARCH_OK)
        return status;
    double parameter = searched_parameter(search, search->good);
    assert(search->cost.upper <= search->budget->epsilon);
    *out = (struct accountant_found){parameter, search->cost};
    return ACCOUNTANT_SEARCH_OK;
}

enum accountant_search_status accountant_least_noise(const struct accountant *accountant,
                                                     accountant_family family, const void *context,
                                                     const struct accountant_budget *budget,
                                                     double least, double greatest,
                                                     struct accountant_found *out)
{
    struct search search = {accountant, family, context, budget, .whole = false};
    if (!(least > 0.0 && least <= greatest) || !isfinite(greatest))
        return ACCOUNTANT_SEARCH_BAD;
    search.least = log(least);
    search.greatest = log(greatest);
    return search_solve(&search, out);
}

enum accountant_search_status accountant_most_runs(const struct accountant *accountant,
                                                   accountant_family family, const void *context,
                                                   const struct accountant_budget *budget,
                                                   double greatest, struct accountant_found *out)
{
    struct search search = {accountant, family, context, budget, .whole = true};
    if (!(greatest >= 1.0 && greatest <= (double)COMPOSITION_MAX_TIMES))
        return ACCOUNTANT_SEARCH_BAD;
    search.least = -log(floor(greatest));
    search.greatest = 0.0;
    return search_solve(&search, out);
}
