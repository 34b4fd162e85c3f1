/* A composition as laws of the privacy loss in closed form, for the accountants that use them. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTANT_LAWS_H
#define TACET_ALGOS_PRIVACY_ACCOUNTANT_LAWS_H

#include <stdbool.h>

#include "algos/privacy/accountant.h"
#include "algos/privacy/contour_law.h"

struct accountant_laws {
    struct contour_law *law; /* owned */
    size_t count;
};

/* The law of the loss of TIMES runs, a unit removed; MECHANISM is any but Dirichlet. */
struct contour_law accountant_law_of(const struct mechanism *mechanism, double times);

/* All plain Gaussians become one. UNSUPPORTED when a Dirichlet mechanism is among the parts, BAD
 * when one has a problem. Every unit is removed. Clear *OUT when it succeeded. */
enum accountant_status accountant_laws_of(const struct composition *composition,
                                          struct accountant_laws *out);
void accountant_laws_clear(struct accountant_laws *laws);

/* From removing a unit to adding one, everywhere; false when that is the same law. */
bool accountant_laws_turn(struct accountant_laws *laws);

/* True when every loss lies on points: points.h serves. */
bool accountant_laws_only_points(const struct accountant_laws *laws);

#endif
