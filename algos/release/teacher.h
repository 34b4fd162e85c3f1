/* A policy behind a mechanism. Neighbours are one of two kinds:
 *
 * OBSERVATIONS at most RADIUS apart in 2-norm: protects which of two close observations was asked,
 * not the data that the policy was trained on.
 *
 * EXPERTS: the policy is the mean of an ensemble (ensemble.h), and one expert with all its data is
 * there, is not, or has other data: protects the experts, not what was asked. */
#ifndef TACET_ALGOS_RELEASE_TEACHER_H
#define TACET_ALGOS_RELEASE_TEACHER_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/policy.h"
#include "algos/privacy/answers/filter.h"
#include "algos/privacy/answers/gaussian_simplex.h"
#include "algos/privacy/laws/dirichlet.h"
#include "algos/release/ensemble.h"
#include "algos/release/teacher_mechanism.h"

#define TEACHER_MAX_ACTIONS ENSEMBLE_ACTIONS_MAX

struct teacher {
    const struct teacher_mechanism *mechanism;
    union { /* actions and sensitivity are filled by teacher_complete */
        struct dirichlet dirichlet;
        struct gaussian_simplex gaussian;
    };
    uint32_t actions;
    double temperature;
    uint32_t shards;    /* neighbours are experts in so many shards; 0: observations */
    double radius;      /* of observations; else 0, as the next */
    double lipschitz;   /* certified, of state -> softmax(outputs / temperature), 2-norm */
    double sensitivity; /* of what the mechanism adds noise to */
    bool coarse;        /* teacher_prepare: the weights are secret, say little about them */
};

/* Completes LIPSCHITZ and SENSITIVITY from the policy: softmax is 1/2-Lipschitz, so lipschitz =
 * network bound / (2 temperature), and two answers' distributions are at most lipschitz * radius,
 * and never more than sqrt(2), apart; the Dirichlet mechanism's mixing multiplies that by
 * 1 - m eta. When COARSE the network bound is first rounded up to a power of two (at least 2^-10),
 * so that what is shown of lipschitz, sensitivity and prices tells no more of the weights than that
 * power, whatever temperatures and radii are tried. NULL when usable, else a static sentence that
 * says what is not. */
const char *teacher_prepare(struct teacher *teacher, const struct policy *policy);

/* Completes SENSITIVITY for a teacher with SHARDS, from public numbers alone: ensemble_change, and
 * the Dirichlet mechanism's mixing multiplies that by 1 - m eta. NULL or a sentence, as above. */
const char *teacher_prepare_ensemble(struct teacher *teacher);

/* The same for a SENSITIVITY that was computed earlier. */
const char *teacher_complete(struct teacher *teacher, double sensitivity);

/* What answers at COUNT states are about, before any noise: P[count * actions], which may not
 * leave. It is the policy's distribution, all actions alike where its outputs leave the range of a
 * double (a refusal would tell, without noise and for nothing, how large the weights are), or with
 * POLICY NULL the mean of the ENSEMBLE, of as many shards as the teacher's. False: a state is not
 * finite.
 */
bool teacher_distributions(const struct teacher *teacher, const struct policy *policy,
                           const struct ensemble *ensemble, const float *states, uint32_t count,
                           double *p);

/* One noisy answer about one of those, which is overwritten: Z[actions]. The sampled values alone
 * may leave. CONCENTRATION is at most the teacher's, or 0 where its mechanism has none; false: it
 * is not. */
bool teacher_answer_about(const struct teacher *teacher, double concentration,
                          struct noise_source *noise, double *p, double *z);

/* What one answer at CONCENTRATION costs accounts of ORDER (0: basic composition, of which it gets
 * SHARE of delta, in units of 1e-18). False when it has no finite price there. */
bool teacher_price(const struct teacher *teacher, double concentration, double order, int64_t share,
                   struct filter_price *out);

/* Radius around the distribution that is answered, at CONCENTRATION, that holds an answer with
 * probability 1 - BETA. */
double teacher_error_radius(const struct teacher *teacher, double concentration, double beta);

/* How far apart the policy's distributions of neighbours are at most, before any mechanism. */
double teacher_change(const struct teacher *teacher);

/* What to expect of answers at CONCENTRATION about POLICY[actions], which is public: never the
 * teacher's own distribution. */
struct answer_error teacher_answer_error(const struct teacher *teacher, double concentration,
                                         const double *policy);

/* The Gaussian teacher in TEACHER's place with the least sigma at which an answer costs at most
 * PRICE on accounts of ORDER and SHARE (teacher_price). False when there is none. */
bool teacher_gaussian_for(const struct teacher *teacher, double order, int64_t share,
                          const struct filter_price *price, struct teacher *out);

#endif
