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

struct text {
    char *start, *at, *end;
};

static inline __attribute__((always_inline)) void reply_bytes(struct text *text, const char *what,
                                                              size_t size)
{
    assert(size < (size_t)(text->end - text->at));
    memcpy(text->at, what, size);
    text->at += size;
}

/* Of literals the compiler knows the length. */
static inline __attribute__((always_inline)) void reply_text(struct text *text, const char *what)
{
    reply_bytes(text, what, strlen(what));
}

static void reply_number(struct text *text, double value)
{
    assert(text->end - text->at >= 32);
    text->at += json_text_number(value, text->at);
}

static void reply_amount(struct text *text, double epsilon, double delta)
{
    reply_text(text, "{\"epsilon\":");
    reply_number(text, epsilon);
    reply_text(text, ",\"delta\":");
    reply_number(text, delta);
}

static void reply_probabilities(struct text *text, const struct query_answer *answer)
{
    if (answer->batch)
        reply_text(text, "[");
    for (uint32_t i = 0; i < answer->count; i++) {
        if (i > 0)
            reply_text(text, ",");
        reply_text(text, "[");
        for (uint32_t a = 0; a < answer->actions; a++) {
            if (a > 0)
                reply_text(text, ",");
            reply_number(text, answer->probabilities[(size_t)i * answer->actions + a]);
        }
        reply_text(text, "]");
    }
    if (answer->batch)
        reply_text(text, "]");
}

static void reply_costs(struct text *text, const struct query_answer *answer)
{
    const struct ledger_account *account = answer->account;
    int64_t spent = account->spent_units, before = spent - answer->cost.units;
    double total = budget_epsilon(account, spent), delta = account->delta;
    double cost = budget_epsilon_added(account, before, answer->cost.units);
    if (account->renyi_order > 0) {
        /* The conversion to epsilon uses delta once, for the first answer. */
        bool first = before <= 0 && !answer->floor;
        double once = first * delta, used = (spent > 0) * delta;
        reply_text(text, ",\"cost\":");
        reply_amount(text, cost, once);
        reply_text(text, ",\"divergence\":");
        reply_number(text, ledger_units_value(answer->cost.units));
        reply_text(text, ",\"order\":");
        reply_number(text, account->renyi_order);
        reply_text(text, "},\"spent\":");
        reply_amount(text, total, used);
        reply_text(text, "},\"remaining\":");
        reply_amount(text, fmax(0, account->epsilon - total), delta);
    } else {
        reply_text(text, ",\"cost\":");
        reply_amount(text, cost, ledger_delta_value(answer->cost.delta_units));
        reply_text(text, "},\"spent\":");
        reply_amount(text, total, ledger_delta_value(account->spent_delta));
        reply_text(text, "},\"remaining\":");
        reply_amount(text, ledger_units_value(account->limit_units - spent - account->held_units),
                     ledger_delta_value(account->limit_delta - account->spent_delta));
    }
    reply_text(text, "}");
}

void query_reply_settings(double concentration, double sigma, double error_radius,
                          char out[QUERY_SETTINGS_SIZE])
{
    struct text text = {out, out, out + QUERY_SETTINGS_SIZE};
    if (sigma > 0) {
        reply_text(&text, ",\"sigma\":");
        reply_number(&text, sigma);
    } else {
        reply_text(&text, ",\"concentration\":");
        reply_number(&text, concentration);
    }
    reply_text(&text, ",\"error_radius\":");
    reply_number(&text, error_radius);
    *text.at = '\0';
}

static void reply_settings(struct text *text, const struct query_answer *answer)
{
    char made[QUERY_SETTINGS_SIZE];
    const char *settings = answer->settings;
    if (!settings) {
        query_reply_settings(answer->concentration, answer->sigma, answer->error_radius, made);
        settings = made;
    }
    reply_text(text, settings);
}

char *query_reply_write(const struct query_answer *answer, size_t *out_size)
{
    size_t numbers = (size_t)answer->count * (answer->actions + 1);
    struct text text;
    text.start = text.at = malloc(numbers * NUMBER_ROOM + FIXED_ROOM);
    if (!text.start)
        return NULL;
    text.end = text.start + numbers * NUMBER_ROOM + FIXED_ROOM;
    reply_text(&text, "{\"query\":\"");
    reply_text(&text, answer->id);
    reply_text(&text, "\",\"probabilities\":");
    reply_probabilities(&text, answer);
    reply_settings(&text, answer);
    reply_costs(&text, answer);
    if (answer->floor)
        reply_text(&text, ",\"at_floor\":\"uniform\"");
    reply_text(&text, ",\"protects\":\"");
    reply_text(&text, query_reply_protects(answer));
    reply_text(&text, "\",\"does_not_protect\":\"");
    reply_text(&text, query_reply_exposes(answer));
    reply_text(&text, "\"}");
    *out_size = (size_t)(text.at - text.start);
    return text.start;
}
