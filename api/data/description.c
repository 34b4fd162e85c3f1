/* Reads descriptions. */
#include "api/data/description.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/call.h"
#include "api/call/fields.h"
#include "memory/memory.h"

#define VALUE_MAX 1e30 /* within a 32-bit float, and so are differences */

enum { SCALE_LINEAR, SCALE_LOG };

static const char *const feature_scales[] = {"linear", "log", NULL};
static const char *const outside_rules[] = {"refuse", "clip", NULL};
/* What is being read. */
struct reading {
    struct call *call;
    struct description *out;
    struct arena *arena; /* of OUT */
};

/* ---- names */

/* Reads LIST at POINTER, an array of different names. NULL: the faults are in the call. */
static const char *const *read_names(struct reading *reading, const json_t *list,
                                     const char *pointer)
{
    struct call *call = reading->call;
    size_t count = json_array_size(list);
    const char **names = arena_array(reading->arena, count, sizeof *names);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        size_t size = json_string_length(value);
        const char *at = arena_format(&call->arena, "%s/%zu", pointer, i);
        names[i] = json_string_value(value);
        if (!names[i] || size < 1 || size > DESCRIPTION_NAME_MAX) {
            call_invalid(call, at, "must be a name of 1 to %d bytes", DESCRIPTION_NAME_MAX);
            names[i] = "";
            good = false;
            continue;
        }
        for (size_t earlier = 0; earlier < i; earlier++) {
            if (strcmp(names[earlier], names[i]) == 0) {
                call_invalid(call, at, "is the name of element %zu, too", earlier);
                good = false;
                break;
            }
        }
    }
    return good ? names : NULL;
}

/* ---- features */

struct feature_wish {
    const char *name, *unit;
    json_t *categories;
    double low, high;
    int scale;
};

/* Whether the bounds of a number are bounds. */
static bool feature_check_bounds(struct call *call, const struct feature_wish *wish,
                                 const char *pointer)
{
    const char *at = arena_format(&call->arena, "%s/high", pointer);
    if (!(wish->low < wish->high)) {
        call_invalid(call, at, "must be above low, of \"%s\"", wish->name);
        return false;
    }
    if (wish->scale == SCALE_LOG && !(wish->low > 0)) {
        call_invalid(call, arena_format(&call->arena, "%s/low", pointer),
                     "must be above 0 on a logarithmic scale, of \"%s\"", wish->name);
        return false;
    }
    double low = wish->low, high = wish->high;
    if (wish->scale == SCALE_LOG) {
        low = log10(low);
        high = log10(high);
    }
    if ((float)low < (float)high)
        return true;
    call_invalid(call, at, "is the same number as low within the 32 bits of a state, of \"%s\"",
                 wish->name);
    return false;
}

static bool feature_take_number(struct reading *reading, const json_t *object,
                                const struct feature_wish *wish, const char *pointer,
                                struct description_feature *out)
{
    static const char *const needed[] = {"low", "high"};
    struct call *call = reading->call;
    bool good = true;
    for (size_t i = 0; i < 2; i++) {
        if (field_sent(object, needed[i]))
            continue;
        call_invalid(call, arena_format(&call->arena, "%s/%s", pointer, needed[i]),
                     "is required of a feature without categories, as \"%s\" is", wish->name);
        good = false;
    }
    if (!good || !feature_check_bounds(call, wish, pointer))
        return false;
    out->logarithmic = wish->scale == SCALE_LOG;
    out->low = wish->low;
    out->high = wish->high;
    return true;
}

static bool feature_take_categories(struct reading *reading, const json_t *object,
                                    const struct feature_wish *wish, const char *pointer,
                                    struct description_feature *out)
{
    static const char *const refused[] = {"unit", "low", "high", "scale"};
    struct call *call = reading->call;
    bool good = true;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (!field_sent(object, refused[i]))
            continue;
        call_invalid(call, arena_format(&call->arena, "%s/%s", pointer, refused[i]),
                     "has no meaning beside categories");
        good = false;
    }
    const char *at = arena_format(&call->arena, "%s/categories", pointer);
    out->categories = read_names(reading, wish->categories, at);
    out->category_count = (unsigned)json_array_size(wish->categories);
    out->high = 1;
    return good && out->categories;
}

static bool read_feature(struct reading *reading, const json_t *object, const char *pointer,
                         struct description_feature *out)
{
    struct feature_wish wish = {.unit = ""};
    const struct field fields[] = {
        field_text("name", &wish.name, 1, DESCRIPTION_NAME_MAX),
        field_optional(field_text("unit", &wish.unit, 0, DESCRIPTION_NAME_MAX)),
        field_optional(field_number("low", &wish.low, -VALUE_MAX, VALUE_MAX)),
        field_optional(field_number("high", &wish.high, -VALUE_MAX, VALUE_MAX)),
        field_optional(field_choice("scale", &wish.scale, feature_scales)),
        field_optional(field_array("categories", &wish.categories, 2, DESCRIPTION_DIM_MAX)),
    };
    *out = (struct description_feature){.name = ""};
    if (!fields_read(reading->call, object, pointer, fields, sizeof fields / sizeof *fields))
        return false;
    out->name = wish.name;
    out->unit = wish.unit;
    if (wish.categories)
        return feature_take_categories(reading, object, &wish, pointer, out);
    return feature_take_number(reading, object, &wish, pointer, out);
}

/* Refuses a name that an earlier feature has. */
static void feature_check_name(struct reading *reading, unsigned index, const char *pointer)
{
    const struct description_feature *features = reading->out->features;
    for (unsigned earlier = 0; earlier < index; earlier++) {
        if (strcmp(features[earlier].name, features[index].name) != 0)
            continue;
        call_invalid(reading->call, arena_format(&reading->call->arena, "%s/name", pointer),
                     "is the name of feature %u, too", earlier);
        return;
    }
}

static void read_features(struct reading *reading, const json_t *list, const char *pointer)
{
    struct description *out = reading->out;
    out->feature_count = (unsigned)json_array_size(list);
    out->features = arena_array(reading->arena, out->feature_count, sizeof *out->features);
    for (unsigned i = 0; i < out->feature_count; i++) {
        struct description_feature *feature = &out->features[i];
        const char *at = arena_format(&reading->call->arena, "%s/%u", pointer, i);
        if (read_feature(reading, json_array_get(list, i), at, feature))
            feature_check_name(reading, i, at);
        feature->coordinate = out->dim;
        out->dim += description_width(feature);
    }
    if (out->dim > DESCRIPTION_DIM_MAX) {
        call_invalid(reading->call, pointer,
                     "make %u coordinates of a state, a category being one of them; at most %d are "
                     "allowed",
                     out->dim, DESCRIPTION_DIM_MAX);
    }
}

static void set_ranges(struct description *out)
{
    out->ranges = features_new(out->dim);
    for (unsigned i = 0; i < out->feature_count; i++) {
        const struct description_feature *feature = &out->features[i];
        struct feature_range range = {feature->low, feature->high};
        if (feature->logarithmic)
            range = (struct feature_range){log10(feature->low), log10(feature->high)};
        for (unsigned c = 0; c < description_width(feature); c++)
            out->ranges->range[feature->coordinate + c] = range;
    }
}

/* ---- actions */

/* Reads EDGES into the bins: increasing, from LOW to below HIGH. */
static bool read_edges(struct reading *reading, const json_t *edges, const char *pointer)
{
    struct description_bins *bins = &reading->out->bins;
    struct call *call = reading->call;
    size_t count = json_array_size(edges);
    double *out = arena_array(reading->arena, count, sizeof *out);
    if (fields_numbers(call, edges, pointer, out, count, true) < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool rises = i == 0 ? out[i] >= bins->low : out[i] > out[i - 1];
        if (rises && out[i] < bins->high)
            continue;
        call_invalid(call, arena_format(&call->arena, "%s/%zu", pointer, i),
                     "must be above the edge before it, and from low to below high");
        return false;
    }
    bins->edges = out;
    bins->count = (unsigned)count;
    return true;
}

/* Reads the bins of a continuous action. */
static void read_bins(struct reading *reading, const json_t *object, const char *pointer,
                      json_t **out_names)
{
    struct description_bins *bins = &reading->out->bins;
    struct call *call = reading->call;
    json_t *edges = NULL;
    bins->unit = "";
    const struct field fields[] = {
        field_optional(field_text("unit", &bins->unit, 0, DESCRIPTION_NAME_MAX)),
        field_number("low", &bins->low, -VALUE_MAX, VALUE_MAX),
        field_number("high", &bins->high, -VALUE_MAX, VALUE_MAX),
        field_array("edges", &edges, 1, DESCRIPTION_ACTIONS_MAX - 1),
        field_array("names", out_names, 2, DESCRIPTION_ACTIONS_MAX),
    };
    if (!fields_read(call, object, pointer, fields, sizeof fields / sizeof *fields) ||
        !read_edges(reading, edges, arena_format(&call->arena, "%s/edges", pointer)))
        return;
    if (json_array_size(*out_names) != json_array_size(edges) + 1)
        call_invalid(call, arena_format(&call->arena, "%s/names", pointer),
                     "must be one more than the edges: %zu, not %zu", json_array_size(edges) + 1,
                     json_array_size(*out_names));
}

/* Reads names, or bins with names. */
static void description_actions(struct reading *reading, json_t *actions, const char *pointer)
{
    struct description *out = reading->out;
    struct call *call = reading->call;
    json_t *names = NULL;
    if (json_is_object(actions)) {
        read_bins(reading, actions, pointer, &names);
        pointer = arena_format(&call->arena, "%s/names", pointer);
    } else if (json_array_size(actions) >= 2 &&
               json_array_size(actions) <= DESCRIPTION_ACTIONS_MAX) {
        names = actions;
    } else {
        call_invalid(call, pointer,
                     "must be an array of 2 to %d names, or an object with the edges and the names "
                     "of a continuous action's bins",
                     DESCRIPTION_ACTIONS_MAX);
    }
    if (!names)
        return;
    out->action_count = (unsigned)json_array_size(names);
    out->actions = read_names(reading, names, pointer);
}

/* ---- the whole */

struct description_memory {
    struct description description;
    struct arena arena;
};

static void description_members(struct reading *reading, json_t *object, const char *pointer)
{
    struct call *call = reading->call;
    struct description *out = reading->out;
    json_t *features = NULL, *actions = NULL, *table = NULL;
    int outside = 0;
    const struct field fields[] = {
        field_text("row", &out->row, 1, DESCRIPTION_TEXT_MAX),
        field_text("expert", &out->expert, 1, DESCRIPTION_TEXT_MAX),
        field_array("features", &features, 1, DESCRIPTION_DIM_MAX),
        field_optional(field_choice("outside", &outside, outside_rules)),
        field_any("actions", &actions),
        field_optional(field_object("table", &table)),
    };
    (void)fields_read(call, object, pointer, fields, sizeof fields / sizeof *fields);
    out->clips = outside == 1;
    if (features)
        read_features(reading, features, arena_format(&call->arena, "%s/features", pointer));
    if (actions)
        description_actions(reading, actions, arena_format(&call->arena, "%s/actions", pointer));
    if (table)
        description_table_read(call, out, table, arena_format(&call->arena, "%s/table", pointer));
}

struct description *description_read(struct call *call, json_t *object, const char *pointer)
{
    struct description_memory *memory = memory_new(1, sizeof *memory);
    arena_init(&memory->arena);
    memory->description.json = json_incref(object);
    struct reading reading = {call, &memory->description, &memory->arena};
    unsigned before = call_error_count(call);
    description_members(&reading, object, pointer);
    if (call_error_count(call) > before) {
        description_free(&memory->description);
        return NULL;
    }
    set_ranges(&memory->description);
    return &memory->description;
}

/* Copies the first of the faults in CALL. */
static void description_fault(const struct call *call, struct json_fault *out)
{
    const json_t *first = json_array_get(call->errors, 0);
    snprintf(out->pointer, sizeof out->pointer, "%s",
             json_string_value(json_object_get(first, "pointer")));
    snprintf(out->detail, sizeof out->detail, "%s",
             json_string_value(json_object_get(first, "detail")));
}

static struct description *parse_text(const char *text, bool is_new, struct json_fault *fault)
{
    json_t *object = NULL;
    if (json_text_parse(text, strlen(text), &object, fault) != JSON_TEXT_GOOD)
        return NULL;
    /* A call that nobody made: it has memory, and a place for faults. */
    struct call call;
    memset(&call, 0, sizeof call);
    arena_init(&call.arena);
    struct description *description = description_read(&call, object, "");
    if (description && is_new)
        description_table_check(&call, description, "/table");
    if (call_error_count(&call) > 0) {
        description_fault(&call, fault);
        description_free(description);
        description = NULL;
    }
    call_end(&call);
    json_decref(object);
    return description;
}

struct description *description_parse(const char *text, struct json_fault *fault)
{
    return parse_text(text, false, fault);
}

struct description *description_parse_new(const char *text, struct json_fault *fault)
{
    return parse_text(text, true, fault);
}

void description_free(struct description *description)
{
    struct description_memory *memory = (struct description_memory *)description;
    if (!memory)
        return;
    json_decref(description->json);
    free(description->ranges);
    arena_clear(&memory->arena);
    free(memory);
}

static void drop_description(void *description)
{
    description_free(description);
}

unsigned description_width(const struct description_feature *feature)
{
    return feature->category_count > 0 ? feature->category_count : 1;
}

struct description *description_own(struct call *call, struct description *description)
{
    call_defer(call, drop_description, description);
    return description;
}
