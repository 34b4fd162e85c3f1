/* The computations of a heavy question, done before and outside its transaction, so that a thousand
 * networks delay no commit. The result has no noise and is not paid for yet. It stays in memory
 * until the call ends, serves only the teacher and states it was computed for, and is then wiped.
 */
#ifndef TACET_API_TEACHERS_QUERY_PREPARE_H
#define TACET_API_TEACHERS_QUERY_PREPARE_H

#include "api/teachers/query.h"

/* Computes the distributions that the answers to QUERY will be noisy versions of, into call->plan.
 * It computes nothing for one network, which is quick, or when an account could not pay, which
 * HANDLE then reports. */
enum problem query_prepare(struct query *query);

/* What query_prepare computed for the same teacher and states, [count x actions]; NULL: nothing. */
const double *query_prepared(const struct query *query);

#endif
