/* Results of replays as JSON. Steps count from 1; null where there is none. */
#include "api/wire/replay_json.h"

#include <stdlib.h>

#include "api/json/json_member.h"
#include "api/json/json_text.h"

static json_t *step_json(size_t step)
{
    return step > 0 ? json_integer((json_int_t)step) : json_null();
}

static json_t *case_json(const struct replay_file_case *item, const struct replay_result *r)
{
    if (item->reason[0] != '\0')
        return json_pack("{s:s, s:b, s:s}", "name", item->name, "compared", 0, "reason",
                         item->reason);
    bool agrees = r->states_agree && r->rewards_agree && r->flags_agree;
    return json_pack("{s:s, s:b, s:I, s:o, s:o, s:b, s:b, s:o, s:o, s:b, s:o, s:b}", "name",
                     item->name, "compared", 1, "steps", (json_int_t)item->recorded.length,
                     "largest_error", json_number(r->error), "largest_error_step",
                     step_json(r->error_step), "states_agree", r->states_agree, "rewards_agree",
                     r->rewards_agree, "largest_reward_error", json_number(r->reward_error),
                     "largest_reward_error_step", step_json(r->reward_step), "flags_agree",
                     r->flags_agree, "first_flags_that_differ_step", step_json(r->flags_step),
                     "agrees", agrees);
}

/* One number, or what is allowed at the first and at the last step. */
static json_t *tolerance_json(const struct replay_world *world, const double *tolerance)
{
    if (tolerance || !world->tolerance_at)
        return json_number(tolerance ? *tolerance : world->tolerance);
    return json_pack("[o, o]", json_number(world->tolerance_at(1)),
                     json_number(world->tolerance_at(SIZE_MAX)));
}

char *replay_json_of_file(const char *name, const struct replay_file *file,
                          const struct replay_result *results, const double *tolerance)
{
    json_t *cases = json_array();
    for (size_t i = 0; i < file->count; i++)
        json_list_add(&cases, case_json(&file->cases[i], &results[i]));
    json_t *shown = json_or_null(json_string(name)); /* null when it is no UTF-8 */
    const char *from = file->world->from_start ? "the start" : "the recorded state";
    json_t *all = json_pack("{s:o, s:s, s:s, s:o, s:o}", "file", shown, "environment",
                            file->world->env->name, "steps_start_from", from, "tolerance",
                            tolerance_json(file->world, tolerance), "cases", cases);
    size_t size;
    char *text = json_text_write(all, false, &size);
    json_decref(all);
    return text;
}
