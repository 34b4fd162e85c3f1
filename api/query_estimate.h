/* What to expect of a teacher's answers before any is asked. */
#ifndef TACET_API_QUERY_ESTIMATE_H
#define TACET_API_QUERY_ESTIMATE_H

#include <jansson.h>
#include <stdbool.h>

#include "api/teacher_shelf.h"

/* Adds to REPLY "expected_error", of answers at CONCENTRATION, and for Dirichlet teachers
 * "alternative": Gaussian noise for the same PRICE of one answer, and its error (null when no sigma
 * suits). False: memory. */
bool query_estimate_errors(json_t *reply, const struct shelved_teacher *teacher,
                           double concentration, const struct filter_price *price);

#endif
