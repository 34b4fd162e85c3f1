/* Writes a teacher's answer as JSON. Names and order of the members are part of the API contract.
 * The costs are those of the client's own account. */
#include "api/call/budget.h"
#include "api/json/json_text.h"
#include "api/teachers/query.h"

/* These texts are short because every answer is stored. The teacher's view has them as sentences.
 */
const char *query_reply_protects(const struct query_answer *answer)
{
    if (answer->expert)
        return "expert";
    return "observation";
}

const char *query_reply_exposes(const struct query_answer *answer)
{
    if (answer->expert)
        return "observations asked; what many experts share";
    return "training data";
}

const char *query_reply_setting(const struct query_answer *answer, double *level)
{
    *level = answer->concentration;
    if (answer->sigma <= 0)
        return "concentration";
    *level = answer->sigma;
    return "sigma";
}

static json_t *probabilities_json(const struct query_answer *answer)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < answer->count; i++) {
        json_t *one = json_array();
        for (uint32_t a = 0; a < answer->actions; a++) {
            double p = answer->probabilities[(size_t)i * answer->actions + a];
            json_array_append_new(one, json_number(p));
        }
        if (!answer->batch) {
            json_decref(all);
            return one;
        }
        json_array_append_new(all, one);
    }
    return all;
}

static json_t *answer_cost_json(const struct query_answer *answer)
{
    const struct ledger_account *account = answer->account;
    int64_t before = account->spent_units - answer->cost.units;
    double epsilon = budget_epsilon_added(account, before, answer->cost.units);
    if (account->renyi_order == 0)
        return budget_amount(epsilon, ledger_delta_value(answer->cost.delta_units));
    double delta = 0;
    if (before <= 0 && !answer->floor) /* the conversion to epsilon uses delta once */
        delta = account->delta;
    json_t *cost = budget_amount(epsilon, delta);
    json_object_set_new(cost, "divergence", json_number(ledger_units_value(answer->cost.units)));
    json_object_set_new(cost, "order", json_number(account->renyi_order));
    return cost;
}

json_t *query_reply_json(const struct query_answer *answer)
{
    double level;
    const char *setting = query_reply_setting(answer, &level);
    json_t *json =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "query", answer->id, "probabilities",
                  probabilities_json(answer), setting, json_number(level), "error_radius",
                  json_number(answer->error_radius), "cost", answer_cost_json(answer), "spent",
                  budget_spent(answer->account), "remaining", budget_remaining(answer->account));
    if (answer->floor)
        json_object_set_new(json, "at_floor", json_string("uniform"));
    json_object_set_new(json, "protects", json_string(query_reply_protects(answer)));
    json_object_set_new(json, "does_not_protect", json_string(query_reply_exposes(answer)));
    return json;
}
