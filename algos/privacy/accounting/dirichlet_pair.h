/* A lower bound of the price of Dirichlet answers: the exact price of one pair of neighbours, (A3)
 * of docs/proofs/accounting.md. With more than two actions no pair is proved to be the worst, so
 * this is a lower bound only; the certified upper bound is in dirichlet.h. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_DIRICHLET_PAIR_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_DIRICHLET_PAIR_H

#include "algos/privacy/accounting/privacy_report.h"
#include "algos/privacy/laws/mechanism.h"

/* Compositions with more different Dirichlet parts get no lower bound. */
#define DIRICHLET_PAIR_MAX_PARTS 16

/* A lower bound of the answer to QUESTION for COMPOSITION's Dirichlet parts together, all else left
 * out: the dearest of six pairs, by contour integration, exact but for floating point and lowered
 * by 1e-6 for it. 0 where none can be computed. */
double dirichlet_pair_figure(const struct composition *composition,
                             const struct privacy_question *question);

#endif
