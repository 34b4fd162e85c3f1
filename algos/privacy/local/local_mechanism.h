/* Local privacy: an agent randomises one vector (its gradient) on its own machine, so that whoever
 * reads the report, the server included, learns at most epsilon about it. The server decodes
 * reports to unbiased estimates and adds them up.
 *
 * Unit: everything that the agent did to make the vector; neighbours: any two vectors. One report
 * per agent; several add their epsilons. A new mechanism is a file and a line in local_mechanism.c.
 * Theorems: docs/proofs/local_reports.md. */
#ifndef TACET_ALGOS_PRIVACY_LOCAL_LOCAL_MECHANISM_H
#define TACET_ALGOS_PRIVACY_LOCAL_LOCAL_MECHANISM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/noise/noise.h"

#define LOCAL_MAX_DIMENSION (1u << 20)
#define LOCAL_MIN_EPSILON   1e-3
#define LOCAL_MAX_EPSILON   40.0
#define LOCAL_CONSTANTS     8
#define LOCAL_SEED_SIZE     32

/* Public, the same for every agent of a collection. */
struct local_parameters {
    uint32_t dimension;     /* of the vector, d >= 1 */
    double epsilon;         /* of one report, LOCAL_MIN_EPSILON .. LOCAL_MAX_EPSILON */
    double clip;            /* bound of the vector's norm (the mechanism says which norm) */
    double projection_clip; /* projected_random_sign: bound of one projection, C; 0: sqrt(3) clip,
                               which no projection exceeds. Others: 0 */
};

/* A mechanism with its parameters, ready for any number of reports. Owns nothing and holds no data.
 */
struct local_scheme {
    const struct local_mechanism *mechanism;
    struct local_parameters parameters;
    size_t report_length;             /* integers in a report */
    double epsilon;                   /* of the reports, <= parameters.epsilon; certified */
    bool unbiased;                    /* over all vectors within the clip */
    double constant[LOCAL_CONSTANTS]; /* the mechanism's own */
};

enum local_status {
    LOCAL_OK,
    LOCAL_BAD_REPORT, /* no honest agent sends this */
};

struct local_mechanism {
    const char *name;
    const char *norm; /* of clip: "l1" or "l2" */
    /* NULL when the parameters suit, else a sentence; the common ones are already checked. A
     * mechanism without this one takes no projection_clip. */
    const char *(*problem)(const struct local_parameters *parameters);
    /* Fills report_length, epsilon, unbiased and constant. */
    void (*prepare)(struct local_scheme *scheme);
    /* The agent's side: VECTOR[dimension] is clipped, then becomes REPORT[report_length]. A vector
     * with a NaN or an infinity is taken for zero. SEED[LOCAL_SEED_SIZE] is this report's public
     * one, chosen without a look at any vector: projected_random_sign draws its projection from it,
     * the others ignore it (NULL will do). */
    enum local_status (*randomise)(const struct local_scheme *scheme, const unsigned char *seed,
                                   const double *vector, struct noise_source *noise,
                                   int64_t *report);
    /* The server's side, with the same seed: ESTIMATE[dimension] of the clipped vector, or
     * LOCAL_BAD_REPORT. ESTIMATE NULL: only says whether the report is possible, for which no seed
     * is needed. */
    enum local_status (*decode)(const struct local_scheme *scheme, const unsigned char *seed,
                                const int64_t *report, double *estimate);
    /* E of the squared 2-norm of (estimate - vector), for a vector of that squared 2-norm within
     * the clip; NAN where it depends on more than the norm. */
    double (*squared_error)(const struct local_scheme *scheme, double squared_norm);
};

extern const struct local_mechanism local_privunit;    /* the default: least error */
extern const struct local_mechanism local_half_sphere; /* nearly as good up to epsilon 2 */
extern const struct local_mechanism local_laplace;
extern const struct local_mechanism local_projected_sign;

/* By name, or NULL. */
const struct local_mechanism *local_mechanism_find(const char *name);

/* The I-th of the table, or NULL beyond the last. */
const struct local_mechanism *local_mechanism_at(size_t i);

/* NULL and a scheme ready for use, or a sentence that says what is wrong; *out is then untouched.
 */
const char *local_scheme_make(const struct local_mechanism *mechanism,
                              const struct local_parameters *parameters, struct local_scheme *out);

#endif
