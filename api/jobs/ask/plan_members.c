/* The tables of plans at work. */
#include "api/jobs/ask/plan_members.h"

#include <math.h>
#include <stdio.h>

#include "api/json/json_text.h"

static json_t *plan_member_json(enum plan_member_kind kind, const void *at)
{
    switch (kind) {
    case PLAN_MEMBER_NUMBER:
    case PLAN_MEMBER_FIGURE: break;
    case PLAN_MEMBER_SIZE: return json_integer((json_int_t) * (const uint32_t *)at);
    case PLAN_MEMBER_COUNT: return json_integer((json_int_t) * (const uint64_t *)at);
    case PLAN_MEMBER_FLAG: return json_boolean(*(const bool *)at);
    case PLAN_MEMBER_ID: return json_string(at);
    }
    return json_number(*(const double *)at);
}

void plan_members_write(const struct plan_member *table, const struct job_plan *plan,
                        json_t *object)
{
    for (; table->name; table++)
        json_object_set_new(object, table->name,
                            plan_member_json(table->kind, (const char *)plan + table->offset));
}

static void plan_member_read(enum plan_member_kind kind, const json_t *json, void *out)
{
    json_int_t whole = json_integer_value(json);
    switch (kind) {
    case PLAN_MEMBER_FIGURE:
        *(double *)out = (double)INFINITY;
        if (json_is_number(json))
            *(double *)out = json_number_value(json);
        break;
    case PLAN_MEMBER_NUMBER: *(double *)out = json_number_value(json); break;
    case PLAN_MEMBER_SIZE:
        *(uint32_t *)out = 0;
        if (whole > 0 && whole <= UINT32_MAX)
            *(uint32_t *)out = (uint32_t)whole;
        break;
    case PLAN_MEMBER_COUNT:
        *(uint64_t *)out = 0;
        if (whole > 0)
            *(uint64_t *)out = (uint64_t)whole;
        break;
    case PLAN_MEMBER_FLAG: *(bool *)out = json_is_true(json); break;
    case PLAN_MEMBER_ID:
        if (json_is_string(json))
            snprintf(out, ID_SIZE, "%s", json_string_value(json));
        break;
    }
}

void plan_members_read(const struct plan_member *table, const json_t *object, struct job_plan *plan)
{
    for (; table->name; table++)
        plan_member_read(table->kind, json_object_get(object, table->name),
                         (char *)plan + table->offset);
}
