/* The text of an answer. Names and order are part of the contract; costs are the client's. */
#include "api/teachers/query_reply.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger.h"

#define NUMBER_ROOM 28  /* of a number and its comma or bracket */
#define FIXED_ROOM  800 /* of everything else: at most 322 of text and ten numbers of 25 */

/* Short, because every answer is stored; the teacher says the same in sentences. */
const char *query_reply_protects(const struct query_answer *answer)
{
    return answer->expert ? "expert" : "observation";
}

const char *query_reply_exposes(const struct query_answer *answer)
{
    return answer->expert ? "observations asked; what many experts share" : "training data";
}

struct text {
    char *start, *at, *end;
};

static inline __attribute__((always_inline)) void put_bytes(struct text *text, const char *what,
                                                            size_t size)
{
    assert(size < (size_t)(text->end - text->at));
    memcpy(text->at, what, size);
    text->at += size;
}

/* Of literals the compiler knows the length. */
static inline __attribute__((always_inline)) void put(struct text *text, const char *what)
{
    put_bytes(text, what, strlen(what));
}

static void put_number(struct text *text, double value)
{
    assert(text->end - text->at >= 32);
    text->at += json_text_number(value, text->at);
}

static void put_amount(struct text *text, double epsilon, double delta)
{
    put(text, "{\"epsilon\":");
    put_number(text, epsilon);
    put(text, ",\"delta\":");
    put_number(text, delta);
}

static void put_probabilities(struct text *text, const struct query_answer *answer)
{
    put(text, answer->batch ? "[" : "");
    for (uint32_t i = 0; i < answer->count; i++) {
        put(text, i > 0 ? ",[" : "[");
        for (uint32_t a = 0; a < answer->actions; a++) {
            put(text, a > 0 ? "," : "");
            put_number(text, answer->probabilities[(size_t)i * answer->actions + a]);
        }
        put(text, "]");
    }
    put(text, answer->batch ? "]" : "");
}

static void put_costs(struct text *text, const struct query_answer *answer)
{
    const struct ledger_account *account = answer->account;
    int64_t spent = account->spent_units, before = spent - answer->cost.units;
    double total = budget_epsilon(account, spent), delta = account->delta;
    double cost = budget_epsilon_added(account, before, answer->cost.units);
    if (account->renyi_order > 0) {
        /* The conversion to epsilon uses delta once, for the first answer. */
        double once = before > 0 || answer->floor ? 0 : delta;
        double used = spent > 0 ? delta : 0;
        put(text, ",\"cost\":");
        put_amount(text, cost, once);
        put(text, ",\"divergence\":");
        put_number(text, ledger_units_value(answer->cost.units));
        put(text, ",\"order\":");
        put_number(text, account->renyi_order);
        put(text, "},\"spent\":");
        put_amount(text, total, used);
        put(text, "},\"remaining\":");
        put_amount(text, fmax(0, account->epsilon - total), delta);
    } else {
        put(text, ",\"cost\":");
        put_amount(text, cost, ledger_delta_value(answer->cost.delta_units));
        put(text, "},\"spent\":");
        put_amount(text, total, ledger_delta_value(account->spent_delta));
        put(text, "},\"remaining\":");
        put_amount(text, ledger_units_value(account->limit_units - spent - account->held_units),
                   ledger_delta_value(account->limit_delta - account->spent_delta));
    }
    put(text, "}");
}

void query_reply_settings(double concentration, double sigma, double error_radius,
                          char out[QUERY_SETTINGS_SIZE])
{
    struct text text = {out, out, out + QUERY_SETTINGS_SIZE};
    put(&text, sigma > 0 ? ",\"sigma\":" : ",\"concentration\":");
    put_number(&text, sigma > 0 ? sigma : concentration);
    put(&text, ",\"error_radius\":");
    put_number(&text, error_radius);
    *text.at = '\0';
}

static void put_settings(struct text *text, const struct query_answer *answer)
{
    char made[QUERY_SETTINGS_SIZE];
    if (!answer->settings)
        query_reply_settings(answer->concentration, answer->sigma, answer->error_radius, made);
    put(text, !answer->settings ? made : answer->settings);
}

char *query_reply_write(const struct query_answer *answer, size_t *out_size)
{
    size_t numbers = (size_t)answer->count * (answer->actions + 1);
    struct text text;
    text.start = text.at = malloc(numbers * NUMBER_ROOM + FIXED_ROOM);
    if (!text.start)
        return NULL;
    text.end = text.start + numbers * NUMBER_ROOM + FIXED_ROOM;
    put(&text, "{\"query\":\"");
    put(&text, answer->id);
    put(&text, "\",\"probabilities\":");
    put_probabilities(&text, answer);
    put_settings(&text, answer);
    put_costs(&text, answer);
    put(&text, answer->floor ? ",\"at_floor\":\"uniform\"" : "");
    put(&text, ",\"protects\":\"");
    put(&text, query_reply_protects(answer));
    put(&text, "\",\"does_not_protect\":\"");
    put(&text, query_reply_exposes(answer));
    put(&text, "\"}");
    *out_size = (size_t)(text.at - text.start);
    return text.start;
}
