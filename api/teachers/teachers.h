/* Teachers: policies that answer through a mechanism, priced per query, with a cap over all clients
 * and a budget for each. The unit in which a teacher's accounts count is fixed when it is made:
 * Renyi divergence at the order at which a new client budget pays for most answers, or epsilon and
 * delta with the share of delta at which it does. */
#ifndef TACET_API_TEACHERS_TEACHERS_H
#define TACET_API_TEACHERS_TEACHERS_H

#include "algos/privacy/answers/filter.h"
#include "api/call/call.h"
#include "api/teachers/teacher_payers.h"
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

/* POST /v1/teachers/{id}:close */
enum problem api_teachers_close(struct call *call);

/* DELETE /v1/teachers/{id} */
enum problem api_teachers_delete(struct call *call);

/* PUT /v1/teachers/{id}/budgets/{client} */
enum problem api_teachers_put_budget(struct call *call);

/* GET /v1/teachers/{id}/budgets/{client} */
enum problem api_teachers_get_budget(struct call *call);

/* Finds the teacher {id} if the caller may see it: its steward, and students that may ask it. */
enum problem teacher_of_call(struct call *call, struct teacher_row *out);

/* As teacher_of_call, which finds deleted teachers too; to this one they are gone. */
enum problem teacher_shown(struct call *call, struct teacher_row *out);

/* 410 closed when the teacher was closed, deleted or not. The caller may know of it. */
enum problem teacher_check_open(struct call *call, const char *teacher);

/* ROW as the caller may see it; NULL: it cannot be read. New reference. */
json_t *teacher_row_json(struct call *call, const struct teacher_row *row);

/* The result of teacher_of_call for a teacher whose reading gave STATUS and ROW. */
enum problem teacher_admit(struct call *call, enum db_status status, const struct teacher_row *row);

/* Sets *OUT_MAY to whether CLIENT may ask: it has a grant, or there is a default budget. */
enum db_status teacher_may_ask(struct db *db, const struct teacher_row *teacher, const char *client,
                               bool *out_may);

/* Opens a new account of (EPSILON, DELTA) at the teacher in OUT. False: it could pay nothing. */
bool teacher_account(const struct teacher_row *teacher, double epsilon, double delta,
                     struct filter *out);

/* Sets *OUT to the price of one answer of TEACHER at its own concentration, for each payer. */
enum db_status teacher_answer_prices(struct db *db, const struct teacher_row *teacher,
                                     struct teacher_prices *out);

/* The number of answers at PRICE that a new account of (EPSILON, DELTA) at ORDER (0: basic) pays
 * for. */
int64_t teacher_answers_in(double order, double epsilon, double delta,
                           const struct filter_price *price);

/* What ACCOUNT can still pay: its limit without what is spent and held. */
struct filter_price teacher_account_left(const struct ledger_account *account);

/* How often EACH, which is not 0, fits into LEFT. */
int64_t price_fits(const struct filter_price *left, const struct filter_price *each);

/* Sets *OUT to the answers that ACCOUNT can still pay, at the price of one at full concentration:
 * of its teacher, or for a dataset's account of the newest teacher that it pays for. The other
 * accounts that would pay are not looked at. DB_NONE: there is no such teacher. (teacher_buys.c) */
enum db_status teacher_buys(struct db *db, const struct ledger_account *account, int64_t *out);

/* The member "buys" of a budget: what remains in things that people want, null for what does not
 * apply (negative). New reference. */
json_t *buys_json(int64_t jobs, int64_t answers, int64_t labels);

/* The caller's standing with TEACHER. Its account is opened under the default budget when it has
 * none and there is such a budget; otherwise the problem is no-budget. Inside a transaction. */
enum problem teacher_standing_of_call(struct call *call, const struct teacher_row *teacher,
                                      struct teacher_client_row *out);

#endif
