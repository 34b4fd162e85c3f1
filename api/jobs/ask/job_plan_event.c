/* Writes a plan's steps as an event for an accountant. */
#include "api/jobs/ask/job_plan.h"
#include "api/json/json_text.h"
#include "api/wire/event_json.h"

static json_t *steps_event(const struct job_plan *plan, uint64_t steps, bool before)
{
    const struct dp_sgd_plan *p = &plan->plan.privacy;
    struct event noise = {
        .kind = EVENT_MECHANISM,
        .mechanism = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1, p->noise_multiplier}}};
    struct event step = {.kind = EVENT_POISSON_SAMPLED,
                         .sampling_rate = p->sampling_rate,
                         .child = &noise,
                         .child_count = 1};
    struct event first = {.kind = EVENT_MECHANISM, .mechanism = p->before.mechanism};
    /* Rounding Gaussian noise is post-processing. What is drawn differs a little from it, and that
     * difference has a price. */
    const struct composition_part rounding = dp_sgd_plan_rounding_price(p, steps);
    struct event parts[3];
    size_t count = 0;
    if (before && p->before.times > 0) {
        parts[count++] = (struct event){.kind = EVENT_SELF_COMPOSED,
                                        .times = p->before.times,
                                        .child = &first,
                                        .child_count = 1};
    }
    if (steps > 0) {
        parts[count++] = (struct event){
            .kind = EVENT_SELF_COMPOSED, .times = steps, .child = &step, .child_count = 1};
    }
    if (rounding.times > 0)
        parts[count++] = (struct event){.kind = EVENT_MECHANISM, .mechanism = rounding.mechanism};
    struct event nothing = {.kind = EVENT_NO_OP};
    struct event all = {.kind = EVENT_COMPOSED, .child = parts, .child_count = count};
    if (count > 1)
        return event_json(&all);
    if (count == 1)
        return event_json(parts);
    return event_json(&nothing);
}

/* The event of a sweep: all tries with all their steps, composed. */
static json_t *tries_event(const struct job_plan *plan)
{
    json_t *events = json_array();
    for (uint32_t t = 0; t < plan->try_count; t++) {
        const struct job_plan *one = &plan->tries[t];
        json_list_add(&events, steps_event(one, one->plan.privacy.steps, true));
    }
    return json_pack("{s:s, s:o}", "type", "ComposedDpEvent", "events", events);
}

char *job_plan_event(const struct job_plan *plan, uint64_t steps, bool before)
{
    json_t *json;
    if (plan->try_count > 0 && steps > 0)
        json = tries_event(plan);
    else
        json = steps_event(plan, steps, before);
    size_t size;
    char *text = json_text_write(json, false, &size);
    json_decref(json);
    return text;
}
