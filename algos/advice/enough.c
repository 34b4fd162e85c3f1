/* How many experts, or how much epsilon, a request would need. The verdict rises with either
 * (outlook.c), so it is bisected, in the logarithm. */
#include <math.h>

#include "algos/advice/advice.h"

#define LEAST_EXPERTS 2.0
#define LEAST_EPSILON 0.05
#define PRECISION     0.1 /* of the logarithm */

struct enough_search {
    const struct algorithm *algorithm;
    struct algorithm_request request;
    const char *world;
    enum advice_verdict verdict; /* that is looked for */
    bool experts;                /* else epsilon is what changes */
};

/* Whether VALUE would do. */
static bool enough_does(struct enough_search *search, double value)
{
    struct algorithm_plan plan;
    struct advice_outlook outlook;
    const char *message = "";
    if (search->experts)
        search->request.nominal_experts = (uint32_t)value;
    else
        search->request.epsilon = value;
    if (search->algorithm->plan(&search->request, &plan, &message) != ALGORITHM_OK)
        return false;
    advice_look_at(&search->request, &plan, search->algorithm->name, search->world, &outlook);
    return outlook.verdict >= search->verdict;
}

/* VALUE to two figures, rounded up. */
static double enough_round(double value)
{
    double unit = pow(10.0, floor(log10(value)) - 1);
    return unit * ceil(value / unit - 1e-9);
}

/* The least value in [LOW, HIGH] that does, rounded up; 0: not even HIGH does. */
static double enough_bisect(struct enough_search search, double low, double high)
{
    if (!enough_does(&search, high))
        return 0;
    double below = log(low), above = log(high);
    while (above - below > PRECISION) {
        double middle = 0.5 * (below + above);
        if (enough_does(&search, exp(middle)))
            above = middle;
        else
            below = middle;
    }
    return fmin(enough_round(exp(above)), high);
}

void advice_enough(const struct algorithm *algorithm, const struct algorithm_request *request,
                   const char *world, enum advice_verdict verdict, struct advice_enough *out)
{
    struct enough_search search = {
        .algorithm = algorithm, .request = *request, .world = world, .verdict = verdict};
    out->epsilon = enough_bisect(search, LEAST_EPSILON, ADVICE_MOST_EPSILON);
    search.experts = true;
    out->experts = (uint32_t)enough_bisect(search, LEAST_EXPERTS, ADVICE_MOST_EXPERTS);
}
