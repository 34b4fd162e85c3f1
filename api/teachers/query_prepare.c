/* DESIGN. The handler takes only the numbers from here: it finds the teacher, the caller and the
 * states anew. When nothing was computed, it computes the same numbers itself. */
#include "api/teachers/query_prepare.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "api/teachers/query_pay.h"
#include "api/teachers/teachers.h"

struct query_plan {
    char teacher[ID_SIZE];
    uint32_t count;
    size_t size; /* bytes of NUMBERS */
    double *numbers;
};

static void wipe_plan(void *context)
{
    struct query_plan *plan = context;
    sodium_memzero(plan->numbers, plan->size);
}

/* True when account ID can pay COST, or there is no such account. */
static bool has_left(struct call *call, const char *id, const struct filter_price *cost)
{
    struct ledger_account account;
    if (id[0] == '\0' || ledger_find(call->db, id, &account) != DB_OK)
        return true;
    const struct filter_price left = teacher_account_left(&account);
    return cost->units <= left.units && cost->delta_units <= left.delta_units;
}

/* True when the accounts can pay for the question now. An account that the question would open is
 * taken to have enough. */
static bool may_pay(struct query *query)
{
    struct call *call = query->call;
    const struct teacher_row *row = &query->teacher->row;
    const char *standing = "";
    if (teachers_client_find(call->db, row->id, call->caller.id, &query->standing) == DB_OK)
        standing = query->standing.account;
    bool shared = false;
    if (query_set_price(query) != PROBLEM_NONE || query->floor ||
        !has_left(call, standing, &query->cost.of[PAYER_CLIENT]))
        return false;
    if (query_uses_share(query, &shared) == DB_OK && shared)
        return true;
    return has_left(call, row->account, &query->cost.of[PAYER_TEACHER]) &&
           has_left(call, query->dataset_account, &query->cost.of[PAYER_DATASET]);
}

enum problem query_prepare(struct query *query)
{
    struct call *call = query->call;
    const struct shelved_teacher *t = query->teacher;
    assert(!db_in_transaction(call->db));
    if (!t->ensemble || !may_pay(query))
        return PROBLEM_NONE;
    struct query_plan *plan = arena_array(&call->arena, 1, sizeof *plan);
    size_t size = (size_t)query->count * t->teacher.actions * sizeof(double);
    double *numbers = arena_alloc(&call->arena, size);
    *plan = (struct query_plan){.count = query->count, .size = size, .numbers = numbers};
    memcpy(plan->teacher, t->row.id, sizeof plan->teacher);
    call_defer(call, wipe_plan, plan);
    if (teacher_shelf_distributions(t, query->states, query->count, numbers))
        call->plan = plan;
    return PROBLEM_NONE;
}

const double *query_prepared(const struct query *query)
{
    const struct query_plan *plan = query->call->plan;
    if (!plan || plan->count != query->count || strcmp(plan->teacher, query->teacher->row.id) != 0)
        return NULL;
    return plan->numbers;
}
