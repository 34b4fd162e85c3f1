/* The price of a tree of events.
 *
 * The computing time depends on the plan, so a request is bounded: the tree (event_json.h), the
 * number of different mechanisms, and the accountants' effort. */
#include "api/books/accounting.h"

#include <math.h>

#include "algos/privacy/accounting/event.h"
#include "algos/privacy/accounting/privacy_report.h"
#include "api/call/fields.h"
#include "api/json/json_text.h"
#include "api/wire/event_json.h"

#define EPSILON_MAX 1e6

struct accounting_wish {
    struct event events;
    struct privacy_question question;
    struct composition plan;
};

static void wish_clear(void *what)
{
    struct accounting_wish *wish = what;
    event_clear(&wish->events);
    composition_clear(&wish->plan);
}

static void accounting_fault(void *context, const char *pointer, const char *detail)
{
    call_invalid(context, pointer, "%s", detail);
}

/* Gathers every fault of the body. */
static bool accounting_read(struct call *call, struct accounting_wish *wish)
{
    json_t *events = NULL;
    double delta = 0, epsilon = -1;
    struct field about_delta = field_positive("delta", &delta, nextafter(1, 0));
    const struct field fields[] = {
        field_any("events", &events),
        field_optional(about_delta),
        field_optional(field_number("epsilon", &epsilon, 0, EPSILON_MAX)),
    };
    bool good = fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]);
    const struct event_json_faults faults = {accounting_fault, call};
    if (events)
        good = event_json_read(events, "/events", &faults, &wish->events) && good;
    if (good && (delta > 0) == (epsilon >= 0)) {
        call_invalid(call, "", "must have either delta or epsilon");
        return false;
    }
    wish->question = (struct privacy_question){true, epsilon};
    if (delta > 0)
        wish->question = (struct privacy_question){false, delta};
    return good;
}

/* Flattens the events into a plan; PROBLEM_NONE when it can be priced. */
static enum problem accounting_plan(struct call *call, struct accounting_wish *wish)
{
    const char *why = NULL;
    enum event_status status = event_flatten(&wish->events, &wish->plan, &why);
    if (status != EVENT_OK)
        return call_invalid(call, "/events", "cannot be priced: %s", why);
    if (wish->plan.count > ACCOUNTING_MAX_MECHANISMS) {
        return call_invalid(call, "/events", "has %zu different mechanisms; at most %d are priced",
                            wish->plan.count, ACCOUNTING_MAX_MECHANISMS);
    }
    return PROBLEM_NONE;
}

/* The names of the four figures: of delta at an epsilon, or of epsilon at a delta. */
struct figure_names {
    const char *at, *upper, *lower, *renyi, *exact;
};

static const struct figure_names of_epsilon = {"delta", "epsilon", "epsilon_lower", "epsilon_renyi",
                                               "epsilon_exact"};
static const struct figure_names of_delta = {"epsilon", "delta", "delta_lower", "delta_renyi",
                                             "delta_exact"};

static json_t *report_json(const struct privacy_question *question,
                           const struct privacy_report *report)
{
    const struct figure_names *names = &of_epsilon;
    if (question->for_delta)
        names = &of_delta;
    json_t *json =
        json_pack("{s:n, s:o, s:n, s:s}", "epsilon", names->lower,
                  json_number(report->figure.lower), "delta", "accountant", report->accountant);
    json_object_set_new(json, names->at, json_number(question->at));
    json_object_set_new(json, names->upper, json_number(report->figure.upper));
    if (!isnan(report->renyi))
        json_object_set_new(json, names->renyi, json_number(report->renyi));
    if (!isnan(report->exact))
        json_object_set_new(json, names->exact, json_number(report->exact));
    return json;
}

/* Answers with the figures, and with the events as they were read. */
static enum problem accounting_reply(struct call *call, const struct accounting_wish *wish,
                                     const struct privacy_report *report)
{
    json_t *json = report_json(&wish->question, report);
    json_object_set_new(json, "events", event_json(&wish->events));
    return call_reply_json(call, 200, json);
}

static enum problem accounting_price(struct call *call, const struct accounting_wish *wish)
{
    struct privacy_report report;
    switch (privacy_report_make(&wish->plan, &wish->question, PRIVACY_QUICK, &report)) {
    case ACCOUNTANT_OK: return accounting_reply(call, wish, &report);
    case ACCOUNTANT_NO_MEMORY: return call_no_memory(call);
    case ACCOUNTANT_TOO_MUCH_WORK:
        return call_invalid(call, "/events",
                            "take more than %.0g steps to account for, which is all that one call "
                            "may have: fewer kinds of mechanisms, fewer runs or more noise take "
                            "less, and tacet epsilon has no such limit",
                            PRIVACY_QUICK_STEPS);
    case ACCOUNTANT_OUT_OF_REACH:
        return call_invalid(call, "/events",
                            "have no epsilon that can be certified: the noise is too small, or "
                            "their probability of failure exceeds delta");
    case ACCOUNTANT_BAD:
    case ACCOUNTANT_UNSUPPORTED: break;
    }
    return call_invalid(call, "/events", "cannot be priced by any accountant");
}

enum problem api_accounting_compose(struct call *call)
{
    struct accounting_wish *wish = arena_array(&call->arena, 1, sizeof *wish);
    call_defer(call, wish_clear, wish);
    if (!accounting_read(call, wish))
        return PROBLEM_VALIDATION;
    enum problem problem = accounting_plan(call, wish);
    if (problem != PROBLEM_NONE)
        return problem;
    return accounting_price(call, wish);
}
