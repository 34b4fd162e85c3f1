/* One door for every way of accounting: epsilon at delta and delta at epsilon of a composition,
 * from both sides. A new accountant is a file and a line below. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_H

#include <stddef.h>

#include "algos/privacy/laws/mechanism.h"
#include "algos/privacy/math/interval.h"

enum accountant_status {
    ACCOUNTANT_OK,
    ACCOUNTANT_BAD,         /* an empty composition; delta not in (0, 1); epsilon negative or NaN */
    ACCOUNTANT_UNSUPPORTED, /* this accountant does not know one of the mechanisms */
    ACCOUNTANT_OUT_OF_REACH, /* the figure exists and could not be computed or certified */
    ACCOUNTANT_NO_MEMORY,    /* for a grid, whose size the plan decides */
};

/* What a figure of this accountant is worth. */
enum accountant_worth {
    ACCOUNTANT_CERTIFIED, /* proved with every rounding paid for: may be charged */
    ACCOUNTANT_NUMERICAL, /* exact but for floating point: a check, never charged */
    ACCOUNTANT_PAPER,     /* a published figure that is no guarantee: for comparison only */
};

struct accountant {
    const char
        *name; /* "pld", "exact", "renyi", "gdp", "optimal_composition", "basic", "advanced" */
    enum accountant_worth worth;
    enum accountant_status (*epsilon)(const struct composition *composition, double delta,
                                      struct privacy_interval *out);
    enum accountant_status (*delta)(const struct composition *composition, double epsilon,
                                    struct privacy_interval *out);
};

/* The accountants; but for the last two each in a file of its own name, accountant_<name>.c. */
extern const struct accountant accountant_pld;   /* everything but Dirichlet; certified */
extern const struct accountant accountant_renyi; /* everything; the best order of a plan */
extern const struct accountant accountant_gdp;   /* plain Gaussians: closed form */
extern const struct accountant accountant_exact; /* contour integral of the moment generating
                                                    function; of Dirichlet a lower figure only */
extern const struct accountant
    accountant_optimal_composition;                 /* (epsilon, delta) pairs, response */
extern const struct accountant accountant_basic;    /* accountant_sums.c: whatever has an (epsilon,
                                                       delta); Gaussians have none */
extern const struct accountant accountant_advanced; /* the same; Dwork, Roth, Thm 3.20 */

#endif
