/* Paying for a question. */
#ifndef TACET_API_TEACHERS_QUERY_PAY_H
#define TACET_API_TEACHERS_QUERY_PAY_H

#include "api/teachers/query.h"

/* True when the dataset's account is no longer the one that the shelf knows. */
bool query_has_new_payer(const struct query *query);

/* Refuses a question that would cost more than the caller's max_epsilon. Nothing has changed yet.
 */
enum problem query_check_cost(struct query *query);

/* Sets *OUT_USES to whether what is set aside for the client pays for the whole question. */
enum db_status query_uses_share(struct query *query, bool *out_uses);

/* Debits all accounts. Where one is spent, the teacher's word decides: a refusal, or RANDOM. */
enum problem query_pay(struct query *query);

#endif
