/* The price of a Renyi account is computed from the very event that the ledger's entry keeps, so an
 * auditor can compute it again. */
#include "api/call/budget_price.h"

#include <stddef.h>

#include "algos/privacy/accounting/accountant_renyi.h"
#include "algos/privacy/accounting/event.h"
#include "api/json/json_text.h"
#include "api/wire/event_json.h"

static void ignore_fault(void *context, const char *pointer, const char *detail)
{
    (void)context;
    (void)pointer;
    (void)detail;
}

bool budget_event_read(const char *event, struct composition *out)
{
    const struct event_json_faults faults = {ignore_fault, NULL};
    struct event tree = {.kind = EVENT_NO_OP};
    json_t *json = json_text_stored(event);
    bool good = json && event_json_read(json, "", &faults, &tree);
    if (good) {
        enum event_status status = event_flatten(&tree, out, NULL);
        good = status == EVENT_OK || status == EVENT_EMPTY;
    }
    event_clear(&tree);
    json_decref(json);
    return good;
}

static bool price_renyi(double order, const char *event, struct ledger_price *out)
{
    struct composition composition = {0};
    struct renyi_price price = {0};
    bool good = budget_event_read(event, &composition);
    if (good && composition.count > 0)
        good = accountant_renyi_price(&composition, order, &price);
    composition_clear(&composition);
    return good && ledger_units_up(price.divergence, &out->units) &&
           ledger_delta_up(price.delta, &out->delta_units);
}

bool budget_plan_price(const struct ledger_account *account, const struct budget_plan *plan,
                       struct ledger_price *out)
{
    *out = (struct ledger_price){.account = account->id};
    if (account->renyi_order > 1)
        return price_renyi(account->renyi_order, plan->event, out);
    return ledger_units_up(plan->epsilon, &out->units) &&
           ledger_delta_up(plan->delta, &out->delta_units);
}
