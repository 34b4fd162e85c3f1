/* One block of memory, wiped as a whole.
 *
 * DESIGN. The batch trusts nothing here but the numbers: it finds the teacher, the caller and the
 * states anew and takes the numbers only where teacher and states are the same, byte by byte. Where
 * they are not, or nothing was computed, it computes them itself: the bits are the same. */
#include "api/teachers/query_ahead.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/teachers/teachers.h"

struct api_ahead {
    char teacher[ID_SIZE];
    const struct shelved_teacher *by; /* borrowed by the call that computes; NULL after it */
    uint32_t count;
    size_t state_bytes, size; /* of the states; of the whole block */
    double numbers[];         /* count x actions, then the states */
};

void api_ahead_free(struct api_ahead *ahead)
{
    if (ahead) {
        sodium_memzero(ahead, ahead->size);
        free(ahead);
    }
}

/* Whether the account ID, if there is one, could pay. */
static bool has_left(struct call *call, const char *id, const struct filter_price *cost)
{
    struct ledger_account account;
    return id[0] == '\0' || ledger_find(call->db, id, &account) != DB_OK ||
           (cost->units <= account.limit_units - account.spent_units - account.held_units &&
            cost->delta_units <= account.limit_delta - account.spent_delta - account.held_delta);
}

/* Whether the question will be paid for, as far as one can see now: an account that it opens has
 * enough. */
static bool may_pay(struct query *query)
{
    struct call *call = query->call;
    const struct teacher_row *row = &query->teacher->row;
    bool known =
        teachers_client_find(call->db, row->id, call->caller.id, &query->standing) == DB_OK;
    return query_set_price(query) == PROBLEM_NONE && !query->floor &&
           has_left(call, known ? query->standing.account : "", &query->cost) &&
           has_left(call, row->account, &query->cost) &&
           has_left(call, row->dataset_account, &query->cost);
}

enum problem query_plan_ahead(struct query *query)
{
    const struct shelved_teacher *t = query->teacher;
    size_t count = query->count, states = count * t->state_dim * sizeof(float),
           numbers = count * t->teacher.actions;
    if (!t->ensemble || !may_pay(query))
        return PROBLEM_NONE;
    size_t size = sizeof(struct api_ahead) + numbers * sizeof(double) + states;
    struct api_ahead *ahead = malloc(size);
    if (!ahead)
        return PROBLEM_NONE;
    memset(ahead, 0, sizeof *ahead);
    memcpy(ahead->teacher, t->row.id, sizeof ahead->teacher);
    ahead->by = t;
    ahead->count = query->count;
    ahead->state_bytes = states;
    ahead->size = size;
    memcpy(ahead->numbers + numbers, query->states, states);
    query->call->ahead = ahead;
    return PROBLEM_NONE;
}

void query_run_ahead(struct call *call)
{
    struct api_ahead *ahead = call->ahead;
    assert(!db_in_transaction(call->db));
    if (!ahead)
        return;
    const struct shelved_teacher *t = ahead->by;
    const double *end = ahead->numbers + (size_t)ahead->count * t->teacher.actions;
    ahead->by = NULL;
    if (!teacher_shelf_distributions(t, (const float *)(const void *)end, ahead->count,
                                     ahead->numbers)) {
        api_ahead_free(ahead);
        call->ahead = NULL;
    }
}

const double *query_ahead_of(const struct query *query)
{
    const struct api_ahead *ahead = query->call->request->ahead;
    const struct shelved_teacher *t = query->teacher;
    size_t states = (size_t)query->count * t->state_dim * sizeof(float);
    if (!ahead || ahead->count != query->count || ahead->state_bytes != states ||
        strcmp(ahead->teacher, t->row.id) != 0)
        return NULL;
    const double *end = ahead->numbers + (size_t)query->count * t->teacher.actions;
    return memcmp(end, query->states, states) == 0 ? ahead->numbers : NULL;
}
