/* An agent's side of JSON. */
#include "api/wire/agent_messages.h"

#include <jansson.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/local/local_report.h"
#include "api/json/json_member.h"
#include "memory/memory.h"

#define BASE64 sodium_base64_VARIANT_ORIGINAL

static const char *const NOT_OURS =
    "the server's answer is not what an agent expects: is the token an agent's?";

/* The integer NAME of OBJECT when it is within the bounds, or -1. */
static int64_t integer_member(const json_t *object, const char *name, int64_t min, int64_t max)
{
    const json_t *value = json_object_get(object, name);
    int64_t x = json_integer_value(value);
    if (!json_is_integer(value) || x < min || x > max)
        return -1;
    return x;
}

static bool is_open(const json_t *object)
{
    const char *state = json_string_value(json_object_get(object, "state"));
    return state && strcmp(state, "open") == 0;
}

static const char *make_scheme(const json_t *object, struct agent_terms *terms)
{
    const json_t *mechanism = json_object_get(object, "mechanism");
    const struct local_mechanism *known = local_mechanism_find(json_member_text(mechanism, "name"));
    if (!known)
        return "the aggregation's mechanism is not known here";
    double projection = json_member_number(mechanism, "projection_clip");
    const struct local_parameters parameters = {
        .dimension = (uint32_t)actor_critic_count(&terms->net),
        .epsilon = json_member_number(mechanism, "epsilon_per_report"),
        .clip = json_member_number(mechanism, "clip"),
        .projection_clip = isfinite(projection) ? projection : 0.0};
    return local_scheme_make(known, &parameters, &terms->scheme);
}

static const char *agent_read_terms(const json_t *object, struct agent_terms *out)
{
    const char *environment = json_member_text(object, "environment");
    int64_t input = integer_member(object, "state_dim", 1, ENV_MAX_STATE_DIM);
    int64_t actions = integer_member(object, "action_count", 2, ENV_MAX_ACTIONS);
    int64_t hidden = integer_member(object, "hidden", 1, ACTOR_CRITIC_MAX_HIDDEN);
    out->submissions_per_agent = integer_member(object, "submissions_per_agent", 1, 1000000);
    out->epsilon = json_member_number(object, "epsilon");
    out->open = is_open(object);
    out->loss =
        (struct a3c_settings){.discount = json_member_number(object, "discount"),
                              .value_weight = json_member_number(object, "value_weight"),
                              .entropy_weight = json_member_number(object, "entropy_weight")};
    if (input < 0 || actions < 0 || hidden < 0 || out->submissions_per_agent < 0 ||
        !(out->epsilon > 0) || !(out->loss.discount >= 0 && out->loss.discount <= 1) ||
        !isfinite(out->loss.value_weight) || !isfinite(out->loss.entropy_weight))
        return NOT_OURS;
    out->net = (struct actor_critic){(uint32_t)input, (uint32_t)hidden, (uint32_t)actions};
    snprintf(out->environment, sizeof out->environment, "%s", environment);
    const char *problem = make_scheme(object, out);
    /* All reports together must cost at most the stated epsilon. */
    if (!problem &&
        !(out->scheme.epsilon * (double)out->submissions_per_agent <= out->epsilon * (1 + 1e-12)))
        problem = "the aggregation's reports cost more than the epsilon it names";
    return problem;
}

const char *agent_terms_read(const char *body, size_t size, struct agent_terms *out)
{
    json_t *object = json_loadb(body, size, 0, NULL);
    *out = (struct agent_terms){.open = false};
    const char *problem = agent_read_terms(object, out);
    json_decref(object);
    return problem;
}

static bool read_parameter_list(const json_t *list, size_t count, float *parameters)
{
    if (!json_is_array(list) || json_array_size(list) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        parameters[i] = (float)json_number_value(value);
        if (!json_is_number(value) || !isfinite(parameters[i]))
            return false;
    }
    return true;
}

static bool read_parameters(const json_t *object, size_t count, struct agent_parameters *out,
                            float *parameters)
{
    const char *seed = json_string_value(json_object_get(object, "report_seed"));
    size_t size = 0;
    out->version = integer_member(object, "version", 1, INT64_C(1) << 53);
    out->reports_left = integer_member(object, "reports_left", 0, 1000000);
    out->open = is_open(object);
    out->exploration = json_member_number(object, "exploration");
    return seed && out->version > 0 && out->reports_left >= 0 && out->exploration >= 0 &&
           out->exploration <= 1 &&
           sodium_hex2bin(out->seed, sizeof out->seed, seed, strlen(seed), NULL, &size, NULL) ==
               0 &&
           size == sizeof out->seed &&
           read_parameter_list(json_object_get(object, "parameters"), count, parameters);
}

const char *agent_parameters_read(const char *body, size_t size, const struct agent_terms *terms,
                                  struct agent_parameters *out, float *parameters)
{
    json_t *object = json_loadb(body, size, 0, NULL);
    *out = (struct agent_parameters){.open = false};
    bool good = read_parameters(object, actor_critic_count(&terms->net), out, parameters);
    json_decref(object);
    return good ? NULL : NOT_OURS;
}

char *agent_submission_write(const struct local_scheme *scheme, int64_t version,
                             const int64_t *report)
{
    size_t room = local_report_room(scheme), text_room = sodium_base64_encoded_len(room, BASE64);
    unsigned char *bytes = memory_new(room, 1);
    char *text = memory_new(text_room, 1);
    size_t size = local_report_pack(scheme, report, bytes);
    sodium_bin2base64(text, text_room, bytes, size, BASE64);
    char *out =
        memory_format("{\"version\":%lld,\"report\":{\"bytes\":\"%s\"}}", (long long)version, text);
    free(bytes);
    free(text);
    return out;
}

int64_t agent_version_read(const char *body, size_t size)
{
    json_t *object = json_loadb(body, size, 0, NULL);
    int64_t version = integer_member(object, "version", 1, INT64_C(1) << 53);
    json_decref(object);
    return version > 0 ? version : 0;
}
