/* Terms out and in. */
#include "api/wire/q_terms_json.h"

#include <math.h>
#include <string.h>

#include "api/json/json_member.h"
#include "api/json/json_text.h"

static json_t *bounds_json(const struct q_terms *t)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < t->state_dim; i++)
        json_array_append_new(list,
                              json_pack("[o, o]", json_number(t->low[i]), json_number(t->high[i])));
    return list;
}

static json_t *kernel_json(const struct q_terms *t)
{
    return json_pack("{s:s, s:o}", "name", "exponential", "beta", json_number(t->beta));
}

static json_t *form_json(const struct q_terms *t)
{
    if (t->form == Q_FORM_PATH)
        return json_pack("{s:o, s:o, s:o, s:I, s:I}", "value_limit", json_number(t->value_limit),
                         "lipschitz", json_number(t->lipschitz), "kernel", kernel_json(t), "bits",
                         (json_int_t)t->bits, "knot_bits", (json_int_t)t->knot_bits);
    if (t->form == Q_FORM_FEATURES)
        return json_pack("{s:o, s:I, s:I}", "radius", json_number(t->value_limit), "features",
                         (json_int_t)t->features, "seed", (json_int_t)t->seed);
    json_t *grid = json_pack("{s:o, s:I}", "value_limit", json_number(t->value_limit), "nodes",
                             (json_int_t)t->knot_bits);
    if (t->unit != Q_UNIT_EXPERT)
        json_object_set_new(grid, "kernel", kernel_json(t));
    return grid;
}

static json_t *unit_json(const struct q_terms *t)
{
    if (t->unit == Q_UNIT_EXPERT)
        return json_pack("{s:I, s:s}", "shards", (json_int_t)t->shards, "released",
                         t->advantages ? "advantages" : "values");
    return json_pack("{s:I, s:o, s:I, s:o, s:o}", "updates", (json_int_t)t->updates, "update_rate",
                     json_number(t->rate), "batch_size", (json_int_t)t->batch, "error_limit",
                     json_number(t->error_limit), "reward_scale", json_number(t->reward_scale));
}

json_t *q_terms_json(const struct q_terms *t)
{
    json_t *json =
        json_pack("{s:s, s:s, s:I, s:I, s:o, s:s, s:o, s:o, s:o, s:o}", "unit",
                  q_unit_name(t->unit), "form", q_form_name(t->form), "state_dim",
                  (json_int_t)t->state_dim, "action_count", (json_int_t)t->action_count, "bounds",
                  bounds_json(t), "outside", t->clamps ? "clamp" : "refuse", "sensitivity",
                  json_number(t->sensitivity), "sigma", json_number(t->sigma), "mu",
                  json_number(t->mu), "noise_to_range", json_number(t->noise_to_range));
    json_object_update_new(json, form_json(t));
    json_object_update_new(json, unit_json(t));
    return json;
}

static uint32_t read_whole(const json_t *json, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(json, name));
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void read_reward(const json_t *json, struct q_terms *out)
{
    out->updates = read_whole(json, "updates");
    out->rate = json_member_number(json, "update_rate");
    out->batch = read_whole(json, "batch_size");
    out->error_limit = json_member_number(json, "error_limit");
    out->reward_scale = json_member_number(json, "reward_scale");
}

bool q_terms_read(const json_t *json, struct q_terms *out)
{

    const char *outside = json_string_value(json_object_get(json, "outside"));
    const char *unit = json_string_value(json_object_get(json, "unit"));
    int number = q_form_find(json_member_text(json, "form"));
    int kind = !unit ? Q_UNIT_EXPERT : q_unit_find(unit); /* older rows have no other */
    const json_t *bounds = json_object_get(json, "bounds");
    *out = (struct q_terms){.state_dim = read_whole(json, "state_dim"),
                            .action_count = read_whole(json, "action_count"),
                            .shards = read_whole(json, "shards"),
                            .bits = read_whole(json, "bits"),
                            .features = read_whole(json, "features"),
                            .sensitivity = json_member_number(json, "sensitivity"),
                            .sigma = json_member_number(json, "sigma"),
                            .mu = json_member_number(json, "mu"),
                            .noise_to_range = json_member_number(json, "noise_to_range")};
    if (number < 0 || kind < 0 || !outside || json_array_size(bounds) != out->state_dim ||
        out->state_dim > ENV_MAX_STATE_DIM)
        return false;
    out->form = (enum q_form)number;
    out->unit = (enum q_unit)kind;
    out->updates = 1;
    if (kind == Q_UNIT_REWARD)
        read_reward(json, out);
    const char *released = json_string_value(json_object_get(json, "released"));
    out->advantages = released && strcmp(released, "advantages") == 0;
    out->clamps = strcmp(outside, "clamp") == 0;
    for (uint32_t i = 0; i < out->state_dim; i++) {
        const json_t *one = json_array_get(bounds, i);
        out->low[i] = json_number_value(json_array_get(one, 0));
        out->high[i] = json_number_value(json_array_get(one, 1));
    }
    out->value_limit =
        json_member_number(json, number == Q_FORM_FEATURES ? "radius" : "value_limit");
    out->knot_bits = read_whole(json, number == Q_FORM_GRID ? "nodes" : "knot_bits");
    out->seed = (uint64_t)json_integer_value(json_object_get(json, "seed"));
    if (number == Q_FORM_PATH)
        out->lipschitz = json_member_number(json, "lipschitz");
    const json_t *kernel = json_object_get(json, "kernel");
    if (kernel)
        out->beta = json_member_number(kernel, "beta");
    return true;
}
