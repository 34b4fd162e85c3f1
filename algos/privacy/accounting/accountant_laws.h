/* A composition as laws of the privacy loss in closed form, for the accountants that use them. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_LAWS_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_LAWS_H

#include <stdbool.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/laws/contour_law.h"

struct accountant_laws {
    struct contour_law *law; /* owned */
    size_t count;
    double *vectors; /* owned: what the Dirichlet laws point to */
};

#define ACCOUNTANT_LAWS_POSES 6

/* The law of the loss of TIMES runs, a unit removed; MECHANISM is any but Dirichlet. */
struct contour_law accountant_law_of(const struct mechanism *mechanism, double times);

/* All plain Gaussians become one, and come last. BAD when a part has a problem. Every unit is
 * removed; Dirichlet mechanisms stand in pose 0. Clear *OUT when it succeeded. */
enum accountant_status accountant_laws_of(const struct composition *composition,
                                          struct accountant_laws *out);

/* Frees what LAWS own; there are none then. */
void accountant_laws_clear(struct accountant_laws *laws);

/* From removing a unit to adding one, everywhere; false when that is the same law. */
bool accountant_laws_turn(struct accountant_laws *laws);

/* Of a Dirichlet mechanism the pair of neighbours that costs most is not known. Brings all of them
 * into one of ACCOUNTANT_LAWS_POSES pairs that come close: one least coordinate goes up as far as
 * it may while all others go down equally, or all but the greatest do, or only the greatest does;
 * and the same backwards. COMPOSITION is that of which LAWS were made. False when there is none. */
bool accountant_laws_pose(struct accountant_laws *laws, const struct composition *composition,
                          unsigned pose);

/* True when every loss lies on points: points.h serves. */
bool accountant_laws_only_points(const struct accountant_laws *laws);

#endif
