/* What a job would leave of its dataset's budget, and a warning where the rest could buy nothing.
 *
 * DESIGN. Under basic composition an account has two purses, epsilon and delta, and every job pays
 * from both. The purse that is empty first strands what is in the other. A plan is warned of when
 * it empties one of them although the other would pay for more, and is told a delta for the same
 * epsilon that empties both at once. */
#include <math.h>
#include <stdlib.h>

#include "api/call/budget.h"
#include "api/call/budget_price.h"
#include "api/jobs/ask/job_plan.h"
#include "api/jobs/jobs.h"
#include "api/json/json_member.h"
#include "api/json/json_text.h"

/* X rounded down to three digits. */
static double round_down(double x)
{
    if (!(x > 0))
        return 0;
    double scale = pow(10, 2 - floor(log10(x)));
    return floor(x * scale * (1 + 1e-12)) / scale;
}

struct leaves {
    struct budget_sum asked;
    int64_t units, delta_units;       /* the price */
    int64_t left_units, left_delta;   /* before it is paid */
    int64_t after_units, after_delta; /* and after */
};

/* Takes DETAIL. */
static json_t *warning_json(const struct leaves *l, json_t *detail, double delta)
{
    return json_pack(
        "{s:o, s:o, s:o}", "detail", detail, "stranded",
        budget_amount(ledger_units_value(l->after_units), ledger_delta_value(l->after_delta)),
        "better", budget_amount(l->asked.epsilon, delta));
}

/* True when what is left of a purse is hardly anything of what the plan takes. */
static bool is_crumb(int64_t after, int64_t price)
{
    return after < price / 50;
}

/* NULL: nothing is stranded. */
static json_t *leaves_warning(const struct leaves *l)
{
    static const char no_delta[] =
        "This plan takes so much of delta that the epsilon it leaves can buy no job like it. Ask "
        "for the smaller delta %.3g: each job then takes the same share of both.";
    static const char no_epsilon[] =
        "This plan takes all of epsilon and leaves delta, which buys nothing alone. With all "
        "of the delta that is left it costs no more epsilon and needs less noise.";
    if (l->units <= 0 || l->delta_units <= 0)
        return NULL;
    bool repeats = l->after_units >= l->units && l->after_delta < l->delta_units;
    bool no_more = l->after_delta == 0 && !is_crumb(l->after_units, l->units);
    double left_delta = ledger_delta_value(l->left_delta);
    if (repeats || no_more) {
        double share = fmin(1, l->asked.epsilon / ledger_units_value(l->left_units));
        double delta = round_down(share * left_delta);
        return warning_json(l, json_sprintf(no_delta, delta), delta);
    }
    if (is_crumb(l->after_units, l->units) && l->after_delta >= l->delta_units)
        return warning_json(l, json_string(no_epsilon), left_delta);
    return NULL;
}

void job_leaves_show(const struct ledger_account *account, const struct job_plan *plan, json_t *out)
{
    const struct dp_sgd_plan *privacy = &plan->plan.privacy;
    struct leaves l = {.asked = {plan->request.epsilon, plan->request.delta}};
    struct ledger_account then = *account;
    json_t *warning = NULL, *leaves = NULL;
    l.left_units = account->limit_units - account->spent_units - account->held_units;
    l.left_delta = account->limit_delta - account->spent_delta - account->held_delta;
    struct ledger_price price = {0};
    char *event = job_plan_event(plan, privacy->steps, true);
    const struct budget_plan whole = {privacy->epsilon, privacy->delta, event};
    bool counted = account->id[0] != '\0' && budget_plan_price(account, &whole, &price);
    free(event);
    l.units = price.units;
    l.delta_units = price.delta_units;
    if (counted && l.units <= l.left_units && l.delta_units <= l.left_delta) {
        l.after_units = l.left_units - l.units;
        l.after_delta = l.left_delta - l.delta_units;
        then.held_units += l.units;
        then.held_delta += l.delta_units;
        leaves = budget_remaining(&then);
        if (account->renyi_order == 0)
            warning = leaves_warning(&l);
    }
    json_object_set_new(out, "leaves", json_or_null(leaves));
    json_object_set_new(out, "warning", json_or_null(warning));
}
