/* Teachers: policies behind a mechanism, priced per query, with a cap over all clients and a budget
 * for each. All accounts of a teacher count the same, which is fixed when the teacher is made:
 * Renyi divergence at the order at which a fresh client budget answers most, or epsilon and, by the
 * share with which it answers most, delta. */
#ifndef TACET_API_TEACHERS_TEACHERS_H
#define TACET_API_TEACHERS_TEACHERS_H

#include "algos/privacy/answers/filter.h"
#include "api/call/call.h"
#include "storage/ledger/ledger.h"
#include "storage/teachers.h"

/* POST /v1/teachers, outside of the transaction: certifies the bound of a new teacher. */
enum problem api_teachers_prepare(struct call *call);

/* POST /v1/teachers: stores it. */
enum problem api_teachers_create(struct call *call);

/* GET /v1/teachers */
enum problem api_teachers_list(struct call *call);

/* GET /v1/teachers/{id} */
enum problem api_teachers_get(struct call *call);

/* GET /v1/teachers/{id}/certificate */
enum problem api_teachers_certificate(struct call *call);

/* PUT /v1/teachers/{id}/budgets/{client} */
enum problem api_teachers_put_budget(struct call *call);

/* GET /v1/teachers/{id}/budgets/{client} */
enum problem api_teachers_get_budget(struct call *call);

/* The teacher that {id} names when the caller may know of it: its steward, and students that may
 * ask it. */
enum problem teacher_of_call(struct call *call, struct teacher_row *out);

/* True in *out_may when CLIENT may ask: by a grant, or by the default budget. */
enum db_status teacher_may_ask(struct db *db, const struct teacher_row *teacher, const char *client,
                               bool *out_may);

/* A fresh account of (EPSILON, DELTA) at the teacher; false when it could not pay anything. */
bool teacher_account(const struct teacher_row *teacher, double epsilon, double delta,
                     struct filter *out);

/* How many answers of that PRICE it pays; 0 when not one. */
int64_t teacher_answers_in(const struct teacher_row *teacher, double epsilon, double delta,
                           const struct filter_price *price);

/* What ACCOUNT can still pay: its limit without what is spent and held. */
struct filter_price teacher_account_left(const struct ledger_account *account);

/* The caller's standing with TEACHER. Its account is opened under the default budget when it has
 * none and there is such a budget; otherwise the problem is no-budget. Inside a transaction. */
enum problem teacher_standing_of_call(struct call *call, const struct teacher_row *teacher,
                                      struct teacher_client_row *out);

#endif
