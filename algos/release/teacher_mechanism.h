/* The mechanism that adds a teacher's noise. A new mechanism is one of these tables in
 * teacher_mechanism.c, and a line in the table there. */
#ifndef TACET_ALGOS_RELEASE_TEACHER_MECHANISM_H
#define TACET_ALGOS_RELEASE_TEACHER_MECHANISM_H

#include <stdbool.h>
#include <stddef.h>

#include "algos/privacy/answers/answer_error.h"
#include "algos/privacy/answers/filter.h"
#include "algos/privacy/noise/noise.h"

struct teacher;

struct teacher_mechanism {
    const char *name; /* its name in requests and in the database */
    /* Returns the sensitivity of the vector that the mechanism adds noise to. CHANGE bounds how far
     * apart, in 2-norm, the policy's distributions of neighbours are before the mechanism. */
    double (*sensitivity)(const struct teacher *teacher, double change);
    /* Sets the mechanism's SENSITIVITY. Returns NULL, or a sentence about the setting that is out
     * of range. */
    const char *(*complete)(struct teacher *teacher, double sensitivity);
    /* Lowers the concentration, and with it the accuracy and the price, to CONCENTRATION. 0 leaves
     * a mechanism without a concentration as it is. False: CONCENTRATION does not fit. */
    bool (*weaken)(struct teacher *teacher, double concentration);
    /* One answer as a release that accounts can price. It borrows TEACHER. */
    struct filter_release (*release)(const struct teacher *teacher);
    /* Draws into Z one answer for the policy's distribution P, which it may overwrite. */
    bool (*answer)(const struct teacher *teacher, struct noise_source *noise, double *p, double *z);
    /* The radius in 2-norm that contains an answer with probability 1 - BETA. */
    double (*error_radius)(const struct teacher *teacher, double beta);
    /* The expected error of an answer about POLICY, which is public. */
    struct answer_error (*error)(const struct teacher *teacher, const double *policy);
};

extern const struct teacher_mechanism teacher_dirichlet;
extern const struct teacher_mechanism teacher_gaussian_simplex;

/* The I-th of the table, or NULL beyond the last. */
const struct teacher_mechanism *teacher_mechanism_at(size_t i);

/* The teacher's mechanism NAME ("dirichlet"), or NULL. */
const struct teacher_mechanism *teacher_mechanism_find(const char *name);

#endif
