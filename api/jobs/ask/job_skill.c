/* The scale of skill between JSON and its struct. */
#include "api/jobs/ask/job_parts.h"

#include "api/call/fields.h"
#include "api/json/json_text.h"

#define SKILL_POWER    8
#define SKILL_EPISODES 16
#define SKILL_RETURN   1e15 /* largest of either sign */

void job_skill_read(struct call *call, const json_t *object, struct skill_scale *out)
{
    int64_t episodes = SKILL_EPISODES;
    out->power = SKILL_POWER;
    const struct field fields[] = {
        field_number("low", &out->low, -SKILL_RETURN, SKILL_RETURN),
        field_number("high", &out->high, -SKILL_RETURN, SKILL_RETURN),
        field_optional(field_positive("power", &out->power, 100)),
        field_optional(field_integer("episodes", &episodes, 1, SKILL_MAX_EPISODES)),
    };
    bool read = fields_read(call, object, "/privacy/consensus/skill", fields,
                            sizeof fields / sizeof fields[0]);
    out->episodes = (uint32_t)episodes;
    if (read && out->high <= out->low)
        call_invalid(call, "/privacy/consensus/skill/high", "must be above low");
}

json_t *job_skill_json(const struct skill_scale *skill)
{
    if (skill->power <= 0)
        return NULL;
    return json_pack("{s:o, s:o, s:o, s:I}", "low", json_number(skill->low), "high",
                     json_number(skill->high), "power", json_number(skill->power), "episodes",
                     (json_int_t)skill->episodes);
}

struct skill_scale job_skill_parse(const json_t *json)
{
    return (struct skill_scale){
        .low = json_number_value(json_object_get(json, "low")),
        .high = json_number_value(json_object_get(json, "high")),
        .power = json_number_value(json_object_get(json, "power")),
        .episodes = (uint32_t)json_integer_value(json_object_get(json, "episodes"))};
}
