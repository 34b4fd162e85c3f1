/* The noise that a teacher answers with. A new mechanism is one of these tables in
 * teacher_mechanism.c, and a line in teacher_mechanism_find. */
#ifndef TACET_ALGOS_RELEASE_TEACHER_MECHANISM_H
#define TACET_ALGOS_RELEASE_TEACHER_MECHANISM_H

#include <stdbool.h>

#include "algos/privacy/answers/answer_error.h"
#include "algos/privacy/answers/filter.h"
#include "algos/privacy/noise/noise.h"

struct teacher;

struct teacher_mechanism {
    const char *name; /* as in requests and in the database */
    /* CHANGE bounds how far, in the 2-norm, the policy's distributions of neighbours lie apart,
     * before anything that the mechanism does to them. Gives the sensitivity of what it adds noise
     * to. */
    double (*sensitivity)(const struct teacher *teacher, double change);
    /* Puts SENSITIVITY in its place; the sentence that says which setting is out of range, or NULL.
     */
    const char *(*complete)(struct teacher *teacher, double sensitivity);
    /* Lowers what is told, and with it the price, to CONCENTRATION: 0 leaves a mechanism without
     * one as it is. False when that is not possible. */
    bool (*weaken)(struct teacher *teacher, double concentration);
    /* One answer as accounts see it. It borrows TEACHER. */
    struct filter_release (*release)(const struct teacher *teacher);
    /* One answer for the policy's distribution P, which it may overwrite, to Z. */
    bool (*answer)(const struct teacher *teacher, struct noise_source *noise, double *p, double *z);
    /* Radius in the 2-norm that holds an answer with probability 1 - BETA. */
    double (*error_radius)(const struct teacher *teacher, double beta);
    /* Expected error of an answer about POLICY, which is public. */
    struct answer_error (*error)(const struct teacher *teacher, const double *policy);
};

extern const struct teacher_mechanism teacher_dirichlet;
extern const struct teacher_mechanism teacher_gaussian_simplex;

/* The mechanism of that name, or NULL. */
const struct teacher_mechanism *teacher_mechanism_find(const char *name);

#endif
