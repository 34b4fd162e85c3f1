/* A policy behind the Dirichlet mechanism, observation adjacency: neighbours are two observations
 * at most RADIUS apart in 2-norm. Protects which of two close observations was asked; not the data
 * the policy was trained on. */
#ifndef TACET_ALGOS_RELEASE_TEACHER_H
#define TACET_ALGOS_RELEASE_TEACHER_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/policy.h"
#include "algos/privacy/dirichlet.h"

struct teacher {
    struct dirichlet mechanism; /* sensitivity filled by teacher_prepare */
    double temperature;
    double radius;
    double lipschitz; /* certified, of state -> softmax(outputs / temperature), 2-norm; before
                         mixing */
    bool coarse;      /* teacher_prepare: the weights are secret, say little about them */
};

/* Completes LIPSCHITZ and MECHANISM.sensitivity from the policy: softmax is 1/2-Lipschitz, so
 * lipschitz = network bound / (2 temperature) and sensitivity = (1 - m eta) * lipschitz * radius,
 * at most sqrt(2) (1 - m eta). When COARSE the network bound is first rounded up to a power of two
 * (at least 2^-10), so that what is shown of lipschitz, sensitivity and prices tells no more of the
 * weights than that power, whatever temperatures and radii are tried. NULL when usable, else a
 * static sentence that says what is not. */
const char *teacher_prepare(struct teacher *teacher, const struct policy *policy);

/* One noisy answer at STATE: Z[actions]. The sampled values alone may leave; CONCENTRATION at most
 * the teacher's. */
bool teacher_answer(const struct teacher *teacher, const struct policy *policy,
                    double concentration, struct noise_source *noise, const float *state,
                    double *z);

/* Certified Renyi price of one answer at ORDER and CONCENTRATION, in integer nano-units, rounded
 * up; 0 is never a price; UINT64_MAX when there is no finite one. */
uint64_t teacher_price(const struct teacher *teacher, double concentration, double order);

#endif
