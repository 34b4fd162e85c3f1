/* One interface for every accountant: bounds epsilon at delta, and delta at epsilon, of a
 * composition from both sides. A new accountant is a file and a line below. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_H

#include <stdbool.h>
#include <stddef.h>

#include "algos/privacy/laws/mechanism.h"
#include "algos/privacy/math/interval.h"
#include "algos/privacy/math/work.h"

enum accountant_status {
    ACCOUNTANT_OK,
    ACCOUNTANT_BAD, /* an empty composition; a bad part; delta not in (0, 1); epsilon negative or
                       NaN */
    ACCOUNTANT_UNSUPPORTED,   /* this accountant does not know one of the mechanisms */
    ACCOUNTANT_OUT_OF_REACH,  /* the figure exists but could not be computed or certified */
    ACCOUNTANT_NO_MEMORY,     /* no memory for a grid, whose size depends on the plan */
    ACCOUNTANT_TOO_MUCH_WORK, /* the effort's work was done before any bound was found */
};

/* A question: the delta at epsilon AT, or the epsilon at delta AT. */
struct accountant_question {
    bool for_delta;
    double at;
    struct work *work; /* what accountant_renyi may take; NULL: it has no end. Borrowed */
};

struct accountant {
    const char
        *name; /* "pld", "exact", "renyi", "gdp", "optimal_composition", "basic", "advanced" */
    /* Answers a QUESTION that accountant_answer has checked. */
    enum accountant_status (*figure)(const struct composition *composition,
                                     const struct accountant_question *question,
                                     struct privacy_interval *out);
};

/* Answers QUESTION about COMPOSITION. */
enum accountant_status accountant_answer(const struct accountant *accountant,
                                         const struct composition *composition,
                                         const struct accountant_question *question,
                                         struct privacy_interval *out);

/* Bounds the epsilon of COMPOSITION at DELTA. */
enum accountant_status accountant_epsilon(const struct accountant *accountant,
                                          const struct composition *composition, double delta,
                                          struct privacy_interval *out);

/* Bounds the delta of COMPOSITION at EPSILON. */
enum accountant_status accountant_delta(const struct accountant *accountant,
                                        const struct composition *composition, double epsilon,
                                        struct privacy_interval *out);

/* The accountants. Each has a file accountant_<name>.c, but for the last two. Their figures are
 * proved with every rounding paid for, but for those of accountant_exact: a check, never charged.
 */
extern const struct accountant accountant_pld;   /* takes everything but Dirichlet */
extern const struct accountant accountant_renyi; /* takes everything, at the plan's best order */
extern const struct accountant accountant_gdp;   /* plain Gaussians: closed form */
extern const struct accountant accountant_exact; /* contour integral of the moment generating
                                                    function; of Dirichlet a lower figure only */
extern const struct accountant
    accountant_optimal_composition;                 /* (epsilon, delta) pairs, response */
extern const struct accountant accountant_basic;    /* in accountant_sums.c; takes every
                                                     * mechanism with an (epsilon, delta), so no
                                                     * Gaussians */
extern const struct accountant accountant_advanced; /* as basic; Dwork and Roth, Thm 3.20 */

#endif
