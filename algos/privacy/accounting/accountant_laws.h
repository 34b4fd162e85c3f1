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

/* The law of the privacy loss of TIMES runs of MECHANISM (any but Dirichlet) when a unit is
 * removed. */
struct contour_law accountant_law_of(const struct mechanism *mechanism, double times);

/* Converts COMPOSITION to laws for the removal of a unit. All Gaussian parts without sampling
 * become one law, the last. Dirichlet laws lack their pair (accountant_laws_pose). Every part is
 * valid. The caller calls accountant_laws_clear. */
void accountant_laws_of(const struct composition *composition, struct accountant_laws *out);

/* Frees what LAWS own and leaves LAWS empty. */
void accountant_laws_clear(struct accountant_laws *laws);

/* Turns every law from the removal of a unit to its addition. False: the laws are the same for
 * both. */
bool accountant_laws_turn(struct accountant_laws *laws);

/* For a Dirichlet mechanism the costliest pair of neighbours is not known. This sets all Dirichlet
 * laws to one of ACCOUNTANT_LAWS_POSES pairs that come close to it. In these, one least coordinate
 * goes up as far as it may. The coordinates that go down are all others equally, or all others but
 * the greatest, or only the greatest. Each pair is taken in both directions. COMPOSITION is that of
 * which LAWS were made. */
void accountant_laws_pose(struct accountant_laws *laws, const struct composition *composition,
                          unsigned pose);

/* True when all losses of LAWS lie on points, so that points.h applies. */
bool accountant_laws_only_points(const struct accountant_laws *laws);

#endif
