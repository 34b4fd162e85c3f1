/* A question's sums, done on a pool thread before its turn in the batch: the batch then debits,
 * draws and stores, and a thousand networks hold up nobody else's commit. What is computed is free
 * of noise and of nobody's budget yet; it stays in memory, is used by the batch only for the very
 * states that it was computed for, and is wiped. */
#ifndef TACET_API_TEACHERS_QUERY_AHEAD_H
#define TACET_API_TEACHERS_QUERY_AHEAD_H

#include "api/teachers/query.h"

/* Leaves in call->ahead what is to be computed of QUERY. Nothing where that is quick, or where
 * one of its accounts could not pay. Changes nothing. */
enum problem query_plan_ahead(struct query *query);

/* Computes what was left in call->ahead, if anything was: what the answers to those states are
 * about. Outside of any transaction, because one that reads for long keeps the database's log from
 * being emptied; before the call ends, which gives the teacher back. call->ahead is NULL after a
 * failure. */
void query_run_ahead(struct call *call);

/* What was computed for these very states, [count x actions]; NULL: nothing. */
const double *query_ahead_of(const struct query *query);

#endif
