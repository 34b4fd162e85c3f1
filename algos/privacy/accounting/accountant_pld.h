/* The PLD accountant with a say in how closely it looks; accountant.h is the door for everybody
 * else. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_PLD_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_PLD_H

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/laws/pld_certify.h"

/* How closely accountant_pld looks. */
extern const struct pld_effort ACCOUNTANT_PLD_EFFORT;

/* FIGURE of COMPOSITION at AT, the worse of all parts in the direction of removal and all parts in
 * that of addition. An interval wider than EFFORT asks for is ACCOUNTANT_OK as long as its upper
 * end says anything; an epsilon that is truly infinite, because more than delta is told outright,
 * is [INFINITY, INFINITY]. */
enum accountant_status accountant_pld_figure(const struct composition *composition,
                                             enum pld_figure figure, double at,
                                             const struct pld_effort *effort,
                                             struct privacy_interval *out);

#endif
