/* Reads the budget of a dataset, and opens its account. */
#include "api/data/dataset_budget.h"

#include <stdio.h>
#include <string.h>

#include "algos/privacy/answers/filter.h"
#include "api/call/fields.h"
#include "storage/ledger/ledger.h"

#define EPSILON_MAX     1e6
#define ORDER_MAX       1e6
#define DELTA_SHARE     0.05
#define DELTA_SHARE_MAX 0.9
#define POINTER_BYTES   64

static const char *const accountings[] = {"basic", "renyi", NULL};

/* The members of a budget that say how it adds up. */
struct accounting {
    int kind; /* of accountings */
    double order, delta_share;
};

/* Reports that MEMBER of the object at POINTER is wrong. */
static void budget_invalid(struct call *call, const char *pointer, const char *member,
                           const char *detail)
{
    char whole[POINTER_BYTES];
    snprintf(whole, sizeof whole, "%s/%s", pointer, member);
    call_invalid(call, whole, "%s", detail);
}

static void limit_basic(struct call *call, const struct accounting *how, struct dataset_budget *out)
{
    const char *meaningless = "has a meaning only with accounting \"renyi\"";
    if (how->order > 0)
        call_invalid(call, "/budget/order", "%s", meaningless);
    if (how->delta_share > 0)
        call_invalid(call, "/budget/delta_share", "%s", meaningless);
    if (!ledger_units_down(out->epsilon, &out->limit_units) || out->limit_units < 1)
        call_invalid(call, "/budget/epsilon", "is below 1e-9, the least that is counted");
    if (out->delta >= 1 || !ledger_delta_down(out->delta, &out->limit_delta) ||
        out->limit_delta < 1)
        call_invalid(call, "/budget/delta", "must be below 1 and at least 1e-18");
}

static void limit_renyi(struct call *call, const char *pointer, const struct accounting *how,
                        struct dataset_budget *out)
{
    struct filter filter;
    double share = how->delta_share;
    if (share == 0)
        share = DELTA_SHARE;
    if (out->delta >= 1) {
        budget_invalid(call, pointer, "delta", "must be below 1");
        return;
    }
    out->order = how->order;
    if (out->order == 0)
        out->order = filter_plan_order(out->epsilon, out->delta * (1 - share));
    if (out->order <= 1) {
        budget_invalid(call, pointer, "order", "must be above 1");
    } else if (!filter_open_shared(&filter, out->order, out->epsilon, out->delta, share) ||
               filter.limit_units < 1) {
        call_invalid(call, pointer,
                     "can pay nothing at order %.6g: more epsilon or delta, or another order, may "
                     "help",
                     out->order);
    } else {
        out->limit_units = filter.limit_units;
        out->limit_delta = filter.limit_delta;
    }
}

void dataset_budget_read(struct call *call, const json_t *object, struct dataset_budget *out)
{
    struct accounting how = {0};
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, EPSILON_MAX),
        field_positive("delta", &out->delta, 1),
        field_optional(field_choice("accounting", &how.kind, accountings)),
        field_optional(field_positive("order", &how.order, ORDER_MAX)),
        field_optional(field_positive("delta_share", &how.delta_share, DELTA_SHARE_MAX)),
    };
    *out = (struct dataset_budget){0};
    if (!fields_read(call, object, "/budget", fields, sizeof fields / sizeof *fields))
        return;
    if (how.kind == 0)
        limit_basic(call, &how, out);
    else
        limit_renyi(call, "/budget", &how, out);
}

void dataset_budget_read_renyi(struct call *call, const json_t *object, struct dataset_budget *out)
{
    struct accounting how = {0};
    const struct field fields[] = {
        field_optional(field_positive("order", &how.order, ORDER_MAX)),
        field_optional(field_positive("delta_share", &how.delta_share, DELTA_SHARE_MAX)),
    };
    if (fields_read(call, object, "", fields, sizeof fields / sizeof *fields))
        limit_renyi(call, "", &how, out);
}

enum problem dataset_budget_open(struct call *call, const struct dataset_budget *budget,
                                 const char *resource, struct dataset_row *row)
{
    const struct ledger_opening opening = {.kind = LEDGER_DATASET,
                                           .resource = resource,
                                           .owner = row->owner,
                                           .unit = "expert",
                                           .renyi_order = budget->order,
                                           .epsilon = budget->epsilon,
                                           .delta = budget->delta,
                                           .limit_units = budget->limit_units,
                                           .limit_delta = budget->limit_delta,
                                           .event = "{\"type\":\"NoOpDpEvent\"}",
                                           .now_ms = call->now_ms};
    struct ledger_account account;
    enum db_status status = ledger_open_account(call->db, &opening, &account);
    if (status != DB_OK)
        return call_db(call, status);
    memcpy(row->account, account.id, ID_SIZE);
    return PROBLEM_NONE;
}
