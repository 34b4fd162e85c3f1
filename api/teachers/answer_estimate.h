/* Compares the two mechanisms: for each, the most accurate setting at which a budget pays for a
 * given number of answers. It uses public numbers alone. */
#ifndef TACET_API_TEACHERS_ANSWER_ESTIMATE_H
#define TACET_API_TEACHERS_ANSWER_ESTIMATE_H

#include <jansson.h>
#include <stdint.h>

#include "algos/privacy/answers/answer_error.h"

/* What is compared. Neighbours' policies are at most CHANGE apart in the 2-norm. */
struct answer_purpose {
    uint32_t actions;
    double change;
    double min_probability; /* of the Dirichlet mechanism */
    double answers;         /* at least 1 */
    double epsilon, delta;  /* of a fresh account by Renyi, at its best order */
};

/* The expected errors at the two public policies, {"uniform":{"l1","l2"},"peaked":{...}}. New
 * reference. */
json_t *answer_error_json(const struct answer_error *uniform, const struct answer_error *peaked);

/* {"answers","budget","mechanisms":[{"mechanism","possible","queries","expected_error"} twice],
 * "recommended": name or null}: the one whose expected 1-norm is the smaller, at the two public
 * policies together. New reference. */
json_t *answer_estimate_json(const struct answer_purpose *purpose);

#endif
