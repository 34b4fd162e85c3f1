/* Reads a JSON object by a table of fields. One pass over the table finds missing or invalid
 * members; one pass over the object finds unknown members. */
#include "api/call/fields.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/call.h"
#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "api/json/near_name.h"
#include "api/json/text.h"

#define LARGEST_INTEGER  9007199254740992.0 /* 2^53: beyond it doubles skip integers */
#define FIELDS_NEAR_MOST 64                 /* fields of an object that may be meant */
#define NAME_SHOWN_MAX   64                 /* bytes of an unknown name that are echoed */
#define STATES_WORK_MAX  20000000           /* multiply-adds of one question */

struct field field_text(const char *name, const char **out, size_t min, size_t max)
{
    return (struct field){
        .name = name, .type = FIELD_TEXT, .min = (double)min, .max = (double)max, .out = out};
}

struct field field_choice(const char *name, int *out, const char *const *choices)
{
    return (struct field){.name = name, .type = FIELD_CHOICE, .choices = choices, .out = out};
}

struct field field_number(const char *name, double *out, double min, double max)
{
    return (struct field){.name = name, .type = FIELD_NUMBER, .min = min, .max = max, .out = out};
}

struct field field_positive(const char *name, double *out, double max)
{
    return (struct field){
        .name = name, .type = FIELD_NUMBER, .above_min = true, .max = max, .out = out};
}

struct field field_integer(const char *name, int64_t *out, int64_t min, int64_t max)
{
    assert((double)min >= -LARGEST_INTEGER && (double)max <= LARGEST_INTEGER);
    return (struct field){
        .name = name, .type = FIELD_INTEGER, .min = (double)min, .max = (double)max, .out = out};
}

struct field field_bool(const char *name, bool *out)
{
    return (struct field){.name = name, .type = FIELD_BOOL, .out = out};
}

struct field field_object(const char *name, json_t **out)
{
    return (struct field){.name = name, .type = FIELD_OBJECT, .out = out};
}

struct field field_array(const char *name, json_t **out, size_t min, size_t max)
{
    return (struct field){
        .name = name, .type = FIELD_ARRAY, .min = (double)min, .max = (double)max, .out = out};
}

struct field field_any(const char *name, json_t **out)
{
    return (struct field){.name = name, .type = FIELD_ANY, .out = out};
}

struct field field_optional(struct field field)
{
    field.optional = true;
    return field;
}

const char *fields_pointer(struct call *call, const char *pointer, const char *name)
{
    char escaped[2 * NAME_SHOWN_MAX + 8];
    size_t size = 0;
    for (const char *c = name; *c != '\0'; c++) {
        /* Never cut inside of a UTF-8 character. */
        if (c - name >= NAME_SHOWN_MAX && ((unsigned char)*c & 0xC0) != 0x80) {
            memcpy(escaped + size, "...", 3);
            size += 3;
            break;
        }
        size += text_pointer_put(escaped + size, *c);
    }
    escaped[size] = '\0';
    return arena_format(&call->arena, "%s/%s", pointer, escaped);
}

/* A fault of the member NAME of the object at POINTER. */
__attribute__((format(printf, 4, 5))) static void
add_fault_at(struct call *call, const char *pointer, const char *name, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    call_invalid(call, fields_pointer(call, pointer, name), "%s", text);
}

static bool number_fits(const struct field *field, double x)
{
    return isfinite(x) && x <= field->max && x >= field->min &&
           !(field->above_min && x == field->min);
}

static bool read_number(struct call *call, const struct field *field, const json_t *value,
                        const char *pointer)
{
    bool whole = field->type == FIELD_INTEGER;
    double x = json_number_or_nan(value);
    /* An integer beyond 2^53 must not pass by being rounded to a bound. */
    bool exact = !json_is_integer(value) || (json_integer_value(value) <= (1LL << 53) &&
                                             json_integer_value(value) >= -(1LL << 53));
    if (number_fits(field, x) && (!whole || (x == floor(x) && exact))) {
        if (whole)
            *(int64_t *)field->out = (int64_t)x;
        else
            *(double *)field->out = x;
        return true;
    }
    char min[32], max[32];
    json_text_number(fmax(field->min, -DBL_MAX), min);
    json_text_number(fmin(field->max, DBL_MAX), max);
    const char *kind = whole ? "an integer" : "a number";
    if (field->above_min)
        add_fault_at(call, pointer, field->name, "must be %s above %s and at most %s", kind, min,
                     max);
    else
        add_fault_at(call, pointer, field->name, "must be %s from %s to %s", kind, min, max);
    return false;
}

static bool read_text(struct call *call, const struct field *field, const json_t *value,
                      const char *pointer)
{
    const char *text = json_string_value(value);
    double size = (double)json_string_length(value);
    if (size < field->min || size > field->max) {
        add_fault_at(call, pointer, field->name, "must be %.0f to %.0f bytes long", field->min,
                     field->max);
        return false;
    }
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            add_fault_at(call, pointer, field->name, "must not hold control characters");
            return false;
        }
    }
    *(const char **)field->out = text;
    return true;
}

static bool read_choice(struct call *call, const struct field *field, const json_t *value,
                        const char *pointer)
{
    const char *text = json_string_value(value);
    char list[400] = "", hint[NEAR_HINT_SIZE] = "";
    size_t size = 0;
    unsigned count = 0;
    for (int i = 0; field->choices[i]; i++, count++) {
        if (text && strcmp(text, field->choices[i]) == 0) {
            *(int *)field->out = i;
            return true;
        }
        int more = snprintf(list + size, sizeof list - size, "%s\"%s\"", i > 0 ? ", " : "",
                            field->choices[i]);
        size += more > 0 && (size_t)more < sizeof list - size ? (size_t)more : 0;
    }
    list[size] = '\0';
    if (text)
        near_hint(text, field->choices, count, hint);
    add_fault_at(call, pointer, field->name, "must be one of %s%s", list, hint);
    return false;
}

static bool read_array(struct call *call, const struct field *field, json_t *value,
                       const char *pointer)
{
    double size = (double)json_array_size(value);
    if (size >= field->min && size <= field->max) {
        *(json_t **)field->out = value;
        return true;
    }
    if (field->min == field->max) {
        add_fault_at(call, pointer, field->name, "must have %.0f elements, not %.0f", field->min,
                     size);
    } else {
        add_fault_at(call, pointer, field->name, "must have %.0f to %.0f elements, not %.0f",
                     field->min, field->max, size);
    }
    return false;
}

/* What is wrong with the type of VALUE for FIELD; NULL when the type is right. */
static const char *wrong_type(const struct field *field, const json_t *value)
{
    if (field->type == FIELD_TEXT && !json_is_string(value))
        return "must be a string";
    if (field->type == FIELD_ARRAY && !json_is_array(value))
        return "must be an array";
    if (field->type == FIELD_BOOL && !json_is_boolean(value))
        return "must be true or false";
    if (field->type == FIELD_OBJECT && !json_is_object(value))
        return "must be an object";
    return NULL;
}

static bool read_field(struct call *call, const struct field *field, json_t *value,
                       const char *pointer)
{
    const char *wrong = wrong_type(field, value);
    if (wrong) {
        add_fault_at(call, pointer, field->name, "%s", wrong);
        return false;
    }
    switch (field->type) {
    case FIELD_TEXT: return read_text(call, field, value, pointer);
    case FIELD_CHOICE: return read_choice(call, field, value, pointer);
    case FIELD_NUMBER:
    case FIELD_INTEGER: return read_number(call, field, value, pointer);
    case FIELD_ARRAY: return read_array(call, field, value, pointer);
    case FIELD_BOOL: *(bool *)field->out = json_is_true(value); return true;
    case FIELD_OBJECT:
    case FIELD_ANY: *(json_t **)field->out = value; return true;
    }
    return false;
}

static void unknown_member(struct call *call, const char *pointer, const char *name,
                           const struct field *fields, size_t count)
{
    const char *names[FIELDS_NEAR_MOST];
    unsigned known = 0;
    for (; known < count && known < FIELDS_NEAR_MOST; known++)
        names[known] = fields[known].name;
    char hint[NEAR_HINT_SIZE];
    call_invalid(call, fields_pointer(call, pointer, name), "is not a known member%s",
                 near_hint(name, names, known, hint));
}

bool field_sent(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value && !json_is_null(value);
}

bool fields_read(struct call *call, const json_t *object, const char *pointer,
                 const struct field *fields, size_t count)
{
    if (!json_is_object(object)) {
        call_invalid(call, pointer, "must be an object");
        return false;
    }
    bool good = true;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(object, fields[i].name);
        found += value != NULL;
        if (!value || json_is_null(value)) {
            if (!fields[i].optional) {
                call_invalid(call, fields_pointer(call, pointer, fields[i].name), "is required");
                good = false;
            }
            continue;
        }
        good = read_field(call, &fields[i], value, pointer) && good;
    }
    if (found == json_object_size(object))
        return good;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        bool known = false;
        for (size_t i = 0; i < count && !known; i++)
            known = strcmp(name, fields[i].name) == 0;
        if (!known)
            unknown_member(call, pointer, name, fields, count);
    }
    return false;
}

long fields_numbers(struct call *call, const json_t *array, const char *pointer, double *out,
                    size_t count, bool exact)
{
    size_t size = json_array_size(array);
    if (!json_is_array(array) || size > count || (exact && size != count)) {
        call_invalid(call, pointer, "must be an array of %s%zu numbers", exact ? "" : "at most ",
                     count);
        return -1;
    }
    bool good = true;
    for (size_t i = 0; i < size; i++) {
        const json_t *value = json_array_get(array, i);
        if (json_is_number(value)) {
            out[i] = json_number_value(value);
            continue;
        }
        const char *at = arena_format(&call->arena, "%s/%zu", pointer, i);
        call_invalid(call, at, "must be a number");
        good = false;
    }
    return good ? (long)size : -1;
}

bool state_read(struct call *call, const json_t *array, const char *pointer, uint32_t dim,
                float *out)
{
    if (!json_is_array(array) || json_array_size(array) != dim) {
        call_invalid(call, pointer, "must be an array of %u numbers", dim);
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < dim; i++) {
        const json_t *number = json_array_get(array, i);
        out[i] = (float)json_number_value(number);
        if (!json_is_number(number) || !isfinite(out[i])) {
            char at[96];
            snprintf(at, sizeof at, "%s/%u", pointer, i);
            call_invalid(call, at, "must be a number within the range of a 32-bit float");
            good = false;
        }
    }
    return good;
}

uint32_t states_read(struct call *call, const json_t *array, uint32_t dim, uint32_t most,
                     float **out)
{
    size_t count = json_array_size(array);
    if (!json_is_array(array) || count < 1 || count > most) {
        call_invalid(call, "/states", "must be an array of 1 to %u states", most);
        return 0;
    }
    float *states = arena_array(&call->arena, count * dim, sizeof *states);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        char at[64];
        snprintf(at, sizeof at, "/states/%zu", i);
        good = state_read(call, json_array_get(array, i), at, dim, states + i * dim) && good;
    }
    *out = states;
    return good ? (uint32_t)count : 0;
}

uint32_t states_limit(const struct app *app, size_t work)
{
    uint32_t limit = app->settings.max_states_per_query;
    size_t most = STATES_WORK_MAX / work;
    if (most == 0)
        most = 1;
    if (most < limit)
        return (uint32_t)most;
    return limit;
}
