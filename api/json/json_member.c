#include "api/json/json_member.h"

#include <math.h>

#include "api/json/text.h"

json_t *json_or_null(json_t *value)
{
    return value ? value : json_null();
}

double json_number_or_nan(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

const char *json_member_text(const json_t *object, const char *name)
{
    return text_or_empty(json_string_value(json_object_get(object, name)));
}

double json_member_number(const json_t *object, const char *name)
{
    return json_number_or_nan(json_object_get(object, name));
}
