/* A question's sums, done on a pool thread before its turn in the batch: the batch then debits,
 * draws and stores, and a thousand networks hold up nobody else's commit. What is computed is free
 * of noise and of nobody's budget yet; it stays in memory, is used by the batch only for the very
 * states that it was computed for, and is wiped. */
#ifndef TACET_API_QUERY_AHEAD_H
#define TACET_API_QUERY_AHEAD_H

#include "api/query.h"

/* Computes what the answers to QUERY's states are about and leaves it in call->ahead. Nothing where
 * that is quick, or where the client's account could not pay. Changes nothing. */
enum problem query_run_ahead(struct query *query);

/* What was computed for these very states, [count x actions]; NULL: nothing. */
const double *query_ahead_of(const struct query *query);

#endif
