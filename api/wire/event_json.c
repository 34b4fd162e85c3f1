/* Events between trees of structs and JSON.
 *
 * DESIGN. A type is a row: its name, its kind of event, and its members. A member is a row: name,
 * range, and place in the struct. Reading and writing walk the same rows. */
#include "api/wire/event_json.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "memory/memory.h"

#define POINTER_SIZE 400
#define MEMBERS_MAX  4
#define LARGEST      1e300 /* of what has no bound of its own */

enum member_type {
    MEMBER_NONE,
    MEMBER_REAL,
    MEMBER_COUNT,
    MEMBER_COUNT32,
    MEMBER_EVENT,
    MEMBER_EVENTS
};

struct member {
    const char *name;
    enum member_type type;
    size_t offset; /* in struct event */
    double min, max;
    bool above_min, below_max; /* min or max itself is out of range */
};

struct type {
    const char *name;
    enum event_kind kind;
    enum mechanism_kind mechanism; /* of EVENT_MECHANISM */
    struct member member[MEMBERS_MAX];
};

#define AT(FIELD) offsetof(struct event, FIELD)

static const struct type TYPES[] = {
    {"NoOpDpEvent", EVENT_NO_OP, 0, {{0}}},
    {"NonPrivateDpEvent", EVENT_NON_PRIVATE, 0, {{0}}},
    {"GaussianDpEvent",
     EVENT_MECHANISM,
     MECHANISM_SUBSAMPLED_GAUSSIAN,
     {{"noise_multiplier", MEMBER_REAL, AT(mechanism.gaussian.noise_multiplier), 0, LARGEST, true,
       false}}},
    {"LaplaceDpEvent",
     EVENT_MECHANISM,
     MECHANISM_LAPLACE,
     {{"noise_multiplier", MEMBER_REAL, AT(mechanism.laplace.noise_multiplier), 0, LARGEST, true,
       false}}},
    {"RandomizedResponseDpEvent",
     EVENT_MECHANISM,
     MECHANISM_RANDOMIZED_RESPONSE,
     {{"noise_parameter", MEMBER_REAL, AT(mechanism.response.noise_parameter), 0, 1, true, true},
      {"num_buckets", MEMBER_COUNT32, AT(mechanism.response.buckets), 2, UINT32_MAX, false,
       false}}},
    {"EpsilonDeltaDpEvent",
     EVENT_MECHANISM,
     MECHANISM_EPSILON_DELTA,
     {{"epsilon", MEMBER_REAL, AT(mechanism.pair.epsilon), 0, LARGEST, false, false},
      {"delta", MEMBER_REAL, AT(mechanism.pair.delta), 0, 1, false, true}}},
    {"DirichletDpEvent",
     EVENT_MECHANISM,
     MECHANISM_DIRICHLET,
     {{"actions", MEMBER_COUNT32, AT(mechanism.dirichlet.actions), 2, 64, false, false},
      {"concentration", MEMBER_REAL, AT(mechanism.dirichlet.concentration), 0, LARGEST, true,
       false},
      {"min_probability", MEMBER_REAL, AT(mechanism.dirichlet.min_probability), 0, 0.5, true, true},
      {"sensitivity", MEMBER_REAL, AT(mechanism.dirichlet.sensitivity), 0, LARGEST, true, false}}},
    {"PoissonSampledDpEvent",
     EVENT_POISSON_SAMPLED,
     0,
     {{"sampling_probability", MEMBER_REAL, AT(sampling_rate), 0, 1, true, false},
      {"event", MEMBER_EVENT, 0, 0, 0, false, false}}},
    {"SelfComposedDpEvent",
     EVENT_SELF_COMPOSED,
     0,
     {{"count", MEMBER_COUNT, AT(times), 1, (double)COMPOSITION_MAX_TIMES, false, false},
      {"event", MEMBER_EVENT, 0, 0, 0, false, false}}},
    {"ComposedDpEvent", EVENT_COMPOSED, 0, {{"events", MEMBER_EVENTS, 0, 0, 0, false, false}}},
};
#define TYPE_COUNT (sizeof TYPES / sizeof TYPES[0])

/* ---- reading */

struct reader {
    const struct event_json_faults *faults;
    unsigned events; /* met so far */
    bool good;
};

static void event_fault(struct reader *reader, const char *pointer, const char *name,
                        const char *detail)
{
    char at[POINTER_SIZE + 80];
    if (name)
        snprintf(at, sizeof at, "%s/%s", pointer, name);
    else
        snprintf(at, sizeof at, "%s", pointer);
    reader->good = false;
    reader->faults->add(reader->faults->context, at, detail);
}

static void out_of_range(struct reader *reader, const char *pointer, const struct member *member)
{
    char min[32], max[32], detail[160];
    json_text_number(member->min, min);
    json_text_number(member->max, max);
    const char *kind = member->type == MEMBER_REAL ? "a number" : "an integer";
    const char *from = member->above_min ? "above" : "of at least";
    if (member->max == LARGEST) {
        snprintf(detail, sizeof detail, "must be %s %s %s, and finite", kind, from, min);
    } else {
        const char *to = member->below_max ? "below" : "at most";
        snprintf(detail, sizeof detail, "must be %s %s %s and %s %s", kind, from, min, to, max);
    }
    event_fault(reader, pointer, member->name, detail);
}

static void read_number_member(struct reader *reader, const json_t *value, const char *pointer,
                               const struct member *member, struct event *out)
{
    double x = json_number_or_nan(value);
    bool high = x > member->min || (x == member->min && !member->above_min);
    bool low = x < member->max || (x == member->max && !member->below_max);
    void *place = (char *)out + member->offset;
    if (!high || !low || (member->type != MEMBER_REAL && x != floor(x)))
        out_of_range(reader, pointer, member);
    else if (member->type == MEMBER_REAL)
        *(double *)place = x;
    else if (member->type == MEMBER_COUNT)
        *(uint64_t *)place = (uint64_t)x;
    else
        *(uint32_t *)place = (uint32_t)x;
}

static void read_event(struct reader *reader, const json_t *json, const char *pointer,
                       unsigned depth, struct event *out);

static void read_events(struct reader *reader, const json_t *array, const char *pointer,
                        unsigned depth, struct event *out)
{
    size_t count = json_array_size(array);
    if (!json_is_array(array)) {
        event_fault(reader, pointer, NULL, "must be an array of events");
        return;
    }
    if (count == 0 || count > EVENT_JSON_MAX_EVENTS) {
        event_fault(reader, pointer, NULL,
                    count == 0 ? "must hold at least one event" : "holds more than 10000 events");
        return;
    }
    out->child = memory_new(count, sizeof *out->child);
    out->child_count = count;
    for (size_t i = 0; i < count && reader->events <= EVENT_JSON_MAX_EVENTS; i++) {
        char at[POINTER_SIZE];
        snprintf(at, sizeof at, "%s/%zu", pointer, i);
        read_event(reader, json_array_get(array, i), at, depth + 1, &out->child[i]);
    }
}

static void read_member(struct reader *reader, const json_t *value, const char *pointer,
                        const struct member *member, unsigned depth, struct event *out)
{
    char at[POINTER_SIZE];
    snprintf(at, sizeof at, "%s/%s", pointer, member->name);
    if (!value) {
        event_fault(reader, at, NULL, "is required");
    } else if (member->type == MEMBER_EVENT) {
        out->child = memory_new(1, sizeof *out->child);
        out->child_count = 1;
        read_event(reader, value, at, depth + 1, out->child);
    } else if (member->type == MEMBER_EVENTS) {
        read_events(reader, value, at, depth, out);
    } else {
        read_number_member(reader, value, pointer, member, out);
    }
}

static const struct type *find_type(struct reader *reader, const json_t *json, const char *pointer)
{
    const json_t *type = json_object_get(json, "type"),
                 *class = json_object_get(json, "class_name");
    const char *member = class && !type ? "class_name" : "type";
    const char *name = json_string_value(type ? type : class);
    if (!type && !class) {
        event_fault(reader, pointer, "type", "is required");
        return NULL;
    }
    for (size_t i = 0; name && i < TYPE_COUNT; i++)
        if (strcmp(TYPES[i].name, name) == 0)
            return &TYPES[i];
    char detail[400] = "must be one of";
    size_t size = strlen(detail);
    for (size_t i = 0; i < TYPE_COUNT && size < sizeof detail; i++) {
        size += (size_t)snprintf(detail + size, sizeof detail - size, "%s %s", i > 0 ? "," : "",
                                 TYPES[i].name);
    }
    event_fault(reader, pointer, member, detail);
    return NULL;
}

static bool is_known_member(const struct type *type, const char *name)
{
    static const char *const always[] = {"type", "class_name", "module_name"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (strcmp(name, always[i]) == 0)
            return true;
    for (size_t i = 0; i < MEMBERS_MAX && type->member[i].name; i++)
        if (strcmp(name, type->member[i].name) == 0)
            return true;
    return false;
}

static void refuse_unknown(struct reader *reader, const json_t *json, const char *pointer,
                           const struct type *type)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)json, name, value)
    {
        char shown[65], detail[120];
        if (is_known_member(type, name))
            continue;
        /* The fault of a member whose name is long or would need escapes points to the event. */
        bool plain = strlen(name) < sizeof shown && !strpbrk(name, "~/");
        snprintf(detail, sizeof detail, "is not a member of %s", type->name);
        if (plain) {
            event_fault(reader, pointer, name, detail);
        } else {
            snprintf(detail, sizeof detail, "has a member that %s does not have", type->name);
            event_fault(reader, pointer, NULL, detail);
        }
    }
}

static void read_event(struct reader *reader, const json_t *json, const char *pointer,
                       unsigned depth, struct event *out)
{
    if (depth > EVENT_JSON_MAX_DEPTH) {
        event_fault(reader, pointer, NULL, "is nested deeper than 12 events");
        return;
    }
    if (++reader->events > EVENT_JSON_MAX_EVENTS) {
        event_fault(reader, pointer, NULL, "is one event more than 10000");
        return;
    }
    if (!json_is_object(json)) {
        event_fault(reader, pointer, NULL, "must be an event, an object with a type");
        return;
    }
    const struct type *type = find_type(reader, json, pointer);
    if (!type)
        return;
    out->kind = type->kind;
    if (type->kind == EVENT_MECHANISM) {
        out->mechanism.kind = type->mechanism;
        if (type->mechanism == MECHANISM_SUBSAMPLED_GAUSSIAN)
            out->mechanism.gaussian.sampling_rate = 1.0;
    }
    bool before = reader->good;
    reader->good = true;
    refuse_unknown(reader, json, pointer, type);
    for (size_t i = 0; i < MEMBERS_MAX && type->member[i].name; i++) {
        const struct member *member = &type->member[i];
        read_member(reader, json_object_get(json, member->name), pointer, member, depth, out);
    }
    /* Check conditions between members. */
    const char *problem =
        reader->good && type->kind == EVENT_MECHANISM ? mechanism_problem(&out->mechanism) : NULL;
    if (problem)
        event_fault(reader, pointer, NULL, problem);
    reader->good = reader->good && before;
}

bool event_json_read(const json_t *json, const char *pointer,
                     const struct event_json_faults *faults, struct event *out)
{
    struct reader reader = {.faults = faults, .good = true};
    *out = (struct event){0};
    if (json_is_array(json)) {
        out->kind = EVENT_COMPOSED;
        read_events(&reader, json, pointer, 1, out);
    } else {
        read_event(&reader, json, pointer, 1, out);
    }
    if (!reader.good)
        event_clear(out);
    return reader.good;
}

/* ---- writing */

static const struct type *type_of(const struct event *event)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (TYPES[i].kind == event->kind &&
            (event->kind != EVENT_MECHANISM || TYPES[i].mechanism == event->mechanism.kind))
            return &TYPES[i];
    return NULL;
}

static json_t *children_json(const struct event *event)
{
    json_t *array = json_array();
    for (size_t i = 0; i < event->child_count; i++)
        json_array_append_new(array, event_json(&event->child[i]));
    return array;
}

static json_t *member_json(const struct event *event, const struct member *member)
{
    const void *place = (const char *)event + member->offset;
    switch (member->type) {
    case MEMBER_REAL: return json_number(*(const double *)place);
    case MEMBER_COUNT: return json_integer((json_int_t) * (const uint64_t *)place);
    case MEMBER_COUNT32: return json_integer((json_int_t) * (const uint32_t *)place);
    case MEMBER_EVENT: assert(event->child_count == 1); return event_json(event->child);
    case MEMBER_EVENTS: return children_json(event);
    case MEMBER_NONE: break;
    }
    return NULL;
}

json_t *event_json(const struct event *event)
{
    const struct type *type = type_of(event);
    assert(type);
    json_t *json = json_pack("{s:s}", "type", type->name);
    for (size_t i = 0; i < MEMBERS_MAX && type->member[i].name; i++) {
        const struct member *member = &type->member[i];
        json_object_set_new(json, member->name, member_json(event, member));
    }
    return json;
}
