/* The Open Inference Protocol: its messages to and from questions.
 *
 * DESIGN. Tensors come as JSON numbers, flat or nested, and go out flat. The protocol's binary
 * extension is not supported: a request for it is refused with that reason. A query's members that
 * the protocol lacks are sent as "parameters", and so are an answer's members beside its numbers.
 */
#include "api/teachers/inference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/budget.h"
#include "api/call/charged.h"
#include "api/call/fields.h"
#include "api/call/health.h"
#include "api/json/json_text.h"
#include "api/teachers/query_prepare.h"
#include "api/teachers/teachers.h"

/* Numbers may stand in arrays of arrays, as many deep as the tensor has dimensions. */
#define RANK   2

#define BINARY "this server takes and gives tensors as JSON"

static const char *const datatypes[] = {"FP32", "FP64", NULL};

enum problem api_inference_server(struct call *call)
{
    return call_reply_json(call, 200,
                           json_pack("{s:s, s:s, s:[]}", "name", "tacet", "version",
                                     call->app->settings.version, "extensions"));
}

enum problem api_inference_live(struct call *call)
{
    return call_reply_json(call, 200, json_pack("{s:b}", "live", 1));
}

enum problem api_inference_ready(struct call *call)
{
    enum problem problem = health_check_ready(call);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(call, 200, json_pack("{s:b}", "ready", 1));
}

/* ---- the model */

enum problem api_inference_model_ready(struct call *call)
{
    struct teacher_row row;
    enum problem problem = teacher_of_call(call, &row);
    if (problem == PROBLEM_NONE)
        problem = teacher_check_open(call, row.id);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(call, 200, json_pack("{s:s, s:b}", "name", row.id, "ready", 1));
}

enum problem api_inference_model(struct call *call)
{
    struct query *query = NULL;
    enum problem problem = query_start(call, &query);
    if (problem != PROBLEM_NONE)
        return problem;
    const struct shelved_teacher *t = query->teacher;
    json_t *model =
        json_pack("{s:s, s:s, s:[{s:s, s:s, s:[i,i]}], s:[{s:s, s:s, s:[i,i]}]}", "name", t->row.id,
                  "platform", "tacet_teacher", "inputs", "name", "state", "datatype", "FP32",
                  "shape", -1, (int)t->state_dim, "outputs", "name", "probabilities", "datatype",
                  "FP64", "shape", -1, (int)t->teacher.actions);
    return call_reply_json(call, 200, model);
}

/* ---- the request */

/* False with a fault at POINTER when PARAMETERS (may be NULL) ask for the binary extension. */
static bool check_binary(struct call *call, const json_t *parameters, const char *pointer)
{
    if (!json_object_get(parameters, "binary_data_size") &&
        !json_is_true(json_object_get(parameters, "binary_data")))
        return true;
    call_invalid(call, pointer, "must not ask for binary tensors: " BINARY);
    return false;
}

/* Flattens ARRAY into OUT, which has room for COUNT numbers. False: not that many finite ones. */
static bool inference_flatten(const json_t *array, unsigned depth, float *out, size_t count,
                              size_t *used)
{
    size_t i;
    const json_t *element;
    json_array_foreach(array, i, element)
    {
        if (json_is_array(element) && depth > 1) {
            if (!inference_flatten(element, depth - 1, out, count, used))
                return false;
            continue;
        }
        if (!json_is_number(element) || *used == count)
            return false;
        out[*used] = (float)json_number_value(element);
        if (!isfinite(out[(*used)++]))
            return false;
    }
    return true;
}

static bool inference_read_shape(struct query *query, const json_t *shape)
{
    struct call *call = query->call;
    uint32_t dim = query->teacher->state_dim;
    uint32_t most = states_limit(call->app, query->teacher->work);
    double sides[RANK];
    if (fields_numbers(call, shape, "/inputs/0/shape", sides, RANK, true) < 0)
        return false;
    if (!(sides[0] >= 1 && sides[0] <= most) || sides[0] != floor(sides[0]) || sides[1] != dim) {
        call_invalid(call, "/inputs/0/shape", "must be [n, %u] with n from 1 to %u", dim, most);
        return false;
    }
    query->count = (uint32_t)sides[0];
    return true;
}

static bool inference_read_tensor(struct query *query, const json_t *input)
{
    struct call *call = query->call;
    const char *name = NULL;
    int datatype = -1;
    json_t *shape = NULL, *data = NULL, *parameters = NULL;
    const struct field fields[] = {
        field_text("name", &name, 1, 64),
        field_choice("datatype", &datatype, datatypes),
        field_array("shape", &shape, 0, 1024),
        field_array("data", &data, 0, SIZE_MAX),
        field_optional(field_object("parameters", &parameters)),
    };
    if (!check_binary(call, json_object_get(input, "parameters"), "/inputs/0/parameters") ||
        !fields_read(call, input, "/inputs/0", fields, sizeof fields / sizeof fields[0]))
        return false;
    if (strcmp(name, "state") != 0) {
        call_invalid(call, "/inputs/0/name", "must be \"state\"");
        return false;
    }
    if (!inference_read_shape(query, shape))
        return false;
    size_t count = (size_t)query->count * query->teacher->state_dim, used = 0;
    query->states = arena_array(&call->arena, count, sizeof(float));
    if (!inference_flatten(data, RANK, query->states, count, &used) || used != count) {
        call_invalid(call, "/inputs/0/data",
                     "must be %zu numbers within the range of a 32-bit float, as its shape says",
                     count);
        return false;
    }
    return true;
}

static bool check_outputs(struct call *call, const json_t *outputs)
{
    size_t i;
    const json_t *output;
    json_array_foreach(outputs, i, output)
    {
        const char *name = json_string_value(json_object_get(output, "name"));
        if (!name || strcmp(name, "probabilities") != 0) {
            call_invalid(call, "/outputs", "the one output is \"probabilities\"");
            return false;
        }
        if (!check_binary(call, json_object_get(output, "parameters"), "/outputs"))
            return false;
    }
    return true;
}

/* Reads the members of a query beside its states. */
static bool read_wishes(struct query *query, const json_t *parameters)
{
    bool binary = false;
    const struct field fields[] = {
        field_optional(field_positive("concentration", &query->wished_concentration, 1e12)),
        field_optional(field_positive("max_epsilon", &query->max_epsilon, 1e9)),
        field_optional(field_bool("binary_data_output", &binary)),
    };
    if (!parameters)
        return true;
    if (!fields_read(query->call, parameters, "/parameters", fields,
                     sizeof fields / sizeof fields[0]))
        return false;
    if (binary)
        call_invalid(query->call, "/parameters/binary_data_output", "must be false: " BINARY);
    return !binary;
}

static bool inference_read_request(struct query *query, const char **out_id)
{
    struct call *call = query->call;
    json_t *inputs = NULL, *outputs = NULL, *parameters = NULL;
    const struct field fields[] = {
        field_optional(field_text("id", out_id, 1, 255)),
        field_array("inputs", &inputs, 1, 1),
        field_optional(field_array("outputs", &outputs, 0, 1)),
        field_optional(field_object("parameters", &parameters)),
    };
    query->batch = true;
    return fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]) &&
           read_wishes(query, parameters) && check_outputs(call, outputs) &&
           inference_read_tensor(query, json_array_get(inputs, 0));
}

/* ---- the answer */

/* The answer's parameters. They are scalars, because the protocol allows no objects here. */
static json_t *inference_terms(const struct query_answer *answer)
{
    double level;
    const char *setting = query_reply_setting(answer, &level);
    const struct ledger_account *account = answer->account;
    int64_t before = account->spent_units - answer->cost.units;
    double spent = budget_epsilon(account, account->spent_units);
    json_t *terms = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:s}", "query", answer->id, setting,
        json_number(level), "error_radius", json_number(answer->error_radius), "cost_epsilon",
        json_number(budget_epsilon_added(account, before, answer->cost.units)), "spent_epsilon",
        json_number(spent), "remaining_epsilon", json_number(fmax(0, account->epsilon - spent)),
        "protects", query_reply_protects(answer), "does_not_protect", query_reply_exposes(answer));
    if (answer->floor)
        json_object_set_new(terms, "at_floor", json_string("uniform"));
    if (answer->random)
        json_object_set_new(terms, "random", json_true());
    return terms;
}

static json_t *inference_message(const struct query *query, const struct query_answer *answer,
                                 const char *id)
{
    size_t numbers = (size_t)answer->count * answer->actions;
    json_t *data = json_array();
    for (size_t i = 0; i < numbers; i++)
        json_array_append_new(data, json_number(answer->probabilities[i]));
    json_t *reply = json_pack("{s:s, s:o, s:[{s:s, s:s, s:[i,i], s:o}]}", "model_name",
                              query->teacher->row.id, "parameters", inference_terms(answer),
                              "outputs", "name", "probabilities", "datatype", "FP64", "shape",
                              (int)answer->count, (int)answer->actions, "data", data);
    if (id)
        json_object_set_new(reply, "id", json_string(id));
    return reply;
}

/* Reads the call's question, and the ID that its answer repeats. */
static enum problem inference_start(struct call *call, struct query **query, const char **out_id)
{
    enum problem problem = query_start(call, query);
    if (problem == PROBLEM_NONE && !inference_read_request(*query, out_id))
        return PROBLEM_VALIDATION;
    return problem;
}

enum problem api_inference_prepare(struct call *call)
{
    struct query *query = NULL;
    const char *id = NULL;
    enum problem problem = inference_start(call, &query, &id);
    return problem == PROBLEM_NONE ? query_prepare(query) : problem;
}

enum problem api_inference_infer(struct call *call)
{
    struct query *query = NULL;
    struct query_answer answer;
    const char *id = NULL;
    enum problem problem = inference_start(call, &query, &id);
    if (problem != PROBLEM_NONE)
        return problem;
    query->keeps_paid = true;
    if ((problem = query_admit(query)) != PROBLEM_NONE ||
        (problem = query_settle(query, &answer)) != PROBLEM_NONE)
        return problem;
    if (answer.paid)
        charged_show(call, answer.paid, false);
    return call_reply_json(call, 200, inference_message(query, &answer, id));
}
