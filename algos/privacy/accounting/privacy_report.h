/* A report on a plan's price: the certified figure from both sides, and the figures of other
 * accountants. `tacet epsilon` and POST /v1/accounting:compose answer with it. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_PRIVACY_REPORT_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_PRIVACY_REPORT_H

#include <stdbool.h>

#include "algos/privacy/accounting/accountant.h"

struct privacy_question {
    bool for_delta; /* delta at the epsilon AT >= 0; else epsilon at the delta AT in (0, 1) */
    double at;
};

/* What each figure of a PRIVACY_QUICK report by privacy-loss distributions or Renyi divergences may
 * take: about a second (work.h). */
#define PRIVACY_QUICK_STEPS 5e8

/* How long a report may take. */
enum privacy_effort {
    PRIVACY_FULL,  /* any time that ledgers and certificates may take */
    PRIVACY_QUICK, /* the same figures for plans that somebody would run (epsilon below 100, delta
                      from 1e-30 to 1/2), coarser ones for others, and fewer comparisons; none for
                      what takes more than PRIVACY_QUICK_STEPS (ACCOUNTANT_TOO_MUCH_WORK) */
};

struct privacy_report {
    const char *accountant;         /* name of the accountant whose upper figure this is */
    struct privacy_interval figure; /* certified; upper is finite */
    /* Other accountants' answers to the same question; NAN where they have none or would take
     * long. */
    double renyi; /* certified too: the best order */
    double exact; /* but for floating point */
};

/* The accountant whose upper figure is charged for COMPOSITION: gdp for plain Gaussians, renyi
 * where a part is a Dirichlet mechanism, else pld. */
const struct accountant *privacy_report_accountant(const struct composition *composition);

/* Answers QUESTION by that accountant; with Dirichlet parts the lower figure is accountant_exact's,
 * of these alone or, where the other accountants are asked, too, of all parts if that is greater.
 * OUT_OF_REACH also when no finite epsilon holds at that delta. *out is touched on success only. */
enum accountant_status privacy_report_make(const struct composition *composition,
                                           const struct privacy_question *question,
                                           enum privacy_effort effort, struct privacy_report *out);

#endif
