/* Releasing Q-functions on [0, 1] under Gaussian-process noise, to be asked at any number of
 * points: the one description that sensitivity, noise and certificate are read from. Unit: one
 * expert. Experts are split into SHARDS by a rule that looks at nothing but the expert's own name
 * (were it its place in a list, one expert less would move others), each shard's Q is
 * forced into the public class |Q_a| <= value_limit, |Q_a(x) - Q_a(y)| <= lipschitz |x - y|
 * (algos/nn/lipschitz_class.h), and the mean over shards plus one path per action is released.
 *
 * Theorem (Hall, Rinaldo, Wasserman 2013; Dong, Roth, Su 2022): a change of S in the kernel's norm
 * against a path of standard deviation sigma is (S/sigma)-Gaussian-DP for the whole path at once.
 * One expert changes one shard, hence the mean by a function of amplitude 2V/M and slope 2L/M;
 * over the m actions, at beta = L/V, S = (2V/M) sqrt(m (1 + L/V)). When L bounds all outputs
 * together the slopes' share is not multiplied by m: beta = L/(V sqrt m), S = (2V/M) sqrt(m + sqrt
 * m L/V). How shards are trained does not enter. */
#ifndef TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PROCESS_PLAN_H
#define TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PROCESS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct gaussian_process_plan {
    /* declared, public, never computed from the data */
    double value_limit; /* V */
    double lipschitz;   /* L, of each action's output, or of all together: see joint */
    bool joint;         /* L bounds the 2-norm over the actions, as lipschitz_project makes it */
    uint32_t shards;    /* M; 1 is computed, and useless: refuse it unless forced */
    uint32_t actions;   /* each with a path of its own */
    uint32_t bits;      /* answers at multiples of 2^-bits */
    double evaluation_error; /* of a shard's computed Q against a member of the class, 2-norm over
                                the actions, at every point; 0 when exact */
    double epsilon, delta;   /* asked for */
    /* filled in by gaussian_process_plan_complete */
    double beta;           /* the kernel with the least sensitivity */
    double sensitivity;    /* S, rounded up, with ROUNDING's share in it */
    double rounding;       /* what arithmetic adds to S: see gaussian_process_rounding */
    double mu;             /* S/sigma */
    double sigma;          /* standard deviation of the noise at every point */
    double noise_to_range; /* sigma/V: show it to whoever chooses */
};

/* Fills the second half from the first, or gives the sentence that says what is out of range. */
const char *gaussian_process_plan_complete(struct gaussian_process_plan *plan);

/* The norm that the noise protects is that of the kernel exp(-beta |x - y|)'s space on [0, 1],
 * ||f||^2 = (f(0)^2 + f(1)^2) / 2 + (1 / (2 beta)) integral of f'^2 + beta^2 f^2. This is the
 * greatest square of the norm of a function with |f| <= amplitude and |f(x) - f(y)| <= slope |x -
 * y|: amplitude^2 (1 + beta / 2) + slope^2 / (2 beta), which a zig-zag attains. */
double gaussian_process_class_norm_squared(double beta, double amplitude, double slope);

/* The greatest norm, in the kernel's space at the 2^bits + 1 points, of a function whose pointwise
 * size is at most ERROR (2-norm over the actions): ERROR sqrt((2^bits + 1) coth(beta / 2^(bits +
 * 1))), by the greatest eigenvalue of the inverse kernel matrix. The process hides rough errors of
 * neighbouring points worst. This is why Q is evaluated in double. */
double gaussian_process_rounding(double beta, uint32_t bits, double error);

#endif
