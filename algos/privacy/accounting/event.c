/* Trees of events to flat compositions.
 *
 * A walk carries what the path from the root has made of a leaf: how often it runs, and at which
 * sampling rate. A sample is passed to a leaf alone, never through a composition. */
#include "algos/privacy/accounting/event.h"

#include <math.h>
#include <stdlib.h>

void event_clear(struct event *event)
{
    for (size_t i = 0; i < event->child_count; i++)
        event_clear(&event->child[i]);
    free(event->child);
    *event = (struct event){0};
}

struct walk {
    struct composition *out;
    const char *problem;
};

static enum event_status walk_refuse(struct walk *walk, enum event_status status,
                                     const char *problem)
{
    walk->problem = problem;
    return status;
}

static enum event_status add_leaf(struct walk *walk, const struct mechanism *mechanism,
                                  uint64_t times)
{
    const char *problem = mechanism_problem(mechanism);
    if (problem)
        return walk_refuse(walk, EVENT_BAD, problem);
    if (composition_add(walk->out, mechanism, times) == COMPOSITION_OK)
        return EVENT_OK;
    return walk_refuse(walk, EVENT_TOO_LONG,
                       "more than 1000 different mechanisms, or more than 1e12 runs of one");
}

static enum event_status visit_leaf(struct walk *walk, const struct event *event, uint64_t times)
{
    const struct mechanism *m = &event->mechanism;
    if (m->kind == MECHANISM_SUBSAMPLED_GAUSSIAN && m->gaussian.sampling_rate != 1.0)
        return walk_refuse(walk, EVENT_BAD,
                           "a Gaussian has no rate of its own: sampling is an event around it");
    return add_leaf(walk, m, times);
}

static enum event_status visit_sample(struct walk *walk, const struct event *event, uint64_t times)
{
    if (!(event->sampling_rate > 0.0 && event->sampling_rate <= 1.0))
        return walk_refuse(walk, EVENT_BAD, "sampling_rate must be above 0 and at most 1");
    if (event->child_count != 1)
        return walk_refuse(walk, EVENT_BAD, "a sampled event has exactly one event inside");
    const struct event *child = &event->child[0];
    if (child->kind == EVENT_NO_OP)
        return EVENT_OK;
    if (child->kind != EVENT_MECHANISM || child->mechanism.kind != MECHANISM_SUBSAMPLED_GAUSSIAN)
        return walk_refuse(walk, EVENT_UNSUPPORTED,
                           "a Poisson sample is understood around one Gaussian and nothing else");
    if (child->mechanism.gaussian.sampling_rate != 1.0)
        return visit_leaf(walk, child, times);
    struct mechanism sampled = child->mechanism;
    sampled.gaussian.sampling_rate = event->sampling_rate;
    return add_leaf(walk, &sampled, times);
}

static enum event_status visit_event(struct walk *walk, const struct event *event, uint64_t times,
                                     unsigned depth);

static enum event_status visit_children(struct walk *walk, const struct event *event,
                                        uint64_t times, unsigned depth)
{
    for (size_t i = 0; i < event->child_count; i++) {
        enum event_status status = visit_event(walk, &event->child[i], times, depth + 1);
        if (status != EVENT_OK)
            return status;
    }
    return EVENT_OK;
}

static enum event_status visit_event(struct walk *walk, const struct event *event, uint64_t times,
                                     unsigned depth)
{
    if (depth > EVENT_MAX_DEPTH)
        return walk_refuse(walk, EVENT_TOO_DEEP, "events are nested more than 32 deep");
    switch (event->kind) {
    case EVENT_NO_OP: return EVENT_OK;
    case EVENT_MECHANISM: return visit_leaf(walk, event, times);
    case EVENT_POISSON_SAMPLED: return visit_sample(walk, event, times);
    case EVENT_SELF_COMPOSED:
        if (event->times == 0)
            return walk_refuse(walk, EVENT_BAD, "count must be at least 1");
        if (event->child_count != 1)
            return walk_refuse(walk, EVENT_BAD,
                               "a self-composed event has exactly one event inside");
        if (event->times > COMPOSITION_MAX_TIMES / times)
            return walk_refuse(walk, EVENT_TOO_LONG, "a mechanism runs more than 1e12 times");
        return visit_children(walk, event, times * event->times, depth);
    case EVENT_COMPOSED: return visit_children(walk, event, times, depth);
    case EVENT_NON_PRIVATE:
        return walk_refuse(walk, EVENT_UNSUPPORTED, "a non-private release has no finite price");
    }
    return walk_refuse(walk, EVENT_BAD, "unknown kind of event");
}

enum event_status event_flatten(const struct event *event, struct composition *out,
                                const char **out_problem)
{
    *out = (struct composition){0};
    struct walk walk = {.out = out};
    enum event_status status = visit_event(&walk, event, 1, 1);
    if (status == EVENT_OK && out->count == 0)
        status = walk_refuse(&walk, EVENT_EMPTY, "no mechanism at all: nothing private happened");
    if (status == EVENT_OK)
        return EVENT_OK;
    composition_clear(out);
    if (out_problem)
        *out_problem = walk.problem;
    return status;
}
