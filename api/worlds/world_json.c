/* DESIGN. Strict: an answer has exactly the members of the contract. A misspelled "truncated" that
 * was ignored would give returns that look right but are wrong. Numbers must fit into float, in
 * which policies see them and recordings keep them. */
#include "api/worlds/world_json.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/json_text.h"
#include "memory/memory.h"

#define EPISODE_STEPS_MAX 1000000

static const char *const texts[] = {
    [WORLD_OK] = "did well",
    [WORLD_NOT_STARTED] = "could not be started: processes or descriptors are short",
    [WORLD_NOT_SEALED] =
        "was not started: this system does not let the server keep a client's program apart",
    [WORLD_NO_RUNNER] = "was not started: the operator of this server does not allow its runner",
    [WORLD_BUSY] = "was not started: another one is being checked",
    [WORLD_LATE] = ("did not answer in time: --world-timeout, 10 s by default, limits each answer, "
                    "and the first one includes the program's start"),
    [WORLD_ENDED] = "ended, or closed its output, before it had answered",
    [WORLD_TOO_LONG] = "answered with a line of more than 65536 bytes",
    [WORLD_OUT_OF_TURN] = "wrote something that it had not been asked for",
    [WORLD_NOT_JSON] = "answered with a line that is not one JSON object (there is no NaN in JSON)",
    [WORLD_BAD_MEMBERS] =
        "answered with a member that is missing, unknown or of another type than it must be",
    [WORLD_BAD_LENGTH] = "answered with an observation that has not state_dim numbers",
    [WORLD_BAD_NUMBER] = "answered with a number that is not finite in single precision",
    [WORLD_REPORTED] = "reported an error",
    [WORLD_CHANGED] = "describes another world than it did at first",
    [WORLD_SLOW] = "took longer for the whole than the server allows",
    [WORLD_TOO_MANY] = "was asked for more instances at once than there may be",
    [WORLD_STOPPED] = "was stopped",
};
_Static_assert(sizeof texts / sizeof texts[0] == WORLD_FAULTS, "each fault has its sentence");

const char *world_fault_text(enum world_fault fault)
{
    assert(fault >= 0 && fault < WORLD_FAULTS);
    return texts[fault];
}

static json_t *facts_parameter(const struct world_parameter_facts *p)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:s}", "name", p->name, "default",
                     json_number(p->value), "minimum", json_number(p->min), "maximum",
                     json_number(p->max), "unit", p->unit, "meaning", p->meaning);
}

char *world_json_facts(const struct world_facts *facts)
{
    json_t *parameters = json_array();
    for (uint32_t i = 0; i < facts->parameter_count; i++)
        json_array_append_new(parameters, facts_parameter(&facts->parameters[i]));
    json_t *json =
        json_pack("{s:i, s:i, s:i, s:i, s:o}", "protocol", WORLD_PROTOCOL, "state_dim",
                  (int)facts->state_dim, "action_count", (int)facts->action_count,
                  "max_episode_steps", (int)facts->max_episode_steps, "parameters", parameters);
    if (!isnan(facts->random_return))
        json_object_set_new(json, "random_return", json_number(facts->random_return));
    size_t size;
    char *text = memory_must(json_text_write(json, false, &size));
    json_decref(json);
    return text;
}

static bool equal_parameters(const struct world_parameter_facts *a,
                             const struct world_parameter_facts *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0 &&
           strcmp(a->meaning, b->meaning) == 0 && a->value == b->value && a->min == b->min &&
           a->max == b->max;
}

bool world_facts_equal(const struct world_facts *a, const struct world_facts *b)
{
    bool returns = a->random_return == b->random_return ||
                   (isnan(a->random_return) && isnan(b->random_return));
    bool equal = returns && a->state_dim == b->state_dim && a->action_count == b->action_count &&
                 a->max_episode_steps == b->max_episode_steps &&
                 a->parameter_count == b->parameter_count;
    for (uint32_t i = 0; equal && i < a->parameter_count; i++)
        equal = equal_parameters(&a->parameters[i], &b->parameters[i]);
    return equal;
}

/* ---- questions */

size_t world_json_ask_description(char out[WORLD_QUESTION_MAX])
{
    return (size_t)snprintf(out, WORLD_QUESTION_MAX, "{\"describe\":%d}\n", WORLD_PROTOCOL);
}

size_t world_json_ask_reset(const struct world_facts *facts, uint32_t instance, uint64_t seed,
                            const double *parameters, char out[WORLD_QUESTION_MAX])
{
    assert(seed < UINT64_C(1) << 53);
    size_t at = (size_t)snprintf(out, WORLD_QUESTION_MAX,
                                 "{\"reset\":{\"instance\":%" PRIu32 ",\"seed\":%" PRIu64
                                 ",\"parameters\":{",
                                 instance, seed);
    for (uint32_t i = 0; i < facts->parameter_count; i++) {
        char number[32]; /* names are plain: no escapes */
        json_text_number(parameters[i], number);
        at += (size_t)snprintf(out + at, WORLD_QUESTION_MAX - at, "%.*s\"%s\":%s", i > 0, ",",
                               facts->parameters[i].name, number);
    }
    at += (size_t)snprintf(out + at, WORLD_QUESTION_MAX - at, "}}}\n");
    assert(at < WORLD_QUESTION_MAX);
    return at;
}

size_t world_json_ask_step(uint32_t instance, unsigned action, char out[WORLD_QUESTION_MAX])
{
    return (size_t)snprintf(out, WORLD_QUESTION_MAX,
                            "{\"step\":{\"instance\":%" PRIu32 ",\"action\":%u}}\n", instance,
                            action);
}

/* ---- answers */

/* Parses the object on LINE into *OUT, a new reference. */
static enum world_fault answer_parse(const char *line, size_t size, json_t **out)
{
    struct json_fault fault;
    json_t *value = NULL;
    switch (json_text_parse(line, size, &value, &fault)) {
    case JSON_TEXT_GOOD: break;
    case JSON_TEXT_INVALID: /* 1e999, or U+0000 in a text */ return WORLD_BAD_NUMBER;
    default: return WORLD_NOT_JSON;
    }
    enum world_fault fault_found = WORLD_OK;
    if (!json_is_object(value))
        fault_found = WORLD_NOT_JSON;
    else if (json_is_string(json_object_get(value, "error")))
        fault_found = WORLD_REPORTED;
    if (fault_found == WORLD_OK)
        *out = value;
    else
        json_decref(value);
    return fault_found;
}

static bool answer_number(const json_t *json, double *out)
{
    *out = json_number_value(json);
    return json_is_number(json) && fabs(*out) <= (double)FLT_MAX;
}

static enum world_fault read_observation(const json_t *answer, unsigned state_dim,
                                         double *observation)
{
    const json_t *array = json_object_get(answer, "observation");
    if (!json_is_array(array))
        return WORLD_BAD_MEMBERS;
    if (json_array_size(array) != state_dim)
        return WORLD_BAD_LENGTH;
    for (unsigned i = 0; i < state_dim; i++) {
        const json_t *number = json_array_get(array, i);
        if (!json_is_number(number))
            return WORLD_BAD_MEMBERS;
        if (!answer_number(number, &observation[i]))
            return WORLD_BAD_NUMBER;
    }
    return WORLD_OK;
}

enum world_fault world_json_observation(const char *line, size_t size, unsigned state_dim,
                                        double *observation)
{
    json_t *answer = NULL;
    enum world_fault status = answer_parse(line, size, &answer);
    if (status == WORLD_OK) {
        if (json_object_size(answer) == 1)
            status = read_observation(answer, state_dim, observation);
        else
            status = WORLD_BAD_MEMBERS;
        json_decref(answer);
    }
    return status;
}

static enum world_fault read_step(const json_t *answer, unsigned state_dim, double *observation,
                                  struct env_outcome *out)
{
    const json_t *reward = json_object_get(answer, "reward");
    const json_t *terminated = json_object_get(answer, "terminated");
    *out = (struct env_outcome){.terminated = json_is_true(terminated)};
    if (json_object_size(answer) != 3 || !json_is_number(reward) || !json_is_boolean(terminated))
        return WORLD_BAD_MEMBERS;
    if (answer_number(reward, &out->reward))
        return read_observation(answer, state_dim, observation);
    return WORLD_BAD_NUMBER;
}

enum world_fault world_json_step(const char *line, size_t size, unsigned state_dim,
                                 double *observation, struct env_outcome *out)
{
    json_t *answer = NULL;
    enum world_fault status = answer_parse(line, size, &answer);
    if (status == WORLD_OK) {
        status = read_step(answer, state_dim, observation, out);
        json_decref(answer);
    }
    return status;
}

/* ---- the description */

struct reading {
    const json_t *answer;
    char *detail; /* [160]; filled by the first that is wrong */
    size_t known; /* members that were looked for and are there */
};

static bool description_wrong(const struct reading *reading, const char *name, const char *must)
{
    snprintf(reading->detail, 160, "its member \"%s\" %s", name, must);
    return false;
}

static bool description_count(struct reading *reading, const char *name, unsigned least,
                              unsigned most, uint32_t *out)
{
    const json_t *json = json_object_get(reading->answer, name);
    json_int_t value = json_integer_value(json);
    char must[64];
    reading->known += json != NULL;
    if (!json_is_integer(json) || value < least || value > most) {
        snprintf(must, sizeof must, "must be an integer from %u to %u", least, most);
        return description_wrong(reading, name, must);
    }
    *out = (uint32_t)value;
    return true;
}

/* A text without control characters; one that is not there is "". */
static bool description_text(struct reading *reading, const char *name, char *out, size_t size)
{
    const json_t *json = json_object_get(reading->answer, name);
    const char *text = "";
    if (json)
        text = json_string_value(json);
    reading->known += json != NULL;
    if (!text || strlen(text) >= size) {
        char must[64];
        snprintf(must, sizeof must, "must be a text of at most %zu bytes", size - 1);
        return description_wrong(reading, name, must);
    }
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return description_wrong(reading, name, "may not hold control characters");
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool description_real(struct reading *reading, const char *name, double *out)
{
    const json_t *json = json_object_get(reading->answer, name);
    reading->known += json != NULL;
    return answer_number(json, out) || description_wrong(reading, name, "must be a number");
}

/* "gravity", "pole_length": what needs no escape anywhere. */
static bool plain_name(const char *name)
{
    bool letter = name[0] >= 'a' && name[0] <= 'z';
    return letter && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static bool all_known(const struct reading *reading)
{
    return reading->known == json_object_size(reading->answer) ||
           description_wrong(reading, "*", "beside those of the contract is not known");
}

static bool description_parameter(const json_t *json, char *detail,
                                  struct world_parameter_facts *out)
{
    struct reading reading = {.answer = json, .detail = detail};
    if (!json_is_object(json))
        return description_wrong(&reading, "parameters", "must hold objects");
    if (!description_text(&reading, "name", out->name, sizeof out->name) ||
        !description_text(&reading, "unit", out->unit, sizeof out->unit) ||
        !description_text(&reading, "meaning", out->meaning, sizeof out->meaning) ||
        !description_real(&reading, "default", &out->value) ||
        !description_real(&reading, "minimum", &out->min) ||
        !description_real(&reading, "maximum", &out->max) || !all_known(&reading))
        return false;
    if (!plain_name(out->name))
        return description_wrong(&reading, "name",
                                 "must be of a-z, 0-9 and _, and begin with a letter");
    return (out->min <= out->value && out->value <= out->max) ||
           description_wrong(&reading, "default", "must be from minimum to maximum");
}

static bool description_parameters(struct reading *reading, struct world_facts *out)
{
    const json_t *array = json_object_get(reading->answer, "parameters");
    reading->known += array != NULL;
    if (array && (!json_is_array(array) || json_array_size(array) > ENV_MAX_PARAMETERS))
        return description_wrong(reading, "parameters", "must be an array of at most 16");
    out->parameter_count = (uint32_t)json_array_size(array);
    for (uint32_t i = 0; i < out->parameter_count; i++) {
        if (!description_parameter(json_array_get(array, i), reading->detail, &out->parameters[i]))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(out->parameters[k].name, out->parameters[i].name) == 0)
                return description_wrong(reading, "parameters", "names one of them twice");
    }
    return true;
}
_Static_assert(ENV_MAX_PARAMETERS == 16, "the sentence says so");

static bool read_description(struct reading *reading, struct world_facts *out)
{
    uint32_t protocol = 0;
    const json_t *random_return = json_object_get(reading->answer, "random_return");
    out->random_return = (double)NAN;
    return description_count(reading, "protocol", WORLD_PROTOCOL, WORLD_PROTOCOL, &protocol) &&
           description_count(reading, "state_dim", 1, ENV_MAX_STATE_DIM, &out->state_dim) &&
           description_count(reading, "action_count", 2, ENV_MAX_ACTIONS, &out->action_count) &&
           description_count(reading, "max_episode_steps", 1, EPISODE_STEPS_MAX,
                             &out->max_episode_steps) &&
           (!random_return || description_real(reading, "random_return", &out->random_return)) &&
           description_parameters(reading, out) && all_known(reading);
}

enum world_fault world_json_description(const char *line, size_t size, struct world_facts *out,
                                        char detail[160])
{
    json_t *answer = NULL;
    memset(out, 0, sizeof *out);
    detail[0] = '\0';
    enum world_fault status = answer_parse(line, size, &answer);
    if (status != WORLD_OK)
        return status;
    struct reading reading = {.answer = answer, .detail = detail};
    if (!read_description(&reading, out))
        status = WORLD_BAD_MEMBERS;
    json_decref(answer);
    return status;
}
