/* The PLD accountant with a choice of effort. Other callers use accountant.h. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_PLD_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_PLD_H

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/laws/pld_certify.h"

/* The effort of accountant_pld. */
extern const struct pld_effort ACCOUNTANT_PLD_EFFORT;

/* Bounds FIGURE of COMPOSITION at AT: the worse of removing a unit in all parts and adding it in
 * all parts. An interval wider than EFFORT asks for is still ACCOUNTANT_OK if its upper end is
 * finite. An epsilon that is truly infinite, because a loss is infinite with probability above
 * delta, gives [INFINITY, INFINITY]. */
enum accountant_status accountant_pld_figure(const struct composition *composition,
                                             enum pld_figure figure, double at,
                                             const struct pld_effort *effort,
                                             struct privacy_interval *out);

#endif
