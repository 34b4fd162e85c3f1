/* A student's side of JSON. */
#include "api/wire/student_messages.h"

#include <jansson.h>
#include <math.h>

#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "envs/env.h"

static const char *const NOT_OURS =
    "the server's answer is not what a student expects: is it a teacher of this service?";

/* The last side of the first tensor's shape; 0 when there is none. */
static uint32_t tensor_width(const json_t *model, const char *tensors, json_int_t most)
{
    const json_t *tensor = json_array_get(json_object_get(model, tensors), 0);
    const json_t *side = json_array_get(json_object_get(tensor, "shape"), 1);
    json_int_t value = json_integer_value(side);
    return value >= 1 && value <= most ? (uint32_t)value : 0;
}

const char *student_model_read(const char *body, size_t size, uint32_t *out_state_dim,
                               uint32_t *out_actions)
{
    json_t *model = json_loadb(body, size, 0, NULL);
    *out_state_dim = tensor_width(model, "inputs", ENV_MAX_STATE_DIM);
    *out_actions = tensor_width(model, "outputs", ENV_MAX_ACTIONS);
    json_decref(model);
    return *out_state_dim > 0 && *out_actions > 0 ? NULL : NOT_OURS;
}

char *student_query_write(const float *states, uint32_t count, uint32_t dim, double concentration)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_t *row = json_array();
        for (uint32_t d = 0; d < dim; d++)
            json_array_append_new(row, json_number(states[(size_t)i * dim + d]));
        json_array_append_new(rows, row);
    }
    json_t *query = json_pack("{s:o}", "states", rows);
    if (concentration > 0)
        json_object_set_new(query, "concentration", json_real(concentration));
    char *text = json_dumps(query, JSON_COMPACT);
    json_decref(query);
    return text;
}

/* A number that is at least 0, or NAN. */
static double read_amount(const json_t *object, const char *name)
{
    double x = json_member_number(object, name);
    return x >= 0 && isfinite(x) ? x : NAN;
}

static bool read_probabilities(const json_t *rows, uint32_t count, uint32_t actions, double *out)
{
    bool good = json_array_size(rows) == count;
    for (uint32_t i = 0; i < count && good; i++) {
        const json_t *row = json_array_get(rows, i);
        good = json_array_size(row) == actions;
        for (uint32_t a = 0; a < actions && good; a++) {
            const json_t *value = json_array_get(row, a);
            double p = *out++ = json_number_value(value);
            good = json_is_number(value) && p >= 0 && p <= 1;
        }
    }
    return good;
}

const char *student_answer_read(const char *body, size_t size, uint32_t count, uint32_t actions,
                                double *out_probabilities, struct student_answer *out)
{
    json_t *answer = json_loadb(body, size, 0, NULL);
    const json_t *spent = json_object_get(answer, "spent"), *cost = json_object_get(answer, "cost");
    *out = (struct student_answer){
        .radius = read_amount(answer, "error_radius"),
        .spent_epsilon = read_amount(spent, "epsilon"),
        .spent_delta = read_amount(spent, "delta"),
        .remaining_epsilon = read_amount(json_object_get(answer, "remaining"), "epsilon"),
        .cost_epsilon = read_amount(cost, "epsilon"),
        .cost_delta = read_amount(cost, "delta"),
        .random = json_is_true(json_object_get(answer, "random")),
    };
    bool good = isfinite(out->radius) && isfinite(out->spent_epsilon) &&
                isfinite(out->spent_delta) && isfinite(out->remaining_epsilon) &&
                isfinite(out->cost_epsilon) && isfinite(out->cost_delta) &&
                read_probabilities(json_object_get(answer, "probabilities"), count, actions,
                                   out_probabilities);
    json_decref(answer);
    return good ? NULL : NOT_OURS;
}
