/* Price and remainder in headers. */
#include "api/call/charged.h"

#include <math.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/call/call.h"
#include "api/call/reply.h"
#include "api/json/json_text.h"

#define ITEM_SIZE (ID_SIZE + 96) /* two numbers of at most 31 bytes, and names */

static size_t charged_put_text(char *out, size_t size, const char *text)
{
    size_t length = strlen(text);
    memcpy(out + size, text, length);
    return size + length;
}

static size_t charged_put_number(char *out, size_t size, double value)
{
    if (!isfinite(value)) /* no account has such a price */
        return charged_put_text(out, size, "inf");
    return size + json_text_number(value, out + size);
}

/* Writes an item behind the SIZE bytes at OUT, which has room for it. Returns the new size. ACCOUNT
 * "" is the caller's own. */
static size_t charged_put_item(char *out, size_t size, const char *account, struct budget_sum sum)
{
    if (size > 0)
        size = charged_put_text(out, size, ", ");
    size = charged_put_text(out, size, account);
    size = charged_put_text(out, size, *account != '\0' ? ";epsilon=" : "epsilon=");
    size = charged_put_number(out, size, sum.epsilon);
    size = charged_put_text(out, size, ";delta=");
    size = charged_put_number(out, size, sum.delta);
    out[size] = '\0';
    return size;
}

/* What PART has paid, its account being as it is afterwards. */
static struct budget_sum price_of_part(const struct ledger_part *part, bool held)
{
    struct ledger_account before = part->account;
    if (held)
        before.held_units -= part->requested_units;
    else
        before.spent_units -= part->requested_units;
    return budget_added_sum(&before, part->requested_units, part->requested_delta);
}

void charged_show(struct call *call, const struct ledger_outcome *outcome, bool held)
{
    char price[API_HEADER_SIZE], remaining[API_HEADER_SIZE];
    size_t price_size = 0, remaining_size = 0;
    for (unsigned i = 0; i < outcome->count; i++) {
        const struct ledger_account *account = &outcome->parts[i].account;
        bool own = strcmp(account->client, call->caller.id) == 0;
        const char *name = own ? "" : account->id;
        bool seen = own || call_owns(call, account->owner);
        if (!seen || price_size + ITEM_SIZE > sizeof price ||
            remaining_size + ITEM_SIZE > sizeof remaining)
            continue;
        price_size =
            charged_put_item(price, price_size, name, price_of_part(&outcome->parts[i], held));
        remaining_size =
            charged_put_item(remaining, remaining_size, name, budget_remaining_sum(account));
    }
    if (price_size == 0)
        return;
    reply_header_text(call->reply, CHARGED_PRICE, price);
    reply_header_text(call->reply, CHARGED_REMAINING, remaining);
}

/* ---- from the body */

static const char epsilon_name[] = "{\"epsilon\":", delta_name[] = ",\"delta\":";

/* Copies the number at AT into OUT, which ends at END. Returns where it stops; NULL: no room. */
static const char *copy_number(const char *at, char **out, const char *end)
{
    while (*at != ',' && *at != '}' && *at != '\0') {
        if (*out >= end)
            return NULL;
        *(*out)++ = *at++;
    }
    return at;
}

/* Writes the item of the amount at AT into OUT. False: it is no amount. */
static bool copy_amount(const char *at, char out[ITEM_SIZE])
{
    const char *end = out + ITEM_SIZE - sizeof ";delta=";
    if (strncmp(at, epsilon_name, sizeof epsilon_name - 1) != 0)
        return false;
    memcpy(out, "epsilon=", 8);
    out += 8;
    at = copy_number(at + sizeof epsilon_name - 1, &out, end);
    if (!at || strncmp(at, delta_name, sizeof delta_name - 1) != 0)
        return false;
    memcpy(out, ";delta=", 7);
    out += 7;
    at = copy_number(at + sizeof delta_name - 1, &out, end);
    *out = '\0';
    return at != NULL;
}

void charged_show_amounts(struct call *call, const char *cost, const char *remaining)
{
    char price[ITEM_SIZE], left[ITEM_SIZE];
    if (!copy_amount(cost, price) || !copy_amount(remaining, left) ||
        strcmp(price, "epsilon=0;delta=0") == 0)
        return;
    reply_header_text(call->reply, CHARGED_PRICE, price);
    reply_header_text(call->reply, CHARGED_REMAINING, left);
    call->charged_by_body = true;
}

void charged_show_stored(struct call *call, const char *body)
{
    static const char cost_name[] = "\"cost\":", remaining_name[] = "\"remaining\":";
    const char *cost = strstr(body, cost_name), *remaining = strstr(body, remaining_name);
    if (cost && remaining)
        charged_show_amounts(call, cost + sizeof cost_name - 1,
                             remaining + sizeof remaining_name - 1);
}
