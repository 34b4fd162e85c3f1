/* Recordings from JSON. A malformed recording is a fault of the file. A well-formed recording of a
 * world with settings that ours lacks is a reason not to replay that case. */
#include "api/wire/replay_file.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_text.h"
#include "api/wire/replay_settings.h"
#include "memory/memory.h"

#define OUR_RESULT "debian_box2d_2_4_1_contact600"

/* The place that is being read: the case, and the result in it. */
struct reader {
    const struct replay_world *world;
    char *fault;
    size_t index;       /* of the case */
    const char *result; /* "/debian_..." or "" */
};

__attribute__((format(printf, 2, 3))) static bool wrong(const struct reader *r, const char *format,
                                                        ...)
{
    int used = snprintf(r->fault, REPLAY_FAULT_SIZE, "/cases/%zu", r->index);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->fault + used, REPLAY_FAULT_SIZE - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

/* Reads ROW, an array of COUNT numbers, into OUT. */
static bool read_row(const json_t *row, size_t count, double *out)
{
    if (!json_is_array(row) || json_array_size(row) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(row, i);
        if (!json_is_number(value))
            return false;
        out[i] = json_number_value(value);
    }
    return true;
}

/* Reads member NAME of OBJECT: an array of at least LENGTH rows of WIDTH numbers. Further rows are
 * ignored. */
static bool read_rows(const struct reader *r, const json_t *object, const char *place,
                      const char *name, size_t length, unsigned width, double *out)
{
    const json_t *rows = json_object_get(object, name);
    if (!json_is_array(rows) || json_array_size(rows) < length)
        return wrong(r, "%s/%s must be an array with a row for each of %zu actions", place, name,
                     length);
    for (size_t t = 0; t < length; t++)
        if (!read_row(json_array_get(rows, t), width, out + t * width))
            return wrong(r, "%s/%s/%zu must be an array of %u numbers", place, name, t, width);
    return true;
}

static bool read_numbers(const struct reader *r, const json_t *object, const char *name,
                         size_t length, double *out)
{
    if (read_row(json_object_get(object, name), length, out))
        return true;
    return wrong(r, "%s/%s must be an array of %zu numbers, as many as actions", r->result, name,
                 length);
}

static bool read_flags(const struct reader *r, const json_t *object, const char *name,
                       size_t length, bool *out)
{
    const json_t *flags = json_object_get(object, name);
    bool good = json_is_array(flags) && json_array_size(flags) == length;
    for (size_t t = 0; t < length && good; t++) {
        good = json_is_boolean(json_array_get(flags, t));
        out[t] = json_is_true(json_array_get(flags, t));
    }
    return good || wrong(r, "%s/%s must be an array of %zu booleans, as many as actions", r->result,
                         name, length);
}

static bool read_actions(const struct reader *r, const json_t *actions, uint32_t *out)
{
    for (size_t t = 0; t < json_array_size(actions); t++) {
        const json_t *value = json_array_get(actions, t);
        json_int_t action = json_integer_value(value);
        if (!json_is_integer(value) || action < 0 ||
            action >= (json_int_t)r->world->env->action_count)
            return wrong(r, "%s/actions/%zu must be an action from 0 to %u", r->result, t,
                         r->world->env->action_count - 1);
        out[t] = (uint32_t)action;
    }
    return true;
}

/* ---- starts */

/* Reads the index at which wind or turbulence begins; without wind it is null, read as 0. */
static bool read_index(const json_t *initial, const char *name, double *out)
{
    const json_t *value = json_object_get(initial, name);
    *out = (double)json_integer_value(value);
    return !value || json_is_null(value) || json_is_integer(value);
}

static bool read_start(const struct reader *r, const json_t *item, double *out)
{
    if (!r->world->from_start) {
        return read_row(json_object_get(item, "initial_state"), r->world->start_numbers, out) ||
               wrong(r, "/initial_state must be an array of %u numbers", r->world->start_numbers);
    }
    const json_t *initial = json_object_get(item, "initial");
    size_t heights = r->world->start_numbers - 4;
    if (!read_row(json_object_get(initial, "terrain_heights"), heights, out))
        return wrong(r, "/initial/terrain_heights must be an array of %zu numbers", heights);
    if (!read_row(json_object_get(initial, "initial_force"), 2, out + heights))
        return wrong(r, "/initial/initial_force must be an array of 2 numbers");
    return (read_index(initial, "wind_idx", out + heights + 2) &&
            read_index(initial, "torque_idx", out + heights + 3)) ||
           wrong(r, "/initial/wind_idx and torque_idx must be integers or null");
}

/* Reads the random numbers of each step. */
static bool read_chance(const struct reader *r, const json_t *item, size_t length, double *out)
{
    const char *name = r->world->from_start ? "dispersion" : "efficacies";
    if (!read_rows(r, item, "", name, length, r->world->chance_numbers, out))
        return false;
    for (size_t i = 0; i < length * r->world->chance_numbers; i++) {
        if (!(out[i] >= (r->world->from_start ? -1.0 : 0.0) && out[i] <= 1.0))
            return wrong(r, "/%s/%zu has a number out of range", name,
                         i / r->world->chance_numbers);
    }
    return true;
}

/* ---- a case */

static bool has_chance(const struct reader *r, const json_t *item)
{
    return r->world->chance_needed ||
           (r->world->chance_numbers > 0 && json_object_get(item, "efficacies"));
}

/* Reads the arrays of ITEM and of its RESULT into one block, doubles first. */
static bool read_arrays(const struct reader *r, const json_t *item, const json_t *result,
                        struct replay_file_case *out)
{
    const json_t *actions = json_object_get(result, "actions");
    size_t length = json_array_size(actions);
    if (length == 0)
        return wrong(r, "%s/actions must be an array of at least one action", r->result);
    size_t width = r->world->numbers, chances = 0;
    if (has_chance(r, item))
        chances = r->world->chance_numbers;
    size_t doubles = r->world->start_numbers + length * (width + chances + 1);
    out->memory = memory_new(1, doubles * sizeof(double) + length * (sizeof(uint32_t) + 2));
    double *start = out->memory, *states = start + r->world->start_numbers;
    double *rewards = states + length * width, *drawn = rewards + length;
    uint32_t *numbers = (void *)(drawn + length * chances);
    bool *terminated = (bool *)(numbers + length), *truncated = terminated + length;
    struct replay_case *c = &out->recorded;
    c->length = length;
    c->start = start;
    c->actions = numbers;
    c->chance = chances > 0 ? drawn : NULL;
    c->states = states;
    c->rewards = rewards;
    c->terminated = terminated;
    c->truncated = truncated;
    return read_start(r, item, start) && read_actions(r, actions, numbers) &&
           read_rows(r, result, r->result, "states", length, r->world->numbers, states) &&
           read_numbers(r, result, "rewards", length, rewards) &&
           read_flags(r, result, "terminated", length, terminated) &&
           read_flags(r, result, "truncated", length, truncated) &&
           (chances == 0 || read_chance(r, item, length, drawn));
}

/* False, with REASON, when the case had noise that was not recorded: it cannot be replayed. */
static bool is_repeatable(const struct reader *r, const json_t *item, const struct replay_case *c,
                          char *reason)
{
    int noise = env_parameter_index(r->world->env, "efficacy_noise_sd");
    if (noise < 0 || c->parameters[noise] == 0.0 || has_chance(r, item))
        return true;
    snprintf(reason, REPLAY_REASON_SIZE, "efficacies, which were noisy, are not recorded");
    return false;
}

static bool read_case(struct reader *r, const json_t *item, struct replay_file_case *out)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const json_t *params = json_object_get(item, "params");
    const json_t *result = json_object_get(item, OUR_RESULT);
    r->result = result ? "/" OUR_RESULT : "";
    if (!name)
        return wrong(r, "/name must be a text");
    if (params && !json_is_object(params))
        return wrong(r, "/params must be an object");
    out->name = memory_copy_text(name);
    if (!replay_settings_read(r->world, params, &out->recorded, out->reason, sizeof out->reason) ||
        !is_repeatable(r, item, &out->recorded, out->reason))
        return true;
    return read_arrays(r, item, result ? result : item, out);
}

/* ---- the file */

/* "LunarLander-v3 (discrete)" is LunarLander-v3. */
static const struct replay_world *find_world(const char *text)
{
    char name[64];
    size_t length = strcspn(text, " (");
    if (length >= sizeof name)
        return NULL;
    memcpy(name, text, length);
    name[length] = '\0';
    return replay_find(name);
}

static bool refuse_world(const json_t *env, char *fault)
{
    unsigned count;
    const struct replay_world *all = replay_all(&count);
    const char *name = json_string_value(env);
    int used =
        name ? snprintf(fault, REPLAY_FAULT_SIZE, "/env: there is no world \"%.60s\", only", name)
             : snprintf(fault, REPLAY_FAULT_SIZE, "/env must be the name of a world:");
    for (unsigned i = 0; i < count && used < REPLAY_FAULT_SIZE; i++)
        used += snprintf(fault + used, REPLAY_FAULT_SIZE - (size_t)used, "%s %s", i > 0 ? "," : "",
                         all[i].env->name);
    return false;
}

static bool read_cases(const json_t *json, struct replay_file *out, char *fault)
{
    const json_t *env = json_object_get(json, "env"), *cases = json_object_get(json, "cases");
    const char *name = json_string_value(env);
    out->world = name ? find_world(name) : NULL;
    if (!out->world)
        return refuse_world(env, fault);
    if (json_array_size(cases) == 0) {
        snprintf(fault, REPLAY_FAULT_SIZE, "/cases must be an array of at least one case");
        return false;
    }
    struct reader reader = {.world = out->world, .fault = fault};
    out->count = json_array_size(cases);
    out->cases = memory_new(out->count, sizeof *out->cases);
    for (size_t i = 0; i < out->count; i++) {
        reader.index = i;
        if (!read_case(&reader, json_array_get(cases, i), &out->cases[i]))
            return false;
    }
    return true;
}

bool replay_file_read(const char *bytes, size_t size, struct replay_file *out,
                      char fault[REPLAY_FAULT_SIZE])
{
    json_t *json = NULL;
    struct json_fault reason;
    *out = (struct replay_file){0};
    if (json_text_parse(bytes, size, &json, &reason) != JSON_TEXT_GOOD) {
        snprintf(fault, REPLAY_FAULT_SIZE, "%s%s%s", reason.pointer,
                 reason.pointer[0] == '\0' ? "" : ": ", reason.detail);
        return false;
    }
    bool good = read_cases(json, out, fault);
    json_decref(json);
    return good;
}

void replay_file_clear(struct replay_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        free(file->cases[i].name);
        free(file->cases[i].memory);
    }
    free(file->cases);
    *file = (struct replay_file){0};
}
