/* Writes a teacher's answer as JSON. Names and order of the members are part of the API contract.
 * The costs are those of the client's own account. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/call/charged.h"
#include "api/json/json_text.h"
#include "api/teachers/query.h"
#include "memory/buffer.h"

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
    if (answer->unresolved)
        return "training data; numbers of the observation above adjacency.resolved_up_to";
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

/* Adds ,"NAME": and VALUE; null when it is not finite. The answer is written as text because every
 * query writes one: a tree of JSON first would cost a sixteenth of a query. */
static void put_number(struct buffer *text, const char *before, double value)
{
    char number[32] = "null";
    size_t size = isfinite(value) ? json_text_number(value, number) : strlen(number);
    buffer_add_text(text, before);
    buffer_add(text, number, size);
}

/* BEFORE, and NAME up to its closing quote. */
static void put_name(struct buffer *text, const char *before, const char *name)
{
    buffer_add_text(text, before);
    buffer_add_text(text, name);
    buffer_add_text(text, "\"");
}

static void put_amount(struct buffer *text, const char *name, struct budget_sum sum)
{
    put_name(text, ",\"", name);
    buffer_add_text(text, ":{");
    put_number(text, "\"epsilon\":", sum.epsilon);
    put_number(text, ",\"delta\":", sum.delta);
    buffer_add_text(text, "}");
}

static void put_probabilities(struct buffer *text, const struct query_answer *answer)
{
    const double *p = answer->probabilities;
    for (uint32_t i = 0; i < answer->count; i++) {
        buffer_add_text(text, i > 0 ? ",[" : "[");
        for (uint32_t a = 0; a < answer->actions; a++)
            put_number(text, a > 0 ? "," : "", p[(size_t)i * answer->actions + a]);
        buffer_add_text(text, "]");
    }
}

static void put_cost(struct buffer *text, const struct query_answer *answer)
{
    const struct ledger_account *account = answer->account;
    int64_t before = account->spent_units - answer->cost.units;
    struct budget_sum sum = {
        .epsilon = budget_epsilon_added(account, before, answer->cost.units),
        .delta = ledger_delta_value(answer->cost.delta_units),
    };
    if (account->renyi_order == 0) {
        put_amount(text, "cost", sum);
        return;
    }
    sum.delta = 0;
    if (before <= 0 && answer->cost.units > 0) /* the conversion to epsilon uses delta once */
        sum.delta = account->delta;
    put_amount(text, "cost", sum);
    text->size--; /* the brace: two more members follow */
    put_number(text, ",\"divergence\":", ledger_units_value(answer->cost.units));
    put_number(text, ",\"order\":", account->renyi_order);
    buffer_add_text(text, "}");
}

char *query_reply_text(struct query_answer *answer, size_t *out_size)
{
    struct buffer text = {.lid = SIZE_MAX / 4};
    double level;
    const char *setting = query_reply_setting(answer, &level);
    buffer_reserve(&text, 1000);
    put_name(&text, "{\"query\":\"", answer->id);
    buffer_add_text(&text, answer->batch ? ",\"probabilities\":[" : ",\"probabilities\":");
    put_probabilities(&text, answer);
    put_name(&text, answer->batch ? "],\"" : ",\"", setting);
    put_number(&text, ":", level);
    put_number(&text, ",\"error_radius\":", answer->error_radius);
    answer->cost_at = text.size + strlen(",\"cost\":");
    put_cost(&text, answer);
    put_amount(&text, "spent", budget_spent_sum(answer->account));
    answer->remaining_at = text.size + strlen(",\"remaining\":");
    put_amount(&text, "remaining", budget_remaining_sum(answer->account));
    if (answer->floor)
        buffer_add_text(&text, ",\"at_floor\":\"uniform\"");
    if (answer->random)
        buffer_add_text(&text, ",\"random\":true");
    put_name(&text, ",\"protects\":\"", query_reply_protects(answer));
    put_name(&text, ",\"does_not_protect\":\"", query_reply_exposes(answer));
    buffer_add_text(&text, "}");
    return buffer_take(&text, out_size);
}

void query_reply_charge(struct call *call, const struct query_answer *answer, const char *text)
{
    if (answer->paid)
        charged_show(call, answer->paid, false);
    else
        charged_show_amounts(call, text + answer->cost_at, text + answer->remaining_at);
}
