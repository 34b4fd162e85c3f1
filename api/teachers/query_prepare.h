/* A heavy question's sums, done outside of any transaction before its turn: a thousand networks
 * then hold up nobody's commit. What is computed is free of noise and of nobody's budget yet. It
 * stays in memory until the call ends, is used for the very teacher and states that it was computed
 * for, and is wiped. */
#ifndef TACET_API_TEACHERS_QUERY_PREPARE_H
#define TACET_API_TEACHERS_QUERY_PREPARE_H

#include "api/teachers/query.h"

/* Computes what the answers to QUERY will be about and leaves it in call->plan. Nothing for one
 * network, which is quick, and where one of the accounts could not pay: HANDLE says so. */
enum problem query_prepare(struct query *query);

/* What query_prepare computed for the same teacher and states, [count x actions]; NULL: nothing. */
const double *query_prepared(const struct query *query);

#endif
