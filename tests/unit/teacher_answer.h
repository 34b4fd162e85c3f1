/* One noisy answer of a teacher at one state, as the service gives it. */
#ifndef TACET_TESTS_UNIT_TEACHER_ANSWER_H
#define TACET_TESTS_UNIT_TEACHER_ANSWER_H

#include "algos/release/teacher.h"

/* Z[actions] about POLICY, or about the mean of ENSEMBLE where POLICY is NULL; false: none. */
static inline bool teacher_answer_at(const struct teacher *teacher, const struct policy *policy,
                                     const struct ensemble *ensemble, double concentration,
                                     struct noise_source *noise, const float *state, double *z)
{
    double p[TEACHER_MAX_ACTIONS];
    return teacher_distributions(teacher, policy, ensemble, state, 1, p) &&
           teacher_answer_about(teacher, concentration, noise, p, z);
}

#endif
