/* Parameters as callers write them, by the tables of algorithms. */
#include "api/jobs/ask/job_parts.h"

#include <stdio.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "api/call/fields.h"
#include "memory/buffer.h"

struct slot {
    double number;
    int64_t integer;
    int choice;
    const char *name;
    json_t *list;
};

static struct field parameter_field(const struct parameter_spec *spec,
                                    const struct parameter_value *usual, struct slot *slot)
{
    switch (spec->type) {
    case PARAMETER_INTEGER:
        slot->integer = (int64_t)usual->number[0];
        return field_integer(spec->name, &slot->integer, (int64_t)spec->min, (int64_t)spec->max);
    case PARAMETER_CHOICE:
        slot->choice = (int)usual->number[0];
        return field_choice(spec->name, &slot->choice, spec->choices);
    case PARAMETER_Q_LEARNER: return field_text(spec->name, &slot->name, 1, 31);
    case PARAMETER_INTEGER_LIST:
    case PARAMETER_REAL_LIST:
        return field_array(spec->name, &slot->list, parameters_least(spec->type),
                           parameters_most(spec->type));
    case PARAMETER_REAL_EACH: return field_any(spec->name, &slot->list);
    case PARAMETER_REAL: break;
    }
    slot->number = usual->number[0];
    return field_number(spec->name, &slot->number, spec->min, spec->max);
}

static void read_list(struct call *call, const char *place, const struct parameter_spec *spec,
                      const json_t *list, struct parameter_value *out)
{
    out->count = (unsigned)json_array_size(list);
    for (unsigned i = 0; i < out->count; i++) {
        const json_t *item = json_array_get(list, i);
        out->number[i] = json_number_value(item);
        struct parameter_value one = {.number = {out->number[i]}, .count = 1};
        if (!json_is_number(item) || parameters_check(spec, &one) != PARAMETER_FITS) {
            char pointer[96];
            snprintf(pointer, sizeof pointer, "%s/%s/%u", place, spec->name, i);
            const char *kind = "a number";
            if (spec->type == PARAMETER_INTEGER_LIST)
                kind = "an integer";
            call_invalid(call, pointer, "must be %s from %.0f to %.0f", kind, spec->min, spec->max);
        }
    }
}

/* Reads a number, or a list with one for each coordinate. */
static void read_each(struct call *call, const char *place, const struct parameter_spec *spec,
                      const json_t *json, struct parameter_value *out)
{
    char pointer[96];
    const size_t most = parameters_most(spec->type);
    size_t count = json_array_size(json);
    if (json_is_array(json) && count >= 1 && count <= most) {
        read_list(call, place, spec, json, out);
        return;
    }
    struct parameter_value one = {.number = {json_number_value(json)}, .count = 1};
    if (json_is_number(json) && parameters_check(spec, &one) == PARAMETER_FITS) {
        *out = one;
        return;
    }
    snprintf(pointer, sizeof pointer, "%s/%s", place, spec->name);
    call_invalid(call, pointer, "must be a number from %g to %g, or a list of 1 to %zu of them",
                 spec->min, spec->max, most);
}

/* Reads the choice of a Q-learner. NAME is the text that was sent; with NULL, OUT stays unchanged.
 */
static void read_q_learner(struct call *call, const char *place, const struct parameter_spec *spec,
                           const char *name, struct parameter_value *out)
{
    char pointer[96];
    struct buffer list = {.lid = 4096};
    if (!name)
        return;
    for (unsigned i = 0; parameters_choice(spec, i); i++) {
        if (strcmp(parameters_choice(spec, i), name) == 0) {
            out->number[0] = i;
            buffer_clear(&list);
            return;
        }
        if (i > 0)
            buffer_add_text(&list, ", ");
        buffer_add_format(&list, "\"%s\"", parameters_choice(spec, i));
    }
    const struct algorithm *other = algorithm_find(name);
    snprintf(pointer, sizeof pointer, "%s/%s", place, spec->name);
    if (!other) {
        call_invalid(call, pointer, "must be one of %s", list.bytes);
    } else {
        call_invalid(call, pointer, "must be one of %s: %s %s", list.bytes, other->name,
                     algorithm_lacks_q(other));
    }
    buffer_clear(&list);
}

/* Checks the value that was read into SLOT against SPEC and copies it into OUT. */
static void take_slot(struct call *call, const char *place, const struct parameter_spec *spec,
                      const struct slot *slot, struct parameter_value *out)
{
    switch (spec->type) {
    case PARAMETER_INTEGER_LIST:
    case PARAMETER_REAL_LIST:
        if (slot->list)
            read_list(call, place, spec, slot->list, out);
        break;
    case PARAMETER_REAL_EACH:
        if (slot->list)
            read_each(call, place, spec, slot->list, out);
        break;
    case PARAMETER_Q_LEARNER: read_q_learner(call, place, spec, slot->name, out); break;
    case PARAMETER_REAL: out->number[0] = slot->number; break;
    case PARAMETER_INTEGER: out->number[0] = (double)slot->integer; break;
    case PARAMETER_CHOICE: out->number[0] = slot->choice; break;
    }
}

void job_parameters_read(struct call *call, const char *place, const struct algorithm *algorithm,
                         struct job_defaults defaults, const json_t *object,
                         struct parameter_values *out)
{
    algorithm_defaults(algorithm, defaults.world, out);
    algorithm_described_defaults(algorithm, defaults.features, out);
    if (!object)
        return;
    struct slot slots[PARAMETERS_MAX] = {{0}};
    struct field fields[PARAMETERS_MAX];
    for (unsigned i = 0; i < algorithm->parameter_count; i++) {
        fields[i] =
            field_optional(parameter_field(&algorithm->parameters[i], &out->value[i], &slots[i]));
    }
    if (!fields_read(call, object, place, fields, algorithm->parameter_count))
        return;
    for (unsigned i = 0; i < algorithm->parameter_count; i++)
        take_slot(call, place, &algorithm->parameters[i], &slots[i], &out->value[i]);
}
