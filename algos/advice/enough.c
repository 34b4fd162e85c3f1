/* How many experts, or how much epsilon, a request would need. The verdict rises with the signal
 * alone (outlook.c), so the signal that it needs is found first, without a plan. A plan takes a
 * tenth of a second; the signal of one is nearly a power of experts or epsilon, so a few plans
 * along the secant of the logarithms find it. */
#include <math.h>

#include "algos/advice/advice.h"

#define LEAST_EPSILON 0.05
#define LEAST_SIGNAL  1e-4
#define MOST_SIGNAL   1e4
#define PRECISION     0.1 /* of the logarithm */
#define FLATTEST      0.25
#define STEEPEST      4.0
#define MOST_PLANS    12
#define MOST_RATIO    1000.0 /* experts to a batch: rare draws take minutes to account for */

struct enough_search {
    const struct algorithm *algorithm;
    struct algorithm_request request;
    const char *world;
    enum advice_verdict verdict; /* that is looked for */
    bool experts;                /* else epsilon is what changes */
    double batch_size;           /* of the last plan; 0: it samples nothing */
};

/* Whether VALUE would do. *OUT_SIGNAL is the logarithm of its signal, NAN if it has no plan, and
 * *OUT_METHOD its method where it has a signal. */
static bool enough_does(struct enough_search *search, double value, double *out_signal,
                        enum advice_method *out_method)
{
    struct algorithm_plan plan;
    struct advice_outlook outlook;
    const char *message = "";
    *out_signal = NAN;
    if (search->experts)
        search->request.nominal_experts = (uint32_t)value;
    else
        search->request.epsilon = value;
    if (search->algorithm->plan(&search->request, &plan, &message) != ALGORITHM_OK)
        return false;
    search->batch_size = plan.privacy.batch_size;
    *out_signal = log(advice_signal(&search->request, &plan, out_method));
    advice_look_at(&search->request, &plan, search->algorithm->name, search->world, &outlook);
    return outlook.verdict >= search->verdict;
}

/* The logarithm of the least signal of METHOD for the verdict; NAN: none is enough. */
static double enough_signal(const struct enough_search *search, enum advice_method method)
{
    double below = log(LEAST_SIGNAL), above = log(MOST_SIGNAL), at = above;
    do {
        struct advice_outlook outlook;
        advice_look(method, search->algorithm->name, search->world, NULL, exp(at), &outlook);
        if (outlook.verdict >= search->verdict)
            above = at;
        else if (at == above)
            return NAN;
        else
            below = at;
        at = 0.5 * (below + above);
    } while (above - below > 0.1 * PRECISION);
    return above;
}

/* VALUE to two figures, rounded up. */
static double enough_round(double value)
{
    double unit = pow(10.0, floor(log10(value)) - 1);
    return unit * ceil(value / unit - 1e-9);
}

/* The least value in [LOW, HIGH] that does, rounded up; 0: not even HIGH does. The search begins at
 * the logarithm FROM, where the signal's is SIGNAL. */
static double enough_find(struct enough_search search, double low, double high, double from,
                          double signal, double aim)
{
    double below = log(low), above = log(high), slope = 1;
    bool found = false;
    enum advice_method method;
    for (int plans = 0; above - below > PRECISION && plans < MOST_PLANS; plans++) {
        /* A little past the aim, on the side that is not known yet. */
        double guess = from + (aim - signal) / slope + (found ? -0.45 : 0.45) * PRECISION;
        if (!found && guess > above - 0.45 * PRECISION)
            guess = above - 0.45 * PRECISION;
        else if (!(guess > below + 0.45 * PRECISION && guess < above - 0.45 * PRECISION))
            guess = 0.5 * (below + above);
        double there;
        bool does = enough_does(&search, exp(guess), &there, &method);
        found = found || does;
        if (does)
            above = guess;
        else
            below = guess;
        if (isnan(there))
            continue;
        if (fabs(guess - from) > 1e-3)
            slope = fmin(fmax((there - signal) / (guess - from), FLATTEST), STEEPEST);
        from = guess;
        signal = there;
    }
    if (!found && !enough_does(&search, high, &signal, &method))
        return 0;
    return fmin(enough_round(exp(above)), high);
}

void advice_enough(const struct algorithm *algorithm, const struct algorithm_request *request,
                   const char *world, enum advice_verdict verdict, struct advice_enough *out)
{
    struct enough_search search = {
        .algorithm = algorithm, .request = *request, .world = world, .verdict = verdict};
    enum advice_method method;
    double signal;
    *out = (struct advice_enough){0};
    if (verdict == ADVICE_GOOD && advice_grid_is_coarse(request, world))
        return;
    (void)enough_does(&search, request->epsilon, &signal, &method);
    if (isnan(signal))
        return;
    double aim = enough_signal(&search, method);
    if (isnan(aim))
        return;
    out->epsilon =
        enough_find(search, LEAST_EPSILON, ADVICE_MOST_EPSILON, log(request->epsilon), signal, aim);
    search.request = *request;
    search.experts = true;
    double most = ADVICE_MOST_EXPERTS;
    if (search.batch_size > 0)
        most = fmin(most, MOST_RATIO * search.batch_size);
    if (most > fmax(request->nominal_experts, ADVICE_LEAST_EXPERTS))
        out->experts = (uint32_t)enough_find(search, ADVICE_LEAST_EXPERTS, most,
                                             log(request->nominal_experts), signal, aim);
}
