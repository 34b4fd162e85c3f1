/* A policy behind a mechanism. Neighbours are one of two kinds:
 *
 * OBSERVATIONS at most RADIUS apart in 2-norm. This protects which of two close observations was
 * asked, not the data that the policy was trained on.
 *
 * EXPERTS: the policy is the mean of an ensemble (ensemble.h). Neighbours differ by one expert that
 * is added, removed or given other data. This protects the experts, not what was asked. */
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
    uint32_t shards;    /* neighbours differ in an expert, of so many shards; 0: neighbours are
                         * observations */
    double radius;      /* distance of neighbouring observations; 0 for experts, as is lipschitz */
    double lipschitz;   /* certified Lipschitz constant of state -> softmax(outputs /
                         * temperature), 2-norm */
    double sensitivity; /* of the vector that the mechanism adds noise to */
    bool secret;        /* for teacher_prepare: nothing may be computed from the weights */
};

/* What teacher_prepare gives when memory is short. */
extern const char teacher_no_memory[];

/* Completes LIPSCHITZ and SENSITIVITY from the policy: softmax is 1/2-Lipschitz, so lipschitz =
 * network bound / (2 temperature), and two answers' distributions are at most lipschitz * radius,
 * and never more than sqrt(2), apart; the Dirichlet mechanism's mixing multiplies that by
 * 1 - m eta. When SECRET the weights are not read: lipschitz is the trivial sqrt(2) / radius, for
 * two distributions are never farther apart, so that every figure is public. NULL when usable, else
 * a static sentence that says what is not: teacher_no_memory when memory is short. */
const char *teacher_prepare(struct teacher *teacher, const struct policy *policy);

/* Fills SENSITIVITY for a teacher with SHARDS, from public numbers alone: ensemble_change, which
 * the Dirichlet mechanism's mixing multiplies by 1 - m eta. Returns NULL or a sentence, as
 * above. */
const char *teacher_prepare_ensemble(struct teacher *teacher);

/* Sets SENSITIVITY, which was computed earlier. Returns NULL or a sentence, as above. */
const char *teacher_complete(struct teacher *teacher, double sensitivity);

/* Writes to P[count * actions] the distributions that answers at COUNT states are about, without
 * noise. P may not leave. With POLICY, P is the policy's distribution; where its outputs leave the
 * range of a double, P is uniform, because a refusal would tell how large the weights are, without
 * noise and for free. With POLICY NULL, P is the mean of ENSEMBLE, which has the teacher's number
 * of shards. False: a state is not finite. */
bool teacher_distributions(const struct teacher *teacher, const struct policy *policy,
                           const struct ensemble *ensemble, const float *states, uint32_t count,
                           double *p);

/* Draws one noisy answer Z[actions] about the distribution P, which is overwritten. Only the
 * sampled values may leave. CONCENTRATION is at most the teacher's; 0 for a mechanism without one.
 * False: CONCENTRATION is out of range. */
bool teacher_answer_about(const struct teacher *teacher, double concentration,
                          struct noise_source *noise, double *p, double *z);

/* The price of one answer at CONCENTRATION on accounts of ORDER. ORDER 0 is basic composition,
 * where the answer gets SHARE of delta, in units of 1e-18. False: the answer has no finite price
 * there. */
bool teacher_price(const struct teacher *teacher, double concentration, double order, int64_t share,
                   struct filter_price *out);

/* The radius around the true distribution that contains an answer at CONCENTRATION with probability
 * 1 - BETA. */
double teacher_error_radius(const struct teacher *teacher, double concentration, double beta);

/* Bounds how far apart the policy's distributions of neighbours are, before any mechanism. */
double teacher_change(const struct teacher *teacher);

/* The largest size of a state's number for which 32-bit floats are close enough together that a
 * neighbour at most RADIUS apart may differ in it: a power of two, or 0 when RADIUS is below the
 * least float. Beyond it neighbours have the same number there, so whether a state's number is
 * beyond it is the same of neighbours. */
double teacher_resolved_up_to(double radius);

/* The expected error of answers at CONCENTRATION about POLICY[actions], which is public: never the
 * teacher's own distribution. */
struct answer_error teacher_answer_error(const struct teacher *teacher, double concentration,
                                         const double *policy);

/* Finds the Gaussian teacher with the least sigma at which an answer costs at most PRICE on
 * accounts of ORDER and SHARE (teacher_price). The result is otherwise as TEACHER. False: there is
 * none. */
bool teacher_gaussian_for(const struct teacher *teacher, double order, int64_t share,
                          const struct filter_price *price, struct teacher *out);

#endif
