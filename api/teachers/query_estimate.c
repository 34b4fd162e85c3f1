/* POST /v1/teachers/{id}/queries:estimate: the cost and the expected error of answers. Expected
 * errors are computed at two public policies; the teacher's own distribution is not read. */
#include <math.h>

#include "algos/privacy/answers/dirichlet_paper.h"
#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/json/json_text.h"
#include "api/teachers/answer_estimate.h"
#include "api/teachers/queries.h"
#include "api/teachers/query.h"
#include "api/teachers/teachers.h"
#include "storage/policies.h"

#define ESTIMATE_COUNT_MAX 1000000000

static const char *const accountings[] = {"paper", NULL};

/* The request for an estimate. */
struct estimate_wish {
    int64_t count;
    json_t *outside; /* warnings of the states that stand in place of a count; NULL: none do */
    int paper;       /* index of the accounting; -1: not asked for */
    json_t *budget;  /* NULL: the client's own */
    double epsilon, delta;
};

/* ---- what to expect */

static json_t *expected_error_json(const struct teacher *teacher, double concentration)
{
    double uniform[TEACHER_MAX_ACTIONS], peaked[TEACHER_MAX_ACTIONS];
    answer_error_uniform(teacher->actions, uniform);
    answer_error_peaked(teacher->actions, peaked);
    struct answer_error at_uniform = teacher_answer_error(teacher, concentration, uniform);
    struct answer_error at_peaked = teacher_answer_error(teacher, concentration, peaked);
    return answer_error_json(&at_uniform, &at_peaked);
}

/* The Gaussian noise with the same price per answer, and its error; null when no sigma has that
 * price. */
static json_t *alternative_json(const struct shelved_teacher *teacher,
                                const struct filter_price *price)
{
    struct teacher other;
    if (!teacher_gaussian_for(&teacher->teacher, teacher->row.renyi_order, teacher->row.delta_share,
                              price, &other))
        return json_null();
    return json_pack("{s:{s:s, s:o, s:o}, s:o}", "mechanism", "name", other.mechanism->name,
                     "sigma", json_number(other.gaussian.sigma), "temperature",
                     json_number(other.temperature), "expected_error",
                     expected_error_json(&other, 0));
}

/* Compares both mechanisms for a number of answers from a budget, about the teacher's policy. */
static json_t *comparison_json(const struct shelved_teacher *teacher,
                               const struct estimate_wish *wish)
{
    uint32_t actions = teacher->teacher.actions;
    struct answer_purpose purpose = {.actions = actions,
                                     .change = teacher_change(&teacher->teacher),
                                     .min_probability = teacher->row.min_probability,
                                     .answers = (double)wish->count,
                                     .epsilon = wish->epsilon,
                                     .delta = wish->delta};
    if (!(purpose.min_probability > 0)) /* a Gaussian teacher has none */
        purpose.min_probability = fmin(0.1, 0.5 / actions);
    return answer_estimate_json(&purpose);
}

/* The published formula's epsilon for a Dirichlet teacher's answers (null where the formula gives
 * none), marked as no guarantee. */
static json_t *paper_json(const struct query *query, const struct estimate_wish *wish)
{
    struct dirichlet mechanism = query->teacher->teacher.dirichlet;
    mechanism.concentration = query->concentration;
    double epsilon = dirichlet_paper_total(&mechanism, (double)wish->count, wish->delta);
    return json_pack("{s:o, s:o, s:b}", "epsilon", json_number(epsilon), "delta",
                     json_number(wish->delta), "guarantee", 0);
}

static json_t *estimate_json(const struct query *query, const struct estimate_wish *wish,
                             bool feasible)
{
    const struct shelved_teacher *teacher = query->teacher;
    const struct teacher_row *row = &teacher->row;
    const struct filter_price *cost = &query->cost.of[PAYER_CLIENT];
    const struct filter_price each = {cost->units / wish->count, cost->delta_units / wish->count};
    double used = ledger_delta_value(cost->delta_units);
    if (row->renyi_order > 0)
        used = wish->delta;
    double epsilon = filter_epsilon(row->renyi_order, cost->units, wish->delta);
    json_t *reply =
        json_pack("{s:b, s:o}", "feasible", (int)feasible, "cost", budget_amount(epsilon, used));
    if (query->concentration > 0)
        json_object_set_new(reply, "concentration", json_number(query->concentration));
    int64_t buys = teacher_answers_in(row->renyi_order, wish->epsilon, wish->delta, &each);
    json_object_set_new(reply, "queries_in_budget", json_integer(buys));
    json_object_set_new(reply, "expected_error",
                        expected_error_json(&teacher->teacher, query->concentration));
    if (teacher->teacher.mechanism == &teacher_dirichlet)
        json_object_set_new(reply, "alternative", alternative_json(teacher, &each));
    json_object_set_new(reply, "comparison", comparison_json(teacher, wish));
    if (wish->paper >= 0)
        json_object_set_new(reply, "paper", paper_json(query, wish));
    if (wish->outside)
        json_object_set(reply, "warnings", wish->outside);
    return reply;
}

/* ---- the request */

static bool estimate_read_budget(struct call *call, struct estimate_wish *wish)
{
    const struct field fields[] = {
        field_positive("epsilon", &wish->epsilon, 1e6),
        field_positive("delta", &wish->delta, 0.5),
    };
    return fields_read(call, wish->budget, "/budget", fields, 2);
}

/* Reads the states that are to be asked, and notes what of them is outside of the description. The
 * answer itself cannot say that: it would then show which of two neighbouring states was asked. */
static enum problem estimate_read_states(struct query *query, const json_t *states,
                                         struct estimate_wish *out)
{
    struct call *call = query->call;
    struct policy_row policy;
    if (!query_read_states(query, states))
        return PROBLEM_VALIDATION;
    out->count = query->count;
    enum db_status status = policies_find(call->db, query->teacher->row.policy, &policy);
    if (status != DB_OK)
        return call_db(call, db_owed(status));
    enum problem problem =
        dataset_states_warnings(call, policy.dataset, query->states, query->count, &out->outside);
    call_own(call, out->outside);
    return problem;
}

static enum problem estimate_read_wish(struct query *query, struct estimate_wish *out)
{
    struct call *call = query->call;
    json_t *states = NULL;
    *out = (struct estimate_wish){.paper = -1};
    const struct field fields[] = {
        field_optional(field_integer("count", &out->count, 1, ESTIMATE_COUNT_MAX)),
        field_optional(field_any("states", &states)),
        field_optional(field_positive("concentration", &query->wished_concentration, 1e12)),
        field_optional(field_choice("accounting", &out->paper, accountings)),
        field_optional(field_object("budget", &out->budget)),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]))
        return PROBLEM_VALIDATION;
    if (out->paper >= 0 && query->teacher->teacher.mechanism != &teacher_dirichlet)
        return call_invalid(call, "/accounting", "is known of dirichlet teachers alone");
    if (!states == (out->count == 0))
        return call_invalid(call, "", "must have either count or states");
    enum problem problem = PROBLEM_NONE;
    if (states)
        problem = estimate_read_states(query, states, out);
    if (problem != PROBLEM_NONE)
        return problem;
    query->count = (uint32_t)out->count;
    return query_set_price(query);
}

/* Finds out whether the dataset's account can now pay for all the answers. */
static enum db_status dataset_can_pay(const struct query *query, bool *out)
{
    struct ledger_account account;
    struct filter_price first = {0, 0};
    enum db_status status = ledger_find(query->call->db, query->dataset_account, &account);
    if (status == DB_OK && account.renyi_order == 0)
        status = teacher_first_price(query->call->db, &query->teacher->row, &first);
    if (status != DB_OK)
        return status;
    const struct filter_price *cost = &query->cost.of[PAYER_DATASET];
    const struct filter_price left = teacher_account_left(&account);
    *out = cost->units <= left.units - first.units &&
           cost->delta_units <= left.delta_units - first.delta_units;
    return DB_OK;
}

enum problem api_queries_estimate(struct call *call)
{
    struct query *query = NULL;
    struct estimate_wish wish;
    enum problem problem = query_start(call, &query);
    if (problem != PROBLEM_NONE || (problem = estimate_read_wish(query, &wish)) != PROBLEM_NONE)
        return problem;
    const struct teacher_row *row = &query->teacher->row;
    struct ledger_account cap;
    enum db_status status = ledger_find(call->db, row->account, &cap);
    if (status != DB_OK)
        return call_db(call, status);
    wish.epsilon = cap.epsilon;
    wish.delta = cap.delta;
    if (row->has_client_budget) {
        wish.epsilon = row->client_epsilon;
        wish.delta = row->client_delta;
    }
    if (wish.budget && !estimate_read_budget(call, &wish))
        return PROBLEM_VALIDATION;
    struct filter fresh, all = {.limit_units = cap.limit_units, .limit_delta = cap.limit_delta};
    bool dataset_pays = true;
    if (query->dataset_account[0] != '\0')
        status = dataset_can_pay(query, &dataset_pays);
    if (status != DB_OK)
        return call_db(call, status);
    bool feasible = teacher_account(row, wish.epsilon, wish.delta, &fresh) &&
                    filter_spend(&fresh, &query->cost.of[PAYER_CLIENT]) &&
                    filter_spend(&all, &query->cost.of[PAYER_TEACHER]) && dataset_pays;
    return call_reply_json(call, 200, estimate_json(query, &wish, feasible));
}
