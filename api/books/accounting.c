/* The price of a tree of events.
 *
 * A request computes for as long as its plan needs, so what it may ask is bounded: the tree
 * (event_json.h), how many different mechanisms it has, and the accountants' effort. */
#include "api/books/accounting.h"

#include <math.h>

#include "algos/privacy/accounting/event.h"
#include "algos/privacy/accounting/privacy_report.h"
#include "api/call/fields.h"
#include "api/json/json_text.h"
#include "api/wire/event_json.h"

#define EPSILON_MAX 1e6

struct wish {
    struct event events;
    struct privacy_question question;
    struct composition plan;
};

static void wish_clear(void *what)
{
    struct wish *wish = what;
    event_clear(&wish->events);
    composition_clear(&wish->plan);
}

static void accounting_fault(void *context, const char *pointer, const char *detail)
{
    call_invalid(context, pointer, "%s", detail);
}

/* Gathers every fault of the body. */
static bool accounting_read(struct call *call, struct wish *wish)
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
    wish->question = delta > 0 ? (struct privacy_question){false, delta}
                               : (struct privacy_question){true, epsilon};
    return good;
}

/* The flat plan; PROBLEM_NONE when it can be priced. */
static enum problem accounting_plan(struct call *call, struct wish *wish)
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

static bool set_figure(json_t *json, const char *name, double value)
{
    return isnan(value) || json_object_set_new(json, name, json_number(value)) == 0;
}

static json_t *report_json(const struct privacy_question *question,
                           const struct privacy_report *report)
{
    bool delta = question->for_delta;
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:s}", "epsilon", json_number(delta ? question->at : report->figure.upper),
        delta ? "delta_lower" : "epsilon_lower", json_number(report->figure.lower), "delta",
        json_number(delta ? report->figure.upper : question->at), "accountant", report->accountant);
    if (json && set_figure(json, delta ? "delta_renyi" : "epsilon_renyi", report->renyi) &&
        set_figure(json, delta ? "delta_exact" : "epsilon_exact", report->exact))
        return json;
    json_decref(json);
    return NULL;
}

/* The figures, and the events as they were understood. */
static enum problem accounting_reply(struct call *call, const struct wish *wish,
                                     const struct privacy_report *report)
{
    json_t *json = report_json(&wish->question, report);
    if (json && json_object_set_new(json, "events", event_json(&wish->events)) != 0) {
        json_decref(json);
        json = NULL;
    }
    return call_reply_json(call, 200, json);
}

static enum problem accounting_price(struct call *call, const struct wish *wish)
{
    struct privacy_report report;
    switch (privacy_report_make(&wish->plan, &wish->question, PRIVACY_QUICK, &report)) {
    case ACCOUNTANT_OK:
        return accounting_reply(call, wish, &report);
    case ACCOUNTANT_NO_MEMORY:
        return PROBLEM_INTERNAL_ERROR;
    case ACCOUNTANT_OUT_OF_REACH:
        return call_invalid(call, "/events",
                            "have no figure that could be certified: too little noise, or more "
                            "left to chance than delta");
    case ACCOUNTANT_BAD:
    case ACCOUNTANT_UNSUPPORTED:
        break;
    }
    return call_invalid(call, "/events", "cannot be priced by any accountant");
}

enum problem api_accounting_compose(struct call *call)
{
    struct wish *wish = arena_array(&call->arena, 1, sizeof *wish);
    if (!wish || !call_defer(call, wish_clear, wish))
        return PROBLEM_INTERNAL_ERROR;
    if (!accounting_read(call, wish))
        return PROBLEM_VALIDATION;
    enum problem problem = accounting_plan(call, wish);
    if (problem != PROBLEM_NONE)
        return problem;
    return accounting_price(call, wish);
}
