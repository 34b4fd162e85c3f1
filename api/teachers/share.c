/* Opens and ends shares. Proof: docs/proofs/budgets.md. */
#include "api/teachers/share.h"

#include <stdio.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/call/refusal.h"
#include "api/json/json_text.h"
#include "api/teachers/teachers.h"
#include "storage/ledger/ledger.h"

#define EPSILON_MAX 1e6
#define ANSWERS_MAX 1000000000
#define SHARE_EVENT "{\"type\":\"NoOpDpEvent\"}"

/* ---- how much */

bool share_wished(const struct teacher_guarantee *wish)
{
    return wish->answers > 0 || wish->epsilon > 0;
}

void share_read(struct call *call, const json_t *object, const char *pointer,
                struct teacher_guarantee *out)
{
    const struct field fields[] = {
        field_optional(field_positive("epsilon", &out->epsilon, EPSILON_MAX)),
        field_optional(field_positive("delta", &out->delta, 1)),
        field_optional(field_integer("answers", &out->answers, 1, ANSWERS_MAX)),
    };
    if (!fields_read(call, object, pointer, fields, 3))
        return;
    if (out->delta >= 1)
        call_invalid(call, fields_pointer(call, pointer, "delta"), "must be below 1");
    if ((out->epsilon > 0) != (out->delta > 0) || (out->epsilon > 0) == (out->answers > 0))
        call_invalid(call, pointer, "must have either answers, or epsilon and delta");
}

/* Adds the smallest guarantee, one of one answer, to the refusal. */
static void say_least_share(struct call *call, const struct teacher_row *teacher,
                            const struct filter_price *price, double delta)
{
    struct budget_sum least =
        budget_least(teacher->renyi_order, price->units, price->delta_units, delta);
    refusal_least(call, least.epsilon, least.delta);
}

/* Sets OUT->answers: those of WISH, which the client's own budget (EPSILON, DELTA) can pay for. */
static bool count_answers(struct call *call, const struct teacher_row *teacher,
                          const struct filter_price *price, double epsilon, double delta,
                          const struct teacher_guarantee *wish, const char *pointer,
                          struct share_size *out)
{
    int64_t most = teacher_answers_in(teacher->renyi_order, epsilon, delta, price);
    out->answers = wish->answers;
    if (wish->answers == 0)
        out->answers = teacher_answers_in(teacher->renyi_order, wish->epsilon, wish->delta, price);
    if (wish->epsilon > epsilon || wish->delta > delta || out->answers > most) {
        call_invalid(call, pointer,
                     "must not be above the client's own budget, epsilon %.9g and delta %.9g: it "
                     "pays for %lld answers",
                     epsilon, delta, (long long)most);
        return false;
    }
    if (out->answers < 1) {
        call_invalid(call, pointer, "cannot pay one answer");
        say_least_share(call, teacher, price, wish->delta);
        return false;
    }
    return true;
}

bool share_measure(struct call *call, const struct teacher_row *teacher,
                   const struct teacher_prices *one, double epsilon, double delta,
                   const struct teacher_guarantee *wish, const char *pointer,
                   struct share_size *out)
{
    if (teacher->first_units > 0) {
        call_invalid(call, pointer,
                     "cannot be set aside in a dataset's account that adds epsilons for a teacher "
                     "that adds divergences: convert the account (:compose) first, or make the "
                     "teacher with accounting \"basic\"");
        return false;
    }
    if (!count_answers(call, teacher, &one->of[PAYER_CLIENT], epsilon, delta, wish, pointer, out))
        return false;
    if (!teacher_prices_times(one, out->answers, &out->aside)) {
        call_invalid(call, pointer, "is too large to be counted");
        return false;
    }
    return true;
}

/* ---- opening */

/* Opens an account with SIZE of what PAYER has, for STANDING's client. */
static enum db_status open_share(struct call *call, const struct ledger_account *payer,
                                 const struct teacher_client_row *standing,
                                 const struct filter_price *size, struct ledger_account *out)
{
    char name[ID_SIZE];
    double delta = ledger_delta_value(size->delta_units);
    id_new("shr_", name);
    if (payer->renyi_order > 1) /* what the payer converts with */
        delta = payer->delta - ledger_delta_value(payer->limit_delta);
    const struct ledger_opening opening = {.kind = LEDGER_SHARE,
                                           .resource = name,
                                           .client = standing->client,
                                           .owner = payer->owner,
                                           .unit = payer->unit,
                                           .renyi_order = payer->renyi_order,
                                           .epsilon = budget_epsilon(payer, size->units),
                                           .delta = delta,
                                           .limit_units = size->units,
                                           .limit_delta = size->delta_units,
                                           .event = SHARE_EVENT,
                                           .now_ms = call->now_ms};
    return db_owed(ledger_open_account(call->db, &opening, out));
}

/* Sets SIZE aside in the account PAYER_ID; OUT receives the share's id. */
static enum problem set_aside(struct call *call, const char *payer_id,
                              const struct teacher_client_row *standing,
                              const struct filter_price *size, int64_t answers, char out[ID_SIZE])
{
    struct ledger_account payer, share;
    struct ledger_outcome outcome;
    enum db_status status = db_owed(ledger_find(call->db, payer_id, &payer));
    if (status == DB_OK)
        status = open_share(call, &payer, standing, size, &share);
    if (status != DB_OK)
        return call_db(call, status);
    const struct ledger_charge charge = {.prices = {{payer.id, size->units, size->delta_units}},
                                         .count = 1,
                                         .client = call->caller.id,
                                         .resource = share.id,
                                         .event = SHARE_EVENT,
                                         .now_ms = call->now_ms};
    status = ledger_hold(call->db, &charge, &outcome);
    if (status != DB_OK)
        return call_db(call, status);
    const struct refusal_pieces pieces = {
        .name = "answers",
        .count = answers,
        .on = {{size->units / answers, size->delta_units / answers}}};
    if (outcome.verdict != LEDGER_OK)
        return refusal_make(call, &outcome, &pieces);
    memcpy(out, share.id, ID_SIZE);
    return PROBLEM_NONE;
}

/* ---- ending */

/* Leaves the share nothing to pay with. */
static enum db_status empty_share(struct call *call, struct ledger_account *share)
{
    const struct budget_sum spent = budget_spent_sum(share);
    const struct ledger_limit limit = {.account = share->id,
                                       .epsilon = spent.epsilon,
                                       .delta = share->delta,
                                       .limit_units = share->spent_units,
                                       .limit_delta = share->spent_delta,
                                       .client = call->caller.id,
                                       .event = SHARE_EVENT,
                                       .now_ms = call->now_ms};
    enum ledger_verdict verdict = LEDGER_OK;
    enum db_status status = ledger_set_limit(call->db, &limit, &verdict, share);
    return status == DB_OK && verdict != LEDGER_OK ? DB_FAILED : status;
}

/* Ends the share ID: PAYER pays what it has spent, and has the rest again. */
static enum problem end_share(struct call *call, const char *payer, const char *id)
{
    struct ledger_account share;
    struct ledger_outcome outcome;
    if (id[0] == '\0')
        return PROBLEM_NONE;
    enum db_status status = db_owed(ledger_find(call->db, id, &share));
    if (status == DB_OK)
        status = empty_share(call, &share);
    if (status != DB_OK)
        return call_db(call, status);
    const struct ledger_charge charge = {.prices = {{payer, share.spent_units, share.spent_delta}},
                                         .count = 1,
                                         .client = call->caller.id,
                                         .resource = id,
                                         .event = SHARE_EVENT,
                                         .now_ms = call->now_ms};
    status = ledger_settle(call->db, &charge, &outcome);
    if (status != DB_OK || outcome.verdict == LEDGER_OK)
        return call_db(call, status);
    return refusal_make(call, &outcome, NULL);
}

/* Ends the shares of STANDING, if there are any, and stores that. */
static enum problem share_end(struct call *call, const struct teacher_row *teacher,
                              struct teacher_client_row *standing)
{
    if (standing->share[0] == '\0')
        return PROBLEM_NONE;
    enum problem problem = end_share(call, teacher->account, standing->share);
    if (problem == PROBLEM_NONE)
        problem = end_share(call, teacher->dataset_account, standing->dataset_share);
    if (problem != PROBLEM_NONE)
        return problem;
    standing->share[0] = standing->dataset_share[0] = '\0';
    return call_db(call, teachers_client_set_shares(call->db, standing));
}

enum problem share_give(struct call *call, const struct teacher_row *teacher,
                        struct teacher_client_row *standing, const struct share_size *size)
{
    enum problem problem = share_end(call, teacher, standing);
    if (problem == PROBLEM_NONE)
        problem = set_aside(call, teacher->account, standing, &size->aside.of[PAYER_TEACHER],
                            size->answers, standing->share);
    if (problem == PROBLEM_NONE && teacher->dataset_account[0] != '\0')
        problem = set_aside(call, teacher->dataset_account, standing,
                            &size->aside.of[PAYER_DATASET], size->answers, standing->dataset_share);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_db(call, teachers_client_set_shares(call->db, standing));
}

enum problem share_end_all(struct call *call, const char *client, const char *teacher)
{
    struct teacher_client_row standing;
    struct teacher_row row;
    enum problem problem = PROBLEM_NONE;
    while (problem == PROBLEM_NONE) {
        enum db_status status = teachers_client_find_shared(call->db, client, teacher, &standing);
        if (status == DB_NONE)
            return PROBLEM_NONE;
        if (status == DB_OK)
            status = db_owed(teachers_find(call->db, standing.teacher, &row));
        problem = call_db(call, status);
        if (problem == PROBLEM_NONE)
            problem = share_end(call, &row, &standing);
    }
    return problem;
}

/* ---- showing */

json_t *share_json(struct call *call, const struct teacher_row *teacher,
                   const struct teacher_client_row *standing)
{
    struct ledger_account share;
    struct teacher_prices one;
    if (standing->share[0] == '\0')
        return json_null();
    if (ledger_find(call->db, standing->share, &share) != DB_OK ||
        teacher_answer_prices(call->db, teacher, &one) != DB_OK)
        return NULL;
    const struct filter_price left = teacher_account_left(&share);
    return json_pack("{s:s, s:o, s:o, s:I}", "account", share.id, "limit",
                     budget_amount(share.epsilon, share.delta), "remaining",
                     budget_remaining(&share), "answers",
                     (json_int_t)price_fits(&left, &one.of[PAYER_TEACHER]));
}
