/* Reads the member "table" of a description: columns, the last state's rule, missing values. */
#include <string.h>

#include "api/call/call.h"
#include "api/call/fields.h"
#include "api/data/description.h"

#define REWARD_MAX 1e30 /* within a 32-bit float */

static const char *const last_states[] = {
    [LAST_STATE_OWN_ROW] = "own_row",
    [LAST_STATE_REPEAT] = "repeat",
    [LAST_STATE_DROP] = "drop",
    [LAST_STATE_REPEAT_OR_DROP] = "repeat_or_drop",
    NULL,
};

/* ---- missing values */

static struct description_feature *find_feature(struct description *description, const char *name)
{
    for (unsigned i = 0; name && i < description->feature_count; i++)
        if (strcmp(description->features[i].name, name) == 0)
            return &description->features[i];
    return NULL;
}

/* Takes VALUE to fill in for FEATURE. NULL, or a sentence about what it lacks. */
static const char *fill_take(struct description_feature *feature, const json_t *value)
{
    feature->fills = true;
    if (feature->category_count == 0) {
        feature->fill = json_number_value(value);
        bool fits = json_is_number(value) && feature->fill >= feature->low &&
                    feature->fill <= feature->high;
        return fits ? NULL : "must be a number from the feature's low to its high";
    }
    if (!feature->categories) /* they were refused */
        return NULL;
    const char *name = json_string_value(value);
    for (unsigned c = 0; name && c < feature->category_count; c++) {
        feature->fill = c;
        if (strcmp(feature->categories[c], name) == 0)
            return NULL;
    }
    return "must be one of the feature's categories";
}

static void read_fill(struct call *call, struct description *out, json_t *fill, const char *pointer)
{
    const char *name;
    json_t *value;
    json_object_foreach(fill, name, value)
    {
        struct description_feature *feature = find_feature(out, name);
        const char *problem = "is no feature";
        if (feature)
            problem = fill_take(feature, value);
        if (problem)
            call_invalid(call, fields_pointer(call, pointer, name), "%s", problem);
    }
}

static void read_previous(struct call *call, struct description *out, const json_t *list,
                          const char *pointer)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        struct description_feature *feature = find_feature(out, name);
        if (feature)
            feature->carries = true;
        else
            call_invalid(call, arena_format(&call->arena, "%s/%zu", pointer, i), "is no feature");
    }
}

static void read_missing(struct call *call, struct description *out, const json_t *missing,
                         const char *pointer)
{
    const char *text = json_string_value(missing);
    json_t *fill = NULL, *previous = NULL;
    const struct field fields[] = {
        field_optional(field_object("fill", &fill)),
        field_optional(field_array("previous", &previous, 1, DESCRIPTION_DIM_MAX)),
    };
    if (!missing || (text && strcmp(text, "refuse") == 0))
        return;
    if (!json_is_object(missing) || json_object_size(missing) == 0) {
        call_invalid(call, pointer,
                     "must be \"refuse\", or {\"fill\":{...}} with a value of each feature that "
                     "may be missing, or {\"previous\":[...]} with the features whose value before "
                     "it in the episode is taken, or both");
        return;
    }
    if (!fields_read(call, missing, pointer, fields, sizeof fields / sizeof *fields))
        return;
    read_fill(call, out, fill, arena_format(&call->arena, "%s/fill", pointer));
    read_previous(call, out, previous, arena_format(&call->arena, "%s/previous", pointer));
}

/* ---- the table */

/* No policy may read what it is to choose, what comes of it, or whose data it learns from. */
void description_table_check(struct call *call, const struct description *description,
                             const char *pointer)
{
    const struct description_table *table = &description->table;
    const char *const roles[] = {"expert", "action", "reward", "terminated", "truncated"};
    const char *const columns[] = {table->expert, table->action, table->reward, table->terminated,
                                   table->truncated};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        for (unsigned f = 0; columns[i] && f < description->feature_count; f++)
            if (strcmp(description->features[f].name, columns[i]) == 0)
                call_invalid(call, arena_format(&call->arena, "%s/%s", pointer, roles[i]),
                             "is the column of a feature, too: the policy would read it");
}

/* A row has one thing in a column; only an expert with one episode may be its name, too. */
static void table_check_columns(struct call *call, const struct description_table *table,
                                const char *pointer)
{
    const char *const roles[] = {"expert", "episode",    "time",     "action",
                                 "reward", "terminated", "truncated"};
    const char *const columns[] = {table->expert, table->episode,    table->time,     table->action,
                                   table->reward, table->terminated, table->truncated};
    for (size_t i = 2; i < sizeof columns / sizeof *columns; i++)
        for (size_t earlier = 0; earlier < i; earlier++)
            if (columns[i] && columns[earlier] && strcmp(columns[i], columns[earlier]) == 0)
                call_invalid(call, arena_format(&call->arena, "%s/%s", pointer, roles[i]),
                             "is the column of \"%s\", too", roles[earlier]);
}

void description_table_read(struct call *call, struct description *out, const json_t *object,
                            const char *pointer)
{
    struct description_table *table = &out->table;
    json_t *missing = NULL;
    int last_state = LAST_STATE_OWN_ROW;
    const struct field fields[] = {
        field_text("expert", &table->expert, 1, DESCRIPTION_COLUMN_MAX),
        field_text("episode", &table->episode, 1, DESCRIPTION_COLUMN_MAX),
        field_optional(field_text("time", &table->time, 1, DESCRIPTION_COLUMN_MAX)),
        field_text("action", &table->action, 1, DESCRIPTION_COLUMN_MAX),
        field_text("reward", &table->reward, 1, DESCRIPTION_COLUMN_MAX),
        field_text("terminated", &table->terminated, 1, DESCRIPTION_COLUMN_MAX),
        field_optional(field_text("truncated", &table->truncated, 1, DESCRIPTION_COLUMN_MAX)),
        field_choice("last_state", &last_state, last_states),
        field_optional(field_any("missing", &missing)),
        field_optional(
            field_number("missing_reward", &table->fill_reward, -REWARD_MAX, REWARD_MAX)),
    };
    if (!fields_read(call, object, pointer, fields, sizeof fields / sizeof *fields))
        return;
    out->has_table = true;
    table->fills_reward = field_sent(object, "missing_reward");
    table->last_state = (enum description_last_state)last_state;
    table_check_columns(call, table, pointer);
    read_missing(call, out, missing, arena_format(&call->arena, "%s/missing", pointer));
}
