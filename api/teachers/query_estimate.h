/* What to expect of a teacher's answers before any is asked. */
#ifndef TACET_API_TEACHERS_QUERY_ESTIMATE_H
#define TACET_API_TEACHERS_QUERY_ESTIMATE_H

#include <jansson.h>
#include <stdbool.h>

#include "api/teachers/teacher_shelf.h"

/* Adds to REPLY "expected_error", of answers at CONCENTRATION, and for Dirichlet teachers
 * "alternative": Gaussian noise for the same PRICE of one answer, and its error (null when no sigma
 * suits). False: memory. */
bool query_estimate_errors(json_t *reply, const struct shelved_teacher *teacher,
                           double concentration, const struct filter_price *price);

/* Adds to REPLY "comparison" (answer_estimate.h): both mechanisms for COUNT answers about the
 * teacher's policy from a budget of (EPSILON, DELTA). False: memory. */
bool query_estimate_mechanisms(json_t *reply, const struct shelved_teacher *teacher, int64_t count,
                               double epsilon, double delta);

/* Adds to REPLY "paper": what the published formula would say of COUNT answers at DELTA (epsilon
 * null where it says nothing), marked as no guarantee. TEACHER is a Dirichlet one. False: memory.
 */
bool query_estimate_paper(json_t *reply, const struct shelved_teacher *teacher,
                          double concentration, int64_t count, double delta);

#endif
