/* Inverse problems of any accountant: the least noise, or the most runs, that a budget pays for. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_SEARCH_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_SEARCH_H

#include <stdbool.h>

#include "algos/privacy/accounting/accountant.h"

/* A family of plans with one parameter: adds the plan at PARAMETER to the empty *OUT. The cost must
 * fall (noise) or grow (runs) with the parameter, as the search says. */
typedef enum composition_status (*accountant_family)(const void *context, double parameter,
                                                     struct composition *out);

struct accountant_budget {
    double epsilon; /* > 0, finite */
    double delta;   /* in (0, 1) */
};

enum accountant_search_status {
    ACCOUNTANT_SEARCH_OK,
    ACCOUNTANT_SEARCH_BAD,          /* an invalid budget, range or plan */
    ACCOUNTANT_SEARCH_UNSUPPORTED,  /* the accountant does not know a mechanism */
    ACCOUNTANT_SEARCH_NOTHING_FITS, /* neither the most noise nor the fewest runs of the range
                                     * fits the budget */
};

/* The parameter that was found, and its price at the budget's delta: cost.upper <=
 * budget.epsilon. */
struct accountant_found {
    double parameter;
    struct privacy_interval cost;
};

/* Finds the least PARAMETER in [least, greatest], positive, at which FAMILY costs at most BUDGET,
 * to a relative 1e-4 on the safe side. The cost falls as the parameter grows. A figure that the
 * accountant cannot compute counts as too dear. */
enum accountant_search_status accountant_least_noise(const struct accountant *accountant,
                                                     accountant_family family, const void *context,
                                                     const struct accountant_budget *budget,
                                                     double least, double greatest,
                                                     struct accountant_found *out);

/* The most whole PARAMETER from 1 to GREATEST (at most COMPOSITION_MAX_TIMES) at which FAMILY costs
 * at most BUDGET; its cost grows with the parameter. Exact to one run as far as the accountant's
 * upper figure grows with the runs, which rounding of grids may disturb in the fifth digit. */
enum accountant_search_status accountant_most_runs(const struct accountant *accountant,
                                                   accountant_family family, const void *context,
                                                   const struct accountant_budget *budget,
                                                   double greatest, struct accountant_found *out);

#endif
