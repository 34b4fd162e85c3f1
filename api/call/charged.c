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

/* Writes an item behind the SIZE bytes at OUT, which has room for it. Returns the new size. Each
 * query writes two, so they are put together without printf. */
static size_t charged_put_item(char *out, size_t size, const char *account, struct budget_sum sum)
{
    if (size > 0)
        size = charged_put_text(out, size, ", ");
    size = charged_put_text(out, size, account);
    size = charged_put_text(out, size, ";epsilon=");
    size = charged_put_number(out, size, sum.epsilon);
    size = charged_put_text(out, size, ";delta=");
    size = charged_put_number(out, size, sum.delta);
    out[size] = '\0';
    return size;
}

void charged_show_one(struct call *call, const char *account, struct budget_sum price,
                      struct budget_sum remaining)
{
    char item[ITEM_SIZE];
    charged_put_item(item, 0, account, price);
    reply_header_text(call->reply, CHARGED_PRICE, item);
    charged_put_item(item, 0, account, remaining);
    reply_header_text(call->reply, CHARGED_REMAINING, item);
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
        bool seen = strcmp(account->client, call->caller.id) == 0 ||
                    strcmp(account->owner, call->caller.id) == 0;
        if (!seen || price_size + ITEM_SIZE > sizeof price ||
            remaining_size + ITEM_SIZE > sizeof remaining)
            continue;
        price_size = charged_put_item(price, price_size, account->id,
                                      price_of_part(&outcome->parts[i], held));
        remaining_size =
            charged_put_item(remaining, remaining_size, account->id, budget_remaining_sum(account));
    }
    if (price_size == 0)
        return;
    reply_header_text(call->reply, CHARGED_PRICE, price);
    reply_header_text(call->reply, CHARGED_REMAINING, remaining);
}
