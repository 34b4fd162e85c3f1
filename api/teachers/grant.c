/* Limits of clients at teachers. */
#include "api/teachers/grant.h"

#include <stdlib.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/call/refusal.h"
#include "api/json/json_text.h"
#include "api/teachers/teachers.h"
#include "storage/clients.h"

/* Says with which limit TEACHER could be asked once. */
static void say_least(struct call *call, const struct teacher_row *teacher, double delta)
{
    struct teacher_prices prices;
    if (teacher_answer_prices(call->db, teacher, &prices) != DB_OK)
        return; /* the fault is told all the same */
    const struct filter_price price = prices.of[PAYER_CLIENT];
    struct budget_sum least =
        budget_least(teacher->renyi_order, price.units, price.delta_units, delta);
    refusal_least(call, least.epsilon, least.delta);
}

static bool check_guarantee(struct call *call, const struct teacher_row *teacher,
                            struct grant *grant)
{
    struct teacher_prices one;
    enum db_status status = teacher_answer_prices(call->db, teacher, &one);
    if (status != DB_OK) {
        call_db(call, status);
        return false;
    }
    return share_measure(call, teacher, &one, grant->epsilon, grant->delta, &grant->guaranteed,
                         "/guaranteed", &grant->size);
}

bool grant_check(struct call *call, const struct teacher_row *teacher, struct grant *grant)
{
    if (grant->delta >= 1) {
        call_invalid(call, "/delta", "must be below 1");
        return false;
    }
    if (!teacher_account(teacher, grant->epsilon, grant->delta, &grant->limits)) {
        call_invalid(call, "/epsilon",
                     "is too small at this delta: at the teacher's order %g it could not pay for "
                     "any question",
                     teacher->renyi_order);
        say_least(call, teacher, grant->delta);
        return false;
    }
    if (grant->limits.limit_delta < teacher->delta_share) {
        call_invalid(call, "/delta", "must be at least %g, which each answer spends",
                     ledger_delta_value(teacher->delta_share));
        say_least(call, teacher, grant->delta);
        return false;
    }
    return !share_wished(&grant->guaranteed) || check_guarantee(call, teacher, grant);
}

enum db_status grant_default(struct call *call, const struct teacher_row *teacher,
                             struct grant *grant)
{
    return teachers_guarantee(call->db, teacher->id, &grant->guaranteed);
}

const char *grant_event(struct call *call, const char *reason, const char *request)
{
    size_t size;
    json_t *json = json_pack("{s:s}", "type", "NoOpDpEvent");
    if (reason)
        json_object_set_new(json, "reason", json_string(reason));
    if (request)
        json_object_set_new(json, "request", json_string(request));
    char *text = json_text_write(json, false, &size), *event = arena_copy(&call->arena, text, size);
    json_decref(json);
    free(text);
    return event;
}

enum problem grant_open(struct call *call, const struct teacher_row *teacher, const char *client,
                        const struct grant *grant, struct ledger_account *out)
{
    const struct ledger_opening opening = {.kind = LEDGER_CLIENT,
                                           .resource = teacher->id,
                                           .client = client,
                                           .owner = teacher->owner,
                                           .unit = teacher->adjacency,
                                           .renyi_order = teacher->renyi_order,
                                           .epsilon = grant->epsilon,
                                           .delta = grant->delta,
                                           .limit_units = grant->limits.limit_units,
                                           .limit_delta = grant->limits.limit_delta,
                                           .event = grant->event,
                                           .now_ms = call->now_ms};
    struct teacher_client_row standing;
    enum db_status status = ledger_open_account(call->db, &opening, out);
    if (status == DB_OK)
        status = teachers_client_insert(call->db, teacher->id, client, out->id, call->now_ms);
    if (status == DB_OK && share_wished(&grant->guaranteed))
        status = teachers_client_find(call->db, teacher->id, client, &standing);
    /* This transaction has looked for both rows before, so neither can exist. */
    if (status != DB_OK)
        return call_db(call, db_owed(status));
    if (!share_wished(&grant->guaranteed))
        return PROBLEM_NONE;
    return share_give(call, teacher, &standing, &grant->size);
}

enum problem grant_change(struct call *call, const struct teacher_row *teacher,
                          struct teacher_client_row *standing, const struct grant *grant,
                          struct ledger_account *out)
{
    const struct ledger_limit limit = {.account = standing->account,
                                       .epsilon = grant->epsilon,
                                       .delta = grant->delta,
                                       .limit_units = grant->limits.limit_units,
                                       .limit_delta = grant->limits.limit_delta,
                                       .client = call->caller.id,
                                       .event = grant->event,
                                       .now_ms = call->now_ms};
    struct ledger_outcome outcome = {.verdict = LEDGER_OK};
    enum db_status status = db_owed(ledger_set_limit(call->db, &limit, &outcome.verdict, out));
    if (status != DB_OK)
        return call_db(call, status);
    if (outcome.verdict != LEDGER_OK)
        return refusal_make(call, &outcome, NULL);
    if (!share_wished(&grant->guaranteed))
        return PROBLEM_NONE;
    return share_give(call, teacher, standing, &grant->size);
}

enum problem grant_find_client(struct call *call, const char *id)
{
    struct client_row client;
    enum db_status status = clients_find(call->db, id, &client);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (status == DB_NONE || client.revoked_ms != 0 ||
        !(role_find(client.role) & (ROLE_STUDENT | ROLE_STEWARD)))
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such student.%s",
                            strncmp(id, "cli_", 4) == 0
                                ? ""
                                : " A student is named by its id (cli_...), which GET "
                                  "/v1/clients/me tells it.");
    return PROBLEM_NONE;
}
