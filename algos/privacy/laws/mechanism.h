/* What one release did, as far as accounting is concerned: the leaves that every accountant knows,
 * and how many times each ran. All neighbours here are add or remove one unit, or, where a
 * mechanism says so, the pair of laws that dominates its own neighbours. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_MECHANISM_H
#define TACET_ALGOS_PRIVACY_LAWS_MECHANISM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mechanism_kind {
    MECHANISM_SUBSAMPLED_GAUSSIAN,
    MECHANISM_LAPLACE,
    MECHANISM_RANDOMIZED_RESPONSE,
    MECHANISM_EPSILON_DELTA,
    MECHANISM_DIRICHLET,
};

struct mechanism {
    enum mechanism_kind kind;
    union {
        struct {
            double sampling_rate;    /* Poisson, in (0, 1]; 1: the plain Gaussian mechanism */
            double noise_multiplier; /* standard deviation over sensitivity, > 0 */
        } gaussian;
        struct {
            double noise_multiplier; /* scale over sensitivity, > 0 */
        } laplace;
        struct {
            double noise_parameter; /* in (0, 1): a uniform bucket is told with this probability, */
            uint32_t buckets;       /* else the true one; >= 2 */
        } response;
        struct {
            double epsilon,
                delta; /* any mechanism known only to be (epsilon, delta)-private; >= 0 */
        } pair;
        struct {
            double concentration, min_probability, sensitivity; /* as in struct dirichlet */
            uint32_t actions;
        } dirichlet;
    };
};

/* NULL when every parameter is in range and finite, else a sentence naming the one that is not. */
const char *mechanism_problem(const struct mechanism *mechanism);

/* A plan fixed in advance: each part's mechanism run TIMES, in any order. Equal parts are kept
 * once. */
struct composition {
    struct composition_part {
        struct mechanism mechanism;
        uint64_t times; /* >= 1 */
    } * part;           /* owned */
    size_t count, capacity;
};

/* Frees the parts; the composition is then empty. */
void composition_clear(struct composition *composition);

enum composition_status {
    COMPOSITION_OK,
    COMPOSITION_BAD,      /* mechanism_problem, or times 0 */
    COMPOSITION_TOO_LONG, /* more than COMPOSITION_MAX_PARTS different parts or
                             COMPOSITION_MAX_TIMES runs */
};

#define COMPOSITION_MAX_PARTS 1000
#define COMPOSITION_MAX_TIMES 1000000000000 /* of one part: 1e12 */

/* Adds TIMES runs of MECHANISM, merging with an equal part. *COMPOSITION is as before on failure.
 */
enum composition_status composition_add(struct composition *composition,
                                        const struct mechanism *mechanism, uint64_t times);

#endif
